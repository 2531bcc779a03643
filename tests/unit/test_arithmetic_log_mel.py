# SPDX-License-Identifier: MIT
"""The integers of the audio front end against the real numbers that they stand for."""

from __future__ import annotations

import numpy
import pytest

from aidge_build.operators.arithmetic.log_mel import (
    LENGTHS,
    SEGMENTS,
    STEPS,
    Levels,
    bit_lengths,
    fixed_turns,
    log_mel,
    log_power,
    logarithms,
    powers,
    spare_bits,
    spectrum,
)

RANDOM = numpy.random.Generator(numpy.random.PCG64(1))


@pytest.mark.parametrize("length", LENGTHS)
def test_a_spectrum_is_that_of_numpy_within_two_units_of_rounding_for_each_pass(length):
    loud = RANDOM.integers(-20000, 20000, (8, length)).astype(numpy.int16)
    window = numpy.rint(32767 * numpy.hanning(length)).astype(numpy.int16)
    for pcm in (loud, (loud >> 9).astype(numpy.int16)):
        real, imaginary = spectrum(pcm, window, length)
        wanted = numpy.fft.rfft(pcm * (window / 32768)) * 2 ** spare_bits(length)
        errors = numpy.abs(real + 1j * imaginary - wanted)
        # Roots are right within 2^-15 of the peak; rounding down of each half product counts twice, in every pass.
        assert errors.max() < 2**-14 * numpy.abs(wanted).max() + length
        assert numpy.sqrt((errors[:, 1:-1] ** 2).mean()) < 2**-15 * numpy.abs(wanted).max() + 3 * numpy.sqrt(length)


def test_no_signal_leaves_32_bits():
    for length in LENGTHS:
        time = numpy.arange(length)
        signals = [numpy.full(length, -32768), numpy.full(length, 32767), numpy.where(time % 2, 32767, -32768)]
        signals += [
            numpy.where(numpy.cos(2 * numpy.pi * k * time / length + 0.1) < 0, -32768, 32767) for k in (1, 2, 3, length // 4)
        ]
        for window in (numpy.full(length, -32768), numpy.full(length, 32767)):
            parts = spectrum(numpy.array(signals), window, length)
            assert max(int(numpy.abs(part).max()) for part in parts) <= (1 << 30) + 2 * length
            power, exponent = powers(*parts)
            assert power.max() < 1 << 32 and exponent.max() <= 32


def test_the_units_of_the_power_use_31_bits_of_the_largest_part():
    real = numpy.array([[5, -8, 0], [0, 0, 0], [-1, 0, 0], [1 << 29, 3, 0]])
    imaginary = numpy.array([[0, 3, -7], [0, 0, 0], [0, 0, 0], [0, -(1 << 29), 0]])
    power, exponent = powers(real, imaginary)
    assert exponent.tolist() == [2 * bits - 30 for bits in (3, 0, 0, 30)]
    wanted = (real.astype(float) ** 2 + imaginary.astype(float) ** 2) / 2.0 ** exponent[:, None]
    assert (power == numpy.floor(wanted)).all() and power[0].tolist() == [25 << 24, 73 << 24, 49 << 24]


def test_bit_lengths_are_those_of_python():
    values = [0, 1, 2, 3, *(1 << power for power in range(64)), *((1 << power) - 1 for power in range(1, 65))]
    assert bit_lengths(numpy.array(values, numpy.uint64)).tolist() == [value.bit_length() for value in values]


@pytest.mark.parametrize("exponent", [-30, -7, 0, 12, 32])
def test_a_logarithm_is_right_within_a_step(exponent):
    values = numpy.unique((2 ** RANDOM.uniform(0, 58, 4000)).astype(numpy.uint64))
    for floor in (0, 1, 1000, 1 << 50):
        found = log_power(values, numpy.array(exponent), floor)
        whole = (values >> numpy.uint64(max(-exponent, 0))).astype(float) + max(floor >> max(exponent, 0), 1)
        distance = STEPS * (numpy.log2(whole) + max(exponent, 0)) - found
        assert -0.02 < distance.min() and distance.max() < 1 + 0.2


def test_the_curve_and_the_roots_are_what_they_are_called():
    assert logarithms()[[0, SEGMENTS // 2, SEGMENTS]].tolist() == [0, 38336, 65536] and len(logarithms()) == SEGMENTS + 1
    assert fixed_turns(8, numpy.arange(9)).tolist() == [
        [32767, 0],
        [23170, -23170],
        [0, -32767],
        [-23170, -23170],
        [-32767, 0],
        [-23170, 23170],
        [0, 32767],
        [23170, 23170],
        [32767, 0],
    ]
    assert [spare_bits(length) for length in (64, 512, 4096)] == [9, 6, 3]


def test_known_numbers_of_a_whole_frame():
    """Pinned: what a firmware in the field computes must be what a later release trains with."""
    time = numpy.arange(480)
    pcm = (3000 * numpy.sin(0.2 * time) + 500 * numpy.sin(1.3 * time)).astype(numpy.int16)[None]
    window = numpy.rint(32767 * numpy.hanning(480)).astype(numpy.int16)
    filters = numpy.zeros((6, 257), numpy.uint16)
    for band in range(6):
        filters[band, 40 * band : 40 * band + 50] = 1000 * (band + 1)
    levels = Levels(3, -30 * STEPS * 3, 2, -(1 << 15), (1 << 15) - 1, 1 << 20)
    assert log_mel(pcm, window, filters, 512, levels)[0].tolist() == [22698, 2578, 19945, 1509, 1437, 423]
    assert log_mel(0 * pcm, window, filters, 512, levels)[0].tolist() == [-7680] * 6
