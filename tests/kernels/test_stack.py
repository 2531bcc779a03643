# SPDX-License-Identifier: MIT
"""The stack of every kernel is static, and no frame of it above 256 B, whatever a layer's shape and the optimisation.

Bounded from machine code: the kernel, what it calls, and the call with the arguments that lie on the stack. A case of each
kernel and form of its name, under one of two sets of flags; AIDGE_STRESS=1 (`./sconsw stress`) takes every function that the
candidates of the other tests make, under six sets, and for `ref` every function that an ONNX node case makes. So it is where
`ref` takes the candidates of the other libraries; with what it calls, and arithmetic without an FPU, it may be more.
"""

from __future__ import annotations

import functools
import importlib
import os
import re
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

import harness
import helium_harness
import pytest
import rv32_harness
import rvv_harness
from cortexm_harness import accepted

from aidge_build.base.output import write_sources
from aidge_build.boards import load_board
from aidge_build.build.emit import emit
from aidge_build.contract.call import Input
from aidge_build.contract.spec import tensors_that_move
from aidge_build.contract.thumb.instruction import read_disassembly
from aidge_build.measure.conformance.cases import listed_names, prepare
from aidge_build.plan.program import Program
from aidge_build.prove.elf.deepest import StackBound
from aidge_build.prove.elf.image import read_image
from aidge_build.prove.elf.stack import runs_use
from aidge_build.run.toolchain import build_program, disassemble
from aidge_build.sources.onnx_format.node_cases import node_cases

MOST_BYTES = 256
STRESS = "AIDGE_STRESS" in os.environ
OPTIONS = (
    (("-O2",), ("-O3",), ("-Os",), ("-O2", "-flto"), ("-O3", "-flto"), ("-Os", "-flto"))
    if STRESS
    else (("-O3",), ("-Os", "-flto"))
)
# The deepest of each library function of C, of software floating point and of our own code.
DEEPEST = (
    "test_tan",
    "test_sin",
    "test_tanh",
    "test_exp",
    "test_pow_types_int64_float32",
    "test_lrn",
    "test_lppool_2d_default",
    "test_resize_tf_crop_and_resize",
    "test_batchnorm_epsilon_training_mode",
    "test_lstm_with_peepholes",
    "test_gru_defaults",
    "test_softmax_axis_1",
    "test_resize_upsample_sizes_cubic",
    "test_conv_with_strides_padding",
    "test_layer_normalization_2d_axis0",
)
# newlib's reduction of an argument to a quarter of a turn (__kernel_rem_pio2f) takes most of 496 B; none of it is ours.
MOST_BYTES_OF_TURNS = 512
TURNS = ("__kernel_rem_pio2f",)
PROGRAMS_TOGETHER = 60
# Of `ref` with all that it calls: on a Cortex-M0+ a pool, a mean that is added by columns since its rounding is not decided,
# and 64-bit arithmetic; convolutions reach 424.
MOST_BYTES_WITH_CALLS = 456
# With all that they call; each frame is at most MOST_BYTES. The deepest of all forms, which AIDGE_STRESS=1 compiles, is a
# depthwise layer of a Cortex-M3 that scales a sum exactly; of the usual ones one of a Cortex-M0+ with 25 weights on the stack.
MOST_BYTES_OF_ALL_FORMS = 328
MOST_BYTES_OF_USUAL_FORMS = 288
FEW = 40
CASES_TOGETHER = 250  # more than the memories of the boards hold otherwise
BOARDS = {"cortexm": "mps2-an386", "helium": "mps3-an547", "armv7m": "mps2-an385", "armv6m": "rp2040"}
RISCV = {"rv32": rv32_harness.taken, "rvv": rvv_harness.taken}
FEATURES = {
    "mps2-an386": frozenset({"dsp", "fpu"}),
    "mps3-an547": frozenset({"dsp", "fpu", "mve"}),
    "mps2-an385": frozenset({"thumb2"}),
    "rp2040": frozenset({"narrow"}),
}
pytestmark = pytest.mark.skipif(not shutil.which("arm-none-eabi-gcc"), reason="needs arm-none-eabi-gcc")


@functools.cache
def candidates_in(module: str) -> tuple:
    return tuple(getattr(importlib.import_module(module), "candidates", tuple)())


def of_library(cases: Sequence[helium_harness.Case], library: str) -> list[helium_harness.Case]:
    """The cases of a library. Those of RISC-V have no candidates of their own: they get the layers of all others."""
    if library in RISCV:
        return [RISCV[library](entry) for entry in cases]
    return [entry for entry in cases if entry.library_name == library]


@functools.cache
def cases_of(library: str, step: int = 20) -> list[helium_harness.Case]:
    """From all tests that give `candidates`: one case of each text of a function, or of each form of its name in every
    `step`th case, and in all cases of a test with few; and one of each kernel that has none among them."""
    groups = [of_library(candidates_in(path.stem), library) for path in sorted(Path(__file__).parent.glob("test_*.py"))]
    found = {}
    for group in groups:
        for entry in accepted(group if STRESS or len(group) < FEW else group[::step]):
            form = (entry.call.function, entry.call.texts) if STRESS else re.sub(r"\d+", "", entry.call.function)
            found.setdefault((entry.kernel.type, entry.kernel.name, form), entry)
    kernels = helium_harness.library(library).kernels
    lacking = {kernel.name for kernel in kernels} - {entry.kernel.name for entry in found.values()}
    kinds = {kernel.type.removesuffix("Part") for kernel in kernels if kernel.name in lacking}
    for entry in (entry for group in groups for entry in group):
        is_near = lacking and kinds & {entry.view.node.type, *entry.view.operator.kinds()}
        if is_near and accepted([entry]) and entry.kernel.name in lacking:
            lacking.remove(entry.kernel.name)
            found[entry.kernel.type, entry.kernel.name, ""] = entry
    return list(found.values())


def reads_constants(entry: helium_harness.Case) -> bool:
    """Whether a constant is an argument like a computed input, which the harness has no place for."""
    moving = tensors_that_move(entry.stored.inputs)
    return any(isinstance(argument, Input) and argument.index not in moving for argument in entry.call.arguments)


def cases_of_ref(board: str) -> list[helium_harness.Case]:
    """Two cases of each function of `ref` that takes candidates of the other tests: gcc makes one function for several layers,
    and not one that knows the shape."""

    class Case(helium_harness.Case):
        library_name, features = "ref", FEATURES[board]

    found: dict[tuple, list[helium_harness.Case]] = {}
    for path in sorted(Path(__file__).parent.glob("test_*.py")):
        for entry in accepted([Case(entry.view, entry.values) for entry in candidates_in(path.stem)[:: 1 if STRESS else 5]]):
            together = found.setdefault((entry.call.function, entry.call.texts), [])
            if len(together) < 2 and not reads_constants(entry):
                together.append(entry)
    return [entry for together in found.values() for entry in together]


def bounds(cases, board: str, *flags: str) -> list[StackBound]:
    """The bound of each case."""
    with tempfile.TemporaryDirectory() as folder:
        elf = helium_harness.build(cases, Path(folder), *flags, board=board)
        return bounds_in(elf, disassemble(elf), len(cases))


def bounds_in(elf: Path, disassembly: str, cases: int) -> list[StackBound]:
    """The bound of each case of a program."""
    names = [f"case_{number}" for number in range(cases)]
    found = runs_use(read_image(elf), read_disassembly(disassembly), tuple(names))
    return [found[name] for name in names]


def programs_of(cases):
    """The first, under AIDGE_STRESS=1 each, has no two cases that include one file: gcc joins a function with its only call,
    and knows the shape. The others together, as many as the memories of the boards hold."""
    programs: dict[int, list[helium_harness.Case]] = {}
    place: dict[str, int] = {}  # of the next program that has not this file
    for entry in cases:
        number = max(place.get(source, 0) for source in entry.call.sources)
        programs.setdefault(number, []).append(entry)
        place.update(dict.fromkeys(entry.call.sources, number + 1))
    first, *others = programs.values()
    rest = [entry for together in others for entry in together]
    joined = [rest[start : start + CASES_TOGETHER] for start in range(0, len(rest), CASES_TOGETHER)]
    return [first, *(others if STRESS else joined)]


@pytest.mark.parametrize(
    "library, options", [(library, OPTIONS if STRESS else OPTIONS[index % 2 :: 2]) for index, library in enumerate(BOARDS)]
)
def test_no_frame_of_a_kernel_is_larger_than_256_bytes(library, options):
    cases = cases_of(library)
    assert {entry.kernel.name for entry in cases} == {kernel.name for kernel in helium_harness.library(library).kernels}, (
        "a kernel has no case: a test of the library gives its cases in a function `candidates`"
    )
    most = MOST_BYTES_OF_ALL_FORMS if STRESS else MOST_BYTES_OF_USUAL_FORMS
    for flags in options:
        found = [
            (entry, bound)
            for together in programs_of(cases)
            for entry, bound in zip(together, bounds(together, BOARDS[library], *flags))
        ]
        assert [
            f"{' '.join(flags)} {entry.call.function}: {bound}"
            for entry, bound in found
            if bound.bytes is None or not 0 <= bound.bytes <= most or max(bound.held_bytes) > MOST_BYTES
        ] == []
        assert max(bound.bytes for _, bound in found) > 100  # a saved set of all registers is seen


@pytest.mark.parametrize(
    "board, flags",
    [(board, flags) for board in FEATURES for flags in OPTIONS if STRESS or (board, flags[0]) in (("rp2040", "-Os"),)],
    ids=lambda value: value if isinstance(value, str) else "".join(value),
)
def test_no_frame_of_ref_is_larger_than_256_bytes_in_the_layers_of_other_libraries(board, flags):
    cases = cases_of_ref(board)
    assert {"aidge_ref_conv2d_int8_wide", "aidge_ref_dynamic_conv_uint8_int8"} <= {entry.call.function for entry in cases}
    found = [bound for bound in bounds(cases, board, *flags) if "is not in the program" not in bound.reason]  # equal to another
    assert len(found) > 0.9 * len(cases)
    assert [
        str(bound)
        for bound in found
        if bound.bytes is None or bound.bytes > MOST_BYTES_WITH_CALLS or max(bound.held_bytes) > MOST_BYTES
    ] == []
    assert max(bound.bytes for bound in found) > 100


@functools.cache
def programs() -> list[Program]:
    """Node cases with `ref`; under AIDGE_STRESS one of each function."""
    cases, found = node_cases(), {}
    for number, name in enumerate(listed_names() if STRESS else DEEPEST):
        program = prepare(cases[name], f"net_{number}", harness.libraries("ref")).program
        for layer in program.layers:
            found.setdefault((layer.kernel.name, layer.call.function, layer.call.texts) if STRESS else name, program)
    return list({program.name: program for program in found.values()}.values())


def bounds_of_layers(together: list[Program], board: str, folder: Path, *flags: str) -> dict[str, StackBound]:
    """The bound of every layer's function, by its kernel's."""
    names = [f"{program.name}_run" for program in together]
    main = [*(f'#include "{program.name}.h"' for program in together), "int main(void) { return kept[0] == 0; }"]
    main.insert(-1, f"static const void *volatile kept[] = {{{', '.join(names)}}};")
    (folder / "main.c").write_text("\n".join(main) + "\n")
    for program in together:
        write_sources(emit(program), folder)
    sources = [folder / file for program in together for file in (program.code_file, f"{program.name}_weights.c")]
    elf = build_program(
        load_board(board),
        [folder / "main.c", *sources],
        folder / "programs.elf",
        work_folder=folder / "objects",
        include_folders=[folder],
        extra_flags=flags,
    )
    layers = {layer.symbol: layer.call.function for program in together for layer in program.layers}
    found = runs_use(read_image(elf), read_disassembly(disassemble(elf)), tuple(layers))
    return {f"{function} of {symbol}": found[symbol] for symbol, function in layers.items()}


@pytest.mark.parametrize(
    "board, flags",
    [
        (board, flags)
        for index, board in enumerate(("mps2-an386", "mps3-an547"))
        for flags in (OPTIONS if STRESS else OPTIONS[index : index + 1])
    ],
    ids=lambda value: value if isinstance(value, str) else "".join(value),
)
def test_no_kernel_of_ref_takes_more_stack_than_256_bytes(board, flags, tmp_path):
    made, found = programs(), {}
    for first in range(0, len(made), PROGRAMS_TOGETHER):
        folder = tmp_path / str(first)
        folder.mkdir()
        found |= bounds_of_layers(made[first : first + PROGRAMS_TOGETHER], board, folder, *flags)
    assert [
        f"{name}: {bound}"
        for name, bound in found.items()
        if bound.bytes is None or bound.bytes > (MOST_BYTES_OF_TURNS if set(TURNS) & set(bound.path) else MOST_BYTES)
    ] == []
    assert max(bound.bytes for bound in found.values()) > 100
