# SPDX-License-Identifier: MIT
"""Functions of the C library whose meaning an ABI or the C standard fixes: what a call of one takes at most is found once.

Each is a function of its arguments alone, and writes nothing but its own part of the stack (and `errno`). That is proved for
the code that was linked, and so is the number of instructions. The code is followed as any other, with two differences:

- Ways that differ in known numbers go on side by side, and a condition parts them, so that a loop that counts the bits of a
  result ends when it does.
- A loop that shifts until a bit comes to a place is bounded by the bits that there are (`shifts.py`).

Code that cannot be followed so, of another library, has no cost, and is followed like the rest of the program.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from aidge_build.elf.c_library import MATHEMATICS
from aidge_build.elf.frames import Refusal
from aidge_build.elf.program_code import Code
from aidge_build.longest.blocks import Blocks, State
from aidge_build.longest.memory import Memory, Room
from aidge_build.longest.operands import COUNT, SP, VECTORS, Registers
from aidge_build.longest.search import Search
from aidge_build.longest.values import Objects, Value


def _run_time_abi() -> dict[str, int]:
    """The words of arguments by name (Run-time ABI for the Arm Architecture, IHI 0043, 4.1 to 4.3)."""
    found = {"idiv": 2, "uidiv": 2, "idivmod": 2, "uidivmod": 2, "lmul": 4, "ldivmod": 4, "uldivmod": 4}
    found |= {"llsl": 3, "llsr": 3, "lasr": 3, "lcmp": 4, "ulcmp": 4, "f2d": 1, "d2f": 2}
    for letter, words in (("f", 1), ("d", 2)):
        found |= {f"{letter}{name}": 2 * words for name in ("add", "sub", "rsub", "mul", "div")}
        found |= {f"{letter}cmp{name}": 2 * words for name in ("eq", "lt", "le", "ge", "gt", "un")}
        found |= {f"{letter}2{name}": words for name in ("iz", "uiz", "lz", "ulz")}
        found |= {f"{name}2{letter}": of for name, of in (("i", 1), ("ui", 1), ("l", 2), ("ul", 2))}
    return {f"__aeabi_{name}": words for name, words in found.items()}


_ERRNO = "__errno"  # of newlib: the address of errno, which is apart from all other objects
# The words in which arguments come; 0 where they may come in registers of the FPU.
ARGUMENT_WORDS = {
    **_run_time_abi(),
    **{name: 0 for single in MATHEMATICS for name in (single, single.removesuffix("f"))},
    **{"__clzsi2": 1, "__clzdi2": 2, _ERRNO: 0},
}
_LIMIT = 20_000  # instructions of one call
_MOST_KNOWN = 32  # calls with known arguments of a function for which a cost of its own is found
_KEPT = (*range(4, 12), *range(VECTORS + 16, COUNT))  # what a function leaves as it was (IHI 0042, 6.1.1, 6.1.2)
_CHANGED = [at for at in range(COUNT) if at not in _KEPT and at != SP]


@dataclass(frozen=True)
class Cost:
    """The most instructions of a call, and the bytes of stack that it writes."""

    instructions: int
    stack_bytes: int


class Library:
    """The functions of a program whose meaning is known. `memory` is one of which only constants are known, for a call with its
    stack at `stack`; `errno` is the place where that of the C library counts as lying."""

    def __init__(self, code: Code, objects: Objects, memory: Callable[[], Memory], stack: int, errno: int):
        functions = [symbol for symbol in code.image.symbols if symbol.kind == "function" and symbol.name in ARGUMENT_WORDS]
        self._words = {symbol.address: ARGUMENT_WORDS[symbol.name] for symbol in functions}
        self._results: dict[int, Value] = {symbol.address: errno for symbol in functions if symbol.name == _ERRNO}
        self._memory, self._stack, self._errno = memory, stack, errno
        self._blocks = Blocks(code, objects, self, parts=True)
        self._costs: dict[tuple[int, tuple[int | None, ...]], Cost | None] = {}
        self._asked: Counter[int] = Counter()

    def __contains__(self, entry: int) -> bool:
        return entry in self._words

    def call(self, entry: int, state: State) -> bool:
        """Calls a function, and says whether that was done: not where all arguments are known or it has no cost."""
        values = state.registers.values
        known = tuple(value if type(value) is int else None for value in values[: self._words[entry]])
        if known and None not in known:
            return False
        cost, stack = self._cost(entry, known), values[SP]
        if cost is None or not isinstance(stack, int):
            return False
        state.instructions += cost.instructions
        if cost.stack_bytes:
            state.memory.kill(stack - cost.stack_bytes, cost.stack_bytes)
        for at in _CHANGED:
            values[at] = None
        values[0] = self._results.get(entry)
        state.registers.flags = None
        return True

    def _cost(self, entry: int, known: tuple[int | None, ...]) -> Cost | None:
        if (entry, known) not in self._costs:
            self._asked[entry] += 1
            known = known if self._asked[entry] <= _MOST_KNOWN else (None,) * len(known)
        if (entry, known) not in self._costs:
            self._costs[entry, known] = None  # while it is found, the function itself is followed
            self._costs[entry, known] = self._found(entry, known)
        return self._costs[entry, known]

    def _found(self, entry: int, known: tuple[int | None, ...]) -> Cost | None:
        values: list[Value] = [*known, *[None] * (COUNT - len(known))]
        for at in _KEPT:
            values[at] = 0xC0DE0001 + 8 * at  # as nothing else
        values[SP] = self._stack
        before, memory = values[:], self._memory()
        memory.room = room = Room(self._stack, self._errno)
        try:
            state = Search(self._blocks).call(State(Registers(values), memory, (), entry), entry, _LIMIT)
        except Refusal:
            return None
        if any(before[at] != state.registers.values[at] for at in (*_KEPT, SP)):
            return None
        return Cost(state.instructions, self._stack - room.lowest)
