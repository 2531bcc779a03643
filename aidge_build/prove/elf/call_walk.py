# SPDX-License-Identifier: MIT
"""Walks the Thumb code of one function call."""

from __future__ import annotations

from collections.abc import Generator, Iterator

from aidge_build.contract.thumb.instruction import CONDITIONS, Instruction
from aidge_build.prove.elf.decisions import decision
from aidge_build.prove.elf.destinations import CUSTOM, is_misread
from aidge_build.prove.elf.effects import effect_of
from aidge_build.prove.elf.frames import State, apply, given_to_stack, settles
from aidge_build.prove.elf.jump_tables import THUMB1_SWITCHES, offsets
from aidge_build.prove.elf.program_code import BRANCHES, Code, is_if_then
from aidge_build.prove.elf.start_up import tabled
from aidge_build.prove.elf.state import Refusal, Value
from aidge_build.prove.elf.walker import Answer, WalkedCall, Walker

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


def walk(code: Code, entry: int, is_root: bool) -> Generator[int, Answer, WalkedCall]:
    """Follows every path from `entry`. Yields each called function and is sent how that function returns; raises Refusal.

    It is a generator, so that nested calls need no Python stack.
    """
    walker = _ThumbWalker(code, entry, is_root, has_numbers=is_root)
    try:
        yield from walker.run()
    except Refusal:
        if is_root:
            raise
        walker = _ThumbWalker(code, entry, is_root, has_numbers=True)
        yield from walker.run()
    return walker.walked


class _ThumbWalker(Walker[State]):
    LINK = "lr"
    code: Code

    def at_entry(self) -> State:
        return State(has_numbers=self.has_numbers)

    def straight_to(self, address: int, state: State) -> int:
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

    def step(self, address: int, state: State) -> Iterator[tuple[int, State]]:
        if address in self.code.conditional:
            raise Refusal(f"a branch into an IT block at {self.where(address)}")
        return super().step(address, state)

    def follow(self, instruction: Instruction, state: State) -> Iterator[tuple[int, State]]:
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
                raise Refusal(f"the IT block at {self.where(block.address)} is cut off")
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
            raise Refusal(f"{_REFUSED[name]} at {self.where(instruction.address)}")
        if name in ("b", "bl", "blx", "bx", "bxns"):
            return self._branch(instruction, name, state)
        if name in BRANCHES:
            return self._two_ways(instruction, name, state)
        if name in ("tbb", "tbh"):
            width = 1 if name == "tbb" else 2
            table = instruction.next
            if not instruction.operands[0].startswith("[pc"):
                raise Refusal(f"a jump table elsewhere at {self.where(instruction.address)}")
            count = self.code.compared_with(instruction)
            return self.each(offsets(table, width, False, 2, self.code.instructions, self.code.read, count), state)
        if name == "udf":
            return iter(())
        if is_misread(name, instruction.operands):
            raise Refusal(f"'{name}', which may be another instruction, at {self.where(instruction.address)}")
        return self._ordinary(instruction, name, state)

    def _ordinary(self, instruction: Instruction, name: str, state: State) -> Iterator[tuple[int, State]]:
        jump = None if settles(state, effect_of(name, instruction.operands)) else self._changed(instruction, name, state)
        return iter([(instruction.next, state)]) if jump is None else self.jump(instruction, jump, state)

    def _changed(self, instruction: Instruction, name: str, state: State) -> Value | None:
        """Changes the state as the instruction does. Returns the value that it writes to pc, or None."""
        try:
            if self.is_root and self._starts_stack(instruction, name, state):
                return None
            jump = apply(state, instruction, name, self.code.word)
        except Refusal as refusal:
            raise Refusal(f"{refusal}, at {self.where(instruction.address)}") from None
        if state.is_taken:
            self.ask_for_numbers()
        self.reach(state, instruction.address)
        return jump

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
            return self.goto(target, state)
        if name == "bl" and target is None:
            raise Refusal(f"the call at {self.where(instruction.address)} leads nowhere")
        if name == "bl" and self.code.name(target) in THUMB1_SWITCHES:
            return self._thumb1_switch(instruction, target, state)
        if name == "bl" and target not in self.code.functions:
            return self.inner_call(instruction, target, state)
        if target is not None:
            targets: tuple[int, ...] = (target,)
        elif name.startswith("bx"):
            return self.jump(instruction, state.value(instruction.operands[0]) or ("unknown", 0), state)
        else:
            targets = self._called(instruction, state)
        return self.call_all(instruction, targets, state)

    def _called(self, instruction: Instruction, state: State) -> tuple[int, ...]:
        """Returns the functions that a call through a register may reach."""
        self.ask_for_numbers()
        value = state.value(instruction.operands[0])
        if value and value[0] == "number" and value[1] & ~1 in self.code.functions:
            return (value[1] & ~1,)
        entries = tabled(self.code, instruction)
        if entries is not None:
            return entries
        if not value or value[0] != "number":
            raise Refusal(f"an indirect call at {self.where(instruction.address)}")
        return (value[1] & ~1,)

    def _thumb1_switch(self, instruction: Instruction, target: int, state: State) -> Iterator[tuple[int, State]]:
        """Follows a switch of libgcc, which reads the table after the call. The stack that libgcc uses counts for this call."""
        width, signed, scale = THUMB1_SWITCHES[self.code.name(target)]
        self.deepest = max(self.deepest, (self._straight_on(target) - state.stack, instruction.address))
        table = -(-instruction.next // 4) * 4 if width == 4 else instruction.next
        state.after_call()
        return self.each(offsets(table, width, signed, scale, self.code.instructions, self.code.read), state)

    def _straight_on(self, address: int) -> int:
        """Returns the stack bytes of a function without branches and without constants in memory."""
        state = State()
        used = -state.stack
        while (instruction := self.code.instructions.get(address)) and instruction.mnemonic != "bx":
            if instruction.target is not None or instruction.mnemonic == "blx":
                raise Refusal(f"a switch that is not libgcc's at {self.where(address)}")
            apply(state, instruction, instruction.mnemonic, lambda _: None)
            used, address = max(used, -state.stack, -state.lowest), instruction.next
        return used

    def _two_ways(self, instruction: Instruction, name: str, state: State) -> Iterator[tuple[int, State]]:
        if name.startswith(("le", "wls")):
            state.registers.pop("lr", None)
        return self.each(self.ways(instruction), state)

    def ways(self, branch: Instruction) -> tuple[int, ...]:
        """Returns the addresses that a branch may lead to: its target, the next instruction, or both."""
        is_taken = decision(self.code, branch, self.begin)
        goes_on = is_taken is not True and not (branch.mnemonic == "le" and len(branch.operands) == 1)
        target = branch.target if is_taken is not False else None
        return (*(() if target is None else (target,)), *((branch.next,) if goes_on else ()))
