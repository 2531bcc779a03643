# SPDX-License-Identifier: MIT
"""A small emitter of Thumb-2 assembly: lines with symbolic registers become one naked C function with comments."""

from __future__ import annotations

from collections.abc import Mapping

from aidge_build.kernel_kit.asm_statements import asm_statements

_STATEMENT_COLUMN = 44


class Routine:
    """Collects the instructions of one function; `{name}` in a line stands for the register of that name."""

    def __init__(self, registers: Mapping[str, str]):
        self._registers = dict(registers)
        self._lines: list[tuple[str, str]] = []
        self.instructions = 0

    def __call__(self, line: str, comment: str = "") -> None:
        """One instruction."""
        self._line("    " + line.format_map(self._registers), comment)
        self.instructions += 1

    def label(self, number: int, comment: str = "") -> None:
        """A numeric local label: reached as `<number>b` or `<number>f`."""
        self._line(f"{number}:", comment)

    def constant(self, register: str, value: int) -> None:
        """A 32-bit number into a register, without a literal pool."""
        value &= 0xFFFFFFFF
        if value >> 16:
            self(f"movw {register}, #{value & 0xFFFF}")
            self(f"movt {register}, #{value >> 16}")
        else:
            self(f"movw {register}, #{value}")

    def _line(self, line: str, comment: str) -> None:
        quoted = f'        "{line}\\n"'
        self._lines.append((line, f"{quoted:<{_STATEMENT_COLUMN}} /* {comment} */" if comment else quoted))

    def function(self, name: str, parameters: str, comment: str, portable: str) -> str:
        """The C text: a naked function where the compiler can take it, else `portable` as its body (if that is empty, a header
        of the library holds the C version).

        The basic asm statements keep to the procedure call standard; nothing in them is known to the compiler, and
        AIDGE_CORTEXM_NAKED keeps the compiler from guessing (no inlining, no clones, no register allocation across it).
        """
        declared = ", ".join(f"AIDGE_CORTEXM_PASSED {parameter.strip()}" for parameter in parameters.split(","))
        statements = asm_statements(self._lines, head=".syntax unified")
        return (
            f"/* {comment} */\n#if AIDGE_CORTEXM_ASSEMBLY\nAIDGE_CORTEXM_NAKED void {name}({declared})\n{{\n{statements}\n}}\n"
            + (f"#else\nstatic void {name}({parameters})\n{{\n    {portable}\n}}\n" if portable else "")
            + "#endif"
        )
