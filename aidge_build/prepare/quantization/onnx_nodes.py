# SPDX-License-Identifier: MIT
"""Writes nodes of a graph for an ONNX file: a node that recipes did not change as in the file, another one from its operator."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy

from aidge_build.base.errors import AidgeError
from aidge_build.graph.view import GraphView, Node
from aidge_build.operators.conv import Conv
from aidge_build.operators.matmul import FC
from aidge_build.operators.pool import AvgPooling, GlobalAveragePooling
from aidge_build.operators.view import Reshape, Transpose
from aidge_build.operators.window import Window
from aidge_build.sources.formats.onnx.importer import Imported
from aidge_build.sources.onnx_format import ModelNode, OnnxModel, ValueInfo, means_the_same

Words = tuple[str, dict[str, Any], dict[int, numpy.ndarray]]  # ONNX operator, attributes, further constant inputs by place


def node_for_file(node: Node, imported: Imported) -> tuple[ModelNode, dict[str, numpy.ndarray]]:
    """Returns the node for a file, and the constants that it reads in addition to the graph's own."""
    before = next((old for old in imported.view.nodes if old.name == node.name), None)
    if before is not None and before.operator is node.operator and len(before.inputs) == len(node.inputs):
        return _as_it_was(node, before, imported)
    writer = next((writer for kind, writer in _WRITERS.items() if isinstance(node.operator, kind)), None)
    if writer is None:
        raise AidgeError(f"{node.operator} has no form in ONNX", where=node.where(), code="GRAPH")
    kind, attributes, more = writer(node.operator)
    inputs, constants = list(node.inputs), {}
    for place, values in sorted(more.items()):
        name = f"{node.output}_{kind}_{place}"
        inputs.insert(place, name)
        constants[name] = values
    return ModelNode(0, kind, "", node.name, tuple(inputs), node.outputs, attributes), constants


def _as_it_was(node: Node, before: Node, imported: Imported) -> tuple[ModelNode, dict[str, numpy.ndarray]]:
    source = imported.sources[node.name]
    version = imported.model.opsets.get(source.domain, 0)
    written = version if source.opset is None else source.opset
    if written != version and not (source.domain == "" and means_the_same(source.op_type, written, version)):
        raise AidgeError(
            f"{source.op_type} as opset {written} writes it has no place in a file of opset {version}",
            where=node.where(),
            code="VERSION",
            hint=f"convert the model: onnx.version_converter.convert_version(model, {written})",
        )
    renamed = dict(zip(before.inputs, node.inputs)) | dict(zip(before.outputs, node.outputs))
    inputs = tuple(renamed.get(name, name) for name in source.inputs)
    outputs = tuple(renamed.get(name, name) for name in source.outputs)
    kept = [imported.tensors[name] for name in source.inputs if name and name not in renamed]
    constants = {tensor.name: tensor.data for tensor in kept if tensor.data is not None}
    return ModelNode(0, source.op_type, source.domain, node.name, inputs, outputs, source.attributes), constants


def _window(window: Window) -> dict[str, Any]:
    return {
        "kernel_shape": window.kernel,
        "strides": window.strides,
        "dilations": window.dilations,
        "pads": (*window.pads_begin, *window.pads_end),
    }


def _conv(operator: Conv) -> Words:
    return "Conv", {**_window(operator.window), "group": operator.groups}, {}


def _average(operator: AvgPooling) -> Words:
    words = _window(operator.window)
    if set(words["dilations"]) == {1}:
        del words["dilations"]  # since opset 19
    include = int(operator.count_include_pad)
    return "AveragePool", {**words, "ceil_mode": int(operator.window.ceil_mode), "count_include_pad": include}, {}


_WRITERS: Mapping[type, Callable[[Any], Words]] = {
    Conv: _conv,
    FC: lambda operator: ("Gemm", {"transB": 1}, {}),
    AvgPooling: _average,
    GlobalAveragePooling: lambda operator: ("GlobalAveragePool", {}, {}),
    Reshape: lambda operator: ("Reshape", {}, {1: numpy.array(operator.dims, numpy.int64)}),
    Transpose: lambda operator: ("Transpose", {"perm": operator.permutation}, {}),
}


def file_of(view: GraphView, imported: Imported) -> OnnxModel:
    """The graph as a model file in the opsets of the one that it was imported from."""
    nodes, constants = [], {}
    for node in view.nodes:
        written, more = node_for_file(node, imported)
        nodes.append(written)
        constants.update(more)
    read = {name for node in nodes for name in node.inputs} | set(view.outputs)
    constants |= {name: tensor.data for name, tensor in view.tensors.items() if tensor.data is not None and name in read}
    inputs, outputs = (
        [ValueInfo(name, view.tensor(name).dtype, view.tensor(name).dims) for name in names]
        for names in (view.inputs, view.outputs)
    )
    return OnnxModel(
        imported.model.ir_version, imported.model.opsets, "model", tuple(nodes), constants, tuple(inputs), tuple(outputs)
    )
