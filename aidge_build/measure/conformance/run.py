# SPDX-License-Identifier: MIT
"""Many cases as one program: generated, compiled with every warning as an error, run, and compared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy

from aidge_build.base.errors import AidgeError
from aidge_build.base.output import write_sources
from aidge_build.boards import Board
from aidge_build.build.emit import emit
from aidge_build.graph.tensor import Tensor
from aidge_build.measure.conformance.cases import Prepared
from aidge_build.run.emulate import run_program
from aidge_build.run.toolchain import build_program
from aidge_build.sources.onnx_format.node_cases import NodeCase

WARNINGS = ("-std=c99", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Wundef", "-Wdouble-promotion", "-Werror")
SANITIZERS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-g1")
MOST_CASES = 60  # of one program
MOST_BYTES = 1 << 20  # of the tensors and arenas of one program


@dataclass(frozen=True)
class Verdict:
    """The result of a case: "pass", "folded", "refused" or "wrong".

    `distance` is the largest one to the expected values: in units in the last place ("ULP") of float32 outputs. Integers and
    truth values must be equal, so their distance is 0 ("LSB").
    """

    name: str
    verdict: str
    reason: str = ""
    bound: tuple[str, ...] = ()
    distance: int = 0
    unit: str = "ULP"


def verdicts(prepared: Sequence[Prepared], board: Board, folder: Path, flags: tuple[str, ...] = ()) -> list[Verdict]:
    """The verdict of every case, in the given order."""
    found: dict[str, Verdict] = {}
    for one in prepared:
        if one.program is None:
            found[one.case.name] = Verdict(one.case.name, "refused", one.refusal, one.bound)
    for number, batch in enumerate(_batches([one for one in prepared if one.program is not None])):
        found |= {verdict.name: verdict for verdict in _batch(batch, board, folder / f"batch_{number}", flags)}
    return [found[one.case.name] for one in prepared]


def _batches(prepared: Sequence[Prepared]) -> Iterator[list[Prepared]]:
    batch: list[Prepared] = []
    size = 0
    for one in prepared:
        needed = sum(tensor.size_bytes for tensor in _ports(one)) + one.program.memory.arena.peak_bytes
        if batch and (len(batch) == MOST_CASES or size + needed > MOST_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(one)
        size += needed
    if batch:
        yield batch


def _ports(one: Prepared) -> list[Tensor]:
    return [one.program.view.tensor(name) for name in (*one.program.view.inputs, *one.program.view.outputs)]


def _batch(batch: Sequence[Prepared], board: Board, folder: Path, flags: tuple[str, ...]) -> list[Verdict]:
    """Returns the verdicts of one program; if the program fails as a whole, each case gets a program of its own."""
    try:
        data = _outputs(batch, board, folder, flags)
    except AidgeError as error:
        if len(batch) == 1:
            (one,) = batch
            return [Verdict(one.case.name, "wrong", f"does not compile or run: {error}", one.bound)]
        return [_batch([one], board, folder / one.program.name, flags)[0] for one in batch]
    found, position = [], 0
    for one in batch:
        values = []
        for name in one.program.view.outputs:
            tensor = one.program.view.tensor(name)
            stored = numpy.frombuffer(data, tensor.dtype.numpy, tensor.elements, position)
            values.append(tensor.from_stored(stored))
            position += tensor.size_bytes
        reason, ulps = _difference(one.case, values)
        verdict = "wrong" if reason else "folded" if one.folded else "pass"
        unit = "ULP" if any(value.dtype.kind == "f" for value in values) else "LSB"
        found.append(Verdict(one.case.name, verdict, reason, one.bound, ulps, unit))
    return found


def _outputs(batch: Sequence[Prepared], board: Board, folder: Path, flags: tuple[str, ...]) -> bytes:
    folder.mkdir(parents=True, exist_ok=True)
    sources, given = [folder / "main.c"], []
    for one in batch:
        write_sources(emit(one.program), folder)
        unit = folder / f"{one.program.name}_unit.c"
        unit.write_text(f'#include "{one.program.name}_weights.c"\n#include "{one.program.name}.c"\n')
        sources.append(unit)
        view = one.program.view
        given += [view.tensor(name).to_stored(one.case.inputs[name]).tobytes() for name in view.inputs]
    sources[0].write_text(_main(batch))
    (folder / "input.bin").write_bytes(b"".join(given))
    (folder / "output.bin").unlink(missing_ok=True)
    elf = build_program(
        board,
        sources,
        folder / "cases.elf",
        work_folder=folder / "objects",
        include_folders=[folder],
        extra_flags=[*flags, *WARNINGS],
    )
    result = run_program(elf, board, work_folder=folder, count=False)
    expected = sum(one.program.view.tensor(name).size_bytes for one in batch for name in one.program.view.outputs)
    data = (folder / "output.bin").read_bytes()
    if result.exit_code or len(data) != expected:
        raise AidgeError(f"the program ended with exit code {result.exit_code} after {len(data)} of {expected} bytes", code="RUN")
    return data


def _main(batch: Sequence[Prepared]) -> str:
    lines = [
        "/* SPDX-License-Identifier: 0BSD */",
        '#include "semihosting.h"',
        *(f'#include "{one.program.name}.h"' for one in batch),
        "int main(void);",
        "int main(void)",
        "{",
        '    const int from = semihosting_open("input.bin", SEMIHOSTING_READ);',
        '    const int to = semihosting_open("output.bin", SEMIHOSTING_WRITE);',
        "    (void)from;",
    ]
    for one in batch:
        view = one.program.view
        names = [*(f"x{i}" for i in range(len(view.inputs))), *(f"y{i}" for i in range(len(view.outputs)))]
        lines.append("    {")
        lines += [
            f"        static {tensor.dtype.c_type} {name}[{max(1, tensor.elements)}];" for name, tensor in zip(names, _ports(one))
        ]
        sizes = {name: f"{tensor.size_bytes}u" for name, tensor in zip(names, _ports(one)) if tensor.elements}
        reads = [f"semihosting_read(from, {name}, {sizes[name]}) != 0u" for name in names[: len(view.inputs)] if name in sizes]
        writes = [f"semihosting_write(to, {name}, {sizes[name]}) != 0u" for name in names[len(view.inputs) :] if name in sizes]
        call = f"{one.program.name}_run({', '.join(names)}) != 0"
        lines += [f"        if ({condition}) {{ return 3; }}" for condition in (*reads, call, *writes)]
        lines.append("    }")
    return "\n".join([*lines, "    return semihosting_close(to);", "}"]) + "\n"


def _difference(case: NodeCase, values: Sequence[numpy.ndarray]) -> tuple[str, int]:
    """Returns why the values are not the expected ones ("" if they are), and the distance."""
    if len(values) != len(case.expected):
        return f"{len(values)} outputs, expected {len(case.expected)}", 0
    most = 0
    for index, (found, wanted) in enumerate(zip(values, case.expected)):
        if (found.dtype, found.shape) != (wanted.dtype, wanted.shape):
            return f"output {index} is {found.dtype}{list(found.shape)}, expected {wanted.dtype}{list(wanted.shape)}", 0
        # The rule of the ONNX project's own runner: integers and truth values exactly, floats within both tolerances.
        exact = wanted.dtype.kind in "biu"
        same = (
            numpy.array_equal(found, wanted)
            if exact
            else numpy.allclose(found, wanted, case.relative, case.absolute, equal_nan=True)
        )
        if not same:
            return f"output {index} differs: {found.reshape(-1)[:6].tolist()}, expected {wanted.reshape(-1)[:6].tolist()}", 0
        most = max(most, 0 if exact else _ulps(found, wanted))
    return "", most


def _ulps(found: numpy.ndarray, wanted: numpy.ndarray) -> int:
    """The largest distance of two arrays of float32, in representable numbers."""

    def ordered(values: numpy.ndarray) -> numpy.ndarray:
        bits = values.astype(numpy.float32).view(numpy.int32).astype(numpy.int64)
        return numpy.where(bits < 0, -(bits & 0x7FFFFFFF), bits)

    both = ~(numpy.isnan(found) | numpy.isnan(wanted))
    return int(numpy.abs(ordered(found[both].reshape(-1)) - ordered(wanted[both].reshape(-1))).max(initial=0))
