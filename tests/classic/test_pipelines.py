# SPDX-License-Identifier: MIT
"""Models of scikit-learn, XGBoost and LightGBM, with what goes before them, beside what onnxruntime gives (pipelines.npz).

All of them through numpy's meaning; a fixed sample as generated C on this machine with sanitizers, and some on a Cortex-M4.
AIDGE_STRESS=1 takes all of them everywhere.
"""

from __future__ import annotations

import os
from functools import cache

import numpy
import pytest

from aidge_build.boards import load_board
from aidge_build.contract.reference import cpu
from aidge_build.operators import builtin_operators
from aidge_build.prepare.recipes import simplify
from aidge_build.run.verify.firmware import execute
from aidge_build.sources.formats.onnx.importer import import_onnx
from aidge_build.sources.onnx_format.tables import as_places
from tests.classic.pipelines import stored
from tests.compiled import program_of
from tests.programs import needs_cross_compiler
from tests.sanitized import SANITIZED

STRESS = bool(os.environ.get("AIDGE_STRESS"))
CLOSE = 1e-5
NAMES = tuple(stored())
ON_HOST = NAMES if STRESS else NAMES[3::24]
ON_BOARD = NAMES if STRESS else NAMES[4::40]


@cache
def pipeline(name: str):
    return stored()[name]


def numbers(view, name: str, values: numpy.ndarray) -> numpy.ndarray:
    """Values of an input or output; words as their places in the tensor's table, -1 for one that is not there."""
    return as_places(values, view.tensor(name).names)


def require_same(view, found, wanted) -> None:
    """Labels are equal, and numbers within 1e-5 of onnxruntime's: relative to those that are larger than 1."""
    for name, values in wanted.items():
        expected = numbers(view, name, values)
        ours = numpy.asarray(found[name]).reshape(expected.shape)
        if expected.dtype.kind == "f":
            error = numpy.abs(ours - expected) / numpy.maximum(numpy.abs(expected), 1)
            assert error.max() <= CLOSE, f"{name} is {error.max()} off"
        else:
            assert ours.tolist() == expected.tolist()


@pytest.mark.parametrize("name", NAMES)
def test_a_pipeline_means_what_onnxruntime_computes(name):
    model, inputs, outputs = pipeline(name)
    view = simplify(import_onnx(model, "model.onnx", builtin_operators(), {}, {})[0])
    rows = [
        cpu.run(view, {one: numbers(view, one, values[row]) for one, values in inputs.items()})
        for row in range(len(next(iter(inputs.values()))))
    ]
    require_same(view, {one: numpy.stack([row[one] for row in rows]) for one in outputs}, outputs)


def results(name: str, board_name: str, folder, flags=()):
    """(graph, outputs of the generated program, those of onnxruntime)."""
    model, inputs, outputs = pipeline(name)
    board = load_board(board_name)
    program = program_of(model, "model.onnx", board)
    given = {one: numbers(program.view, one, values) for one, values in inputs.items()}
    return program.view, execute(program, board, given, folder, flags=flags).outputs, outputs


@pytest.mark.parametrize("name", ON_HOST)
def test_its_generated_code_gives_the_same_under_sanitizers(name, tmp_path):
    require_same(*results(name, "host", tmp_path, SANITIZED))


@needs_cross_compiler
@pytest.mark.parametrize("name", ON_BOARD)
def test_its_generated_code_gives_the_same_on_a_cortex_m4(name, tmp_path):
    require_same(*results(name, "mps2-an386", tmp_path))


def test_the_pipelines_cover_what_people_export():
    wanted = """
        logistic regression|linear SVC|SVC, linear|SVC, poly|SVC, rbf|SVC, sigmoid|SVR|decision tree|random forest|extra trees
        gradient boosting|histogram boosting|AdaBoost|k nearest neighbours|Gaussian naive Bayes|Gaussian mixture|k-means|PCA
        multi-layer perceptron|isolation forest|XGBoost|LightGBM|missing values|labels are words|columns: OneHotEncoder
        OrdinalEncoder
    """
    for part in wanted.replace("\n", "|").split("|"):
        assert any(part.strip() in name for name in NAMES), part
    pairs = "decision tree|random forest|extra trees|gradient boosting|histogram boosting|AdaBoost|k nearest neighbours|XGBoost"
    for part in pairs.split("|"):
        assert f"{part}, regression" in NAMES
