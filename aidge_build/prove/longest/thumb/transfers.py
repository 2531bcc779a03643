# SPDX-License-Identifier: MIT
"""Loads, stores and moves between kinds of registers as functions that change registers and memory."""

from __future__ import annotations

from collections.abc import Sequence

from aidge_build.contract.thumb.instruction import Instruction, memory_operand, register_bytes, register_list
from aidge_build.prove.longest.memory import Memory
from aidge_build.prove.longest.registers import Operation, Registers, require_known
from aidge_build.prove.longest.thumb.arithmetic import ONE_OPERAND
from aidge_build.prove.longest.thumb.operands import (
    LR,
    NUMBERS,
    SP,
    address,
    register,
    vector_parts,
)
from aidge_build.prove.longest.values import WORD, Objects, Value

_LOADS = {"ldr": 4, "ldrb": 1, "ldrh": 2, "ldrsb": 1, "ldrsh": 2}
_EXTENSIONS = {"ldrsb": ONE_OPERAND["sxtb"], "ldrsh": ONE_OPERAND["sxth"]}
_STORES = {"str": 4, "strh": 2, "strb": 1}
_PUSHES = ("push", "stmdb", "stmfd", "vpush", "vstmdb")
_POPS = ("pop", "ldmia", "ldmfd", "ldm", "vpop", "vldmia", "vldm")
_BLOCK_STORES = ("stmia", "stm", "stmea", "vstmia", "vstm")
_BLOCK_LOADS_BELOW = ("ldmdb", "vldmdb")
_VECTOR_BYTES = 16
_GIVEN_UP = ("r0", "r1", "r2", "r3", "r12")  # no function preserves these: a push of them stores a variable or allocates one
_WHOLE = 0x1E00  # second halfword: elements are as wide in memory as in the register (DDI 0553, VLDR, encodings T5 to T7)


def load(instruction: Instruction, name: str, objects: Objects, raw: int) -> Operation | None:
    """Returns a load of a word or less; None for other instructions."""
    if name not in _LOADS or (at := register(instruction.operands[0])) is None:
        return None
    width, extend, where = _LOADS[name], _EXTENSIONS.get(name), address(instruction, objects)
    place, base, after = where.place, where.base, where.after

    def loads(registers: Registers, memory: Memory) -> None:
        values = registers.values
        loaded = memory.load(place(values), width)
        if extend is not None and type(loaded) is int:
            loaded = extend(loaded) & WORD
        if base is not None:
            values[base] = after(values)
        values[at] = loaded

    return loads


def store(instruction: Instruction, name: str, objects: Objects, raw: int) -> Operation | None:
    """Returns a store of a word or less; None for other instructions."""
    if name not in _STORES or (at := register(instruction.operands[0])) is None:
        return None
    width, where = _STORES[name], address(instruction, objects)
    place, base, after = where.place, where.base, where.after
    saves = base == SP and not instruction.operands[-1].startswith("#")

    def stored(registers: Registers, memory: Memory) -> None:
        values = registers.values
        target, value = place(values), values[at]
        if base is not None:
            values[base] = after(values)
        if saves:  # `str lr, [sp, #-4]!` is a push
            memory.save(require_known(target, "the stack pointer"), value)
        else:
            memory.store(target, width, value)

    return stored


def several_words(instruction: Instruction, name: str, objects: Objects, raw: int) -> Operation | None:
    """Returns the effect of `ldrd` and `strd`; None for other instructions."""
    if name not in ("ldrd", "strd"):
        return None
    first, second, *_ = instruction.operands
    where = address(instruction, objects)

    def move(registers: Registers, memory: Memory) -> None:
        values = registers.values
        place = where.place(values)
        if where.base is not None:
            values[where.base] = where.after(values)
        move_words((first, second), place, values, name == "strd", False, memory)

    return move


def block(instruction: Instruction, name: str, objects: Objects, raw: int) -> Operation | None:
    """Returns a load or store of several registers; None for other instructions."""
    if name not in (*_PUSHES, *_POPS, *_BLOCK_STORES, *_BLOCK_LOADS_BELOW) or not instruction.operands[-1].startswith("{"):
        return None
    *others, listed = instruction.operands
    (word,) = others or ("sp!",)
    named, _, writes_back = memory_operand(word)
    names, base = register_list(listed), NUMBERS[named]
    size_bytes = sum(map(register_bytes, names))
    below, stores = name in (*_PUSHES, *_BLOCK_LOADS_BELOW), name in (*_PUSHES, *_BLOCK_STORES)
    is_push = below and stores and base == SP

    def move(registers: Registers, memory: Memory) -> None:
        values = registers.values
        start = end = values[base]
        if isinstance(start, int):
            end = start + (-size_bytes if below else size_bytes) & WORD
        before = values[:]
        if writes_back:
            values[base] = end
        move_words(names, end if below else start, before if stores else values, stores, is_push, memory)

    return move


def move_words(names: tuple[str, ...], start: Value, values: list, stores: bool, is_push: bool, memory: Memory) -> None:
    """Loads or stores registers as words in the order of their numbers."""
    place = start
    for one in names:
        for at in vector_parts(one) or (NUMBERS[one],):
            if not stores:
                values[at] = memory.load(place, 4)
            elif is_push and one not in _GIVEN_UP:
                memory.save(require_known(place, "the stack pointer"), values[at])
            else:
                memory.store(place, 4, values[at])
            place = place + 4 & WORD if isinstance(place, int) else place


def _places(word: str) -> Sequence[int]:
    """Returns the numbers of the registers in `r3`, `s3`, `d1` or `q0`; none for another operand."""
    return vector_parts(word) or ((NUMBERS[word],) if word in NUMBERS else ())


def transfer(instruction: Instruction, name: str, objects: Objects, raw: int) -> Operation | None:
    """Returns `vmov` between registers of 32 bits, as code spills core registers to the FPU; None for other instructions."""
    operands = instruction.operands
    if name != "vmov" or any("[" in word or word.startswith("q") for word in operands):
        return None
    places = [_places(word) for word in operands]
    if not all(places):
        return None
    flat = [place for some in places for place in some]
    half = len(flat) // 2

    def move(registers: Registers, memory: Memory) -> None:
        for target, source in zip(flat[:half], flat[half:], strict=True):
            registers.values[target] = registers.values[source]

    return move


def vector(instruction: Instruction, name: str, objects: Objects, raw: int) -> Operation | None:
    """Returns a load or store of vectors or floats, with the new value of its base register; None for other instructions."""
    if not name.startswith(("vld", "vst")) or not any(operand.startswith("[") for operand in instruction.operands):
        return None
    targets = _targets(instruction)
    size_bytes = sum(map(register_bytes, targets))
    where = address(instruction, objects, size_bytes)
    parts = [part for target in targets for part in vector_parts(target)]
    stores, addresses = name.startswith("vst"), _places_of_vector(instruction)
    is_plain = name in ("vldr", "vstr") and bool(parts)
    is_whole = _is_whole(targets, name, raw)

    def move(registers: Registers, memory: Memory) -> None:
        values = registers.values
        place = _object_of(values, addresses, objects) if addresses else where.place(values)
        if where.base is not None:
            values[where.base] = where.after(values)
        if is_plain:
            move_words(targets, place, values, stores, False, memory)
        elif is_whole and isinstance(place, int) and (left := _bytes_left(registers)) is not None:
            _move_vector(parts, place, values, stores, memory, left)
        elif not stores:
            for part in parts:
                values[part] = None
        else:
            _forget(place, size_bytes, objects, memory)

    return move


def _is_whole(targets: Sequence[str], name: str, raw: int) -> bool:
    """Whether one vector moves with elements that are as wide in memory as in the register."""
    return len(targets) == 1 and name[-1] in "bhw" and raw >> 16 & _WHOLE == _WHOLE


def _forget(place: Value, size_bytes: int, objects: Objects, memory: Memory) -> None:
    """Forgets the bytes that a store of unknown values reaches; at an unknown place those of its whole object."""
    if isinstance(place, int):
        memory.kill(place, objects.bytes_from(place, size_bytes))
    else:
        memory.forget(objects.near(place, None))


_ADDRESS_SUMS = ("vdup", "vdupt", "vadd", "vaddt", "vsub", "vsubt")


def vector_sum(instruction: Instruction, name: str, objects: Objects, raw: int) -> Operation | None:
    """Returns the sum of a pointer and a vector of numbers, a vector of addresses in one object; None for other instructions."""
    targets = vector_parts(instruction.operands[0]) if instruction.operands else ()
    if name not in _ADDRESS_SUMS or len(targets) != _VECTOR_BYTES // 4:
        return None
    sources = [_places(word) for word in instruction.operands[1:]]
    if not all(sources):
        return None

    def add(registers: Registers, memory: Memory) -> None:
        values = registers.values
        found: Value = None
        for places in sources:
            found = found or _object_of(values, places, objects)
        for at in targets:
            values[at] = objects.joined(found, values[at]) if name.endswith("t") else found

    return add


def _object_of(values: list[Value], places: Sequence[int], objects: Objects) -> Value:
    """Returns an address in the object that all of these registers point to; None if they do not point to one object."""
    first, *rest = (objects.near(values[place], None) for place in places)
    for other in rest:
        first = objects.near(objects.joined(first, other), None)
    return first


def _places_of_vector(instruction: Instruction) -> Sequence[int]:
    """Returns the registers of a vector of addresses."""
    operand = next(operand for operand in instruction.operands if operand.startswith("["))
    return vector_parts(memory_operand(operand)[0])


def _bytes_left(registers: Registers) -> int | None:
    """Returns the bytes of a vector that an iteration moves: all of them, or in the last iteration of a vector loop the bytes of
    the remaining elements; None if their number is not known."""
    elements = registers.elements
    count = registers.values[LR] if elements > 1 else elements
    return min(count, elements) * (_VECTOR_BYTES // elements) if isinstance(count, int) else None


def _move_vector(parts: list[int], place: int, values: list[Value], stores: bool, memory: Memory, left: int) -> None:
    """Moves the words of the first `left` bytes of a vector; the loaded bytes of a partial word are not known."""
    for index, part in enumerate(parts):
        at, rest = place + 4 * index & WORD, left - 4 * index
        if not stores:
            values[part] = memory.load(at, 4) if rest >= 4 else None
        elif rest >= 4:
            memory.store(at, 4, values[part])
        elif rest > 0:
            memory.kill(at, rest)


def _targets(instruction: Instruction) -> tuple[str, ...]:
    """Returns the registers that it loads or stores; interleaving instructions access the bytes of all their registers."""
    target = instruction.operands[0]
    return register_list(target) if target.startswith("{") else (target,)
