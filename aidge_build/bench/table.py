# SPDX-License-Identifier: MIT
"""The figures as tables that people read, in Markdown; and the page of the documentation that contains them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from aidge_build.bench.figures import ANY, Figures
from aidge_build.bench.peers import Peers
from aidge_build.calibrations import validation_of
from aidge_build.cores import find_core
from aidge_build.errors import AidgeError

BEGIN, END = "<!-- figures: begin (written by `./sconsw bench --update`) -->", "<!-- figures: end -->"
Column = tuple[str, Callable[[Figures, Peers], object]]

_NAMES: tuple[Column, ...] = (("model", lambda entry, _: entry.model), ("core", lambda entry, _: entry.core))
_COUNTS: tuple[Column, ...] = (
    *_NAMES,
    ("instructions", lambda entry, _: entry.instructions),
    ("MACs executed", lambda entry, _: entry.macs_executed),
    ("per MAC", lambda entry, _: entry.per_mac),
)
_ENDING: tuple[Column, ...] = (
    ("ratio", lambda entry, peers: peers.instruction_ratio(entry)),
    ("estimated cycles", lambda entry, _: entry.cycles),
    ("estimated ms", lambda entry, _: entry.milliseconds),
    ("measured cycles", lambda entry, _: entry.cycles_measured),
    ("published", lambda entry, peers: peers.published_cycles(entry)),
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


def tables(figures: Sequence[Figures], peers: Peers) -> str:
    """Of the int8 models, of the float models and of those whose names do not say instructions, RAM, and flash with start-up."""
    parts = []
    for data, title, columns in (("int8", "int8", _SPEED), ("float", "float32", _FLOAT), (ANY, "models", _SPEED)):
        chosen = [entry for entry in figures if entry.data == data]
        if chosen:
            parts += [
                f"### {title}: instructions of one inference",
                _table(chosen, peers, columns),
                f"### {title}: bytes of RAM",
                _table(chosen, peers, _RAM),
                f"### {title}: bytes of flash, and instructions from reset to main",
                _table(chosen, peers, _FLASH),
            ]
    labels = sorted(
        {
            f"{name}: {said}"
            for name in {entry.cpu.partition("+")[0] for entry in figures}
            for said in [validation_of(find_core(name))]
            if said
        }
    )
    if labels:
        parts.append(f"Estimated cycles: {'; '.join(labels)}. Other cores have no estimate.")
    return "\n\n".join(parts)


def page_with(text: str, tables_text: str, where: str) -> str:
    """The page with new tables between its markers; what people wrote around them stays."""
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


def _cell(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:.2f}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)
