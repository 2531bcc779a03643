# SPDX-License-Identifier: MIT
"""The recorded figures: a file for each compiler version, and the figures that became better or worse since."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from aidge_build.base.errors import AidgeError, MissingTool
from aidge_build.base.naming import counted
from aidge_build.base.reading import read_json
from aidge_build.measure.bench.figures import Figures
from aidge_build.prove.timing.table import table_digests

SCHEMA = 2
_KEPT = (
    "model",
    "data",
    "board",
    "cpu",
    "vectors",
    "differing_values",
    "instructions",
    "cycles",
    "stall_cycles",
    "clock_hz",
    "milliseconds",
    "nanojoules",
    "macs",
    "macs_executed",
    "peak_bytes",
    "arena_bytes",
    "io_bytes",
    "scratch_bytes",
    "stack_bytes",
    "code_bytes",
    "weights_bytes",
    "flash_bytes",
    "start_up_instructions",
)


@dataclass(frozen=True)
class Comparison:
    """Lines for people; only `worse` is a failure. `unknown` were not recorded; `stale` are recorded cycles that today's timing
    tables do not give."""

    worse: tuple[str, ...] = ()
    better: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    stale: tuple[str, ...] = ()


def record_text(compiler: str, figures: Sequence[Figures]) -> str:
    """The file: one line for each model on a board, so that a difference reads well. It names the timing tables of today by
    their digests, because the cycles were estimated with them."""
    lines = [
        json.dumps(
            {
                **{key: _rounded(getattr(entry, key)) for key in _KEPT},
                "cycles_error": _error(entry),
                "layers": [[layer.name, f"{layer.library} {layer.kernel}", layer.instructions] for layer in entry.layers],
            }
        )
        for entry in figures
    ]
    head = f'{{"schema": {SCHEMA}, "compiler": {json.dumps(compiler)}, "timing_tables": {json.dumps(table_digests())}'
    return f'{head}, "results": [\n' + ",\n".join(lines) + "\n]}\n"


def _error(entry: Figures) -> dict | None:
    return {key: _rounded(value) for key, value in asdict(entry.cycles_error).items()} if entry.cycles_error else None


def _rounded(value: object) -> object:
    return round(value, 4) if isinstance(value, float) else value


_RESULT = {"model": str, "data": str, "board": str, "vectors": int, "instructions": int, "layers?": [[(str, int)]]}
_SHAPE = {"schema": int, "compiler": str, "timing_tables?": dict, "results": [_RESULT]}


def read_record(path: Path) -> dict:
    """The record; AidgeError when the file is none."""
    hint = "record the figures with --update"
    record = read_json(path, _SHAPE, "BENCH", hint)
    if record["schema"] != SCHEMA:
        raise AidgeError(f"schema {record['schema']}, this version reads {SCHEMA}", where=str(path), hint=hint, code="BENCH")
    for entry in record["results"]:
        entry["key"] = (entry["model"], entry["data"], entry["board"])
    return record


def require_same_compiler(record: dict, compiler: str, where: str) -> None:
    """Raises MissingTool (exit code 3) for another compiler: its instruction counts do not compare."""
    if record["compiler"] != compiler:
        raise MissingTool(
            f"the figures were recorded with {record['compiler']}, this is {compiler}: they are not comparable",
            where=where,
            hint="record new ones with --update",
            code="BENCH",
        )


def compare_with(record: dict, figures: Sequence[Figures]) -> Comparison:
    """Compares every count with the recorded one; one instruction more is a regression. AidgeError if the two counts are means of
    different numbers of vectors: the data decide some of the instructions."""
    before = {entry["key"]: entry for entry in record["results"]}
    worse, better, unknown = [], [], []
    for entry in figures:
        old = before.get(entry.key)
        if old is None:
            unknown.append(f"{entry.title}: not recorded")
        elif entry.vectors != old["vectors"]:
            raise AidgeError(
                f"measured with {counted(entry.vectors, 'vector')}, recorded with {old['vectors']}: counts that do not compare",
                where=entry.title,
                hint=f"--vectors {old['vectors']}, or the --rows of the record",
                code="BENCH",
            )
        elif entry.instructions != old["instructions"]:
            text = (
                f"{entry.title}: {entry.instructions:,} instructions, recorded {old['instructions']:,} "
                f"({entry.instructions - old['instructions']:+,})"
            )
            if entry.instructions > old["instructions"]:
                worse.append(f"{text}{_grown(old, entry)}")
            else:
                better.append(text)
    return Comparison(tuple(worse), tuple(better), tuple(unknown), tuple(_changed_tables(record)))


def _changed_tables(record: dict) -> list[str]:
    """Returns a line that names the timing tables that differ from the record; no line if all are equal."""
    recorded, today = record.get("timing_tables", {}), table_digests()
    names = [name for name in sorted(recorded.keys() | today.keys()) if recorded.get(name) != today.get(name)]
    return [f"cycles were recorded with other timing tables: {', '.join(names)}"] if names else []


def _grown(old: dict, entry: Figures) -> str:
    """The layer that grew most, if the layers are the same ones."""
    counts = {name: count for name, _, count in old.get("layers", ()) if isinstance(count, int)}
    growth = [(layer.instructions - counts[layer.name], layer) for layer in entry.layers if layer.name in counts]
    if len(growth) != len(counts) or not growth:
        return ""
    most, layer = max(growth, key=lambda pair: pair[0])
    return f"; most in '{layer.name}' ({layer.library} {layer.kernel}, {most:+,})" if most > 0 else ""
