# SPDX-License-Identifier: MIT
"""Walks the code of one function call, of any instruction set.

Follows every instruction that may run before the function returns, with the depth of the stack there. The walker of an
instruction set says how an instruction changes the state, and where it leads.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

from aidge_build.prove.elf.jump_tables import words
from aidge_build.prove.elf.linked_code import LinkedCode
from aidge_build.prove.elf.state import RETURN, CallState, Refusal, Value

Known = TypeVar("Known", bound=CallState)

# How a called function returns: the registers that it should have kept and did not; None if it never returns.
Answer = frozenset[str] | None


class Call(NamedTuple):
    """A call of `target` from `site` while `depth_bytes` of stack are in use."""

    site: int
    depth_bytes: int
    target: int


@dataclass(frozen=True)
class WalkedCall:
    """One function call, tail calls included: its largest stack depth without callees, its calls, and how it returns."""

    depth_bytes: int
    deepest: int
    calls: tuple[Call, ...]
    answer: Answer


class _Asked(Exception):
    """The path continues after a call of `target` if that function returns."""

    def __init__(self, target: int):
        super().__init__(target)
        self.target = target


class Walker(ABC, Generic[Known]):
    """Without `has_numbers` the walk also refuses code that a number may decide: an indirect jump or call, or a pointer into the
    stack. The stack pointer and the saved registers are then followed as with numbers.
    """

    LINK: str  # the register with the address to which a call returns
    begin: int  # the start of the straight-line code that ran up to the current instruction

    def __init__(self, code: LinkedCode, entry: int, is_root: bool, *, has_numbers: bool):
        self.code: Any = code
        self.entry = entry
        self.is_root = is_root
        self.has_numbers = has_numbers
        self.answers: dict[int, Answer | Refusal] = {}
        self.calls: set[Call] = set()
        self.deepest = (0, entry)
        self.answer: Answer = None

    @abstractmethod
    def at_entry(self) -> Known:
        """Returns the known values when the function begins."""

    @abstractmethod
    def straight_to(self, address: int, state: Known) -> int:
        """Follows straight-line code from `address`. Returns the first instruction that is not plain or is the target of a
        branch."""

    @abstractmethod
    def ways(self, branch: Any) -> tuple[int, ...]:
        """Returns the addresses that a branch may lead to: its target, the next instruction, or both."""

    @abstractmethod
    def follow(self, instruction: Any, state: Known) -> Iterator[tuple[int, Known]]:
        """Changes the state as an instruction does. Returns the (address, state) pairs that follow it."""

    @property
    def walked(self) -> WalkedCall:
        """The result of the walk."""
        depth, site = self.deepest
        return WalkedCall(depth, site, tuple(sorted(self.calls, key=lambda call: (call.site, call.target))), self.answer)

    def run(self) -> Generator[int, Answer, None]:
        """Follows every path. Yields each called function and is sent how that function returns."""
        code, states = self.code, dict[int, Known]()
        led_to, forks, jumps, plain = code.led_to, code.forks, code.jumps, code.plain
        pending = [(self.entry, self.at_entry())]
        while pending:
            address, state = pending.pop()
            is_met = True  # paths may meet here
            while True:
                if is_met:
                    known = states.get(address)
                    if known is None:
                        states[address] = state.copy()
                    elif known.stack != state.stack:
                        raise Refusal(f"the frame at {self.where(address)} depends on the way that leads there")
                    elif not known.meet(state):
                        break
                    else:
                        state = known.copy()
                self.begin = address
                address = self.straight_to(address, state)
                is_met = address not in forks
                if address in jumps:
                    address = jumps[address]
                elif not is_met:
                    *others, address = self.ways(code.instructions[address])
                    pending += [(other, state.copy()) for other in others]
                    is_met = address in led_to
                elif address not in plain:
                    pending += yield from self._onward(address, state)
                    break

    def _onward(self, address: int, state: Known) -> Generator[int, Answer, list[tuple[int, Known]]]:
        """Returns the (address, state) pairs that follow the instruction; executes it again each time a called function has been
        answered."""
        called = self.code.calls.get(address)
        if called is not None and called not in self.answers:
            yield from self._ask(called)
        while True:
            try:
                return list(self.step(address, state))
            except _Asked as question:
                target = question.target
            yield from self._ask(target)

    def _ask(self, target: int) -> Generator[int, Answer, None]:
        try:
            self.answers[target] = yield target
        except Refusal as refusal:
            self.answers[target] = refusal

    def step(self, address: int, state: Known) -> Iterator[tuple[int, Known]]:
        """Returns the (address, state) pairs that follow the instruction at an address."""
        instruction = self.code.instructions.get(address)
        if instruction is None:
            where = self.where(address)
            if not any(section.holds(address) for section in self.code.image.sections):
                raise Refusal(f"the way leads to {where}, which is not in the program")
            raise Refusal(f"the way leads to {where}, where no instruction is")
        if self.code.is_overlaid(address):
            raise Refusal(f"{self.where(address)} is in an overlay: code of several sections takes turns there")
        return self.follow(instruction, state)

    def reach(self, state: Known, address: int) -> None:
        """Remembers the depth of the stack after the instruction at an address."""
        depth = -min(state.stack, state.lowest)
        if depth > self.deepest[0]:
            self.deepest = depth, address

    def ask_for_numbers(self) -> None:
        """Refuses a walk that does not follow numbers."""
        if not self.has_numbers:
            raise Refusal("a number decides")

    def inner_call(self, instruction: Any, target: int, state: Known) -> Iterator[tuple[int, Known]]:
        """Follows a call within hand-written code, which may follow no calling convention and may return for its caller."""
        self.ask_for_numbers()
        try:
            answer = self.call(instruction, target, state)
        except Refusal:
            self.calls.discard(Call(instruction.address, -state.stack, target))
            state.registers[self.LINK] = ("number", instruction.next | self.code.pointer_bit)
            return self.goto(target, state)
        state.registers.clear()
        state.is_taken = True
        state.forget_variables()
        return iter([] if answer is None else [(instruction.next, state)])

    def call(self, instruction: Any, target: int, state: Known) -> Answer:
        """Returns how the called function returns; raises its refusal."""
        self.calls.add(Call(instruction.address, -state.stack, target))
        if target not in self.answers:
            raise _Asked(target)
        answer = self.answers[target]
        if isinstance(answer, Refusal):
            raise answer
        return answer

    def call_all(self, instruction: Any, targets: tuple[int, ...], state: Known) -> Iterator[tuple[int, Known]]:
        """Follows a call of one of `targets`, which follow the calling convention."""
        answers = [self.call(instruction, entry, state) for entry in targets]
        if None in answers:
            return iter(())
        state.after_call(frozenset().union(*answers))
        return iter([(instruction.next, state)])

    def goto(self, target: int | None, state: Known) -> Iterator[tuple[int, Known]]:
        """Follows a jump to an address, None for one that leads nowhere."""
        if target is not None:
            yield target, state

    def each(self, targets: tuple[int, ...], state: Known) -> Iterator[tuple[int, Known]]:
        """Follows a jump to each of several addresses."""
        return iter([(target, state.copy()) for target in targets])

    def jump(self, instruction: Any, value: Value, state: Known) -> Iterator[tuple[int, Known]]:
        """Follows a write to pc: a return, a tail call through a register, or a jump through a table."""
        kind, place = value
        if value == RETURN:
            if state.stack != 0:
                raise Refusal(f"a return at {self.where(instruction.address)} with {-state.stack} bytes left on the stack")
            self.answer = state.lost | (self.answer or frozenset())
            return iter(())
        if kind == "number":
            return iter([(place & ~1, state)])
        if kind == "entry":
            return self.each(self._targets(instruction, place), state)
        raise Refusal(f"an indirect jump at {self.where(instruction.address)}")

    def _targets(self, instruction: Any, place: int) -> tuple[int, ...]:
        """Returns the targets of a jump to an address in the table at `place`."""
        code = self.code
        # Compare by name: the compiler may place the unlikely part of a function elsewhere (`f.cold`).
        name = code.name(instruction.address)
        begin, end = code.table_at(place)
        if end is None:
            targets = words(begin, lambda entry: code.is_inside(name, entry), code.instructions, code.read, code.placed)
        else:
            targets = tuple(sorted(code.labels.get(name, frozenset()) | code.targets_in(begin, end, name)))
        if not targets:
            raise Refusal(f"a jump through a table at 0x{place:x}, which leads nowhere in its function")
        return targets

    def where(self, address: int) -> str:
        """Returns how people find an address: `main+0x1a`."""
        return f"{self.code.image.describe(address)}"
