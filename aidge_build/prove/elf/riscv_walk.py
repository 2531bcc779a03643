# SPDX-License-Identifier: MIT
"""Walks the RISC-V code of one function call.

Calls write ra. A jump that writes another register, such as t0 before __riscv_save_3, stays within the walk: code there follows
no calling convention, and returns through that register.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from functools import cached_property

from aidge_build.boards.instruction_sets import instruction_set
from aidge_build.contract.riscv.instruction import (
    MEPC,
    MSTATUS,
    MTVEC,
    REGISTERS,
    TRAP,
    TRAP_VECTORS,
    UNKNOWN,
    Instruction,
    Instructions,
)
from aidge_build.prove.elf.image import Image
from aidge_build.prove.elf.jump_tables import distances
from aidge_build.prove.elf.linked_code import LinkedCode
from aidge_build.prove.elf.riscv_frames import (
    RESUMED,
    RiscvState,
    apply,
    at_call,
    at_interrupt,
    decided,
    limit,
    moved,
    number_of,
    result_of,
)
from aidge_build.prove.elf.start_up import entries_of_tables, is_in_tables, limits_of_tables
from aidge_build.prove.elf.state import WORD, Refusal, Value
from aidge_build.prove.elf.walker import Answer, WalkedCall, Walker

_BRANCHES = ("beq", "bne", "blt", "bge", "bltu", "bgeu")
_LEADING = frozenset(("jal", "jalr", *_BRANCHES, "ecall", "ebreak", "mret", "sret", TRAP, UNKNOWN))
_CONTROL = ("csrrw", "csrrs", "csrrc")
_INTERRUPTS = 1 << 3  # MIE, the bit of mstatus that lets interrupts in
# The instructions around the EBREAK of a semihosting call ("RISC-V Semihosting" 1.0, 2): slli x0, x0, 31 and srai x0, x0, 7.
_BEFORE_SEMIHOSTING, _AFTER_SEMIHOSTING = ("slli", "zero", "zero", 31), ("srai", "zero", "zero", 7)


class RiscvCode(LinkedCode[Instruction]):
    """The code of a program for RISC-V.

    A walk learns `initial_stack`, and `vectors`: where code writes which number to mtvec, None for an unknown one and for another
    register of its kind. `enabling` are the places that may let interrupts in, and `resuming` the places that may make a trap
    return elsewhere.

    `registers` are the registers of the core: 16 or 32. `executed` are the addresses of the instructions that walks have
    followed.

    `handlers` are the addresses at which the core begins for a trap. `global_pointer` is what start-up code writes to gp, and no
    other code changes.
    """

    def __init__(self, image: Image):
        super().__init__(image, instructions_in(image))
        symbol = image.symbol("__global_pointer$")
        self.global_pointer = symbol.address if symbol else None
        known = instruction_set(image.extensions)
        self.registers = frozenset(REGISTERS[:16] if known and "e" in known.extensions else REGISTERS)
        self.vectors = set[tuple[int, int | None]]()
        self.handlers = set[int]()
        self.executed = set[int]()
        self.enabling = set[int]()
        self.resuming = set[int]()

    def is_inside(self, name: str, address: int) -> bool:
        """Whether an address is one of code of the function `name`, or its end: there, a table may have the label of code that
        never runs."""
        return super().is_inside(name, address) or address in self.instructions and self.name(address - 2) == name

    @property
    def placed(self) -> tuple[int, ...]:
        """The addresses at which an instruction is known to begin: none, as constants may be among the code."""
        return ()


def instructions_in(image: Image) -> Instructions:
    """Returns the instructions of a program."""
    return Instructions(tuple((part.address, part.content) for part in image.sections if part.executable and part.content))


def walk(code: RiscvCode, entry: int, is_root: bool) -> Generator[int, Answer, WalkedCall]:
    """Follows every path from `entry`. Yields each called function and is sent how that function returns; raises Refusal."""
    walker = _RiscvWalker(code, entry, is_root, has_numbers=True)
    yield from walker.run()
    return walker.walked


class _RiscvWalker(Walker[RiscvState]):
    LINK = "ra"
    code: RiscvCode

    def at_entry(self) -> RiscvState:
        if self.entry in self.code.handlers:
            return at_interrupt()
        state = at_call()
        if self.code.global_pointer is not None and not self.is_root:
            state.registers["gp"] = ("number", self.code.global_pointer)
        return state

    def straight_to(self, address: int, state: RiscvState) -> int:
        self.code.executed.add(address)
        instruction = self.code.instructions.get(address)
        while instruction and instruction.operation.name not in _LEADING and not self.code.is_overlaid(address):
            address = self._execute(instruction, state)
            instruction = self.code.instructions.get(address)
        return address

    def ways(self, branch: Instruction) -> tuple[int, ...]:
        return branch.target, branch.next

    def follow(self, instruction: Instruction, state: RiscvState) -> Iterator[tuple[int, RiscvState]]:
        one = instruction.operation
        match one.name:
            case "jal" if one.target == "ra":
                return self._call(instruction, state)
            case "jal":
                return self._linked(instruction, ("number", instruction.target), state)
            case "jalr":
                return self._through_register(instruction, moved(state, one), state)
            case "ebreak":
                return self._breakpoint(instruction, state)
            case "mret" if self.entry in self.code.handlers:
                return self._handled(instruction, state)
            case "trap":
                return iter(())
            case "ecall":
                raise Refusal(f"a supervisor call, with a handler that uses the stack, too, at {self.where(instruction.address)}")
            case "mret" | "sret":
                raise Refusal(f"'{one.name}', which leads to an address that is not known, at {self.where(instruction.address)}")
            case "unknown":
                raise Refusal(f"an instruction of an extension that is not read at {self.where(instruction.address)}")
        return self._fork(instruction, state)

    def _fork(self, branch: Instruction, state: RiscvState) -> Iterator[tuple[int, RiscvState]]:
        """Follows the ways of a branch, with what each of them says of the compared registers."""
        known = decided(state, branch.operation)
        for is_taken in (True, False) if known is None else (known,):
            then = state.copy()
            limit(then, branch.operation, is_taken)
            yield branch.target if is_taken else branch.next, then

    def _execute(self, instruction: Instruction, state: RiscvState) -> int:
        """Executes an instruction that leads to the next one. Returns the address of the next one."""
        one = instruction.operation
        self.code.executed.add(instruction.next)
        is_control = one.name in _CONTROL and (one.name == "csrrw" or one.first != "zero")
        written = state.value(one.first) if is_control else None
        try:
            if self._may_begin_stack and one.target == "sp":
                after = self._starts_stack(instruction, state)
                if after is not None:
                    return after
            apply(state, instruction, self.code.word)
        except Refusal as refusal:
            raise Refusal(f"{refusal}, at {self.where(instruction.address)}") from None
        if is_control:
            self._write_control(instruction, written)
        if one.target == "gp" and not self._may_begin_stack and not self._is_global_pointer(state):
            raise Refusal(f"the global pointer is changed at {self.where(instruction.address)}")
        self._name_table(one.target, state)
        self.reach(state, instruction.address)
        return instruction.next

    def _is_global_pointer(self, state: RiscvState) -> bool:
        number = number_of(state.value("gp"))
        return number is not None and number == self.code.global_pointer

    def _write_control(self, instruction: Instruction, written: Value | None) -> None:
        """Notes a write to a control register that says where traps lead or return, or lets interrupts in."""
        one, number = instruction.operation, number_of(written)
        if one.number in TRAP_VECTORS:
            is_known = (one.name, one.number) == ("csrrw", MTVEC)
            self.code.vectors.add((instruction.address, number if is_known else None))
        elif one.number == MEPC and (one.name, written) != ("csrrw", RESUMED):
            self.code.resuming.add(instruction.address)
        elif one.number == MSTATUS and one.name != "csrrc" and (number is None or number & _INTERRUPTS):
            self.code.enabling.add(instruction.address)

    @property
    def _may_begin_stack(self) -> bool:
        """Whether the code may set the stack pointer to where the stack begins: start-up code, and handlers that never return."""
        return self.is_root or self.entry in self.code.handlers

    def _starts_stack(self, instruction: Instruction, state: RiscvState) -> int | None:
        """Begins the stack with the number that the instruction, or a pair of instructions, writes to the stack pointer.

        Returns the address that follows; None for another instruction. All such numbers must be equal."""
        number, after = number_of(result_of(state, instruction, self.code.word)), instruction.next
        if number is None:
            return None
        second = self.code.instructions.get(after)
        if second and second.operation[1:3] == ("sp", "sp"):
            if second.operation.name != "addi":
                return None
            number, after = number + second.operation.number & WORD, second.next
        if self.is_root and self.code.initial_stack is None:
            self.code.initial_stack = number
        if number != self.code.initial_stack:
            return None
        state.stack = 0
        state.slots.clear()
        if not self.is_root:
            state.registers.clear()  # the handler can return no more
        return after

    def _name_table(self, register: str, state: RiscvState) -> None:
        """Forgets the place in a table of start-up code that a register holds: the code walks through the table."""
        value = state.registers.get(register)
        if value and value[0] == "number" and self._limits and is_in_tables(value[1], self._limits):
            state.registers[register] = ("place", self._limits[0][0])

    @cached_property
    def _limits(self) -> tuple[tuple[int, int], ...]:
        return limits_of_tables(self.code, self.code.name(self.entry))

    def _call(self, instruction: Instruction, state: RiscvState) -> Iterator[tuple[int, RiscvState]]:
        target = instruction.target
        if target not in self.code.functions:
            return self.inner_call(instruction, target, state)
        return self.call_all(instruction, (target,), state)

    def _through_register(
        self, instruction: Instruction, value: Value | None, state: RiscvState
    ) -> Iterator[tuple[int, RiscvState]]:
        if instruction.operation.target != "ra":
            if value is None:
                raise Refusal(f"an indirect jump at {self.where(instruction.address)}")
            return self._linked(instruction, value, state)
        number = number_of(value)
        if number is not None:
            return self.call_all(instruction, (number & ~1,), state)
        tabled = entries_of_tables(self.code, self._limits) if value and value == ("entry", self._first_table) else None
        if tabled is None:
            raise Refusal(f"an indirect call at {self.where(instruction.address)}")
        return self.call_all(instruction, tabled, state)

    @cached_property
    def _first_table(self) -> int:
        return self._limits[0][0] if self._limits else -1

    def _linked(self, instruction: Instruction, value: Value, state: RiscvState) -> Iterator[tuple[int, RiscvState]]:
        """Follows a jump, after which another register than ra may hold the address of the next instruction."""
        if instruction.operation.target != "zero":
            state.set_register(instruction.operation.target, ("number", instruction.next))
        name = self.code.name(instruction.address)
        if value[0] in ("row", "far row"):
            return self.each(self._row(name, value), state)
        if value[0] == "distance":
            inside = distances(value[1], lambda place: self.code.is_inside(name, place), self.code.read)
            return self.each(inside, state)
        return self.jump(instruction, ("number", value[1]) if value[0] == "loaded" else value, state)

    def _row(self, name: str, value: Value) -> tuple[int, ...]:
        """Returns the targets in a table of addresses or distances with a known end."""
        table, size_bytes = value[1] & WORD, value[1] >> 32
        words = [self.code.word(place) for place in range(table, table + size_bytes, 4)]
        base = table if value[0] == "far row" else 0
        targets = tuple(sorted({(base + word & WORD) & ~1 for word in words if word is not None}))
        if None in words or not all(self.code.is_inside(name, target) for target in targets):
            raise Refusal(f"the jump table at 0x{table:x} does not lead into its function alone")
        return targets

    def _breakpoint(self, instruction: Instruction, state: RiscvState) -> Iterator[tuple[int, RiscvState]]:
        """Goes on after the breakpoint of a semihosting call, which a debugger answers in a0 and in variables."""
        around = (self.code.instructions.get(instruction.address + distance) for distance in (-4, instruction.size_bytes))
        before, after = (one.operation[:3] + one.operation[4:5] if one else () for one in around)
        if (before, after) != (_BEFORE_SEMIHOSTING, _AFTER_SEMIHOSTING):
            return iter(())  # a trap, such as __builtin_trap
        state.registers.pop("a0", None)
        state.forget_variables()
        return iter([(instruction.next, state)])

    def _handled(self, instruction: Instruction, state: RiscvState) -> Iterator[tuple[int, RiscvState]]:
        """Ends a handler, which must leave each register as it found it."""
        if state.stack != 0:
            raise Refusal(f"a return at {self.where(instruction.address)} with {-state.stack} bytes left on the stack")
        lost = {name for name, _ in at_interrupt().registers.items() - state.registers.items()}
        self.answer = frozenset(lost & self.code.registers) | (self.answer or frozenset())
        return iter(())
