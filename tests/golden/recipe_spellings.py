# SPDX-License-Identifier: MIT
"""Small graphs that spell quantized layers in other words: as dynamic quantization does, as training exports do, with views
between a layer and its quantization. Nodes, inputs, outputs and constants by name."""

from __future__ import annotations

import numpy

from tests.golden.recipe_cases import GEMM, IMAGE, INT8, INT32, LAYER, LINEAR, NORM, ROW, UINT8, F, Q, floats, integers, points

Case = tuple[str, str, str, dict[str, numpy.ndarray]]

PICTURE, MAP = "int8[1,2,4,4] x", "int8[1,3,2,2] y"
MOVED = "xf = DequantizeLinear(x, s, z) {} y = QuantizeLinear(r, s, z)"
MEASURED = "q, h, p = DynamicQuantizeLinear(x) "
SUMS = MEASURED + "a = {}(q, {}, p, {}) c = Cast<to=1>(a) "
SCALED = "t = Mul(h, {}) y = Mul(c, t)"
BIASED = "t = Mul(h, {}) i = Mul(c, t) {}"
DYNAMIC = {
    "w": integers(3, 2, 3, 3),
    "u": integers(3, 2, 3, 3, kind=UINT8, low=0, high=256),
    "zu": UINT8(130),
    "z0": INT8(0),
    "edge": points(INT8, -128, 0).reshape(2, 1),
    "zp": points(INT8, 0, 1),
    "zq": points(INT8, 0, -1),
    "zr": points(INT8, -1, 0),
    "top": points(INT8, 127, 126).reshape(2, 1),
    "sw": F(0.02),
    "by": numpy.array([0.01, 0.02, 0.04], F).reshape(1, 3, 1, 1),
    "flat": numpy.array([0.01, 0.02, 0.04], F),
    "m": integers(4, 3),
    "mu": integers(4, 3, kind=UINT8, low=0, high=256),
    "zm": points(INT8, 1, -1, 2),
    "b": floats(3),
    "b4": floats(1, 3, 1, 1),
    "row": floats(1, 3),
    "wide": floats(1, 1, 3),
    "column": floats(3, 1),
    "one": floats(1),
    "full": floats(2, 3),
    "square": integers(4, 4),
    "side": floats(4, 1),
}
TWICE = {
    **Q,
    "sn": F(0.1 * (1 + 1e-7)),
    "n": numpy.array([1]),
    "e": numpy.array([3]),
    "d": numpy.array([8]),
    "d2": numpy.array([4, 2]),
}
SEQUENCE = {"w": floats(4, 3), "c": floats(3), "row": floats(1, 3), "square": floats(4, 4), "c4": floats(4)}
VIEWED = {
    **LINEAR,
    "stack": integers(54),
    "w4": integers(3, 4),
    "wt": integers(4, 3),
    "turned": integers(2, 3, 3, 3),
    "s1": F(0.02),
    "z1": INT8(0),
    "d": points(numpy.int64, 3, 2, 3, 3),
    "rows": points(numpy.int64, 2, 4),
    "three": points(numpy.int64, 2, 2, 4),
    "more": points(numpy.int64, 2, 4, 4),
    "st": numpy.array([0.01, 0.02, 0.04], F),
    "zt": points(INT8, 0, 0, 0),
}
BIASES = {
    "tiny": LINEAR["b"].astype(F) * LINEAR["sb"] * F(1 + 2**-20),
    "half": (LINEAR["b"].astype(F) + F(0.5)) * LINEAR["sb"],
    "third": (LINEAR["b"].astype(F) + F(1 / 3)) * LINEAR["sb"],
    "huge": F(3e9) * LINEAR["sb"],
    "large": F(1e8) * LINEAR["sb"],
    "wrong": points(F, 1, numpy.inf, 0),
    "sy8": F(3.0),
    "low": F(-0.5),
    "high": F(0.9),
}
FOUR = {"s": F(0.1), "z": INT8(3), "s2": F(0.05), "z2": INT8(-7), "two": F(2), "six": F(6), "c": F(0.5), "vector": floats(4)}
FOUR |= {"half": points(F, 0.5).reshape(1, 1), "third": F(0.25), "s4": numpy.array([0.1, 0.2, 0.1, 0.2], F)}
FOUR |= {"z4": points(INT8, 0, 1, 2, 3), "zu": UINT8(3), "d": numpy.array([8])}
TRANSPOSED = {
    "sx": F(0.05),
    "zx": INT8(3),
    "w": integers(2, 3, 3, 3),
    "w2": integers(2, 3, 2, 2),
    "w1": integers(2, 3, 3),
    "sw": F(0.02),
    "zw": INT8(0),
    "odd": INT8(5),
    "s3": numpy.array([0.01, 0.02, 0.04], F),
    "z3": points(INT8, 0, 0, 0),
    "s2": numpy.array([0.01, 0.02], F),
    "z2": points(INT8, 0, 0),
    "b": integers(3, kind=INT32, low=-900, high=900),
    "sb": F(0.05) * numpy.array([0.01, 0.02, 0.04], F),
    "zb": points(INT32, 0, 0, 0),
    "one": F(0.001),
    "zero": INT32(0),
    "c": floats(3),
    "sy": F(0.2718),
    "zy": INT8(-7),
    "sys": numpy.array([0.3, 0.2, 0.1], F),
    "zys": points(INT8, 0, 1, 2),
    "pair": integers(2, 1, 2, 2),
}
BLOCKS = "xf = DequantizeLinear(x, sx, zx) wf = DequantizeLinear({}) a = ConvTranspose{}(xf, wf{}) y = QuantizeLinear(a, sy, zy)"
UNSIGNED_BORDER = {"s": F(0.1), "z": UINT8(131), "s2": F(0.25), "z2": UINT8(121), "d": numpy.array([8]), "e": numpy.array([4, 2])}
SPELLINGS: dict[str, Case] = {}


def add(name: str, nodes: str, inputs: str, outputs: str, constants: dict[str, numpy.ndarray]) -> None:
    assert name not in SPELLINGS, name
    SPELLINGS[name] = (nodes, inputs, outputs, constants)


# dynamic quantization
CONVOLVED = "float[1,3,2,2] y"
for scales in ("sw", "by", "one"):
    add(
        f"dynamic conv by {scales}",
        SUMS.format("ConvInteger", "w", "z0") + SCALED.format(scales),
        IMAGE,
        "float[1,3,?,?] y",
        DYNAMIC,
    )
    add(
        f"dynamic matmul by {scales}",
        SUMS.format("MatMulInteger", "m", "z0") + SCALED.format(scales),
        ROW,
        "float[?,?,?,?] y" if scales == "by" else "float[2,3] y",
        DYNAMIC,
    )
for bias in ("b4", "b", "one", "column"):
    ending = BIASED.format("sw", f"y = Add(i, {bias})")
    if bias != "b":
        add(
            f"dynamic conv and {bias}",
            SUMS.format("ConvInteger", "w", "z0") + ending,
            IMAGE,
            "float[1,3,2,2] y" if bias != "column" else "float[1,3,?,?] y",
            DYNAMIC if bias != "column" else {**DYNAMIC, "column": floats(3, 1, 1)},
        )
for bias in ("b", "row", "one", "full", "wide"):
    dims = "float[1,2,3] y" if bias == "wide" else "float[2,3] y"
    add(
        f"dynamic matmul and {bias}",
        SUMS.format("MatMulInteger", "m", "z0") + BIASED.format("flat", f"y = Add({bias}, i)"),
        ROW,
        dims,
        DYNAMIC,
    )
add(
    "dynamic matmul added to itself",
    SUMS.format("MatMulInteger", "m", "z0") + BIASED.format("sw", "y = Add(i, i)"),
    ROW,
    "float[2,3] y",
    DYNAMIC,
)
add(
    "dynamic matmul less a bias",
    SUMS.format("MatMulInteger", "m", "z0") + BIASED.format("sw", "y = Sub(i, b)"),
    ROW,
    "float[2,3] y",
    DYNAMIC,
)
add(
    "dynamic matmul of four axes",
    SUMS.format("MatMulInteger", "m", "z0") + BIASED.format("flat", "y = Add(i, b)"),
    "float[1,2,2,4] x",
    "float[1,2,2,3] y",
    DYNAMIC,
)
add(
    "dynamic matmul with a column",
    SUMS.format("MatMulInteger", "square", "z0") + BIASED.format("sw", "y = Add(i, side)"),
    "float[4,4] x",
    "float[4,4] y",
    DYNAMIC,
)
add("dynamic matmul by columns", SUMS.format("MatMulInteger", "m", "zm") + SCALED.format("flat"), ROW, "float[2,3] y", DYNAMIC)
add(
    "dynamic matmul of unsigned weights",
    SUMS.format("MatMulInteger", "mu", "zu") + SCALED.format("sw"),
    ROW,
    "float[2,3] y",
    DYNAMIC,
)
add("dynamic conv of unsigned weights", SUMS.format("ConvInteger", "u", "zu") + SCALED.format("sw"), IMAGE, CONVOLVED, DYNAMIC)
for point in ("zq", "zr", "zp"):
    for weights in ("edge", "top"):
        add(
            f"dynamic matmul of {weights} less {point}",
            SUMS.format("MatMulInteger", weights + "t", point) + SCALED.format("sw"),
            "float[2,1] x",
            "float[2,2] y",
            {**DYNAMIC, "edget": DYNAMIC["edge"].T.copy(), "topt": DYNAMIC["top"].T.copy()},
        )
add(
    "dynamic matmul without a zero point of weights",
    MEASURED + "a = MatMulInteger(q, m, p) c = Cast<to=1>(a) " + SCALED.format("sw"),
    ROW,
    "float[2,3] y",
    DYNAMIC,
)
add(
    "integers without zero points",
    MEASURED + "a = MatMulInteger(q, m) c = Cast<to=1>(a) " + SCALED.format("sw"),
    ROW,
    "float[2,3] y",
    DYNAMIC,
)
add(
    "integers with a constant zero point",
    MEASURED + "a = MatMulInteger(q, m, zu, z0) c = Cast<to=1>(a) " + SCALED.format("sw"),
    ROW,
    "float[2,3] y",
    DYNAMIC,
)
add(
    "integers of two inputs",
    MEASURED + "a = MatMulInteger(q, k, p, z0) c = Cast<to=1>(a) " + SCALED.format("sw"),
    "float[2,4] x, int8[4,3] k",
    "float[2,3] y",
    DYNAMIC,
)
add(
    "integers with a computed zero point of weights",
    MEASURED + "a = MatMulInteger(q, m, p, k) c = Cast<to=1>(a) " + SCALED.format("sw"),
    "float[2,4] x, int8 k",
    "float[2,3] y",
    DYNAMIC,
)
add(
    "integers of a stack of weights",
    MEASURED + "a = MatMulInteger(q, k, p, z0) c = Cast<to=1>(a) " + SCALED.format("sw"),
    ROW,
    "float[2,2,3] y",
    {**DYNAMIC, "k": integers(2, 4, 3)},
)
add(
    "integers cast to another type",
    MEASURED + "a = MatMulInteger(q, m, p, z0) c = Cast<to=7>(a) e = Cast<to=1>(c) t = Mul(h, sw) y = Mul(e, t)",
    ROW,
    "float[2,3] y",
    DYNAMIC,
)
add("integers times one number", SUMS.format("MatMulInteger", "m", "z0") + "y = Mul(c, sw)", ROW, "float[2,3] y", DYNAMIC)
add("integers times themselves", SUMS.format("MatMulInteger", "m", "z0") + "y = Mul(c, c)", ROW, "float[2,3] y", DYNAMIC)
add(
    "integers times a sum", SUMS.format("MatMulInteger", "m", "z0") + "t = Add(h, sw) y = Mul(c, t)", ROW, "float[2,3] y", DYNAMIC
)
add(
    "integers times two computed scales",
    SUMS.format("MatMulInteger", "m", "z0") + "t = Mul(h, h) y = Mul(c, t)",
    ROW,
    "float[2,3] y",
    DYNAMIC,
)
add(
    "integers times a clamped scale",
    SUMS.format("MatMulInteger", "m", "z0") + "g = Mul(h, sw) t = Relu(g) y = Mul(c, t)",
    ROW,
    "float[2,3] y",
    DYNAMIC,
)
add(
    "integers times scales of rows",
    SUMS.format("MatMulInteger", "square", "z0") + "t = Mul(h, side) y = Mul(c, t)",
    "float[4,4] x",
    "float[4,4] y",
    DYNAMIC,
)
add(
    "integers times computed scales of rows",
    MEASURED + "a = MatMulInteger(q, square, p, z0) c = Cast<to=1>(a) t = Mul(k, sw) y = Mul(c, t)",
    "float[4,4] x, float[4] k",
    "float[4,4] y",
    DYNAMIC,
)
add(
    "dynamic matmul with a clamp",
    SUMS.format("MatMulInteger", "m", "z0") + BIASED.format("sw", "g = Add(i, b) y = Relu(g)"),
    ROW,
    "float[2,3] y",
    DYNAMIC,
)
add(
    "dynamic conv of one axis",
    SUMS.format("ConvInteger", "k", "z0") + BIASED.format("sw", "y = Add(i, e)"),
    "float[1,2,6] x",
    "float[1,3,4] y",
    {**DYNAMIC, "k": integers(3, 2, 3), "e": floats(1, 3, 1)},
)
add(
    "dynamic sums that int32 does not hold",
    SUMS.format("MatMulInteger", "k", "z0") + SCALED.format("sw"),
    "float[1,66400] x",
    "float[1,1] y",
    {**DYNAMIC, "k": numpy.full((66400, 1), 127, INT8)},
)
add(
    "dynamic sums that int32 holds",
    SUMS.format("MatMulInteger", "k", "z0") + SCALED.format("sw"),
    "float[1,66300] x",
    "float[1,1] y",
    {**DYNAMIC, "k": numpy.full((66300, 1), 127, INT8)},
)

# biases
for name in ("tiny", "half", "third", "huge", "large", "wrong"):
    add(f"bias {name}", f"{LAYER} a = Conv(xf, wf, {name}) y = QuantizeLinear(a, sy, zy)", PICTURE, MAP, {**LINEAR, **BIASES})
add(
    "bias of a third that clamps",
    f"{LAYER} a = Conv(xf, wf, third) r = Clip(a, low, high) y = QuantizeLinear(r, sy, zy)",
    PICTURE,
    MAP,
    {**LINEAR, **BIASES},
)
add(
    "bias of a third at a coarse scale",
    f"{LAYER} a = Conv(xf, wf, third) y = QuantizeLinear(a, sy8, zy)",
    PICTURE,
    MAP,
    {**LINEAR, **BIASES},
)
add(
    "bias of a third with a pad",
    f"{LAYER} a = Conv<pads=[1,1,1,1]>(xf, wf, third) y = QuantizeLinear(a, sy, zy)",
    PICTURE,
    "int8[1,3,4,4] y",
    {**LINEAR, **BIASES},
)
add(
    "bias of a third for weights of one scale",
    "xf = DequantizeLinear(x, sx, zx) wf = DequantizeLinear(w, s1, odd) a = Conv(xf, wf, third) y = QuantizeLinear(a, sy, zy)",
    PICTURE,
    MAP,
    {**LINEAR, **BIASES, "s1": F(0.02), "odd": INT8(2)},
)

# two scales of one tensor
add(
    "read by another scale",
    "a = QuantizeLinear(x, s, z) b = DequantizeLinear(a, s2, z2) y = Sigmoid(b)",
    ROW,
    "float[2,4] y",
    TWICE,
)
add(
    "read by two other scales",
    "a = QuantizeLinear(x, s, z) b = DequantizeLinear(a, s2, z2) c = DequantizeLinear(a, s2, z2) o = DequantizeLinear(a, "
    "s2, z) g = Add(b, c) y = Add(g, o)",
    ROW,
    "float[2,4] y",
    TWICE,
)
add(
    "an input read by two scales",
    "b = DequantizeLinear(x, s, z) c = DequantizeLinear(x, s2, z2) y = Add(b, c)",
    "int8[2,4] x",
    "float[2,4] y",
    TWICE,
)
add(
    "read by another scale behind a selection",
    "a = QuantizeLinear(x, s, z) r = Slice(a, n, e) b = DequantizeLinear(r, s2, z2) y = Sigmoid(b)",
    "float[4,4] x",
    "float[2,4] y",
    TWICE,
)
add(
    "read by another scale behind a product of indices",
    "a = QuantizeLinear(x, s, z) r = Gather(a, n) b = DequantizeLinear(r, s2, z2) y = Sigmoid(b)",
    "float[4,4] x",
    "float[1,4] y",
    TWICE,
)
add(
    "scales along an axis and one",
    "a = QuantizeLinear<axis=1>(x, sa, za) b = DequantizeLinear(a, s2, z2) y = Sigmoid(b)",
    ROW,
    "float[2,4] y",
    {**TWICE, "sa": FOUR["s4"], "za": FOUR["z4"]},
)
add(
    "a selection between scales that are alike",
    "xf = DequantizeLinear(x, s, z) r = Slice(xf, n, e) y = QuantizeLinear(r, sn, z)",
    "int8[4,4] x",
    "int8[2,4] y",
    TWICE,
)
add(
    "a pool between scales that are alike",
    "xf = DequantizeLinear(x, s, z) r = MaxPool<kernel_shape=[2]>(xf) q = QuantizeLinear(r, sn, z) f = DequantizeLinear(q, "
    "sn, z) y = Sigmoid(f)",
    "int8[1,2,4] x",
    "float[1,2,?] y",
    TWICE,
)
add(
    "a selection between zero points",
    "xf = DequantizeLinear(x, s, z) r = Slice(xf, n, e) y = QuantizeLinear(r, s, z2)",
    "int8[4,4] x",
    "int8[2,4] y",
    TWICE,
)
add(
    "a float between scales that are alike",
    "xf = Relu(x) r = Slice(xf, n, e) y = QuantizeLinear(r, sn, z)",
    "float[4,4] x",
    "int8[2,4] y",
    TWICE,
)

# sequences
add("product of a sequence", "a = MatMul(x, w) y = Add(c, a)", "float[2,3,4] x", "float[2,3,3] y", SEQUENCE)
add("product of a sequence with a bias first", "a = MatMul(x, w) y = Add(a, c)", "float[2,3,4] x", "float[2,3,3] y", SEQUENCE)
add("product of a sequence and a row", "a = MatMul(x, w) y = Add(a, row)", "float[2,3,4] x", "float[2,3,3] y", SEQUENCE)
add("product of a sequence and a tensor", "a = MatMul(x, square) y = Add(a, x)", "float[2,3,4] x", "float[2,3,4] y", SEQUENCE)
add("product of a sequence twice", "a = MatMul(x, square) y = Add(a, a)", "float[2,3,4] x", "float[2,3,4] y", SEQUENCE)
add(
    "product of a sequence for two",
    "a = MatMul(x, square) y = Add(a, c4) z = Relu(a)",
    "float[2,3,4] x",
    "float[2,3,4] y, float[2,3,4] z",
    SEQUENCE,
)
add("product of a sequence less a bias", "a = MatMul(x, w) y = Sub(a, c)", "float[2,3,4] x", "float[2,3,3] y", SEQUENCE)
add("product of two sequences", "y = MatMul(x, k)", "float[2,3,4] x, float[4,3] k", "float[2,3,3] y", SEQUENCE)
add("product of a constant sequence", "y = MatMul(k, x)", "float[4,3] x", "float[2,2,3] y", {"k": floats(2, 2, 4)})

# views between
add(
    "weights seen otherwise",
    "xf = DequantizeLinear(x, sx, zx) d0 = DequantizeLinear(stack, s1, z1) wf = Reshape(d0, d) a = Conv(xf, wf) y = "
    "QuantizeLinear(a, sy, zy)",
    PICTURE,
    MAP,
    VIEWED,
)
add(
    "weights turned",
    "xf = DequantizeLinear(x, sx, zx) d0 = DequantizeLinear<axis=1>(turned, st, zt) wf = Transpose<perm=[1,0,2,3]>(d0) a = "
    "Conv(xf, wf) y = QuantizeLinear(a, sy, zy)",
    PICTURE,
    MAP,
    VIEWED,
)
add(
    "weights turned and seen",
    "xf = DequantizeLinear(x, sx, zx) d0 = DequantizeLinear(turned, s1, z1) d1 = Transpose<perm=[1,0,2,3]>(d0) wf = "
    "Reshape(d1, d) a = Conv(xf, wf) y = QuantizeLinear(a, sy, zy)",
    PICTURE,
    MAP,
    VIEWED,
)
add(
    "weights by channel seen otherwise",
    "xf = DequantizeLinear(x, sx, zx) d0 = DequantizeLinear<axis=0>(w, sw, zw) wf = Reshape(d0, d) a = Conv(xf, wf) y = "
    "QuantizeLinear(a, sy, zy)",
    PICTURE,
    MAP,
    VIEWED,
)
add(
    "a constant output seen otherwise",
    "d0 = DequantizeLinear(w4, s1, z1) y = Transpose(d0) u = Relu(x)",
    ROW,
    "float[4,3] y, float[2,4] u",
    VIEWED,
)
add(
    "rows of a product",
    "xf = DequantizeLinear(x, sx, zx) r = Reshape(xf, rows) wf = DequantizeLinear<axis=1>(wt, st, zt) a = MatMul(r, wf) y "
    "= QuantizeLinear(a, sy, zy)",
    "int8[8] x",
    "int8[2,3] y",
    VIEWED,
)
add(
    "a view behind a product",
    "xf = DequantizeLinear(x, sx, zx) wf = DequantizeLinear<axis=1>(wt, st, zt) a = MatMul(xf, wf) r = Transpose(a) y = "
    "QuantizeLinear(r, sy, zy)",
    "int8[2,4] x",
    "int8[3,2] y",
    VIEWED,
)
add(
    "two views behind a product",
    "xf = DequantizeLinear(x, sx, zx) wf = DequantizeLinear<axis=1>(wt, st, zt) a = MatMul(xf, wf) r = Transpose(a) v = "
    "Reshape(r, six) y = QuantizeLinear(v, sy, zy)",
    "int8[2,4] x",
    "int8[6] y",
    {**VIEWED, "six": numpy.array([6])},
)
add(
    "a view behind a product for two",
    "xf = DequantizeLinear(x, sx, zx) wf = DequantizeLinear<axis=1>(wt, st, zt) a = MatMul(xf, wf) r = Transpose(a) y = "
    "QuantizeLinear(r, sy, zy) u = Relu(a)",
    "int8[2,4] x",
    "int8[3,2] y, float[2,3] u",
    VIEWED,
)
add(
    "a view that two read",
    "xf = DequantizeLinear(x, sx, zx) r = Transpose(xf) u = Sigmoid(r) y = QuantizeLinear(r, sx, zx)",
    "int8[2,4] x",
    "int8[4,2] y, float[4,2] u",
    VIEWED,
)
add("a view of one input", "r = Transpose(x) y = QuantizeLinear(r, sx, zx)", ROW, "int8[4,2] y", VIEWED)
add(
    "a view by channel",
    "r = Relu(x) t = Transpose(r) y = QuantizeLinear<axis=1>(t, s2, z2)",
    "float[2,4] x",
    "int8[4,2] y",
    {**VIEWED, "s2": numpy.array([0.1, 0.2], F), "z2": points(INT8, 1, 2)},
)
add(
    "selected by channel",
    "xf = DequantizeLinear<axis=1>(x, s4, z4) r = Transpose(xf) u = Sigmoid(r) y = QuantizeLinear(u, s, z)",
    "int8[2,4] x",
    "int8[4,2] y",
    FOUR,
)
add("expanded", "xf = DequantizeLinear(x, sx, zx) r = Expand(xf, more) y = Sigmoid(r)", "int8[4,4] x", "float[2,4,4] y", VIEWED)
add(
    "selected and joined",
    "xf = DequantizeLinear(x, s, z) f2 = DequantizeLinear(k, s, z) r = Concat<axis=0>(xf, f2) u = Sigmoid(r) y = "
    "QuantizeLinear(u, s2, z2)",
    "int8[2,4] x, int8[2,4] k",
    "int8[4,4] y",
    FOUR,
)
add(
    "selected for an output",
    "xf = DequantizeLinear(x, s, z) r = Slice(xf, n, e)  y = QuantizeLinear(r, s, z)",
    "int8[4,4] x",
    "int8[2,4] y, float[2,4] r",
    TWICE,
)
add(
    "selected for two",
    "xf = DequantizeLinear(x, s, z) r = Slice(xf, n, e) y = QuantizeLinear(r, s, z) g = Sigmoid(r) u = QuantizeLinear(g, s2, z2)",
    "int8[4,4] x",
    "int8[2,4] y, int8[2,4] u",
    TWICE,
)

# transposed convolutions
for strides in ("2,2", "1,1", "2,1", "3,3"):
    for kernel in ("w", "w2"):
        add(
            f"transposed by {strides} of {kernel}",
            BLOCKS.format(f"{kernel}, sw, zw", f"<strides=[{strides}]>", ""),
            PICTURE,
            "int8[1,3,?,?] y",
            TRANSPOSED,
        )
add(
    "transposed with pads",
    BLOCKS.format("w, sw, odd", "<strides=[2,2], pads=[1,1,0,1], output_padding=[1,0]>", ""),
    PICTURE,
    "int8[1,3,?,?] y",
    TRANSPOSED,
)
add(
    "transposed by channel",
    BLOCKS.format("w, s3, z3", "<strides=[2,2]>", ", bf").replace(
        "wf = DequantizeLinear(", "bf = DequantizeLinear<axis=0>(b, sb, zb) wf = DequantizeLinear<axis=1>("
    ),
    PICTURE,
    "int8[1,3,?,?] y",
    TRANSPOSED,
)
add(
    "transposed with one scale and a bias",
    BLOCKS.format("w, sw, zw", "<strides=[2,2]>", ", bf").replace("wf =", "bf = DequantizeLinear(b, one, zero) wf ="),
    PICTURE,
    "int8[1,3,?,?] y",
    TRANSPOSED,
)
add(
    "transposed with a bias in float",
    BLOCKS.format("w, sw, zw", "<strides=[2,2]>", ", c"),
    PICTURE,
    "int8[1,3,?,?] y",
    TRANSPOSED,
)
add(
    "transposed with a computed bias",
    BLOCKS.format("w, sw, zw", "<strides=[2,2]>", ", k"),
    PICTURE + ", float[3] k",
    "int8[1,3,?,?] y",
    TRANSPOSED,
)
add(
    "transposed by input channel",
    BLOCKS.format("w, s2, z2", "<strides=[2,2]>", "").replace("wf = DequantizeLinear(", "wf = DequantizeLinear<axis=0>("),
    PICTURE,
    "int8[1,3,?,?] y",
    TRANSPOSED,
)
add("transposed in groups", BLOCKS.format("pair, sw, zw", "<strides=[2,2], group=2>", ""), PICTURE, "int8[1,2,?,?] y", TRANSPOSED)
add(
    "transposed and dilated",
    BLOCKS.format("w, sw, zw", "<strides=[2,2], dilations=[2,1]>", ""),
    PICTURE,
    "int8[1,3,?,?] y",
    TRANSPOSED,
)
add("transposed in one axis", BLOCKS.format("w1, sw, zw", "<strides=[2]>", ""), "int8[1,2,4] x", "int8[1,3,?] y", TRANSPOSED)
add(
    "transposed and cut",
    BLOCKS.format("w, sw, zw", "<strides=[2,2], pads=[3,3,3,3]>", ""),
    PICTURE,
    "int8[1,3,?,?] y",
    TRANSPOSED,
)
add(
    "transposed of float weights",
    "xf = DequantizeLinear(x, sx, zx) a = ConvTranspose(xf, k) y = QuantizeLinear(a, sy, zy)",
    PICTURE,
    "int8[1,3,?,?] y",
    {**TRANSPOSED, "k": floats(2, 3, 3, 3)},
)
add(
    "transposed of computed weights",
    "xf = DequantizeLinear(x, sx, zx) a = ConvTranspose(xf, k) y = QuantizeLinear(a, sy, zy)",
    PICTURE + ", float[2,3,3,3] k",
    "int8[1,3,?,?] y",
    TRANSPOSED,
)
add(
    "transposed of a float image",
    "wf = DequantizeLinear(w, sw, zw) a = ConvTranspose<strides=[2,2]>(x, wf) y = QuantizeLinear(a, sy, zy)",
    IMAGE,
    "int8[1,3,?,?] y",
    TRANSPOSED,
)
add(
    "transposed to channels",
    BLOCKS.format("w, sw, zw", "<strides=[2,2]>", "").replace("QuantizeLinear(a, sy, zy)", "QuantizeLinear<axis=1>(a, sys, zys)"),
    PICTURE,
    "int8[1,3,?,?] y",
    TRANSPOSED,
)
add(
    "transposed to a float",
    "xf = DequantizeLinear(x, sx, zx) wf = DequantizeLinear(w, sw, zw) a = ConvTranspose<strides=[2,2]>(xf, wf) y = Sigmoid(a)",
    PICTURE,
    "float[1,3,?,?] y",
    TRANSPOSED,
)
add(
    "transposed and clamped",
    "xf = DequantizeLinear(x, sx, zx) wf = DequantizeLinear(w, sw, zw) a = ConvTranspose<strides=[2,2]>(xf, wf) r = "
    "Relu(a) y = QuantizeLinear(r, sy, zy)",
    PICTURE,
    "int8[1,3,?,?] y",
    TRANSPOSED,
)

# tables
WRAPPED = "xf = DequantizeLinear(x, s, z) {} y = QuantizeLinear(r, s2, z2)"
for name, nodes in {
    "silu": "g = Sigmoid(xf) r = Mul(xf, g)",
    "scale and shift": "g = Mul(xf, two) r = Add(g, c)",
    "scale with an axis": "g = Mul(xf, half) r = Add(g, c)",
    "scale by a vector": "g = Mul(xf, vector) r = Add(g, c)",
    "square": "r = Mul(xf, xf)",
    "one function": "r = Tanh(xf)",
    "one clip": "r = Clip(xf, c, six)",
    "two functions": "g = Tanh(xf) r = Exp(g)",
    "function and transpose": "g = Tanh(xf) t = Transpose(g) e = Exp(t) r = Transpose(e)",
    "function and sum": "g = Tanh(xf) r = ReduceSum<keepdims=1>(g)",
    "an absent bound": "r = Clip(xf, , six)",
}.items():
    add(
        f"table of {name}",
        WRAPPED.format(nodes),
        "int8[2,4] x",
        "int8[1,1] y" if name == "function and sum" else "int8[2,4] y",
        FOUR,
    )
add(
    "table in steps",
    WRAPPED.format("g = Tanh(xf) q = QuantizeLinear(g, third, z) f = DequantizeLinear(q, third, z) r = Exp(f)"),
    "int8[2,4] x",
    "int8[2,4] y",
    FOUR,
)
add(
    "table in steps that are seen",
    WRAPPED.format("g = Tanh(xf) q = QuantizeLinear(g, third, z) f = DequantizeLinear(q, third, z) r = Exp(f)"),
    "int8[2,4] x",
    "int8[2,4] y, int8[2,4] q",
    FOUR,
)
add(
    "table read twice",
    WRAPPED.format("g = Tanh(xf) q = QuantizeLinear(g, third, z) f = DequantizeLinear(q, third, z) r = Mul(f, xf)"),
    "int8[2,4] x",
    "int8[2,4] y",
    FOUR,
)
add(
    "table of two inputs",
    "xf = DequantizeLinear(x, s, z) kf = DequantizeLinear(k, s, z) g = Sigmoid(kf) r = Mul(xf, g) y = QuantizeLinear(r, s2, z2)",
    "int8[2,4] x, int8[2,4] k",
    "int8[2,4] y",
    FOUR,
)
add(
    "table of a row",
    "xf = DequantizeLinear(x, s, z) kf = DequantizeLinear(x, s, z) t = Slice(kf, n, e) r = Mul(xf, t) y = "
    "QuantizeLinear(r, s2, z2)",
    "int8[2,4] x",
    "int8[2,4] y",
    {**FOUR, "n": numpy.array([0]), "e": numpy.array([1])},
)
add(
    "table from an unsigned input",
    "xf = DequantizeLinear(x, s, zu) g = Sigmoid(xf) r = Mul(xf, g) y = QuantizeLinear(r, s2, z2)",
    "uint8[2,4] x",
    "int8[2,4] y",
    FOUR,
)
add(
    "two quantizations in a row",
    "a = QuantizeLinear(x, s, z) b = DequantizeLinear(a, s, z) c0 = QuantizeLinear(b, s2, z2) y = DequantizeLinear(c0, s2, z2)",
    ROW,
    "float[2,4] y",
    FOUR,
)
add(
    "table by channel",
    "xf = DequantizeLinear<axis=1>(x, s4, z4) g = Sigmoid(xf) r = Mul(xf, g) y = QuantizeLinear(r, s2, z2)",
    "int8[2,4] x",
    "int8[2,4] y",
    FOUR,
)

# borders without a sign
add(
    "unsigned input with a pool",
    "xf = DequantizeLinear(x, s, z) r = MaxPool<kernel_shape=[2]>(xf) y = QuantizeLinear(r, s, z)",
    "uint8[1,2,4] x",
    "uint8[1,2,?] y",
    UNSIGNED_BORDER,
)
add(
    "unsigned input that is quantized again",
    "xf = DequantizeLinear(x, s, z) y = QuantizeLinear(xf, s2, z2)",
    "uint8[2,4] x",
    "uint8[2,4] y",
    UNSIGNED_BORDER,
)
add(
    "unsigned input of two layers",
    "xf = DequantizeLinear(x, s, z) g = Sigmoid(xf) y = QuantizeLinear(g, s2, z2) u = Relu(xf)",
    "uint8[2,4] x",
    "uint8[2,4] y, float[2,4] u",
    UNSIGNED_BORDER,
)
add(
    "unsigned weights of a product",
    "xf = DequantizeLinear(x, s, z) wf = DequantizeLinear(w, s2, z2) a = MatMul(xf, wf) y = QuantizeLinear(a, s, z)",
    "uint8[2,4] x",
    "uint8[2,3] y",
    {**UNSIGNED_BORDER, "w": integers(4, 3, kind=UINT8, low=0, high=250)},
)
add(
    "unsigned weights at both ends",
    "xf = DequantizeLinear(x, s, z) wf = DequantizeLinear(w, s2, z1) a = MatMul(xf, wf) y = QuantizeLinear(a, s, z)",
    "uint8[1,2] x",
    "uint8[1,1] y",
    {**UNSIGNED_BORDER, "w": points(UINT8, 0, 255).reshape(2, 1), "z1": UINT8(128)},
)
add(
    "unsigned weights beyond an end",
    "xf = DequantizeLinear(x, s, z) wf = DequantizeLinear(w, s2, z1) a = MatMul(xf, wf) y = QuantizeLinear(a, s, z)",
    "uint8[1,2] x",
    "uint8[1,1] y",
    {**UNSIGNED_BORDER, "w": points(UINT8, 0, 255).reshape(2, 1), "z1": UINT8(127)},
)

# normalization and fully connected
add(
    "norm with a computed scale",
    "a = Conv(x, w) y = BatchNormalization(a, k, t, m, v)",
    IMAGE + ", float[3] k",
    "float[1,3,2,2] y",
    NORM,
)
add(
    "norm of quantized weights",
    "wf = DequantizeLinear<axis=0>(w8, sw, zw) a = Conv(x, wf) y = BatchNormalization(a, g, t, m, v)",
    IMAGE,
    "float[1,3,2,2] y",
    {**NORM, "w8": LINEAR["w"], "sw": LINEAR["sw"], "zw": LINEAR["zw"]},
)
add(
    "norm of a gemm",
    "a = Gemm(x, k, c) y = BatchNormalization<epsilon=0.125>(a, g, t, m, v)",
    ROW,
    "float[2,3] y",
    {**NORM, "k": GEMM["w"], "c": floats(3)},
)
add("gemm and a column of ones", "y = Gemm(x, w, side)", "float[3,4] x", "float[3,3] y", {**GEMM, "side": floats(3, 1)})
add(
    "gemm by columns",
    "wf = DequantizeLinear<axis=1>(w8, sw, zw) y = Gemm(x, wf, c)",
    ROW,
    "float[2,3] y",
    {**GEMM, "w8": integers(4, 3), "sw": LINEAR["sw"], "zw": LINEAR["zw"]},
)
add(
    "gemm by rows",
    "wf = DequantizeLinear<axis=0>(w8, sw, zw) y = Gemm<transB=1>(x, wf, cf)".replace(
        "y =", "cf = DequantizeLinear<axis=0>(b, sb, zb) y ="
    ),
    ROW,
    "float[2,3] y",
    {"w8": integers(3, 4), **{name: LINEAR[name] for name in ("sw", "zw", "b", "sb", "zb")}},
)
add(
    "gemm and a row by column",
    "cf = DequantizeLinear<axis=1>(b, sb, zb) y = Gemm(x, w, cf)",
    ROW,
    "float[2,3] y",
    {**GEMM, "b": LINEAR["b"].reshape(1, 3), "sb": LINEAR["sb"], "zb": LINEAR["zb"]},
)
add(
    "matmul and a row of words",
    "wf = DequantizeLinear(w8, s, z) cf = DequantizeLinear(b, s2, zero) a = MatMul(x, wf) g = Add(cf, a) y = Relu(g)",
    ROW,
    "float[2,3] y",
    {**Q, "w8": integers(4, 3), "b": LINEAR["b"], "zero": INT32(0)},
)
