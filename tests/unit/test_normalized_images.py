# SPDX-License-Identifier: MIT
"""Images that the graph itself normalises: from the bytes of the camera to those of the network without a float between."""

from __future__ import annotations

import numpy
import pytest

from aidge_build.boards import load_board
from aidge_build.prepare.recipes import simplify
from aidge_build.prepare.recipes.meaning import require_same_meaning
from tests.compiled import program_of
from tests.models import graph, model, types

F = numpy.float32
MEAN, DEVIATION = F([123.7, 116.3, 103.5]), F([58.4, 57.1, 57.4])
CONSTANTS = {"s": F(0.0188), "z": numpy.int8(0), "m": F(127.5), "d": F(1 / 127.5), "t": F(2 / 255), "whole": F(255)}
FLAT = {"ms": MEAN[:, None, None], "ds": 1 / DEVIATION[:, None, None], "std": DEVIATION[:, None, None] / 255}
LAST = {"ms": MEAN, "ds": 1 / DEVIATION, "std": DEVIATION / 255}


def image(text, constants=CONSTANTS, dims="1,3,4,5", dtype="uint8", stored="int8", make=graph, **other):
    return make(
        f"f = Cast<to=1>(x) {text}",
        inputs=f"{dtype}[{dims}] x",
        outputs=f"{stored}[{dims}] y",
        constants={**CONSTANTS, **constants, **other},
    )


@pytest.mark.parametrize(
    "text, found",
    [
        ("a = Sub(f, m) b = Mul(a, d) y = QuantizeLinear(b, t, z)", ["Restated", "Table"]),
        ("a = Sub(m, f) b = Div(a, m) y = QuantizeLinear(b, t, z)", ["Restated", "Table"]),
        ("a = Div(f, whole) y = QuantizeLinear(a, t, z)", ["Restated", "Table"]),
        ("y = QuantizeLinear(f, one, w)", ["FlipSign"]),
    ],
)
def test_one_number_for_all_channels_makes_a_table_of_256_values(text, found):
    before = image(text, one=F(1), w=numpy.int8(-128))
    after = simplify(before)
    assert types(after) == found
    require_same_meaning(before, after, "simplify", exact=True)


@pytest.mark.parametrize("dtype, stored", [("uint8", "int8"), ("int8", "int8"), ("uint8", "uint8")])
@pytest.mark.parametrize(
    "text",
    [
        "a = Sub(f, ms) b = Mul(a, ds) y = QuantizeLinear(b, s, z)",
        "e = Div(f, whole) g = Mul(e, whole) a = Sub(g, ms) b = Div(a, std) c = Div(b, whole) y = QuantizeLinear(c, s, z)",
        "a = Mul(ds, f) b = Sub(a, std) y = QuantizeLinear(b, s, z)",
    ],
)
@pytest.mark.parametrize("constants, dims", [(FLAT, "1,3,4,5"), (LAST, "2,4,5,3")], ids=["axis 1", "last axis"])
def test_numbers_of_each_channel_make_one_normalization_of_stored_values(text, constants, dims, dtype, stored):
    before = image(text, constants, dims, dtype, stored, z=numpy.dtype(stored).type(3))
    after = simplify(before)
    computing = [name for name in types(after) if name not in ("FlipSign", "Transpose")]
    assert computing == ["BatchNormalization"], types(after)
    require_same_meaning(before, after, "simplify", exact=True)


@pytest.mark.parametrize(
    "text, other",
    [
        ("a = Sub(f, ms) b = Mul(a, ds) q = Mul(b, b) y = QuantizeLinear(q, s, z)", {}),
        ("a = Sub(f, ms) b = Mul(a, rows) y = QuantizeLinear(b, s, z)", {"rows": F([[1], [2], [3], [4]])}),
    ],
    ids=["a square", "numbers of each row"],
)
def test_what_is_no_sum_or_product_of_each_channel_stays_in_float(text, other):
    before = image(text, FLAT, **other)
    after = simplify(before)
    assert {"BatchNormalization", "Table"}.isdisjoint(types(after)) and "QuantizeLinear" in types(after)
    require_same_meaning(before, after, "simplify", exact=True)


def test_a_cast_whose_floats_are_not_quantized_stays():
    before = graph("f = Cast<to=1>(x) y = Sub(f, m)", inputs="uint8[1,3,4,5] x", outputs="float[1,3,4,5] y", constants=CONSTANTS)
    assert types(simplify(before)) == ["Cast", "Sub"]


@pytest.mark.parametrize(
    "dtype, text, names, why",
    [
        (
            "int16",
            "a = Sub(f, m) b = Mul(a, d) y = QuantizeLinear(b, t, z)",
            "Cast_0, Sub_1, Mul_2, Quan",
            "int16 has more than 256 v",
        ),
        ("bool", "a = Mul(f, d) y = QuantizeLinear(a, t, z)", "Cast_0, Mul_1, Quan", "bool is no number of 8 bits"),
        (
            "uint8",
            "a = Mul(f, rows) y = QuantizeLinear(a, s, z)",
            "Cast_0, Mul_1, QuantizeLinear_2",
            "integers do not give all 256",
        ),
        ("uint8", "a = Sub(f, ms) b = Mul(a, ds) y = QuantizeLinear(b, s, z)", "", ""),
    ],
)
def test_floats_that_stay_are_named_with_what_they_cost_and_why(dtype, text, names, why):
    rows = F([[1], [2], [3], [4]])
    made = program_of(image(text, FLAT, dtype=dtype, make=model, rows=rows), "net.onnx", load_board("rp2040"))
    lines = [line for line in made.notices if "normalised in float32" in line]
    assert len(lines) == bool(names)
    assert all(names in line and why in line and "up to about" in line for line in lines), lines
