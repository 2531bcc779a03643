# SPDX-License-Identifier: MIT
"""The claims that generated models leave in the ELF file: a note that is not loaded, and absolute symbols as fallback."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from aidge_build.elf.image import Image
from aidge_build.errors import AidgeError

_VERSION = 1
_HEADER_BYTES = 6
_ABSOLUTE = re.compile(r"aidge_(?P<model>.+)__arena_bytes")


@dataclass(frozen=True)
class ClaimedArena:
    """A part of an arena: the array's symbol, its bytes, and the region that the plan chose ("": not known)."""

    symbol: str
    size_bytes: int
    region: str


@dataclass(frozen=True)
class Claim:
    """What one model promises. `from_note` is False where only the absolute symbol survived: then just `arena_bytes` is known."""

    model: str
    model_sha256: str
    arena_symbol: str | None
    arena_bytes: int
    state_symbol: str | None
    state_bytes: int
    weights: tuple[str, ...]
    weights_bytes: int
    layers: tuple[str, ...]
    peak_bytes: int
    from_note: bool
    arenas: tuple[ClaimedArena, ...] = ()  # the parts of an arena that lies in several regions


def read_claims(image: Image) -> tuple[Claim, ...]:
    """The claims of all models in `image`, sorted by model; AidgeError (NOTE) for a note that cannot be understood."""
    noted = {claim.model: claim for claim in (_from_note(note, image.path) for note in image.notes)}
    for symbol in image.symbols:
        match = _ABSOLUTE.fullmatch(symbol.name) if symbol.kind == "absolute" else None
        if match and match["model"] not in noted:
            model = match["model"]
            arenas = _parts(image, model) if not symbol.address else ()
            total = symbol.address or sum(part.size_bytes for part in arenas)
            arena = f"{model}_arena" if symbol.address else None
            noted[model] = Claim(model, "", arena, total, None, 0, (), 0, (), 0, False, arenas)
    return tuple(noted[model] for model in sorted(noted))


def _parts(image: Image, model: str) -> tuple[ClaimedArena, ...]:
    """The parts of an arena in several regions, from absolute symbols aidge_<model>__arena_<region>_bytes."""
    start, end = f"aidge_{model}__arena_", "_bytes"
    numbers = [symbol for symbol in image.symbols if symbol.kind == "absolute"]
    return tuple(
        ClaimedArena(f"{model}_arena_{symbol.name[len(start) : -len(end)]}", symbol.address, "")
        for symbol in numbers
        if symbol.name.startswith(start) and symbol.name.endswith(end)
    )


def _from_note(note: bytes, path: str) -> Claim:
    """Descriptor: u16 version, u32 length, canonical JSON of that length (little endian)."""
    version = int.from_bytes(note[:2], "little")
    if version != _VERSION:
        raise AidgeError(
            f"the claim of a model has version {version}, this tool reads {_VERSION}",
            where=path,
            hint="check with the version of aidge-build that generated the model",
            code="NOTE",
        )
    try:
        text = note[_HEADER_BYTES : _HEADER_BYTES + int.from_bytes(note[2:_HEADER_BYTES], "little")]
        fields = json.loads(text)
        return Claim(
            model=fields["model"],
            model_sha256=fields["model_sha256"],
            arena_symbol=fields["arena_symbol"],
            arena_bytes=int(fields["arena_bytes"]),
            state_symbol=fields["state_symbol"],
            state_bytes=int(fields["state_bytes"]),
            weights=tuple(fields["weights"]),
            weights_bytes=int(fields["weights_bytes"]),
            layers=tuple(fields["layers"]),
            peak_bytes=int(fields["peak_bytes"]),
            from_note=True,
            arenas=tuple(
                ClaimedArena(part["symbol"], int(part["size_bytes"]), part["region"]) for part in fields.get("arenas", ())
            ),
        )
    except (ValueError, KeyError, TypeError) as error:
        raise AidgeError(f"the claim of a model is damaged ({error!r})", where=path, hint="link again", code="NOTE") from error
