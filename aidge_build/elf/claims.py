# SPDX-License-Identifier: MIT
"""The claims that generated models leave in the ELF file: a note that is not loaded, and absolute symbols as fallback."""

from __future__ import annotations

import json
import re
from dataclasses import replace

from aidge_build.elf.claim import Claim, ClaimedArena, claim_from
from aidge_build.elf.image import Image
from aidge_build.errors import AidgeError

_VERSION = 5
_HEADER_BYTES = 6
_ABSOLUTE = re.compile(r"aidge_(?P<model>[A-Za-z]\w*)__arena_bytes", re.ASCII)


def read_claims(image: Image) -> tuple[Claim, ...]:
    """The claims of all models in `image`, sorted by model; AidgeError (NOTE) for a note that cannot be understood."""
    noted = dict[str, Claim]()
    for claim in (_from_note(note, image) for note in dict.fromkeys(image.notes)):
        known = noted.get(claim.model)
        noted[claim.model] = replace(known, is_contradicted=True) if known else claim
    for symbol in image.symbols:
        match = _ABSOLUTE.fullmatch(symbol.name) if symbol.kind == "absolute" else None
        if match and match["model"] not in noted:
            model = match["model"]
            arenas = (ClaimedArena(f"{model}_arena", symbol.address),) if symbol.address else _parts(image, model)
            noted[model] = Claim(model, sum(part.size_bytes for part in arenas), arenas, False, functions=(f"{model}_run",))
    return tuple(noted[model] for model in sorted(noted))


def _parts(image: Image, model: str) -> tuple[ClaimedArena, ...]:
    """The parts of an arena in several regions, from absolute symbols aidge_<model>__arena_<region>_bytes."""
    start, end = f"aidge_{model}__arena_", "_bytes"
    numbers = [symbol for symbol in image.symbols if symbol.kind == "absolute"]
    return tuple(
        ClaimedArena(f"{model}_arena_{symbol.name[len(start) : -len(end)]}", symbol.address)
        for symbol in numbers
        if len(symbol.name) > len(start + end) and symbol.name.startswith(start) and symbol.name.endswith(end)
    )


def _from_note(note: bytes, image: Image) -> Claim:
    """Descriptor: u16 version, u32 length, canonical JSON of that length (little endian)."""
    version, path = int.from_bytes(note[:2], "little"), image.path
    if len(note) >= _HEADER_BYTES and version != _VERSION:
        raise _other_version(version, path)
    try:
        text = note[_HEADER_BYTES : _HEADER_BYTES + int.from_bytes(note[2:_HEADER_BYTES], "little")]
        return claim_from(json.loads(text), image.has_64_bits)
    except (ValueError, RecursionError) as error:
        reason = "it is nested too deep" if isinstance(error, RecursionError) else str(error)
        raise AidgeError(f"the claim of a model is damaged ({reason:.80})", where=path, hint="link again", code="NOTE") from error


def _other_version(version: int, path: str) -> AidgeError:
    if version > _VERSION:
        age, hint = "a newer", "check with that version, or a later one"
    else:
        age, hint = "an older", "generate the model anew, or check with that version"
    return AidgeError(
        f"{age} version of aidge-build generated a model in it: its claim has version {version}, this one reads {_VERSION}",
        where=path,
        hint=hint,
        code="NOTE",
    )
