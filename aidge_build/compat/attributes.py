# SPDX-License-Identifier: MIT
"""What templates know about a node: the documented names of the inherited export API."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from aidge_build.contract.mem_info import MemInfo
from aidge_build.contract.spec import NodeView, attributes_of
from aidge_build.graph.dtype import DType
from aidge_build.graph.tensor import Tensor
from aidge_build.naming import identifier

# The window of a convolution or pool under the names that templates of the inherited style use.
_INHERITED = {"kernel": "kernel_dims", "strides": "stride_dims", "dilations": "dilation_dims"}


def snake_case(text: str) -> str:
    """ConvDepthWise2D -> conv_depth_wise2d."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", text).lower()


def node_attributes(view: NodeView, mem_info: Sequence[MemInfo] | None, conversion_map: Mapping[DType, str]) -> dict:
    """The whole dictionary. The operator's attributes are below the documented names, which win."""
    name = view.symbol or identifier(view.node.name)
    producers = [view.graph.producer(tensor) if view.graph else None for tensor in view.node.inputs]
    found: dict[str, object] = {
        **operator_attributes(view.operator),
        "node": view.node,
        "name": name,
        "nb_in": len(view.inputs),
        "nb_out": len(view.outputs),
        "type": view.node.type,
        "origin": list(view.node.origin),
        "in_node": producers,
        "out_node": [list(view.graph.consumers(tensor)) if view.graph else [] for tensor in view.node.outputs],
        "out_name": [f"{name}_output_{index}" for index in range(len(view.outputs))],
    }
    found["in_name"] = [
        _input_name(name, index, tensor, producer) for index, (tensor, producer) in enumerate(zip(view.node.inputs, producers))
    ]
    for side, tensors in (("in", view.inputs), ("out", view.outputs)):
        found |= {f"{side}_{key}": list(values) for key, values in _tensor_attributes(tensors, conversion_map).items()}
    return found | _memory_attributes(mem_info)


def _input_name(name: str, index: int, tensor: str, producer) -> str:
    if producer is None:
        return f"{name}_input_{index}"
    return f"{identifier(producer.name)}_output_{producer.outputs.index(tensor)}"


def _tensor_attributes(tensors: Sequence[Tensor | None], conversion_map: Mapping[DType, str]) -> dict[str, list]:
    shapes = [_image(tensor) for tensor in tensors]
    return {
        "dims": [list(tensor.dims) if tensor else [] for tensor in tensors],
        "size": [tensor.elements if tensor else 0 for tensor in tensors],
        "sizeof": [tensor.dtype.size_bytes if tensor else 0 for tensor in tensors],
        "batch": [tensor.dims[0] if tensor and tensor.rank > 1 else 1 for tensor in tensors],
        "chan": [shape[0] for shape in shapes],
        "height": [shape[1] for shape in shapes],
        "width": [shape[2] for shape in shapes],
        "dtype": [tensor.dtype if tensor else None for tensor in tensors],
        "cdtype": [conversion_map.get(tensor.dtype, tensor.dtype.c_type) if tensor else "" for tensor in tensors],
        "format": [str(tensor.storage) if tensor else "" for tensor in tensors],
        "scale": [_first(tensor, "scales") for tensor in tensors],
        "zero_point": [_first(tensor, "zero_points") for tensor in tensors],
    }


def _first(tensor: Tensor | None, field: str):
    """Scale or zero point of a tensor that has one for all its elements."""
    if tensor is None or tensor.quantization is None or not tensor.quantization.per_tensor:
        return None
    return getattr(tensor.quantization, field)[0]


def _image(tensor: Tensor | None) -> tuple[int, int, int]:
    """Channels, height and width: dims are logical, so the storage order does not matter."""
    dims = (0, 0, 0) if tensor is None else tensor.dims
    if len(dims) >= 4:
        return dims[1], dims[-2], dims[-1]
    if len(dims) == 3 and tensor is not None:
        return dims[1], 1, dims[2]
    return (dims[-1] if dims else 1, 1, 1) if tensor is not None else (0, 0, 0)


def operator_attributes(operator) -> dict[str, object]:
    """The operator's attributes in snake_case; those of the members of a meta-operator are found, too, as `conv2d_kernel`."""
    found = {
        snake_case(name): list(value) if isinstance(value, tuple) else value for name, value in attributes_of(operator).items()
    }
    found |= {other: found[name] for name, other in _INHERITED.items() if name in found}
    graph = getattr(operator, "graph", None)
    members: dict[str, object] = {}
    for node in graph.nodes if graph is not None else ():
        inner = operator_attributes(node.operator)
        members |= {
            f"{snake_case(node.type)}_{name}": value
            for name, value in inner.items()
            if f"{snake_case(node.type)}_{name}" not in members
        }
        members |= {name: value for name, value in inner.items() if name not in members}
    return {**members, **found}


def _memory_attributes(mem_info: Sequence[MemInfo] | None) -> dict:
    if not mem_info:
        return {"mem_info": False}
    keys = ("size", "offset", "stride", "length", "cont_size", "cont_offset", "wrap_offset", "wrap_size")
    return {"mem_info": True, **{f"mem_info_{key}": [getattr(info, key) for info in mem_info] for key in keys}}
