# SPDX-License-Identifier: MIT
"""The part of the claim about replaceable weights: how a new set is made, and what it is compared with."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy

from aidge_build.build.emit.cascades import CascadeText
from aidge_build.build.emit.claim import made_with
from aidge_build.build.emit.digest import code_of_text, digest_of, facts_of
from aidge_build.build.emit.ports import Port, data_digest, scale_words
from aidge_build.contract.call import Argument, Input, Literal, Output, Struct
from aidge_build.graph.tensor import Tensor
from aidge_build.plan.constant_arrays import Array, Arrays
from aidge_build.plan.program import Layer, Program


def update_claim(program: Program, ports: Sequence[Port], arrays: Arrays, layout: str) -> dict:
    """Returns the claim's part: the digest that N_bind compares, the command's options, and kernel and code of each layer."""
    return {
        "layout": layout,
        "data": data_digest(program),
        "version": program.options.weights_version,
        "made_with": made_with(program),
        "ports": [_port(port) for port in ports],
        "layers": [
            {"kernel": f"{layer.kernel.library} {layer.kernel.name}", "code": digest_of(facts_of(call))}
            for layer, call in zip(program.layers, _layers(program, arrays, _Seen(program, arrays)), strict=True)
        ],
    }


def _port(port: Port) -> str:
    tensor, side = port.tensor, "input" if port.is_input else "output"
    return f"{side} {port.parameter} {tensor.dtype.name} {list(tensor.dims)}, {scale_words(tensor)}"


def layout_digest(program: Program, kernels: Sequence[str], cascades: Sequence[CascadeText], arrays: Arrays) -> str:
    """Returns the digest of the code that reads a block: the code of kernels, the arguments that each layer passes to them, the
    steps of cascades, the arrays in their order, and the initial state, which stays.

    Equal code reads equal constants in equal order: whatever a kernel proved about the weights, it chose this code for both.
    Tensors count by the buffer that holds them and by their place in it: whoever wrote there last is the same layer in both
    programs. The place of buffers in the arena, comments, the names of layers (which may follow the names in the file of a
    model) and the code around layers are not in it: a later version with other plans makes blocks for firmware of an earlier one
    as long as the kernels are the same.
    """
    seen = _Seen(program, arrays)
    layers = _layers(program, arrays, seen)
    ends = [seen.tensor(program.view.tensor(name)) for name in program.view.handed_out]
    number = {layer.symbol: f"layer_{position}" for position, layer in enumerate(program.layers)}
    steps = re.sub(
        r"[A-Za-z_]\w*",
        lambda word: number.get(word[0], word[0]),
        repr([replace(cascade, comment=()) for cascade in cascades]),
    )
    read = [(array.dtype.c_type, array.alignment) for array in arrays.replaceable]
    start = arrays.initial_state.sha256 if arrays.initial_state else ""
    core = [condition.macro for condition in program.target.conditions]
    how = facts_of((layers, ends, read, start, core, program.options.assembly, program.options.unaligned))
    return digest_of(*map(code_of_text, kernels), steps, how)


class _Seen:
    """Tensors and arrays by numbers: buffers in the order in which layers touch them, arrays as layers count them."""

    def __init__(self, program: Program, arrays: Arrays):
        self._program = program
        self._buffers: dict[str, int] = {}
        self._starts = {placement.buffer.name: placement.offset_bytes for placement in program.memory.arena.placements}
        self._arrays = {array.symbol: number for number, array in enumerate(arrays.replaceable)}

    def tensor(self, tensor: Tensor | None) -> tuple:
        """Returns a tensor's place: the number of an input or output, bytes of the state, or bytes of a numbered buffer."""
        if tensor is None:
            return ()
        place = self._program.memory.places[tensor.name]
        kind = (tensor.dtype.name, tensor.dims, str(tensor.storage), place.kind)
        if place.kind != "arena":
            return (*kind, place.index, place.offset_bytes)
        buffer = self._program.schedule.buffer_of.get(tensor.name, tensor.name)
        number = self._buffers.setdefault(buffer, len(self._buffers))
        inside = place.offset_bytes - self._starts.get(buffer, place.offset_bytes)
        return (*kind, number, inside, place.rows, place.stride_bytes, place.line_bytes, repr(place.plane))

    def array(self, array: Array) -> int:
        """The number by which a layer reads it."""
        return self._arrays[array.symbol]


def _layers(program: Program, arrays: Arrays, seen: _Seen) -> list[tuple]:
    return [_layer(layer, read, seen) for layer, read in zip(program.layers, arrays.of_layer, strict=True)]


def _layer(layer: Layer, read: Mapping[int, Array], seen: _Seen) -> tuple:
    """The calls of a layer: the function, and each argument."""
    bands = sorted(layer.bands.number_of.items()) if layer.bands else []
    calls = [
        (call.function, [_argument(layer, position, argument, read, seen) for position, argument in enumerate(call.arguments)])
        for call in layer.calls
    ]
    return layer.kernel.library, layer.kernel.name, calls, bands, [seen.tensor(tensor) for tensor in layer.outputs]


def _argument(layer: Layer, position: int, argument: Argument, read: Mapping[int, Array], seen: _Seen) -> tuple:
    name = type(argument).__name__
    if position in read:
        return name, seen.array(read[position])
    match argument:
        case Input(index=index):
            return name, seen.tensor(layer.inputs[index])
        case Output(index=index):
            return name, seen.tensor(layer.outputs[index])
        case Literal(value=value):
            return name, int(value)
        case Struct(type=kind, fields=fields):
            return name, kind, [(field, numpy.asarray(value).tolist()) for field, value in fields.items()]
    return (name,)
