# SPDX-License-Identifier: MIT
"""The effect of each flip on values, answers and accuracy, and the shares by layer and by bit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy

from aidge_build.base.terminal import table
from aidge_build.graph.view import GraphView
from aidge_build.measure.accuracy.figures import wilson
from aidge_build.measure.accuracy.flips.bits import Constants, Flip
from aidge_build.measure.accuracy.flips.native import Outcome
from aidge_build.measure.accuracy.labelled import LabelledSet
from aidge_build.measure.accuracy.stages import answers, real_values
from aidge_build.measure.accuracy.task import Task, judged
from aidge_build.run.verify.vectors import Vectors, loaded_rows

TOLERANCE = 0.01  # of the largest magnitude of an output without flips: below, a real answer counts as the same


@dataclass
class Count:
    """How many flips there were, and what they changed."""

    flips: int = 0
    values: int = 0  # flips that change an output value of some sample
    answers: int = 0  # flips that change the answer of some sample
    faults: int = 0  # flips after which the program faulted or did not end; they change values and answers, too

    def add(self, value: bool, answer: bool, fault: bool) -> None:
        """Counts a flip."""
        self.flips += 1
        self.values += value
        self.answers += answer
        self.faults += fault

    def as_json(self) -> dict:
        """The counts, and the 95 % interval of the share of flips that change an answer."""
        low, high = wilson(self.answers, self.flips)
        counts = {"flips": self.flips, "values": self.values, "answers": self.answers, "faults": self.faults}
        return {**counts, "answers_low": low, "answers_high": high}


@dataclass(frozen=True, eq=False)
class Judge:
    """The samples of the flips, their real inputs, and the meaning of the outputs; without `task` nothing is known of right
    answers, and an output of several values is the scores of classes, one integer without a scale the number of a class."""

    samples: LabelledSet
    inputs: Vectors
    task: Task | None = None

    def answers(self, outputs: Vectors) -> Mapping[str, numpy.ndarray]:
        """Returns the answers [sample] of real outputs by name; the output itself [sample, element] if it is no class."""
        if self.task is None:
            return {name: values if (found := answers(values)) is None else found for name, values in outputs.items()}
        values = outputs[self.task.output]
        match self.task.kind:
            case "classes":
                return {self.task.output: values.argmax(1)}
            case "decisions":
                return {self.task.output: values[:, 0]}
            case "scores":
                return {self.task.output: (values[:, 0] > self.task.threshold).astype(numpy.int64)}
            case "anomaly":
                return {self.task.output: values}
        return {name: outputs[name] for name in self.samples.targets}

    def figure(self, outputs: Vectors) -> tuple[str, float]:
        """Returns the name and the value of the figure of merit."""
        assert self.task is not None
        figures = judged(self.task, self.samples, outputs, self.inputs)
        if figures.top1 is not None:
            return "top-1", figures.top1.share
        if figures.auc is not None:
            return "AUC", figures.auc
        return "mean absolute error", figures.errors[0][1].mae


@dataclass
class Tally:
    """The effects of flips in one program; `reference` are the stored outputs of all samples without a flip."""

    view: GraphView
    constants: Constants
    reference: bytes
    judge: Judge
    all: Count = field(default_factory=Count)
    layers: dict[str, Count] = field(default_factory=dict)
    bits: dict[tuple[str, int], Count] = field(default_factory=dict)
    figures: list[float] = field(default_factory=list)
    changed_answers: int = 0  # of all samples after all flips without a fault
    found: int | None = None  # flips that N_verify_constants found

    def __post_init__(self) -> None:
        right = self.outputs(self.reference)
        self._right = self.judge.answers(right)
        self._figure, self._right_figure = self.judge.figure(right) if self.judge.task else ("", 0.0)

    @property
    def samples(self) -> int:
        """How many samples run after each flip."""
        return self.judge.samples.count

    def outputs(self, stored: bytes) -> Vectors:
        """The real outputs of all samples by name, from their stored bytes."""
        sizes = [self.view.tensor(name).size_bytes for name in self.view.handed_out]
        rows, at = [], 0
        for _ in range(self.samples):
            row = []
            for size in sizes:
                row.append(stored[at : at + size])
                at += size
            rows.append(row)
        return real_values(self.view, loaded_rows(self.view, rows))

    def add(self, flips: Sequence[Flip], outcomes: Sequence[Outcome]) -> None:
        """Counts flips."""
        for flip, outcome in zip(flips, outcomes, strict=True):
            fault = outcome.outputs is None
            value = fault or outcome.outputs != self.reference
            outputs = self.outputs(outcome.outputs) if value and outcome.outputs is not None else None
            changed = self._changed_answers(outputs) if outputs else 0
            kind, bit = self.constants.position(flip)
            for count in (
                self.all,
                self.layers.setdefault(self.constants.layers[flip.array], Count()),
                self.bits.setdefault((kind, bit), Count()),
            ):
                count.add(value, fault or changed > 0, fault)
            self.changed_answers += changed
            if self._figure and not fault:
                self.figures.append(self.judge.figure(outputs)[1] if outputs else self._right_figure)
            if outcome.found is not None:
                self.found = (self.found or 0) + outcome.found

    def _changed_answers(self, outputs: Vectors) -> int:
        """The samples with another answer: another class, or a real value that differs by more than the tolerance."""
        changed = numpy.zeros(self.samples, bool)
        for name, got in self.judge.answers(outputs).items():
            right = self._right[name]
            if right.ndim == 1:
                changed |= got != right
            else:
                limit = TOLERANCE * float(numpy.abs(right).max())
                changed |= ~(numpy.abs(got - right) <= limit).all(axis=1)
        return int(changed.sum())

    def as_json(self) -> dict:
        """The shares for programs."""
        found = {
            **self.all.as_json(),
            "changed_answers_share": self.changed_answers / max(1, self.samples * (self.all.flips - self.all.faults)),
            "found": self.found,
            "layers": [{"layer": name, **count.as_json()} for name, count in self.layers.items()],
            "bits": [{"type": kind, "bit": bit, **count.as_json()} for (kind, bit), count in sorted(self.bits.items())],
        }
        if self.figures:
            worst = max(self.figures) if self.judge.task and self.judge.task.kind == "regression" else min(self.figures)
            found |= {"figure": self._figure, "without_flips": self._right_figure}
            found |= {"mean": float(numpy.mean(self.figures)), "worst": worst}
        return found


def lines_of(title: str, data: dict) -> list[str]:
    """The shares for people."""
    found = [title]
    found.append(f"  change an output value: {_share(data['values'], data['flips'])}")
    interval = f"95 % interval {100 * data['answers_low']:.2f} % to {100 * data['answers_high']:.2f} %"
    found.append(f"  change an answer: {_share(data['answers'], data['flips'])}, {interval}")
    if data["faults"]:
        found.append(f"  end in a fault or never end: {_share(data['faults'], data['flips'])}")
    if "figure" in data:
        right, mean, worst = (data[name] for name in ("without_flips", "mean", "worst"))
        found.append(f"  {data['figure']} {right:.4f} without flips; with one flip {mean:.4f} on average, {worst:.4f} at worst")
    if data["found"] is not None:
        found.append(f"  N_verify_constants found {data['found']:,} of {data['flips']:,}")
    return found


def tables_of(data: dict) -> list[str]:
    """The shares by layer, and by bit: the places where protection pays."""
    layers = [(row["layer"], *_row(row)) for row in data["layers"]]
    bits = [(_bits(row["type"], row["bit"]), *_row(row)) for row in data["bits"]]
    titles = ("flips", "change a value", "change an answer", "95 % interval")
    return [*table(layers, ("layer", *titles)), *table(bits, ("bit of an element", *titles))]


def _bits(kind: str, bit: int) -> str:
    return f"{kind} bit {bit}" if "8" in kind else f"{kind} bits {bit} to {bit + 3}"


def _row(row: dict) -> tuple[str, ...]:
    interval = f"{100 * row['answers_low']:.1f} to {100 * row['answers_high']:.1f} %"
    return f"{row['flips']:,}", _percent(row["values"], row["flips"]), _percent(row["answers"], row["flips"]), interval


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %"


def _share(part: int, whole: int) -> str:
    return f"{part:,} ({100 * part / whole:.2f} %)"
