# SPDX-License-Identifier: MIT
"""The kernels of `cortexm` on a core without an FPU: the same layers, exact, without an instruction that the core lacks."""

from __future__ import annotations

import functools
import os
import re
import shutil
import tempfile
from pathlib import Path

import every_kernel
import helium_harness
import pytest
import test_cortexm_elementwise
import test_cortexm_grouped
import test_cortexm_linear
import test_stack
import test_strict_warnings
from cortexm_harness import BOARD_WITHOUT_FPU, PORTABLE, run, without_fpu
from every_kernel import KernelCall

from aidge_build.toolchain import disassemble

STRESS = "AIDGE_STRESS" in os.environ
pytestmark = pytest.mark.skipif(not shutil.which("arm-none-eabi-gcc"), reason="needs arm-none-eabi-gcc")


@functools.cache
def candidates():
    """Some cases of the other tests, and all extreme ones: their sums lie at the middle of two levels, or beyond them."""
    every = [
        *test_cortexm_linear.candidates()[:: 1 if STRESS else 13],
        *test_cortexm_linear.extreme_cases(),
        *test_cortexm_grouped.candidates()[:: 1 if STRESS else 23],
        *test_cortexm_elementwise.candidates()[:: 1 if STRESS else 11],
    ]
    return tuple(without_fpu(every))


def some():
    """A third of them."""
    return candidates()[:: 1 if STRESS else 3]


@pytest.mark.parametrize("flags", [("-O2",), ("-Os",)], ids=["O2", "Os"])
def test_layers_equal_the_meaning(flags):
    assert len(candidates()) > 45
    assert run(candidates(), *flags, board=BOARD_WITHOUT_FPU) == []


@pytest.mark.parametrize("flags", [("-O0",), ("-O3", "-flto"), PORTABLE], ids=["O0", "LTO", "portable"])
def test_the_result_does_not_depend_on_compiler_options(flags):
    assert run(some(), *flags, board=BOARD_WITHOUT_FPU) == []


@pytest.mark.parametrize("flags", [("-O2",), ("-Os", "-flto")], ids=["O2", "Os"])
def test_no_kernel_takes_more_stack_than_256_bytes(flags):
    cases = candidates()[:: 1 if STRESS else 2]
    found = test_stack.bounds(cases, BOARD_WITHOUT_FPU, *flags)
    assert [
        f"{entry.call.function}: {bound}"
        for entry, bound in zip(cases, found, strict=True)
        if bound.bytes is None or bound.bytes > test_stack.MOST_BYTES
    ] == []
    assert max(bound.bytes for bound in found) > 180  # what is called near the middle of two levels is seen


def test_no_instruction_is_one_of_an_fpu():
    with tempfile.TemporaryDirectory() as folder:
        text = disassemble(helium_harness.build(some(), Path(folder), board=BOARD_WITHOUT_FPU))
    mnemonics = set(re.findall(r"^\s*[0-9a-f]+:\t[0-9a-f ]+\t([a-z0-9.]+)", text, re.M))
    assert {"smlad", "smlal", "ssat"} <= mnemonics
    assert [mnemonic for mnemonic in mnemonics if mnemonic.startswith("v") or mnemonic.startswith("fl")] == []


@pytest.mark.parametrize(
    "core, optimization, compiler, language",
    [
        ("m4", "-O3", "gcc", "c99"),
        ("m7", "-Os", "gcc", "gnu17"),
        ("m55 without FPU", "-O0", "gcc", "c++11"),
        ("m4", "-O1", "clang", "c99"),
    ],
)
def test_the_texts_compile_without_a_warning(core, optimization, compiler, language):
    made = [KernelCall("cortexm", case.kernel.name, case.call, case.stored.inputs, case.stored.outputs) for case in candidates()]
    text, _ = every_kernel.source(made if STRESS else made[::4], "cortexm")
    machine = {**test_strict_warnings.CORES, "m7": ("-mcpu=cortex-m7", "-mfloat-abi=soft")}
    tool = [*test_strict_warnings.compiler(compiler, "m4"), *machine[core]]
    flags = [optimization, *test_strict_warnings.WARNINGS, *test_strict_warnings.LANGUAGES[language]]
    done = test_strict_warnings.run([*tool, *flags, "-c", "-o", "/dev/null", "-"], text)
    assert (done.returncode, done.stderr) == (0, "")


def test_every_form_of_requantization_is_among_them():
    functions = [entry.call.function for entry in candidates()]
    for form in ("_even_soft", "_float_soft", "_integer_soft", "_soft_exact", "_clamped_float_soft"):
        assert any(form in function for function in functions), form
