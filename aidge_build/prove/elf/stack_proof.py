# SPDX-License-Identifier: MIT
"""Compares the bound of the stack with what is reserved for it, and with a budget."""

from __future__ import annotations

from collections.abc import Iterator

from aidge_build.base.naming import counted
from aidge_build.prove.elf.deepest import SHOWN_CALLS, StackBound, chain_of
from aidge_build.prove.elf.findings import ERROR, NOTE, WARNING, Finding
from aidge_build.prove.elf.stack import StackUse

_OTHER_STACK = (
    "code that changes stacks, such as an operating system's, has several: size each task's by the bounds of what it calls"
)
_MEASURE = "measure it: fill the stack with a pattern, run, and look how far it was overwritten"
# Remedies by words in the reason; without any of these words the hint of the finding's code applies.
_HINTS = (
    ("recursion", "a loop instead, or a stack of your own for what is still to do"),
    ("depends on data", "an array of the largest size instead of one of a variable size"),
    ("an indirect", "call the function by its name; the bounds of the models alone are not concerned"),
    ("of an extension", "-march names the extensions: compile the function for fewer, such as rv32imafc"),
    ("lets traps lead", "write the address of the handler to mtvec in the code that names it"),
    ("a mode of its core alone", "handlers of CLIC are not followed: add to your budget what those that may nest hold together"),
    ("is no jump", "a table for mode 1 of mtvec has a jump for each interrupt, and its symbol holds nothing else"),
    ("no code writes the address", "write the address of the handler to mtvec before interrupts are let in"),
    ("may make a trap return", "a handler may write mepc only with what it read there: other code runs on the stack of a trap"),
    ("may let interrupts in", "handlers may nest then: add to your budget what those of all levels hold together"),
    ("does not hand back", "a handler saves each register that it writes: __attribute__((interrupt)) in C"),
    ("which leads to an address", "a handler that returns by mret is followed if the program writes its address to mtvec"),
    ("code that writes mtvec", "the reason why the program has no bound is the reason here, too"),
    ("the global pointer", "only start-up code may write gp, and only the address of __global_pointer$"),
    ("does not know", "a newer toolchain (AIDGE_TOOLCHAIN_PREFIX)"),
    ("not on this machine", "`aidge-build doctor` names the package, AIDGE_TOOLCHAIN_PREFIX another toolchain"),
    ("has no symbols", "check before `strip`"),
    ("for Cortex-M and RISC-V alone", _MEASURE),
    ("for another RISC-V", _MEASURE),
    ("which are not read", f"compile without this extension, or {_MEASURE}"),
    (
        "no vector table",
        "a section .vectors or .isr_vector, or a table in .text: the stack's top, the reset handler, further ones",
    ),
    ("the ELF's entry point", "link with -Wl,-e,Reset_Handler, or write ENTRY(Reset_Handler) in the linker script"),
    (" is set, at", _OTHER_STACK),
    ("the stack pointer", _OTHER_STACK),
    ("a supervisor call", _OTHER_STACK),
    (
        "which is not in the program",
        "only its author knows the stack use of code that the ELF does not hold, such as a boot ROM's",
    ),
    ("where no instruction is", "code in a section that is not executable is not read: put it into one that is"),
    ("left on the stack", "assembler code must leave the stack as it found it"),
    ("the way that leads there", "assembler code must hold as much on each way to an instruction"),
    ("jump table", "compile the function with -fno-jump-tables"),
)
# Generated code has none of these: if a model has no bound for such a reason, a function that it calls is the cause.
_FOREIGN = ("an indirect", "which is not in the program", "where no instruction is")


def check_stack(use: StackUse, budget_bytes: int | None) -> Iterator[Finding]:
    """Yields STK01 for a stack that is too small, and STK02 without a bound: an error if the user gave a budget."""
    program, interrupt = use.program, use.interrupt
    if not use.is_read:
        yield Finding("STK02", NOTE, f"no stack bound for this machine: {explain(program)}", _hint(program))
        return
    # A missing bound is the firmware's fault if all models have bounds.
    of_firmware = bool(use.runs) and all(bound.bytes is not None for bound in use.runs.values())
    if program.bytes is None:
        severity = WARNING if budget_bytes is None else ERROR
        yield Finding("STK02", severity, f"no stack bound: {explain(program)}", _hint(program), of_firmware)
    elif budget_bytes is not None and program.bytes > budget_bytes:
        yield Finding(
            "STK01",
            ERROR,
            f"worst stack {program.bytes:,} B, the budget is {budget_bytes:,} B "
            f"(+{program.bytes - budget_bytes:,} B). Path: {way(program)}",
            "less on the path that is named, or a larger budget (--max-stack, MAX_STACK)",
        )
    if program.bytes is not None and use.reserved_bytes is not None:
        yield from _check_reserve(program, interrupt, use.reserved_bytes, use.reserved_by)
    for name, bound in sorted(use.runs.items()):
        if bound.bytes is None:
            yield Finding("STK02", WARNING, f"no stack bound of {name}: {explain(bound)}", _run_hint(bound))
    if interrupt.bytes is None:
        unknown = f"what an interrupt adds to the stack is not known: {explain(interrupt)}"
        yield Finding("STK02", NOTE, unknown, _hint(interrupt), of_firmware)
    if use.unseen:
        yield Finding(
            "STK02",
            NOTE,
            f"handlers of interrupts that no vector table of the ELF names are not seen: {'; '.join(use.unseen)}",
            "add what the largest of them holds to the figure of an interrupt",
            of_firmware,
        )


def _check_reserve(program: StackBound, interrupt: StackBound, reserved_bytes: int, by: str) -> Iterator[Finding]:
    """Yields STK01: an error if our own script reserves the bytes, a warning for a foreign script, which may leave more bytes
    free below."""
    added = interrupt.bytes or 0
    excess = program.bytes + added - reserved_bytes
    if excess > 0:
        yield Finding(
            "STK01",
            WARNING if by else ERROR,
            f"worst stack {program.bytes:,} B + {added:,} B for one interrupt > "
            f"{reserved_bytes:,} B reserved{f' by {by}' if by else ''} (+{excess:,} B). Path: {way(program)}",
            f"reserve {reserved_bytes + excess:,} B there, or less on the path that is named" if by else "",
        )


def way(bound: StackBound) -> str:
    """Returns `main 24 > kws_run 40 > kws_conv_1 112`, the bytes that each function holds; start-up code that holds none is
    omitted."""
    shown = list(zip(bound.path, bound.held_bytes, strict=True))
    while len(shown) > 1 and shown[0][1] == 0 and "main" in bound.path and shown[0][0] != "main":
        del shown[0]
    hidden = shown[SHOWN_CALLS:-SHOWN_CALLS] if len(shown) > 2 * SHOWN_CALLS + 1 else []
    steps = [f"{name} {held:,}" for name, held in shown]
    if hidden:
        steps[SHOWN_CALLS:-SHOWN_CALLS] = [f"... {counted(len(hidden), 'call')} with {sum(held for _, held in hidden):,} ..."]
    return " > ".join(steps)


def _run_hint(bound: StackBound) -> str:
    if not bound.path:
        return "does the firmware call it?"
    if any(part in bound.reason for part in _FOREIGN):
        last = [name for name in bound.path if not name.startswith("0x")][-1]
        return f"generated code calls by name alone: link another {last}, or add to your budget what this one holds"
    return _hint(bound)


def _hint(bound: StackBound) -> str:
    return next((hint for part, hint in _HINTS if part in bound.reason), "")


def explain(bound: StackBound) -> str:
    """Returns why there is no bound, and along which calls."""
    return f"{bound.reason}. Path: {chain_of(bound.path)}" if bound.path else bound.reason
