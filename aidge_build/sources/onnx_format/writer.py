# SPDX-License-Identifier: MIT
"""A model as the bytes of an ONNX file: equal models give equal bytes."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy
import onnx

from aidge_build.sources.onnx_format.model import ModelNode, OnnxModel, ValueInfo
from aidge_build.sources.onnx_format.names import KEY, STATES, names_text, states_text
from aidge_build.sources.onnx_format.types import number_of


def write_model(model: OnnxModel) -> bytes:
    """Returns the file; AidgeError is never raised: the model's content is valid by its types."""
    graph = onnx.helper.make_graph(
        [_node(node) for node in model.nodes],
        model.name,
        list(map(_value, model.inputs)),
        list(map(_value, model.outputs)),
        [onnx.numpy_helper.from_array(values, name) for name, values in sorted(model.initializers.items())],
    )
    opsets = [onnx.helper.make_opsetid(domain, version) for domain, version in sorted(model.opsets.items())]
    made = onnx.helper.make_model(graph, opset_imports=opsets, producer_name="aidge-build")
    made.ir_version = model.ir_version
    for key, text in ((KEY, names_text(model)), (STATES, states_text(model.states))):
        if text:
            made.metadata_props.add(key=key, value=text)
    return made.SerializeToString(deterministic=True)


def specialised(data: bytes, values: Mapping[str, numpy.ndarray], constants: Collection[str]) -> bytes:
    """Returns the model for inputs of exactly these dims; the inputs in `constants` become initialisers with their values."""
    model = onnx.ModelProto.FromString(data)
    changed = False
    for value in model.graph.input:
        if value.name in values:
            exact = onnx.helper.make_tensor_value_info(value.name, value.type.tensor_type.elem_type, values[value.name].shape)
            changed |= exact.type != value.type
            value.CopyFrom(exact)
    for value in model.graph.output if changed else ():
        value.type.tensor_type.ClearField("shape")  # it follows from the inputs
    model.graph.initializer.extend(onnx.numpy_helper.from_array(values[name], name) for name in sorted(constants))
    return model.SerializeToString()


def ir_version_of(opset: int) -> int:
    """The oldest version of the file format that may hold this opset of the default domain."""
    return onnx.helper.find_min_ir_version_for([onnx.helper.make_opsetid("", opset)])


def node_bytes(node: ModelNode) -> bytes:
    """A node without sub-graphs by itself, as the bytes of a NodeProto."""
    return _node(node).SerializeToString(deterministic=True)


def _node(node: ModelNode) -> onnx.NodeProto:
    made = onnx.helper.make_node(
        node.op_type, list(node.inputs), list(node.outputs), node.name or None, domain=node.domain or None
    )
    made.attribute.extend(_attribute(name, value) for name, value in sorted(node.attributes.items()))
    return made


def _attribute(name: str, value) -> onnx.AttributeProto:
    if hasattr(value, "dtype"):
        return onnx.helper.make_attribute(name, onnx.numpy_helper.from_array(value))
    return onnx.helper.make_attribute(name, value, attr_type=onnx.AttributeProto.INTS if value == () else None)


def _value(value: ValueInfo) -> onnx.ValueInfoProto:
    dims = None if value.dims is None else list(value.dims)
    return onnx.helper.make_tensor_value_info(value.name, number_of(value.dtype), dims)
