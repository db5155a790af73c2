"""One training step of GPT-2 (124M) in PyTorch: forward, backward, AdamW, float32. Prints the median of its seconds.

Usage: train_gpt2.py BATCH TOKENS THREADS STEPS
       train_gpt2.py version      PyTorch's, and the folder of the BLAS that it multiplies with
"""
import sys
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

if sys.argv[1:] == ["version"]:
    torch.ones(64, 64) @ torch.ones(64, 64)
    with open("/proc/self/maps") as maps:
        folders = {line.split()[-1].split("/")[-2] for line in maps if "blas" in line}
    print(torch.__version__, *sorted(folders))
    sys.exit()
batch, tokens, threads, steps = map(int, sys.argv[1:])
torch.set_num_threads(threads)
torch.manual_seed(1)
width, heads, layers, vocabulary, context = 768, 12, 12, 50257, 1024


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x, mask):
        b, t, _ = x.shape
        q, k, v = (part.view(b, t, heads, -1).transpose(1, 2) for part in self.qkv(self.norm1(x)).split(width, 2))
        scores = (q @ k.transpose(2, 3)) * (width // heads) ** -0.5
        weights = scores.masked_fill(mask[:t, :t], float("-inf")).softmax(-1)
        x = x + self.out((weights @ v).transpose(1, 2).reshape(b, t, width))
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))


class Gpt2(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocabulary, width), nn.Embedding(context, width)
        self.blocks = nn.ModuleList(Block() for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.register_buffer("mask", torch.ones(context, context, dtype=torch.bool).triu(1))

    def forward(self, ids, labels):
        x = self.tokens(ids) + self.positions(torch.arange(ids.shape[1]))
        for block in self.blocks:
            x = block(x, self.mask)
        return F.cross_entropy((self.norm(x) @ self.tokens.weight.T).flatten(0, 1), labels.flatten())


model = Gpt2()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, foreach=True)
ids = torch.randint(vocabulary, (batch, tokens + 1))


def step():
    optimizer.zero_grad(set_to_none=True)
    model(ids[:, :-1], ids[:, 1:]).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()


step()
times = []
for _ in range(steps):
    begin = time.perf_counter()
    step()
    times.append(time.perf_counter() - begin)
print(sorted(times)[len(times) // 2])
