# SPDX-License-Identifier: MIT
"""The emitter of this library's assembly, and the registers of its texts.

Vectors: v0 and the next ones hold what the sums of all pixels share, then each pixel has a group of registers for its sums.
"""

from __future__ import annotations

from collections.abc import Sequence

from aidge_build.contract.kernel_kit import routine
from aidge_build.contract.thumb.statements import asm_statements

FEATURES = frozenset({"rvv"})
FLOATS = "zve32f"
WITH_FLOATS = FEATURES | {FLOATS}
LANES = 4  # of 32 bits in a vector register, at least
REGISTERS = 32
FRAME_BYTES = 64
HEAD_PLACE = 48  # in the frame: the word after the saved registers
_SAVED = 12  # s0 to s11


class Routine(routine.Routine):
    """A function with scalar registers by name. Its first instructions save s0 to s11."""

    macros = "AIDGE_RVV"

    def statements(self, lines: Sequence[tuple[str, str]]) -> str:
        return asm_statements([(line, routine.printed(line, comment)) for line, comment in lines])

    def enter(self) -> None:
        """Saves the registers of the caller."""
        self(f"addi sp, sp, -{FRAME_BYTES}")
        for number in range(_SAVED):
            self(f"sw s{number}, {4 * number}(sp)")

    def leave(self) -> None:
        """Restores the registers and returns."""
        for number in range(_SAVED):
            self(f"lw s{number}, {4 * number}(sp)")
        self.lines(f"addi sp, sp, {FRAME_BYTES}", "ret")

    def lines(self, *lines: str) -> None:
        """Adds several lines."""
        for line in lines:
            self(line)

    def again(self, counter: str, label: int) -> None:
        """Ends a loop that begins at the label: one turn less."""
        self.lines(f"addi {{{counter}}}, {{{counter}}}, -1", f"bnez {{{counter}}}, {label}b")

    def each(self, registers: Sequence[str], line: str) -> None:
        """Adds the line for each of these registers, in the place of {0}."""
        for register in registers:
            self(line.format(register))

    def elements(self, bits: int, sum_registers: int) -> None:
        """Sets the width of elements for as many as there are sums, which take `sum_registers` each."""
        self(f"vsetvli zero, zero, e{bits}, {group(bits, sum_registers)}, ta, ma")


def emit_stored(code: Routine, results: Sequence[str], registers: int) -> None:
    """Limits results of 32 bits, in so many registers each, to int16, then to int8, then by {low} and {high}."""
    for bits in (16, 8):
        code.elements(bits, registers)
        code.each(results, "vnclip.wi {0}, {0}, 0")
    code.each(results, "vmax.vx {0}, {0}, {{low}}")
    code.each(results, "vmin.vx {0}, {0}, {{high}}")


def group(bits: int, sum_registers: int) -> str:
    """Returns how many registers hold elements of so many bits, next to sums of 32 bits."""
    registers = sum_registers * bits // 32
    return f"m{registers}" if registers else f"mf{32 // (sum_registers * bits)}"
