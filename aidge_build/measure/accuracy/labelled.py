# SPDX-License-Identifier: MIT
"""Samples with labels or targets, from the arrays of an NPZ file, and the inputs of a model made from them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy

from aidge_build.base.errors import AidgeError
from aidge_build.base.naming import counted
from aidge_build.base.npz import read_npz
from aidge_build.graph.view import GraphView
from aidge_build.prepare.input_samples import WANTED, Samples, input_samples
from aidge_build.prepare.quantization.samples import require_finite
from aidge_build.run.verify.vectors import Vectors
from aidge_build.sources.onnx_format.tables import as_places

NO_LABEL = -100  # -1 is a class of outlier detectors
_WANTED = f"{WANTED}; labels as labels (class numbers), or targets as targets"


@dataclass(frozen=True, eq=False)
class LabelledSet(Samples):
    """`labels` are class numbers [sample], NO_LABEL for a sample that is only a part of a stream; `targets` real values by output
    name [sample, ...]. At most one of them is given."""

    labels: numpy.ndarray | None = None
    targets: Vectors = field(default_factory=dict)

    @property
    def is_labelled(self) -> bool:
        """Whether the right answers are known."""
        return self.labels is not None or bool(self.targets)

    @property
    def has_labels(self) -> bool:
        """Whether a sample has the number of a class."""
        return self.labels is not None and bool((self.labels != NO_LABEL).any())

    def chosen(self, places: numpy.ndarray | slice) -> LabelledSet:
        """Returns the samples at these places, with their answers."""

        def cut(arrays: Vectors) -> Vectors:
            return {name: values[places] for name, values in arrays.items()}

        labels = None if self.labels is None else self.labels[places]
        return replace(self, inputs=cut(self.inputs), labels=labels, targets=cut(self.targets))


def given_samples(path: Path, view: GraphView) -> LabelledSet:
    """Returns the samples of an NPZ file, with its labels or targets if it has some. AidgeError names the file."""
    arrays = read_npz(path)
    has_answers = any(key in ("labels", "targets") or key.startswith("targets_") for key in arrays)
    try:
        return (labelled_set if has_answers else samples_of)(arrays, view)
    except AidgeError as error:
        raise error.within(str(path)) from None


def labelled_set(arrays: Mapping[str, numpy.ndarray], view: GraphView) -> LabelledSet:
    """The samples for a model with the inputs and outputs of `view`; AidgeError says what is missing or does not fit."""
    samples = samples_of(arrays, view)
    labels = _labels(arrays["labels"], view) if "labels" in arrays else None
    targets = {} if labels is not None else _targets(arrays, view)
    if labels is None and not targets:
        raise AidgeError("there is no array 'labels' or 'targets'", tried=sorted(arrays), code="VECTORS", hint=_WANTED)
    count = samples.count
    for name, values in [("labels", labels)] if labels is not None else list(targets.items()):
        if len(values) != count:
            raise AidgeError(
                f"{count} samples have {counted(len(values), 'entry')} in '{name}'", code="VECTORS", hint="one for each sample"
            )
    return replace(samples, labels=labels, targets=targets)


def samples_of(arrays: Mapping[str, numpy.ndarray], view: GraphView) -> LabelledSet:
    """Returns the samples without labels and targets."""
    samples = input_samples(arrays, view)
    return LabelledSet(samples.inputs, samples.stated)


def shared_samples(first: Vectors, second: Vectors) -> int:
    """Returns how many samples of `second` are in `first`, too, by the bytes of all their inputs (as float32); 0 for other
    inputs."""
    if set(first) != set(second):
        return 0
    seen = set(_digests(first))
    return sum(digest in seen for digest in _digests(second))


def _digests(samples: Vectors) -> list[bytes]:
    rows = [numpy.ascontiguousarray(samples[name], numpy.float32).reshape(len(samples[name]), -1) for name in sorted(samples)]
    return [hashlib.sha256(b"".join(values.tobytes() for values in row)).digest() for row in zip(*rows)]


def _labels(values: numpy.ndarray, view: GraphView) -> numpy.ndarray:
    flat = values.reshape(-1) if values.ndim == 2 and values.shape[1] == 1 else values
    flat = _numbered(flat, next((names for name in view.handed_out if (names := view.tensor(name).names)), ()))
    is_row = flat.ndim == 1 and flat.dtype.kind in "iub"
    if not is_row or ((flat.astype(numpy.int64) < 0) & (flat != NO_LABEL)).any():  # uint64 of 2^63 and more would become negative
        raise AidgeError(
            f"array labels is {values.dtype}{list(values.shape)}{' with numbers of no class' if is_row else ''}",
            code="VECTORS",
            hint=f"one class number (0, 1, ...) for each sample, {NO_LABEL} for a sample that is not judged, 0 for the -1 of an "
            "outlier detector",
        )
    return flat.astype(numpy.int64)


def _numbered(labels: numpy.ndarray, words: Sequence[str]) -> numpy.ndarray:
    """Returns the numbers of words that are classes of the model; other labels as they are."""
    if labels.dtype.kind != "U" or not words:
        return labels
    places = as_places(labels, words)
    if (places < 0).any():
        raise AidgeError(f"the label '{labels[places < 0][0]}' is no class of the model", tried=words, code="VECTORS")
    return places


def _targets(arrays: Mapping[str, numpy.ndarray], view: GraphView) -> Vectors:
    found = {}
    for name in view.handed_out:
        keys = [f"targets_{name}", *(["targets"] if name == view.handed_out[0] else [])]
        key = next((key for key in keys if key in arrays), None)
        if key is None:
            continue
        values, elements = arrays[key], view.tensor(name).elements
        if values.dtype.kind not in "iufb" or values.ndim < 1 or values.size != len(values) * elements:
            raise AidgeError(
                f"array {key} is {values.dtype}{list(values.shape)}, output '{name}' has {counted(elements, 'value')} for each "
                "sample",
                code="VECTORS",
            )
        require_finite(values, key, "VECTORS")
        found[name] = values.astype(numpy.float64).reshape(len(values), -1)
    return found
