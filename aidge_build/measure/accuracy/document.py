# SPDX-License-Identifier: MIT
"""The accuracy of a model as one document: printed, compared with limits, and drawn in the report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy

from aidge_build.base.naming import counted
from aidge_build.base.terminal import table
from aidge_build.measure.accuracy.figures import Figures
from aidge_build.measure.accuracy.gate import Verdict
from aidge_build.measure.accuracy.stages import Stage, answers, deviations
from aidge_build.measure.accuracy.task import Task
from aidge_build.measure.accuracy.texts import about, deviation_text, figure_text, limit_line, seen_text

SCHEMA = 1
MOST_CLASSES = 20  # of a confusion matrix that is printed whole


@dataclass(frozen=True, eq=False)
class Judged:
    """A stage with its figures."""

    stage: Stage
    figures: Figures


def document(
    model: str,
    task: Task,
    judged: Sequence[Judged],
    verdicts: Sequence[Verdict],
    samples: int,
    shared: int | None,
    differing: int | None,
) -> dict:
    """Returns all figures. `shared`: samples that calibration saw, None if that is not known; `differing`: how many values of the
    firmware differ from the host's, None if only one of the two ran."""
    reference = judged[0]
    return {
        "schema": SCHEMA,
        "model": model,
        "task": task.kind,
        "output": task.output,
        "samples": samples,
        "calibration_samples": shared,
        "differing_values": differing,
        "stages": [_stage(one, None if one is reference else reference) for one in judged],
        "limits": [verdict.as_json() for verdict in verdicts],
    }


def _stage(one: Judged, reference: Judged | None) -> dict:
    stage = one.stage
    return {
        "name": stage.name,
        "where": stage.where,
        **one.figures.as_json(),
        "mean_deviation": deviations(stage.outputs, reference.stage.outputs) if reference else {},
        "same_answers": same_answers(stage, reference.stage) if reference else None,
        "instructions": stage.instructions,
        "peak_bytes": stage.peak_bytes,
        "flash_bytes": stage.flash_bytes,
    }


def same_answers(stage: Stage, reference: Stage) -> int | None:
    """Returns in how many samples the answer of every output is the reference's: the number, or the index of the largest value.
    None if an output is one real value."""
    both = [(values, reference.outputs[name]) for name, values in stage.outputs.items() if name in reference.outputs]
    found = [(answers(values), answers(others)) for values, others in both]
    if not found or any(one is None for pair in found for one in pair):
        return None
    return int(numpy.logical_and.reduce([one == other for one, other in found]).sum())


def agreement(model: str, stages: Sequence[Stage], samples: int, shared: int | None, differing: int | None) -> dict:
    """Returns how often each stage gives the answer of the first one; for samples without known answers.
    `shared` and `differing` as for `document`."""
    first, *others = stages
    return {
        "schema": SCHEMA,
        "model": model,
        "samples": samples,
        "calibration_samples": shared,
        "differing_values": differing,
        "stages": [
            {
                "name": stage.name,
                "where": stage.where,
                "same_answers": same_answers(stage, first),
                "mean_deviation": deviations(stage.outputs, first.outputs),
            }
            for stage in others
        ],
    }


def agreement_lines(data: dict, reference: str) -> list[str]:
    """The document of `agreement` for people; `reference` is a name for the first stage."""
    count = counted(data["samples"], "sample")
    found = [f"{data['model']}: {count} without labels, compared with {reference}{seen_text(data)}"]
    if data["differing_values"] == 0:
        found.append("0 values differ between the firmware and the host")
    for stage in data["stages"]:
        same = stage["same_answers"]
        said = f"same answer in {same:,} of {data['samples']:,}" if same is not None else "outputs are no classes"
        found.append(f"{stage['name']} ({stage['where']}): {'; '.join(filter(None, [said, deviation_text(stage)]))}")
    return [*found, *_doubts(data)]


def lines(judged: Sequence[Judged], data: dict) -> list[str]:
    """The document for people."""
    first = f"{data['model']}: {about(data)}"
    found = [first, *table([_row(one, part) for one, part in zip(judged, data["stages"])], _TITLES)]
    last = judged[-1]
    if last.figures.confusion:
        found += _confusion(last)
    return [*found, *_doubts(data), *map(limit_line, data["limits"])]


def _doubts(data: dict) -> list[str]:
    """Lines about samples that calibration saw, and about values of the firmware that differ."""
    found = []
    if data["calibration_samples"]:
        found.append(
            f"WARNING: {data['calibration_samples']:,} of the samples are in the calibration data, too: what is measured on them "
            "says less"
        )
    if data["differing_values"]:
        found.append(f"FAILED: {counted(data['differing_values'], 'value', 'differs')} between the firmware and the host")
    return found


_TITLES = ("stage", "where", "figures", "against the first")


def _row(one: Judged, part: dict) -> tuple[str, ...]:
    beside = [deviation_text(part)] if part["mean_deviation"] else []
    if part["same_answers"] is not None:
        beside.append(f"{part['same_answers']} answers are the same")
    if part["instructions"] is not None:
        beside.append(f"{part['instructions']:,} instructions")
    return one.stage.name, one.stage.where, figure_text(part), "; ".join(beside)


def _confusion(one: Judged) -> list[str]:
    """The matrix of the last stage; of many classes only the most frequent confusions."""
    matrix = one.figures.confusion
    classes = len(matrix)
    if classes <= MOST_CLASSES:
        numbers = [[str(index), *(str(number) if number else "." for number in row)] for index, row in enumerate(matrix)]
        heading = [f"confusion on {one.stage.where}: rows are labels, columns answers"]
        return heading + table(numbers, ("", *map(str, range(classes))), numbers=range(classes + 1))
    wrong = [
        (-number, true, answer)
        for true, row in enumerate(matrix)
        for answer, number in enumerate(row)
        if number and true != answer
    ]
    shown = [f"{true} as {answer}: {-number}" for number, true, answer in sorted(wrong)[:MOST_CLASSES]]
    return [f"most frequent confusions on {one.stage.where} (label as answer): {', '.join(shown)}"] if shown else []
