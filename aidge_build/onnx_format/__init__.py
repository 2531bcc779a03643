# SPDX-License-Identifier: MIT
"""ONNX files as plain values: the only room that imports the package onnx."""

from aidge_build.onnx_format.external import read_external
from aidge_build.onnx_format.model import ModelNode, OnnxModel, ValueInfo
from aidge_build.onnx_format.reader import external_locations, read_model
from aidge_build.onnx_format.schema import check_node, means_the_same
from aidge_build.onnx_format.types import dtype_of

__all__ = ["ModelNode", "OnnxModel", "ValueInfo", "check_node", "dtype_of", "external_locations", "means_the_same", "read_external",
           "read_model"]
