# SPDX-License-Identifier: MIT
"""Runs kernels of a library for one core, `helium` or `cortexm`: many calls become one firmware image for an emulated board,
or a program for this machine, where the same calls are plain C."""

from __future__ import annotations

import functools
import math
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import harness
import numpy
import pytest
from random_tensors import Randomness, halfword_weights

from aidge_build.boards import Board, load_board
from aidge_build.boards.cores import OVERLAPPING
from aidge_build.build.emit.kernels import kernel_text
from aidge_build.contract.call import Constant, Input, Literal, Output, Scratch, Struct
from aidge_build.contract.library import Kernel, Library
from aidge_build.contract.spec import tensors_that_move
from aidge_build.operators.conv import Conv
from aidge_build.operators.window import Window
from aidge_build.plan.constant_arrays import Array
from aidge_build.run.emulate import run_program
from aidge_build.run.toolchain.build import compile_sources, link_objects

KERNELS = Path(__file__).resolve().parents[2] / "kernels"
BOARDS = KERNELS.parent / "boards", Path(__file__).parent / "boards"
FEATURES = frozenset({"dsp", "fpu", "mve"})
GUARD_BYTES = 64
FEW_CASES = 20  # another file costs as much as -O2 for them
RANDOM_CASES = int(os.environ.get("AIDGE_CASES", "40" if "AIDGE_STRESS" in os.environ else "20"))
needs_emulator = pytest.mark.skipif(
    not (shutil.which("qemu-system-arm") and shutil.which("arm-none-eabi-gcc")),
    reason="needs qemu-system-arm and arm-none-eabi-gcc",
)
MEMORY_ENDS = {
    "mps3-an547": (0x21400000, 0x20078000),
    "rp2040": (0x20042000, 0x20038000),
    "qemu_riscv32": (0x88000000, 0x84000000),
    "qemu_rv32e": (0x88000000, 0x84000000),
    "qemu_rv32_zve32x": (0x88000000, 0x84000000),
}
OTHER_MEMORY_ENDS = (0x22000000, 0x21800000)  # of MPS2: the end and the middle of its PSRAM

CASE_FUNCTION = "static __attribute__((noinline)) void case_%d(const void *const *in, void *const *out, void *scratch)"
# Inputs end where the memory ends: whoever reads behind them takes a fault. Outputs and scratch have guards behind them.
# With a lead that is not NO_LEAD, input 0 begins as many bytes behind the output, over which it may lie.
NO_LEAD = 0xFFFFFFFF
INPUTS = 3  # computed ones of a case, at most
# All programs of a board share the object of MAIN: what differs is in the file of the cases.
TABLES = """
/* Bytes of 3 inputs, outputs, scratch; lead; bytes of an element; where outputs 1 and 2 begin. */
extern const uint32_t sizes[][9], cases, traps, memory_bytes, scratch_bytes;
extern uint64_t memory[], scratch[];
void run_case(int number, const void *const *in, void *const *out, void *scratch);
"""
HEAD = "void %s(int number, const void *const *in, void *const *out, void *scratch)"
RUN_CASE = f"{HEAD % 'run_case'}\n{{\n%s}}\n"
SIZES = """
const uint32_t sizes[][9] = {%(sizes)s}, cases = sizeof sizes / sizeof sizes[0], traps = %(traps)d;
uint64_t memory[%(outputs)d], scratch[%(scratch)d];
const uint32_t memory_bytes = sizeof memory, scratch_bytes = sizeof scratch;
"""
MAIN = """
#include "semihosting.h"
#include <stdint.h>
#include <string.h>
%(tables)s
#if defined(__arm__)
#define CCR (*(volatile uint32_t *)0xE000ED14u)
#define SET_TRAP(on) (CCR = on ? CCR | 8u : CCR & ~8u)
#else
#define SET_TRAP(on)
#endif
#if defined(__arm__) || defined(__riscv)
#define END_OF_MEMORY ((uint8_t *)%(first_end)#xu)
#define SECOND_END ((uint8_t *)%(second_end)#xu)
#else
static uint8_t first_memory[1 << 22], second_memory[1 << 22];
#define END_OF_MEMORY (first_memory + sizeof first_memory)
#define SECOND_END (second_memory + sizeof second_memory)
#endif
#define UP(bytes) (((bytes) + unit - 1u) / unit * unit)
int main(void)
{
    int from = semihosting_open("input.bin", SEMIHOSTING_READ);
    int to = semihosting_open("output.bin", SEMIHOSTING_WRITE);
    const uint32_t unit = traps ? 4u : 1u; /* unaligned access: what a model is handed lies at multiples of 4 */
    uint8_t *const outputs = (uint8_t *)memory;
    uint32_t i, k;
    for (i = 0; i < cases; i++) {
        const uint32_t *size = sizes[i];
        uint8_t *first = END_OF_MEMORY - UP(size[0]), *second = SECOND_END - UP(size[1]);
        uint8_t *output = outputs + UP(size[6]) * (1 + i %% 4);
        uint8_t *third = SECOND_END - 4096 - UP(size[2]); /* where there is one, the second is small */
        const int is_shared = size[5] != %(no_lead)#xu;
        const uint32_t end = is_shared && (size[5] + size[0] > size[3]) ? size[5] + size[0] : size[3];
        const void *in[3] = {is_shared ? output + size[5] : first, second, third};
        void *out[3] = {output, output + size[7], output + size[8]};
        uint8_t fault = 0;
        memset(outputs, 0x5a, memory_bytes);
        (void)semihosting_read(from, is_shared ? output + size[5] : first, size[0]);
        if (size[1] > 0)
            (void)semihosting_read(from, second, size[1]);
        if (size[2] > 0)
            (void)semihosting_read(from, third, size[2]);
        memset(scratch, 0xa5, scratch_bytes);
        SET_TRAP(traps);
        run_case((int)i, in, out, scratch);
        SET_TRAP(0);
        for (k = 0; k < %(guard)d; k++)
            fault |= (uint8_t)((output[end + k] != 0x5a) | (((uint8_t *)scratch)[size[4] + k] != 0xa5));
        fault |= (uint8_t)(output[-1] != 0x5a);
        (void)semihosting_write(to, &fault, 1);
        (void)semihosting_write(to, output, size[3]);
    }
    return 0;
}
"""


@functools.cache
def library(name: str) -> Library:
    return harness.libraries(name)[0]


class Case(harness.Case):
    """A case of one library's kernels."""

    library_name, features = "helium", FEATURES

    @functools.cached_property
    def kernel(self) -> Kernel:
        """The kernel that the library prefers of those that accept the node."""
        rejected = []
        kernels = library(self.library_name).kernels_for(self.view.node.type, self.view.operator.kinds())
        for kernel in kernels:
            reason = kernel.rejection(self.matched, self.features, self.rounding)
            if not reason:
                return kernel
            rejected.append(reason)
        raise AssertionError(f"no kernel for {self.view.operator}: {rejected}")


class OverlappingCase(Case):
    """A case on a core whose instructions overlap."""

    features = FEATURES | {OVERLAPPING}


def overlapping(entry: Case) -> Case:
    """The case on such a core."""
    return OverlappingCase(replace(entry.view, features=OverlappingCase.features), entry.values)


def case(*arguments, **output) -> Case:
    made = harness.case(*arguments, **output)
    return Case(made.view, made.values)


def convolution(
    seed: int,
    batch: int,
    channels: int,
    spatial: tuple[int, ...],
    outputs: int,
    kernel: tuple[int, ...],
    stride: int,
    dilation: int,
    pads: tuple[int, int],
    groups: int = 1,
) -> Case:
    """A convolution with random numbers; `groups` of one channel and one output each make it a depthwise one."""
    random, rank = Randomness(seed), len(kernel)
    low, high = random.choice((-math.inf, math.inf), (0.0, math.inf), (0.0, 6.0), (-1.0, 1.5))
    window = Window(kernel, (stride,) * rank, (dilation,) * rank, (pads[0],) * rank, (pads[1],) * rank)
    data, weights = random.data(batch, channels, *spatial), random.weights(outputs, channels // groups, *kernel)
    around = 0.05 * 0.01 * 50 * math.sqrt(weights.data[0].size)
    operator = Conv(minimum=low, maximum=high, window=window, groups=groups, depthwise=1 < groups == channels == outputs)
    return case(
        operator, [data, weights, random.bias(outputs)], [random.int8(*data.dims)], quantization=random.quantization(around)
    )


def finer(entry: Case, seed: int) -> Case:
    """The layer with a bias that is no whole number of products: weights are int16, all multiples of a power of two."""
    return _with_halfwords(entry, 3 * seed)


def with_offsets(entry: Case, seed: int) -> Case:
    """The layer with weights of 9 bits, as those less a zero point are: of all channels or of every second one; some with a bias
    of finer units, too."""
    return _with_halfwords(entry, 3 * seed + 1 + seed % 2)


def _with_halfwords(entry: Case, seed: int) -> Case:
    inputs = halfword_weights(seed, *entry.view.inputs)
    (output,) = entry.view.outputs
    return case(entry.view.operator, inputs, entry.values[:1], quantization=output.quantization)


def random_window(random: Randomness) -> tuple[tuple[int, ...], tuple[int, ...], int, tuple[int, int]]:
    """Spatial dims, and a kernel, dilation and pads that fit them."""
    rank = random.choice(1, 2, 2)
    kernel = tuple(random.choice(1, 1, 2, 3, 3, 5) for _ in range(rank))
    spatial = tuple(random.integer(max(1, size - 2), size + 12) for size in kernel)
    pads = random.integer(0, 3), random.integer(0, 3)
    dilation = random.choice(1, 1, 1, 2)
    if any(size + sum(pads) < (extent - 1) * dilation + 1 for size, extent in zip(spatial, kernel)):
        dilation, pads = 1, (2, 2)
    return spatial, kernel, dilation, pads


def source_of(cases: Mapping[int, Case], head: str) -> str:
    """One C file with the function of this head, which calls case_<number>(inputs, outputs, scratch)."""
    wanted = dict.fromkeys((entry.library_name, path) for entry in cases.values() for path in entry.call.sources)
    text = kernel_text(harness.files_of(*{entry.library_name for entry in cases.values()}, "ref"), wanted)
    lines = [f"#include {name}" for name in sorted({*text.system_includes, "<math.h>"})] + [part.text for part in text.files]
    lines += dict.fromkeys(function for entry in cases.values() for function in entry.call.texts)
    calls = []
    for number, entry in cases.items():
        arguments = []
        for position, argument in enumerate(entry.call.arguments):
            symbol = f"c{number}_{position}"
            match argument:
                case Input(index):
                    place = tensors_that_move(entry.stored.inputs).index(index)
                    arguments.append(f"(const {entry.stored.inputs[index].dtype.c_type} *)in[{place}]")
                case Output(index):
                    arguments.append(f"({entry.stored.outputs[index].dtype.c_type} *)out[{index}]")
                case Scratch():
                    arguments.append("scratch")
                case Constant(_, values):
                    array = Array(symbol, numpy.ascontiguousarray(values).reshape(-1), "")
                    body = "\n".join(array.lines())
                    lines.append(
                        f"static const {array.dtype.c_type} {symbol}[{array.length}] "
                        f'__attribute__((aligned({array.alignment}), section(".rodata"))) = {{{body}}};'
                    )
                    arguments.append(symbol)
                case Literal(value):
                    arguments.append(str(value))
                case Struct(kind, fields):
                    body = ", ".join(
                        "{" + ", ".join(map(str, v)) + "}" if isinstance(v, tuple) else str(v) for v in fields.values()
                    )
                    lines.append(f"static const {kind} {symbol} = {{{body}}};")
                    arguments.append(f"&{symbol}")
        lines.append(
            f"{CASE_FUNCTION % number}\n{{\n    (void)in;\n    (void)out;\n    (void)scratch;\n"
            f"    {entry.call.function}({', '.join(arguments)});\n}}"
        )
        calls.append(f"    case {number}: case_{number}(in, out, scratch); break;")
    lines.append(f"{head};\n{head}\n{{\n    switch (number) {{\n" + "\n".join(calls) + "\n    }\n}")
    return "\n".join(lines) + "\n"


def run(
    cases: Sequence[Case],
    *flags: str,
    board: str = "mps3-an547",
    lead: Callable[[Case], int] | None = None,
    traps: bool = False,
    runs_on: Board | None = None,
) -> list[str]:
    """A sentence for each case whose result differs from the numpy meaning, or that writes where it must not. With `lead` the
    output begins as many bytes before input 0, over which it may lie. `traps`: the core traps unaligned access, in QEMU.
    `runs_on`: another board than the one that the cases are compiled for.
    On this machine, or with a flag for C instead of assembly, kernels that need assembly are left out, as builds do."""
    if board == "host" or any(flag.endswith("_ASSEMBLY=0") for flag in flags):
        cases = [entry for entry in cases if entry.kernel.assembly != "needed"]
    assert cases, "all kernels need assembly"
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        elf = build(cases, folder, *flags, board=board, lead=lead, traps=traps)
        return executed(elf, cases, folder, runs_on or load_board(board, BOARDS), emulator="qemu" * traps)


def executed(elf: Path, cases: Sequence[Case], folder: Path, board: Board, emulator: str = "") -> list[str]:
    """The sentences of `run` for a program that `build` made."""
    (folder / "input.bin").write_bytes(b"".join(array.tobytes() for entry in cases for array in _moving(entry)))
    result = run_program(elf, board, work_folder=folder, count=False, emulator=emulator)
    assert result.exit_code == 0, result
    return _compared(cases, (folder / "output.bin").read_bytes())


def build(
    cases: Sequence[Case],
    folder: Path,
    *flags: str,
    board: str,
    lead: Callable[[Case], int] | None = None,
    traps: bool = False,
) -> Path:
    """The ELF file of a program that runs all cases, which are compiled with `flags`. For this machine without optimization, as
    those of `ref`: with -O2, under which the same C runs on boards, a compiler takes four times as long. For boards with -O2,
    and the cases that `_as_shipped` leaves out without, if `flags` name neither a level nor a version in C."""
    outputs = [_output_places(entry) for entry in cases]
    sizes = [
        [
            *(array.nbytes for array in arrays),
            *(0,) * (INPUTS - len(arrays)),
            ends[-1],
            entry.scratch_bytes,
            lead(entry) if lead else NO_LEAD,
            max(tensor.dtype.size_bytes for tensor in entry.stored.outputs),
            *(ends[min(place, len(ends) - 1)] for place in (1, 2)),
        ]
        for entry, arrays, ends in zip(cases, map(_moving, cases), outputs)
    ]
    reach = [max(row[3], row[0] + row[5]) if lead else row[3] for row in sizes]
    first_end, second_end = MEMORY_ENDS.get(board, OTHER_MEMORY_ENDS)
    rows = ", ".join("{" + ", ".join(f"{number}u" for number in row) + "}" for row in sizes)
    tables = SIZES % {
        "sizes": rows,
        "traps": traps,
        "outputs": (max(reach) + GUARD_BYTES) // 8 + 5,
        "scratch": (max(row[4] for row in sizes) + GUARD_BYTES) // 8 + 1,
    }
    main = MAIN % {
        "tables": TABLES,
        "first_end": first_end,
        "second_end": second_end,
        "guard": GUARD_BYTES,
        "no_lead": NO_LEAD,
    }
    described, objects, made = load_board(board, BOARDS), folder / "objects", []
    parts = _parts(cases, flags, board)
    calls = "".join(f"    {name}(number, in, out, scratch);\n" for name in parts)
    common = "\n".join([*(f"{HEAD % name};" for name in parts), RUN_CASE % calls, TABLES, tables])
    for name, (some, options) in parts.items():
        path = folder / f"{name}.c"
        path.write_text(source_of(some, HEAD % name) + common * (not made and lead is None))
        made += compile_sources(replace(described, sources=()), [path], work_folder=objects / name, extra_flags=options)
    if lead is not None:  # cases that run with several leads are compiled once
        (folder / "tables.c").write_text(f"#include <stdint.h>\n{common}")
        made += compile_sources(replace(described, sources=()), [folder / "tables.c"], work_folder=objects / "tables")
    (folder / "main.c").write_text(main)
    made += compile_sources(described, [folder / "main.c"], work_folder=objects)
    return link_objects(described, [], made, folder / "cases.elf", work_folder=objects, extra_flags=flags)


def _parts(cases: Sequence[Case], flags: Sequence[str], board: str) -> dict[str, tuple[dict[int, Case], Sequence[str]]]:
    """By the name of its C function, the cases of each file, by number, and its flags."""
    numbered = dict(enumerate(cases))
    shipped = set() if board == "host" else _as_shipped(cases)
    apart = {number: entry for number, entry in numbered.items() if number not in shipped}
    is_given = any(flag.startswith(("-O", "-D")) for flag in flags)
    if is_given or harness.STRESS or shipped and len(apart) < FEW_CASES:
        return {"run_all": (numbered, flags)}
    some = (*flags, "-Wno-unused-function")  # a file has all functions of its texts, and not all cases that call them
    made = {
        "run_shipped": ({number: numbered[number] for number in sorted(shipped)}, some),
        "run_apart": (apart, (*some, "-O0")),
    }
    return {name: part for name, part in made.items() if part[0]}


def _as_shipped(cases: Sequence[Case]) -> set[int]:
    """The cases whose C is compiled with -O2, as in firmware: all whose functions are C, and of those that call naked functions,
    which no level changes, the first of each kernel and every eighth."""
    naked: dict[tuple, list[int]] = {}
    chosen = []
    for number, entry in enumerate(cases):
        is_naked = any("_NAKED " in text for text in entry.call.texts)
        (naked.setdefault((entry.call.function, entry.call.texts), []) if is_naked else chosen).append(number)
    first = {cases[numbers[0]].kernel.name: numbers for numbers in reversed(naked.values())}
    return {*chosen, *(number for numbers in (*first.values(), *list(naked.values())[::8]) for number in numbers)}


def _output_places(entry: Case) -> list[int]:
    """Where the outputs begin, each at a multiple of its elements' bytes, and where the last one ends."""
    places, end = [], 0
    for tensor in entry.stored.outputs:
        places.append(-(-end // tensor.dtype.size_bytes) * tensor.dtype.size_bytes)
        end = places[-1] + tensor.size_bytes
    return [*places, end]


def _moving(entry: Case) -> list[numpy.ndarray]:
    """The computed inputs as they are stored."""
    return [
        tensor.to_stored(value)
        for tensor, value in zip(entry.stored.inputs, entry.values)
        if tensor is not None and not tensor.is_constant
    ]


def _compared(cases: Sequence[Case], data: bytes) -> list[str]:
    found, position = [], 0
    for number, entry in enumerate(cases):
        is_outside, different, position = data[position], 0, position + 1
        *places, end = _output_places(entry)
        results = []
        for tensor, expected, place in zip(entry.stored.outputs, entry.expected, places, strict=True):
            stored = numpy.frombuffer(data, tensor.dtype.numpy, tensor.elements, position + place)
            results.append(tensor.from_stored(stored))
            different += _different(results[-1], expected)
        position += end
        different += entry.misses_steps(*results)
        if different or is_outside:
            inputs = ", ".join(str(tensor) for tensor in entry.view.inputs)
            what = f"{different} values differ" if different else "writes outside of its outputs or scratch"
            found.append(f"{number}: {entry.view.operator}({inputs}) -> {entry.view.outputs[0]}: {what}")
    assert position == len(data)
    return found


def _different(got: numpy.ndarray, expected: numpy.ndarray) -> int:
    """Elements that differ; float32 ones by more than 1e-5 of the largest, or where one of both is no number."""
    if expected.dtype != numpy.float32:
        return int((got != expected).sum())
    same = (got == expected) | (numpy.isnan(got) & numpy.isnan(expected))
    largest = numpy.abs(expected[numpy.isfinite(expected)]).max(initial=1e-30)
    error = numpy.abs(got[~same].astype(numpy.float64) - expected[~same])
    return int((~(error <= 1e-5 * largest)).sum())
