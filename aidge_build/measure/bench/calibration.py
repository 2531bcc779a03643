# SPDX-License-Identifier: MIT
"""A file of measured and estimated cycles of a board, made to be sent in: it holds no name, weight or shape of a model."""

from __future__ import annotations

import json
from collections.abc import Sequence

from aidge_build.base.errors import AidgeError
from aidge_build.base.version import VERSION
from aidge_build.boards import Board
from aidge_build.measure.bench.figures import Figures, LayerFigures
from aidge_build.measure.bench.image_report import Report
from aidge_build.prove.calibrations import SCHEMA


def calibration_text(figures: Sequence[Figures], board: Board, compiler: str) -> str:
    """Returns the text of the file. `figures` are the figures of models that ran on the board."""
    measured = [entry.measured for entry in figures if entry.measured and entry.measured.counter]
    return _text(
        {
            "tool": VERSION,
            "compiler": compiler,
            "board": board.name,
            "cpu": board.cpu,
            "clock_hz": board.clock_hz,
            "flash_wait_states": board.flash_wait_states or 0,
            "counter": measured[0].counter if measured else "",
            "halt_cycles": sorted({each.overhead for each in measured if each.overhead is not None}),
        },
        [
            {
                "instructions": entry.instructions,
                "cycles_estimated": entry.cycles,
                "cycles_measured": entry.cycles_measured,
                "layers": [_layer(layer) for layer in entry.layers],
            }
            for entry in figures
        ],
    )


def calibration_of_report(report: Report, figures: Figures | None) -> str:
    """Returns the file of a bench image. Clock and wait states come from the image; `cycles_measured` are the cycles of its last
    run, when the caches are warm. `figures` belong to the same model in the emulator; None leaves out the figures that only the
    emulator has.

    AidgeError (CALIBRATIONS) if the image was made with other kernels.
    """
    beside = _same_layers(report, figures) if figures else [None] * len(report.layers)
    layers = [
        {
            "operator": layer.operator,
            "kernel": layer.kernel,
            "macs": layer.macs,
            "instructions": known.instructions if known else None,
            "cycles_estimated": known.cycles if known else None,
            "cycles_measured": layer.cycles[-1],
            "cycles_of_runs": list(layer.cycles),
        }
        for layer, known in zip(report.layers, beside, strict=True)
    ]
    model = {
        "model_sha256": report.model_sha256,
        "outputs_crc32": report.outputs_crc32[0],
        "instructions": figures.instructions if figures else None,
        "cycles_estimated": figures.cycles if figures else None,
        "cycles_measured": report.cycles[-1],
        "cycles_of_runs": list(report.cycles),
        "layers": layers,
    }
    head = {key: getattr(report, key) for key in ("tool", "compiler", "board", "cpu", "cpuid", "clock_hz", "flash_wait_states")}
    return _text({**head, "counter": report.counter, "report_cycles": report.report_cycles}, [model])


def _same_layers(report: Report, figures: Figures) -> tuple[LayerFigures, ...]:
    theirs = [(layer.operator, layer.kernel) for layer in report.layers]
    ours = [(layer.operator, f"{layer.library} {layer.kernel}") for layer in figures.layers]
    if theirs != ours:
        differing = next((pair for pair in zip(theirs, ours) if pair[0] != pair[1]), None)
        what = (
            f"{differing[0][0]} by {differing[0][1]} where this model has {differing[1][0]} by {differing[1][1]}"
            if differing
            else f"{len(theirs)} layers, this model has {len(ours)}"
        )
        raise AidgeError(
            f"the image has {what}",
            where=figures.title,
            hint="leave out MODEL, or make the image again with this version and no further options",
            code="CALIBRATIONS",
        )
    return figures.layers


def _text(head: dict, models: list[dict]) -> str:
    return json.dumps({"schema": SCHEMA, **head, "models": models}, indent=1) + "\n"


def _layer(layer: LayerFigures) -> dict:
    return {
        "operator": layer.operator,
        "kernel": f"{layer.library} {layer.kernel}",
        "macs": layer.macs,
        "instructions": layer.instructions,
        "cycles_estimated": layer.cycles,
        "cycles_measured": layer.cycles_measured,
    }
