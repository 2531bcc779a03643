# SPDX-License-Identifier: MIT
"""How often a model of the zoo is right: in float32, as its file says on this machine, and as firmware on an emulated board."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy

from tools.accuracy_table import called
from tools.zoo.made import Arrays, Made

BOARD = "stm32f4"
STAGES = ("float", "int8", "board")


@dataclass(frozen=True)
class Measured:
    """`values` are the figures of the stages that there are, from 0 to 1; `figure` is their name."""

    figure: str
    values: dict[str, float]
    samples: int
    instructions: int


def measured(name: str, made: Made, arrays: Arrays) -> Measured:
    """The figures of all held-out samples that have a label or targets."""
    with tempfile.TemporaryDirectory() as folder:
        labels, files = Path(folder, "test.npz"), {}
        numpy.savez(labels, **arrays)
        for stage, file in (("model", made.model), ("float", made.floating), ("trial", made.trial)):
            if file is not None:
                files[stage] = Path(folder, f"{name}_{stage}.onnx")
                files[stage].write_bytes(file)
        return _of_samples(files, labels, int((arrays["labels"] >= 0).sum()) if "labels" in arrays else len(arrays["x"]))


def _of_samples(files: dict[str, Path], labels: Path, samples: int) -> Measured:
    def stages(file: Path, *words: object) -> list[dict]:
        data = called("accuracy", file, "--labels", labels, *words)
        assert not data["differing_values"], f"{file.name}: {data['differing_values']} values differ on the board"
        return data["stages"]

    before = ("--float", files["float"]) if "float" in files else ()
    found = stages(files["model"], "--board", BOARD, *before)
    if "trial" in files:
        found.insert(1, stages(files["trial"])[0])
    names = STAGES if len(found) == len(STAGES) else (STAGES[0], STAGES[-1])
    values = {name: _figure(stage)[1] for name, stage in zip(names, found, strict=True)}
    return Measured(_figure(found[0])[0], values, samples, found[-1]["instructions"])


def _figure(stage: dict) -> tuple[str, float]:
    """The name of the main figure, and its value."""
    if stage["auc"] is not None:
        return "ROC-AUC", stage["auc"]
    if stage["top1"]:
        return "right answers", stage["top1"]["share"]
    return "R2", min(one["r2"] for one in stage["errors"].values())
