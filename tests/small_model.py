# SPDX-License-Identifier: MIT
"""A quantized network of two small layers: what tests compile where any model will do."""

from __future__ import annotations

import numpy

from tests.models import model

TEXT = """
    rx = DequantizeLinear(x, sx, zx)
    w1 = DequantizeLinear(k1, s1, z0)
    a = Gemm<transB = 1>(rx, w1, b1)
    h = Relu(a)
    qh = QuantizeLinear(h, sh, zh)
    rh = DequantizeLinear(qh, sh, zh)
    w2 = DequantizeLinear(k2, s2, z0)
    c = Gemm<transB = 1>(rh, w2, b2)
    y = QuantizeLinear(c, sy, zy)
"""


def small_model(seed: int = 0, inputs: int = 8, hidden: int = 6, outputs: int = 3, scale: float = 0.05) -> bytes:
    """int8 [1, inputs], of this scale, to int8 [1, outputs], as an ONNX file."""
    random = numpy.random.Generator(numpy.random.PCG64(seed))
    single = numpy.float32
    constants = {
        "sx": single(scale),
        "zx": numpy.int8(3),
        "k1": random.integers(-127, 128, (hidden, inputs), dtype=numpy.int8),
        "s1": single(0.01),
        "z0": numpy.int8(0),
        "b1": random.normal(size=hidden).astype(single),
        "sh": single(0.06),
        "zh": numpy.int8(-128),
        "k2": random.integers(-127, 128, (outputs, hidden), dtype=numpy.int8),
        "s2": single(0.01),
        "b2": random.normal(size=outputs).astype(single),
        "sy": single(0.1),
        "zy": numpy.int8(-5),
    }
    return model(TEXT, inputs=f"int8[1,{inputs}] x", outputs=f"int8[1,{outputs}] y", constants=constants)
