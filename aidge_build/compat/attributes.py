# SPDX-License-Identifier: MIT
"""The values that templates know about a node, by the documented names of the inherited export API."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy

from aidge_build.base.naming import identifier
from aidge_build.contract.mem_info import MemInfo, mem_info_of
from aidge_build.contract.spec import NodeView, attributes_of
from aidge_build.graph.dtype import DType
from aidge_build.graph.tensor import Tensor
from aidge_build.operators.pad import Pad
from aidge_build.operators.rearrange import Slice

# Attributes under the names that templates of the inherited style use.
_INHERITED = {
    "kernel": "kernel_dims",
    "strides": "stride_dims",
    "dilations": "dilation_dims",
    "alpha": "negative_slope",
    "permutation": "output_dims_order",
}
IN_BYTES = ("size", "offset", "stride", "cont_size", "cont_offset", "wrap_offset", "wrap_size")  # of a plane
_PLANE = (*IN_BYTES, "length", "mem_component_id")


def snake_case(text: str) -> str:
    """ConvDepthWise2D -> conv_depth_wise2d."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", text).lower()


def node_attributes(view: NodeView, mem_info: Sequence[MemInfo] | None, conversion_map: Mapping[DType, str]) -> dict:
    """The whole dictionary. The operator's attributes are below the documented names, which win."""
    name = view.symbol or identifier(view.node.name)
    producers = [view.graph.producer(tensor) if view.graph else None for tensor in view.node.inputs]
    found: dict[str, object] = {
        **operator_attributes(view.operator),
        **further_attributes(view.operator),
        "node": view.node,
        "name": name,
        "nb_in": len(view.inputs),
        "nb_out": len(view.outputs),
        "type": view.node.type,
        "origin": list(view.node.origin),
        "aidge_cmp": False,  # passes of the inherited system that ask for more than the layer: none of them runs here
        "dev_mode": False,
        "in_node": producers,
        "out_node": [list(view.graph.consumers(tensor)) if view.graph else [] for tensor in view.node.outputs],
        "out_name": [f"{name}_output_{index}" for index in range(len(view.outputs))],
    }
    found["in_name"] = _input_names(view, name)
    for side, tensors in (("in", view.inputs), ("out", view.outputs)):
        found |= {f"{side}_{key}": list(values) for key, values in _tensor_attributes(tensors, conversion_map).items()}
    given = view.in_mem_info or (None,) * len(view.inputs)
    inputs = [
        info or (MemInfo(0, 0, 0) if tensor is None else mem_info_of(tensor, 0)) for tensor, info in zip(view.inputs, given)
    ]
    found |= {f"in_mem_info_{key}": [getattr(info, key) for info in inputs] for key in _PLANE}
    return found | _memory_attributes(mem_info, view.outputs)


def _input_names(view: NodeView, name: str) -> list[str]:
    """Returns the name of each input; a constant is named like an output of the node that would hold it, if the name is free."""
    found = [_input_name(view, name, index, tensor) for index, tensor in enumerate(view.node.inputs)]
    held = [f"{identifier(tensor.name)}_output_0" if tensor and tensor.is_constant else "" for tensor in view.inputs]
    taken = Counter({each: 1 for each in (*found, *(f"{name}_output_{index}" for index in range(len(view.outputs))))})
    taken += Counter(own for own, _ in dict.fromkeys(zip(held, view.node.inputs)))  # a constant that is read twice counts once
    return [own if own and taken[own] == 1 else other for own, other in zip(held, found)]


def _input_name(view: NodeView, name: str, index: int, tensor: str) -> str:
    """The `out_name` under which the node that computes the tensor knows it, else `<name>_input_<index>`.

    A node that only renames bytes (a Reshape) is no layer and has no output of its own: the layer before it counts.
    """
    producer = view.graph.producer(tensor) if view.graph else None
    while producer is not None and producer.operator.views and producer.name not in view.symbols:
        tensor = producer.inputs[0]
        producer = view.graph.producer(tensor)
    if producer is None:
        return f"{name}_input_{index}"
    return f"{view.symbols.get(producer.name) or identifier(producer.name)}_output_{producer.outputs.index(tensor)}"


def _tensor_attributes(tensors: Sequence[Tensor | None], conversion_map: Mapping[DType, str]) -> dict[str, list]:
    """Each attribute with its value for each tensor."""
    found = [_attributes_of(tensor, conversion_map) for tensor in tensors]
    return {name: [each[name] for each in found] for name in _attributes_of(None, conversion_map)}


def _attributes_of(tensor: Tensor | None, conversion_map: Mapping[DType, str]) -> dict[str, Any]:
    channels, height, width = image_of(tensor)
    image = {"chan": channels, "height": height, "width": width}
    if tensor is None:
        absent = {"dims": [], "stored_dims": [], "size": 0, "sizeof": 0, "batch": 1, **image, "dtype": None, "cdtype": ""}
        return {**absent, "format": "", "dformat": "", "scale": None, "zero_point": None}
    return {
        "dims": list(tensor.dims),
        "stored_dims": list(tensor.layout.stored_dims),
        "size": tensor.elements,
        "sizeof": tensor.dtype.size_bytes,
        "batch": tensor.dims[0] if tensor.rank > 1 else 1,
        **image,
        "dtype": tensor.dtype,
        "cdtype": conversion_map.get(tensor.dtype, tensor.dtype.c_type),
        "format": str(tensor.storage),
        "dformat": f"dformat.{tensor.storage}",
        "scale": _first(tensor, "scales"),
        "zero_point": _first(tensor, "zero_points"),
    }


def _first(tensor: Tensor, field: str):
    """Scale or zero point of a tensor that has one for all its elements."""
    if tensor.quantization is None or not tensor.quantization.per_tensor:
        return None
    return getattr(tensor.quantization, field)[0]


def image_of(tensor: Tensor | None) -> tuple[int, int, int]:
    """Channels, height and width: dims are logical, so the storage order does not matter."""
    dims = (0, 0, 0) if tensor is None else tensor.dims
    if len(dims) >= 4:
        return dims[1], dims[-2], dims[-1]
    if len(dims) == 3 and tensor is not None:
        return dims[1], 1, dims[2]
    return (dims[-1] if dims else 1, 1, 1) if tensor is not None else (0, 0, 0)


def operator_attributes(operator) -> dict[str, object]:
    """Returns the operator's attributes in snake_case, and for a meta-operator also the attributes of its members.

    A member is named by its anchor in the pattern (`Conv2D#first`: `first_kernel`) and by its type and position among the members
    of that type (`conv2d_0_kernel`); by its type alone where it is the only one of its type. A plain name (`kernel`) is there
    where all members that have such an attribute agree on it: which of them a template means is never guessed.
    """
    found = {
        snake_case(name): list(value) if isinstance(value, tuple) else value
        for name, value in attributes_of(operator).items()
        if name != "depthwise"  # the type says it, and templates ask whether a class defines it
    }
    found |= {other: found[name] for name, other in _INHERITED.items() if name in found}
    return {**_member_attributes(operator), **found}


def further_attributes(operator) -> dict[str, Any]:
    """Inherited attributes that say in another form what the operator's own fields say."""
    if isinstance(operator, Pad):
        first = 2 if len(operator.pads_begin) > 2 and not any((*operator.pads_begin[:2], *operator.pads_end[:2])) else 0
        pads = [*operator.pads_begin[first:], *operator.pads_end[first:]]
        axes = list(range(first, len(operator.pads_begin)))
        border = {"border_type": operator.mode, "border_value": operator.value, "constant_value": operator.value}
        return {"begin_end_borders": pads, "pads": pads, "axes": axes, **border}
    if isinstance(operator, Slice):
        ends = [
            start + (count - 1) * step + (1 if step > 0 else -1)
            for start, count, step in zip(operator.starts, operator.counts, operator.steps)
        ]
        return {"ends": ends, "axes": list(range(len(ends)))}
    return {}


def _member_attributes(operator) -> dict[str, object]:
    graph = getattr(operator, "graph", None)
    if graph is None:
        return {}
    inner = {node.name: operator_attributes(node.operator) for node in graph.nodes}
    named = {
        f"{prefix}_{key}": value
        for node, prefixes in _member_prefixes(operator).items()
        for prefix in prefixes
        for key, value in inner[node].items()
    }
    return {**_agreed(list(inner.values())), **named}


def _member_prefixes(operator) -> dict[str, list[str]]:
    """The prefixes of the attributes of each member of a meta-operator, by its node's name: type and position, type, anchors."""
    stems = {node.name: identifier(snake_case(node.type)) for node in operator.graph.nodes}
    counts, positions = Counter(stems.values()), Counter[str]()
    found: dict[str, list[str]] = {}
    for name, stem in stems.items():
        found[name] = [f"{stem}_{positions[stem]}", *([stem] if counts[stem] == 1 else [])]
        found[name] += [anchor for anchor, node in operator.anchors if node == name]
        positions[stem] += 1
    return found


def member_titles(operator) -> dict[str, Callable[[str], list[str]]]:
    """For each member of a meta-operator, by its node's name: the names that an attribute of it has in templates.

    The plain name is among them where all members that have the attribute agree on it.
    """
    plain = operator_attributes(operator).keys()

    def titles(prefixes: list[str]) -> Callable[[str], list[str]]:
        return lambda name: [*(f"{prefix}_{name}" for prefix in prefixes), *([name] if name in plain else [])]

    return {name: titles(prefixes) for name, prefixes in _member_prefixes(operator).items()}


def _agreed(members: Sequence[Mapping[str, object]]) -> dict[str, object]:
    """The attributes on which all members that have them agree."""
    values: dict[str, list[object]] = {}
    for inner in members:
        for key, value in inner.items():
            values.setdefault(key, []).append(value)
    return {key: each[0] for key, each in values.items() if all(same(value, each[0]) for value in each)}


def same(one: object, other: object) -> bool:
    """Whether two attributes have the same type and value."""
    return type(one) is type(other) and bool(numpy.all(one == other))


def ambiguous_attributes(operator) -> dict[str, list[str]]:
    """Returns plain names that members of a meta-operator fill with different values, each with the names of these values."""
    found = operator_attributes(operator)
    graph = getattr(operator, "graph", None)
    plain = {key for node in (graph.nodes if graph else ()) for key in operator_attributes(node.operator)}
    return {key: [name for name in found if name.endswith(f"_{key}")] for key in sorted(plain - found.keys())}


def _memory_attributes(mem_info: Sequence[MemInfo] | None, outputs: Sequence[Tensor]) -> dict:
    """`mem_info` says whether the outputs are in the arena; else each output is a memory of its own, and the offsets of its
    plane count from the start of this memory."""
    planes = mem_info or [mem_info_of(tensor, 0) for tensor in outputs]
    return {
        "mem_info": bool(mem_info),
        **{f"mem_info_{key}": [getattr(info, key) for info in planes] for key in _PLANE},
    }


class Observed(dict):
    """A dictionary that knows which of its keys were asked for, one by one."""

    def __init__(self, values: Mapping[str, object]):
        super().__init__(values)
        self.names = set[str]()

    def __getitem__(self, key: str) -> Any:
        self.names.add(key)
        return super().__getitem__(key)

    def get(self, key: str, default: Any = None) -> Any:
        """The value of the key, which was asked for."""
        self.names.add(key)
        return super().get(key, default)
