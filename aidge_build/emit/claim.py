# SPDX-License-Identifier: MIT
"""The claim: what a linked model says about itself in an ELF note, so that `check` needs nothing but the ELF."""

from __future__ import annotations

import json

from aidge_build.emit.arrays import Arrays
from aidge_build.program import Program
from aidge_build.version import VERSION

NOTE_SECTION = ".note.aidge"
NOTE_OWNER = "aidge"
NOTE_TYPE = 1
CLAIM_VERSION = 1
_CHUNK = 90


def claim_of(program: Program, arrays: Arrays) -> dict:
    """The content of the note. Symbols that do not exist (an arena of the caller, of 0 bytes, or in several
    regions: then `arenas` lists its parts) are null."""
    arena_bytes = program.arena.peak_bytes
    owns_arena = program.options.arena == "static" and arena_bytes > 0
    parts = (
        {
            "arenas": [
                {"symbol": f"{program.name}_arena{part.ending}", "region": part.region, "size_bytes": part.size_bytes}
                for part in program.split
            ]
        }
        if program.split
        else {}
    )
    return {
        "model": program.name,
        "model_sha256": program.model_sha256,
        "arena_symbol": f"{program.name}_arena" if owns_arena and not program.split else None,
        **parts,
        "arena_bytes": arena_bytes,
        "peak_bytes": program.peak.peak_bytes,
        "state_symbol": None,
        "state_bytes": 0,
        "weights": [array.symbol for array in arrays.all],
        "weights_bytes": arrays.size_bytes,
        "layers": [layer.symbol for layer in program.layers],
        "tool": VERSION,
    }


def claim_assembly(claim: dict) -> list[str]:
    """Assembler lines of the note (System V ABI, "Note Section"): version u16, length u32, canonical JSON; and the
    absolute symbols that remain when a foreign link step drops notes (0 for an arena that is not ours)."""
    text = json.dumps(claim, sort_keys=True, separators=(",", ":"))
    owner = f"{NOTE_OWNER}\\0"
    lines = [
        f'.pushsection {NOTE_SECTION},"",%note',
        ".balign 4",
        f".long {len(NOTE_OWNER) + 1}, {2 + 4 + len(text)}, {NOTE_TYPE}",
        f'.ascii "{owner}"',
        ".balign 4",
        ".byte " + ", ".join(str(byte) for byte in (*CLAIM_VERSION.to_bytes(2, "little"), *len(text).to_bytes(4, "little"))),
    ]
    lines += [f'.ascii "{_escaped(text[start : start + _CHUNK])}"' for start in range(0, len(text), _CHUNK)]
    lines += [".balign 4", ".popsection"]
    for word in ("arena_bytes", "state_bytes", "weights_bytes"):
        symbol = f"aidge_{claim['model']}__{word}"
        value = 0 if word == "arena_bytes" and claim["arena_symbol"] is None else claim[word]
        lines += [f".globl {symbol}", f".set {symbol}, {value}"]
    for part in claim.get("arenas", ()):
        symbol = f"aidge_{claim['model']}__{part['symbol'].removeprefix(claim['model'] + '_')}_bytes"
        lines += [f".globl {symbol}", f".set {symbol}, {part['size_bytes']}"]
    return lines


def _escaped(text: str) -> str:
    """For a string of the GNU assembler; json.dumps leaves ASCII only."""
    return text.replace("\\", "\\\\").replace('"', '\\"')


def c_string(line: str) -> str:
    """An assembler line as a C string literal."""
    escaped = line.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}\\n"'
