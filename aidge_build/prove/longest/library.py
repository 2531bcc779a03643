# SPDX-License-Identifier: MIT
"""The costs of C library functions that an ABI or the C standard defines: the most instructions of a call are found once.

Each result depends only on the arguments, and the function writes only its own part of the stack (and `errno`). The analysis
proves this and the number of instructions for the linked code. It follows the code like any other code, with two differences:

- Paths with different known numbers are kept apart and fork at conditions, so that a loop that counts the bits of a result ends
  as in the program.
- The number of bits bounds a loop that shifts until a bit reaches a position (`shifts.py`). The meaning of a few functions bounds
  their other loops (`ROUNDS`).

A product costs less for a float that is certainly not denormal (`Normal`: a constant, an integer, a sum with a constant that is
not tiny).

Code of another library that the analysis cannot follow in this way has no cost; it is followed like the rest of the program.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

from aidge_build.base.c_library import MATHEMATICS
from aidge_build.prove.elf.frames import Refusal
from aidge_build.prove.elf.image import Image
from aidge_build.prove.longest.blocks import Blocks
from aidge_build.prove.longest.ends import State
from aidge_build.prove.longest.memory import Memory, Room
from aidge_build.prove.longest.registers import Registers
from aidge_build.prove.longest.search import MOST_NUMBERS, Search
from aidge_build.prove.longest.values import WORD, Few, Normal, Objects, Partly, Value

# Functions by the words of their arguments (Run-time ABI for the Arm Architecture, IHI 0043, 4.1 to 4.3).
_RUN_TIME_ABI = {
    1: "i2f ui2f i2d ui2d f2d f2iz f2uiz f2lz f2ulz",
    2: "idiv uidiv idivmod uidivmod l2f ul2f l2d ul2d d2f d2iz d2uiz d2lz d2ulz fadd fsub frsub fmul fdiv "
    "fcmpeq fcmplt fcmple fcmpge fcmpgt fcmpun",
    3: "llsl llsr lasr",
    4: "lmul ldivmod uldivmod lcmp ulcmp dadd dsub drsub dmul ddiv dcmpeq dcmplt dcmple dcmpge dcmpgt dcmpun",
}
# The same by the names of GCC's library ("GNU Compiler Collection Internals", 4).
_GCC = {
    1: "floatsisf floatunsisf floatsidf floatunsidf extendsfdf2 fixsfsi fixunssfsi fixsfdi fixunssfdi clzsi2 ctzsi2 popcountsi2",
    2: "mulsi3 divsi3 udivsi3 modsi3 umodsi3 floatdisf floatundisf floatdidf floatundidf truncdfsf2 fixdfsi fixunsdfsi fixdfdi "
    "fixunsdfdi addsf3 subsf3 mulsf3 divsf3 eqsf2 nesf2 ltsf2 lesf2 gtsf2 gesf2 unordsf2 clzdi2 ctzdi2",
    3: "ashldi3 lshrdi3 ashrdi3",
    4: "muldi3 divdi3 udivdi3 moddi3 umoddi3 cmpdi2 ucmpdi2 adddf3 subdf3 muldf3 divdf3 eqdf2 nedf2 ltdf2 ledf2 gtdf2 gedf2 "
    "unorddf2",
}
_ERRNO = "__errno"  # of newlib: returns the address of errno, which overlaps no other object
# The words of arguments; 0 if they may be in registers of the FPU.
ARGUMENT_WORDS = {
    **{f"__aeabi_{name}": words for words, names in _RUN_TIME_ABI.items() for name in names.split()},
    **{f"__{name}": words for words, names in _GCC.items() for name in names.split()},
    **{name: 0 for single in MATHEMATICS for name in (single, single.removesuffix("f"))},
    _ERRNO: 0,
}
# The most iterations of each loop of a function, if its code does not show them, by the meaning of the function:
# - a quotient has 64 bits, and both divisions find at least one bit in an iteration;
# - the exponents of two floats differ by at most 127 + 149, and fmod finds one bit of the quotient for each step, and one more.
ROUNDS = {
    **{f"__{name}": 64 for name in ("udivmoddi4", "udivdi3", "divdi3", "umoddi3", "moddi3")},
    **{name: 127 + 149 + 1 for name in ("__ieee754_fmodf", "fmodf")},
}
_LIMIT = 40_000  # instructions of one call
_SUMS = ("__aeabi_fadd", "__aeabi_fsub", "__aeabi_frsub", "__addsf3", "__subsf3")
_OF_FLOATS = (*_SUMS, "__aeabi_fmul", "__aeabi_fdiv", "__mulsf3", "__divsf3")
_OF_INTEGERS = tuple(f"__aeabi_{name}" for name in ("i2f", "ui2f", "l2f", "ul2f"))  # 0, or at least 1
_OF_INTEGERS += ("__floatsisf", "__floatunsisf", "__floatdisf", "__floatundisf")
# The least exponent of a term such that no sum with it is denormal: a term that may cancel it is at least half as large, so both
# terms and their sum are multiples of 2^-124; the least normal float is 2^-126.
_LEAST_OF_SUM = 27
_FRACTION, _EXPONENT, _SIGN = 23, 0xFF, 0x80000000
# The floats that are not denormal: zeros, and for each bit of the exponent the floats with a 1 in this bit.
_NORMAL = (
    Partly(_SIGN - 1, 0),
    *(Partly((_EXPONENT << bit & _EXPONENT) << _FRACTION, 1 << bit + _FRACTION) for bit in range(8)),
)
_MORE_NUMBERS = 16  # for a switch over the kinds of two floats: number, zero, infinity or NaN
_MOST_KNOWN = 32  # calls with known arguments for which a function gets separate costs


@dataclass(frozen=True)
class Cost:
    """The most instructions of a call, the bytes of stack that it writes, and the registers that it changes."""

    instructions: int
    stack_bytes: int
    changed: frozenset[int]


_Argument = int | Normal | None
BlocksWith = Callable[..., Blocks]


def _exponent(number: int) -> int:
    return number >> _FRACTION & _EXPONENT


def _kind(value: _Argument) -> Normal | None:
    """Returns the kind of a float if its value does not matter: Normal, or None if it may be denormal."""
    if isinstance(value, int):
        return Normal() if _exponent(value) or not value & ~_SIGN else None
    return value


class Library:
    """The functions of a program with a known meaning. `blocks_with` returns its blocks with these objects and known functions.
    `memory` returns a memory in which only constants are known, for a call with its stack at `stack`; `errno` is the assumed
    address of the C library's errno."""

    def __init__(
        self, image: Image, blocks_with: BlocksWith, objects: Objects, memory: Callable[[], Memory], stack: int, errno: int
    ):
        functions = [symbol for symbol in image.symbols if symbol.kind == "function" and symbol.name in ARGUMENT_WORDS]
        self._words = {symbol.address: ARGUMENT_WORDS[symbol.name] for symbol in functions}
        self._results: dict[int, Value] = {symbol.address: errno for symbol in functions if symbol.name == _ERRNO}
        self._results |= {symbol.address: Normal() for symbol in functions if symbol.name in _OF_INTEGERS}
        self._of_floats = {symbol.address for symbol in functions if symbol.name in _OF_FLOATS}
        self._rounds = {symbol.address: ROUNDS[symbol.name] for symbol in image.symbols if symbol.name in ROUNDS}
        self._sums = {symbol.address for symbol in functions if symbol.name in _SUMS}
        self._memory, self._stack, self._errno = memory, stack, errno
        self._blocks = blocks_with(Objects(objects.spans, keeps_bits=True), self, True)
        self._convention = self._blocks.convention
        self._costs: dict[tuple[int, tuple[_Argument, ...]], Cost | None] = {}
        self._asked: Counter[int] = Counter()

    def __contains__(self, entry: int) -> bool:
        return entry in self._words

    def rounds(self, entry: int) -> int | None:
        """Returns the most iterations of a loop of this function, by its name, or None."""
        return self._rounds.get(entry)

    def call(self, entry: int, state: State) -> bool:
        """Calls a function. Returns False without a call if all arguments are known or the function has no cost."""
        values, arguments = state.registers.values, self._convention.arguments[: self._words[entry]]
        if state.frames[0].entry == entry:
            return False  # its cost is being found
        known = tuple(value if isinstance(value, int | Normal) else None for value in (values[at] for at in arguments))
        if known and all(isinstance(value, int) for value in known):
            return False
        cost, stack = self._cost(entry, known), values[self._convention.stack]
        if cost is None or not isinstance(stack, int):
            return False
        state.instructions += cost.instructions
        if cost.stack_bytes:
            state.memory.kill(stack - cost.stack_bytes, cost.stack_bytes)
        for at in cost.changed:
            values[at] = None
        values[self._convention.arguments[0]] = self._result(entry, known)
        state.registers.flags = None
        return True

    def _result(self, entry: int, known: tuple[_Argument, ...]) -> Value:
        """Returns the known value of the result: a sum with a term that is not tiny is not denormal."""
        if entry in self._sums and any(isinstance(value, int) and _exponent(value) >= _LEAST_OF_SUM for value in known):
            return Normal()
        return self._results.get(entry)

    def _cost(self, entry: int, known: tuple[_Argument, ...]) -> Cost | None:
        """Returns the cost of a call with these arguments, or after many different calls the cost for arguments of their kind."""
        if (entry, known) not in self._costs:
            self._asked[entry] += 1
            if self._asked[entry] > _MOST_KNOWN:
                known = tuple(_kind(value) if entry in self._of_floats else None for value in known)
        if (entry, known) not in self._costs:
            self._costs[entry, known] = None  # a call of itself is followed like other code
            self._costs[entry, known] = self._most(entry, known)
        return self._costs[entry, known]

    def _most(self, entry: int, known: tuple[_Argument, ...]) -> Cost | None:
        """Returns the cost for the most expensive of the possible arguments."""
        choices = [_NORMAL if isinstance(value, Normal) and entry in self._of_floats else (value,) for value in known]
        found = [self._found(entry, given) for given in product(*choices)]
        costs = [cost for cost in found if cost is not None]
        if len(costs) < len(found):
            return None
        changed = frozenset[int]().union(*(cost.changed for cost in costs))
        return Cost(max(cost.instructions for cost in costs), max(cost.stack_bytes for cost in costs), changed)

    def _found(self, entry: int, known: tuple[Value, ...]) -> Cost | None:
        """Returns the cost for one choice of arguments: with few numbers of a register kept apart, or if that fails with more."""
        found = (self._followed(entry, known, most) for most in (MOST_NUMBERS, _MORE_NUMBERS))
        return next((cost for cost in found if cost is not None), None)

    def _followed(self, entry: int, known: tuple[Value, ...], most_numbers: int) -> Cost | None:
        convention = self._convention
        values = convention.values(known, self._stack)
        for at, value in enumerate(values):
            if value is None and at not in convention.arguments[: len(known)]:
                values[at] = Few(WORD.bit_count())  # any number, unlike each other value
        before, memory = values[:], self._memory()
        memory.room = room = Room(self._stack, self._errno)
        try:
            state = Search(self._blocks, most_numbers).call(Registers(values), memory, entry, _LIMIT)
        except Refusal:
            return None
        after = state.registers.values
        changed = {at for at, (one, two) in enumerate(zip(before, after, strict=True)) if one is None or one != two}
        if changed & {*convention.kept, convention.stack}:
            return None
        return Cost(state.instructions, self._stack - room.lowest, frozenset({*changed, *convention.arguments}))
