# SPDX-License-Identifier: MIT
"""The timing table of a core, read from `cores/timing/NAME.toml`: how it issues, executes and forwards each kind of instruction.

Comments in the file name the sources of the numbers. Results that were estimated with a table name its digest, which changes with
the table.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cache, cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

from aidge_build.base.errors import AidgeError
from aidge_build.base.installed import board_folder
from aidge_build.base.settings import CODE, check_keys, find, guess, names_in, read_chain, read_settings
from aidge_build.boards.cores import Core
from aidge_build.contract.work import DEFAULT, KINDS, PARENTS, ROLES

FOLDER = "timing"  # the folder next to the cores' files
ANY, FIRST, LAST, ALONE = SLOTS = ("any", "first", "last", "alone")
_SHOWN_DIGITS = 12


@dataclass(frozen=True)
class KindTiming:
    """How a core executes one kind of instruction. Stages count from the cycle of issue.

    | field | meaning |
    | --- | --- |
    | cycles | cycles until the next instruction may be issued, pairs aside |
    | words_a_cycle | words of memory that each further cycle moves; 0: all words in `cycles` |
    | index_cycles | extra cycles if the address is a sum of two registers |
    | flag_cycles | extra cycles if it sets flags |
    | shadow, hidden_by | cycles that the next instruction waits, unless it is of these kinds (loads that overlap) |
    | shadows | the kinds that wait; none: all |
    | update_overlaps | whether a previous instruction hides it although it updates its address |
    | units, hold | the units that it occupies, and for how many cycles; `a|b` is the unit that is free first |
    | latency, update, status | cycles after which its result, its updated address, its flags can be read |
    | operand .. condition | the stage in which it reads a register of this role |
    | slides | how many stages later it may execute if operands are late |
    | joined | how many stages later it executes as the second instruction of a cycle |
    | slot | its place in a cycle: any, only the first, only the last, or alone |
    | taken | cycles that are lost if it jumps |
    """

    cycles: int = 1
    words_a_cycle: int = 0
    index_cycles: int = 0
    flag_cycles: int = 0
    shadow: int = 0
    hidden_by: frozenset[str] = frozenset()
    shadows: frozenset[str] = frozenset()
    update_overlaps: bool = True
    units: tuple[str, ...] = ()
    hold: int = 1
    latency: int = 1
    update: int = 1
    status: int = 1
    operand: int = 0
    second: int = 0
    shifted: int = 0
    accumulate: int = 0
    address: int = 0
    index: int = 0
    data: int = 0
    condition: int = 0
    slides: int = 0
    joined: int = 0
    slot: str = ANY
    taken: int = 0

    @property
    def said(self) -> dict[str, Any]:
        """The keys with values that differ from the defaults."""
        return {each.name: value for each in fields(self) if (value := getattr(self, each.name)) != each.default}


@dataclass(frozen=True)
class Forwarding:
    """Kinds `by` read the results of kinds `of`, in these roles, `cycles` later (below 0: earlier) than usual."""

    of: frozenset[str]
    by: frozenset[str]
    roles: frozenset[str]
    cycles: int


@dataclass(frozen=True, eq=False)
class TimingTable:
    """The timing of a core.

    | field | meaning |
    | --- | --- |
    | issue | most instructions of a cycle |
    | pair_bytes | bytes that instructions of one cycle may have together; 0: any |
    | pair_kinds, pair_either | kinds of the second instruction of a cycle (or of either); none: all |
    | unaligned_target | cycles that a jump to a 32-bit instruction at an odd half-word loses |
    | wide_run | which of consecutive 32-bit instructions at odd half-words loses a cycle, after a longer one; 0: none |
    | late_flags | cycles that a taken branch loses if the cycle before it sets its flags |
    | predicts_loops | whether it expects that a conditional backward branch jumps: such a jump loses nothing |
    | loop_exit | cycles that a conditional backward branch loses if it is not taken: a loop ends |
    | loop_exit_early, early | cycles that it loses if its flags are known `early` cycles before it; left out: as `loop_exit` |
    | banks | memory banks, each a word wide; two loads of a cycle must use different banks; 0: no limit |
    """

    name: str
    issue: int
    pair_bytes: int
    pair_kinds: frozenset[str]
    pair_either: bool
    unaligned_target: int
    wide_run: int
    late_flags: int
    predicts_loops: bool
    loop_exit: int
    loop_exit_early: int
    early: int
    banks: int
    kinds: Mapping[str, KindTiming]
    forwarding: tuple[Forwarding, ...]
    files: Mapping[str, bytes] = field(repr=False, default_factory=dict)
    known: dict = field(repr=False, default_factory=dict)  # the operations that `pipeline` made of instructions

    @cached_property
    def digest(self) -> str:
        """The first 12 hexadecimal digits of the SHA-256 of all numbers that estimates with this table depend on. Keys with
        default values are omitted, so that a new key changes no digest."""
        plain = {
            key: value for key in _TABLE_KEYS if key not in ("extends", "kinds", "forward") and (value := getattr(self, key))
        }
        kinds = {kind: timing.said for kind, timing in self.kinds.items() if timing.said}
        own = {**plain, "kinds": kinds, "forward": [asdict(each) for each in self.forwarding]}
        text = json.dumps(
            own, sort_keys=True, default=lambda value: sorted(value) if isinstance(value, frozenset) else list(value)
        )
        return hashlib.sha256(text.encode()).hexdigest()[:_SHOWN_DIGITS]

    @cached_property
    def overlaps(self) -> bool:
        """Whether instructions overlap: the core issues two of any kinds in a cycle, or one next to the end of another, or it
        overlaps loads in a row that move their addresses."""
        loads_overlap = bool(self.kinds["load"].hidden_by) and self.kinds["load"].update_overlaps
        return self.issue > 1 and not self.pair_kinds or loads_overlap or any(one.hold > 1 for one in self.kinds.values())

    def with_multiplier(self, cycles: int) -> TimingTable:
        """Returns the table of the same core with a multiplier that takes `cycles` for a product of 32 bits."""
        if cycles == 1:
            return self
        slow = {"multiply": replace(self.kinds["multiply"], cycles=cycles, latency=cycles)}
        return replace(self, kinds=MappingProxyType({**self.kinds, **slow}), known={})


_TABLE_KEYS: dict[str, Any] = {
    "extends": str,
    "pair_kinds": list,
    "pair_either": bool,
    "predicts_loops": bool,
    **dict.fromkeys(("issue", "pair_bytes", "unaligned_target", "wide_run", "late_flags"), int),
    **dict.fromkeys(("loop_exit", "loop_exit_early", "early", "banks"), int),
    "kinds": dict,
    "forward": dict,
}
_LISTS = {"units": tuple, "hidden_by": frozenset, "shadows": frozenset}
_KIND_KEYS: dict[str, Any] = {each.name: list if each.name in _LISTS else type(each.default) for each in fields(KindTiming)}
_FORWARD_KEYS = {"of": list, "by": list, "roles": list, "cycles": int}


def timing_of(core: Core | None, multiplier_cycles: int = 1) -> TimingTable | None:
    """Returns the table that the core's file names, with a multiplier of `multiplier_cycles`; None if it names none.

    Raises AidgeError (BOARD) if the table is missing or wrong.
    """
    if core is None or not core.timing:
        return None
    folders = tuple(dict.fromkeys(str(Path(path).parent / FOLDER) for path in core.files))
    return load_timing(core.timing, folders).with_multiplier(multiplier_cycles)


@cache
def load_timing(name: str, folders: Sequence[str] = ()) -> TimingTable:
    """Returns the table `name` of the first of `folders` that has it, or the built-in table. Raises AidgeError (BOARD)."""
    places = [*map(Path, folders), board_folder() / "cores" / FOLDER]
    files: dict[str, bytes] = {}

    def path_of(wanted: str, where: str) -> Path:
        found = find(wanted, places, bases=True)
        if found is None:
            names = names_in(places)
            raise AidgeError(
                f"there is no timing table '{wanted}'",
                where=where,
                hint=f"{guess(wanted, names)}Tables: {', '.join(names)}",
                code=CODE,
            )
        return found

    path = path_of(name, f"timing of the core: {name}")
    settings = read_chain(
        path, "timing tables", ("kinds", "forward"), lambda one: read_settings(one, _TABLE_KEYS, files), path_of
    )
    return _table(name, str(path), settings, files)


def table_digests() -> dict[str, str]:
    """Returns the digests of the built-in tables, by name: results that were estimated with a table name its digest."""
    return {name: load_timing(name).digest for name in names_in([board_folder() / "cores" / FOLDER])}


def _table(name: str, where: str, settings: dict, files: Mapping[str, bytes]) -> TimingTable:
    own, forward = settings.get("kinds", {}), settings.get("forward", {})
    _check_kinds(own, where, "kinds")
    _check_kinds(settings.get("pair_kinds", []), where, "pair_kinds")
    for kind, numbers in own.items():
        check_keys(numbers, _KIND_KEYS, f"{where}: kinds.{kind}")
        for key in ("hidden_by", "shadows"):
            _check_kinds(numbers.get(key, []), where, f"kinds.{kind}.{key}")
        if numbers.get("slot", ANY) not in SLOTS:
            raise AidgeError(
                f"slot '{numbers['slot']}' is not valid", where=f"{where}: kinds.{kind}", hint=", ".join(SLOTS), code=CODE
            )
    for key, numbers in forward.items():
        check_keys(numbers, _FORWARD_KEYS, f"{where}: forward.{key}")
        for word in _FORWARD_KEYS:
            if word not in numbers:
                raise AidgeError(
                    f"key '{word}' is missing", where=f"{where}: forward.{key}", hint=", ".join(_FORWARD_KEYS), code=CODE
                )
        _check_kinds([*numbers["of"], *numbers["by"]], where, f"forward.{key}")
        _check_kinds(numbers["roles"], where, f"forward.{key}.roles", ROLES)
    plain = {key: settings.get(key, 0) for key, kind in _TABLE_KEYS.items() if kind is int}
    return TimingTable(
        **{**plain, "issue": settings.get("issue", 1), "loop_exit_early": settings.get("loop_exit_early", plain["loop_exit"])},
        name=name,
        pair_kinds=frozenset(settings.get("pair_kinds", [])),
        pair_either=settings.get("pair_either", False),
        predicts_loops=settings.get("predicts_loops", False),
        kinds=MappingProxyType({kind: _kind(kind, own) for kind in KINDS}),
        forwarding=tuple(_forwarding(forward[key]) for key in sorted(forward)),
        files=MappingProxyType(dict(sorted(files.items()))),
    )


def _check_kinds(names: Sequence[str], where: str, key: str, valid: Sequence[str] = KINDS) -> None:
    for name in names:
        if name not in valid:
            hint = f"{guess(name, valid)}valid: {', '.join(sorted(valid))}"
            raise AidgeError(f"key '{key}': '{name}' is not valid", where=where, hint=hint, code=CODE)


def _kind(kind: str, own: Mapping[str, Mapping[str, Any]]) -> KindTiming:
    """Returns the numbers of a kind: its own numbers replace the numbers of its parents."""
    chain = [kind]
    while chain[-1] != DEFAULT:
        chain.append(PARENTS[chain[-1]])
    numbers: dict[str, Any] = {}
    for each in reversed(chain):
        numbers.update(own.get(each, {}))
    return KindTiming(**{key: _LISTS[key](value) if key in _LISTS else value for key, value in numbers.items()})


def _forwarding(numbers: Mapping[str, Any]) -> Forwarding:
    of, by, roles = (frozenset(numbers[key]) for key in ("of", "by", "roles"))
    return Forwarding(of, by, roles, numbers["cycles"])
