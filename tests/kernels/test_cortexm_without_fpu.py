# SPDX-License-Identifier: MIT
"""The kernels of `cortexm` on a core without an FPU: the same layers, exact, without an instruction that the core lacks."""

from __future__ import annotations

import functools
import os
import re
import shutil
from dataclasses import replace

import every_kernel
import helium_harness
import numpy
import pytest
import test_armv7m_linear
import test_cortexm_elementwise
import test_cortexm_grouped
import test_cortexm_linear
import test_stack
import test_strict_warnings
from cortexm_harness import BOARD_WITHOUT_FPU, PORTABLE, Case, built_for, case, run, without_fpu
from every_kernel import KernelCall
from harness import under
from random_tensors import Randomness

from aidge_build.graph.quantization import Quantization, per_tensor
from aidge_build.graph.tensor import constant
from aidge_build.graph.view import GraphView
from aidge_build.operators.conv import Conv
from aidge_build.operators.window import Window
from aidge_build.run.toolchain import disassemble

STRESS = "AIDGE_STRESS" in os.environ
pytestmark = pytest.mark.skipif(not shutil.which("arm-none-eabi-gcc"), reason="needs arm-none-eabi-gcc")


def narrow_cases():
    """Depthwise layers whose weights are bytes in flash; every form of requantization has its share."""
    for seed, edge in enumerate(test_cortexm_linear.NARROW):
        yield built_for(test_cortexm_linear.int8_case(seed, *edge), "balanced")
        yield built_for(test_cortexm_linear.int8_case(seed + 1, *edge), "size")


def shared_cases():
    """Pointwise layers of a graph in which pixels have many different numbers of channels: they share one text."""
    for seed, channels in enumerate((16, 20, 32, 36, 68, 64)):
        made = test_cortexm_linear.int8_case(seed, 1, channels, (3, 1 + seed), 7 + seed % 2, (1, 1), 1, 1, (0, 0), 1)
        yield Case(replace(made.view, graph=_graph(made.view, (16, 24, 40))), made.values)


def fraction_cases():
    """Layers with biases between two units of the sums, some groups of which no integer form gives."""
    rows = test_cortexm_linear.fc_cases([*test_cortexm_linear.LONG_ROWS, (1, 512, 64)])
    fine = list(test_armv7m_linear.fine_cases())[:: 1 if STRESS else 3]
    return [*fine, *test_armv7m_linear.finer_cases(rows), *(beside_ties(bits) for bits in (7, 2))]


def beside_ties(bits):
    """Sums in the middle of two levels, or one below a level, which the fractions of the biases decide; every fourth one is 0."""
    random, unit = Randomness(bits), 1 << bits
    rows = numpy.tile(numpy.array([100, 1, 3, -50], numpy.int16) * unit, (8, 1))
    scales = tuple(2.0**-6 / unit * (1 if index % 4 < 2 else 1 - index / 100) for index in range(8))
    weights = constant("w", rows.reshape(8, 4, 1, 1), Quantization(scales, (0,) * 8, 0))
    bias = constant("b", numpy.array([unit * 7 + index % 4 * (unit // 4) for index in range(8)], numpy.int32))
    data = random.data(1, 4, 24, 25).with_(quantization=per_tensor(2.0**-4, 3))
    operator = Conv(window=Window((1, 1), (1, 1), (1, 1), (0, 0), (0, 0)))
    return case(operator, [data, weights, bias], [random.int8(*data.dims)], quantization=per_tensor(2.0**-3, 0))


def _graph(view, others):
    """The node beside pointwise layers of other numbers of channels, which nobody computes."""
    nodes, tensors = [view.node], [tensor for tensor in (*view.inputs, *view.outputs) if tensor is not None]
    for channels in others:
        data, output = (tensor.with_(name=f"{tensor.name}{channels}") for tensor in (view.inputs[0], view.outputs[0]))
        tensors += [data.with_(dims=(1, channels, 1, 1)), output]
        nodes.append(view.node.with_(name=f"of_{channels}", inputs=(data.name, *view.node.inputs[1:]), outputs=(output.name,)))
    inputs = tuple(node.inputs[0] for node in nodes)
    return GraphView(
        "many", tuple(nodes), {tensor.name: tensor for tensor in tensors}, inputs, tuple(node.outputs[0] for node in nodes)
    )


@functools.cache
def candidates():
    """Some cases of the other tests, and all extreme ones: their sums lie at the middle of two levels, or beyond them."""
    every = [
        *test_cortexm_linear.candidates()[:: 1 if STRESS else 13],
        *test_cortexm_linear.extreme_cases(),
        *test_cortexm_linear.fc_cases(test_cortexm_linear.LONG_ROWS),
        *narrow_cases(),
        *shared_cases(),
        *test_cortexm_grouped.candidates()[:: 1 if STRESS else 23],
        *test_cortexm_elementwise.candidates()[:: 1 if STRESS else 11],
        *fraction_cases(),
    ]
    return tuple(without_fpu(every))


def means():
    """Averages of windows inside the image and beyond it, many of them beside the middle of two levels."""
    pools = [entry for entry in test_cortexm_elementwise.pools() if entry.kernel.name == "avgpool2d_int8"]
    return without_fpu(pools)[:: 1 if STRESS else 2]


@pytest.mark.parametrize("flags", [(), PORTABLE], ids=["usual", "portable"])
def test_means_of_rows_equal_the_meaning(flags):
    cases = means()
    rows = [entry for entry in cases if any("_in_c" in text for text in entry.call.texts)]
    assert len(rows) > 15 and len(cases) > len(rows)
    assert run(under(flags, cases), *flags, board=BOARD_WITHOUT_FPU) == []


@pytest.mark.parametrize("flags", [(), ("-Os",), ("-O0",), ("-O3", "-flto")], ids=" ".join)
def test_layers_equal_the_meaning(flags):
    assert len(candidates()) > 45
    assert run(under(flags, candidates()), *flags, board=BOARD_WITHOUT_FPU) == []


@pytest.mark.parametrize("flags", [("-O2",), ("-Os", "-flto")] if STRESS else [("-O2",)], ids=" ".join)
def test_no_kernel_takes_more_stack_than_256_bytes_or_has_an_instruction_of_an_fpu(flags, tmp_path):
    cases = [*candidates(), *means()][:: 1 if STRESS else 2]
    elf = helium_harness.build(cases, tmp_path, *flags, board=BOARD_WITHOUT_FPU)
    text = disassemble(elf)
    found = test_stack.bounds_in(elf, text, len(cases))
    assert [
        f"{entry.call.function}: {bound}"
        for entry, bound in zip(cases, found, strict=True)
        if bound.bytes is None or bound.bytes > test_stack.MOST_BYTES
    ] == []
    assert max(bound.bytes for bound in found) > 180  # what is called near the middle of two levels is seen
    mnemonics = set(re.findall(r"^\s*[0-9a-f]+:\t[0-9a-f ]+\t([a-z0-9.]+)", text, re.M))
    assert {"smlad", "smlal", "ssat"} <= mnemonics
    assert [mnemonic for mnemonic in mnemonics if mnemonic.startswith("v") or mnemonic.startswith("fl")] == []


@pytest.mark.parametrize(
    "core, optimization, compiler, language",
    [
        ("m4", "-O3", "gcc", "c99"),
        ("m7", "-Os", "gcc", "gnu17"),
        ("m55 without FPU", "-O2", "gcc", "c++11"),
        ("m4", "-O1", "clang", "c99"),
    ],
)
def test_the_texts_compile_without_a_warning(core, optimization, compiler, language):
    made = [
        KernelCall("cortexm", case.kernel.name, case.call, False, case.stored.inputs, case.stored.outputs)
        for case in candidates()
    ]
    text, _ = every_kernel.source(made if STRESS else made[::8], "cortexm")
    machine = {**test_strict_warnings.CORES, "m7": ("-mcpu=cortex-m7", "-mfloat-abi=soft")}
    tool = [*test_strict_warnings.compiler(compiler, "m4"), *machine[core]]
    flags = [optimization, *test_strict_warnings.WARNINGS, *test_strict_warnings.LANGUAGES[language]]
    done = test_strict_warnings.run([*tool, *flags, "-c", "-o", "/dev/null", "-"], text)
    assert (done.returncode, done.stderr) == (0, "")


def test_weights_are_bytes_in_flash_where_flash_is_small():
    functions = [entry.call.function for entry in without_fpu(narrow_cases())]
    found = [name for name in functions if "_bytes" in name]
    assert len(found) >= len(functions) - 3  # but one, and one of a single output pixel by default
    for form in ("_integer_soft", "_float_soft", "_soft", "k5x5_s1x1", "k5x5_s2x2", "k3x3_s2x2", "k3x3_s1x1"):
        assert any(form in function for function in found), form
    spread = built_for(test_cortexm_linear.int8_case(1, *test_cortexm_linear.NARROW[0]), "speed")
    assert "_bytes" not in without_fpu([spread])[0].call.function


def test_pointwise_layers_of_many_numbers_of_channels_share_a_text():
    cases = without_fpu(shared_cases())
    shared = [re.search(r"_by_(\d+)_", entry.call.function).group(1) for entry in cases]
    assert shared == ["16", "4", "32", "4", "4", "32"]
    alone = without_fpu([Case(replace(entry.view, graph=None), entry.values) for entry in cases])
    assert not any("_by_" in entry.call.function for entry in alone)


def test_every_form_of_requantization_is_among_them():
    functions = [entry.call.function for entry in candidates()]
    for form in ("_even_soft", "_float_soft", "_integer_soft", "_soft_exact", "_clamped_float_soft"):
        assert any(form in function for function in functions), form
    fine = [function for function in functions if re.search("_fractions[1-7]", function)]
    for form in ("packed_fractions7", "even_soft", "_soft_u", "_float_soft", "fc_int8_300", "pointwise"):
        assert any(form in function for function in fine), form
