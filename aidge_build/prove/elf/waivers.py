# SPDX-License-Identifier: MIT
"""Exceptions that a user grants to a check: they hold for the named models and memories, and for nothing else."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from aidge_build.base.errors import AidgeError
from aidge_build.prove.elf.claim import Claim


@dataclass(frozen=True)
class Waivers:
    """The exceptions that a user grants. `shares` are groups of models that never run at the same time: the arenas of a group may
    share bytes. `weights_in` are the names of memories other than flash that hold weights on purpose, because start-up code
    copies them there."""

    shares: tuple[frozenset[str], ...] = ()
    weights_in: frozenset[str] = frozenset()

    def shares_with(self, model: str) -> frozenset[str]:
        """Returns the models that may use the bytes of this model's arenas."""
        groups = [group for group in self.shares if model in group]
        return frozenset().union(*groups) - {model}


NO_WAIVERS = Waivers()


def read_waivers(shares: str | None, weights_in: str | None, claims: Sequence[Claim], memories: Collection[str]) -> Waivers:
    """Returns the exceptions of the command line: `shares` are groups such as "kws+vww,a+b", `weights_in` memories such as
    "DTCM,ITCM". AidgeError (USAGE) for an unknown name."""
    models = {claim.model for claim in claims}
    groups = [frozenset(group.split("+")) for group in shares.split(",")] if shares else []
    for group in groups:
        unknown = sorted(group - models)
        if unknown:
            raise _unknown("--shares", f"the program holds no model {unknown[0]!r}", models)
        if len(group) < 2:
            raise _unknown("--shares", f"{next(iter(group))!r} alone shares nothing", models)
    names = frozenset(weights_in.split(",")) if weights_in else frozenset()
    if names - set(memories):
        raise _unknown("--weights-in", f"there is no memory {sorted(names - set(memories))[0]!r}", memories)
    return Waivers(tuple(groups), names)


def _unknown(where: str, what: str, known: Collection[str]) -> AidgeError:
    hint = {
        "--shares": "join the models that take turns by +, such as kws+vww",
        "--weights-in": "name the board, or each --region",
    }
    return AidgeError(what, where=where, tried=sorted(known), hint=hint[where], code="USAGE")
