# SPDX-License-Identifier: MIT
"""Small arrays in RAM that the generated code keeps between calls, in addition to arena and state; each is in the claim."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from aidge_build.build.emit.integrity import integrity_symbol
from aidge_build.build.emit.monitor import monitor_functions, monitor_symbol
from aidge_build.build.emit.record import record_functions, record_symbol
from aidge_build.build.emit.replaced import bound_symbol
from aidge_build.build.emit.rows import owns_progress, progress_symbol
from aidge_build.build.emit.steps import owns_steps
from aidge_build.build.emit.steps import progress_symbol as steps_symbol
from aidge_build.plan.integrity import Integrity
from aidge_build.plan.program import Program
from aidge_build.plan.schedule.recording import WORD


@dataclass(frozen=True)
class Kept:
    """A kept array: `word` is its name in `aidge-build check`; its bytes and alignment follow from the bytes of a pointer."""

    word: str
    symbol: str
    size_bytes: Callable[[int], int]
    alignment: Callable[[int], int]


def kept_arrays(program: Program) -> tuple[Kept, ...]:
    """Returns the arrays that the code defines; none if the firmware owns the memory of the model (`--arena caller`)."""
    found = []
    if owns_progress(program):
        progress = program.progress
        assert progress is not None
        found.append(Kept("rows", progress_symbol(program), progress.size_bytes, progress.alignment))
    if owns_steps(program):
        waiting = program.waiting
        assert waiting is not None
        found.append(Kept("steps", steps_symbol(program), waiting.size_bytes, waiting.alignment))
    recording = program.recording
    if recording is not None:
        found.append(_array("record", record_symbol(program.name), recording.size_bytes, WORD))
    integrity = Integrity.of(program.options)
    if integrity is not None and program.options.arena == "static":
        found.append(_array("integrity", integrity_symbol(program), integrity.size_bytes, integrity.alignment))
    monitoring = program.monitoring
    if monitoring is not None and program.options.arena == "static":
        found.append(_array("monitor", monitor_symbol(program.name), monitoring.size_bytes, monitoring.alignment))
    if program.options.replaces_weights and program.options.arena == "static":
        found.append(
            Kept("bound", bound_symbol(program), lambda pointer_bytes: pointer_bytes, lambda pointer_bytes: pointer_bytes)
        )
    return tuple(found)


def keeping_functions(program: Program) -> tuple[str, ...]:
    """Returns the functions that N_run calls in addition to the layers, for the record and the monitor."""
    return (*(record_functions(program.name) if program.recording else ()), *monitor_functions(program))


def _array(word: str, symbol: str, size_bytes: int, alignment: int) -> Kept:
    """Returns an array without pointers."""
    return Kept(word, symbol, lambda _: size_bytes, lambda _: alignment)
