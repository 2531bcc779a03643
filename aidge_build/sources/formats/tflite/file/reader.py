# SPDX-License-Identifier: MIT
"""Bytes of a .tflite file to a TfliteModel. Source: the schema of TensorFlow Lite (schema.fbs), version 3."""

from __future__ import annotations

import math
from collections.abc import Sequence

from aidge_build.base.errors import AidgeError
from aidge_build.sources.formats.tflite.file.container import Field, Table, root
from aidge_build.sources.formats.tflite.file.model import (
    TfliteModel,
    TfliteOperator,
    TfliteQuantization,
    TfliteSignature,
    TfliteSubgraph,
    TfliteTensor,
)
from aidge_build.sources.formats.tflite.file.names import OPERATORS, TYPES

VERSION = 3
MOST_SUBGRAPHS = 1_000
MOST_AXES = 16
MOST_ELEMENTS = 1 << 47  # of a tensor: sizes in bytes stay within 64 bits
MOST_NODES = 50_000
MOST_TENSORS = 500_000
MOST_BUFFERS = 500_000
MOST_SIGNATURES = 1_000
MOST_WIRES = 500_000
CUSTOM = "CUSTOM"

# Numbers of the fields of the schema's tables.
_MODEL = {"operator_codes": 1, "subgraphs": 2, "description": 3, "buffers": 4, "signatures": 7}
_SUBGRAPH = {"tensors": 0, "operators": 3, "name": 4}
_TENSOR = {"name": 3, "quantization": 4, "sparsity": 6}
_VERSION = Field(0, "uint32")
_OLD_CODE, _CUSTOM_CODE, _OPERATOR_VERSION, _CODE = Field(0, "int8"), 1, Field(2, "int32", 1), Field(3, "int32")
_INPUTS, _OUTPUTS = Field(1, "int32", several=True), Field(2, "int32", several=True)
_INTERMEDIATES = Field(8, "int32", several=True)
_OPCODE, _OPTIONS_KIND, _OPTIONS = Field(0, "uint32"), Field(3, "uint8"), 4
_DIMS, _SIGNATURE_DIMS = Field(0, "int32", several=True), Field(7, "int32", several=True)
_TYPE, _BUFFER, _IS_VARIABLE = Field(1, "int8"), Field(2, "uint32"), Field(5, "bool")
_SCALES, _ZERO_POINTS = Field(2, "float32", several=True), Field(3, "int64", several=True)
_DETAILS_KIND, _AXIS = Field(4, "uint8"), Field(6, "int32")
_BUFFER_DATA, _BUFFER_OFFSET, _BUFFER_SIZE = 0, Field(1, "uint64"), Field(2, "uint64")
_SIGNATURE_INPUTS, _SIGNATURE_OUTPUTS, _SIGNATURE_KEY, _SIGNATURE_SUBGRAPH = 0, 1, 2, Field(4, "uint32")
_MAP_NAME, _MAP_TENSOR = 0, Field(1, "uint32")


def read_tflite(data: bytes) -> TfliteModel:
    """The model in `data`; AidgeError when it is damaged."""
    model = root(data)
    version = model.value(_VERSION)
    if version != VERSION:
        raise AidgeError(f"version {version} of the schema is not supported (3 is)", code="VERSION")
    codes = [_code(table) for table in model.tables(_MODEL["operator_codes"], MOST_NODES, "operator codes")]
    buffers = _Buffers(data, model.tables(_MODEL["buffers"], MOST_BUFFERS, "buffers"))
    graphs = model.tables(_MODEL["subgraphs"], MOST_SUBGRAPHS, "subgraphs")
    subgraphs = tuple(_subgraph(table, codes, buffers) for table in graphs)
    if not subgraphs:
        raise AidgeError("the model has no graph", code="MODEL")
    signatures = model.tables(_MODEL["signatures"], MOST_SIGNATURES, "signatures")
    return TfliteModel(model.text(_MODEL["description"]), subgraphs, tuple(_signature(table, subgraphs) for table in signatures))


def _code(table: Table) -> tuple[str, int]:
    """Name and version of an operator: files from before the 128th operator have its number in a field of one byte."""
    number = max(table.value(_OLD_CODE), table.value(_CODE))
    name = OPERATORS.get(number, f"operator {number}")
    return (f"{CUSTOM} {table.text(_CUSTOM_CODE)}" if name == CUSTOM else name), table.value(_OPERATOR_VERSION)


class _Buffers:
    """The bytes of constants by index: inside the tables, or after them in files of more than 2 GB."""

    def __init__(self, data: bytes, tables: Sequence[Table]):
        self._data, self._tables = data, tables

    def bytes_of(self, index: int) -> memoryview | None:
        """Returns the bytes of a buffer; None for a buffer without bytes, because its tensor is computed."""
        if index >= len(self._tables):
            raise AidgeError(f"it names buffer {index}, there are {len(self._tables)}", code="MODEL_FILE")
        table = self._tables[index]
        start, size = table.value(_BUFFER_OFFSET), table.value(_BUFFER_SIZE)
        if start > 1:
            if start + size > len(self._data):
                raise AidgeError(f"buffer {index} ends beyond the end of the file", code="MODEL_FILE")
            return memoryview(self._data)[start : start + size]
        return table.raw(_BUFFER_DATA) if len(table.raw(_BUFFER_DATA)) else None


def _subgraph(table: Table, codes: Sequence[tuple[str, int]], buffers: _Buffers) -> TfliteSubgraph:
    tensors = [
        _tensor(index, one, buffers) for index, one in enumerate(table.tables(_SUBGRAPH["tensors"], MOST_TENSORS, "tensors"))
    ]
    operators = [
        _operator(index, one, codes) for index, one in enumerate(table.tables(_SUBGRAPH["operators"], MOST_NODES, "nodes"))
    ]
    wires = sum(len(one.inputs) + len(one.outputs) + len(one.intermediates) for one in operators)
    if wires > MOST_WIRES:
        raise AidgeError(f"the model has {wires:,} inputs and outputs of nodes, the limit is {MOST_WIRES:,}", code="MODEL")
    inputs, outputs = table.value(_INPUTS), table.value(_OUTPUTS)
    for where, least, indices in (
        ("the graph's inputs and outputs", 0, (*inputs, *outputs)),
        *((one.where(), -1, one.inputs) for one in operators),
        *((one.where(), 0, (*one.outputs, *one.intermediates)) for one in operators),
    ):
        for index in indices:
            if not least <= index < len(tensors):
                raise AidgeError(f"tensor {index} is named, there are {len(tensors)}", where=where, code="MODEL_FILE")
    return TfliteSubgraph(table.text(_SUBGRAPH["name"]), tuple(tensors), tuple(operators), inputs, outputs)


def _tensor(index: int, table: Table, buffers: _Buffers) -> TfliteTensor:
    name = table.text(_TENSOR["name"]) or f"tensor_{index}"
    dims, signature, kind = table.value(_DIMS), table.value(_SIGNATURE_DIMS), table.value(_TYPE)
    if any(size < 0 for size in dims):
        raise AidgeError(f"tensor '{name}': its dims {list(dims)} hold a negative number", code="DIMS")
    if len(dims) > MOST_AXES or math.prod(size for size in dims if size) > MOST_ELEMENTS:
        shown = f"{list(dims[:MOST_AXES])}{' and more' if len(dims) > MOST_AXES else ''}"
        raise AidgeError(f"tensor '{name}' has the dims {shown}, more than any model for firmware", code="TYPE")
    try:
        raw = buffers.bytes_of(table.value(_BUFFER))
    except AidgeError as error:
        raise error.within(f"tensor '{name}'")
    return TfliteTensor(
        index,
        name,
        dims,
        tuple(axis for axis, size in enumerate(signature) if size < 0) if len(signature) == len(dims) else (),
        TYPES.get(kind, f"type {kind}"),
        raw,
        _quantization(table.table(_TENSOR["quantization"]), name),
        table.value(_IS_VARIABLE),
        table.table(_TENSOR["sparsity"]) is not None,
    )


def _quantization(table: Table | None, name: str) -> TfliteQuantization | None:
    if table is None:
        return None
    if table.value(_DETAILS_KIND):
        raise AidgeError(f"tensor '{name}' is quantized in a way of its own (custom quantization)", code="QUANTIZATION")
    scales, zero_points = table.value(_SCALES), table.value(_ZERO_POINTS)
    if not scales:
        return None
    zero_points = zero_points or (0,) * len(scales)
    zero_points = zero_points * len(scales) if len(zero_points) == 1 else zero_points
    if len(zero_points) != len(scales):
        raise AidgeError(f"tensor '{name}' has {len(scales)} scales and {len(zero_points)} zero points", code="QUANTIZATION")
    return TfliteQuantization(scales, zero_points, table.value(_AXIS))


def _operator(index: int, table: Table, codes: Sequence[tuple[str, int]]) -> TfliteOperator:
    code = table.value(_OPCODE)
    if code >= len(codes):
        raise AidgeError(f"node {index} names operator code {code}, there are {len(codes)}", code="MODEL_FILE")
    name, version = codes[code]
    kind = table.value(_OPTIONS_KIND)
    options = table.table(_OPTIONS) if kind else None
    return TfliteOperator(
        index, name, version, table.value(_INPUTS), table.value(_OUTPUTS), kind, options, table.value(_INTERMEDIATES)
    )


def _signature(table: Table, subgraphs: Sequence[TfliteSubgraph]) -> TfliteSignature:
    key, number = table.text(_SIGNATURE_KEY), table.value(_SIGNATURE_SUBGRAPH)
    if number >= len(subgraphs):
        raise AidgeError(f"signature '{key}' names subgraph {number}, there are {len(subgraphs)}", code="MODEL_FILE")
    sides = []
    for field, wanted in ((_SIGNATURE_INPUTS, subgraphs[number].inputs), (_SIGNATURE_OUTPUTS, subgraphs[number].outputs)):
        entries = table.tables(field, MOST_TENSORS, "names in a signature")
        names = {entry.value(_MAP_TENSOR): entry.text(_MAP_NAME) for entry in entries}
        strange = sorted(set(names) - set(wanted))
        if strange:
            raise AidgeError(f"signature '{key}' names tensor {strange[0]}, which its subgraph does not hand out", code="MODEL")
        sides.append(names)
    return TfliteSignature(key, number, *sides)
