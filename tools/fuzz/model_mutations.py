# SPDX-License-Identifier: MIT
"""Damage to what a model means: other numbers, shapes, types, wires, operators. Most of it is still a model that can be read."""

from __future__ import annotations

from random import Random

import numpy
import onnx

from tools.fuzz.mutations import FLOATS, INTEGERS

_SMALL = (0, 1, 2, 3, 4, 5, 7, 8, 16, 31)


def damaged_model(model: onnx.ModelProto, chance: Random) -> None:
    """One to four such changes; declared shapes of outputs are left out, so that they contradict nothing."""
    for value in model.graph.output:
        value.type.tensor_type.ClearField("shape")
    del model.graph.value_info[:]
    for _ in range(chance.choice((1, 1, 2, 3, 4))):
        chance.choice(_CHANGES)(model.graph, chance)


def _numbers(graph: onnx.GraphProto, chance: Random) -> None:
    """One element of a constant, or all of them, become an extreme number."""
    tensor = _constant(graph, chance)
    if tensor is None:
        return
    values = onnx.numpy_helper.to_array(tensor).copy()
    if values.dtype.kind not in "fiub" or not values.size:
        return
    with numpy.errstate(all="ignore"):
        number = _number(values.dtype, chance)
        if chance.random() < 0.5:
            values[...] = number
        else:
            values.reshape(-1)[chance.randrange(values.size)] = number
    _put(tensor, values)


def _number(dtype: numpy.dtype, chance: Random):
    if dtype.kind == "f":
        return numpy.array(chance.choice(FLOATS), dtype)
    choices = (*INTEGERS, *(-number for number in INTEGERS), *range(-3, 8))
    return numpy.array(chance.choice(choices) & 0xFFFFFFFFFFFFFFFF, numpy.uint64).astype(dtype)


def _shape(graph: onnx.GraphProto, chance: Random) -> None:
    """A constant gets other dims: the same elements, fewer axes, more, or other lengths."""
    tensor = _constant(graph, chance)
    if tensor is None:
        return
    values, kind = onnx.numpy_helper.to_array(tensor), chance.randrange(6)
    if kind == 0:
        values = values.reshape(-1)
    elif kind == 1:
        values = values[None]
    elif kind == 2 and values.size:
        values = values.reshape(-1)[:1].reshape(())
    elif kind == 3:
        values = values.T
    elif kind == 4:
        values = numpy.concatenate([values.reshape(-1)] * 2) if values.dtype.kind != "O" else values
    else:
        values = values.reshape(-1)[: values.size // 2]
    _put(tensor, values)


def _type(graph: onnx.GraphProto, chance: Random) -> None:
    """A constant or an input gets another element type."""
    kinds = ("float32", "float64", "float16", "int8", "uint8", "int16", "int32", "int64", "uint64", "bool")
    tensor = _constant(graph, chance)
    if tensor is not None and chance.random() < 0.6:
        values = onnx.numpy_helper.to_array(tensor)
        if values.dtype.kind in "fiub":
            with numpy.errstate(all="ignore"):
                _put(tensor, values.astype(chance.choice(kinds)))
    elif graph.input:
        number = onnx.helper.np_dtype_to_tensor_dtype(numpy.dtype(chance.choice(kinds)))
        chance.choice(graph.input).type.tensor_type.elem_type = number


def _dims(graph: onnx.GraphProto, chance: Random) -> None:
    """An input gets another length, one axis less or more."""
    if not graph.input:
        return
    dims = chance.choice(graph.input).type.tensor_type.shape.dim
    kind = chance.randrange(4)
    if kind == 0 and dims:
        del dims[chance.randrange(len(dims))]
    elif kind == 1:
        dims.add().dim_value = chance.choice(_SMALL)
    elif dims:
        chance.choice(dims).dim_value = chance.choice((*_SMALL, *INTEGERS))


def _attribute(graph: onnx.GraphProto, chance: Random) -> None:
    found = [attribute for node in graph.node for attribute in node.attribute]
    if not found:
        return
    attribute = chance.choice(found)
    if attribute.type == onnx.AttributeProto.INT:
        attribute.i = chance.choice((*_SMALL, -1, -2, *INTEGERS, -(1 << 63)))
    elif attribute.type == onnx.AttributeProto.FLOAT:
        attribute.f = chance.choice(FLOATS)
    elif attribute.type == onnx.AttributeProto.INTS and attribute.ints:
        attribute.ints[chance.randrange(len(attribute.ints))] = chance.choice((*_SMALL, -1, -2, *INTEGERS))
        if chance.random() < 0.3:
            attribute.ints.append(chance.choice(_SMALL))
    elif attribute.type == onnx.AttributeProto.STRING:
        attribute.s = chance.choice((b"", b"SAME_UPPER", b"SAME_LOWER", b"VALID", b"reflect", b"edge", b"linear", b"\xff"))


def _wire(graph: onnx.GraphProto, chance: Random) -> None:
    """A node reads another tensor."""
    names = [*(value.name for value in graph.input), *(tensor.name for tensor in graph.initializer)]
    names += [name for node in graph.node for name in node.output]
    if not graph.node or not names:
        return
    node = chance.choice(graph.node)
    kind = chance.randrange(5)
    if kind == 0:
        node.input.append(chance.choice(names))
    elif kind == 1 and node.input:
        del node.input[chance.randrange(len(node.input))]
    elif kind == 2:
        node.output.append(f"more{chance.randrange(9)}")
    elif node.input:
        node.input[chance.randrange(len(node.input))] = chance.choice((*names, ""))


def _operator(graph: onnx.GraphProto, chance: Random) -> None:
    """A node becomes another operator; its attributes stay or go."""
    if graph.node:
        node = chance.choice(graph.node)
        node.op_type = chance.choice(_OPERATORS)
        if chance.random() < 0.5:
            del node.attribute[:]


def _output(graph: onnx.GraphProto, chance: Random) -> None:
    """Another tensor is an output, too: one inside, an input, a constant, or the same one twice."""
    names = [name for node in graph.node for name in (*node.output, *node.input) if name]
    if names:
        made = graph.output.add()
        made.name = chance.choice(names)
        made.type.tensor_type.elem_type = chance.choice((1, 1, 1, 2, 3, 6, 7, 9))


def _copy(graph: onnx.GraphProto, chance: Random) -> None:
    """A node once more, on its own output."""
    if not graph.node:
        return
    node, made = chance.choice(graph.node), graph.node.add()
    made.CopyFrom(node)
    made.name = ""
    for index, name in enumerate(node.output):
        made.output[index] = f"{name}_again"
    if made.input and node.output:
        made.input[0] = node.output[0]
    if made.output:
        graph.output.add().CopyFrom(graph.output[0]) if graph.output else None
        if graph.output:
            graph.output[-1].name = made.output[0]


def _constant_input(graph: onnx.GraphProto, chance: Random) -> None:
    """An input becomes a constant of zeros or ones, or a constant an input."""
    if graph.initializer and chance.random() < 0.5:
        at = chance.randrange(len(graph.initializer))
        tensor = graph.initializer[at]
        graph.input.add().CopyFrom(onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, list(tensor.dims)))
        del graph.initializer[at]


def _constant(graph: onnx.GraphProto, chance: Random) -> onnx.TensorProto | None:
    return chance.choice(graph.initializer) if graph.initializer else None


def _put(tensor: onnx.TensorProto, values: numpy.ndarray) -> None:
    tensor.CopyFrom(onnx.numpy_helper.from_array(numpy.ascontiguousarray(values).reshape(values.shape), tensor.name))


_OPERATORS = sorted(schema.name for schema in onnx.defs.get_all_schemas() if schema.domain == "")
_CHANGES = (
    *(_numbers, _numbers, _numbers, _shape, _shape, _type, _dims, _dims, _attribute, _attribute, _wire, _wire, _operator),
    *(_output, _copy, _constant_input),
)
