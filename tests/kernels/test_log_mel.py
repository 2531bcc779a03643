# SPDX-License-Identifier: MIT
"""The fixed-point audio front end: the same bits in numpy, in C on this machine and on cores with and without long products."""

from __future__ import annotations

import os

import cortexm_harness
import harness
import helium_harness
import numpy
import pytest
from helium_harness import needs_emulator

from aidge_build.graph.dtype import DType
from aidge_build.graph.tensor import Tensor, constant
from aidge_build.operators.arithmetic.log_mel import LENGTHS
from aidge_build.operators.log_mel import LogMel

STRESS = bool(os.environ.get("AIDGE_STRESS"))
SIGNALS = ("noise", "quiet", "tone", "silence", "lowest", "highest", "square", "impulse", "constant")


def samples(kind: str, count: int, random: numpy.random.Generator) -> numpy.ndarray:
    """Samples of one kind, int16."""
    time = numpy.arange(count)
    found = {
        "noise": random.normal(size=count) * 10 ** random.uniform(0, 4.5),
        "quiet": random.integers(-2, 3, count),
        "tone": random.uniform(1, 32767) * numpy.sin(time * random.uniform(0.01, 3)),
        "silence": numpy.zeros(count),
        "lowest": numpy.full(count, -32768),
        "highest": numpy.full(count, 32767),
        "square": numpy.where(time // random.integers(1, 40) % 2, 32767, -32768),
        "impulse": 32767 * (time == count // 2),
        "constant": numpy.full(count, random.integers(-300, 300)),
    }[kind]
    return numpy.clip(numpy.rint(found), -32768, 32767).astype(numpy.int16)


def triangles(bands: int, bins: int, random: numpy.random.Generator) -> numpy.ndarray:
    """Filters of all widths, with an empty one."""
    filters = numpy.zeros((bands, bins), numpy.uint16)
    for band in range(1, bands):
        first = int(random.integers(0, bins - 1))
        last = min(bins, first + 1 + int(random.integers(0, max(2, bins // 8))))
        filters[band, first:last] = random.integers(1, 65536, last - first)
    filters[-1] = 65535
    return filters


def log_mel(case, seed: int, length: int, to: DType):
    random = numpy.random.Generator(numpy.random.PCG64(seed))
    taps = (length, length - length // 16, length // 2 + 1)[seed % 3]
    step, frames = taps // 3 + 1, len(SIGNALS)
    window = (
        numpy.full(taps, 32767),
        numpy.rint(32767 * numpy.hanning(taps)),
        random.integers(-32768, 32768, taps),
    )[seed // 3 % 3].astype(numpy.int16)
    multiplier, shift = (12288, 20) if to is DType.int8 else (14400, 14)
    operator = LogMel(
        length, step, multiplier, -multiplier * 1024 * (35 + seed % 20), shift, (0, 1, 12345, 1 << 41)[seed % 4], to
    )
    count = taps + step * (frames - 1)
    pcm = numpy.stack([samples(kind, count, random) for kind in SIGNALS])
    tensors = [
        Tensor("pcm", pcm.shape, DType.int16),
        constant("window", window),
        constant("filters", triangles(10, length // 2 + 1, random)),
    ]
    return case(operator, tensors, [pcm])


def cases(case, count: int):
    return [log_mel(case, seed, LENGTHS[seed % len(LENGTHS)], (DType.int8, DType.int16)[seed % 2]) for seed in range(count)]


@pytest.mark.parametrize("flags", [("-std=c99", "-O2"), ("-Os", "-fsanitize=undefined,signed-integer-overflow")][: 1 + STRESS])
def test_the_c_gives_the_bits_of_the_meaning(flags):
    made = cases(harness.case, 60 if STRESS else 14)
    assert harness.differing(made, harness.run(made, *flags)) == []
    assert all(len(numpy.unique(entry.expected[0])) > 20 for entry in made)


BOARDS = {
    "mps2-an386": frozenset({"dsp", "fpu"}),
    "mps3-an547": frozenset({"dsp", "fpu", "mve"}),
    "rp2040": frozenset({"narrow"}),
}


@needs_emulator
@pytest.mark.parametrize("board", BOARDS)
def test_cores_give_the_bits_of_the_meaning(board):
    class Case(helium_harness.Case):
        library_name, features = "ref", BOARDS[board]

    def case(*arguments):
        made = harness.case(*arguments)
        return Case(made.view, made.values)

    made = cases(case, 7 if board != "rp2040" else 4)
    assert cortexm_harness.run(made, board=board) == []
