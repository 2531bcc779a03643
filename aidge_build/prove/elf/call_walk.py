# SPDX-License-Identifier: MIT
"""Walks the code of one function call: every instruction that may run before it returns, with the depth of the stack there."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from aidge_build.contract.thumb.instruction import CONDITIONS, Instruction
from aidge_build.prove.elf.decisions import decision
from aidge_build.prove.elf.destinations import CUSTOM, is_misread
from aidge_build.prove.elf.effects import Value, effect_of
from aidge_build.prove.elf.frames import RETURN, Refusal, State, apply, given_to_stack, settles
from aidge_build.prove.elf.jump_tables import THUMB1_SWITCHES, offsets, words
from aidge_build.prove.elf.program_code import BRANCHES, Code, is_if_then
from aidge_build.prove.elf.start_up import tabled

_REFUSED = {
    "<undefined>": "code that the disassembler does not know",
    "bf": "a branch future",
    "bfl": "a branch future",
    "bfx": "a branch future",
    "bflx": "a branch future",
    "blxns": "a call of non-secure code",
    "svc": "a supervisor call, with a handler that uses the stack, too,",
}

# Instructions that set the flags although their names do not end in "s" (subs, vmrs).
_COMPARISONS = ("cmp", "cmn", "tst", "teq", "msr", *CUSTOM)


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


def walk(code: Code, entry: int, is_root: bool) -> Generator[int, Answer, WalkedCall]:
    """Follows every path from `entry`. Yields each called function and is sent how that function returns; raises Refusal.

    It is a generator, so that nested calls need no Python stack.
    """
    walker = _Walker(code, entry, is_root, has_numbers=is_root)
    try:
        yield from walker.run()
    except Refusal:
        if is_root:
            raise
        walker = _Walker(code, entry, is_root, has_numbers=True)
        yield from walker.run()
    depth, site = walker.deepest
    return WalkedCall(
        depth,
        site,
        tuple(sorted(walker.calls, key=lambda call: (call.site, call.target))),
        walker.answer,
    )


class _Asked(Exception):
    """The path continues after a call of `target` if that function returns."""

    def __init__(self, target: int):
        super().__init__(target)
        self.target = target


class _Walker:
    """Without `has_numbers` the walk also refuses code that a number may decide: an indirect jump or call, or a pointer into the
    stack. The stack pointer and the saved registers are then followed as with numbers.
    """

    begin: int  # the start of the straight-line code that ran up to the current instruction

    def __init__(self, code: Code, entry: int, is_root: bool, *, has_numbers: bool):
        self.code = code
        self.entry = entry
        self.is_root = is_root
        self.has_numbers = has_numbers
        self.answers: dict[int, Answer | Refusal] = {}
        self.calls: set[Call] = set()
        self.deepest = (0, entry)
        self.answer: Answer = None

    def run(self) -> Generator[int, Answer, None]:
        code, states = self.code, dict[int, State]()
        led_to, forks, jumps, plain = code.led_to, code.forks, code.jumps, code.plain
        pending = [(self.entry, State(has_numbers=self.has_numbers))]
        while pending:
            address, state = pending.pop()
            is_met = True  # paths may meet here
            while True:
                if is_met:
                    known = states.get(address)
                    if known is None:
                        states[address] = state.copy()
                    elif known.stack != state.stack:
                        raise Refusal(f"the frame at {self._where(address)} depends on the way that leads there")
                    elif not known.meet(state):
                        break
                    else:
                        state = known.copy()
                self.begin = address
                address = self._straight_to(address, state)
                is_met = address not in forks
                if address in jumps:
                    address = jumps[address]
                elif not is_met:
                    *others, address = self._ways(code.instructions[address])
                    pending += [(other, state.copy()) for other in others]
                    is_met = address in led_to
                elif address not in plain:
                    pending += yield from self._onward(address, state)
                    break

    def _straight_to(self, address: int, state: State) -> int:
        """Follows straight-line code from `address`. Returns the first instruction that is not plain or is the target of a
        branch."""
        instructions, plain, led_to = self.code.instructions, self.code.plain, self.code.led_to
        while effect := plain.get(address):
            instruction = instructions[address]
            if not settles(state, effect):
                self._changed(instruction, instruction.mnemonic, state)
            address += instruction.size_bytes
            if address in led_to:
                break
        return address

    def _onward(self, address: int, state: State) -> Generator[int, Answer, list[tuple[int, State]]]:
        """Returns the (address, state) pairs that follow the instruction; executes it again each time a called function has been
        answered."""
        called = self.code.calls.get(address)
        if called is not None and called not in self.answers:
            yield from self._ask(called)
        while True:
            try:
                return list(self._step(address, state))
            except _Asked as question:
                target = question.target
            yield from self._ask(target)

    def _ask(self, target: int) -> Generator[int, Answer, None]:
        try:
            self.answers[target] = yield target
        except Refusal as refusal:
            self.answers[target] = refusal

    def _step(self, address: int, state: State) -> Iterator[tuple[int, State]]:
        instruction = self.code.instructions.get(address)
        if address in self.code.conditional:
            raise Refusal(f"a branch into an IT block at {self._where(address)}")
        if instruction is None:
            where = self._where(address)
            if not any(section.holds(address) for section in self.code.image.sections):
                raise Refusal(f"the way leads to {where}, which is not in the program")
            raise Refusal(f"the way leads to {where}, where no instruction is")
        if self.code.is_overlaid(address):
            raise Refusal(f"{self._where(address)} is in an overlay: code of several sections takes turns there")
        if is_if_then(instruction):
            return self._if_then(instruction, state)
        return self._execute(instruction, instruction.mnemonic, state)

    def _if_then(self, block: Instruction, state: State) -> Iterator[tuple[int, State]]:
        """Follows both paths through an IT block. After an instruction in the block that sets the flags, the condition is unknown
        again."""
        pattern = "t" + block.mnemonic[2:]
        decided = decision(self.code, block, self.begin)
        ways = [(state.copy(), letter) for letter, is_met in (("t", True), ("e", False)) if decided in (None, is_met)]
        address = block.next
        for letter in pattern:
            instruction = self.code.instructions.get(address)
            if instruction is None:
                raise Refusal(f"the IT block at {self._where(block.address)} is cut off")
            name = instruction.mnemonic[:-2] if instruction.mnemonic.endswith(CONDITIONS) else instruction.mnemonic
            onward = []
            for here, assumed in ways:
                successors = [(address + instruction.size_bytes, here)]
                if assumed == letter:
                    successors = list(self._execute(instruction, name, here))
                for target, then in successors:
                    if target != instruction.next:
                        yield target, then
                    elif name.endswith("s") or name in _COMPARISONS:
                        onward += [(then.copy(), "t"), (then.copy(), "e")]
                    else:
                        onward.append((then, assumed))
            ways, address = onward, instruction.next
        for here, _ in ways:
            yield address, here

    def _execute(self, instruction: Instruction, name: str, state: State) -> Iterator[tuple[int, State]]:
        if name in _REFUSED:
            raise Refusal(f"{_REFUSED[name]} at {self._where(instruction.address)}")
        if name in ("b", "bl", "blx", "bx", "bxns"):
            return self._branch(instruction, name, state)
        if name in BRANCHES:
            return self._two_ways(instruction, name, state)
        if name in ("tbb", "tbh"):
            width = 1 if name == "tbb" else 2
            table = instruction.next
            if not instruction.operands[0].startswith("[pc"):
                raise Refusal(f"a jump table elsewhere at {self._where(instruction.address)}")
            count = self.code.compared_with(instruction)
            return self._all(offsets(table, width, False, 2, self.code.instructions, self.code.read, count), state)
        if name == "udf":
            return iter(())
        if is_misread(name, instruction.operands):
            raise Refusal(f"'{name}', which may be another instruction, at {self._where(instruction.address)}")
        return self._ordinary(instruction, name, state)

    def _ordinary(self, instruction: Instruction, name: str, state: State) -> Iterator[tuple[int, State]]:
        jump = None if settles(state, effect_of(name, instruction.operands)) else self._changed(instruction, name, state)
        return iter([(instruction.next, state)]) if jump is None else self._jump(instruction, jump, state)

    def _changed(self, instruction: Instruction, name: str, state: State) -> Value | None:
        """Changes the state as the instruction does. Returns the value that it writes to pc, or None."""
        try:
            if self.is_root and self._starts_stack(instruction, name, state):
                return None
            jump = apply(state, instruction, name, self.code.word)
        except Refusal as refusal:
            raise Refusal(f"{refusal}, at {self._where(instruction.address)}") from None
        if state.is_taken:
            self._ask_for_numbers()
        depth = -min(state.stack, state.lowest)
        if depth > self.deepest[0]:
            self.deepest = depth, instruction.address
        return jump

    def _ask_for_numbers(self) -> None:
        if not self.has_numbers:
            raise Refusal("a number decides")

    def _starts_stack(self, instruction: Instruction, name: str, state: State) -> bool:
        """Whether start-up code sets the stack pointer to the value that it has after reset: the stack is then as at entry."""
        given = given_to_stack(state, instruction, name, self.code.word)
        if given is None or given != self.code.initial_stack:
            return False
        state.stack = 0
        return True

    def _branch(self, instruction: Instruction, name: str, state: State) -> Iterator[tuple[int, State]]:
        target = instruction.target if name in ("b", "bl") or "<" in instruction.operands[-1] else None
        if name == "b":
            return self._goto(target, state)
        if name == "bl" and target is None:
            raise Refusal(f"the call at {self._where(instruction.address)} leads nowhere")
        if name == "bl" and self.code.name(target) in THUMB1_SWITCHES:
            return self._thumb1_switch(instruction, target, state)
        if name == "bl" and target not in self.code.functions:
            return self._inner_call(instruction, target, state)
        if target is not None:
            targets: tuple[int, ...] = (target,)
        elif name.startswith("bx"):
            return self._jump(instruction, state.value(instruction.operands[0]) or ("unknown", 0), state)
        else:
            targets = self._called(instruction, state)
        answers = [self._call(instruction, entry, state) for entry in targets]
        if None in answers:
            return iter(())
        state.after_call(frozenset().union(*answers))
        return iter([(instruction.next, state)])

    def _inner_call(self, instruction: Instruction, target: int, state: State) -> Iterator[tuple[int, State]]:
        """Follows a call within hand-written code, which may follow no calling convention and may return for its caller."""
        self._ask_for_numbers()
        try:
            answer = self._call(instruction, target, state)
        except Refusal:
            self.calls.discard(Call(instruction.address, -state.stack, target))
            state.registers["lr"] = ("number", instruction.next | 1)
            return self._goto(target, state)
        state.registers.clear()
        state.is_taken = True
        state.forget_variables()
        return iter([] if answer is None else [(instruction.next, state)])

    def _called(self, instruction: Instruction, state: State) -> tuple[int, ...]:
        """Returns the functions that a call through a register may reach."""
        self._ask_for_numbers()
        value = state.value(instruction.operands[0])
        if value and value[0] == "number" and value[1] & ~1 in self.code.functions:
            return (value[1] & ~1,)
        entries = tabled(self.code, instruction)
        if entries is not None:
            return entries
        if not value or value[0] != "number":
            raise Refusal(f"an indirect call at {self._where(instruction.address)}")
        return (value[1] & ~1,)

    def _call(self, instruction: Instruction, target: int, state: State) -> Answer:
        self.calls.add(Call(instruction.address, -state.stack, target))
        if target not in self.answers:
            raise _Asked(target)
        answer = self.answers[target]
        if isinstance(answer, Refusal):
            raise answer
        return answer

    def _thumb1_switch(self, instruction: Instruction, target: int, state: State) -> Iterator[tuple[int, State]]:
        """Follows a switch of libgcc, which reads the table after the call. The stack that libgcc uses counts for this call."""
        width, signed, scale = THUMB1_SWITCHES[self.code.name(target)]
        self.deepest = max(self.deepest, (self._straight_on(target) - state.stack, instruction.address))
        table = -(-instruction.next // 4) * 4 if width == 4 else instruction.next
        state.after_call()
        return self._all(offsets(table, width, signed, scale, self.code.instructions, self.code.read), state)

    def _straight_on(self, address: int) -> int:
        """Returns the stack bytes of a function without branches and without constants in memory."""
        state = State()
        used = -state.stack
        while (instruction := self.code.instructions.get(address)) and instruction.mnemonic != "bx":
            if instruction.target is not None or instruction.mnemonic == "blx":
                raise Refusal(f"a switch that is not libgcc's at {self._where(address)}")
            apply(state, instruction, instruction.mnemonic, lambda _: None)
            used, address = max(used, -state.stack, -state.lowest), instruction.next
        return used

    def _two_ways(self, instruction: Instruction, name: str, state: State) -> Iterator[tuple[int, State]]:
        if name.startswith(("le", "wls")):
            state.registers.pop("lr", None)
        return self._all(self._ways(instruction), state)

    def _ways(self, branch: Instruction) -> tuple[int, ...]:
        """Returns the addresses that a branch may lead to: its target, the next instruction, or both."""
        is_taken = decision(self.code, branch, self.begin)
        goes_on = is_taken is not True and not (branch.mnemonic == "le" and len(branch.operands) == 1)
        target = branch.target if is_taken is not False else None
        return (*(() if target is None else (target,)), *((branch.next,) if goes_on else ()))

    def _goto(self, target: int | None, state: State) -> Iterator[tuple[int, State]]:
        if target is not None:
            yield target, state

    def _all(self, targets: tuple[int, ...], state: State) -> Iterator[tuple[int, State]]:
        return iter([(target, state.copy()) for target in targets])

    def _jump(self, instruction: Instruction, value: Value, state: State) -> Iterator[tuple[int, State]]:
        """Follows a write to pc: a return, a tail call through a register, or a jump through a table."""
        kind, place = value
        if value == RETURN:
            if state.stack != 0:
                raise Refusal(f"a return at {self._where(instruction.address)} with {-state.stack} bytes left on the stack")
            self.answer = state.lost | (self.answer or frozenset())
            return iter(())
        if kind == "number":
            return iter([(place & ~1, state)])
        if kind == "entry":
            # Compare by name: the compiler may place the unlikely part of a function elsewhere (`f.cold`).
            name = self.code.name(instruction.address)
            begin, end = self.code.table_at(place)
            if end is None:
                targets = words(begin, lambda entry: self.code.name(entry) == name, self.code.instructions, self.code.read)
            else:
                targets = tuple(sorted(self.code.labels.get(name, frozenset()) | self.code.targets_in(begin, end, name)))
            if not targets:
                raise Refusal(f"a jump through a table at 0x{place:x}, which leads nowhere in its function")
            return self._all(targets, state)
        raise Refusal(f"an indirect jump at {self._where(instruction.address)}")

    def _where(self, address: int) -> str:
        return f"{self.code.image.describe(address)}"
