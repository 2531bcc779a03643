# SPDX-License-Identifier: MIT
"""Instructions of Armv6-M with the registers of RISC-V, as instructions of RISC-V.

Flags become comparisons of the next branches; a branch after a computation compares its result with 0: the result must not
overflow. Additions of constants to an address wait until something else reads the register, so that the accesses of a loop name
their distances and the address moves once. Shifts by a register take its low 5 bits: texts must not shift by 32. A line without
such a meaning is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from aidge_build.base.errors import AidgeError
from aidge_build.contract.kernel_kit.registers.texts import Line
from aidge_build.contract.kernel_kit.riscv.registers import Registers
from aidge_build.contract.thumb.instruction import instruction_of_text, memory_operand

_SHIFTS = {"lsl": "sll", "lsr": "srl", "asr": "sra"}
_THREE = {name: name for name in ("add", "sub", "mul", "mulhsu", "mulhu", "and")} | {"orr": "or", "eor": "xor"} | _SHIFTS
_ACCESSES = {
    **{"ldr": "lw", "ldrb": "lbu", "ldrsb": "lb", "ldrh": "lhu", "ldrsh": "lh"},
    **{"str": "sw", "strb": "sb", "strh": "sh"},
}
_EXTENDS = {"sxtb": ("srai", 24), "uxtb": ("srli", 24), "sxth": ("srai", 16), "uxth": ("srli", 16)}
_UNARY = {"mvn": "not", "rsb": "neg"}
_BRANCHES = {"eq": "beq", "ne": "bne", "hs": "bgeu", "cs": "bgeu", "lo": "bltu", "cc": "bltu", "hi": "bgtu", "ls": "bleu"} | {
    condition: f"b{condition}" for condition in ("ge", "lt", "gt", "le")
}
_SIGNS = {"eq": "beqz", "ne": "bnez", "mi": "bltz", "pl": "bgez", "lt": "bltz", "ge": "bgez", "gt": "bgtz", "le": "blez"}
_JUMPS = {"b": "j", "bx": "ret", "call": "call"}
_MOVE = re.compile(r"\s*mv (\w+), (\w+)")
_COMPUTED = re.compile(r"([a-z]+) (\w+), (\w+), ([-\w]+)")
_LABEL = re.compile(r"\d+:")
_NAMES = {"sp": "sp", "lr": "ra"}
_LOWEST, _HIGHEST = -2048, 2047  # constants of an instruction


def riscv_lines(lines: Sequence[Line], registers: Registers, where: str) -> list[Line]:
    """Returns the lines for the assembler of RISC-V; AidgeError, with the name of the function (`where`), for a line without a
    meaning there."""
    printer, found = _Printer(registers), list[Line]()
    for text, why in lines:
        said = list(printer.line(text.strip()))
        if None in said:
            raise AidgeError(f"`{text.strip()}` has no meaning on RISC-V", where=where, code="KERNEL")
        _without_move(found, said)
        indented = [each if _LABEL.fullmatch(each) else f"    {each}" for each in said if each]
        found += [(each, why if not place else "") for place, each in enumerate(indented)]
    return found


def _without_move(found: list[Line], said: list[str]) -> None:
    """Computes from the source of the move before, if the move only gives the result its register."""
    moved = _MOVE.fullmatch(found[-1][0]) if found and said else None
    computed = _COMPUTED.fullmatch(said[0]) if moved else None
    if moved and computed and computed[2] == computed[3] == moved[1] and moved[1] not in computed[4]:
        found.pop()
        said[0] = f"{computed[1]} {moved[1]}, {moved[2]}, {computed[4]}"


@dataclass
class _Printer:
    registers: Registers
    moved: dict[str, int] = field(default_factory=dict)  # additions to addresses that wait
    flags: tuple[str, ...] = ()  # the two registers, or the register and the constant, that were compared; or a result

    def line(self, text: str) -> Iterator[str | None]:
        """Yields the instructions of a line; None if there are none."""
        if _LABEL.fullmatch(text):
            yield from self._settled(*self.moved)
            self.flags = ()
            yield text
            return
        instruction = instruction_of_text(text)
        if instruction is None:
            yield None
            return
        name, operands = instruction.mnemonic, list(instruction.operands)
        if name in _JUMPS:
            yield from self._settled(*self.moved)
            yield "ret" if name == "bx" else f"{_JUMPS[name]} {operands[0]}"
        elif name[0] == "b" and name[1:] in {*_BRANCHES, *_SIGNS}:
            yield from self._settled(*self.moved)
            yield from self._branch(name[1:], operands[0])
        elif name in _ACCESSES:
            yield from self._access(name, *operands)
        elif name == "add" and operands[0] == operands[1] != "sp" and operands[-1][0] == "#":
            self.moved[operands[0]] = self.moved.get(operands[0], 0) + int(operands[2][1:])
            self._written(operands[0])
        else:
            yield from self._settled(*operands)
            yield from self._computed(name, operands)

    def _computed(self, name: str, operands: list[str]) -> Iterator[str | None]:
        """Yields the instructions of one that computes, and remembers the flags."""
        if name == "cmp":
            self.flags = operands[0], operands[1]
            return
        plain = name.removesuffix("s")
        target = operands[0]
        yield from self._arithmetic(plain, *operands)
        self._written(target)
        if plain != name:
            self.flags = (target,)

    def _arithmetic(self, name: str, target: str, *sources: str) -> Iterator[str | None]:
        real, last = self._real(target), sources[-1]
        if len(sources) == 1 and name in _THREE:
            sources = target, last
        first = self._real(sources[0])
        if name == "mov":
            yield f"li {real}, {last[1:]}" if last[0] == "#" else f"mv {real}, {first}"
        elif name in _UNARY and (name != "rsb" or last == "#0"):
            yield f"{_UNARY[name]} {real}, {first}"
        elif name in _EXTENDS:
            shift, places = _EXTENDS[name]
            yield f"slli {real}, {first}, {places}"
            yield f"{shift} {real}, {real}, {places}"
        elif name in _THREE and last[0] != "#":
            yield f"{_THREE[name]} {real}, {first}, {self._real(last)}"
        elif name in _SHIFTS:
            yield f"{_SHIFTS[name]}i {real}, {first}, {last[1:]}"
        elif name in ("add", "sub"):
            yield from self._added(real, first, int(last[1:]) * (-1 if name == "sub" else 1))
        else:
            yield None

    def _added(self, real: str, first: str, number: int) -> Iterator[str]:
        """Yields the instructions that add a number."""
        if _LOWEST <= number <= _HIGHEST:
            yield f"addi {real}, {first}, {number}"
        else:
            yield f"li {self.registers.spare}, {number}"
            yield f"add {real}, {first}, {self.registers.spare}"

    def _access(self, name: str, value: str, operand: str) -> Iterator[str | None]:
        base, words, is_written_back = memory_operand(operand)
        index = next((word for word in words if word[0] != "#"), "")
        distance = sum(int(word[1:]) for word in words if word[0] == "#")
        is_near = _LOWEST <= distance <= _HIGHEST
        if is_written_back or len(words) > 1 or not is_near:
            yield None
            return
        if value != base or name[0] == "s":
            yield from self._settled(value)
        if index or not _LOWEST <= distance + self.moved.get(base, 0) <= _HIGHEST:
            yield from self._settled(base, index)
        place = self._real(base)
        if index:
            yield f"add {self.registers.spare}, {place}, {self._real(index)}"
            place = self.registers.spare
        yield f"{_ACCESSES[name]} {self._real(value)}, {distance + self.moved.get(base, 0)}({place})"
        if name[0] == "l":
            self.moved.pop(value, None)
            self._written(value)

    def _branch(self, condition: str, label: str) -> Iterator[str | None]:
        if len(self.flags) == 1:
            yield f"{_SIGNS[condition]} {self._real(self.flags[0])}, {label}" if condition in _SIGNS else None
        elif not self.flags or condition not in _BRANCHES:
            yield None
        elif self.flags[1] == "#0" and condition in ("eq", "ne", "ge", "lt", "gt", "le"):
            yield f"{_BRANCHES[condition]}z {self._real(self.flags[0])}, {label}"
        else:
            if self.flags[1][0] == "#":
                yield f"li {self.registers.spare}, {self.flags[1][1:]}"
            other = self.registers.spare if self.flags[1][0] == "#" else self._real(self.flags[1])
            yield f"{_BRANCHES[condition]} {self._real(self.flags[0])}, {other}, {label}"

    def _settled(self, *names: str) -> Iterator[str]:
        """Yields the additions to these registers that wait."""
        for name in names:
            if number := self.moved.pop(name, 0):
                yield from self._added(self._real(name), self._real(name), number)

    def _written(self, register: str) -> None:
        if register in self.flags:
            self.flags = ()

    def _real(self, register: str) -> str:
        return _NAMES.get(register) or self.registers.real.get(register, register)
