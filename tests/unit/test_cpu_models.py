# SPDX-License-Identifier: MIT
"""Whole models on the numpy backend against stored and independent references."""

from __future__ import annotations

import numpy
import onnxruntime
import pytest

from aidge_build.contract.reference.cpu import run
from aidge_build.operators import builtin_operators
from aidge_build.prepare.recipes import simplify
from aidge_build.sources.formats.onnx.importer import import_onnx
from tests.shared import FLOAT_MODELS, MODELS, SHARED, float_model, int8_model, shared, vectors

WILD = (
    "mnist_cntk",
    "mnist14_tiny_cnn",
    "streaming_tcn",
    "prelu_concat_dynbatch",
    "yamnet_256_esc10",
    "ultraface_slim_320",
    "mobilenet_v2_050_128",
)


def _graph(path):
    return import_onnx(path.read_bytes(), path.name, builtin_operators(), {}, {})[0]


@pytest.mark.parametrize("recipes", [False, True], ids=["as imported", "after recipes"])
@pytest.mark.parametrize("name", MODELS)
def test_an_int8_model_gives_the_stored_outputs(name, recipes):
    view, stored = _graph(int8_model(name)), numpy.load(vectors(name))
    view = simplify(view) if recipes else view
    (source,), (result,) = view.inputs, view.outputs
    for x, wanted in zip(stored["x"], stored["y_ort_qdq"], strict=True):
        found = run(view, {source: x.reshape(view.tensor(source).dims)})[result]
        assert numpy.array_equal(found.reshape(wanted.shape), wanted)


@pytest.mark.parametrize("recipes", [False, True], ids=["as imported", "after recipes"])
@pytest.mark.parametrize("name", [*FLOAT_MODELS, *WILD])
def test_a_float_model_agrees_with_onnxruntime(name, recipes):
    path = float_model(name) if name in FLOAT_MODELS else shared(SHARED / "models" / "wild" / f"{name}.onnx")
    view = simplify(_graph(path)) if recipes else _graph(path)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    random = numpy.random.default_rng(7)
    inputs = {source: random.normal(size=view.tensor(source).dims).astype(numpy.float32) for source in view.inputs}
    wanted = onnxruntime.InferenceSession(path.read_bytes(), options).run(list(view.outputs), inputs)
    found = run(view, inputs)
    for result, values in zip(view.outputs, wanted, strict=True):
        assert numpy.abs(found[result] - values).max() <= 1e-5 * numpy.abs(values).max()
