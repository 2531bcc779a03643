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
    return texts(Passed("x", calls, levels(samples, kind=calls.dtype.name, **known), quantization))


def texts(passed: Passed) -> list[str]:
    return [one.text for one in differences(passed)]


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
        (WINDOWS[:CALLS].astype(numpy.int8), "at most 4 different values, each sample has "),
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
        return texts(Passed("x", calls.astype(numpy.float32), WINDOWS, None))

    assert of(WINDOWS[:CALLS]) == []
    assert "about 9.81 times a sample plus " in of(9.81 * WINDOWS[:CALLS])[0]
    assert "like no sample" in of(numpy.where(WINDOWS[:CALLS] > 0.5, numpy.inf, WINDOWS[:CALLS]))[0]


def test_other_images_of_the_same_kind_are_left_alone_and_named_if_they_are_quantized_otherwise():
    with numpy.load(ROOT / "examples" / "training" / "digits.npz") as digits:
        known, seen = (digits[f"{name}_images"].reshape(-1, 1, 8, 8) / numpy.float32(16) for name in ("training", "test"))

    def of(calls: numpy.ndarray) -> list[str]:
        return texts(Passed("x", calls, levels(known[:300], 1 / 255, -128), per_tensor(1 / 255, -128)))

    assert [of(levels(seen[at : at + 3], 1 / 255, -128)) for at in range(0, 120, 3)] == [[]] * 40
    assert [of(levels(seen[at : at + 3], 1 / 127, 0))[0].find("scale of about 0.00") > 0 for at in range(0, 30, 3)] == [True] * 10
    assert "the axes 0, 2, 1 of the model's [1, 8, 8]" in of(levels(seen[:9], 1 / 255, -128).swapaxes(2, 3))[0]


def test_repeated_inputs_are_no_certain_mistake_and_few_constant_ones_are_none():
    known = levels(WINDOWS)
    (repeated,) = differences(Passed("x", known[[3] * 5], known, None))
    assert not repeated.is_certain
    silent = known[:9].copy()
    silent[2:5] = 0
    assert [one.text for one in differences(Passed("x", silent, known, per_tensor(SCALE, ZERO_POINT))) if one.is_certain] == []


def beats(count: int, seed: int) -> tuple[numpy.ndarray, list[int]]:
    """A recording of so many pulses, each with another form, and the places of their peaks, which are at irregular distances."""
    random = numpy.random.default_rng(seed)
    places = numpy.cumsum(random.integers(80, 110, count))
    time = numpy.arange(places[-1] + 100)
    waves = [
        random.uniform(0.5, 1.5) * numpy.exp(-0.5 * ((time - place - delay) / random.uniform(2, 5)) ** 2)
        for place in places
        for delay in (0, 30 + random.uniform(-6, 6))
    ]
    return numpy.sum(waves, 0) + random.normal(0, 0.03, len(time)), places.tolist()


def cut(recording: numpy.ndarray, begins) -> numpy.ndarray:
    return numpy.stack([recording[begin : begin + 96] for begin in begins])[:, None].astype(numpy.float32)


@pytest.mark.parametrize(("late", "word"), [(6, "late"), (-9, "early")])
def test_windows_that_begin_late_or_early_are_named_with_the_shift(late, word):
    recording, places = beats(150, 3)
    known = cut(recording, [place - 40 for place in places])
    (line,) = differences(Passed("x", cut(recording, [place - 40 + late for place in places[20:24]]), known, None))
    assert f") if they are shifted by {abs(late)} along axis 1: the window begins {word}" in line.text
    assert f"begin the window {abs(late)} " in line.hint
    other, places = beats(60, 4)
    assert [texts(Passed("x", cut(other, [place - 40 for place in places[at : at + 4]]), known, None)) for at in range(50)] == (
        [[]] * 50
    )


@pytest.mark.parametrize("step", [48, 12])
def test_windows_of_a_stream_begin_anywhere(step):
    recording, _ = beats(120, 5)
    known = cut(recording, range(0, 9000, step)[:200])
    assert [texts(Passed("x", cut(recording, range(at, at + 4 * step, step)), known, None)) for at in range(5, 2000, 96)] == (
        [[]] * 21
    )


def test_inputs_of_a_few_values_are_compared_with_the_ranges_of_the_samples():
    random = numpy.random.default_rng(4)
    known = random.normal((20, 1000, -3, 0), (2, 40, 0.1, 1), (200, 4)).astype(numpy.float32)
    seen = random.normal((20, 1000, -3, 0), (2, 40, 0.1, 1), (50, 4)).astype(numpy.float32)
    assert [texts(Passed("x", seen[at : at + 1], known, None)) for at in range(50)] == [[]] * 50
    wrong = "of the values are outside of the range that samples have at their place"
    assert wrong in texts(Passed("x", seen[:, ::-1], known, None))[0] and wrong in texts(Passed("x", 5 * seen, known, None))[0]
