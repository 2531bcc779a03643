# SPDX-License-Identifier: MIT
"""What a program without a note is compared with: the claim that the plan of its model holds, too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from aidge_build.prove.elf.claim import Claim
from aidge_build.prove.elf.image import Image


def with_planned(image: Image, claims: Sequence[Claim], planned: Mapping[str, Claim]) -> tuple[Claim, ...]:
    """The claims, sorted by model; of a model in the program that left no note, the one of its plan, by the plan's file in
    `planned`. A claim of symbols that says other bytes than the plan stays: that is for `check_image` to tell."""
    found = {claim.model: claim for claim in claims}
    for file, claim in planned.items():
        known = found.get(claim.model)
        if known.arena_bytes == claim.arena_bytes and not known.from_note if known else _is_in(image, claim):
            found[claim.model] = replace(claim, from_note=False, from_plan=file)
    return tuple(found[model] for model in sorted(found))


def _is_in(image: Image, claim: Claim) -> bool:
    """Whether a function or an array of the model is in the program."""
    return any(image.symbol(name) for name in (*claim.functions, *claim.buffers, *claim.weights))
