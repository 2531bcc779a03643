# SPDX-License-Identifier: MIT
"""Dynamic quantization in integers, for cores without an FPU, against its numpy meaning: on this machine and on cores with and
without long products."""

from __future__ import annotations

import harness
import helium_harness
import pytest
from dynamic_cases import measured_cases
from random_tensors import Randomness

from aidge_build.graph.dtype import DType
from aidge_build.graph.tensor import Tensor
from aidge_build.operators.quantize import DynamicQuantizeLinear


class NarrowCase(helium_harness.Case):
    library_name, features = "ref", frozenset({"narrow"})


class FloatCase(helium_harness.Case):
    library_name, features = "ref", frozenset({"fpu"})


def cases():
    made = [NarrowCase(entry.view, entry.values) for entry in measured_cases(harness.case)]
    values = Randomness(3).float32(5000)
    large = harness.case(DynamicQuantizeLinear(), [Tensor("x", values.shape, DType.float32)], [values])
    return [*made, NarrowCase(large.view, large.values)]


def test_cores_without_an_fpu_divide_by_products():
    assert {entry.call.function for entry in cases()} == {"aidge_ref_dynamic_quantize_fixed"}
    entry = cases()[0]
    assert FloatCase(entry.view, entry.values).call.function == "aidge_ref_dynamic_quantize"


@pytest.mark.parametrize(
    "flags", [("-O1",), ("-Os", "-Wall", "-Wextra", "-Wconversion", "-Wsign-conversion", "-Werror")], ids="".join
)
def test_levels_equal_the_meaning_on_this_machine(flags):
    assert helium_harness.run(cases(), *flags, board="host") == []


@helium_harness.needs_emulator
@pytest.mark.parametrize("board", ["rp2040", "mps2-an385"])
def test_levels_equal_the_meaning_on_the_emulated_core(board):
    assert helium_harness.run(cases(), board=board) == []
