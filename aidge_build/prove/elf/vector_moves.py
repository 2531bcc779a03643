# SPDX-License-Identifier: MIT
"""The stores to the register VTOR, by which a program gives the core another vector table."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from struct import iter_unpack

from aidge_build.contract.thumb.instruction import Instruction, immediate, register_list
from aidge_build.prove.elf.effects import effect_of
from aidge_build.prove.elf.frames import Refusal, State, address_of, apply, settles
from aidge_build.prove.elf.linear_sweep import Guess, linear_sweep
from aidge_build.prove.elf.program_code import DIRECT, Code
from aidge_build.prove.elf.state import Value

# The vector table offset register in the system control block, and its other name in the non-secure state (Armv8-M Architecture
# Reference Manual, D1.2.270).
_VTOR = (0xE000ED08, 0xE002ED08)
_CONTROL_BLOCKS = (0xE000ED00, 0xE002ED00)
_OTHER_STATE = 0x20000
# Base addresses of indexed stores at which no register array begins: the start of the system control space, and the range from
# the interrupt priorities to VTOR. An index to another base counts as an index into an array.
_NO_ARRAYS = (range(0xE000E000, 0xE000E010), range(0xE000E5F0, 0xE000ED0C))
_SPACE, _TOP, _WORD = 0xE0, 0xFF000000, 0xFFFFFFFF  # the first byte of the addresses of the system control space
_SPACE_BEGIN, _SPACE_BYTES = 0xDFFF0000, 0x1010000  # and the addresses to which adding a small number may lead there
_SMALL = 0xFFFF
_UNKNOWN = ("", 0)
_SUMS = frozenset(("add", "adds", "addw", "sub", "subs", "subw"))
_REACH = 1 << 12  # bytes from an instruction to the word that it loads
_ARGUMENTS = ("r0", "r1", "r2", "r3")
_STORES = ("str", "stl", "vst")


@dataclass(frozen=True)
class Move:
    """A store to VTOR at `where` ("boot+0x1a"); `table` is the stored address, None if the code does not give it.

    `instead` says how else the code uses the address of VTOR, "" for a store.
    """

    where: str
    table: int | None
    instead: str = ""


def vector_moves(code: Code) -> tuple[Move, ...]:
    """Returns the stores to VTOR in the program, and code that may lead to such a store, in order of address.

    The result also names each place where the address of VTOR is in a register or in data without a use, and each store with an
    unknown index that may reach VTOR.
    """
    literals = set[int]()
    starts = sorted({code.extent(address)[0] for address in functions_near_system(code)})
    moves = [move for start in starts for move in _in_function(code, linear_sweep(code, start), literals)]
    return (*moves, *_in_data(code, literals))


def functions_near_system(code: Code) -> Iterator[int]:
    """Yields an address in each function that may know an address of the system control space; most functions know none and are
    not read.

    Such a number is an immediate of an instruction, plain or inverted; a word that the function loads, or that a pointer of the
    function leads to; or the result of arithmetic on other numbers.
    """
    words = sorted(_constants(code, [range(_SPACE_BEGIN, _SPACE_BEGIN + _SPACE_BYTES)]))
    halves = {place - below >> 16 for place in words for below in (0, _REACH)}
    for (name, operands), places in code.texts.items():
        number = immediate(operands[-1]) if operands and operands[-1].startswith("#") else None
        if not number:
            continue
        if name.startswith("movt"):
            if number >> 8 == _SPACE or number in halves:
                yield from places
        elif number & _TOP in (_SPACE << 24, ~(_SPACE << 24) & _TOP):
            yield from places
    yield from (first for first, instructions in code.of_functions() if _computes_one(code, instructions))
    leading = _constants(code, _up_to(words))
    for place in (*words, *leading):
        # The functions that can load it relative to pc.
        yield from code.addresses[bisect_left(code.addresses, place - _REACH) : bisect_right(code.addresses, place)]


def _computes_one(code: Code, instructions: Iterable[Instruction]) -> bool:
    """Whether numbers of a function add up to such an address, or several large numbers are added to an unknown value: the
    function must be read."""
    state, sums = State(registers={}), set[str]()  # registers that hold a sum with a large number
    registers, plain = state.registers, code.plain
    for instruction in instructions:
        place, _, name, operands, _ = instruction
        if name in DIRECT or not operands:
            if name == "bl":
                state.after_call()
            continue
        large = _large_ones(operands, registers, sums) if name in _SUMS else ()
        if len(large) > 1:
            return True
        if not settles(state, plain.get(place) or effect_of(name, operands)):
            try:
                apply(state, instruction, name, code.word)
            except Refusal:
                pass  # the instruction sets the stack pointer
        elif name == "blx":
            state.after_call()
        value = registers.get(operands[0], _UNKNOWN)
        if _is_near(value):
            return True
        if sums:
            sums.difference_update(operands[:2])
        if large and value[0] != "number":
            sums.add(operands[0])
    return False


def _is_near(value: Value) -> bool:
    """Whether the value is an address of the system control space, or less by a small number."""
    return value[0] == "number" and value[1] - _SPACE_BEGIN & _WORD < _SPACE_BYTES


def _large_ones(operands: Sequence[str], registers: Mapping[str, Value], sums: Collection[str]) -> Sequence[str]:
    """Returns the terms of a sum that are large numbers, or sums with a large number."""
    return [word for word in operands[len(operands) > 2 :] if _is_large(word, registers, sums)]


def _is_large(word: str, registers: Mapping[str, Value], sums: Collection[str]) -> bool:
    kind, value = registers.get(word, _UNKNOWN)
    return kind == "number" and value > _SMALL or word in sums


def _up_to(places: Sequence[int]) -> list[range]:
    """Returns the addresses that are less than `_REACH` bytes before one of the sorted places."""
    found: list[range] = []
    for place in places:
        begin = place + 1 - _REACH
        if found and begin <= found[-1].stop:
            begin = found.pop().start
        found.append(range(begin, place + 1))
    return found


def _constants(code: Code, wanted: Sequence[range]) -> list[int]:
    """Returns the addresses of words in read-only memory with values in the `wanted` ranges, without instructions."""
    found = []
    for section in code.image.sections:
        if section.content and not section.writable:
            begin = section.address + -section.address % 4
            whole = section.content[begin - section.address :]
            words = [word for (word,) in iter_unpack("<I", whole[: len(whole) // 4 * 4])]
            for part in wanted:
                low, high = part.start, part.stop
                found += [begin + 4 * index for index, word in enumerate(words) if low <= word < high]
    return [place for place in found if place not in code.instructions and place + 2 not in code.instructions]


def _in_data(code: Code, literals: set[int]) -> Iterator[Move]:
    """Yields the words with the address of VTOR, except for `literals`, which the code of functions loads."""
    for register in _VTOR:
        for place in code.image.places_of(register):
            if place % 4 == 0 and place not in literals:
                yield Move(code.image.describe(place), None, "holds VTOR's address")


def _in_function(code: Code, guesses: Iterable[Guess], literals: set[int]) -> Iterator[Move]:
    """Yields the uses of VTOR in a function. Adds the constants that the function loads to `literals`."""
    held, where, is_used = "", 0, False
    for guess in guesses:
        if not held and _knows_register(guess):
            held = code.image.describe(where)
        where = guess.instruction.address
        stored = [value for place, value in stores(guess) if place in _VTOR]
        instead = _handed_on(code, guess) or _indexed(guess)
        for value in stored:
            yield Move(code.image.describe(where), value)
        if instead:
            yield Move(code.image.describe(where), None, instead)
        is_loaded = guess.name == "ldr" and _place(guess) in _VTOR
        is_used = is_used or bool(stored or instead) or is_loaded
        literals.update(_literals(guess))
    if held and not is_used:
        yield Move(held, None, "takes VTOR's address")


def _knows_register(guess: Guess) -> bool:
    """Whether a register holds the address of VTOR."""
    return any(value[0] == "number" and value[1] in _VTOR for value in guess.state.registers.values())


def _literals(guess: Guess) -> Iterator[int]:
    """Yields the address of the constant that the instruction loads."""
    operands = guess.instruction.operands
    if guess.name.startswith("ldr") and len(operands) == 2 and operands[1].startswith("[pc"):
        place = address_of(guess.state, guess.instruction, operands[1])
        yield from [place[1]] if place else []


def stores(guess: Guess) -> Iterator[tuple[int, int | None]]:
    """Yields (address, value) of each word that is stored at a known address."""
    operands, name = guess.instruction.operands, guess.name
    if name in ("str", "strd"):
        place, registers = _place(guess), operands[: 1 if name == "str" else 2]
    elif name in ("stm", "stmia", "stmdb"):
        place, registers = guess.number(operands[0].removesuffix("!")), register_list(operands[1])
        below = 4 * len(registers) if name == "stmdb" else 0
        place = None if place is None else place - below
    else:
        return
    for index, register in enumerate(registers if place is not None else ()):
        yield place + 4 * index, guess.number(register)


def _place(guess: Guess) -> int | None:
    """Returns the address of a memory operand if it is known, or None."""
    address = guess.address()
    return address[0] if address and address[1] else None


def _indexed(guess: Guess) -> str:
    """Returns a text about a store with an unknown index to a base at which no register array of the core begins; "" for other
    instructions."""
    address = guess.address()
    if address is None:
        return ""
    place, is_known = address
    if is_known or not guess.name.startswith(_STORES) or not any(place & ~_OTHER_STATE in part for part in _NO_ARRAYS):
        return ""
    return "stores at an index that is not known, which VTOR may have"


def _handed_on(code: Code, guess: Guess) -> str:
    """Returns a text if the address of VTOR is passed to another function, or stored outside the function's stack frame; ""
    otherwise."""
    first, end = code.extent(guess.instruction.address)
    target = guess.instruction.target
    leaves = guess.name == "b" and target is not None and not first <= target < end
    if leaves or guess.name in ("bl", "blx"):
        numbers = [guess.number(register) for register in _ARGUMENTS]
        is_given = numbers[0] in _CONTROL_BLOCKS or any(number in _VTOR for number in numbers)
        return f"gives VTOR's address to {code.name(target) if target else 'another function'}" if is_given else ""
    if guess.name == "str" and guess.number(guess.instruction.operands[0]) in _VTOR:
        into = address_of(guess.state, guess.instruction, next(iter(guess.instruction.operands[1:]), ""))
        return "" if into and into[0] == "stack" else "keeps VTOR's address"
    return ""
