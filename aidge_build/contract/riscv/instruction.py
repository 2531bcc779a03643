# SPDX-License-Identifier: MIT
"""Instructions of 32-bit RISC-V as values, read from their bytes: I or E, M, A, F, C, Zicsr, Zifencei, Zba, Zbb, Zbs, Zcb, and V.

The encodings are of the RISC-V Instruction Set Manual, volume I, version 20240411, and of volume II for MRET and the like. Other
instructions of the same formats that only compute (Zicond, most of Zbkb) are OTHER. Stores of a vector to many addresses, pushes
of several registers (Zcmp) and a vendor's own instructions are UNKNOWN. So are compressed loads and stores of doubles (D), as
Zcmp and vendors use their encodings.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

REGISTERS = (
    *("zero", "ra", "sp", "gp", "tp", "t0", "t1", "t2", "s0", "s1"),
    *(f"a{number}" for number in range(8)),
    *(f"s{number}" for number in range(2, 12)),
    *(f"t{number}" for number in range(3, 7)),
)
# Names of instructions with a meaning of their own; others are what the manual calls them.
OTHER, STORE = "other", "store"  # only writes its register; only writes `width` bytes
VECTOR_STORES = {"vse8": 1, "vse16": 2, "vse32": 4}  # stores of neighbouring elements, each of so many bytes; `width` is the most
TRAP, UNKNOWN = "trap", "unknown"  # never ends; may do anything
MSTATUS, MTVEC, MEPC = 0x300, 0x305, 0x341
TRAP_VECTORS = (MTVEC, 0x105, 0x307)  # also stvec, and mtvt of the interrupt controller CLIC

_IMMEDIATES = {0: "addi", 2: "slti", 3: "sltiu", 4: "xori", 6: "ori", 7: "andi"}
_SHIFTS = {(1, 0): "slli", (5, 0): "srli", (5, 0x20): "srai", (5, 0x30): "rori"}
_SHIFTS |= {(1, 0x14): "bseti", (1, 0x24): "bclri", (1, 0x34): "binvi", (5, 0x24): "bexti"}
_OF_ONE = {(1, 0x600): "clz", (1, 0x601): "ctz", (1, 0x602): "cpop", (1, 0x604): "sext.b", (1, 0x605): "sext.h"}
_OF_ONE |= {(5, 0x287): "orc.b", (5, 0x698): "rev8"}
_SUMS = {(0, 0): "add", (0, 1): "sll", (0, 4): "xor", (0, 5): "srl", (0, 6): "or", (0, 7): "and", (1, 0): "mul"}
_SUMS |= {(1, kind): name for kind, name in enumerate(("mulh", "mulhsu", "mulhu", "div", "divu", "rem", "remu"), 1)}
_SUMS |= {
    (0, 2): "slt",
    (0, 3): "sltu",
    (0x20, 4): "xnor",
    (0x20, 6): "orn",
    (0x20, 7): "andn",
    (0x30, 1): "rol",
    (0x30, 5): "ror",
}
_SUMS |= {(5, kind): name for kind, name in enumerate(("min", "minu", "max", "maxu"), 4)}
_SUMS |= {(4, 4): "pack", (0x14, 1): "bset", (0x24, 1): "bclr", (0x34, 1): "binv", (0x24, 5): "bext"}
_SUMS |= {(0x20, 0): "sub", (0x20, 5): "sra", (0x10, 2): "sh1add", (0x10, 4): "sh2add", (0x10, 6): "sh3add"}
_SYSTEM = {0x00000073: "ecall", 0x00100073: "ebreak", 0x30200073: "mret", 0x10200073: "sret", 0x10500073: "wfi"}
_SYSTEM |= {0xC0001073: TRAP}  # what compilers write for a trap without C
_TO_FLOATS = (0, 1, 2, 3, 4, 5, 8, 11, 26, 30)  # groups of OP-FP that write a register of the FPU,
_FROM_FLOATS = (20, 24, 28)  # and one of the core
_VECTOR_TO_CORE = 0b010000  # the group of OP-V that moves an element, or a count, to a register of the core or of the FPU
MOST_VECTOR_BYTES = 1 << 16  # of eight registers with 65,536 bits each, the most of V
_KEPT = 1 << 16  # cached encodings, enough for a large program


class Operation(NamedTuple):
    """An encoding. `target` is the register that it writes, "" for none, `first` and `second` are the registers that it reads.

    A source is "" if it is no register. `number` is its immediate, or the distance of a branch, or the number of a control
    register; `width` are the bytes of a store.
    """

    name: str
    target: str = ""
    first: str = "zero"
    second: str = "zero"
    number: int = 0
    width: int = 0


class Instruction(NamedTuple):
    """The operation at an address."""

    address: int
    size_bytes: int
    operation: Operation

    @property
    def next(self) -> int:
        """The address of the next instruction."""
        return self.address + self.size_bytes

    @property
    def target(self) -> int:
        """The address that a branch or a jump by a distance leads to."""
        return self.address + self.operation.number & 0xFFFFFFFF


def instruction_at(address: int, content: bytes) -> Instruction | None:
    """Returns the instruction that `content` begins with; None if it is longer than the content."""
    size_bytes = 4 if content[:1] and content[0] & 3 == 3 else 2
    if len(content) < size_bytes:
        return None
    operation = (_whole if size_bytes == 4 else _compressed)(int.from_bytes(content[:size_bytes], "little"))
    return Instruction(address, size_bytes, operation or Operation(UNKNOWN))


@lru_cache(_KEPT)
def _whole(word: int) -> Operation | None:
    """Returns the operation of 32 bits."""
    read = _READERS.get(word & 0x7F)
    return read(word) if read else None


def _field(word: int, high: int, low: int) -> int:
    return word >> low & (1 << high - low + 1) - 1


def _signed(number: int, bits: int) -> int:
    return number - (number >> bits - 1 << bits)


def _gathered(word: int, *parts: tuple[int, int, int]) -> int:
    """Returns the number with the bits `high` to `low` of the word from bit `place` on, for each (high, low, place)."""
    return sum(_field(word, high, low) << place for high, low, place in parts)


def _registers(word: int) -> tuple[str, str, str]:
    target, first, second = (REGISTERS[_field(word, low + 4, low)] for low in (7, 15, 20))
    return target, first, second


def _upper(word: int) -> Operation:
    return Operation("lui" if word & 0x20 else "auipc", _registers(word)[0], number=word & 0xFFFFF000)


def _jal(word: int) -> Operation:
    distance = _gathered(word, (31, 31, 20), (19, 12, 12), (20, 20, 11), (30, 21, 1))
    return Operation("jal", _registers(word)[0], number=_signed(distance, 21))


def _jalr(word: int) -> Operation | None:
    target, first, _ = _registers(word)
    return None if _field(word, 14, 12) else Operation("jalr", target, first, number=_signed(word >> 20, 12))


def _branch(word: int) -> Operation | None:
    _, first, second = _registers(word)
    name = {0: "beq", 1: "bne", 4: "blt", 5: "bge", 6: "bltu", 7: "bgeu"}.get(_field(word, 14, 12))
    distance = _gathered(word, (31, 31, 12), (7, 7, 11), (30, 25, 5), (11, 8, 1))
    return Operation(name, "", first, second, _signed(distance, 13)) if name else None


def _load(word: int) -> Operation | None:
    target, first, _ = _registers(word)
    name = {0: "lb", 1: "lh", 2: "lw", 4: "lbu", 5: "lhu"}.get(_field(word, 14, 12))
    return Operation(name, target, first, number=_signed(word >> 20, 12)) if name else None


def _store(word: int) -> Operation | None:
    _, first, second = _registers(word)
    size = _field(word, 14, 12)
    number = _signed(_gathered(word, (31, 25, 5), (11, 7, 0)), 12)
    return Operation("sw" if size == 2 else STORE, "", first, second, number, 1 << size) if size <= 2 else None


def _immediate(word: int) -> Operation:
    target, first, _ = _registers(word)
    kind, number = _field(word, 14, 12), word >> 20
    if kind in _IMMEDIATES:
        return Operation(_IMMEDIATES[kind], target, first, number=_signed(number, 12))
    if (kind, number) in _OF_ONE:
        return Operation(_OF_ONE[kind, number], target, first)
    return Operation(_SHIFTS.get((kind, number >> 5), OTHER), target, first, number=number & 0x1F)


def _sum(word: int) -> Operation:
    return Operation(_SUMS.get((word >> 25, _field(word, 14, 12)), OTHER), *_registers(word))


def _fence(word: int) -> Operation | None:
    return Operation("fence") if _field(word, 14, 12) < 2 else None  # others work on the cache


def _system(word: int) -> Operation | None:
    target, first, _ = _registers(word)
    kind = _field(word, 14, 12)
    if word in _SYSTEM:
        return Operation(_SYSTEM[word])
    name = {1: "csrrw", 2: "csrrs", 3: "csrrc"}.get(kind & 3)
    source = first if kind < 4 or first == "zero" else ""  # else the field is a number
    return Operation(name, target, source, number=word >> 20) if name else None


def _atomic(word: int) -> Operation | None:
    target, first, _ = _registers(word)
    return Operation("amo", target, first, width=4) if _field(word, 14, 12) == 2 else None


def _float_load(word: int) -> Operation | None:
    return Operation(OTHER) if _field(word, 14, 12) != 4 else None  # of a float, or of a vector


def _float_store(word: int) -> Operation | None:
    """Returns the store of a float, or of a vector to neighbouring addresses."""
    _, first, _ = _registers(word)
    size, number = _field(word, 14, 12), _signed(_gathered(word, (31, 25, 5), (11, 7, 0)), 12)
    if 1 <= size <= 3:
        return Operation(STORE, "", first, "", number, 1 << size)
    if size == 4 or _field(word, 27, 26):
        return None
    is_of_elements = not _field(word, 31, 28) and not _field(word, 24, 20)  # else of several registers, or of masks
    name = {0: "vse8", 5: "vse16", 6: "vse32"}.get(size, STORE) if is_of_elements else STORE
    return Operation(name, "", first, "", width=MOST_VECTOR_BYTES)


def _vector(word: int) -> Operation:
    """Returns an operation on vectors; few of them write a register of the core: the length of vectors, an element."""
    kind, (target, first, _) = _field(word, 14, 12), _registers(word)
    if kind == 7:
        return Operation("vsetvl", target) if word >> 31 else Operation("vsetvli", target, first, number=word >> 20)
    return Operation(OTHER, target if kind == 2 and word >> 26 == _VECTOR_TO_CORE else "")


def _float_sum(word: int) -> Operation | None:
    group = word >> 27
    if group in _FROM_FLOATS:
        return Operation(OTHER, _registers(word)[0])
    return Operation(OTHER) if group in _TO_FLOATS else None


_READERS = {
    **dict.fromkeys((0x37, 0x17), _upper),
    **dict.fromkeys((0x43, 0x47, 0x4B, 0x4F), lambda word: Operation(OTHER)),  # products and sums of floats
    **{0x6F: _jal, 0x67: _jalr, 0x63: _branch, 0x03: _load, 0x23: _store, 0x13: _immediate, 0x33: _sum, 0x0F: _fence},
    **{0x73: _system, 0x2F: _atomic, 0x07: _float_load, 0x27: _float_store, 0x53: _float_sum, 0x57: _vector},
}


@lru_cache(_KEPT)
def _compressed(half: int) -> Operation | None:
    """Returns the operation of 16 bits."""
    quarter, kind = half & 3, half >> 13
    return (_of_memory, _of_numbers, _of_stack)[quarter](half, kind)


def _small(half: int, low: int) -> str:
    """Returns the register of a field of three bits."""
    return REGISTERS[8 + _field(half, low + 2, low)]


def _of_memory(half: int, kind: int) -> Operation | None:
    """Returns a sum with sp, or a load or store by one of eight registers."""
    base, other = _small(half, 7), _small(half, 2)
    words = _gathered(half, (5, 5, 6), (12, 10, 3), (6, 6, 2))
    match kind:
        case 0:
            number = _gathered(half, (10, 7, 6), (12, 11, 4), (5, 5, 3), (6, 6, 2))
            return Operation("addi", other, "sp", number=number) if number else Operation(TRAP) if not half else None
        case 3:
            return Operation(OTHER)  # to a register of the FPU
        case 2:
            return Operation("lw", other, base, number=words)
        case 6:
            return Operation("sw", "", base, other, words, 4)
        case 7:
            return Operation(STORE, "", base, "", words, 4)
        case 1 | 5:
            return None
    return _of_bytes(_field(half, 12, 10), base, other, half)


def _of_bytes(kind: int, base: str, other: str, half: int) -> Operation | None:
    """Returns a load or store of Zcb."""
    number = _gathered(half, (5, 5, 1), (6, 6, 0)) if kind in (0, 2) else _gathered(half, (5, 5, 1))
    if kind in (0, 1):
        return Operation("lbu" if kind == 0 else "lhu", other, base, number=number)
    return Operation(STORE, "", base, other, number, kind - 1) if kind in (2, 3) else None


def _of_numbers(half: int, kind: int) -> Operation | None:
    """Returns an operation with an immediate number, a sum of two of eight registers, a jump or a branch."""
    target, small = REGISTERS[_field(half, 11, 7)], _small(half, 7)
    number = _signed(_gathered(half, (12, 12, 5), (6, 2, 0)), 6)
    jump = _signed(
        _gathered(half, (12, 12, 11), (8, 8, 10), (10, 9, 8), (6, 6, 7), (7, 7, 6), (2, 2, 5), (11, 11, 4), (5, 3, 1)), 12
    )
    match kind:
        case 0:
            return Operation("addi", target, target, number=number)
        case 1 | 5:
            return Operation("jal", "ra" if kind == 1 else "zero", number=jump)
        case 2:
            return Operation("addi", target, number=number)
        case 3:
            return _upper_or_stack(half, target, number)
        case 4:
            return _computed(half, small, number)
    distance = _signed(_gathered(half, (12, 12, 8), (6, 5, 6), (2, 2, 5), (11, 10, 3), (4, 3, 1)), 9)
    return Operation("beq" if kind == 6 else "bne", "", small, "zero", distance)


def _upper_or_stack(half: int, target: str, number: int) -> Operation | None:
    if target == "sp":
        number = _signed(_gathered(half, (12, 12, 9), (4, 3, 7), (5, 5, 6), (2, 2, 5), (6, 6, 4)), 10)
        return Operation("addi", "sp", "sp", number=number) if number else None
    return Operation("lui", target, number=number << 12 & 0xFFFFFFFF) if number else None


def _computed(half: int, target: str, number: int) -> Operation:
    kind = _field(half, 11, 10)
    if kind == 3:
        name = ("sub", "xor", "or", "and")[_field(half, 6, 5)] if not half >> 12 & 1 else OTHER  # else of Zcb, or of 64 bits
        return Operation(name, target, target, _small(half, 2))
    return Operation(("srli", "srai", "andi")[kind], target, target, number=number if kind == 2 else number & 0x1F)


def _of_stack(half: int, kind: int) -> Operation | None:
    """Returns a load or store by sp, a shift, a move, a sum, or a jump through a register."""
    target, second = REGISTERS[_field(half, 11, 7)], REGISTERS[_field(half, 6, 2)]
    stored = _gathered(half, (8, 7, 6), (12, 9, 2))
    match kind:
        case 0:
            return Operation("slli", target, target, number=_field(half, 6, 2))
        case 3:
            return Operation(OTHER)  # to a register of the FPU
        case 2:
            return Operation("lw", target, "sp", number=_gathered(half, (3, 2, 6), (12, 12, 5), (6, 4, 2)))
        case 4:
            return _moved(target, second, bool(half >> 12 & 1))
        case 6:
            return Operation("sw", "", "sp", second, stored, 4)
        case 7:
            return Operation(STORE, "", "sp", "", stored, 4)
    return None


def _moved(target: str, second: str, is_upper: bool) -> Operation | None:
    if second != "zero":
        return Operation("add", target, target if is_upper else "zero", second)
    if target == "zero":
        return Operation("ebreak") if is_upper else None
    return Operation("jalr", "ra" if is_upper else "zero", target)


class Instructions(Mapping[int, Instruction]):
    """The instructions of executable bytes, read when they are asked for. `parts` are addresses with the bytes from there on.

    Nothing says where an instruction begins, so each even address may hold one.
    """

    def __init__(self, parts: tuple[tuple[int, bytes], ...]):
        self._parts = parts
        self._known: dict[int, Instruction | None] = {}

    def __getitem__(self, address: int) -> Instruction:
        if address not in self._known:
            self._known[address] = self._read(address)
        found = self._known[address]
        if found is None:
            raise KeyError(address)
        return found

    def _read(self, address: int) -> Instruction | None:
        for begin, content in () if address & 1 else self._parts:
            if begin <= address < begin + len(content):
                return instruction_at(address, content[address - begin : address - begin + 4])
        return None

    def __iter__(self):
        return (address for begin, content in self._parts for address in range(begin, begin + len(content), 2) if address in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)
