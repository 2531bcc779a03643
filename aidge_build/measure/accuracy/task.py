# SPDX-License-Identifier: MIT
"""The meaning of a model's outputs: classes, the number of a class, a score of two classes, an anomaly score, or real values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy

from aidge_build.base.errors import AidgeError
from aidge_build.base.naming import counted
from aidge_build.measure.accuracy.figures import Figures, confusion, errors, roc_auc, top1
from aidge_build.measure.accuracy.labelled import NO_LABEL, LabelledSet
from aidge_build.measure.accuracy.stages import Stage, is_number
from aidge_build.run.verify.vectors import Vectors

_MOST_NUMBERS = 1024  # of classes in a confusion matrix: an answer beyond is wrong, and none of them
Kind = Literal["classes", "decisions", "scores", "anomaly", "regression"]


@dataclass(frozen=True)
class Task:
    """The way to judge answers. `output` is the output that labels are about; for scores, class 1 begins above `threshold`."""

    kind: Kind
    output: str
    threshold: float = 0.5


def task_of(samples: LabelledSet, outputs: Vectors, inputs: Vectors, kind: str = "auto", output: str = "") -> Task:
    """The task; `outputs` and `inputs` are real values of one model. "auto" decides by the arrays:

    targets mean regression; labels with an output of one value mean decisions (the number of a class) if it is an integer without
    a scale and never negative, else scores; labels 0 and 1 with an output as large as the input mean an autoencoder's anomaly
    score (its mean squared error); all else means classes, the index of the largest value. Scores within [0, 1] are probabilities
    (class 1 above 0.5), others are logits (above 0).
    """
    name = output or next(iter(outputs))
    if name not in outputs:
        raise AidgeError(f"the model has no output '{name}'", where="--labelled-output", tried=list(outputs), code="USAGE")
    values = outputs[name]
    found = _kind(samples, values, inputs) if kind == "auto" else kind
    if (found == "regression") != bool(samples.targets):
        wanted = "targets" if found == "regression" else "labels"
        raise AidgeError(f"for {found} the file must hold {wanted}", where="--task", code="VECTORS")
    if samples.labels is not None:
        _require_labels(samples.labels, found, values.shape[1], name)
    _require_output(found, values, inputs, name)
    is_probability = 0 <= values.min() <= values.max() <= 1
    return Task(found, name, 0.5 if is_probability else 0.0)  # type: ignore[arg-type]


def tasks_of(samples: LabelledSet, stages: Sequence[Stage], kind: str, output: str) -> list[Task]:
    """The task of each stage: the first stage's, but a float model may hand out scores where the model hands out a number."""
    first = stages[0]
    task = task_of(samples, first.outputs, first.inputs, kind, output)
    shape = first.outputs[task.output].shape
    return [
        task if one.outputs[output].shape == shape else task_of(samples, one.outputs, one.inputs, kind, output) for one in stages
    ]


def judged(task: Task, samples: LabelledSet, outputs: Vectors, inputs: Vectors) -> Figures:
    """The figures of real outputs [sample, element]; `inputs` are the real inputs that they belong to."""
    if task.kind == "regression":
        return Figures(errors=tuple((name, errors(outputs[name], targets)) for name, targets in samples.targets.items()))
    assert samples.labels is not None
    known = samples.labels != NO_LABEL
    labels, values = samples.labels[known], outputs[task.output][known]
    if task.kind == "anomaly":
        (given,) = inputs.values()
        return Figures(auc=roc_auc(numpy.mean((values - given[known]) ** 2, axis=1), labels))
    if task.kind == "decisions":
        return Figures(top1(values[:, 0], labels), _confusion_of_numbers(values[:, 0], labels))
    if task.kind == "scores":
        answers = (values[:, 0] > task.threshold).astype(numpy.int64)
        return Figures(top1(answers, labels), confusion(answers, labels, 2), roc_auc(values[:, 0], labels))
    answers = values.argmax(axis=1)
    area = roc_auc(values[:, 1] - values[:, 0], labels) if values.shape[1] == 2 else None
    return Figures(top1(answers, labels), confusion(answers, labels, values.shape[1]), area)


def _kind(samples: LabelledSet, values: numpy.ndarray, inputs: Vectors) -> Kind:
    if samples.targets:
        return "regression"
    assert samples.labels is not None
    if values.shape[1] == 1:
        return "decisions" if is_number(values) and values.min() >= 0 else "scores"
    return "anomaly" if _is_copy(values, inputs) and samples.labels.max() <= 1 and values.shape[1] > 2 else "classes"


def _confusion_of_numbers(answers: numpy.ndarray, labels: numpy.ndarray) -> tuple[tuple[int, ...], ...]:
    """The confusion matrix of all numbers up to the largest one; () if an answer is no number of a class."""
    most = max(answers.max(), labels.max())
    if not _are_whole(answers) or answers.min() < 0 or most >= _MOST_NUMBERS:
        return ()
    return confusion(answers.astype(numpy.int64), labels, int(most) + 1)


def _are_whole(values: numpy.ndarray) -> bool:
    return numpy.array_equal(values, numpy.rint(values))


def _is_copy(values: numpy.ndarray, inputs: Vectors) -> bool:
    """Whether an output is as large as the only input, as an autoencoder's is."""
    return len(inputs) == 1 and next(iter(inputs.values())).shape == values.shape


def _require_labels(labels: numpy.ndarray, kind: str, elements: int, output: str) -> None:
    """AidgeError for labels that are no answers to this task."""
    most = labels.max()
    if most == NO_LABEL:
        hint = f"{NO_LABEL} marks a sample without a label; --samples N takes the first N of the file"
        raise AidgeError(f"the label of all {len(labels)} samples is {NO_LABEL}", hint=hint, code="VECTORS")
    if kind == "classes" and most >= elements:
        raise AidgeError(
            f"a label is {most}, output '{output}' has {counted(elements, 'value')}",
            code="VECTORS",
            hint="labels count from 0; --labelled-output names another output",
        )
    if kind in ("scores", "anomaly") and most > 1:
        raise AidgeError(
            f"labels of {kind} are 0 and 1, there is {most}",
            hint="--task classes --labelled-output NAME judges a score for each class, --task decisions the number of a class",
            code="VECTORS",
        )


def _require_output(kind: str, values: numpy.ndarray, inputs: Vectors, output: str) -> None:
    """AidgeError for an output that cannot have this meaning."""
    if kind in ("scores", "decisions") and values.shape[1] != 1:
        raise AidgeError(f"a {kind[:-1]} is one value, output '{output}' has {values.shape[1]}", where="--task", code="USAGE")
    if kind == "decisions" and not _are_whole(values):
        raise AidgeError(f"output '{output}' holds values that are no whole numbers", where="--task decisions", code="USAGE")
    if kind == "anomaly" and not _is_copy(values, inputs):
        raise AidgeError(f"output '{output}' is not as large as the only input", where="--task anomaly", code="USAGE")
