# SPDX-License-Identifier: MIT
"""A sample in the starter project: stored inputs, and the outputs that numpy computes of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy

from aidge_build.base.errors import AidgeError
from aidge_build.graph.tensor import Tensor
from aidge_build.plan.constant_arrays import Array
from aidge_build.plan.program import Program
from aidge_build.run.verify.compare import FLOAT_TOLERANCE
from aidge_build.run.verify.steps import run_as_kernels
from aidge_build.run.verify.vectors import model_inputs

RECORDING = "recording"  # the number of vectors of a recording, in the file of a model that has states


@dataclass(frozen=True)
class Side:
    """An input or output: its rows of C, one vector after the other. Floats may be `tolerance` away."""

    c_type: str
    elements: int
    lines: tuple[str, ...]
    tolerance: str = ""


@dataclass(frozen=True)
class Sample:
    """`steps` vectors of each input in the order of the model, and each output after the last of them; `label` is the right
    answer as the file has it, "" without labels."""

    steps: int
    label: str
    inputs: tuple[Side, ...]
    outputs: tuple[Side, ...]


def sample_of(program: Program, arrays: Mapping[str, numpy.ndarray]) -> Sample:
    """The first vector of the arrays; of a model with states the first recording."""
    view = program.view
    given = model_inputs(arrays, view)
    if not given:
        raise AidgeError("the model has no inputs", code="VECTORS", hint="leave out --samples")
    count = len(next(iter(given.values())))
    steps = _recording(arrays[RECORDING], count) if view.states and RECORDING in arrays else 1
    vectors = {name: values[:steps] for name, values in given.items()}
    found = run_as_kernels(program, vectors)
    inputs = tuple(_side(view.tensor(name), vectors[name]) for name in view.given)
    labels = arrays.get("labels", numpy.zeros(0))
    label = str(labels.reshape(-1)[steps - 1]) if labels.dtype.kind in "iu" and labels.size == count else ""
    return Sample(steps, label, inputs, tuple(_side(view.tensor(name), found[name][-1:]) for name in view.handed_out))


def _recording(stated: numpy.ndarray, count: int) -> int:
    """The number of vectors of a recording; AidgeError (VECTORS) if it is none, or more than there are."""
    if stated.size != 1 or stated.dtype.kind not in "iu" or not 1 <= int(stated.reshape(-1)[0]) <= count:
        raise AidgeError(f"array {RECORDING} is no number from 1 to {count}, the vectors of the file", code="VECTORS")
    return int(stated.reshape(-1)[0])


def _side(tensor: Tensor, values: numpy.ndarray) -> Side:
    rows = numpy.concatenate([tensor.to_stored(numpy.asarray(one, tensor.dtype.numpy)).reshape(-1) for one in values])
    tolerance = f"{max(FLOAT_TOLERANCE * float(numpy.abs(rows).max(initial=0)), 1e-6):.3g}f" if tensor.dtype.is_float else ""
    return Side(tensor.dtype.c_type, max(1, tensor.elements), tuple(Array("", rows, "").lines()), tolerance)
