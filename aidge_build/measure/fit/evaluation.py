# SPDX-License-Identifier: MIT
"""The facts about a model and a board: numbers and words, without times, the same on every machine."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Literal

from aidge_build.base.naming import counted

Verdict = Literal["fits", "too small", "refused"]
FITS: Verdict = "fits"
TOO_SMALL: Verdict = "too small"
REFUSED: Verdict = "refused"
VERDICTS = (FITS, TOO_SMALL, REFUSED)
IMAGE, STACK, INSTRUCTIONS, MILLISECONDS = "image", "stack", "instructions", "milliseconds"  # figures that may be unknown


@dataclass(frozen=True)
class MemoryUse:
    """A memory of the board and the bytes that the smallest firmware with the model uses, its stack included."""

    name: str
    kind: str  # "flash" or "ram"
    used_bytes: int
    length_bytes: int

    @property
    def missing_bytes(self) -> int:
        """The bytes by which the memory is too small."""
        return max(0, self.used_bytes - self.length_bytes)


@dataclass(frozen=True)
class Evaluation:
    """The answer to a question. Sizes in bytes, instructions per inference; None: not known, and `unknown` says why.

    `libraries` are the libraries of the kernels that run. `missing` are (memory, bytes) that the program lacks there. `arena_in`
    are the memories that hold the arena and the bytes in each. `constants_bytes` are known from the plan alone. `image_bytes` are
    all of flash, with start-up code and the smallest `main`; `is_built`: of the program of this board, not of its core.
    `instructions_error` is the stated error of a prediction in percent, 0.0 for an exact count. `milliseconds_uncached`: without
    the cache of an external flash. `reason` is one line: why it does not fit, or is refused. `by_rows`: some layers are computed
    row by row, because the arena fits no other way.
    """

    model: str
    board: str
    verdict: Verdict
    core: str
    libraries: tuple[str, ...] = ()
    missing: tuple[tuple[str, int], ...] = ()
    reason: str = ""
    hint: str = ""
    code: str = ""
    arena_bytes: int | None = None
    arena_in: tuple[tuple[str, int], ...] = ()
    io_bytes: int | None = None
    constants_bytes: int | None = None
    memories: tuple[MemoryUse, ...] = ()
    image_bytes: int | None = None
    is_built: bool = False
    stack_bytes: int | None = None
    instructions: int | None = None
    instructions_error: float | None = None
    milliseconds: float | None = None
    milliseconds_error: float | None = None
    milliseconds_uncached: float | None = None
    by_rows: bool = False
    notices: tuple[str, ...] = ()
    unknown: tuple[tuple[str, str], ...] = ()

    @property
    def ram_bytes(self) -> int | None:
        """The bytes of RAM that the smallest firmware uses, its reserved stack included."""
        return sum(memory.used_bytes for memory in self.memories if memory.kind == "ram") if self.memories else None

    @property
    def most_milliseconds(self) -> float | None:
        """The longest that an inference may take, if the time is known."""
        return None if self.milliseconds is None else self.milliseconds * (1 + (self.milliseconds_error or 0.0) / 100)

    def as_json(self) -> dict[str, Any]:
        """The same as values of JSON, which `evaluation_of` reads."""
        return dataclasses.asdict(self)


def evaluation_of(data: Any) -> Evaluation:
    """Returns the evaluation that `as_json` wrote; ValueError for anything else."""
    if not isinstance(data, dict) or set(data) != {field.name for field in dataclasses.fields(Evaluation)}:
        raise ValueError("these are not the fields of an evaluation")
    found = dict(data)
    for name, columns in _COLUMNS.items():
        found[name] = tuple(_row(row, columns) for row in _list(data[name]))
    for name in ("libraries", "notices"):
        found[name] = tuple(_value(word, (str,)) for word in _list(data[name]))
    found["memories"] = tuple(MemoryUse(**_memory(memory)) for memory in _list(data["memories"]))
    for name, kinds in _SINGLE.items():
        _value(found[name], kinds)
    if found["verdict"] not in VERDICTS:
        raise ValueError(f"{found['verdict']!r} is no verdict")
    return Evaluation(**found)


_COLUMNS = {"missing": (str, int), "arena_in": (str, int), "unknown": (str, str)}
_MEMORY = {"name": (str,), "kind": (str,), "used_bytes": (int,), "length_bytes": (int,)}
_NONE = type(None)
_SINGLE: dict[str, tuple[type, ...]] = {
    **{name: (str,) for name in ("model", "board", "verdict", "core", "reason", "hint", "code")},
    **{
        name: (int, _NONE)
        for name in ("arena_bytes", "io_bytes", "constants_bytes", "image_bytes", "stack_bytes", "instructions")
    },
    **{
        name: (int, float, _NONE)
        for name in ("instructions_error", "milliseconds", "milliseconds_error", "milliseconds_uncached")
    },
    "is_built": (bool,),
    "by_rows": (bool,),
}


def _list(value: Any) -> list:
    if not isinstance(value, (list, tuple)):
        raise ValueError(f"a list is expected, not {value!r}")
    return list(value)


def _row(value: Any, kinds: tuple[type, ...]) -> tuple:
    cells = _list(value)
    if len(cells) != len(kinds):
        raise ValueError(f"expected {counted(len(kinds), 'value')}, not {value!r}")
    return tuple(_value(cell, (kind,)) for cell, kind in zip(cells, kinds, strict=True))


def _memory(value: Any) -> dict:
    if not isinstance(value, dict) or set(value) != set(_MEMORY):
        raise ValueError("these are not the fields of a memory")
    for name, kinds in _MEMORY.items():
        _value(value[name], kinds)
    return value


def _value(value: Any, kinds: tuple[type, ...]) -> Any:
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        raise ValueError(f"{value!r} has the wrong type")
    return value
