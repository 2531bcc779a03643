# SPDX-License-Identifier: MIT
"""Nodes, their attributes and sub-graphs, and functions of a file as plain values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import numpy
import onnx
from google.protobuf.message import DecodeError

from aidge_build.base.errors import AidgeError
from aidge_build.sources.onnx_format.mapping import is_text
from aidge_build.sources.onnx_format.model import AttributeReference, AttributeValue, Function, ModelNode, SubGraph
from aidge_build.sources.onnx_format.tensors import read_tensor
from aidge_build.sources.onnx_format.text import text_of
from aidge_build.sources.onnx_format.types import NARROW

_Kind = onnx.AttributeProto.AttributeType


def plain_domain(domain: str) -> str:
    """Both spellings of the default domain as ""."""
    return "" if domain == "ai.onnx" else domain


def node_of(index: int, node: onnx.NodeProto, external: Mapping[str, bytes]) -> ModelNode:
    """Returns the node; AidgeError names the node for content that no operator could have."""
    read = ModelNode(
        index,
        text_of(node.op_type),
        plain_domain(text_of(node.domain)),
        text_of(node.name),
        tuple(map(text_of, node.input)),
        tuple(map(text_of, node.output)),
        attributes := {},
        overload=text_of(node.overload),
    )
    try:
        if not read.op_type:
            raise AidgeError("the node has no operator type", code="MODEL")
        for attribute in node.attribute:
            name = text_of(attribute.name)
            if name in attributes:
                raise AidgeError(f"the attribute '{name}' is given twice", code="MODEL")
            attributes[name] = _attribute(name, attribute, external)
    except AidgeError as error:
        raise error.within(read.where())
    return read


def read_node(data: bytes) -> ModelNode:
    """A node by itself, from the bytes of a NodeProto."""
    try:
        return node_of(0, onnx.NodeProto.FromString(data), {})
    except DecodeError:
        raise AidgeError("not an ONNX node (the protobuf message is damaged)", code="MODEL") from None


def read_function(data: bytes) -> Function:
    """A function by itself, from the bytes of a FunctionProto."""
    return function_of(onnx.FunctionProto.FromString(data), {})


def function_of(function: onnx.FunctionProto, external: Mapping[str, bytes]) -> Function:
    """Returns the function; attributes of its nodes may refer to the call's attributes."""
    domain, name = plain_domain(text_of(function.domain)), text_of(function.name)
    full_type = f"{domain}::{name}" if domain else name
    try:
        made = Function(
            full_type,
            text_of(function.overload),
            tuple(map(text_of, function.input)),
            tuple(map(text_of, function.output)),
            (*map(text_of, function.attribute), *(text_of(one.name) for one in function.attribute_proto)),
            {text_of(one.name): _attribute(text_of(one.name), one, external) for one in function.attribute_proto},
            tuple(node_of(index, node, external) for index, node in enumerate(function.node)),
            {plain_domain(text_of(entry.domain)): entry.version for entry in function.opset_import},
        )
        _refuse_text({}, made.nodes)
    except AidgeError as error:
        raise error.within(f"function {full_type}")
    return made


def nested_graphs(nodes: Iterable[onnx.NodeProto]) -> Iterator[onnx.GraphProto]:
    """Every graph that is an attribute of one of these nodes, or of a node in such a graph."""
    waiting = [attribute.g for node in nodes for attribute in node.attribute if attribute.type == _Kind.GRAPH]
    while waiting:
        graph = waiting.pop()
        yield graph
        waiting += [attribute.g for node in graph.node for attribute in node.attribute if attribute.type == _Kind.GRAPH]


def narrow_of(graph: onnx.GraphProto) -> dict[str, tuple[int, int]]:
    """Returns, by name, the ranges of the constants with elements of less than a byte."""
    return {text_of(one.name): NARROW[one.data_type].range for one in graph.initializer if one.data_type in NARROW}


def initializers_of(graph: onnx.GraphProto, external: Mapping[str, bytes], narrow: bool = False) -> dict[str, numpy.ndarray]:
    """The constants of a graph by name; with `narrow` elements of 2 and 4 bits as bytes."""
    if len(graph.sparse_initializer):
        name = text_of(graph.sparse_initializer[0].values.name)
        raise AidgeError(f"sparse initialiser '{name}': sparse tensors are not supported", code="MODEL", hint="store it dense")
    read: dict[str, numpy.ndarray] = {}
    for index, tensor in enumerate(graph.initializer):
        name = text_of(tensor.name)
        if not name:
            raise AidgeError(f"initialiser {index} has no name", code="MODEL")
        if name in read:
            raise AidgeError(f"two initialisers are named '{name}'", code="MODEL")
        read[name] = _within(f"initialiser '{name}'", tensor, external, narrow)
    return read


def _attribute(name: str, attribute: onnx.AttributeProto, external: Mapping[str, bytes]) -> AttributeValue:
    if attribute.ref_attr_name:
        return AttributeReference(text_of(attribute.ref_attr_name))
    kind = attribute.type
    if kind == _Kind.INT:
        return attribute.i
    if kind == _Kind.FLOAT:
        return attribute.f
    if kind == _Kind.STRING:
        return text_of(attribute.s)
    if kind == _Kind.INTS:
        return tuple(attribute.ints)
    if kind == _Kind.FLOATS:
        return tuple(attribute.floats)
    if kind == _Kind.STRINGS:
        return tuple(map(text_of, attribute.strings))
    if kind == _Kind.TENSOR:
        return _within(f"attribute '{name}'", attribute.t, external)
    if kind == _Kind.GRAPH:
        return _sub_graph(name, attribute.g, external)
    if kind == _Kind.TYPE_PROTO:
        return attribute.tp.WhichOneof("value") or ""  # which kind of value is meant: nobody needs more of it
    known = {value: key for key, value in _Kind.items()}
    raise AidgeError(f"attribute '{name}' has the type {known.get(kind, kind)}, which is not supported", code="MODEL")


def _sub_graph(name: str, graph: onnx.GraphProto, external: Mapping[str, bytes]) -> SubGraph:
    try:
        made = SubGraph(
            tuple(node_of(index, node, external) for index, node in enumerate(graph.node)),
            initializers_of(graph, external),
            tuple(text_of(value.name) for value in graph.input),
            tuple(text_of(value.name) for value in graph.output),
        )
        _refuse_two_producers(made)
        _refuse_text(made.initializers, made.nodes)
    except AidgeError as error:
        raise error.within(f"graph '{name}'")
    return made


def _refuse_two_producers(graph: SubGraph) -> None:
    """An input and an initialiser may share a name: the initialiser is then the default of the input."""
    producer = {name: "an input" for name in graph.inputs} | {name: "an initialiser" for name in graph.initializers}
    for node in graph.nodes:
        for name in filter(None, node.outputs):
            if name in producer:
                raise AidgeError(f"tensor '{name}' is produced twice: by {producer[name]} and by {node.where()}", code="GRAPH")
            producer[name] = node.where()


def _refuse_text(initializers: Mapping[str, numpy.ndarray], nodes: Iterable[ModelNode]) -> None:
    """Refuses text outside of the file's own graph: only there it becomes numbers (`without_text`)."""
    values = [*initializers.values(), *(value for node in nodes for value in node.attributes.values())]
    if any(is_text(value) for value in values):
        raise AidgeError("text within a function or a sub-graph is not supported", code="TYPE")


def _within(where: str, tensor: onnx.TensorProto, external: Mapping[str, bytes], narrow: bool = False) -> numpy.ndarray:
    try:
        return read_tensor(tensor, external, narrow)
    except AidgeError as error:
        raise error.within(where)
