# SPDX-License-Identifier: MIT
"""The C names of inputs, outputs and arrays of constants: decided here, once for each program."""

from __future__ import annotations

from dataclasses import replace

from aidge_build.base.naming import Namer, public_symbols
from aidge_build.contract.call import Constant, Input
from aidge_build.graph.tensor import Tensor
from aidge_build.plan.program import Layer, Names, PortName, Program

_PORT_ENDINGS = ("", "_SIZE", "_BYTES", "_RANK", "_DIMS", "_SCALE", "_ZERO_POINT", "_NAMES", "_NAMES_SIZE")
_OTHER_MACROS = ("H", "ARENA_BYTES", "ARENA_ALIGNMENT", "PEAK_BYTES", "DEFINITIONS", "STATE_BYTES", "STATE_ALIGNMENT")
_ROW_MACROS = ("OK", "POINTER", "MORE", "ORDER", "INPUT_ROWS", "INPUT_ROW_BYTES", "OUTPUT_ROWS", "OUTPUT_ROW_BYTES")  # by rows
_STEP_MACROS = ("OK", "POINTER", "MORE", "ORDER", "MAX_STEP_INSTRUCTIONS", "STEPS")  # of models that run in steps
_RECORD_MACROS = ("RECORD_BYTES",)  # of models that keep the last inferences
_MONITOR_MACROS = ("MONITOR_BYTES",)  # of models that count their inputs and answers
_CODES = ("OK", "POINTER", "MORE", "ORDER", "WEIGHTS")  # of models with functions that return more than 0 and 1
_WEIGHTS_MACROS = (*_CODES, "WEIGHTS_ALIGNMENT")  # of models with weights that can be replaced
_INTEGRITY_MACROS = (*_CODES, "DAMAGED", "OVERWRITTEN")  # of models with checks at run time
_LABEL_MACROS = ("LABELS", "LABELS_SIZE")  # of models that have them


def with_names(program: Program) -> Program:
    """Returns the program with names of its inputs, outputs and arrays: distinct, and different from the symbols of layers."""
    sides = _ports(program)
    namer = Namer(program.name, (*public_symbols(program.name), *(layer.symbol for layer in program.layers)))
    arrays: dict[tuple[int, int], str] = {}
    of_tensor: dict[str, str] = {}
    for number, layer in enumerate(program.layers):
        for position, argument in enumerate(layer.call.arguments):
            if isinstance(argument, Constant):
                arrays[number, position] = namer.take(f"{layer.symbol.removeprefix(program.name + '_')}_{argument.name}")
            elif isinstance(argument, Input) and (tensor := _constant(program, layer, argument)) is not None:
                if tensor.name not in of_tensor:
                    of_tensor[tensor.name] = namer.take(tensor.name)
                arrays[number, position] = of_tensor[tensor.name]
    return replace(program, names=Names(*sides, arrays, namer.take("initial_state")))


def _constant(program: Program, layer: Layer, argument: Input) -> Tensor | None:
    """Returns the constant of the graph that a layer reads with this argument; None if it reads none."""
    tensor = layer.inputs[argument.index] if argument.index < len(layer.inputs) else None
    place = program.memory.places.get(tensor.name) if tensor is not None else None
    return tensor if place is not None and place.kind == "constant" else None


def _ports(program: Program) -> tuple[tuple[PortName, ...], tuple[PortName, ...]]:
    prefix, view = program.name.upper(), program.view
    words, reserved = _reserved(program)
    parameters, macros = Namer(taken=words), Namer(prefix, (f"{prefix}_{word}" for word in reserved))
    endings = (*_PORT_ENDINGS, *(("_DMA_BYTES",) if program.options.dma_line else ()))
    sides = (("input", view.given), ("output", view.handed_out))
    for side, names in sides:
        if len(names) == 1:  # the usual words first, so that no tensor of that name takes them
            parameters.take(side)
            macros.take(side, endings)
    inputs, outputs = (
        (PortName(side, f"{prefix}_{side}".upper()),)
        if len(names) == 1
        else tuple(PortName(parameters.take(name), macros.take(name, endings).upper()) for name in names)
        for side, names in sides
    )
    return inputs, outputs


def _reserved(program: Program) -> tuple[list[str], list[str]]:
    """Returns the parameters and the macros of a model, names that no input or output may have."""
    cases: tuple[tuple[object, tuple[str, ...], tuple[str, ...]], ...] = (
        (True, (), _OTHER_MACROS),
        (program.labels, (), _LABEL_MACROS),
        (program.memory.states.size_bytes, ("self", "state", "state_bytes"), ()),
        (program.progress, ("self", "at", "rows", "count", "steps", "to", "wanted", "gone", "came", "left"), _ROW_MACROS),
        (program.waiting, ("self", "at", "code", "steps"), _STEP_MACROS),
        (program.recording, (), _RECORD_MACROS),
        (program.monitoring, ("self",), _MONITOR_MACROS),
        (program.options.dma_line, (), ("DMA_LINE",)),
        (program.options.replaces_weights, ("self", "weights", "weights_bytes"), _WEIGHTS_MACROS),
        (program.options.integrity != "off", ("self", "code"), _INTEGRITY_MACROS),
    )
    arenas = [f"{name}{part.ending}" for part in program.memory.parts for name in ("arena", "arena_bytes")]
    words = [word for holds, parameters, _ in cases if holds for word in parameters]
    return [*arenas, *words], [macro for holds, _, macros in cases if holds for macro in macros]
