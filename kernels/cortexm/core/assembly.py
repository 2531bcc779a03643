# SPDX-License-Identifier: MIT
"""The emitter of this library's assembly, and where numbers wait that its inner loops do not need."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from aidge_build.contract.kernel_kit import routine
from aidge_build.contract.kernel_kit.narrow.core import Core

_SAVED_BYTES = 36  # r4-r11, lr
_CALL = "call "  # a function of C, by a statement of its own
_FIRST_PRESERVED = 16  # s16-s31 belong to the caller


@dataclass(frozen=True)
class Waiting:
    """The places of the numbers that the inner loop does not need: FPU registers, or as many words of the stack.

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
        """The bytes of the stack below the saved registers."""
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


class Routine(routine.Routine):
    """One function, whose numbers may be `waiting`."""

    macros = "AIDGE_CORTEXM"
    adds_products = True

    def __init__(self, registers: Mapping[str, str] | None = None, waiting: Waiting | None = None):
        super().__init__(registers)
        self.waiting = waiting or Waiting()
        self._behind: list[Callable[[], None]] = []

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
        self.print_behind()

    def print_behind(self) -> None:
        """Prints the code that `behind` collected for the end of the function."""
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

    def call(self, function: str, *arguments: str, result: str = "") -> None:
        """Call a C function of the library, of these arguments if values have names. An operand names it, so that the compiler
        knows of the call."""
        named = f"({', '.join(arguments)}) {result}".rstrip() if arguments else ""
        self._line(f"    {_CALL}{function}{named}", "")
        self.instructions += 1

    @property
    def condition(self) -> str:
        fpu = "v", "%enter.floats"  # its instructions alone begin with v, and values may wait in its registers
        uses_fpu = any(line.lstrip().startswith(fpu) for line, _ in self._lines)
        return "AIDGE_CORTEXM_FPU" if uses_fpu else super().condition

    def statements(self, lines: Sequence[tuple[str, str]]) -> str:
        pieces, first = [], 0
        for position, (line, _) in enumerate(lines):
            if line.strip().startswith(_CALL):
                call = f'    __asm__("    bl %c0\\n" : : "i"({line.strip().removeprefix(_CALL)}));'
                pieces += [super().statements(lines[first:position]), call]
                first = position + 1
        return "\n".join([*pieces, super().statements(lines[first:])])


CORE = Core("cortexm", Routine, frozenset({"dsp"}))  # of kernels for cores without an FPU that other libraries have, too
