# SPDX-License-Identifier: MIT
"""Inputs of a firmware beside samples: what was done to them is named, and right ones are left alone."""

from __future__ import annotations

import numpy
import pytest

from aidge_build.graph.quantization import per_tensor
from aidge_build.run.verify.likeness import Passed, differences
from tests.bench_firmware import gestures
from tests.programs import ROOT

SCALE, ZERO_POINT, CALLS = 0.0145, -37, 20
WINDOWS = gestures(200, 7)[0]
OTHERS = gestures(100, 8)[0]  # of the same sensor, but no window is the same


def levels(windows: numpy.ndarray, scale: float = SCALE, zero_point: int = ZERO_POINT, kind: str = "int8") -> numpy.ndarray:
    limits = numpy.iinfo(kind)
    return numpy.clip(numpy.rint(windows / numpy.float32(scale)) + zero_point, limits.min, limits.max).astype(kind)


def said(calls: numpy.ndarray, samples: numpy.ndarray = WINDOWS, **known) -> list[str]:
    quantization = per_tensor(known.get("scale", SCALE), known.get("zero_point", ZERO_POINT))
    return differences(Passed("x", calls, levels(samples, kind=calls.dtype.name, **known), quantization))


@pytest.mark.parametrize("samples", [WINDOWS, OTHERS], ids=["the samples themselves", "other samples"])
@pytest.mark.parametrize(
    ("calls", "line"),
    [
        (levels(WINDOWS[:CALLS]), ""),
        (levels(WINDOWS[:1]), ""),
        (levels(WINDOWS[:CALLS], 1 / 128, 0), "quantized with a scale of about 0.00"),
        (levels(WINDOWS[:CALLS], 0.1), "and a zero point of about -37; the model's are 0.01"),
        (levels(WINDOWS[:CALLS], 0.007, -62), "quantized with a scale of about 0.00"),  # the mean stays
        (levels(WINDOWS[:CALLS], zero_point=20), "quantized with a scale of about 0.01"),
        (WINDOWS[:CALLS].astype(numpy.int8), "only 4 different values, samples have 2"),
        (
            levels(WINDOWS[:CALLS]).transpose(0, 3, 2, 1).reshape(CALLS, 3, 1, 32),
            "if they are read as [32, 1, 3], the axes 2, 1, 0 of the model's [3, 1, 32]",
        ),
        (levels(WINDOWS[:CALLS]) ^ numpy.int8(-128), "if the highest bit of each is inverted"),
        (
            numpy.random.default_rng(1).integers(-128, 128, (CALLS, 3, 1, 32)).astype(numpy.int8),
            "like no sample (correlation 0.1",
        ),
        (numpy.full((CALLS, 3, 1, 32), -37, numpy.int8), "20 of 20 calls: every value is -37: nothing was written there"),
        (levels(WINDOWS[[3] * 5]), "4 of 5 calls: the same as in the call before"),
    ],
)
def test_a_difference_has_one_line_and_right_inputs_have_none(calls, samples, line):
    lines = said(calls, samples)
    assert (len(lines), [line in one for one in lines]) == ((1, [True]) if line else (0, [])), lines


def test_the_byte_order_of_wide_values_is_named():
    wide = {"scale": 0.001, "zero_point": 0}
    calls = levels(WINDOWS[:CALLS], 0.001, 0, "int16")
    assert said(calls, **wide) == []
    assert "the bytes of each value are swapped: the sender has the other byte order" in said(calls.byteswap(), **wide)[0]


def test_real_values_of_another_unit_are_named_and_infinite_ones_are_like_no_sample():
    def of(calls: numpy.ndarray) -> list[str]:
        return differences(Passed("x", calls.astype(numpy.float32), WINDOWS, None))

    assert of(WINDOWS[:CALLS]) == []
    assert "about 9.81 times a sample plus " in of(9.81 * WINDOWS[:CALLS])[0]
    assert "like no sample" in of(numpy.where(WINDOWS[:CALLS] > 0.5, numpy.inf, WINDOWS[:CALLS]))[0]


def test_other_images_of_the_same_kind_are_left_alone_and_named_if_they_are_quantized_otherwise():
    with numpy.load(ROOT / "examples" / "training" / "digits.npz") as digits:
        known, seen = (digits[f"{name}_images"].reshape(-1, 1, 8, 8) / numpy.float32(16) for name in ("training", "test"))

    def of(calls: numpy.ndarray) -> list[str]:
        return differences(Passed("x", calls, levels(known[:300], 1 / 255, -128), per_tensor(1 / 255, -128)))

    assert [of(levels(seen[at : at + 3], 1 / 255, -128)) for at in range(0, 120, 3)] == [[]] * 40
    assert [of(levels(seen[at : at + 3], 1 / 127, 0))[0].find("scale of about 0.00") > 0 for at in range(0, 30, 3)] == [True] * 10
    assert "the axes 0, 2, 1 of the model's [1, 8, 8]" in of(levels(seen[:9], 1 / 255, -128).swapaxes(2, 3))[0]
