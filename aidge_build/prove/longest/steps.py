# SPDX-License-Identifier: MIT
"""Bounds the instructions of each step of an inference, over all inputs, from the linked program alone."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from aidge_build.base.naming import counted
from aidge_build.base.return_codes import ReturnCode
from aidge_build.contract.thumb.instruction import Instruction
from aidge_build.prove.elf.claim import Claim
from aidge_build.prove.elf.frames import Refusal
from aidge_build.prove.elf.image import Image
from aidge_build.prove.longest.calls import GIVEN, GIVEN_BYTES, Calls
from aidge_build.prove.longest.ends import State
from aidge_build.prove.longest.memory import Memory

_BEGIN_LIMIT, _MOST_TIMES = 1_000_000, 2
_COUNTERS = "monitor"  # the array in the claim
_POINTER_BYTES = 4
_ALIGNMENT, _MOST_PLACES = 4, 64  # code depends on the last two bits of the caller's addresses


@dataclass(frozen=True)
class StepBound:
    """The most instructions of a step, and its first layer ("": none)."""

    layer: str
    instructions: int


@dataclass(frozen=True)
class StepsBound:
    """The steps of an inference in order, as far as they have a bound, and the `reason` why the next step has none. `of_weights`:
    the weights can be replaced, and steps may be longer with other weights than the program's."""

    model: str
    max_step: int
    steps: tuple[StepBound, ...]
    reason: str = ""
    of_weights: bool = False

    @property
    def longest(self) -> StepBound | None:
        """The longest step; None if a step has no bound."""
        return None if self.reason else max(self.steps, key=lambda step: step.instructions, default=None)


def bound_steps(image: Image, instructions: dict[int, Instruction], claim: Claim) -> StepsBound:
    """Returns the bound of each step of the claim's model."""
    steps: list[StepBound] = []
    reason = ""
    try:
        for step in _Model(image, instructions, claim).steps():
            steps.append(step)
            if len(steps) > claim.step_count:
                break  # perhaps it never ends
        if len(steps) != claim.step_count:
            reason = f"it has {counted(len(steps), 'step')}, the claim promises {claim.step_count}"
    except Refusal as refusal:
        reason = str(refusal)
    return StepsBound(claim.model, claim.max_step, tuple(steps), reason, claim.update is not None)


class _Model:
    def __init__(self, image: Image, instructions: dict[int, Instruction], claim: Claim):
        self.image, self.claim = image, claim
        self.calls = Calls(image, instructions, claim.weights)
        self.layers = {symbol.address: name for name in claim.layers if (symbol := image.symbol(name))}

    def steps(self) -> Iterator[StepBound]:
        """Yields the bound of each step of an inference, from N_begin to its end."""
        memory = self._at_first()
        own: list[int] = []
        if f"{self.claim.model}_init" in self.claim.functions:
            own = [GIVEN[0]]
            memory = self._call("init", memory, GIVEN[:3], _BEGIN_LIMIT).memory
            self._forget_counters(memory, own)
            has_state = f"{self.claim.model}_reset" in self.claim.functions
            self._bind(memory, own[0] + (2 if has_state else 1) * _POINTER_BYTES)
        ports = GIVEN[3:]
        begun = self._call("begin", memory.copied(), [*own, *ports], _BEGIN_LIMIT)
        if (code := self.calls.result(begun)) != ReturnCode.OK:
            model = self.claim.model
            missing = f"no weights are in the program: it never passes {model}_weights to {model}_bind"
            raise Refusal(missing if code == ReturnCode.WEIGHTS else f"{model}_begin may refuse its pointers")
        shifts = {port: self._shifts(memory, own, port, ports) for port in ports}
        memory = begun.memory
        self._keep_canaries(memory, own)
        code = ReturnCode.MORE
        while code == ReturnCode.MORE:
            before = memory.copied()
            memory.touched.clear()
            state = self._call("step", memory, own, _MOST_TIMES * self.claim.max_step)
            memory, code = state.memory, self.calls.result(state)
            layer = next((self.layers[one] for one in state.called if one in self.layers), "")
            others = self._elsewhere(before, own, {port: shifts[port] for port in ports if port in memory.touched})
            yield StepBound(layer, max([state.instructions, *others]))
        if code != ReturnCode.OK:
            raise Refusal(f"what {self.claim.step_symbol} returns depends on data")

    def _at_first(self) -> Memory:
        """Returns the memory before the first inference, with the program's own weights bound."""
        memory = self.calls.memory()
        for part in self.claim.kept:
            if part.word == _COUNTERS:
                continue  # counters of earlier inferences may have any value
            symbol = self.image.symbol(part.symbol)
            for at in range(symbol.address, symbol.address + part.size_bytes, 4) if symbol else ():
                memory.store(at, 4, 0)
        if bound := self.image.symbol(f"{self.claim.model}_bound"):
            self._bind(memory, bound.address)
        return memory

    def _bind(self, memory: Memory, place: int) -> None:
        """Stores the address of the program's own weights at the place where N_bind stores it, if weights can be replaced. An
        instance has it after the pointers to its arena and state."""
        weights = self.image.symbol(self.claim.weights[0]) if self.claim.update and self.claim.weights else None
        if weights:
            memory.store(place, _POINTER_BYTES, weights.address)

    def _keep_canaries(self, memory: Memory, own: list[int]) -> None:
        """Keeps the words of the arena that have a value before the first step: the plan's checker proves that no layer writes
        there. The arena of the layers ends at its last word."""
        symbols = [symbol for part in self.claim.arenas if (symbol := self.image.symbol(part.symbol))]
        arenas = [(symbol.address, symbol.end) for symbol in symbols]
        arenas += [(GIVEN[1], GIVEN[1] + self.claim.arena_bytes)] if own else []
        for first, end in arenas:
            canaries = {at for at in memory.known if first <= at < end}
            memory.saved |= canaries
            if end - 4 in canaries:
                self.calls.objects.shorten(end - 4)

    def _forget_counters(self, memory: Memory, own: list[int]) -> None:
        """Forgets the words of an instance that N_monitor_reset writes: later inferences find other counters there."""
        if self.image.symbol(f"{self.claim.model}_monitor_reset"):
            for at in self._call("monitor_reset", self.calls.memory(), own, _BEGIN_LIMIT).memory.known:
                memory.kill(at, 4)

    def _shifts(self, memory: Memory, own: list[int], port: int, ports: Sequence[int]) -> tuple[int, ...]:
        """Returns the distances in bytes to a multiple of four that N_begin accepts for the address of an input or output."""
        found = []
        for shift in range(_ALIGNMENT):
            given = [one + shift if one == port else one for one in ports]
            begun = self._call("begin", memory.copied(), [*own, *given], _BEGIN_LIMIT)
            found += [shift] if self.calls.result(begun) == ReturnCode.OK else []
        return tuple(found)

    def _elsewhere(self, before: Memory, own: list[int], shifts: Mapping[int, tuple[int, ...]]) -> Iterator[int]:
        """Yields the instructions of the same step with its inputs and outputs at other addresses."""
        if math.prod(map(len, shifts.values())) > _MOST_PLACES:
            raise Refusal(f"a step touches {len(shifts)} inputs and outputs, too many places for all of them")
        for places in product(*shifts.values()):
            memory = before
            for port, shift in zip(shifts, places, strict=True):
                memory = memory.moved(port, port + GIVEN_BYTES, shift)
            if any(places):
                yield self._call("step", memory, own, _MOST_TIMES * self.claim.max_step).instructions

    def _call(self, name: str, memory: Memory, arguments: Sequence[int], limit: int) -> State:
        symbol = self.image.symbol(f"{self.claim.model}_{name}")
        if symbol is None:
            raise Refusal(f"{self.claim.model}_{name} is not in the program")
        return self.calls.call(symbol.address, arguments, memory, limit)
