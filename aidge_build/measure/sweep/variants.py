# SPDX-License-Identifier: MIT
"""A matrix with its files read: each model with each of its option sets, as questions about boards and about the model alone."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from aidge_build.base.npz import LARGEST_VECTOR_BYTES
from aidge_build.base.options import MODEL, from_words
from aidge_build.base.reading import read_regular
from aidge_build.measure.fit.question import Attached, Question, read_questions
from aidge_build.measure.sweep.matrix import Matrix, SweptModel
from aidge_build.measure.sweep.option_sets import OptionSet

_QUANTIZE = "quantize"
_PATHS = ("file", "folders", "checkouts")
_SIZES = "--bind="  # of a quantized model they are facts
# The options that the values of a model depend on, on any board.
_OF_VALUES = (_SIZES, "--state=", "--signature=", "--rounding=")


@dataclass(frozen=True)
class Variant:
    """A model with an option set. `questions` has a question about each board; `samples` and `labels` are the bytes of NPZ files,
    b"" without one; `awaits_model`: the model is still to be quantized."""

    model: SweptModel
    options: OptionSet
    questions: tuple[Question, ...]
    samples: bytes = b""
    labels: bytes = b""
    awaits_model: bool = False

    @property
    def title(self) -> str:
        """The name for people."""
        return f"{self.model.name}, {self.options.name}"

    @property
    def words(self) -> str:
        """The options, as the command line has them."""
        options = self.options
        return " ".join((*self.model.words, *options.words, *(("--quantize",) if options.quantizes else ()), *options.scheme))

    def to_quantize(self) -> Question:
        """The question that is answered with the quantized model."""
        assert self.model.samples is not None
        name = self.model.samples.name
        question = self.to_judge()
        words = tuple(sorted((*question.words, *self.options.scheme)))
        return replace(
            question, words=words, attached=(*question.attached, Attached(_QUANTIZE, (name,), ((name, self.samples),)))
        )

    def quantized(self, model: bytes) -> Variant:
        """Returns the same variant for the quantized model."""
        questions = [
            replace(one, files=((one.model, model),), words=tuple(word for word in one.words if not word.startswith(_SIZES)))
            for one in self.questions
        ]
        return replace(self, questions=tuple(questions), awaits_model=False)

    def to_judge(self) -> Question:
        """The question about the model alone, on any core."""
        first = self.questions[0]
        own = first.own_board
        return replace(
            first,
            words=tuple(word for word in first.words if word.startswith(_OF_VALUES)),
            board="",
            attached=tuple(one for one in first.attached if one is not own),
            build=False,
            measure=False,
        )


def read_variants(
    matrix: Matrix, boards: Sequence[str], board_path: Sequence[Path], kernel_path: Sequence[Path]
) -> tuple[Variant, ...]:
    """Returns all variants of the matrix, with their questions about these boards; AidgeError for an unreadable file."""
    read = cache(lambda path: read_regular(path, LARGEST_VECTOR_BYTES, "VECTORS") if path else b"")
    found = []
    for model, options in matrix.pairs():
        arguments = _arguments(model, options, board_path, kernel_path)
        questions = read_questions(arguments, boards, build=matrix.build, measure=matrix.measure)
        samples = read(model.samples) if options.quantizes else b""
        found.append(Variant(model, options, tuple(questions), samples, read(model.labels), options.quantizes))
    return tuple(found)


def _arguments(
    model: SweptModel, options: OptionSet, board_path: Sequence[Path], kernel_path: Sequence[Path]
) -> argparse.Namespace:
    """Returns the arguments as the command line gives them, with the model as it is."""
    arguments = from_words([*model.words, *options.words], MODEL.options)
    paths: dict[str, object] = {one.argument: [] if one.repeated else None for one in MODEL.options if one.kind in _PATHS}
    own = {"board_path": list(board_path), "kernel_path": list(kernel_path)}
    vars(arguments).update({**paths, **own, "model": str(model.file)})
    return arguments
