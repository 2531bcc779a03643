# SPDX-License-Identifier: MIT
"""Kernels of `rv32` against their numpy meaning, bit for bit: on an emulated core."""

from __future__ import annotations

import functools

import pytest
import test_armv6m_linear
from harness import under
from rv32_harness import BOARD, accepted, needs_riscv, run, taken


@functools.cache
def sample():
    return accepted([taken(entry) for entry in test_armv6m_linear.candidates()])


def test_the_cases_reach_every_form():
    forms = {entry.call.function.removeprefix("aidge_rv32_") for entry in sample()}
    dense = {"single_u2_x4", "single_corrected_u2_x3", "chunked_u2_x3", "sums_u2", "single_offset_u2", "sums_offset_u2"}
    assert {f"dense_int8_{form}" for form in dense} <= forms, sorted(forms)


@needs_riscv
def test_layers_equal_the_meaning_on_the_emulated_core():
    assert len(sample()) > 110
    assert run(sample(), board=BOARD) == []


@needs_riscv
@pytest.mark.parametrize("flags", [("-O0",), ("-Os",)], ids="".join)
def test_the_result_does_not_depend_on_compiler_options(flags):
    assert run(under(flags, sample()), *flags, board=BOARD) == []
