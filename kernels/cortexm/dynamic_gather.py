# SPDX-License-Identifier: MIT
"""What layers of dynamic quantization read for two pixels at once, in assembly: the taps of windows that lie inside the image."""

from __future__ import annotations

from .assembly import Routine

PARAMETERS = "uint32_t *column, const uint8_t *first, const uint8_t *second, const aidge_cortexm_dynamic_runs *runs"
LEAST_RUN = 4  # bytes, of windows in the image: up to 3 bytes before the last one are read


def gather(length: int, signed: bool) -> tuple[str, str]:
    """Name and text of what gathers runs of `length` bytes in the order of `order_of`; `signed`: of int8."""
    eights, rest = divmod(length, 8)
    has_four, tail = divmod(rest, 4)
    letter = "s" if signed else "u"
    name = f"aidge_cortexm_dynamic_gather_{'eights_' * (eights > 0)}{rest}{'_signed' * signed}"
    code = Routine({"column": "r0", "first": "r1", "second": "r2", "eights": "r3", "zeros": "r12", "runs": "lr"})
    code("push {{r4-r11, lr}}")
    code("ldr {zeros}, [r3]")
    code(f"mov r4, #{0x800080 if signed else 0}", "data are read with their signs")
    code("ssub16 {zeros}, r4, {zeros}", "less than nothing, to be added")
    code("ldr {runs}, [r3, #4]")
    code("ldrd r4, r5, [r3, #8]", "eights, step")
    code("vmov s0, s1, r4, r5")
    code.label(1, "a run")
    if eights:
        code("vmov {eights}, s0")
        code.label(2, "8 bytes of both")
        _quad(code, letter, ("r4", "r5", "r6", "r7"))
        _quad(code, letter, ("r8", "r9", "r10", "r11"))
        code("stm {column}!, {{r4-r11}}")
        code("subs {eights}, {eights}, #1")
        code("bne 2b")
    if has_four:
        _quad(code, letter, ("r4", "r5", "r6", "r7"))
        code("stm {column}!, {{r4-r7}}")
    _tail(code, letter, tail)
    code("vmov r4, s1")
    code("add {first}, {first}, r4")
    code("add {second}, {second}, r4")
    code("subs {runs}, {runs}, #1")
    code("bne 1b")
    code("pop {{r4-r11, pc}}")
    portable = f"aidge_cortexm_dynamic_gather_two(column, first, second, runs, {0x80808080 if signed else 0}u);"
    return name, code.function(name, PARAMETERS, "Taps of two pixels.", portable)


def _quad(code: Routine, letter: str, targets: tuple[str, str, str, str], place: str = "], #4") -> None:
    """4 bytes of both pixels: bytes 0 and 2 of both, then 1 and 3 of both."""
    for source, target in (("first", targets[0]), ("second", targets[1])):
        code(f"ldr {target}, [{{{source}}}{place}")
    for even, odd in (targets[::2], targets[1::2]):
        code(f"{letter}xtab16 {odd}, {{zeros}}, {even}, ror #8")
        code(f"{letter}xtab16 {even}, {{zeros}}, {even}")


def _tail(code: Routine, letter: str, tail: int) -> None:
    """The last 1, 2 or 3 bytes of a run."""
    if tail == 3:
        _quad(code, letter, ("r4", "r5", "r6", "r7"), ", #-1]")
        code("stm {column}!, {{r4-r7}}")
    elif tail:
        for source, target in (("first", "r4"), ("second", "r5")):
            code(f"{'ldrh' if tail == 2 else 'ldrb'} {target}, [{{{source}}}]")
            if tail == 2:
                code(f"orr {target}, {target}, {target}, lsl #8", "the second one to byte 2")
            code(f"{letter}xtab16 {target}, {{zeros}}, {target}{', ror #16' if tail == 1 else ''}")
        code("stm {column}!, {{r4-r5}}")
