# SPDX-License-Identifier: MIT
"""The deepest path through the calls of a program, and the bytes of stack that each function of it holds."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any

from aidge_build.base.naming import counted
from aidge_build.prove.elf.linked_code import LinkedCode
from aidge_build.prove.elf.state import Refusal
from aidge_build.prove.elf.walker import Answer, WalkedCall

SHOWN_CALLS = 10  # at each end of a long chain
_Path = tuple[tuple[str, int], ...]  # functions, and what each holds
# Follows a function of the program from its first address; says whether the program begins there.
Walk = Callable[[Any, int, bool], Generator[int, Answer, WalkedCall]]


@dataclass(frozen=True)
class StackBound:
    """A bound of the stack: `bytes` along the calls of `path`, or None with the `reason` why there is none.

    `held_bytes` are the bytes that each function of the path holds while the next one runs; they add up to the bound. `lost` are
    the registers that a function should preserve and does not.
    """

    bytes: int | None
    path: tuple[str, ...]
    reason: str = ""
    held_bytes: tuple[int, ...] = ()
    lost: frozenset[str] = frozenset()


def bound_of(walk: Walk, code: LinkedCode, entry: int, *, is_root: bool = False) -> StackBound:
    """Returns the bound of the function at `entry`, which starts the program if it `is_root`."""
    search = _Search(walk, code, entry if is_root else None)
    try:
        total, path = search.bound(entry)
        lost = search.answer(entry) or frozenset()
        return StackBound(total, tuple(name for name, _ in path), held_bytes=tuple(held for _, held in path), lost=lost)
    except Refusal as refusal:
        return StackBound(None, tuple(map(code.name, refusal.chain)), str(refusal))


def chain_of(names: Sequence[str]) -> str:
    """Returns `main > run > layer`; the middle of a long chain is omitted."""
    if len(names) > 2 * SHOWN_CALLS + 1:
        names = [*names[:SHOWN_CALLS], f"... {counted(len(names) - 2 * SHOWN_CALLS, 'call')} ...", *names[-SHOWN_CALLS:]]
    return " > ".join(names)


@dataclass(frozen=True)
class _Bounded:
    """A function's bound: the bytes that it holds at its deepest point, itself or when it calls `below`, and how it returns."""

    total: int
    held: _Path
    below: int | None
    answer: Answer


@dataclass
class _Begun:
    """A function with an unfinished walk, and the called function that it waits for."""

    walk: Generator[int, Answer, WalkedCall]
    asked: int | None = None


class _Search:
    """The deepest path through the calls; each function is walked once. `chain` is the path to the current function.

    The search does not recurse: programs nest calls deeper than Python allows.
    """

    def __init__(self, walk: Walk, code: LinkedCode, root: int | None):
        self.walk = walk
        self.code = code
        self.root = root
        self.chain: dict[int, _Begun] = {}
        self._done: dict[int, _Bounded] = {}
        self._refused: dict[int, Refusal] = {}

    def bound(self, entry: int) -> tuple[int, _Path]:
        """Returns the bytes and the path from `entry` on."""
        self._enter(entry)
        while self.chain:
            self._advance()
        if entry in self._refused:
            raise self._refused[entry]
        path: list[tuple[str, int]] = []
        place: int | None = entry
        while place is not None:
            path += self._done[place].held
            place = self._done[place].below
        return self._done[entry].total, tuple(path)

    def answer(self, entry: int) -> Answer:
        """Returns how a function with a bound returns."""
        return self._done[entry].answer

    def _enter(self, entry: int) -> None:
        self.chain[entry] = _Begun(self.walk(self.code, entry, entry == self.root))

    def _advance(self) -> None:
        """Answers the question of the last function in the chain, or appends the function that it asks about."""
        entry, begun = next(reversed(self.chain.items()))
        try:
            while begun.asked is None or any(begun.asked in known for known in (self._done, self._refused, self.chain)):
                begun.asked = self._answer(begun)
        except StopIteration as end:
            self._done[entry] = self._longest(entry, end.value)
            del self.chain[entry]
        except Refusal as refusal:
            refusal.chain = refusal.chain or tuple(self.chain)
            self._refused[entry] = refusal
            del self.chain[entry]
        else:
            self._enter(begun.asked)

    def _answer(self, begun: _Begun) -> int:
        """Returns the next function that the walk asks about."""
        if begun.asked is None:
            return next(begun.walk)
        if begun.asked in self._done:
            return begun.walk.send(self._done[begun.asked].answer)
        return begun.walk.throw(self._refused.get(begun.asked) or self._recursion(begun.asked))

    def _recursion(self, target: int) -> Refusal:
        chain = list(self.chain)
        refusal = Refusal(f"recursion {chain_of([*map(self.code.name, chain[chain.index(target) :]), self.code.name(target)])}")
        refusal.chain = tuple(chain)
        return refusal

    def _longest(self, entry: int, walked: WalkedCall) -> _Bounded:
        total, below = walked.depth_bytes, None
        site, held_bytes = walked.deepest, walked.depth_bytes
        for call in walked.calls:
            deeper = call.depth_bytes + self._done[call.target].total
            if deeper > total:
                total, site, held_bytes, below = deeper, call.site, call.depth_bytes, call.target
        return _Bounded(total, self._held(entry, site, held_bytes), below, walked.answer)

    def _held(self, entry: int, site: int, held_bytes: int) -> _Path:
        """Returns the function, and the target of its tail call, which then holds the bytes of both."""
        name, last = self.code.name(entry), self.code.name(site)
        return ((name, held_bytes),) if name == last else ((name, 0), (last, held_bytes))
