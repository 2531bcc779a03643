# SPDX-License-Identifier: MIT
"""The models with measured coverage: the zoo, each model with other options, and models with layers and interfaces that the zoo
lacks. This list is all that a new model changes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from aidge_build.base.zoo import entry, names

ROOT = Path(__file__).resolve().parents[2]
# Options of models of the zoo, so that each interface of generated code is measured once.
_OPTIONS = {
    "anomaly": ("--arena", "caller"),
    "digits": ("--max-step", "50000"),
    "gas": ("--integrity", "on"),
    "gesture": ("--record", "2"),
    "keyword": ("--update", "weights"),
    "svm": ("--monitor", "on"),
}
_VECTORS = {"forest": 40000, "gas": 400, "svm": 400}  # other models take longer for a vector


@dataclass(frozen=True)
class Network:
    """A model by its file, or by a function that makes its bytes, and the options of its build; `has` says what it adds. It runs
    so many seeded vectors, after the `samples` of a file."""

    name: str
    has: str
    source: Path | Callable[[], bytes]
    options: tuple[str, ...] = ()
    vectors: int = 24
    samples: Path | None = None


def _of_zoo(name: str) -> Network:
    found = entry(name)
    return Network(name, found.card["title"], found.model, _OPTIONS.get(name, ()), _VECTORS.get(name, 24), found.samples)


def _packed() -> bytes:
    from tests.packed_networks import packed_network

    return packed_network()


NETWORKS = (
    *map(_of_zoo, names()),
    Network("stripes", "an image by rows", ROOT / "examples" / "camera_rows" / "stripes.onnx", ("--input", "rows")),
    Network("packed", "weights of 1 to 4 bits, a recurrent layer", _packed),
)
