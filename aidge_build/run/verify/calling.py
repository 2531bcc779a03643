# SPDX-License-Identifier: MIT
"""The C code of a call of N_run for any options: the buffers of the caller, the calls before, and the arguments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aidge_build.build.emit.functions import has_instances
from aidge_build.build.emit.ports import ports_of
from aidge_build.build.emit.rows import ports_by_rows
from aidge_build.graph.tensor import Tensor
from aidge_build.plan.program import Program


@dataclass(frozen=True)
class Buffer:
    """An array of the caller for an input or output: its C name, the type of its elements, and how many it has."""

    variable: str
    c_type: str
    elements: int


@dataclass(frozen=True)
class Calling:
    """The C declarations and statements of a call of N_run. `inputs` and `outputs` are arrays at a multiple of `alignment` bytes
    (0: the alignment of their elements); `arena_bytes`, `state_bytes` and `has_instance` say what else the caller owns; `setup`
    are calls that return 0, made once; `copies_in` and `copies_out` are statements around `run`."""

    inputs: tuple[Buffer, ...]
    outputs: tuple[Buffer, ...]
    alignment: int
    arena_bytes: int
    arena_alignment: int
    state_bytes: int
    has_instance: bool
    setup: tuple[str, ...]
    copies_in: tuple[str, ...]
    run: str
    copies_out: tuple[str, ...]


def calling_of(program: Program) -> Calling:
    """Returns the call with input_0, output_0, ... and `arena.bytes`, `state.bytes`, `instance` if the caller owns them."""
    options, name = program.options, program.name
    arena = "arena.bytes" if program.memory.arena.peak_bytes else "0"
    instance = has_instances(program)
    inputs = _buffers("input", [program.view.tensor(given) for given in program.view.given])
    outputs = _buffers("output", [program.view.tensor(given) for given in program.view.handed_out])
    own = ["&instance"] if instance else [arena] if options.arena == "caller" else []
    if options.io == "caller":
        arguments, copies = [buffer.variable for buffer in (*inputs, *outputs)], _Copies()
    else:
        arguments, copies = _in_arena(program, (*inputs, *outputs), f"({arena})" if options.arena == "caller" else "")
    return Calling(
        inputs=inputs,
        outputs=outputs,
        alignment=options.dma_line,
        arena_bytes=program.memory.arena.peak_bytes if options.arena == "caller" else 0,
        arena_alignment=program.memory.alignment,
        state_bytes=program.memory.states.size_bytes if instance else 0,
        has_instance=instance,
        setup=_setup(program, arena, instance),
        copies_in=copies.before,
        run=f"{name}_run({', '.join([*own, *arguments])})",
        copies_out=copies.after,
    )


@dataclass(frozen=True)
class _Copies:
    """Statements before and after the call."""

    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


def _in_arena(program: Program, buffers: Sequence[Buffer], of_arena: str) -> tuple[list[str], _Copies]:
    """The arguments, and the copies between the caller's buffers and their places in the arena; inputs and outputs that come and
    go by rows have no place there, and are arguments."""
    ports = ports_of(program)
    by_rows = ports_by_rows(program, ports)
    before, after = [], []
    for port, buffer in zip(ports, buffers, strict=True):
        place, own = f"{port.macro}{of_arena}", buffer.variable
        if port not in by_rows and port.is_input:
            before.append(f"(void)memcpy({place}, {own}, sizeof {own});")
        elif port not in by_rows:
            after.append(f"(void)memcpy({own}, {place}, sizeof {own});")
    return [f"{'input' if port.is_input else 'output'}_0" for port in by_rows], _Copies(tuple(before), tuple(after))


def _buffers(word: str, tensors: list[Tensor]) -> tuple[Buffer, ...]:
    return tuple(Buffer(f"{word}_{index}", tensor.dtype.c_type, tensor.elements) for index, tensor in enumerate(tensors))


def _setup(program: Program, arena: str, instance: bool) -> tuple[str, ...]:
    """An instance is made, the program's own weights are taken, and all constants are checked."""
    name, found = program.name, []
    if instance:
        found.append(f"{name}_init(&instance, {arena}{', state.bytes' if program.memory.states.size_bytes else ''})")
    if program.options.replaces_weights:
        found.append(f"{name}_bind({'&instance, ' if instance else ''}{name}_weights, {name}_weights_bytes)")
    if program.options.verifies_constants:
        found.append(f"{name}_verify_constants({'&instance, ' if instance else ''}0xffffffffu)")
    return tuple(found)
