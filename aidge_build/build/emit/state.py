# SPDX-License-Identifier: MIT
"""N_state: what a model remembers, its initial value, and how N_reset gives it back."""

from __future__ import annotations

from dataclasses import dataclass

from aidge_build.build.emit.functions import STATE_ALIGNMENT
from aidge_build.build.emit.header import owns_state
from aidge_build.plan.constant_arrays import Arrays
from aidge_build.plan.program import Program


@dataclass(frozen=True)
class StateText:
    """The values for the template. `initial` is the array in flash that N_reset copies, "" if the state begins as zeros.

    `ready` is the byte that says whether that has been done, None where a call makes instances or zeros do."""

    size_bytes: int
    alignment: int
    copied_bytes: int
    initial: str
    ready: int | None
    is_owned: bool


def state_text(program: Program, arrays: Arrays) -> StateText | None:
    """Returns the values for the template; None for a model without state."""
    states = program.memory.states
    if not states.size_bytes:
        return None
    is_owned = owns_state(program)
    return StateText(
        states.bytes_of(program.options.arena),
        STATE_ALIGNMENT,
        states.size_bytes,
        arrays.initial_state.symbol if arrays.initial_state else "",
        states.size_bytes if states.needs_start and is_owned else None,
        is_owned,
    )
