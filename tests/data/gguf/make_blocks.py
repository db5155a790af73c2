#!/usr/bin/env python3
"""Writes blocks.json: a few blocks of each of GGUF's encodings, and the values that the reference decoder gives them.

  make_blocks.py FOLDER > blocks.json     FOLDER: gguf-py of llama.cpp (commit b21e4de), or an installed gguf package

Bytes are hexadecimal; values are float32 in the order of the file, little-endian, hexadecimal too.
"""
import json
import sys

import numpy

sys.path.insert(0, sys.argv[1])
from gguf import quants
from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType as Type

# Where a block has float16 values; the rest may be any bytes.
scales = {
    "Q8_0": [0], "Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "IQ4_NL": [0], "MXFP4": [],
    "Q2_K": [80, 82], "Q3_K": [108], "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208], "IQ4_XS": [0],
}  # fmt: skip
random = numpy.random.default_rng(15)


def block(size, at, kind):
    bytes = random.integers(0, 256, size, dtype=numpy.uint8)
    scale = random.normal(0, 0.01, len(at))
    if kind == "ones":
        bytes[:] = 255
    if kind == "largest":
        scale[:] = [65504, -65504][: len(at)]
    if kind == "smallest":
        scale[:] = [2**-24, -(2**-24)][: len(at)]
    for offset, value in zip(at, scale):
        bytes[offset : offset + 2] = numpy.array([value], dtype=numpy.float16).view(numpy.uint8)
    return bytes


result = {}
for name, at in scales.items():
    size = GGML_QUANT_SIZES[Type[name]][1]
    if name == "MXFP4":  # the exponent is a byte: the least ones, which give subnormal values, a usual and the largest
        blocks = [block(size, at, "random") for _ in range(5)]
        for one, exponent in zip(blocks, (0, 1, 2, 120, 255)):
            one[0] = exponent
    else:
        kinds = ("random", "ones", "largest", "smallest") if size < 84 else ("random", "ones")
        blocks = [block(size, at, kind) for kind in kinds]
    values = [quants.dequantize(one[None, :], Type[name]).astype("<f4")[0] for one in blocks]
    result[name] = [{"block": one.tobytes().hex(), "values": value.tobytes().hex()} for one, value in zip(blocks, values)]
json.dump(result, sys.stdout, indent=1)
print()
