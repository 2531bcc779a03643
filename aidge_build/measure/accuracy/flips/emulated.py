# SPDX-License-Identifier: MIT
"""Flipped bits in the flash of a board: its own program in the emulator, called after each flip."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy

from aidge_build.base.errors import AidgeError
from aidge_build.boards import Board
from aidge_build.measure.accuracy.flips.bits import Constants, Flip
from aidge_build.measure.accuracy.flips.native import NONE, Outcome
from aidge_build.plan.program import Program
from aidge_build.prove.elf import read_claims, read_image
from aidge_build.run.emulate.model_calls import Caller, calling
from aidge_build.run.verify.firmware import execute

_OFTEN = 3  # as many instructions as without flips: then a run counts as endless


class EmulatedModel:
    """The program of a board in `folder`, with the stored bytes of the inputs of each sample."""

    def __init__(
        self,
        program: Program,
        board: Board,
        constants: Constants,
        samples: Sequence[Sequence[bytes]],
        folder: Path,
        flags: Sequence[str] = (),
    ):
        self._program, self._board, self._constants, self._samples = program, board, constants, samples
        view = program.view
        zeros = {name: numpy.zeros((1, *view.tensor(name).dims), view.tensor(name).dtype.numpy) for name in view.given}
        self._elf = execute(program, board, zeros, folder, flags=tuple(flags)).elf
        (self._claim,) = read_claims(read_image(self._elf))
        with calling(self._elf, board, self._claim) as caller:
            found = self._found(caller, NONE)
            self.reference = Outcome(self._outputs(caller), found)
            self._instructions = caller.counted()
        if self.reference.found:
            raise AidgeError("N_verify_constants finds damage without a flip", where=str(self._elf), code="RUN")

    def outcomes(self, flips: Sequence[Flip]) -> list[Outcome]:
        """Returns what each flip does; after a fault the program starts again."""
        found: list[Outcome] = []
        while len(found) < len(flips):
            found += self._until_a_fault(flips[len(found) :])
        return found

    def _until_a_fault(self, flips: Sequence[Flip]) -> Iterator[Outcome]:
        limit = _OFTEN * (len(flips) + 1) * self._instructions
        with calling(self._elf, self._board, self._claim, limit=limit) as caller:
            for flip in flips:
                found = self._found(caller, flip)
                try:
                    outputs = self._outputs(caller)
                except AidgeError:
                    yield Outcome(None, found)
                    return
                self._flip(caller, flip, 0)
                yield Outcome(outputs, found)

    def _found(self, caller: Caller, flip: Flip) -> bool | None:
        """Flips a bit, and returns whether N_verify_constants finds that; None in a program without it."""
        self._flip(caller, flip, 1 << flip.bit)
        if not self._program.options.verifies_constants:
            return None
        found = caller.call(f"{self._program.name}_verify_constants", 0xFFFFFFFF) != 0
        part = next(part for part in self._claim.kept if part.word == "integrity")
        caller.write(part.symbol, 0, bytes(part.size_bytes))
        return found

    def _outputs(self, caller: Caller) -> bytes:
        """The stored outputs of all samples, which are a stream for a model with state."""
        outputs, states = bytearray(), self._program.memory.states
        begin = self._program.initial_state_bytes().tobytes() + bytes([1] * states.needs_start)  # as N_reset, if it is not linked
        if states.size_bytes:
            caller.write(f"{self._program.name}_state", 0, begin)
        for sample in self._samples:
            outputs += b"".join(caller.run(sample).outputs)
        return bytes(outputs)

    def _flip(self, caller: Caller, flip: Flip, bits: int) -> None:
        """Writes a byte of the constants, with some bits flipped."""
        if flip is not NONE:
            array = self._constants.arrays[flip.array]
            caller.write(array.symbol, flip.byte, bytes([array.data[flip.byte] ^ bits]))
