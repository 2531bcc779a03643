# SPDX-License-Identifier: MIT
"""What a file says, as frozen values without protobuf."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy

from aidge_build.graph.dtype import DType

ML = "ai.onnx.ml"  # the domain of classic machine learning
AttributeValue = int | float | str | numpy.ndarray | tuple[int, ...] | tuple[float, ...] | tuple[str, ...]


@dataclass(frozen=True, eq=False)
class ModelNode:
    """One node of the file; `index` is its place there, names are as written ("" where there is none)."""

    index: int
    op_type: str
    domain: str
    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, AttributeValue]
    opset: int | None = None  # the version of its domain that it is written in; None: the one that the model imports

    @property
    def full_type(self) -> str:
        """`Conv` for the default domain, `com.microsoft::QGemm` for any other."""
        return f"{self.domain}::{self.op_type}" if self.domain else self.op_type

    def where(self) -> str:
        """How messages name this node."""
        first_output = next((name for name in self.outputs if name), "")
        name = f"'{self.name}'" if self.name else f"{self.index} with output '{first_output}'"
        return f"node {name} ({self.full_type})" if not self.name else f"node {name} ({self.full_type}, number {self.index})"


@dataclass(frozen=True)
class ValueInfo:
    """A declared input or output; a dim is a number, a symbolic name, or None; `dims` is None for an unknown rank.

    `holds` is "numbers"; while a file is read also "text", "map" or "maps" (a sequence of maps), until `without_text` made
    numbers of them. `names` are then the words that the integers count, or the keys of the columns.
    """

    name: str
    dtype: DType
    dims: tuple[int | str | None, ...] | None
    holds: str = "numbers"
    names: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class OnnxModel:
    """A model file: `opsets` by domain ("" is the default domain)."""

    ir_version: int
    opsets: Mapping[str, int]
    name: str
    nodes: tuple[ModelNode, ...]
    initializers: Mapping[str, numpy.ndarray]
    inputs: tuple[ValueInfo, ...]
    outputs: tuple[ValueInfo, ...]
