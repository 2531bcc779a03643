# SPDX-License-Identifier: MIT
"""Recurrent layers with weights in bytes: conditions and constants that kernels of several libraries share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy

from aidge_build.contract.kernel_kit.recurrent import NO_PEEPHOLES
from aidge_build.contract.kernel_kit.recurrent_layer import Section
from aidge_build.contract.node import KernelNode
from aidge_build.contract.spec import ANY, ROW_MAJOR, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType
from aidge_build.graph.tensor import Tensor

DATA, WEIGHTS, RECURRENCE, BIAS, LENGTHS, STATE = range(6)  # the inputs
ROWS = 4  # of a group; their sums are computed together
MOST_TERMS = 4095  # of a sum of values of 12 bits: |sum| <= 4095 * 4095 * 128


def _unfit(view: NodeView) -> str:
    for place in (WEIGHTS, RECURRENCE):
        tensor = view.inputs[place]
        if not tensor.is_constant or tensor.dtype is not DType.int8 or tensor.quantization is None:
            return f"input {place} is no quantized constant of int8"
        if tensor.quantization.axis not in (None, 0, 1) or any(tensor.quantization.zero_points):
            return f"input {place} has a zero point, or other scales than one for each row"
        if tensor.dims[2] > MOST_TERMS:
            return f"input {place} has {tensor.dims[2]} values in a row, wants at most {MOST_TERMS}"
    bias = view.inputs[BIAS] if len(view.inputs) > BIAS else None
    if bias is not None and not bias.is_constant:
        return f"input {BIAS} is computed at run time, wants a constant"
    return ""


def _no_reals(view: NodeView) -> str:
    others = [tensor for place, tensor in enumerate(view.inputs) if place >= BIAS and place != LENGTHS]
    wrong = [tensor.dtype.name for tensor in (*others, *view.outputs) if tensor is not None and tensor.dtype is not DType.float32]
    return f"a tensor is {wrong[0]}, wants float32" if wrong else ""


def _data(view: NodeView) -> str:
    data = view.inputs[DATA]
    return "" if data.dtype is DType.float32 or data.quantization is not None else "input 0 has no scale"


BYTE_WEIGHTS = Predicate("constant int8 weights with one scale for each row and zero point 0", _unfit)
REAL_STATES = Predicate("bias, states and outputs are float32", _no_reals)
STATED_DATA = Predicate("data of int8 have one scale", _data)


def recurrent_spec(data: DType, *predicates: Predicate, features: frozenset[str] = frozenset()) -> ImplSpec:
    """Returns the spec of a layer that has weights in bytes and reads data of this type."""
    return ImplSpec(
        inputs=(IOSpec(data, ROW_MAJOR), IOSpec(DType.any, ANY)),
        outputs=(IOSpec(DType.float32, ROW_MAJOR),),
        features=features,
        predicates=(BYTE_WEIGHTS, REAL_STATES, STATED_DATA, NO_PEEPHOLES, *predicates),
    )


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of a section: int8 weights [rows, values] for x and for the state (no columns if the section does not read it),
    the float32 factors of their integer sums, and the biases."""

    weights: numpy.ndarray
    recurrence: numpy.ndarray
    by_weights: numpy.ndarray
    by_recurrence: numpy.ndarray
    bias: numpy.ndarray


def byte_rows(node: KernelNode, section: Section, direction: int) -> Rows:
    """Returns the rows of a section. The factors for data in bytes include the data's scale; the factors for float data and for
    the state are the scales of the weights."""
    data = node.inputs[DATA]
    scale = float(data.quantization.scale) if data.quantization is not None else 1.0
    weights, by_weights = _side(node.inputs[WEIGHTS], section.weights, direction, len(section.biases[0]))
    recurrence, by_recurrence = _side(node.inputs[RECURRENCE], section.recurrence, direction, len(section.biases[0]))
    bias = numpy.zeros(len(weights))
    if len(node.inputs) > BIAS and node.inputs[BIAS] is not None:
        bias = sum((node.inputs[BIAS].data[direction].astype(numpy.float64)[chosen] for chosen in section.biases), bias)
    return Rows(
        weights,
        recurrence,
        (by_weights * scale).astype(numpy.float32),
        by_recurrence.astype(numpy.float32),
        numpy.asarray(bias).astype(numpy.float32),
    )


class RecurrentBytes(KernelNode):
    """Base of kernels that compute the sums of groups of rows. The words of a group: biases; for the data, then for the state,
    the library's words for the weights, and factors."""

    def words(self, weights: numpy.ndarray, is_data: bool) -> numpy.ndarray:
        """Returns the int32 words of the weights of a group [rows, values]."""
        raise NotImplementedError

    def divisor(self, is_data: bool) -> int:
        """Returns the number by which the library's integer sums are too small."""
        return 256

    def stream(self, section: Section, direction: int) -> numpy.ndarray:
        """Returns the words of all groups of a section; rows of zeros make the last group whole."""
        rows = _padded(byte_rows(self, section, direction))
        sides: list[tuple[bool, numpy.ndarray, numpy.ndarray]] = []
        if section.weights is not None:
            sides.append((True, rows.weights, rows.by_weights))
        if section.recurrence is not None:
            sides.append((False, rows.recurrence, rows.by_recurrence))
        found: list[numpy.ndarray] = []
        for first in range(0, len(rows.bias), ROWS):
            block = slice(first, first + ROWS)
            found.append(rows.bias[block].view(numpy.int32))
            for is_data, matrix, factors in sides:
                numbers = factors[block] * numpy.float32(self.divisor(is_data))
                found += [self.words(matrix[block], is_data), numbers.view(numpy.int32)]
        return numpy.concatenate(found)

    def counts(self, section: Section) -> tuple[int, int]:
        """Returns how many values of the data and of the state a section multiplies."""
        data = self.inputs[DATA].dims[2] if section.weights is not None else 0
        return data, self.operator.hidden if section.recurrence is not None else 0


def sums_call(name: str, source: str, number: int, section: Section, state: str, units: str) -> str:
    """Returns the C that computes the sums of a section."""
    return (
        f"{name}({source}, {section.sums}, stream + places->starts[{number}], "
        f"stream + places->starts[{number + 1}], {state}, {units});"
    )


def _padded(rows: Rows) -> Rows:
    more = -len(rows.bias) % ROWS
    matrices = (numpy.pad(part, ((0, more), (0, 0))) for part in (rows.weights, rows.recurrence))
    return Rows(*matrices, *(numpy.pad(part, (0, more)) for part in (rows.by_weights, rows.by_recurrence, rows.bias)))


def _side(tensor: Tensor, chosen: numpy.ndarray | None, direction: int, rows: int) -> tuple[numpy.ndarray, numpy.ndarray]:
    if chosen is None:
        return numpy.zeros((rows, 0), numpy.int8), numpy.zeros(rows)
    scales = tensor.quantization.along(tensor.quantization.scales, 3, numpy.float64)
    return tensor.data[direction][chosen], numpy.broadcast_to(scales, (*tensor.dims[:2], 1))[direction, chosen, 0]
