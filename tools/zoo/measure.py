# SPDX-License-Identifier: MIT
"""How often a model of the zoo is right: in float32, as its file says on this machine, and as firmware on an emulated board."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy

from aidge_build.boards import load_board
from aidge_build.build.compile import build_program, import_model
from aidge_build.build.inputs import load
from aidge_build.cli.parsing import parse
from aidge_build.measure.accuracy.labelled import labelled_set
from aidge_build.measure.accuracy.stages import Stage, on_board, on_host
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


def measured(name: str, made: Made, arrays: Arrays, by_recording: bool) -> Measured:
    """The figures of all held-out samples; `by_recording`: the last vector of a recording decides."""
    with tempfile.TemporaryDirectory() as folder:
        labels, files = Path(folder, "test.npz"), {}
        numpy.savez(labels, **arrays)
        for stage, file in (("model", made.model), ("float", made.floating), ("trial", made.trial)):
            if file is not None:
                files[stage] = Path(folder, f"{name}_{stage}.onnx")
                files[stage].write_bytes(file)
        return _of_recordings(files, arrays) if by_recording else _of_samples(files, labels, len(arrays["x"]))


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


def _of_recordings(files: dict[str, Path], arrays: Arrays) -> Measured:
    """For a stream: the label that the model gives after the last vector of each recording."""
    found, count = {}, int(arrays["recording"])
    wanted = arrays["labels"].reshape(-1, count)[:, -1]

    def share(stage: Stage) -> float:
        (labels,) = stage.raw.values()
        return float((labels.reshape(-1, count)[:, -1] == wanted).mean())

    for name, file in (("float", "float"), ("int8", "model")):
        request = load(parse("compile", [str(files[file]), "--board", BOARD, "--out", "."]), "zoo")
        view = import_model(request)[0]
        samples = labelled_set(arrays, view)
        found[name] = share(on_host(name, view, samples, {}))
    with tempfile.TemporaryDirectory() as folder:
        stage = on_board(build_program(request), load_board(BOARD, []), samples, Path(folder))
    return Measured("right answers", {**found, "board": share(stage)}, len(wanted), stage.instructions or 0)
