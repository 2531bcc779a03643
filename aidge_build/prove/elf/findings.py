# SPDX-License-Identifier: MIT
"""The findings of a check about a program, and the meaning of their codes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

ERROR, WARNING, NOTE = "error", "warning", "note"


@dataclass(frozen=True)
class Rule:
    """The meaning of a code, and the usual remedy."""

    meaning: str
    hint: str


RULES = {
    "MEM01": Rule(
        "a memory region overflows, or a section is outside of all memories", "`aidge-build report` shows what fills it"
    ),
    "MEM02": Rule(
        "an arena, a state, the weights or placed code differ from the plan, or are elsewhere",
        "generate, compile and link again from one model",
    ),
    "MEM03": Rule(
        "weights are in RAM, or weights or code of a model are not stored or loaded",
        "the linker script must place .rodata in flash; where start-up code copies it on purpose, say --weights-in",
    ),
    "MEM04": Rule(
        "the program is not the one of the plan, its code and constants are of two models, or its note is gone",
        "generate, compile and link again from one model",
    ),
    "MEM05": Rule(
        "the same bytes are linked several times", "define them in one C file, not in a header, or give equal tensors one name"
    ),
    "MEM06": Rule("a memory is almost full", "`aidge-build report` shows what fills it"),
    "MEM07": Rule(
        "layers or weights of the plan are not in the program, or nothing calls the function that binds weights",
        "whether the code uses them is not known: compile the model without -flto and name its object files with --objects",
    ),
    "MEM08": Rule("the heap is linked", "-Wl,--trace-symbol=malloc names the code that asks for it"),
    "MEM09": Rule("double arithmetic in software is linked", "is a literal 1.0 meant to be 1.0f? -Wdouble-promotion finds it"),
    "MEM10": Rule(
        "more flash is used than the budget allows",
        "`aidge-build report --diff` shows what grew; `compile --optimize size` is smaller",
    ),
    "MEM11": Rule("the ELF file's own headers would be loaded", "link with -n, or -Wl,-z,max-page-size=4"),
    "MEM12": Rule(
        "bytes of an arena, of weights or of the image belong to something else, too",
        "give each section memory of its own; models with arenas that take turns must say so: --shares kws+vww",
    ),
    "MEM13": Rule(
        "a model was generated for another core or FPU than the program, or the program is for another one than the board",
        "generate it with the board or core of this program",
    ),
    "MEM14": Rule(
        "an array of weights does not hold the bytes that were generated",
        "only the linker may write the program: link again, and look for the tool that changes it afterwards",
    ),
    "MEM15": Rule(
        "words may be accessed at any address in memory where that is a fault",
        "where the MPU makes the memory Normal, say so; else generate with --unaligned off",
    ),
    "COD01": Rule(
        "code or constants are not what the object files hold",
        "link again from these objects and from no other copy of them; tools that run after the link must not change their code",
    ),
    "COD02": Rule(
        "an address in the code leads elsewhere than the object files say, or to a symbol that the program lacks",
        "link again from these objects and from no other copy of them; tools that run after the link must not change their code",
    ),
    "DMA01": Rule(
        "bytes that DMA touches share a line of the data cache with something else",
        "alignas(N_DMA_LINE) and the size N_INPUT_DMA_BYTES of the model's header (--dma on) give an array lines of its own",
    ),
    "DMA02": Rule(
        "a hook of a model is the empty one that comes with it",
        "define it in an object that is linked by its name: nothing takes it out of a library (.a); without DMA: --dma off",
    ),
    "DMA03": Rule(
        "only one of the two hooks that copy constants is the firmware's: layers may read before a transfer has ended",
        "define both in objects that are linked by their names, or none: then the model copies by itself",
    ),
    "DMA04": Rule(
        "DMA writes an array in cached memory, and no code invalidates the data cache",
        "SCB_InvalidateDCache_by_Addr() between the transfer and N_run, as in N_before_input (--dma on), or an array in memory "
        "that is not cached",
    ),
    "STK01": Rule(
        "the stack may grow beyond its reserve or its budget",
        "a larger stack_size in the board file, or less on the path that is named",
    ),
    "STK02": Rule(
        "no bound of the stack can be proved", "call functions by name and without recursion, with arrays of fixed sizes"
    ),
    "STK03": Rule(
        "the stack begins in no RAM, or may use bytes of something else",
        "let the linker script set the begin of the stack to the end of a RAM, with nothing else in the last bytes: the first "
        "word of a vector table, and on RISC-V the symbol that start-up code writes to sp",
    ),
    "RUN01": Rule(
        "the firmware's call of the model computed nothing: N_run returned a code",
        "the code says what to look at: 1 pointers (an arena of the caller needs N_ARENA_ALIGNMENT, other buffers that of their "
        "elements), 3 the order of calls, 4 N_bind, 6 constants (`check` names the changed ones), 7 who writes next to the arena",
    ),
    "RUN02": Rule(
        "the model was called while another call of it had not returned, and both use one arena",
        "one caller at a time (a lock, or a masked interrupt), or --arena caller and an arena for each caller",
    ),
    "RUN03": Rule(
        "code uses the FPU, and no code switches it on: a fault on the board (NOCP in UFSR)",
        "SCB->CPACR |= 0xF << 20, then DSB and ISB, at the start of the reset handler: SystemInit of CMSIS does so",
    ),
    "RUN04": Rule(
        "the stack was used down to the last word of its reserve: it overflows, or nearly",
        "`aidge-build check` names the path that needs the most",
    ),
    "RUN05": Rule(
        "inputs that the firmware passes are not like the samples",
        "quantize with N_INPUT_SCALE and N_INPUT_ZERO_POINT of the header, in the order of N_INPUT_DIMS",
    ),
    "RUN06": Rule(
        "the firmware is slower than the estimate: its clock is another one, or its memory waits longer",
        "switch on PLL, caches and prefetch, and call SystemCoreClockUpdate(); or describe the chip in the board's file as your "
        "firmware sets it",
    ),
    "INS01": Rule(
        "an inference takes more instructions than the budget allows", "`aidge-build report --counts` shows the layers"
    ),
    "CYC01": Rule(
        "an inference may take more cycles, or milliseconds, than the budget allows",
        "`aidge-build report --counts` shows the layers",
    ),
    "INS02": Rule(
        "a step of an inference takes, or may take, more instructions than the model promises",
        "a smaller max_step cuts layers finer",
    ),
    "INS03": Rule(
        "no bound of a step can be proved for all inputs",
        "data decide how often a loop repeats: count with vectors of both extremes (`aidge-build verify`), and add "
        "`--max-step-unproved warning` if this is enough",
    ),
    "NOTE": Rule(
        "the program holds no claim of a model", "does it call a generated model? Its linker script must keep .note.aidge"
    ),
}


@dataclass(frozen=True)
class Finding:
    """One fact about the program; `code` is one of RULES and stable, `severity` is "error", "warning" or "note". `of_firmware`:
    the fact is about no model. `differing` names a model that was linked from other files than the given files."""

    code: str
    severity: str
    text: str
    special_hint: str = ""
    of_firmware: bool = field(default=False, repr=False)
    differing: str = field(default="", repr=False)

    @property
    def hint(self) -> str:
        """The remedy."""
        return self.special_hint or RULES[self.code].hint

    def line(self, where: object) -> str:
        """Returns the finding as one line."""
        return f"{where}: {self.severity} {self.code}: {self.text.rstrip('.')}. Hint: {self.hint}"


def lines_of(findings: Sequence[Finding], where: object) -> list[str]:
    """Returns a line for each finding; warnings and notes about no model share the last line, with the first sentence of each."""
    shared = [finding for finding in findings if finding.of_firmware and finding.severity != ERROR]
    if len(shared) < 2:
        return [finding.line(where) for finding in findings]
    facts = "; ".join(f"{finding.code} {finding.text.partition('. ')[0]}" for finding in shared)
    severity = WARNING if any(finding.severity == WARNING for finding in shared) else NOTE
    codes = ",".join(sorted({finding.code for finding in shared}))
    hint = f"--json has all of them with their hints, --quiet {codes} leaves them out"
    return [
        *(finding.line(where) for finding in findings if finding not in shared),
        f"{where}: {severity} {codes}: of the firmware, not of its models: {facts}. Hint: {hint}",
    ]


def in_order(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Returns the findings, errors first, in the order of their codes."""
    order = (ERROR, WARNING, NOTE)
    return tuple(sorted(findings, key=lambda finding: (order.index(finding.severity), finding.code)))


def some_of(names: Sequence[str], shown: int = 3) -> str:
    """Returns the first `shown` names, and how many more there are."""
    others = names[shown:]
    return ", ".join(names[:shown]) + (f" and {len(others)} more" if others else "")
