# SPDX-License-Identifier: MIT
"""ONNX files as plain values: the only room that imports the package onnx."""

from aidge_build.sources.onnx_format.converter import in_opset
from aidge_build.sources.onnx_format.external import read_external
from aidge_build.sources.onnx_format.functions import body_of, has_body
from aidge_build.sources.onnx_format.halves import halves_of, in_single_precision
from aidge_build.sources.onnx_format.join import joined, names_in
from aidge_build.sources.onnx_format.mapping import mapping_of
from aidge_build.sources.onnx_format.model import AttributeReference, Function, ModelNode, OnnxModel, SubGraph, ValueInfo
from aidge_build.sources.onnx_format.nodes import read_node
from aidge_build.sources.onnx_format.reader import external_locations, read_model
from aidge_build.sources.onnx_format.schema import check_node, has_schema, means_the_same
from aidge_build.sources.onnx_format.signature import AttributeRule, NodeSignature, Parameter, signature_of
from aidge_build.sources.onnx_format.tensors import unpacked
from aidge_build.sources.onnx_format.types import Narrow, dtype_of, number_of
from aidge_build.sources.onnx_format.writer import ir_version_of, specialised, write_model

__all__ = [
    "AttributeReference",
    "AttributeRule",
    "Function",
    "ModelNode",
    "Narrow",
    "NodeSignature",
    "OnnxModel",
    "Parameter",
    "SubGraph",
    "ValueInfo",
    "body_of",
    "check_node",
    "dtype_of",
    "external_locations",
    "halves_of",
    "has_body",
    "has_schema",
    "in_opset",
    "in_single_precision",
    "ir_version_of",
    "joined",
    "mapping_of",
    "means_the_same",
    "names_in",
    "number_of",
    "read_external",
    "read_model",
    "read_node",
    "signature_of",
    "specialised",
    "unpacked",
    "write_model",
]
