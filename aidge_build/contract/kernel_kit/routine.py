# SPDX-License-Identifier: MIT
"""A small emitter of Thumb assembly: lines become one naked C function with comments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from aidge_build.contract.kernel_kit.registers.refusals import names_of
from aidge_build.contract.kernel_kit.registers.texts import Line, names_values, with_registers
from aidge_build.contract.thumb.statements import asm_statements

_STATEMENT_COLUMN = 44


class Routine:
    """Collects the instructions of one function; `{name}` in a line is replaced by the register of that name, if `registers` are
    given.

    A library's subclass names its `macros`: <macros>_ASSEMBLY says whether the compiler can take the assembly.
    """

    macros: str
    loads_bytes_anywhere = False  # with their sign, at a distance from an address
    has_carry = True
    adds_products = False  # has operands that are shifted, MLA, and the same instructions for all registers: Thumb-2
    multiplies_high = False  # has the upper half of a product with a sign and one without

    def __init__(self, registers: Mapping[str, str] | None = None):
        self._registers = registers
        self._lines: list[tuple[str, str]] = []
        self.instructions = 0

    def __call__(self, line: str, comment: str = "") -> None:
        """Adds an instruction."""
        self._line("    " + (line if self._registers is None else line.format_map(self._registers)), comment)
        self.instructions += 1

    def label(self, name: int | str, comment: str = "") -> None:
        """Adds a local label: a number is reached as `<number>b` or `<number>f`, a word (if values have names) as `%<word>`."""
        self._line(f"%{name}:" if isinstance(name, str) else f"{name}:", comment)

    def table_jump(self, register: str, labels: Sequence[int | str], first: int | str, is_far: bool = False) -> None:
        """Adds a jump to one of these later labels, chosen by the number in a register; label `first` marks the table. `is_far`:
        the labels are more than 510 bytes away."""
        self(f"tbh [pc, {register}, lsl #1]" if is_far else f"tbb [pc, {register}]")
        self.label(first)
        for label in labels:
            self._line(f"    .{'hword' if is_far else 'byte'} ({reached(label)} - {reached(first, 'b')}) / 2", "")
        self._line("    .p2align 1", "")

    def align(self) -> None:
        """Begins a word of the text."""
        self._line("    .p2align 2", "")

    def constant(self, register: str, value: int) -> None:
        """Loads a 32-bit number into a register, without a literal pool."""
        value &= 0xFFFFFFFF
        self(f"movw {register}, #{value & 0xFFFF}")
        if value >> 16:
            self(f"movt {register}, #{value >> 16}")

    def _line(self, line: str, comment: str) -> None:
        self._lines.append((line, comment))

    @property
    def condition(self) -> str:
        """The macro that says whether the compiler can take the assembly."""
        return f"{self.macros}_ASSEMBLY"

    def with_registers(self, lines: tuple[Line, ...], parameters: str, name: str) -> tuple[Line, ...]:
        """Returns the lines of the function `name` with registers in the place of values."""
        return with_registers(lines, names_of(parameters, name), name) if names_values(lines) else lines

    def statements(self, lines: Sequence[tuple[str, str]]) -> str:
        """Returns the body of the naked function."""
        return asm_statements([(line, printed(line, comment)) for line, comment in lines], head=".syntax unified")

    def function(self, name: str, parameters: str, comment: str, portable: str = "", result: str = "void") -> str:
        """Returns the C text: a naked function if the compiler can take assembly, else a function with the body `portable`
        (empty: a header of the library holds the C version, or no build without assembly gets the kernel). Values with names
        get registers here.

        The basic asm statements keep to the procedure call standard. The compiler knows nothing of them, and AIDGE_KIT_NAKED
        keeps it from guessing (no inlining, no clones, no register allocation across the call).
        """
        passed = [parameter.strip() for parameter in parameters.split(",")]
        lines = self.with_registers(tuple(self._lines), parameters, name)
        declared = ", ".join(f"AIDGE_KIT_PASSED {parameter}" for parameter in passed)
        naked = f"AIDGE_KIT_NAKED {result} {name}({declared})\n{{\n{self.statements(lines)}\n}}"
        text = f"/* {comment} */\n#if {self.condition}\n{naked}\n"
        return text + (f"#else\nstatic {result} {name}({parameters})\n{{\n    {portable}\n}}\n" if portable else "") + "#endif"


def reached(label: int | str, where: str = "f") -> str:
    """Returns the operand of a jump to a label, which is ahead ("f") or not ("b")."""
    return f"%{label}" if isinstance(label, str) else f"{label}{where}"


def printed(line: str, comment: str) -> str:
    """Returns the C of a line of assembly."""
    quoted = f'        "{line}\\n"'
    return f"{quoted:<{_STATEMENT_COLUMN}} /* {comment} */" if comment else quoted
