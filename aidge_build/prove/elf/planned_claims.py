# SPDX-License-Identifier: MIT
"""Claims from plan files, for programs without a note."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from aidge_build.prove.elf.claim import Claim
from aidge_build.prove.elf.image import Image


def with_planned(image: Image, claims: Sequence[Claim], planned: Mapping[str, Claim]) -> tuple[Claim, ...]:
    """Returns the claims, sorted by model; a model in the program without a note gets the claim of its plan, by the plan's file
    in `planned`. A claim from symbols with other arena bytes than the plan stays: `check_image` reports the difference."""
    found = {claim.model: claim for claim in claims}
    for file, claim in planned.items():
        known = found.get(claim.model)
        if known.arena_bytes == claim.arena_bytes and not known.from_note if known else _is_in(image, claim):
            found[claim.model] = replace(claim, from_note=False, from_plan=file)
    return tuple(found[model] for model in sorted(found))


def _is_in(image: Image, claim: Claim) -> bool:
    """Whether a function or an array of the model is in the program."""
    return any(image.symbol(name) for name in (*claim.functions, *claim.buffers, *claim.weights))
