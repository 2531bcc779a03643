# SPDX-License-Identifier: MIT
"""The content of a file, as frozen values without FlatBuffers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from aidge_build.base.errors import AidgeError
from aidge_build.sources.formats.tflite.file.container import Field, Table


@dataclass(frozen=True)
class TfliteQuantization:
    """Scales and zero points as the file writes them: one each, or one each along an axis of the file's dims."""

    scales: tuple[float, ...]
    zero_points: tuple[int, ...]
    axis: int


@dataclass(frozen=True, eq=False)
class TfliteTensor:
    """`dims` in the order of the file, `open_dims` the axes without a size in the file (`dims` then has a size that fits).

    `type` is the name of the element type in the schema (INT8); `raw` are the bytes of a constant.
    """

    index: int
    name: str
    dims: tuple[int, ...]
    open_dims: tuple[int, ...]
    type: str
    raw: memoryview | None
    quantization: TfliteQuantization | None
    is_variable: bool
    is_sparse: bool


@dataclass(frozen=True, eq=False)
class TfliteOperator:
    """One node of the file: indices of tensors (-1 where an optional input is not given).

    `type` is the name in the schema (CONV_2D), or CUSTOM and the custom operator's own name. `intermediates` are tensors that
    only say how values inside are quantized.
    """

    index: int
    type: str
    version: int
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    options_kind: int
    options_table: Table | None
    intermediates: tuple[int, ...] = ()

    def options(self, kind: int, fields: Mapping[str, Field]) -> Mapping[str, Any]:
        """Returns the values of its options by name; absent ones have their default. AidgeError (MODEL) if the options are not of
        the type with the number `kind` in the schema."""
        if self.options_table is None or self.options_kind == 0:
            return {name: () if field.several else field.default for name, field in fields.items()}
        if self.options_kind != kind:
            raise AidgeError(f"its options are of kind {self.options_kind} of the schema, wants {kind}", code="MODEL")
        return {name: self.options_table.value(field) for name, field in fields.items()}

    @property
    def name(self) -> str:
        """The file gives nodes no name: type and number."""
        return f"{self.type.lower()}_{self.index}"

    def where(self) -> str:
        """Returns the node's name in messages."""
        return f"node {self.index} ({self.type})"


@dataclass(frozen=True, eq=False)
class TfliteSubgraph:
    """A graph: its operators, tensors, inputs and outputs."""

    name: str
    tensors: tuple[TfliteTensor, ...]
    operators: tuple[TfliteOperator, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


@dataclass(frozen=True)
class TfliteSignature:
    """A named way to call a subgraph: the names of its inputs and outputs by index of the tensor."""

    key: str
    subgraph: int
    inputs: Mapping[int, str]
    outputs: Mapping[int, str]


@dataclass(frozen=True, eq=False)
class TfliteModel:
    """A model file."""

    description: str
    subgraphs: tuple[TfliteSubgraph, ...]
    signatures: tuple[TfliteSignature, ...]
