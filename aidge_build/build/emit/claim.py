# SPDX-License-Identifier: MIT
"""The claim: what a linked model says about itself in an ELF note, so that `check` needs nothing but the ELF."""

from __future__ import annotations

import json
from collections.abc import Sequence

from aidge_build.base.version import CLAIM_VERSION, VERSION
from aidge_build.build.emit.copies import copies_by_hooks, copy_hook_symbols
from aidge_build.build.emit.fast_code import memories_of_functions
from aidge_build.build.emit.functions import STATE_ALIGNMENT
from aidge_build.build.emit.header import owns_arena, owns_state
from aidge_build.build.emit.hooks import has_hooks, hook_symbols
from aidge_build.build.emit.kept import Kept, kept_arrays
from aidge_build.build.emit.ports import Port, ports_of, scale_words
from aidge_build.plan.constant_arrays import Array
from aidge_build.plan.constant_regions import memory_of
from aidge_build.plan.place import ArenaPart
from aidge_build.plan.program import Program

NOTE_SECTION = ".note.aidge"
RISCV_NOTE_SECTION = ".aidge.note"  # picolibc's linker script and others for RISC-V discard .note.*
NOTE_OWNER = "aidge"
NOTE_TYPE = 1
_CHUNK = 90


def claim_of(program: Program, functions: Sequence[str], arrays: Sequence[Array], header_digest: str, code_digest: str) -> dict:
    """Returns the content of the note. `arenas` are the arrays that hold the arena, none if the caller owns it or it has 0 bytes;
    `region` is the name and `memory` the place of the region that the planner chose, null without a board; `cpu` is "" for code
    for any core, `features` are the features of the core that kernels were chosen for; `unaligned` is false if neither kernels
    nor the compiler may read or write words at any address; `functions` are the functions of the header, `made_with` the options
    of the command without paths; `interface` and `code` are the digests of the header and of the code that the constants are for.
    """
    return {
        "model": program.name,
        "model_sha256": program.model_sha256,
        "cpu": program.target.cpu,
        "unaligned": not program.is_aligned_only,
        **({"features": list(program.target.features)} if program.target.features else {}),
        "interface": header_digest,
        "code": code_digest,
        "arenas": [_arena(program, part) for part in program.memory.parts] if owns_arena(program) else [],
        "arena_bytes": program.memory.arena.peak_bytes,
        "peak_bytes": program.memory.peak.peak_bytes,
        "state": _state(program) if owns_state(program) else None,
        "weights": [_constant(program, array) for array in arrays],
        "weights_bytes": sum(len(array.data) for array in arrays),
        **({"code_in": _code_in(program, arrays)} if memories_of_functions(program) else {}),
        "kept": [_kept(one) for one in kept_arrays(program)],
        **({"steps": {"max_step": program.options.max_step, "count": program.step_count}} if program.waiting else {}),
        **_hooks(program),
        "functions": list(functions),
        **_calls(program),
        "layers": [layer.symbol for layer in program.layers],
        **({} if program.options.replaces_weights else {"made_with": made_with(program)}),  # "update" says it there
        "tool": VERSION,
    }


def _hooks(program: Program) -> dict:
    """The functions that the firmware may define, where there are any."""
    dma = {"dma": _dma(program)} if has_hooks(program) else {}
    return dma | ({"copies": {"hooks": list(copy_hook_symbols(program.name))}} if copies_by_hooks(program) else {})


def made_with(program: Program) -> list[str]:
    """The options of the command, without paths."""
    return [word for word in program.made_with if word.isprintable()]


def _calls(program: Program) -> dict:
    """Returns the inputs and outputs of N_run in their order, as `calls` if it can be called with nothing but the program, else
    as `passed`."""
    ports = ports_of(program)
    sides = (("inputs", True), ("outputs", False))
    passed = {word: [_port(program, port) for port in ports if port.is_input == is_input] for word, is_input in sides}
    return {"calls" if program.options.arena == "static" and not program.progress else "passed": passed}


def _port(program: Program, port: Port) -> dict:
    """Returns the claim of an input or output. `symbol` and `offset_bytes` are its place in the arena; `symbol` is "" for a
    pointer that N_run gets. `row_bytes` are the bytes of a row, if it goes by rows."""
    tensor, symbol, offset, row = port.tensor, "", 0, _row_bytes(program, port)
    if program.options.io == "arena" and not row:
        offset = program.memory.places[tensor.name].offset_bytes
        part = program.memory.part_at(offset)
        symbol, offset = f"{program.name}_arena{part.ending}", offset - part.start_bytes
    return {
        "name": port.parameter,
        "type": f"{tensor.dtype.name} {list(tensor.dims)} {tensor.storage}",
        "scale": scale_words(tensor),
        "size_bytes": tensor.size_bytes,
        "symbol": symbol,
        "offset_bytes": offset,
        **({"row_bytes": row} if row else {}),
    }


def _row_bytes(program: Program, port: Port) -> int:
    progress = program.progress
    line = (progress.arriving if port.is_input else progress.departing) if progress else None
    return line.row_bytes if line else 0


def _constant(program: Program, array: Array) -> dict:
    return {
        **_memory(program, array.region),
        "symbol": array.symbol,
        "size_bytes": len(array.data),
        "alignment": array.alignment,
        "sha256": array.sha256,
    }


def _code_in(program: Program, arrays: Sequence[Array]) -> list[dict]:
    """The functions that --place moves, by memory, and the bytes that constants leave them there."""
    moved: dict[str, list[str]] = {}
    for function, name in memories_of_functions(program).items():
        moved.setdefault(name, []).append(function)
    left = dict(program.options.constants_in)
    for array in arrays:
        if array.region in moved:
            left[array.region] -= len(array.data)
    return [
        {**_memory(program, name), "room_bytes": left[name], "functions": functions} for name, functions in sorted(moved.items())
    ]


def _memory(program: Program, name: str) -> dict:
    """The entry of a memory that something is planned for; {} for none."""
    memory = memory_of(program, name)
    return {"region": name, "memory": {"origin": memory.origin, "length_bytes": memory.length_bytes}} if memory else {}


def _arena(program: Program, part: ArenaPart) -> dict:
    memory = next((memory for memory in program.target.memories if memory.name == part.region), None)
    return {
        "symbol": f"{program.name}_arena{part.ending}",
        "size_bytes": part.size_bytes,
        "alignment": program.memory.alignment,
        "region": part.region or None,
        "memory": {"origin": memory.origin, "length_bytes": memory.length_bytes} if memory else None,
    }


def _state(program: Program) -> dict:
    """Returns the claim of the state: it is part of the program's data, wherever the linker script puts that."""
    size_bytes = program.memory.states.bytes_of(program.options.arena)
    return {
        "symbol": f"{program.name}_state",
        "size_bytes": size_bytes,
        "alignment": STATE_ALIGNMENT,
        "region": None,
        "memory": None,
    }


def _kept(one: Kept) -> dict:
    """Returns the claim of a kept array, which is part of the program's data, too."""
    return {
        "word": one.word,
        "symbol": one.symbol,
        "size_bytes": one.size_bytes(4),
        "size_bytes_64": one.size_bytes(8),
        "alignment": one.alignment(4),
        "region": None,
        "memory": None,
    }


def claim_assembly(claim: dict, section: str = NOTE_SECTION) -> list[str]:
    """Returns the assembler lines of the note (System V ABI, "Note Section"): version u16, length u32, canonical JSON; and the
    absolute symbols that remain when a foreign link step drops notes (0 for an arena that is not ours, or not in one piece)."""
    text = json.dumps(claim, sort_keys=True, separators=(",", ":"))
    owner = f"{NOTE_OWNER}\\0"
    lines = [
        f'.pushsection {section},"",%note',
        ".balign 4",
        f".long {len(NOTE_OWNER) + 1}, {2 + 4 + len(text)}, {NOTE_TYPE}",
        f'.ascii "{owner}"',
        ".balign 4",
        ".byte " + ", ".join(str(byte) for byte in (*CLAIM_VERSION.to_bytes(2, "little"), *len(text).to_bytes(4, "little"))),
    ]
    lines += [f'.ascii "{_escaped(text[start : start + _CHUNK])}"' for start in range(0, len(text), _CHUNK)]
    lines += [".balign 4", ".popsection"]
    for word, value in _numbers(claim).items():
        symbol = f"aidge_{claim['model']}__{word}"
        lines += [f".globl {symbol}", f".set {symbol}, {value}"]
    return lines


def _dma(program: Program) -> dict:
    """Returns the hooks; with a cache, also the length of its lines, and the parts of the model's memory that DMA may touch."""
    ports = []
    sides = (("input", program.view.given), ("output", program.view.handed_out))
    for word, number, name in ((word, number, name) for word, names in sides for number, name in enumerate(names)):
        place, size_bytes = program.memory.places[name], program.view.tensor(name).size_bytes
        if program.options.dma_line and place.kind == "arena" and owns_arena(program) and not place.line_bytes:
            part = program.memory.part_at(place.offset_bytes)
            ports.append(
                {
                    "label": f"{word} {number}",
                    "symbol": f"{program.name}_arena{part.ending}",
                    "offset_bytes": place.offset_bytes - part.start_bytes,
                    "size_bytes": size_bytes,
                }
            )
    return {"hooks": list(hook_symbols(program.name)), "line_bytes": program.options.dma_line, "ports": ports}


def _numbers(claim: dict) -> dict[str, int]:
    """The names and values of the absolute symbols."""
    arenas = claim["arenas"]
    numbers = {
        "arena_bytes": claim["arena_bytes"] if len(arenas) == 1 else 0,
        "state_bytes": claim["state"]["size_bytes"] if claim["state"] else 0,
        **{f"{part['word']}_bytes": part["size_bytes"] for part in claim["kept"]},
        "weights_bytes": claim["weights_bytes"],
    }
    if len(arenas) > 1:
        numbers |= {f"{part['symbol'].removeprefix(claim['model'] + '_')}_bytes": part["size_bytes"] for part in arenas}
    return numbers


def _escaped(text: str) -> str:
    """Returns the text for a string of the GNU assembler; json.dumps leaves ASCII only."""
    return text.replace("\\", "\\\\").replace('"', '\\"')


def c_string(line: str) -> str:
    """An assembler line as a C string literal."""
    escaped = line.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}\\n"'
