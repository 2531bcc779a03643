# SPDX-License-Identifier: MIT
"""The three kinds of work of a sweep: quantize a model, ask on which boards one fits, and count how often one is right.

Each is a pure function of bytes and words. A refusal is an answer, too; a missing tool is none. A worker compares the key of the
task with its own: with another version of the tool, or of its compilers, the key differs.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from aidge_build.base.errors import AidgeError, InternalError, MissingTool
from aidge_build.base.npz import arrays_of
from aidge_build.build.compile import import_model
from aidge_build.build.inputs import NAME_TO_LOOK_AT, load
from aidge_build.measure.accuracy.figures import Figures
from aidge_build.measure.accuracy.labelled import labelled_set
from aidge_build.measure.accuracy.stages import input_quantizations, on_host
from aidge_build.measure.accuracy.task import judged, task_of
from aidge_build.measure.accuracy.trials import merit_of
from aidge_build.measure.fit.cache import key_of as answer_key
from aidge_build.measure.fit.cache import tool_digest
from aidge_build.measure.fit.evaluate import evaluate_together
from aidge_build.measure.fit.evaluation import IMAGE, Evaluation, evaluation_of
from aidge_build.measure.fit.question import Question, opened
from aidge_build.measure.sweep.tasks import Task, canonical, key_of

__all__ = ["answer_key"]

Made = TypeVar("Made")


@dataclass(frozen=True)
class Fitting:
    """Questions that share a compilation, and the keys of their answers."""

    questions: tuple[Question, ...]
    keys: tuple[str, ...]


@dataclass(frozen=True)
class AboutModel:
    """A question about a model alone; `labels` are the bytes of an NPZ file, `labels_name` its name."""

    key: str
    question: Question
    labels: bytes = b""
    labels_name: str = ""


@dataclass(frozen=True)
class Accuracy:
    """The quality of answers, 1 is best; `measure` says of what `share` is a share or an area."""

    share: float
    measure: str


def fitting(title: str, questions: Sequence[Question]) -> Task:
    """Returns the task that answers questions which share a compilation."""
    keys = tuple(map(answer_key, questions))
    return Task(key_of("fit", sorted(keys)), title, _fitted, Fitting(tuple(questions), keys))


def _fitted(request: Fitting) -> bytes:
    require_equal(list(request.keys), list(map(answer_key, request.questions)))
    found = evaluate_together(request.questions)
    return canonical({key: answer.as_json() for key, answer in zip(request.keys, found, strict=True)})


def answers_of(value: bytes) -> dict[str, bytes]:
    """The answers to each question of a `fitting`, by their keys."""
    return {key: canonical(answer) for key, answer in json.loads(value).items()}


def evaluation_in(value: bytes) -> Evaluation:
    """The evaluation that such an answer is."""
    return read_answer(value, evaluation_of)


def is_lasting(value: bytes) -> bool:
    """Whether the answer is final: a program that could not be built here may be built tomorrow."""
    return IMAGE not in dict(evaluation_in(value).unknown)


def quantizing(title: str, question: Question) -> Task:
    """Returns the task that quantizes the model of a question with samples."""
    return Task(_key(question), title, _quantized, AboutModel(_key(question), question))


def _quantized(request: AboutModel) -> bytes:
    require_equal(request.key, _key(request.question))
    try:
        with opened(request.question) as arguments:
            return canonical({"model": base64.b64encode(load(arguments, NAME_TO_LOOK_AT).model).decode()})
    except AidgeError as error:
        return _refusal(error)


def model_in(value: bytes) -> bytes | AidgeError:
    """The quantized model, or why there is none."""
    return read_answer(value, lambda data: base64.b64decode(data["model"]) if "model" in data else AidgeError(**data["refused"]))


def judging(title: str, question: Question, labels: bytes, labels_name: str) -> Task:
    """Returns the task that counts how often the model is right."""
    key = _key(question, labels)
    return Task(key, title, _judged, AboutModel(key, question, labels, labels_name))


def _judged(request: AboutModel) -> bytes:
    require_equal(request.key, _key(request.question, request.labels))
    try:
        with opened(request.question) as arguments:
            view, _ = import_model(load(arguments, NAME_TO_LOOK_AT))
        samples = labelled_set(arrays_of(request.labels, request.labels_name), view)
        stage = on_host("model", view, samples, input_quantizations(view))
        figures = judged(task_of(samples, stage.outputs, stage.inputs), samples, stage.outputs, stage.inputs)
        return canonical({"share": merit_of(figures), "measure": _measure_of(figures)})
    except AidgeError as error:
        return _refusal(error)


def _measure_of(figures: Figures) -> str:
    return "top-1" if figures.top1 is not None else "AUC" if figures.auc is not None else "R2"


def accuracy_in(value: bytes) -> Accuracy | AidgeError:
    """The accuracy, or why it is not known."""
    return read_answer(value, lambda data: Accuracy(**data) if "share" in data else AidgeError(**data["refused"]))


def read_answer(value: bytes, made: Callable[[Any], Made]) -> Made:
    """Returns the content of an answer in the file; AidgeError if the content is not a sweep's."""
    try:
        return made(json.loads(value))
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise AidgeError(
            f"an answer in the file is damaged: {error}",
            where="--out or --answers",
            code="SWEEP",
            hint="remove the file, and run the sweep again",
        ) from error


def _key(question: Question, labels: bytes = b"") -> str:
    """Returns the key of a task about a model: quantized by its attached samples, or judged by its labels."""
    attached = [[one.option, _digests(one.files)] for one in question.attached]
    return key_of("model", tool_digest(), list(question.words), _digests(question.files), attached, labels)


def _digests(files: Sequence[tuple[str, bytes]]) -> list:
    return [[path, key_of(data)] for path, data in files]


def require_equal(wanted: object, own: object) -> None:
    """Raises MissingTool if the worker would answer another question than the one that was asked."""
    if wanted != own:
        raise MissingTool(
            "a worker has another version of aidge_build, of its packages or of its compilers than the one that asks",
            where="--scheduler",
            code="SWEEP",
            hint="install the same ones where the workers are",
        )


def _refusal(error: AidgeError) -> bytes:
    """Returns a refusal as an answer. Raises a missing tool, which may be there tomorrow, and an internal error: neither is an
    answer."""
    if isinstance(error, (MissingTool, InternalError)):
        raise error
    return canonical({"refused": {"what": error.what, "where": error.where, "hint": error.hint, "code": error.code}})
