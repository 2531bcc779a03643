# SPDX-License-Identifier: MIT
"""Bytes of a model file to an OnnxModel; everything that cannot be meant for firmware is refused here, by name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import onnx
from google.protobuf.message import DecodeError

from aidge_build.base.errors import AidgeError
from aidge_build.graph.dtype import DType
from aidge_build.sources.onnx_format.maps import without_maps
from aidge_build.sources.onnx_format.model import Function, OnnxModel, ValueInfo
from aidge_build.sources.onnx_format.names import KEY, STATES, with_names, with_states_of
from aidge_build.sources.onnx_format.nodes import function_of, initializers_of, narrow_of, nested_graphs, node_of, plain_domain
from aidge_build.sources.onnx_format.schema import means_the_same
from aidge_build.sources.onnx_format.tensors import external_location, names_a_file
from aidge_build.sources.onnx_format.text import text_of
from aidge_build.sources.onnx_format.types import dtype_of
from aidge_build.sources.onnx_format.wire import check_wire
from aidge_build.sources.onnx_format.without_text import without_text
from aidge_build.sources.other_files import TAIL_BYTES, refuse_other_files

MOST_NODES = 50_000
MOST_WIRES = 500_000
OLDEST_IR = 3
OLDEST_OPSET = 6
NEWEST_OPSET = onnx.defs.onnx_opset_version()


def read_model(data: bytes, where: str, external: Mapping[str, bytes]) -> OnnxModel:
    """The model in `data`; `where` names the file in messages, `external` holds the bytes of its external data."""
    try:
        return without_text(without_maps(_model(_parse(data), external)))
    except AidgeError as error:
        raise error.within(where)


def external_locations(data: bytes, where: str = "") -> tuple[str, ...]:
    """The relative paths of the files that hold weights of this model, sorted, each once."""
    if not names_a_file(data):  # most models: they are read once
        return ()
    try:
        model = _parse(data)
        graph = model.graph
        functions = [node for function in model.functions for node in function.node]
        graphs = [graph, *nested_graphs([*graph.node, *functions])]
        nodes = [*functions, *(node for one in graphs for node in one.node)]
        tensors = [tensor for one in graphs for tensor in one.initializer]
        tensors += [attribute.t for node in nodes for attribute in node.attribute]
        found = {external_location(tensor) for tensor in tensors}
        return tuple(sorted(location for location in found if location is not None))
    except AidgeError as error:
        raise error.within(where) if where else error


def _parse(data: bytes) -> onnx.ModelProto:
    refuse_other_files(data, data[-TAIL_BYTES:], "ONNX")
    check_wire(data, onnx.ModelProto.DESCRIPTOR)
    model = onnx.ModelProto()
    try:
        model.ParseFromString(data)
    except DecodeError:
        raise AidgeError("not an ONNX model (the protobuf message is damaged)", code="MODEL_FILE") from None
    return model


def _model(model: onnx.ModelProto, external: Mapping[str, bytes]) -> OnnxModel:
    if not model.HasField("graph"):
        raise AidgeError("not an ONNX model (it has no graph)", code="MODEL_FILE")
    opsets = _versions(model)
    graph = model.graph
    nodes = [*graph.node, *(node for function in model.functions for node in function.node)]
    nodes += [node for nested in nested_graphs(nodes) for node in nested.node]
    _refuse_too_many(len(nodes), "nodes", MOST_NODES)
    _refuse_too_many(sum(len(node.input) + len(node.output) for node in nodes), "inputs and outputs of nodes", MOST_WIRES)
    read = OnnxModel(
        model.ir_version,
        opsets,
        text_of(graph.name),
        tuple(node_of(index, node, external) for index, node in enumerate(graph.node)),
        initializers_of(graph, external, narrow=True),
        tuple(_values("input", graph.input)),
        tuple(_values("output", graph.output)),
        _functions(model, external),
        narrow_of(graph),
    )
    said = {entry.key: entry.value for entry in reversed(model.metadata_props) if entry.key in (KEY, STATES)}
    read = with_names(read, said[KEY]) if KEY in said else read
    return with_states_of(read, said[STATES]) if STATES in said else read


def _functions(model: onnx.ModelProto, external: Mapping[str, bytes]) -> dict[tuple[str, str], Function]:
    found: dict[tuple[str, str], Function] = {}
    for proto in model.functions:
        function = function_of(proto, external)
        key = (function.full_type, function.overload)
        if key in found:
            raise AidgeError(f"two functions are named '{function.full_type}'", code="MODEL")
        found[key] = function
    return found


def _refuse_too_many(count: int, what: str, limit: int) -> None:
    """Refuses a model above a limit before any work begins; up to the limit, work grows with the size of the model."""
    if count > limit:
        raise AidgeError(
            f"the model has {count:,} {what}, the limit is {limit:,}",
            code="MODEL",
            hint="this is too large for firmware; was a loop unrolled? Export it with shorter inputs",
        )


def _versions(model: onnx.ModelProto) -> dict[str, int]:
    if not OLDEST_IR <= model.ir_version <= onnx.IR_VERSION:
        raise AidgeError(f"IR version {model.ir_version} is not supported ({OLDEST_IR} to {onnx.IR_VERSION} are)", code="VERSION")
    opsets: dict[str, int] = {}
    for entry in model.opset_import:
        domain = plain_domain(text_of(entry.domain))
        if opsets.get(domain, entry.version) != entry.version:  # onnx.compose repeats imports
            raise AidgeError(
                f"two opset imports of the domain '{domain or 'ai.onnx'}': {opsets[domain]} and {entry.version}", code="VERSION"
            )
        opsets[domain] = entry.version
    if not opsets:
        raise AidgeError(
            "the model imports no opset", code="VERSION", hint=f"opsets {OLDEST_OPSET} to {NEWEST_OPSET} are supported"
        )
    version = opsets.get("", OLDEST_OPSET)
    if not (OLDEST_OPSET <= version <= NEWEST_OPSET or 0 < version < OLDEST_OPSET and _unchanged(model, version)):
        raise AidgeError(
            f"opset {version} is not supported ({OLDEST_OPSET} to {NEWEST_OPSET} are)",
            code="VERSION",
            hint=f"convert the model: onnx.version_converter.convert_version(model, {min(17, NEWEST_OPSET)})",
        )
    return opsets


def _unchanged(model: onnx.ModelProto, version: int) -> bool:
    """Whether every operator of the model means the same in this old opset and in the oldest one that is supported."""
    return all(
        means_the_same(node.op_type, version, OLDEST_OPSET)
        for graph in (model.graph, *nested_graphs(model.graph.node))
        for node in graph.node
        if not plain_domain(text_of(node.domain))
    )


def _values(role: str, infos: Iterable[onnx.ValueInfoProto]) -> Iterator[ValueInfo]:
    seen: set[str] = set()
    for info in infos:
        name = text_of(info.name)
        if not name:
            raise AidgeError(f"a graph {role} has no name", code="MODEL")
        if name in seen:
            raise AidgeError(f"two graph {role}s are named '{name}'", code="MODEL")
        seen.add(name)
        try:
            yield ValueInfo(name, DType.any, None) if role == "output" and _has_no_type(info.type) else _value(name, info.type)
        except AidgeError as error:
            raise error.within(f"graph {role} '{name}'")


def _has_no_type(described: onnx.TypeProto) -> bool:
    """Whether an output's type follows from its node: tools that cut a model append such outputs."""
    kind = described.WhichOneof("value")
    return kind is None or kind == "tensor_type" and not described.tensor_type.elem_type


def _value(name: str, described: onnx.TypeProto) -> ValueInfo:
    kind = described.WhichOneof("value")
    if kind in ("map_type", "sequence_type"):
        return ValueInfo(name, *_map(described), "map" if kind == "map_type" else "maps")
    if kind != "tensor_type":
        shown = kind.removesuffix("_type").replace("_", " ") if kind else "nothing"
        raise AidgeError(f"its type is {shown}, only tensors are supported", code="TYPE")
    tensor = described.tensor_type
    is_text = tensor.elem_type == onnx.TensorProto.STRING
    dtype, holds = (DType.int64, "text") if is_text else (dtype_of(tensor.elem_type), "numbers")
    if not tensor.HasField("shape"):
        return ValueInfo(name, dtype, None, holds)
    dims = tuple(_dim(dim) for dim in tensor.shape.dim)
    if any(isinstance(dim, int) and dim < 0 for dim in dims):
        raise AidgeError(f"its dims {list(dims)} hold a negative number", code="DIMS")
    return ValueInfo(name, dtype, dims, holds)


def _map(described: onnx.TypeProto) -> tuple[DType, None]:
    """The type of the numbers in a map, or in a sequence of maps, from words or integers to numbers."""
    inner = described if described.WhichOneof("value") == "map_type" else described.sequence_type.elem_type
    numbers = inner.map_type.value_type
    if inner.WhichOneof("value") != "map_type" or numbers.WhichOneof("value") != "tensor_type":
        raise AidgeError("its type is a sequence, only tensors and maps of numbers are supported", code="TYPE")
    return dtype_of(numbers.tensor_type.elem_type), None


def _dim(dim: onnx.TensorShapeProto.Dimension) -> int | str | None:
    kind = dim.WhichOneof("value")
    if kind == "dim_value":
        return dim.dim_value if dim.dim_value != -1 else None  # what older exporters write where it is not known
    return (text_of(dim.dim_param) or None) if kind == "dim_param" else None
