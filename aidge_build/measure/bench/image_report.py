# SPDX-License-Identifier: MIT
"""The lines that a bench image prints (schemas/image.schema.json), read into values."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from aidge_build.base.errors import AidgeError
from aidge_build.base.reading import fits
from aidge_build.measure.bench.image import SCHEMA

_KIND = "aidge"
_NUMBER = (int, type(None))
_SHAPES: dict[str, dict[str, Any]] = {
    "image": {
        "schema": int,
        "tool": str,
        "compiler": str,
        "board": str,
        "cpu": str,
        "clock_hz": int,
        "flash_wait_states": _NUMBER,
        "model_sha256": str,
        "layers": int,
        "counter": str,
        "cpuid": str,
    },
    "layer": {"index": int, "operator": str, "kernel": str, "macs": int, "cycles": [int]},
    "model": {"returned": int, "report_cycles": int, "cycles": [int], "outputs_crc32": [str]},
    "end": {"crc32": str},
}


@dataclass(frozen=True)
class ReportedLayer:
    """A layer: its operator, its kernel, multiply-accumulates, and the cycles of each run."""

    operator: str
    kernel: str
    macs: int
    cycles: tuple[int, ...]


@dataclass(frozen=True)
class Report:
    """A whole report with the right digest. `cycles` and `outputs_crc32` have a value for each run; `flash_wait_states` is None
    if unknown; `report_cycles` is the overhead of each stretch between two layers, which is subtracted already."""

    tool: str
    compiler: str
    board: str
    cpu: str
    clock_hz: int
    flash_wait_states: int | None
    model_sha256: str
    counter: str
    cpuid: str
    report_cycles: int
    cycles: tuple[int, ...]
    outputs_crc32: tuple[str, ...]
    layers: tuple[ReportedLayer, ...]


def read_report(lines: Iterable[bytes], where: str) -> Report:
    """Returns the first whole report among the lines of a serial port. Other text, damaged reports, and the end of a report that
    began before the first line are left out: an image repeats its report.

    AidgeError (CALIBRATIONS) if the lines end without a whole report, its format is of another version, or N_run returned an
    error.
    """
    damaged = 0
    taken: list[bytes] = []
    for line in lines:
        found = _parsed(line)
        if found is None:
            damaged += bool(taken)
            taken = []
            continue
        if found[_KIND] == "image":
            taken = []
        taken.append(line)
        if found[_KIND] != "end":
            continue
        if (report := _report(taken, found["crc32"], where)) is not None:
            return report
        damaged, taken = damaged + 1, []
    raise AidgeError(
        f"holds no whole report of a bench image{f', and {damaged} damaged' if damaged else ''}",
        where=where,
        hint="aidge-build package MODEL --for bench-image makes an image; it prints a report every few seconds",
        code="CALIBRATIONS",
    )


def _parsed(line: bytes) -> dict[str, Any] | None:
    """Returns the line as an object, or None if it is no line of a report."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    shape = _SHAPES.get(found.get(_KIND)) if isinstance(found, dict) and isinstance(found.get(_KIND), str) else None
    return found if shape is not None and fits(found, {_KIND: str, **shape}) else None


def _report(taken: Sequence[bytes], crc: str, where: str) -> Report | None:
    """Returns the report of these lines, the first of an image and the last of an end; None if a line is missing or damaged."""
    found = [json.loads(line) for line in taken[:-1]]
    kinds = [line[_KIND] for line in found]
    if f"{zlib.crc32(b''.join(taken[:-1])):08x}" != crc or kinds != ["image", *["layer"] * (len(kinds) - 2), "model"]:
        return None
    image, *layers, model = found
    if not _is_whole(image, layers, model):
        return None
    if image["schema"] != SCHEMA:
        raise AidgeError(f"schema {image['schema']}, this version reads {SCHEMA}", where=where, code="CALIBRATIONS")
    if model["returned"]:
        raise AidgeError(f"the model returned {model['returned']} on the board", where=where, code="CALIBRATIONS")
    return Report(
        **{key: image[key] for key in _SHAPES["image"] if key not in ("schema", "layers")},
        report_cycles=model["report_cycles"],
        cycles=tuple(model["cycles"]),
        outputs_crc32=tuple(model["outputs_crc32"]),
        layers=tuple(ReportedLayer(each["operator"], each["kernel"], each["macs"], tuple(each["cycles"])) for each in layers),
    )


def _is_whole(image: dict, layers: Sequence[dict], model: dict) -> bool:
    """Whether each layer of the image is there, in order, and each has the same number of runs, at least one."""
    runs = {len(each["cycles"]) for each in (*layers, model)} | {len(model["outputs_crc32"])}
    indices = [each["index"] for each in layers]
    return len(layers) == image["layers"] and indices == [*range(len(layers))] and len(runs) == 1 and 0 not in runs
