# SPDX-License-Identifier: MIT
"""N.h: what the firmware may use."""

from __future__ import annotations

from dataclasses import dataclass

import numpy

from aidge_build.base.naming import comment_text, second_name
from aidge_build.base.return_codes import ReturnCode
from aidge_build.build.emit.blob import ALIGNMENT
from aidge_build.build.emit.copies import copy_hooks_of
from aidge_build.build.emit.digest import declarations_of, digest_of, facts_of
from aidge_build.build.emit.function import Function
from aidge_build.build.emit.functions import STATE_ALIGNMENT, functions_of, has_instances
from aidge_build.build.emit.hooks import hooks_of
from aidge_build.build.emit.integrity import integrity_fields
from aidge_build.build.emit.monitor import monitor_text
from aidge_build.build.emit.names import list_of_names
from aidge_build.build.emit.overlaps import MOST_PAIRS, apart, pairs_of
from aidge_build.build.emit.ports import Port
from aidge_build.build.emit.record import record_symbol, record_text
from aidge_build.build.emit.replaced import blob_symbol
from aidge_build.build.emit.rows import ports_by_rows, progress_fields
from aidge_build.build.emit.steps import step_fields
from aidge_build.build.emit.template import render_file
from aidge_build.plan.constant_arrays import Array, integer
from aidge_build.plan.program import Program


@dataclass(frozen=True)
class MacroGroup:
    """Macros under one comment."""

    comment: tuple[str, ...]
    values: tuple[tuple[str, str], ...]


def owns_arena(program: Program) -> bool:
    """Whether the generated code defines N_arena."""
    return program.options.arena == "static" and program.memory.arena.peak_bytes > 0


def owns_state(program: Program) -> bool:
    """Whether the generated code defines N_state."""
    return program.options.arena == "static" and program.memory.states.size_bytes > 0


@dataclass(frozen=True)
class ArenaArray:
    """An array that holds the arena or a part of it; `size` is C text."""

    symbol: str
    ending: str
    size: str
    section: str
    c_type: str = "uint8_t"


def arenas_of(program: Program) -> tuple[ArenaArray, ...]:
    """The arrays, and the linker sections that bring them into their regions."""
    found = []
    for part in program.memory.parts:
        size = str(part.size_bytes) if part.name else f"{program.name.upper()}_ARENA_BYTES"
        section = f', section(".bss.aidge_{part.region}.{program.name}")' if part.region else ""
        found.append(ArenaArray(f"{program.name}_arena{part.ending}", part.ending, size, section))
    return tuple(found)


def public_arenas(program: Program) -> tuple[ArenaArray, ...]:
    """Returns the arrays of the arena that the header declares because they hold the inputs and outputs."""
    return arenas_of(program) if owns_arena(program) and program.options.io == "arena" else ()


@dataclass(frozen=True)
class Header:
    """N.h, and the digest that is the ending of the second names; holds nothing of the weights."""

    text: str
    digest: str


def header_of(program: Program, ports: tuple[Port, ...], needs: tuple[str, ...]) -> Header:
    """The header. Its digest is the start of the SHA-256 of its declarations, and of the promises that it makes in comments alone
    (`_promises`). Words of comments, the version of the tool and the model's file are not in it: a rebuild with another version
    links with objects that were compiled before, unless something changed for their users.

    Users of the header are linked to names that end in the digest, so that a header with another declaration or another promise
    is an undefined reference. The renaming is `#pragma redefine_extname`, which gcc and clang know on every
    ELF target, because it is seen by the linker alone. A macro would be seen by everything between: what quotes or joins names
    (the shells of Zephyr and RT-Thread register a command by the name of its function), bindings made from the header (a
    binding's users would write the digest), debuggers. An assembler label does the same as the pragma, but clang refuses it
    where somebody declared the function by hand and called it before, and parsers of headers stumble over it. The macro is what
    remains for other compilers. The code file itself defines the plain name, so that its section is `.text.N_run` in a linker
    script, and gives it the second one as an alias.
    """
    digest = digest_of(declarations_of(_text(program, ports, needs, "")), facts_of(_promises(program, ports)))
    return Header(_text(program, ports, needs, digest), digest)


def _promises(program: Program, ports: tuple[Port, ...]) -> dict:
    """Returns the properties that the firmware relies on and no declaration states: where buffers begin, which of them may share
    bytes, the order of the elements, who may use the arena when, and whether rows of one side wait for the other."""
    progress = program.progress
    return {
        "alignments": {port.parameter: port.alignment for port in ports},
        "formats": {port.parameter: [str(port.tensor.storage), *port.tensor.dims] for port in ports},
        "apart": [[one.parameter, other.parameter] for one, other in apart(program, ports)],
        "all_apart": pairs_of(program, ports) > MOST_PAIRS,
        "memory": [program.options.io, program.options.arena],
        "arena": [[part.name, part.size_bytes, program.memory.alignment] for part in program.memory.parts],
        "takes_turns": progress is not None and progress.takes_turns,
    }


def _public_symbols(program: Program, functions: tuple[Function, ...]) -> tuple[str, ...]:
    """Returns the symbols that the header declares."""
    recorded = (record_symbol(program.name),) if program.recording else ()
    return (*(function.symbol for function in functions), *(arena.symbol for arena in public_arenas(program)), *recorded)


def _text(program: Program, ports: tuple[Port, ...], needs: tuple[str, ...], digest: str) -> str:
    functions, by_rows = functions_of(program, ports), ports_by_rows(program, ports)
    return render_file(
        "model.h",
        name=program.name,
        prefix=program.name.upper(),
        code_file=program.code_file,
        macros=[
            *_label_macros(program),
            *(_port_macros(program, port, port in by_rows) for port in ports),
            _arena_macros(program),
            *_state_macros(program),
            *_rows_macros(program, ports),
            *_step_macros(program),
            *_record_macros(program),
            *_monitor_macros(program),
            *_dma_macros(program),
            *_weights_macros(program),
        ],
        public=[(symbol, second_name(symbol, digest)) for symbol in _public_symbols(program, functions)],
        digest=digest,
        needs=needs,
        arenas=public_arenas(program),
        functions=functions,
        has_instances=has_instances(program),
        has_state=program.memory.states.size_bytes > 0,
        hooks=hooks_of(program, ports),
        copy_hooks=copy_hooks_of(program),
        progress=_kept_in_instance(program, ports) if has_instances(program) else (),
        integrity=integrity_fields(program) if has_instances(program) else (),
        record=record_text(program, ports),
        monitor=monitor_text(program, ports, has_instances(program)),
        codes=_codes(program),
        weights=blob_symbol(program) if program.options.replaces_weights else "",
    )


_CODES = {
    ReturnCode.OK: "done",
    ReturnCode.POINTER: "a pointer is null or misaligned",
    ReturnCode.MORE: "there is more to do",
    ReturnCode.ORDER: "called out of order",
    ReturnCode.WEIGHTS: "no weights are bound, or they do not fit this code",
    ReturnCode.DAMAGED: "constants are damaged",
    ReturnCode.OVERWRITTEN: "bytes next to the arena were overwritten",
}


def _codes(program: Program) -> tuple[tuple[str, int, str], ...]:
    """Returns name, number and meaning of the functions' return codes; none if 0 and 1 are all."""
    options, verifies = program.options, program.options.verifies_constants
    holds = {
        ReturnCode.MORE: program.takes_several_calls or options.replaces_weights or verifies,
        ReturnCode.ORDER: program.takes_several_calls or options.replaces_weights,
        ReturnCode.WEIGHTS: options.replaces_weights,
        ReturnCode.DAMAGED: verifies,
        ReturnCode.OVERWRITTEN: options.has_canary,
    }
    return tuple((code.name, code.value, text) for code, text in _CODES.items() if holds.get(code, any(holds.values())))


def _weights_macros(program: Program) -> tuple[MacroGroup, ...]:
    if not program.options.replaces_weights:
        return ()
    what = (f"The alignment in bytes of the weights for {program.name}_bind.",)
    return (MacroGroup(what, ((f"{program.name.upper()}_WEIGHTS_ALIGNMENT", str(ALIGNMENT)),)),)


def _rows_macros(program: Program, ports: tuple[Port, ...]) -> tuple[MacroGroup, ...]:
    progress = program.progress
    if progress is None:
        return ()
    found = []
    for port in ports_by_rows(program, ports):
        line = progress.arriving if port.is_input else progress.departing
        assert line is not None
        side = f"{'Input' if port.is_input else 'Output'} '{comment_text(port.tensor.name)}'"
        comment = f"{side} {'comes' if port.is_input else 'leaves'} by rows: these follow each other in memory."
        values = ((f"{port.macro}_ROWS", str(line.height)), (f"{port.macro}_ROW_BYTES", str(line.row_bytes)))
        found.append(MacroGroup((comment,), values))
    return tuple(found)


def _kept_in_instance(program: Program, ports: tuple[Port, ...]) -> tuple[str, ...]:
    """The fields of how far an inference is."""
    if program.waiting:
        return step_fields(program, ports)
    return progress_fields(program, ports) if program.progress else ()


def _step_macros(program: Program) -> tuple[MacroGroup, ...]:
    if program.waiting is None:
        return ()
    prefix = program.name.upper()
    values = (
        (f"{prefix}_MAX_STEP_INSTRUCTIONS", str(program.options.max_step)),
        (f"{prefix}_STEPS", str(program.step_count)),
    )
    return (MacroGroup(("An inference in steps: the limit of a step, and the number of steps.",), values),)


def _dma_macros(program: Program) -> tuple[MacroGroup, ...]:
    if not program.options.dma_line:
        return ()
    comment = (
        "Bytes of a line of the data cache. An array for DMA begins at a multiple of it and has DMA_BYTES:",
        "keep everything else out of these lines, because invalidating a line discards other writes to it.",
    )
    return (MacroGroup(comment, ((f"{program.name.upper()}_DMA_LINE", str(program.options.dma_line)),)),)


def _record_macros(program: Program) -> tuple[MacroGroup, ...]:
    recording = program.recording
    if recording is None:
        return ()
    comment = (f"The record of the last {recording.slots} inferences, in bytes: {record_symbol(program.name)}.",)
    return (MacroGroup(comment, ((f"{program.name.upper()}_RECORD_BYTES", str(recording.size_bytes)),)),)


def _monitor_macros(program: Program) -> tuple[MacroGroup, ...]:
    monitoring = program.monitoring
    if monitoring is None:
        return ()
    comment = (f"The bytes that {program.name}_monitor writes.",)
    return (MacroGroup(comment, ((f"{program.name.upper()}_MONITOR_BYTES", str(monitoring.dump_bytes)),)),)


def _port_macros(program: Program, port: Port, by_rows: bool) -> MacroGroup:
    tensor = port.tensor
    stored = tensor.layout.stored_dims
    side = "Input" if port.is_input else "Output"
    comment = f"{side} '{comment_text(tensor.name)}': {tensor.dtype.name}, elements in the order of DIMS, the last axis fastest."
    values = [("_SIZE", str(tensor.elements)), ("_BYTES", str(tensor.size_bytes)), ("_RANK", str(tensor.rank))]
    if stored:
        values.append(("_DIMS", "{" + ", ".join(map(str, stored)) + "}"))
    if tensor.quantization is not None and tensor.quantization.per_tensor:
        scale = Array("", numpy.array([tensor.quantization.scale], numpy.float32), "").lines()[0].rstrip(",")
        values += [("_SCALE", scale), ("_ZERO_POINT", _negative_in_parentheses(tensor.quantization.zero_point))]
    if tensor.names:
        known = not port.is_input and tensor.names == program.labels
        table = f"{program.name.upper()}_LABELS" if known else list_of_names(tensor.names)
        values += [("_NAMES", table), ("_NAMES_SIZE", str(len(tensor.names)))]
    if port.line:
        values.append(("_DMA_BYTES", str(port.line_bytes)))
    macros = [(port.macro + ending, value) for ending, value in values]
    if program.options.io == "arena" and not by_rows:
        macros.insert(0, _pointer_macro(program, port))
    quantized = ("Real value = (element - ZERO_POINT) * SCALE.",) if any("_SCALE" in name for name, _ in macros) else ()
    return MacroGroup((comment, *quantized, *_names_comment(port)), tuple(macros))


def _names_comment(port: Port) -> tuple[str, ...]:
    if not port.tensor.names:
        return ()
    if port.tensor.dtype.is_float:
        return ("NAMES are the names of the columns.",)
    return ("An element counts the words of NAMES from 0" + ("; write -1 for any other word." if port.is_input else "."),)


def _label_macros(program: Program) -> list[MacroGroup]:
    """The names of the classes, which cost flash only where somebody makes an array of them."""
    labels, prefix = program.labels, program.name.upper()
    if not labels:
        return []
    return [
        MacroGroup(
            (f"The names of the classes: static const char *const labels[{prefix}_LABELS_SIZE] = {prefix}_LABELS;",),
            ((f"{prefix}_LABELS", list_of_names(labels)), (f"{prefix}_LABELS_SIZE", str(len(labels)))),
        )
    ]


def _negative_in_parentheses(value: int) -> str:
    text = integer(value)
    return f"({text})" if text.startswith("-") else text


def _pointer_macro(program: Program, port: Port) -> tuple[str, str]:
    offset = program.memory.places[port.tensor.name].offset_bytes
    target = f"({port.tensor.dtype.c_type} *)(void *)"
    if program.options.arena == "caller":
        return f"{port.macro}(arena)", f"({target}((uint8_t *)(arena) + {offset}))"
    part = program.memory.part_at(offset)
    return port.macro, f"({target}&{program.name}_arena{part.ending}[{offset - part.start_bytes}])"


def _arena_macros(program: Program) -> MacroGroup:
    prefix = program.name.upper()
    return MacroGroup(
        ("Working memory in bytes: ARENA as linked, PEAK with inputs and outputs.",),
        (
            (f"{prefix}_ARENA_BYTES", str(program.memory.arena.peak_bytes)),
            (f"{prefix}_ARENA_ALIGNMENT", str(program.memory.alignment)),
            (f"{prefix}_PEAK_BYTES", str(program.memory.peak.peak_bytes)),
        ),
    )


def _state_macros(program: Program) -> tuple[MacroGroup, ...]:
    if not program.memory.states.size_bytes:
        return ()
    prefix = program.name.upper()
    where = "" if has_instances(program) else f": {program.name}_state"
    what = f"The state that the model keeps from one call to the next, in bytes{where}."
    values = (
        (f"{prefix}_STATE_BYTES", str(program.memory.states.bytes_of(program.options.arena))),
        (f"{prefix}_STATE_ALIGNMENT", str(STATE_ALIGNMENT)),
    )
    return (MacroGroup((what,), values),)
