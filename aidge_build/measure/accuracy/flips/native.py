# SPDX-License-Identifier: MIT
"""Flipped bits on this machine: the generated C, compiled with constants that can be written."""

from __future__ import annotations

import struct
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from aidge_build.base.errors import AidgeError
from aidge_build.base.output import write_sources
from aidge_build.base.render import render
from aidge_build.boards import load_board
from aidge_build.build.emit import emit
from aidge_build.build.emit.kept import kept_arrays
from aidge_build.measure.accuracy.flips.bits import Constants, Flip
from aidge_build.plan.program import Program
from aidge_build.run.toolchain import build_program
from aidge_build.run.verify.calling import calling_of

NONE = Flip(0xFFFFFFFF, 0, 0)
_SLOWER, _LEAST_SECONDS = 20, 2  # of the processor, compared with no flip: then a run counts as endless


@dataclass(frozen=True)
class Outcome:
    """The stored outputs of all samples one after another, None if the program crashed or did not end; and whether
    N_verify_constants found the flip, None in a program without it."""

    outputs: bytes | None
    found: bool | None = None


class NativeModel:
    """A program of this machine in `folder`, which runs the model on `samples`: the stored bytes of the inputs of each."""

    def __init__(self, program: Program, constants: Constants, samples: Sequence[Sequence[bytes]], folder: Path):
        self._folder, self._count, self._verifies = folder, len(samples), program.options.verifies_constants
        tensors = [program.view.tensor(name) for name in program.view.handed_out]
        self._output_bytes = len(samples) * sum(tensor.size_bytes for tensor in tensors)
        self._program = self._build(program, constants)
        (folder / "input.bin").write_bytes(b"".join(part for sample in samples for part in sample))
        self._seconds = _LEAST_SECONDS
        before = time.monotonic()
        (self.reference,) = self._outcomes([NONE])
        if self.reference.outputs is None or self.reference.found:
            raise AidgeError("the model does not run on this machine", where=str(folder), code="RUN")
        self._seconds = max(_LEAST_SECONDS, int(_SLOWER * (time.monotonic() - before)))

    def outcomes(self, flips: Sequence[Flip]) -> list[Outcome]:
        """Returns what each flip does. Each begins with sound constants; if one leaves other bytes damaged, all run alone."""
        *found, last = self._outcomes([*flips, NONE])
        if last == self.reference or len(flips) == 1:
            return found
        return [outcome for flip in flips for outcome in self.outcomes([flip])]

    def _outcomes(self, flips: Sequence[Flip]) -> list[Outcome]:
        found: list[Outcome] = []
        while len(found) < len(flips):
            found += self._until_a_crash(flips[len(found) :])
        return found

    def _until_a_crash(self, flips: Sequence[Flip]) -> Iterator[Outcome]:
        """Yields the outcomes of at least one flip, up to the first one that ends the program."""
        head = struct.pack("<III", self._seconds, self._count, len(flips))
        words = b"".join(struct.pack("<III", flip.array, flip.byte, flip.bit) for flip in flips)
        (self._folder / "flips.bin").write_bytes(head + words)
        done = subprocess.run([self._program], cwd=self._folder, stdin=subprocess.DEVNULL, capture_output=True, check=False)
        if done.returncode > 0:
            raise AidgeError(f"the program ended with exit code {done.returncode}", where=str(self._program), code="RUN")
        data, size = (self._folder / "output.bin").read_bytes(), self._output_bytes + 1
        for start in range(0, len(data), size):
            record = data[start : start + size]
            yield Outcome(record[1:] if len(record) == size else None, bool(record[0]) if self._verifies else None)

    def _build(self, program: Program, constants: Constants) -> Path:
        folder, name, call = self._folder, program.name, calling_of(program)
        write_sources(emit(program), folder)
        integrity = next((kept for kept in kept_arrays(program) if kept.word == "integrity"), None)
        text = render(
            files(__package__).joinpath("native.c.j2").read_text("utf-8"),
            name=name,
            symbols=[array.symbol for array in constants.arrays],
            integrity={"symbol": integrity.symbol, "size_bytes": integrity.size_bytes(8)} if integrity else None,
            call=call,
            has_state=program.memory.states.size_bytes > 0,
            input_bytes=sum(program.view.tensor(given).size_bytes for given in program.view.given),
        )
        (folder / "main.c").write_text(text)
        (folder / "written.c").write_text(f'#include <math.h>\n#include <stdint.h>\n#define const\n#include "{name}_weights.c"\n')
        return build_program(
            load_board("host", ()),
            [folder / program.code_file, folder / "written.c", folder / "main.c"],
            folder / f"{name}.elf",
            work_folder=folder / "objects",
            include_folders=[folder],
            extra_flags=program.compiler_flags,
        ).resolve()
