# SPDX-License-Identifier: MIT
"""The ten models with measured coverage: each has another kind of layers, or another interface. The list is all that a new model
changes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Network:
    """A model by its file, or by a function that makes its bytes, and the options of its build. `has` says what it adds."""

    name: str
    has: str
    source: str | Callable[[], bytes]
    options: tuple[str, ...] = ()
    vectors: int = 24


def _pipeline(name: str) -> Callable[[], bytes]:
    def stored_model() -> bytes:
        from tests.classic.pipelines import stored

        return stored()[name][0]

    return stored_model


def _packed() -> bytes:
    from tests.packed_networks import packed_network

    return packed_network()


NETWORKS = (
    Network("digits", "int8 convolutions, a fully connected layer", "examples/digits/digits.onnx"),
    Network("keyword", "audio front end, streaming state, decision", "examples/keyword/keyword.onnx"),
    Network("anomaly", "an autoencoder", "examples/anomaly/anomaly.onnx", ("--arena", "caller")),
    Network("stripes", "input by rows", "examples/camera_rows/stripes.onnx", ("--input", "rows")),
    Network("steps", "an inference in steps", "examples/digits/digits.onnx", ("--max-step", "50000")),
    Network("update", "weights that are replaced", "examples/update/retrained.onnx", ("--update", "weights")),
    Network(
        "forest", "a random forest with missing values", _pipeline("random forest, labels are words, SimpleImputer"), vectors=4000
    ),
    Network(
        "svm", "a support vector machine with probabilities", _pipeline("SVC, rbf, probabilities, labels are words"), vectors=400
    ),
    Network("packed", "weights of 1 to 4 bits, a recurrent layer", _packed),
    Network("boosting", "boosted trees, floats", _pipeline("XGBoost, missing values"), vectors=4000),
)
