# SPDX-License-Identifier: MIT
"""What a board counted beside the estimate, as a file that can be sent in: it holds no name, weight or shape of a model."""

from __future__ import annotations

import json
from collections.abc import Sequence

from aidge_build.bench.figures import Figures, LayerFigures
from aidge_build.boards import Board
from aidge_build.calibrations import SCHEMA
from aidge_build.version import VERSION


def calibration_text(figures: Sequence[Figures], board: Board, compiler: str) -> str:
    """The file. `figures` are those of models that ran on the board."""
    measured = [entry.measured for entry in figures if entry.measured and entry.measured.counter]
    document = {
        "schema": SCHEMA,
        "tool": VERSION,
        "compiler": compiler,
        "board": board.name,
        "cpu": board.cpu,
        "clock_hz": board.clock_hz,
        "flash_wait_states": board.flash_wait_states or 0,
        "counter": measured[0].counter if measured else "",
        "halt_cycles": sorted({each.overhead for each in measured if each.overhead is not None}),
        "models": [
            {
                "instructions": entry.instructions,
                "cycles_estimated": entry.cycles,
                "cycles_measured": entry.cycles_measured,
                "layers": [_layer(layer) for layer in entry.layers],
            }
            for entry in figures
        ],
    }
    return json.dumps(document, indent=1) + "\n"


def _layer(layer: LayerFigures) -> dict:
    return {
        "operator": layer.operator,
        "kernel": f"{layer.library} {layer.kernel}",
        "macs": layer.macs,
        "instructions": layer.instructions,
        "cycles_estimated": layer.cycles,
        "cycles_measured": layer.cycles_measured,
    }
