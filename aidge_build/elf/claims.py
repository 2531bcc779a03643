# SPDX-License-Identifier: MIT
"""The claims that generated models leave in the ELF file: a note that is not loaded, and absolute symbols as fallback."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from aidge_build.elf.image import Image
from aidge_build.errors import AidgeError

_VERSION = 2
_HEADER_BYTES = 6
_ABSOLUTE = re.compile(r"aidge_(?P<model>.+)__arena_bytes")


@dataclass(frozen=True)
class ClaimedArena:
    """An array that holds the arena or a part of it: its symbol, bytes and alignment, and the region that the plan chose.

    `region` is "" where none was planned, or where the claim does not say it; `memory` is (origin, bytes) of the region.
    """

    symbol: str
    size_bytes: int
    region: str = ""
    alignment: int = 1
    memory: tuple[int, int] | None = None


@dataclass(frozen=True)
class Claim:
    """What one model promises. `from_note` is False where only the absolute symbol survived: then just the arena's bytes are
    known.

    `arenas` are empty where the caller owns the arena. `cpu` is gcc's -mcpu name of what the code was generated for, "host",
    or "" for any core. `functions` are those that the firmware calls.
    """

    model: str
    arena_bytes: int
    arenas: tuple[ClaimedArena, ...]
    from_note: bool
    model_sha256: str = ""
    cpu: str = ""
    state_symbol: str | None = None
    state_bytes: int = 0
    weights: tuple[str, ...] = ()
    weights_bytes: int = 0
    weights_alignment: int = 1
    functions: tuple[str, ...] = ()
    layers: tuple[str, ...] = ()
    peak_bytes: int = 0

    @property
    def buffers(self) -> tuple[str, ...]:
        """The symbols of what is written: the arena's arrays and the state."""
        return (*(part.symbol for part in self.arenas), *([self.state_symbol] if self.state_symbol else []))


def read_claims(image: Image) -> tuple[Claim, ...]:
    """The claims of all models in `image`, sorted by model; AidgeError (NOTE) for a note that cannot be understood."""
    noted = {claim.model: claim for claim in (_from_note(note, image.path) for note in image.notes)}
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


def _from_note(note: bytes, path: str) -> Claim:
    """Descriptor: u16 version, u32 length, canonical JSON of that length (little endian)."""
    version = int.from_bytes(note[:2], "little")
    if version != _VERSION:
        raise _other_version(version, path)
    try:
        text = note[_HEADER_BYTES : _HEADER_BYTES + int.from_bytes(note[2:_HEADER_BYTES], "little")]
        return _claim(json.loads(text))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise AidgeError(
            f"the claim of a model is damaged ({error!r:.80})", where=path, hint="link again", code="NOTE"
        ) from error


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


def _claim(fields: Mapping) -> Claim:
    arenas = tuple(map(_arena, fields["arenas"]))
    if arenas and sum(part.size_bytes for part in arenas) != fields["arena_bytes"]:
        raise ValueError("the parts of its arena are not the whole")
    return Claim(
        model=fields["model"],
        arena_bytes=int(fields["arena_bytes"]),
        arenas=arenas,
        from_note=True,
        model_sha256=fields["model_sha256"],
        cpu=fields["cpu"],
        state_symbol=fields["state_symbol"],
        state_bytes=int(fields["state_bytes"]),
        weights=tuple(fields["weights"]),
        weights_bytes=int(fields["weights_bytes"]),
        weights_alignment=int(fields["weights_alignment"]),
        functions=tuple(fields["functions"]),
        layers=tuple(fields["layers"]),
        peak_bytes=int(fields["peak_bytes"]),
    )


def _arena(fields: Mapping) -> ClaimedArena:
    memory = fields["memory"]
    return ClaimedArena(
        fields["symbol"],
        int(fields["size_bytes"]),
        fields["region"] or "",
        int(fields["alignment"]),
        (int(memory["origin"]), int(memory["length_bytes"])) if memory else None,
    )
