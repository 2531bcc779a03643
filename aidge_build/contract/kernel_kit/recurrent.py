# SPDX-License-Identifier: MIT
"""Recurrent layers of floats: conditions, calls and structs that kernels of several libraries share."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy

from aidge_build.contract.call import Argument, Call, Constant, Input, Literal, Output, Scratch, Struct
from aidge_build.contract.kernel_kit.conditions import REAL
from aidge_build.contract.kernel_kit.curves import LOGISTIC, TANH, curve
from aidge_build.contract.kernel_kit.recurrent_layer import Driver, Section, gate_text, has_bounded_cell, layer_text, sections
from aidge_build.contract.node import KernelNode
from aidge_build.contract.spec import ANY, ROW_MAJOR, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType

FEWEST = 8  # units
CODES = {"tanh": 0, "sigmoid": 1, "relu": 2}


def _types(view: NodeView) -> str:
    wrong = [
        tensor.dtype.name
        for index, tensor in enumerate(view.inputs)
        if tensor is not None and index != 4 and tensor.dtype is not DType.float32
    ]
    return f"an input is {wrong[0]}, wants float32" if wrong else ""


def _computed_weights(view: NodeView) -> str:
    computed = [index for index, tensor in enumerate(view.inputs[1:4], 1) if tensor is not None and not tensor.is_constant]
    if computed:
        return f"input {computed[0]} is computed at run time, wants a constant"
    return "" if view.operator.hidden >= FEWEST else f"{view.operator.hidden} units, wants at least {FEWEST}"


def _peepholes(view: NodeView) -> str:
    return "it has peepholes" if len(view.inputs) > 7 and view.inputs[7] is not None else ""


FLOATS = Predicate("all but the lengths are float32", _types)
NO_PEEPHOLES = Predicate("no peepholes", _peepholes)


def real_spec(features: frozenset[str]) -> ImplSpec:
    """Returns the spec of a layer of floats with constant weights."""
    return ImplSpec(
        inputs=(IOSpec(DType.float32, ROW_MAJOR), IOSpec(DType.any, ANY)),
        outputs=(IOSpec(DType.float32, ROW_MAJOR),),
        features=features,
        predicates=(
            REAL,
            FLOATS,
            Predicate(f"constant weights and biases, at least {FEWEST} units", _computed_weights),
            NO_PEEPHOLES,
        ),
    )


def optional_input(node: KernelNode, index: int) -> Argument:
    """Returns the pointer to an input, 0 if the input is not given."""
    return Input(index) if len(node.inputs) > index and node.inputs[index] is not None else Literal(0)


def real_rows(node: KernelNode, section: Section, direction: int) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Returns the float32 weights [rows, values of the source] and biases [rows] of a section."""
    weights, recurrence = (tensor.data[direction].astype(numpy.float32) for tensor in node.inputs[1:3])
    parts = ((weights, section.weights), (recurrence, section.recurrence))
    rows = numpy.concatenate([matrix[chosen] for matrix, chosen in parts if chosen is not None], axis=1)
    given = node.inputs[3].data[direction] if len(node.inputs) > 3 and node.inputs[3] is not None else None
    bias = numpy.zeros(len(rows))
    for chosen in section.biases if given is not None else ():
        bias += given[chosen]
    return rows, bias.astype(numpy.float32)


def recurrent_call(
    node: KernelNode,
    driver: Driver,
    stream: Callable[[Section, int], numpy.ndarray],
    sources: tuple[str, ...],
    texts: Sequence[str],
    others: Sequence[float] = (),
    **more,
) -> Call:
    """Returns the call of a layer. `stream` returns the weights of a section in a direction; `texts` are the functions that the
    layer calls; `others` are the library's own constants, stored after the limit."""
    operator, states = node.operator, (4, 5, 6) if node.node.type == "LSTM" else (4, 5)
    streams = [[stream(part, direction) for part in sections(operator)] for direction in range(operator.directions)]
    ends = [sum(map(len, streams[0][:count])) for count in range(4)]
    numbers = [numpy.array([-math.inf, math.inf]), curve(TANH), curve(LOGISTIC), numpy.array([operator.limit, *others])]
    numbers += [numpy.array([operator.cell_limit])] if has_bounded_cell(operator) else []
    return Call(
        driver.name(operator),
        sources,
        (
            Input(0),
            *(optional_input(node, index) for index in states),
            *map(Output, range(len(node.outputs))),
            Scratch(),
            Constant("stream", numpy.concatenate([one for direction in streams for one in direction])),
            Constant("numbers", numpy.concatenate(numbers).astype(numpy.float32)),
            Struct("aidge_kit_recurrent_stream", {"starts": tuple(ends), "step": sum(map(len, streams[0]))}),
            recurrent_shape(node),
        ),
        texts=(*texts, gate_text(driver), layer_text(operator, driver, len(others))),
        **more,
    )


def recurrent_shape(node: KernelNode) -> Struct:
    """The struct of kit/recurrent.h."""
    operator, data = node.operator, node.inputs[0]
    first = operator.batch_first
    steps, batches = data.dims[:2][::-1] if first else data.dims[:2]
    x, y, h = (tensor.layout.strides for tensor in (data, node.outputs[0], node.outputs[1]))
    per = len(operator.default_functions)
    functions = [0] * 6
    for direction in range(operator.directions):
        for place, function in enumerate(operator.functions[direction * per : (direction + 1) * per]):
            functions[3 * direction + place] = CODES[function]
    return Struct(
        "aidge_kit_recurrent_shape",
        {
            "steps": steps,
            "batches": batches,
            "inputs": data.dims[2],
            "hidden": operator.hidden,
            "directions": operator.directions,
            "gates": operator.gates,
            "backwards": (int(operator.direction == "reverse"), 1),
            "functions": tuple(functions),
            "x_time": x[1 if first else 0],
            "x_batch": x[0 if first else 1],
            "y_time": y[1 if first else 0],
            "y_direction": y[2 if first else 1],
            "y_batch": y[0 if first else 2],
            "h_direction": h[1 if first else 0],
            "h_batch": h[0 if first else 1],
            "reset_after": int(getattr(operator, "reset_after", False)),
        },
    )
