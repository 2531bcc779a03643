# SPDX-License-Identifier: MIT
"""A small emitter of Thumb-2 assembly: lines with symbolic registers become one naked C function with comments."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from aidge_build.kernel_kit.asm_statements import asm_statements

_STATEMENT_COLUMN = 44
_SAVED_BYTES = 36  # r4-r11, lr
_FIRST_PRESERVED = 16  # s16-s31 belong to the caller


@dataclass(frozen=True)
class Waiting:
    """Where the numbers wait that the inner loop does not need: in FPU registers, or in as many words of the stack.

    `places`: the FPU register of each name; two neighbours move in one instruction. `on_stack` are names of more words that
    only a core without an FPU needs.
    """

    places: Mapping[str, int] = field(default_factory=dict)
    on_stack: tuple[str, ...] = ()
    has_fpu: bool = True

    @property
    def preserved(self) -> str:
        """The FPU registers that the caller wants back."""
        used = [place for place in self.places.values() if place >= _FIRST_PRESERVED]
        return f"s{_FIRST_PRESERVED}-s{max(used)}" if self.has_fpu and used else ""

    @property
    def frame_bytes(self) -> int:
        """Of the stack, below the saved registers."""
        if self.has_fpu:
            return 4 * (max(self.places.values()) - _FIRST_PRESERVED + 1) if self.preserved else 0
        return 4 * len(self._words)

    @property
    def argument_offset(self) -> int:
        """The caller's arguments on the stack, from the stack pointer."""
        return _SAVED_BYTES + self.frame_bytes

    @property
    def _words(self) -> list[str]:
        return [*sorted(self.places, key=self.places.__getitem__), *self.on_stack]

    def offset(self, name: str) -> int:
        """The byte of a name from the stack pointer; without an FPU."""
        return 4 * self._words.index(name)


class Routine:
    """Collects the instructions of one function; `{name}` in a line stands for the register of that name."""

    def __init__(self, registers: Mapping[str, str], waiting: Waiting | None = None):
        self.waiting = waiting or Waiting()
        self._registers = dict(registers)
        self._lines: list[tuple[str, str]] = []
        self._calls: dict[int, str] = {}
        self._behind: list[Callable[[], None]] = []
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

    def begin(self) -> None:
        """Save the caller's registers and make room for what waits."""
        self("push {{r4-r11, lr}}")
        if self.waiting.preserved:
            self(f"vpush {{{{{self.waiting.preserved}}}}}")
        elif self.waiting.frame_bytes:
            self(f"sub sp, sp, #{self.waiting.frame_bytes}")

    def end(self) -> None:
        """Give the caller's registers back and return; behind it comes what was put `behind`."""
        if self.waiting.preserved:
            self(f"vpop {{{{{self.waiting.preserved}}}}}")
        elif self.waiting.frame_bytes:
            self(f"add sp, sp, #{self.waiting.frame_bytes}")
        self("pop {{r4-r11, pc}}")
        for print_more in self._behind:
            print_more()

    def behind(self, print_more: Callable[[], None]) -> None:
        """Print this behind the end of the function, where only branches lead."""
        self._behind.append(print_more)

    def put(self, name: str, registers: str, comment: str = "") -> None:
        """Let one register wait as `name`, or two registers as `name` and what lies behind it."""
        self._move(name, registers, comment, ("vmov {state}, {registers}", "str{double} {registers}, [sp, #{offset}]"))

    def get(self, registers: str, name: str, comment: str = "") -> None:
        """Into one register what waits as `name`, or into two also what lies behind it."""
        self._move(name, registers, comment, ("vmov {registers}, {state}", "ldr{double} {registers}, [sp, #{offset}]"))

    def _move(self, name: str, registers: str, comment: str, forms: tuple[str, str]) -> None:
        count, place = registers.count(",") + 1, self.waiting.places.get(name, 0)
        state = ", ".join(f"s{place + index}" for index in range(count))
        double = "d" if count == 2 else ""
        offset = 0 if self.waiting.has_fpu else self.waiting.offset(name)
        form = forms[0 if self.waiting.has_fpu else 1]
        self(form.format(state=state, registers=registers, double=double, offset=offset), comment)

    def call(self, function: str) -> None:
        """Call a C function of the library. An operand names it, so that the compiler knows of the call."""
        self._calls[len(self._lines)] = f'    __asm__("    bl %c0\\n" : : "i"({function}));'
        self._line("", "")
        self.instructions += 1

    def _line(self, line: str, comment: str) -> None:
        quoted = f'        "{line}\\n"'
        self._lines.append((line, f"{quoted:<{_STATEMENT_COLUMN}} /* {comment} */" if comment else quoted))

    def _statements(self) -> str:
        pieces, first = [], 0
        for position, call in self._calls.items():
            pieces += [asm_statements(self._lines[first:position], head=".syntax unified"), call]
            first = position + 1
        return "\n".join([*pieces, asm_statements(self._lines[first:], head=".syntax unified")])

    def function(self, name: str, parameters: str, comment: str, portable: str) -> str:
        """The C text: a naked function where the compiler can take it, else `portable` as its body (if that is empty, a header
        of the library holds the C version).

        The basic asm statements keep to the procedure call standard; nothing in them is known to the compiler, and
        AIDGE_CORTEXM_NAKED keeps the compiler from guessing (no inlining, no clones, no register allocation across it).
        """
        declared = ", ".join(f"AIDGE_CORTEXM_PASSED {parameter.strip()}" for parameter in parameters.split(","))
        needed = "AIDGE_CORTEXM_FPU" if self.waiting.has_fpu else "AIDGE_CORTEXM_ASSEMBLY"
        return (
            f"/* {comment} */\n#if {needed}\nAIDGE_CORTEXM_NAKED void {name}({declared})\n{{\n{self._statements()}\n}}\n"
            + (f"#else\nstatic void {name}({parameters})\n{{\n    {portable}\n}}\n" if portable else "")
            + "#endif"
        )
