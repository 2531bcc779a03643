# SPDX-License-Identifier: MIT
"""Small graphs that recipes rewrite, or must leave: nodes, inputs, outputs and constants by name."""

from __future__ import annotations

import numpy

F = numpy.float32


def floats(*shape: int, seed: int = 3) -> numpy.ndarray:
    return (numpy.random.default_rng(seed).integers(-12, 13, shape) / 8).astype(F)


def integers(*shape: int, kind: type = numpy.int8, low: int = -128, high: int = 128, seed: int = 4) -> numpy.ndarray:
    return numpy.random.default_rng(seed).integers(low, high, shape).astype(kind)


def points(kind: type, *values: int) -> numpy.ndarray:
    return numpy.array(values if len(values) != 1 else values[0], kind)


UINT8, INT8, INT32 = numpy.uint8, numpy.int8, numpy.int32
IMAGE, KERNEL = "float[1,2,4,4] x", floats(3, 2, 3, 3)
CONV = {"w": KERNEL, "b": floats(3)}
ROW, MATRIX = "float[2,4] x", floats(4, 3)
Q = {"s": F(0.1), "z": INT8(3), "s2": F(0.25), "z2": INT8(-7)}
NORM = {"g": floats(3, seed=7), "t": floats(3, seed=8), "m": floats(3, seed=9), "v": numpy.abs(floats(3)) + F(0.25), "w": KERNEL}
GEMM = {
    "w": MATRIX,
    "c": floats(3),
    "one": floats(1),
    "t": numpy.ascontiguousarray(MATRIX.T),
    "scalar": F(2),
    "row": floats(1, 3),
}
LINEAR = {
    "sx": F(0.05),
    "zx": INT8(3),
    "w": integers(3, 2, 3, 3),
    "sw": numpy.array([0.01, 0.02, 0.04], F),
    "zw": points(INT8, 0, 0, 0),
    "b": integers(3, kind=INT32, low=-900, high=900),
    "sb": F(0.05) * numpy.array([0.01, 0.02, 0.04], F),
    "zb": points(INT32, 0, 0, 0),
    "sy": F(0.3),
    "zy": INT8(-7),
}
QLINEAR = {
    **{name: LINEAR[name] for name in ("sx", "zx", "w", "sw", "zw", "b", "sy", "zy")},
    "one": F(0.02),
    "none": INT8(0),
    "sx1": points(F, 0.05)[None],
    "zx1": points(INT8, 3)[None],
    "m": integers(4, 3),
    "mb": integers(3, kind=INT32, low=-900, high=900),
    "mt": integers(3, 4),
    "sm": numpy.array([0.01, 0.02, 0.04], F),
    "zm": points(INT8, 1, -1, 2),
}
UNSIGNED = {
    "s": F(0.1),
    "z": UINT8(131),
    "s2": F(0.25),
    "z2": UINT8(121),
    "w": integers(3, 2, 3, 3, kind=UINT8, low=60, high=200),
}
UNSIGNED |= {
    "wide": integers(3, 2, 3, 3, kind=UINT8, low=0, high=256),
    "sw": F(0.02),
    "zw": UINT8(130),
    "zs": points(UINT8, 130, 120, 125),
}
UNSIGNED |= {"sws": numpy.array([0.01, 0.02, 0.04], F)}
WRAP = "xf = DequantizeLinear(x, s, z) {} y = QuantizeLinear(r, s2, z2)"
LAYER = "xf = DequantizeLinear(x, sx, zx) wf = DequantizeLinear<axis=0>(w, sw, zw) "


# name: (nodes, inputs, outputs, constants)
CASES = {
    # identities
    "identity chain": (
        "a = Identity(x) b = Dropout(a) c = Relu(b) d = Identity(c) y = Identity(d)",
        ROW,
        "float[2,4] y",
        {},
    ),
    "identity of an input": (
        "y = Identity(x) z = Relu(x)",
        ROW,
        "float[2,4] y, float[2,4] z",
        {},
    ),
    "identity of an output": (
        "z = Relu(x) y = Identity(z)",
        ROW,
        "float[2,4] y, float[2,4] z",
        {},
    ),
    "two names of one value": (
        "a = Relu(x) y = Identity(a) z = Identity(a)",
        ROW,
        "float[2,4] y, float[2,4] z",
        {},
    ),
    "two identities in a row": (
        "a = Relu(x) b = Identity(a) y = Identity(b) z = Neg(b)",
        ROW,
        "float[2,4] y, float[2,4] z",
        {},
    ),
    "casts": (
        "a = Cast<to=1>(x) b = Cast<to=7>(a) c = Cast<to=1>(b) y = Relu(c)",
        ROW,
        "float[2,4] y",
        {},
    ),
    "transposes": (
        "a = Transpose<perm=[0,1]>(x) b = Transpose<perm=[1,0]>(a) y = Relu(b)",
        "float[3,3] x",
        "float[3,3] y",
        {},
    ),
    "reshapes": (
        "a = Reshape(x, d) b = Reshape(a, e) y = Relu(b)",
        ROW,
        "float[8] y",
        {"d": points(numpy.int64, 2, 4), "e": numpy.array([8])},
    ),
    "flatten": (
        "a = Flatten(x) b = Flatten<axis=0>(a) y = Relu(b)",
        ROW,
        "float[1,8] y",
        {},
    ),
    # a Slice between Transposes
    "a part of a turned image": (
        "a = Transpose<perm=[0,2,3,1]>(x) b = Slice(a, first, end, axes) y = Transpose<perm=[0,3,1,2]>(b)",
        IMAGE,
        "float[1,2,2,4] y",
        {"first": numpy.array([1]), "end": numpy.array([3]), "axes": numpy.array([1])},
    ),
    # one output of a dilated convolution
    "taps apart": (
        "y = Conv<dilations=[2,1], strides=[3,2]>(x, w, b)",
        "float[1,2,5,3] x",
        "float[1,3,1,1] y",
        CONV,
    ),
    "taps apart, and two outputs": (
        "y = Conv<dilations=[2,1]>(x, w, b)",
        "float[1,2,6,3] x",
        "float[1,3,2,1] y",
        CONV,
    ),
    "taps apart that see pads": (
        "y = Conv<dilations=[2,1], pads=[1,0,0,0]>(x, w, b)",
        "float[1,2,4,3] x",
        "float[1,3,1,1] y",
        CONV,
    ),
    # pads
    "pad and conv": (
        "p = Pad(x, pads) y = Conv<pads=[1,0,2,1]>(p, w, b)",
        IMAGE,
        "float[1,3,?,?] y",
        {**CONV, "pads": numpy.array([0, 0, 1, 2, 0, 0, 3, 4])},
    ),
    "pad of channels": (
        "p = Pad(x, pads) y = Conv(p, w)",
        "float[1,1,4,4] x",
        "float[1,3,?,?] y",
        {**CONV, "pads": numpy.array([0, 1, 0, 0, 0, 0, 0, 0])},
    ),
    "pad behind channels": (
        "p = Pad(x, pads) y = Conv(p, w)",
        "float[1,1,4,4] x",
        "float[1,3,?,?] y",
        {**CONV, "pads": numpy.array([0, 0, 0, 0, 0, 1, 0, 0])},
    ),
    "crop": (
        "p = Pad(x, pads) y = Conv(p, w)",
        IMAGE,
        "float[1,3,?,?] y",
        {**CONV, "pads": numpy.array([0, 0, -1, 1, 0, 0, 0, 0])},
    ),
    "crop at the end": (
        "p = Pad(x, pads) y = Conv(p, w)",
        IMAGE,
        "float[1,3,?,?] y",
        {**CONV, "pads": numpy.array([0, 0, 1, 1, 0, 0, 0, -1])},
    ),
    "pad with a number": (
        "p = Pad(x, pads, v) y = Conv(p, w)",
        IMAGE,
        "float[1,3,?,?] y",
        {**CONV, "pads": numpy.array([0, 0, 1, 1, 0, 0, 1, 1]), "v": F(1)},
    ),
    "pad by reflection": (
        'p = Pad<mode="reflect">(x, pads) y = Conv(p, w)',
        IMAGE,
        "float[1,3,?,?] y",
        {**CONV, "pads": numpy.array([0, 0, 1, 1, 0, 0, 1, 1])},
    ),
    "pad with two readers": (
        "p = Pad(x, pads) y = Conv(p, w) z = Relu(p)",
        IMAGE,
        "float[1,3,?,?] y, float[?,?,?,?] z",
        {**CONV, "pads": numpy.array([0, 0, 1, 1, 0, 0, 1, 1])},
    ),
    "pad and average": (
        "p = Pad(x, pads) y = AveragePool<kernel_shape=[2,2]>(p)",
        IMAGE,
        "float[?,?,?,?] y",
        {"pads": numpy.array([0, 0, 1, 0, 0, 0, 0, 1])},
    ),
    "pad and average with pads": (
        "p = Pad(x, pads) y = AveragePool<kernel_shape=[2,2], pads=[1,1,0,0]>(p)",
        IMAGE,
        "float[?,?,?,?] y",
        {"pads": numpy.array([0, 0, 1, 0, 0, 0, 0, 1])},
    ),
    "pad and average rounded up": (
        "p = Pad(x, pads) y = AveragePool<kernel_shape=[2,2], strides=[2,2], ceil_mode=1>(p)",
        IMAGE,
        "float[?,?,?,?] y",
        {"pads": numpy.array([0, 0, 1, 0, 0, 0, 0, 1])},
    ),
    "pad in one dimension": (
        "p = Pad(x, pads) y = Conv(p, w)",
        "float[1,2,6] x",
        "float[1,3,?] y",
        {"w": floats(3, 2, 3), "pads": numpy.array([0, 0, 1, 0, 0, 2])},
    ),
    # fully connected
    "matmul": (
        "y = MatMul(x, w)",
        ROW,
        "float[2,3] y",
        GEMM,
    ),
    "matmul and add": (
        "a = MatMul(x, w) y = Add(a, c)",
        ROW,
        "float[2,3] y",
        GEMM,
    ),
    "add and matmul": (
        "a = MatMul(x, w) b = Add(row, a) y = Relu(b)",
        ROW,
        "float[2,3] y",
        GEMM,
    ),
    "matmul and a number": (
        "a = MatMul(x, w) y = Add(a, one)",
        ROW,
        "float[2,3] y",
        GEMM,
    ),
    "matmul added to itself": (
        "a = MatMul(x, w) y = Add(a, a)",
        ROW,
        "float[2,3] y",
        GEMM,
    ),
    "matmul and sub": (
        "a = MatMul(x, w) y = Sub(a, c)",
        ROW,
        "float[2,3] y",
        GEMM,
    ),
    "matmul of a constant": (
        "y = MatMul(w, x)",
        "float[3,2] x",
        "float[4,2] y",
        GEMM,
    ),
    "matmul of three axes": (
        "y = MatMul(x, w)",
        "float[1,2,4] x",
        "float[1,2,3] y",
        GEMM,
    ),
    "matmul of a stack of weights": (
        "y = MatMul(x, w)",
        "float[2,4] x",
        "float[2,2,3] y",
        {"w": floats(2, 4, 3)},
    ),
    "gemm": (
        "y = Gemm(x, w, c)",
        ROW,
        "float[2,3] y",
        GEMM,
    ),
    "gemm without addend": (
        "y = Gemm(x, w)",
        ROW,
        "float[2,3] y",
        GEMM,
    ),
    "gemm transposed": (
        "y = Gemm<transB=1>(x, t, row)",
        ROW,
        "float[2,3] y",
        GEMM,
    ),
    "gemm of a transposed input": (
        "y = Gemm<transA=1>(x, w, c)",
        "float[4,2] x",
        "float[2,3] y",
        GEMM,
    ),
    "gemm with factors": (
        "y = Gemm<alpha=0.5, beta=2.0>(x, w, one)",
        ROW,
        "float[2,3] y",
        GEMM,
    ),
    "gemm with alpha alone": (
        "y = Gemm<alpha=0.5, transB=1>(x, t)",
        ROW,
        "float[2,3] y",
        GEMM,
    ),
    "gemm with beta alone": (
        "y = Gemm<beta=0.5>(x, w, c)",
        ROW,
        "float[2,3] y",
        GEMM,
    ),
    "gemm and a number": (
        "y = Gemm(x, w, scalar)",
        ROW,
        "float[2,3] y",
        GEMM,
    ),
    "gemm and a column": (
        "y = Gemm(x, w, column)",
        ROW,
        "float[2,3] y",
        {**GEMM, "column": floats(2, 1)},
    ),
    "gemm and a matrix": (
        "y = Gemm(x, w, full)",
        ROW,
        "float[2,3] y",
        {**GEMM, "full": floats(2, 3)},
    ),
    "gemm of a row and a matrix": (
        "y = Gemm(x, w, c)",
        "float[1,4] x",
        "float[1,3] y",
        GEMM,
    ),
    "gemm of two inputs": (
        "y = Gemm(x, z, c)",
        "float[2,4] x, float[4,3] z",
        "float[2,3] y",
        GEMM,
    ),
    "gemm and a computed addend": (
        "y = Gemm(x, w, z)",
        "float[2,4] x, float[3] z",
        "float[2,3] y",
        GEMM,
    ),
    "gemm of a constant": (
        "y = Gemm(w, x, row2)",
        "float[3,2] x",
        "float[4,2] y",
        {**GEMM, "row2": floats(1, 2)},
    ),
    "gemm of quantized weights with a factor": (
        "wf = DequantizeLinear(w, s, z) y = Gemm<alpha=0.5>(x, wf, c)",
        ROW,
        "float[2,3] y",
        {**Q, "w": integers(4, 3), "c": floats(3)},
    ),
    "gemm of a quantized addend with a factor": (
        "cf = DequantizeLinear(c, s, z) y = Gemm<beta=0.5>(x, w, cf)",
        ROW,
        "float[2,3] y",
        {**Q, "c": integers(3), "w": MATRIX},
    ),
    "gemm of quantized constants": (
        "wf = DequantizeLinear(w, s, z) cf = DequantizeLinear(c, s, z) y = Gemm(x, wf, cf)",
        ROW,
        "float[2,3] y",
        {**Q, "c": integers(3), "w": integers(4, 3)},
    ),
    "matmul and a quantized byte vector": (
        "wf = DequantizeLinear(w, s, z) cf = DequantizeLinear(c, s2, z2) a = MatMul(x, wf) y = Add(a, cf)",
        ROW,
        "float[2,3] y",
        {**Q, "c": integers(3), "w": integers(4, 3)},
    ),
    # batch normalization
    "norm": (
        "a = Conv(x, w, b) y = BatchNormalization(a, g, t, m, v)",
        IMAGE,
        "float[1,3,2,2] y",
        {**NORM, "b": floats(3)},
    ),
    "norm without bias": (
        "a = Conv(x, w) y = BatchNormalization<epsilon=0.5>(a, g, t, m, v)",
        IMAGE,
        "float[1,3,2,2] y",
        NORM,
    ),
    "norm of a matrix": (
        "a = MatMul(x, k) y = BatchNormalization(a, g, t, m, v)",
        ROW,
        "float[2,3] y",
        {**NORM, "k": MATRIX},
    ),
    "norm behind a clamp": (
        "a = Conv(x, w) r = Relu(a) y = BatchNormalization(r, g, t, m, v)",
        IMAGE,
        "float[1,3,2,2] y",
        NORM,
    ),
    "norm of two readers": (
        "a = Conv(x, w) y = BatchNormalization(a, g, t, m, v) z = Neg(a)",
        IMAGE,
        "float[1,3,2,2] y, float[1,3,2,2] z",
        NORM,
    ),
    "norm of a computed variance": (
        "a = Conv(x, w) n = Abs(k) y = BatchNormalization(a, g, t, m, n)",
        f"{IMAGE}, float[3] k",
        "float[1,3,2,2] y",
        NORM,
    ),
    "norm of an input": (
        "y = BatchNormalization(x, g, t, m, v)",
        "float[1,3,2,2] x",
        "float[1,3,2,2] y",
        NORM,
    ),
    # activations
    "relu and clips": (
        "a = Conv(x, w, b) r = Relu(a) c = Clip(r, low, high) y = Clip(c, lower, higher)",
        IMAGE,
        "float[1,3,2,2] y",
        {**CONV, "low": F(-1), "high": F(2), "lower": F(0.5), "higher": F(3)},
    ),
    "clip that leaves nothing": (
        "a = Relu(x) b = Add(a, x) y = Clip(b, low, high) z = Clip(y, l2, h2)",
        ROW,
        "float[2,4] z",
        {"low": F(1), "high": F(2), "l2": F(3), "h2": F(4)},
    ),
    "clip upside down": (
        "a = Add(x, x) y = Clip(a, low, high)",
        ROW,
        "float[2,4] y",
        {"low": F(2), "high": F(1)},
    ),
    "clip to one value": (
        "a = Add(x, x) y = Clip(a, low, high)",
        ROW,
        "float[2,4] y",
        {"low": F(1), "high": F(1)},
    ),
    "two clips that meet": (
        "a = Add(x, x) b = Clip(a, low, high) y = Clip(b, high, top)",
        ROW,
        "float[2,4] y",
        {"low": F(0), "high": F(1), "top": F(2)},
    ),
    "relu behind an output": (
        "a = Add(x, x) y = Relu(a)",
        ROW,
        "float[2,4] a, float[2,4] y",
        {},
    ),
    "relu behind a sigmoid": (
        "a = Sigmoid(x) y = Relu(a)",
        ROW,
        "float[2,4] y",
        {},
    ),
    "relu of two sums": (
        "a = Add(x, x) b = Relu(a) c = Add(b, x) y = Relu(c)",
        ROW,
        "float[2,4] y",
        {},
    ),
    "relu between scales": (
        f"{LAYER} a = Conv(xf, wf) q = QuantizeLinear(a, sy, zy) d = DequantizeLinear(q, sy, zy) r = Relu(d) "
        "y = QuantizeLinear(r, s2, zy)",
        "int8[1,2,4,4] x",
        "int8[1,3,2,2] y",
        {**LINEAR, "s2": F(0.6)},
    ),
    "relu at one scale": (
        f"{LAYER} a = Conv(xf, wf) q = QuantizeLinear(a, sy, zy) d = DequantizeLinear(q, sy, zy) r = Relu(d) "
        "y = QuantizeLinear(r, sy, zy)",
        "int8[1,2,4,4] x",
        "int8[1,3,2,2] y",
        LINEAR,
    ),
    # constants
    "weights stored in float": (
        "q = QuantizeLinear(w, s, z) wf = DequantizeLinear(q, s, z) y = Conv(x, wf)",
        IMAGE,
        "float[1,3,2,2] y",
        {**Q, "w": KERNEL},
    ),
    "weights quantized again": (
        "d = DequantizeLinear(w, s, z) q = QuantizeLinear(d, s2, z2) wf = DequantizeLinear(q, s2, z2) y = Conv(x, wf)",
        IMAGE,
        "float[1,3,2,2] y",
        {**Q, "w": integers(3, 2, 3, 3)},
    ),
    "a constant output": (
        "y = QuantizeLinear(w, s, z) d = DequantizeLinear(v, s, z) u = Relu(x)",
        ROW,
        "int8[2] y, float[2] d, float[2,4] u",
        {**Q, "w": floats(2), "v": integers(2)},
    ),
    "one weight of two layers": (
        "wf = DequantizeLinear(w, s, z) a = MatMul(x, wf) y = MatMul(a, wf)",
        "float[2,3] x",
        "float[2,3] y",
        {**Q, "w": integers(3, 3)},
    ),
    "float8 as a scale of its own": (
        "wf = DequantizeLinear(w, s, z) y = Add(x, wf)",
        "float[3] x",
        "float[3] y",
        {"w": integers(3, kind=INT32), "s": F(0.5), "z": INT32(0)},
    ),
    "a computed scale": (
        "h = Abs(x) y = DequantizeLinear(w, h, z)",
        "float x",
        "float[3] y",
        {**Q, "w": integers(3)},
    ),
    # islands
    "conv island": (
        f"{LAYER} bf = DequantizeLinear<axis=0>(b, sb, zb) a = Conv(xf, wf, bf) y = QuantizeLinear(a, sy, zy)",
        "int8[1,2,4,4] x",
        "int8[1,3,2,2] y",
        LINEAR,
    ),
    "conv island without bias": (
        f"{LAYER} a = Conv(xf, wf) y = QuantizeLinear(a, sy, zy)",
        "int8[1,2,4,4] x",
        "int8[1,3,2,2] y",
        LINEAR,
    ),
    "bias scale in the last place": (
        f"{LAYER} bf = DequantizeLinear<axis=0>(b, near, zb) a = Conv(xf, wf, bf) y = QuantizeLinear(a, sy, zy)",
        "int8[1,2,4,4] x",
        "int8[1,3,2,2] y",
        {**LINEAR, "near": LINEAR["sb"] * F(1 + 2**-22)},
    ),
    "bias scale beside it": (
        f"{LAYER} bf = DequantizeLinear<axis=0>(b, far, zb) a = Conv(xf, wf, bf) y = QuantizeLinear(a, sy, zy)",
        "int8[1,2,4,4] x",
        "int8[1,3,2,2] y",
        {**LINEAR, "far": LINEAR["sb"] * F(1 - 2**-18)},
    ),
    "bias with a zero point": (
        f"{LAYER} bf = DequantizeLinear<axis=0>(b, sb, odd) a = Conv(xf, wf, bf) y = QuantizeLinear(a, sy, zy)",
        "int8[1,2,4,4] x",
        "int8[1,3,2,2] y",
        {**LINEAR, "odd": points(INT32, 0, 1, 0)},
    ),
    "bias of bytes": (
        f"{LAYER} bf = DequantizeLinear<axis=0>(b8, sb, zb8) a = Conv(xf, wf, bf) y = QuantizeLinear(a, sy, zy)",
        "int8[1,2,4,4] x",
        "int8[1,3,2,2] y",
        {**LINEAR, "b8": integers(3), "zb8": points(INT8, 0, 0, 0)},
    ),
    "bias in float": (
        f"{LAYER} a = Conv(xf, wf, c) y = QuantizeLinear(a, sy, zy)",
        "int8[1,2,4,4] x",
        "int8[1,3,2,2] y",
        {**LINEAR, "c": floats(3)},
    ),
    "weights by input channel": (
        "xf = DequantizeLinear(x, sx, zx) wf = DequantizeLinear<axis=1>(w, s1, z1) a = Conv(xf, wf) y = "
        "QuantizeLinear(a, sy, zy)",
        "int8[1,2,4,4] x",
        "int8[1,3,2,2] y",
        {**LINEAR, "s1": numpy.array([0.01, 0.02], F), "z1": points(INT8, 0, 0)},
    ),
    "data by channel": (
        "xf = DequantizeLinear<axis=1>(x, s1, z1) wf = DequantizeLinear<axis=0>(w, sw, zw) a = Conv(xf, wf) "
        "y = QuantizeLinear(a, sy, zy)",
        "int8[1,2,4,4] x",
        "int8[1,3,2,2] y",
        {**LINEAR, "s1": numpy.array([0.01, 0.02], F), "z1": points(INT8, 0, 0)},
    ),
    "result by channel": (
        f"{LAYER} a = Conv(xf, wf) y = QuantizeLinear<axis=1>(a, s3, z3)",
        "int8[1,2,4,4] x",
        "int8[1,3,2,2] y",
        {**LINEAR, "s3": numpy.array([0.1, 0.2, 0.3], F), "z3": points(INT8, 0, 1, 2)},
    ),
    "two readers of a result": (
        f"{LAYER} a = Conv(xf, wf) y = QuantizeLinear(a, sy, zy) z = Relu(a)",
        "int8[1,2,4,4] x",
        "int8[1,3,2,2] y, float[1,3,2,2] z",
        LINEAR,
    ),
    "function": (
        WRAP.format("r = Sigmoid(xf)"),
        "int8[2,4] x",
        "int8[2,4] y",
        Q,
    ),
    "function of bytes": (
        WRAP.format("r = Sigmoid(xf)"),
        "uint8[2,4] x",
        "uint8[2,4] y",
        UNSIGNED,
    ),
    "sum with a float": (
        WRAP.format("r = Add(xf, c)"),
        "int8[2,3] x",
        "int8[2,3] y",
        {**Q, "c": floats(3)},
    ),
    "sum with a constant": (
        WRAP.format("cf = DequantizeLinear(c, s, z) r = Add(xf, cf)"),
        "int8[2,3] x",
        "int8[2,3] y",
        {**Q, "c": integers(3)},
    ),
    "sum with constants by channel": (
        WRAP.format("cf = DequantizeLinear<axis=1>(c, sc, zc) r = Add(xf, cf)"),
        "int8[2,3] x",
        "int8[2,3] y",
        {**Q, "c": integers(2, 3), "sc": numpy.array([0.1, 0.2, 0.3], F), "zc": points(INT8, 0, 0, 1)},
    ),
    "constants alone": (
        "cf = DequantizeLinear(c, s, z) a = Sigmoid(cf) q = QuantizeLinear(a, s2, z2) d = "
        "DequantizeLinear(q, s2, z2) y = Add(x, d)",
        "float[3] x",
        "float[3] y",
        {**Q, "c": integers(3)},
    ),
    "reshape at one scale": (
        "xf = DequantizeLinear(x, s, z) r = Reshape(xf, d) y = QuantizeLinear(r, s, z)",
        "int8[2,4] x",
        "int8[8] y",
        {**Q, "d": numpy.array([8])},
    ),
    "reshape between scales": (
        WRAP.format("r = Reshape(xf, d)"),
        "int8[2,4] x",
        "int8[8] y",
        {**Q, "d": numpy.array([8])},
    ),
    "moved at one scale": (
        "xf = DequantizeLinear(x, s, z) r = Slice(xf, b, e) y = QuantizeLinear(r, s, z)",
        "int8[4,4] x",
        "int8[2,4] y",
        {**Q, "b": numpy.array([1]), "e": numpy.array([3])},
    ),
    "moved from signed to unsigned": (
        "xf = DequantizeLinear(x, s, z) r = Slice(xf, b, e) y = QuantizeLinear(r, s, zu)",
        "int8[4,4] x",
        "uint8[2,4] y",
        {**Q, "zu": UINT8(3), "b": numpy.array([1]), "e": numpy.array([3])},
    ),
    "quantized views": (
        "q = QuantizeLinear(x, s, z) r = Reshape(q, d) p = MaxPool<kernel_shape=[2]>(r) f = "
        "DequantizeLinear(p, s, z) y = Sigmoid(f)",
        ROW,
        "float[1,2,?] y",
        {**Q, "d": numpy.array([1, 2, 4])},
    ),
    "quantized views between scales": (
        "q = QuantizeLinear(x, s, z) r = Reshape(q, d) p = MaxPool<kernel_shape=[2]>(r) f = "
        "DequantizeLinear(p, s2, z2) y = Sigmoid(f)",
        ROW,
        "float[1,2,?] y",
        {**Q, "d": numpy.array([1, 2, 4])},
    ),
    "views to the input": (
        "t = Transpose<perm=[1,0]>(x) r = Reshape(t, d) f = DequantizeLinear(r, s, z) u = Sigmoid(f) y = "
        "QuantizeLinear(u, s2, z2)",
        "int8[2,4] x",
        "int8[8] y",
        {**Q, "d": numpy.array([8])},
    ),
    "plain integers": (
        "q = QuantizeLinear(x, s, z) r = Relu(q) y = DequantizeLinear(r, s, z)",
        ROW,
        "float[2,4] y",
        Q,
    ),
    "a pool of plain integers with a clamp": (
        "q = QuantizeLinear(x, s, z) p = MaxPool<kernel_shape=[2]>(q) r = Relu(p) y = DequantizeLinear(r, s, z)",
        "float[1,2,4] x",
        "float[1,2,?] y",
        Q,
    ),
    "two statements": (
        "a = QuantizeLinear(x, s, z) b = DequantizeLinear(a, s2, z) c = Sigmoid(b) y = QuantizeLinear(c, s, z)",
        ROW,
        "int8[2,4] y",
        Q,
    ),
    "same statement twice": (
        "a = QuantizeLinear(x, s, z) b = DequantizeLinear(a, s, z) c = DequantizeLinear(a, s, z) d = Mul(b, "
        "c) y = QuantizeLinear(d, s2, z2)",
        ROW,
        "int8[2,4] y",
        Q,
    ),
    "no zero point": (
        "xf = DequantizeLinear(x, s) r = Neg(xf) y = QuantizeLinear(r, s2)",
        "uint8[2,4] x",
        "uint8[2,4] y",
        Q,
    ),
    "two outputs": (
        "xf = DequantizeLinear(x, s, z) a, b = Split<axis=1>(xf) y = QuantizeLinear(a, s, z) u = QuantizeLinear(b, s, z)",
        "int8[2,4] x",
        "int8[2,2] y, int8[2,2] u",
        Q,
    ),
    "an absent input": (
        "xf = DequantizeLinear(x, s, z) hf = DequantizeLinear(h, s, z) r = Clip(xf, , hf) y = QuantizeLinear(r, s, z)",
        "int8[2,4] x",
        "int8[2,4] y",
        {**Q, "h": INT8(20)},
    ),
    # unsigned
    "unsigned inside": (
        "a = QuantizeLinear(x, s, z) f = DequantizeLinear(a, s, z) g = Sigmoid(f) b = QuantizeLinear(g, s2, "
        "z2) y = DequantizeLinear(b, s2, z2)",
        ROW,
        "float[2,4] y",
        UNSIGNED,
    ),
    "unsigned output of an operator": (
        "a = QuantizeLinear(x, s, z) f = DequantizeLinear(a, s, z) g = Sigmoid(f) y = QuantizeLinear(g, s2, z2)",
        ROW,
        "uint8[2,4] y",
        UNSIGNED,
    ),
    "unsigned output of a quantization": (
        "g = Sigmoid(x) y = QuantizeLinear(g, s2, z2)",
        ROW,
        "uint8[2,4] y",
        UNSIGNED,
    ),
    "unsigned without zero point": (
        "a = QuantizeLinear(x, s) f = DequantizeLinear(a, s) g = Sigmoid(f) b = QuantizeLinear(g, s2) y = "
        "DequantizeLinear(b, s2)",
        ROW,
        "float[2,4] y",
        UNSIGNED,
    ),
    "unsigned weights that fit": (
        "f = DequantizeLinear(x, s, z) wf = DequantizeLinear(w, sw, zw) g = Conv(f, wf) y = QuantizeLinear(g, s2, z2)",
        "uint8[1,2,4,4] x",
        "uint8[1,3,2,2] y",
        UNSIGNED,
    ),
    "unsigned weights that do not": (
        "f = DequantizeLinear(x, s, z) wf = DequantizeLinear(wide, sw, zw) g = Conv(f, wf) y = QuantizeLinear(g, s2, z2)",
        "uint8[1,2,4,4] x",
        "uint8[1,3,2,2] y",
        UNSIGNED,
    ),
    "unsigned weights by channel": (
        "f = DequantizeLinear(x, s, z) wf = DequantizeLinear<axis=0>(w, sws, zs) g = Conv(f, wf) y = QuantizeLinear(g, s2, z2)",
        "uint8[1,2,4,4] x",
        "uint8[1,3,2,2] y",
        UNSIGNED,
    ),
    "one weight of two convolutions": (
        "f = DequantizeLinear(x, s, z) wf = DequantizeLinear(w, sw, zw) g = Conv(f, wf) y = "
        "QuantizeLinear(g, s2, z2) h = Conv<strides=[2,2]>(f, wf) u = QuantizeLinear(h, s2, z2)",
        "uint8[1,2,4,4] x",
        "uint8[1,3,2,2] y, uint8[1,3,?,?] u",
        UNSIGNED,
    ),
    "unsigned weights of a float layer": (
        "wf = DequantizeLinear(w, sw, zw) y = Conv(x, wf)",
        IMAGE,
        "float[1,3,2,2] y",
        UNSIGNED,
    ),
    "signed weights at the edge": (
        "f = DequantizeLinear(x, s, z) wf = DequantizeLinear(w, s2, z2) g = Conv(f, wf) y = QuantizeLinear(g, s2, z)",
        "int8[1,1,2,2] x",
        "int8[1,1,2,2] y",
        {**Q, "w": points(INT8, 120).reshape(1, 1, 1, 1)},
    ),
    "signed weights over the edge": (
        "f = DequantizeLinear(x, s, z) wf = DequantizeLinear(w, s2, z2) g = Conv(f, wf) y = QuantizeLinear(g, s2, z)",
        "int8[1,1,2,2] x",
        "int8[1,1,2,2] y",
        {**Q, "w": points(INT8, 121).reshape(1, 1, 1, 1)},
    ),
    # operators that name their quantization
    "qlinear conv": (
        "y = QLinearConv(x, sx, zx, w, sw, zw, sy, zy, b)",
        "int8[1,2,4,4] x",
        "int8[1,3,2,2] y",
        QLINEAR,
    ),
    "qlinear conv without bias": (
        "y = QLinearConv<pads=[1,1,1,1]>(x, sx, zx, w, one, none, sy, zy)",
        "int8[1,2,4,4] x",
        "int8[1,3,4,4] y",
        QLINEAR,
    ),
    "qlinear conv with one zero point": (
        "y = QLinearConv(x, sx, zx, w, sw, none, sy, zy, b)",
        "int8[1,2,4,4] x",
        "int8[1,3,2,2] y",
        QLINEAR,
    ),
    "qlinear conv with lists of one": (
        "y = QLinearConv(x, sx1, zx1, w, one, none, sy, zy, b)",
        "int8[1,2,4,4] x",
        "int8[1,3,2,2] y",
        QLINEAR,
    ),
    "qlinear conv of computed weights": (
        "y = QLinearConv(x, sx, zx, k, one, none, sy, zy)",
        "int8[1,2,4,4] x, int8[3,2,3,3] k",
        "int8[1,3,2,2] y",
        QLINEAR,
    ),
    "qlinear conv of a computed bias": (
        "y = QLinearConv(x, sx, zx, w, one, none, sy, zy, k)",
        "int8[1,2,4,4] x, int32[3] k",
        "int8[1,3,2,2] y",
        QLINEAR,
    ),
    "qlinear matmul": (
        "y = QLinearMatMul(x, sx, zx, m, one, none, sy, zy)",
        "int8[2,4] x",
        "int8[2,3] y",
        QLINEAR,
    ),
    "qlinear matmul by column": (
        "y = QLinearMatMul(x, sx, zx, m, sm, zm, sy, zy)",
        "int8[2,4] x",
        "int8[2,3] y",
        QLINEAR,
    ),
    "qlinear matmul of a stack by column": (
        "y = QLinearMatMul(x, sx, zx, k2, s2, n2, sy, zy)",
        "int8[2,2,4] x",
        "int8[2,2,2] y",
        {**QLINEAR, "k2": integers(2, 4, 2), "s2": numpy.array([0.01, 0.02], F), "n2": points(INT8, 1, -1)},
    ),
    "qlinear matmul of two inputs": (
        "y = QLinearMatMul(x, sx, zx, k, one, none, sy, zy)",
        "int8[2,4] x, int8[4,3] k",
        "int8[2,3] y",
        QLINEAR,
    ),
    "qgemm": (
        "y = com.microsoft.QGemm(x, sx, zx, m, one, none, mb, sy, zy)",
        "int8[2,4] x",
        "int8[2,3] y",
        QLINEAR,
    ),
    "qgemm transposed by row": (
        "y = com.microsoft.QGemm<transB=1>(x, sx, zx, mt, sm, none, mb, sy, zy)",
        "int8[2,4] x",
        "int8[2,3] y",
        QLINEAR,
    ),
    "qgemm without addend": (
        "y = com.microsoft.QGemm(x, sx, zx, m, sm, zm, , sy, zy)",
        "int8[2,4] x",
        "int8[2,3] y",
        QLINEAR,
    ),
    "qlinear add": (
        "y = com.microsoft.QLinearAdd(x, sx, zx, u, one, none, sy, zy)",
        "int8[2,4] x, int8[2,4] u",
        "int8[2,4] y",
        QLINEAR,
    ),
    "qlinear sigmoid": (
        "y = com.microsoft.QLinearSigmoid(x, sx1, zx1, sy, zy)",
        "int8[2,4] x",
        "int8[2,4] y",
        QLINEAR,
    ),
    "qlinear sigmoid of a computed scale": (
        "h = Abs(k) y = com.microsoft.QLinearSigmoid(x, h, zx, sy, zy)",
        "int8[2,4] x, float k",
        "int8[2,4] y",
        QLINEAR,
    ),
    "qlinear concat": (
        "y = com.microsoft.QLinearConcat<axis=1>(sy, zy, x, sx, zx, u, one, none)",
        "int8[2,4] x, int8[2,2] u",
        "int8[2,6] y",
        QLINEAR,
    ),
}
