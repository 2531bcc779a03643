# SPDX-License-Identifier: MIT
"""A small emitter of ARMv6-M assembly: lines become one naked C function with comments."""

from __future__ import annotations

from aidge_build.kernel_kit.asm_statements import asm_statements

_STATEMENT_COLUMN = 44


class Routine:
    """Collects the instructions of one function. Low registers are r0 to r7: only MOV, ADD and CMP reach the others."""

    def __init__(self) -> None:
        self._lines: list[tuple[str, str]] = []
        self.instructions = 0

    def __call__(self, line: str, comment: str = "") -> None:
        """One instruction."""
        self._line("    " + line, comment)
        self.instructions += 1

    def label(self, number: int, comment: str = "") -> None:
        """A numeric local label: reached as `<number>b` or `<number>f`."""
        self._line(f"{number}:", comment)

    def push_all(self) -> None:
        """Saves r4 to r11 and the return address: 36 bytes."""
        self("push {r4-r7, lr}")
        for low, high in zip(range(4, 8), range(8, 12)):
            self(f"mov r{low}, r{high}")
        self("push {r4-r7}")

    def pop_all(self) -> None:
        """Back to the caller of `push_all`."""
        self("pop {r4-r7}")
        for low, high in zip(range(4, 8), range(8, 12)):
            self(f"mov r{high}, r{low}")
        self("pop {r4-r7, pc}")

    def _line(self, line: str, comment: str) -> None:
        quoted = f'        "{line}\\n"'
        self._lines.append((line, f"{quoted:<{_STATEMENT_COLUMN}} /* {comment} */" if comment else quoted))

    def function(self, name: str, parameters: str, comment: str, portable: str, result: str = "void") -> str:
        """The C text: a naked function where the compiler can take it, else `portable` as its body (if that is empty, a header
        of the library holds the C version).

        The basic asm statements keep to the procedure call standard; nothing in them is known to the compiler.
        """
        declared = ", ".join(f"AIDGE_ARMV6M_PASSED {parameter.strip()}" for parameter in parameters.split(","))
        statements = asm_statements(self._lines, head=".syntax unified")
        head = f"/* {comment} */\n#if AIDGE_ARMV6M_ASSEMBLY\n"
        return (
            f"{head}AIDGE_ARMV6M_NAKED {result} {name}({declared})\n{{\n{statements}\n}}\n"
            + (f"#else\nstatic {result} {name}({parameters})\n{{\n    {portable}\n}}\n" if portable else "")
            + "#endif"
        )
