# SPDX-License-Identifier: MIT
"""The claims that generated models leave in the ELF file: a note that is not loaded, and absolute symbols as fallback."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace

from aidge_build.base.errors import AidgeError
from aidge_build.base.version import CLAIM_VERSION
from aidge_build.prove.elf.claim import Claim, ClaimedArena, claim_from
from aidge_build.prove.elf.image import Image

_NEXT: Mapping[int, Callable[[dict], dict]] = {  # a claim of each older version that is read, in the shape of the next one
    3: lambda fields: {**fields, "state": None},
    4: lambda fields: {**fields, "kept": []},
}
_HEADER_BYTES = 6
_ABSOLUTE = re.compile(r"aidge_(?P<model>[A-Za-z]\w*)__arena_bytes", re.ASCII)


def read_claims(image: Image) -> tuple[Claim, ...]:
    """Returns the claims of all models in `image`, sorted by model; AidgeError (NOTE) for a note that cannot be understood."""
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
    """Returns the parts of an arena in several regions, from absolute symbols aidge_<model>__arena_<region>_bytes."""
    start, end = f"aidge_{model}__arena_", "_bytes"
    numbers = [symbol for symbol in image.symbols if symbol.kind == "absolute"]
    return tuple(
        ClaimedArena(f"{model}_arena_{symbol.name[len(start) : -len(end)]}", symbol.address)
        for symbol in numbers
        if len(symbol.name) > len(start + end) and symbol.name.startswith(start) and symbol.name.endswith(end)
    )


def _from_note(note: bytes, image: Image) -> Claim:
    """Returns the claim in a descriptor: u16 version, u32 length, canonical JSON of that length (little endian)."""
    version, path = int.from_bytes(note[:2], "little"), image.path
    if len(note) >= _HEADER_BYTES and version != CLAIM_VERSION and version not in _NEXT:
        raise _other_version(version, path)
    try:
        fields = json.loads(note[_HEADER_BYTES : _HEADER_BYTES + int.from_bytes(note[2:_HEADER_BYTES], "little")])
        for older in range(version, CLAIM_VERSION if isinstance(fields, dict) else version):
            fields = _NEXT[older](fields)
        return claim_from(fields, image.has_64_bits)
    except (ValueError, RecursionError) as error:
        reason = "it is nested too deep" if isinstance(error, RecursionError) else str(error)
        raise AidgeError(f"the claim of a model is damaged ({reason:.80})", where=path, hint="link again", code="NOTE") from error


def _other_version(version: int, path: str) -> AidgeError:
    if version > CLAIM_VERSION:
        age, hint = "a newer", "pip install --upgrade aidge-build"
    else:
        age, hint = "an early", "generate the model again, and link: this claim has no digests of constants to check"
    return AidgeError(
        f"{age} version of aidge-build generated a model in it: its claim has version {version}, this one reads {min(_NEXT)} to "
        f"{CLAIM_VERSION}",
        where=path,
        hint=hint,
        code="NOTE",
    )
