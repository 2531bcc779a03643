# SPDX-License-Identifier: MIT
"""A small emitter of Thumb-2 assembly: lines with symbolic registers become one naked C function with comments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from aidge_build.kernel_kit.asm_statements import asm_statements

_STATEMENT_COLUMN = 44


class Routine:
    """Collects the instructions of one function; `{name}` in a line stands for the register of that name.

    A library's subclass names its `macros`: <macros>_ASSEMBLY says whether the compiler can take the assembly, <macros>_NAKED
    begins its function, and <macros>_PASSED stands before each parameter.
    """

    macros: str

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

    def table_jump(self, register: str, labels: Sequence[int], first: int) -> None:
        """To one of these labels further on, by the number in a register; label `first` marks the table."""
        self(f"tbb [pc, {register}]")
        self.label(first)
        for label in labels:
            self._line(f"    .byte ({label}f - {first}b) / 2", "")
        self._line("    .p2align 1", "")

    def constant(self, register: str, value: int) -> None:
        """A 32-bit number into a register, without a literal pool."""
        value &= 0xFFFFFFFF
        self(f"movw {register}, #{value & 0xFFFF}")
        if value >> 16:
            self(f"movt {register}, #{value >> 16}")

    def _line(self, line: str, comment: str) -> None:
        quoted = f'        "{line}\\n"'
        self._lines.append((line, f"{quoted:<{_STATEMENT_COLUMN}} /* {comment} */" if comment else quoted))

    def function(self, result: str, name: str, parameters: str, comment: str, portable: str) -> str:
        """The C text: a naked function where the compiler can take it, else `portable` as its body ("": none is needed).

        The basic asm statements keep to the procedure call standard; nothing in them is known to the compiler, and
        <macros>_NAKED keeps the compiler from guessing (no inlining, no clones, no register allocation across it).
        """
        declared = ", ".join(f"{self.macros}_PASSED {parameter.strip()}" for parameter in parameters.split(","))
        statements = asm_statements(self._lines, head=".syntax unified")
        text = (
            f"/* {comment} */\n#if {self.macros}_ASSEMBLY\n"
            f"{self.macros}_NAKED {result} {name}({declared})\n{{\n{statements}\n}}\n"
        )
        return text + (f"#else\nstatic {result} {name}({parameters})\n{{\n    {portable}\n}}\n" if portable else "") + "#endif"
