# SPDX-License-Identifier: MIT
"""The figures as tables that people read, in Markdown; and the page of the documentation that contains them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from aidge_build.base.errors import AidgeError
from aidge_build.boards.cores import find_core
from aidge_build.measure.bench.figures import ANY, Figures
from aidge_build.measure.bench.peers import Peers
from aidge_build.prove.calibrations import validation_of

BEGIN, END = "<!-- figures: begin (written by `./sconsw bench --update`) -->", "<!-- figures: end -->"
Column = tuple[str, Callable[[Figures, Peers], object]]

_NAMES: tuple[Column, ...] = (("model", lambda entry, _: entry.model), ("core", lambda entry, _: entry.core))
_TIME: tuple[Column, ...] = (
    *_NAMES,
    ("board", lambda entry, _: entry.board),
    ("MHz", lambda entry, _: f"{entry.clock_hz / 1e6:g}" if entry.clock_hz else None),
    ("ms", lambda entry, _: entry.milliseconds),
    ("ms uncached", lambda entry, _: entry.milliseconds_uncached),
    ("cycles", lambda entry, _: entry.cycles),
    ("stalls in them", lambda entry, _: entry.stall_cycles),
    ("error, stalls aside", lambda entry, _: _error(entry)),
    ("uJ", lambda entry, _: None if entry.nanojoules is None else entry.nanojoules / 1e3),
    ("measured cycles", lambda entry, _: entry.cycles_measured),
    ("published cycles", lambda entry, peers: peers.published_cycles(entry)),
)
_COUNTS: tuple[Column, ...] = (
    *_NAMES,
    ("instructions", lambda entry, _: entry.instructions),
    ("MACs executed", lambda entry, _: entry.macs_executed),
    ("per MAC", lambda entry, _: entry.per_mac),
)
_ENDING: tuple[Column, ...] = (
    ("ratio", lambda entry, peers: peers.instruction_ratio(entry)),
    ("values that differ", lambda entry, _: entry.differing_values),
)
_SPEED: tuple[Column, ...] = (*_COUNTS, ("CMSIS-NN", lambda entry, peers: peers.counted("instructions", entry)), *_ENDING)
_FLOAT: tuple[Column, ...] = (*_COUNTS, ("onnx2c per MAC", lambda entry, peers: peers.float_per_mac(entry)), *_ENDING)
_RAM: tuple[Column, ...] = (
    *_NAMES,
    ("arena as linked", lambda entry, _: entry.arena_bytes),
    ("inputs, outputs of the caller", lambda entry, _: entry.io_bytes),
    ("both", lambda entry, _: entry.linked_bytes),
    ("peak RAM, all in one arena", lambda entry, _: entry.peak_bytes),
    ("scratch in it", lambda entry, _: entry.scratch_bytes),
    ("TFLM arena", lambda entry, peers: peers.counted("arena_bytes", entry)),
    ("stack bound", lambda entry, _: entry.stack_bytes),
)
_FLASH: tuple[Column, ...] = (
    *_NAMES,
    ("code", lambda entry, _: entry.code_bytes),
    ("weights", lambda entry, _: entry.weights_bytes),
    ("whole image", lambda entry, _: entry.flash_bytes),
    ("TFLM image", lambda entry, peers: peers.counted("flash_bytes_total", entry)),
    ("start-up", lambda entry, _: entry.start_up_instructions),
    ("TFLM start-up", lambda entry, peers: peers.counted("start_up_instructions", entry)),
)


# Boards with equal values of all of these have one row in the tables after the table of time.
_SHARED = (
    *("model", "core", "instructions", "macs_executed", "arena_bytes", "io_bytes", "peak_bytes", "scratch_bytes"),
    *("stack_bytes", "code_bytes", "weights_bytes", "differing_values"),
)


def tables(figures: Sequence[Figures], peers: Peers) -> str:
    """Returns the tables of the int8 models, the float models, and the models that are named without a type: time on each board;
    then instructions, RAM, and flash with start-up. If several boards have equal counts, the first has the row."""
    parts = []
    for data, title, columns in (("int8", "int8", _SPEED), ("float", "float32", _FLOAT), (ANY, "models", _SPEED)):
        chosen = [entry for entry in figures if entry.data == data]
        timed = sorted(chosen, key=lambda entry: (entry.model, not entry.clock_hz))
        counts = _unlike(chosen)
        if chosen:
            parts += [
                f"### {title}: time of one inference",
                _table(timed, peers, _TIME),
                f"### {title}: instructions of one inference",
                _table(counts, peers, columns),
                f"### {title}: bytes of RAM",
                _table(counts, peers, _RAM),
                f"### {title}: bytes of flash, and instructions from reset to main",
                _table(counts, peers, _FLASH),
            ]
    said = {name: validation_of(find_core(name)) for name in sorted({entry.cpu.partition("+")[0] for entry in figures})}
    known = [f"- {name}: {text}" for name, text in said.items() if text]
    if known:
        parts.append("\n".join(["Cycles and ms:", "", *known]))
    return "\n\n".join(parts)


def page_with(text: str, tables_text: str, where: str) -> str:
    """Returns the page with new tables between its markers; the text around them stays."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise AidgeError(f"has no lines '{BEGIN}' and '{END}' for the tables", where=where, code="BENCH")
    return f"{before}{BEGIN}\n\n{tables_text}\n\n{END}{after}"


def _table(figures: Sequence[Figures], peers: Peers, columns: Sequence[Column]) -> str:
    rows = [[_cell(value(entry, peers)) for _, value in columns] for entry in figures]
    kept = [index for index, (title, _) in enumerate(columns) if any(row[index] != "-" for row in rows)]
    lines = [
        [columns[index][0] for index in kept],
        ["---" if index < len(_NAMES) else "--:" for index in kept],
        *([row[index] for index in kept] for row in rows),
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _unlike(figures: Sequence[Figures]) -> list[Figures]:
    """The first of the figures with equal values."""
    found: dict[tuple, Figures] = {}
    for entry in figures:
        found.setdefault(tuple(getattr(entry, name) for name in _SHARED), entry)
    return list(found.values())


def _error(entry: Figures) -> str | None:
    found = entry.cycles_error
    return None if found is None or entry.cycles is None else f"{100 * found.lowest:+.1f} to {100 * found.highest:+.1f} %"


def _cell(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:,.2f}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)
