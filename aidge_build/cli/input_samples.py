# SPDX-License-Identifier: MIT
"""Compares inputs that a firmware passed to a model with the samples of a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy

from aidge_build.base.errors import AidgeError
from aidge_build.graph.tensor import Tensor
from aidge_build.graph.view import GraphView
from aidge_build.prepare.input_samples import fed, input_samples
from aidge_build.run.verify.likeness import Difference, Passed, differences
from aidge_build.run.verify.vectors import Vectors, read_npz


def unlike_samples(path: Path, tensors: Sequence[Tensor], calls: Sequence[Sequence[bytes]]) -> list[Difference]:
    """Returns how the inputs differ from the samples of the NPZ file; [] if they are like them. `calls` are the
    stored bytes of each input in each call."""
    samples = _samples_in(path, tensors)
    lines = []
    for index, tensor in enumerate(tensors):
        passed = numpy.stack([_stored(inputs[index], tensor) for inputs in calls])
        lines += differences(Passed(tensor.name, passed, samples[tensor.name], tensor.quantization))
    return lines


def _samples_in(path: Path, tensors: Sequence[Tensor]) -> Vectors:
    """The samples, [sample, ...] in the order of the memory, as each of these inputs stores them."""
    names = tuple(tensor.name for tensor in tensors)
    view = GraphView("", (), {tensor.name: tensor for tensor in tensors}, names, ())
    try:
        found = input_samples(read_npz(path), view)
        values = {tensor.name: fed(found, tensor.name, tensor, None) for tensor in tensors}
    except AidgeError as error:
        raise error.within(str(path)) from None
    return {
        tensor.name: numpy.stack([_stored(tensor.to_stored(one).tobytes(), tensor) for one in values[tensor.name]])
        for tensor in tensors
    }


def _stored(data: bytes, tensor: Tensor) -> numpy.ndarray:
    return numpy.frombuffer(data, tensor.dtype.numpy, tensor.elements).reshape(tensor.layout.stored_dims)
