#!/usr/bin/env python3
"""Measures training steps of GPT-2 networks with PyTorch on one GPU, to hold `reckon time` against.

    python3 bench/gpu_step.py --json OUT

The network is written out below: torch.compile without CUDA graphs, parameters, activations and gradients in bfloat16
(with --autocast: float32 parameters under autocast), fused AdamW, attention by cuDNN's kernel, cross entropy over the
true vocabulary of 50,257. Times are from CUDA events over several steps without a pause between them: medians of
repeats. Beside the steps it measures what the profile of a device knows: a product of 8,192³, a copy, and attention
forward and backward for 64 × 12 heads of 64 with 1,024 tokens. Results are written after every shape.
"""

import argparse
import gc
import json
import statistics
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn

VOCABULARY = 50257

# name: layers, width, heads, batch, tokens, steps between two events
SHAPES = {
    "small": (6, 256, 4, 2, 128, 50),
    "between": (12, 512, 8, 8, 512, 30),
    "gpt2": (12, 768, 12, 64, 1024, 8),
    "gpt2-medium": (24, 1024, 16, 32, 1024, 6),
    "gpt2-xl": (48, 1600, 25, 16, 1024, 4),
}


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm_1 = nn.LayerNorm(width)
        self.query_key_value = nn.Linear(width, 3 * width)
        self.output = nn.Linear(width, width)
        self.norm_2 = nn.LayerNorm(width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x):
        batch, tokens, width = x.shape
        parts = self.query_key_value(self.norm_1(x)).split(width, dim=2)
        q, k, v = (part.view(batch, tokens, self.heads, width // self.heads).transpose(1, 2) for part in parts)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.output(mixed.transpose(1, 2).reshape(batch, tokens, width))
        return x + self.down(F.gelu(self.up(self.norm_2(x)), approximate="tanh"))


class Network(nn.Module):
    def __init__(self, layers, width, heads, tokens):
        super().__init__()
        self.token = nn.Embedding(VOCABULARY, width)
        self.position = nn.Embedding(tokens, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.normal_(parameter, std=0.02)

    def forward(self, ids, labels):
        x = self.token(ids) + self.position(torch.arange(ids.shape[1], device=ids.device))
        for block in self.blocks:
            x = block(x)
        logits = F.linear(self.norm(x), self.token.weight)
        return F.cross_entropy(logits.view(-1, VOCABULARY).float(), labels.view(-1))


def median_seconds(work, times, repeats=5, warm=3):
    """Of one call of `work`: the median over repeats of so many calls one after the other, and all of them."""
    for _ in range(warm):
        work()
    torch.cuda.synchronize()
    found = []
    for _ in range(repeats):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        for _ in range(times):
            work()
        end.record()
        torch.cuda.synchronize()
        found.append(begin.elapsed_time(end) / 1e3 / times)
    return statistics.median(found), found


def use_cudnn_attention(alone=True):
    if hasattr(torch.backends.cuda, "enable_cudnn_sdp"):
        torch.backends.cuda.enable_cudnn_sdp(True)
    torch.backends.cuda.enable_flash_sdp(not alone)
    torch.backends.cuda.enable_mem_efficient_sdp(not alone)
    torch.backends.cuda.enable_math_sdp(not alone)


def calibrate():
    results = {}
    a, b = (torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    out = torch.empty_like(a)
    seconds, _ = median_seconds(lambda: torch.mm(a, b, out=out), 20)
    results["matmul_flops_per_second"] = 2 * 8192**3 / seconds
    del a, b, out
    source = torch.empty(2**30, device="cuda", dtype=torch.uint8)
    target = torch.empty_like(source)
    seconds, _ = median_seconds(lambda: target.copy_(source), 20)
    results["copy_bytes_per_second"] = 2 * 2**30 / seconds  # read and written
    del source, target

    packed = torch.randn(64, 1024, 3, 12, 64, device="cuda", dtype=torch.bfloat16)
    q, k, v = (packed[:, :, i].transpose(1, 2).detach().requires_grad_() for i in range(3))
    use_cudnn_attention()
    results["attention"] = "cuDNN"
    attend = lambda: F.scaled_dot_product_attention(q, k, v, is_causal=True)  # noqa: E731
    try:
        out = attend()
    except RuntimeError as error:
        use_cudnn_attention(alone=False)
        results["attention"] = f"PyTorch's choice, as cuDNN refused: {error}"[:200]
        out = attend()
    with torch.no_grad():
        results["attention_forward_seconds"], _ = median_seconds(attend, 20)
    gradient = torch.randn_like(out)

    def backward():
        torch.autograd.grad(out, (q, k, v), gradient, retain_graph=True)

    results["attention_backward_seconds"], _ = median_seconds(backward, 20)
    # What the host takes to launch a kernel that does nothing to speak of.
    one = torch.zeros(1, device="cuda")
    results["eager_launch_seconds"], _ = median_seconds(lambda: one.add_(1), 1000)
    return results


def kind_of(kernel):
    name = kernel.lower()
    if any(part in name for part in ("sdpa", "fmha", "flash", "cudnn")):
        return "attention"
    if any(part in name for part in ("gemm", "nvjet", "cutlass", "xmma", "splitk")):
        return "products"
    if "multi_tensor" in name or "adam" in name:
        return "optimizer"
    return "other"


def kernels_of(step):
    """Seconds and launches of one step by kind of kernel."""
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CUDA, ProfilerActivity.CPU]) as recorded:
        step()
        torch.cuda.synchronize()
    found = {}
    for event in recorded.key_averages():
        seconds = getattr(event, "self_device_time_total", 0) / 1e6
        if seconds <= 0 or "cuda" not in str(event.device_type).lower():
            continue
        entry = found.setdefault(kind_of(event.key), {"seconds": 0.0, "launches": 0})
        entry["seconds"] += seconds
        entry["launches"] += event.count
    return found


def measure(name, autocast):
    layers, width, heads, batch, tokens, times = SHAPES[name]
    torch.compiler.reset()
    torch.manual_seed(0)
    network = Network(layers, width, heads, tokens).cuda()
    if not autocast:
        network = network.bfloat16()
    parameters = sum(parameter.numel() for parameter in network.parameters())
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-4, fused=True)
    compiled = torch.compile(network, dynamic=False)
    ids = torch.randint(VOCABULARY, (batch, tokens + 1), device="cuda")
    inputs, labels = ids[:, :-1].contiguous(), ids[:, 1:].contiguous()

    def step():
        with torch.autocast("cuda", dtype=torch.bfloat16, enabled=autocast):
            loss = compiled(inputs, labels)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    begun = time.monotonic()
    step()
    torch.cuda.synchronize()
    compile_seconds = time.monotonic() - begun
    seconds, repeats = median_seconds(step, times)
    result = {
        "layers": layers, "width": width, "heads": heads, "batch": batch, "tokens": tokens, "parameters": parameters,
        "seconds": seconds, "repeats": repeats, "tokens_per_second": batch * tokens / seconds,
        "compile_seconds": compile_seconds, "peak_bytes": torch.cuda.max_memory_allocated(),
    }  # fmt: skip
    try:
        result["kernels"] = kernels_of(step)
    except Exception as error:  # a figure beside the measurement, which stands without it
        result["kernels"] = str(error)[:200]
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", required=True, help="where results are written")
    parser.add_argument("--shapes", default=",".join(SHAPES), help="some of " + ", ".join(SHAPES))
    parser.add_argument("--autocast", action="store_true", help="float32 parameters under autocast")
    parser.add_argument("--budget", type=float, default=215, help="seconds after which no further shape is begun")
    arguments = parser.parse_args()
    names = arguments.shapes.split(",")
    for name in names:
        if name not in SHAPES:
            parser.error(f"there is no shape {name}; expected some of {', '.join(SHAPES)}")
    if not torch.cuda.is_available():
        sys.exit("gpu_step.py: PyTorch finds no GPU here")
    begun = time.monotonic()
    results = {
        "device": torch.cuda.get_device_name(), "torch": torch.__version__, "cuda": torch.version.cuda,
        "multiprocessors": torch.cuda.get_device_properties(0).multi_processor_count,
        "precision": "autocast to bfloat16" if arguments.autocast else "bfloat16", "shapes": {},
    }  # fmt: skip

    def save():
        results["seconds"] = time.monotonic() - begun
        with open(arguments.json, "w") as file:
            json.dump(results, file, indent=1)

    results["calibration"] = calibrate()
    save()
    print(json.dumps(results["calibration"]), flush=True)
    for name in names:
        if time.monotonic() - begun > arguments.budget:
            results["shapes"][name] = {"skipped": "the budget of time was spent"}
            save()
            continue
        try:
            gc.collect()
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
            results["shapes"][name] = measure(name, arguments.autocast)
        except Exception as error:  # the other shapes are measured all the same
            results["shapes"][name] = {"error": f"{type(error).__name__}: {error}"[:500]}
        save()
        print(name, json.dumps(results["shapes"][name]), flush=True)


if __name__ == "__main__":
    main()
