# SPDX-License-Identifier: MIT
"""`check --plan`: reads the plan of a model; the bytes of the file may be anything."""

from __future__ import annotations

from pathlib import Path
from types import NoneType

from aidge_build.base.errors import AidgeError
from aidge_build.base.reading import read_json
from aidge_build.prove.elf import Claim
from aidge_build.prove.elf.claim import claim_from
from aidge_build.prove.elf.proof import Plan

# The fields that the check reads of a plan.
_FIELDS = {
    "model": str,
    "model_sha256": str,
    "arena_bytes": int,
    "weights_bytes?": (int, NoneType),
    "peak_bytes?": (int, NoneType),
    "layers?": [{"symbol": str}],
    "claim?": {},
}


def read_plan(path: Path, has_64_bits: bool) -> Plan:
    """Returns the plan of a file that `compile` wrote; AidgeError (PLAN_FILE) for any other file."""
    fields = read_json(path, _FIELDS, "PLAN_FILE", "N.plan.json of `compile`")
    return Plan(
        path.name,
        fields["model"],
        fields["model_sha256"],
        fields["arena_bytes"],
        fields.get("weights_bytes"),
        fields.get("peak_bytes"),
        tuple(layer["symbol"] for layer in fields["layers"]) if "layers" in fields else None,
        _claim_of_plan(path, fields, has_64_bits) if "claim" in fields else None,
    )


def _claim_of_plan(path: Path, fields: dict, has_64_bits: bool) -> Claim:
    try:
        claim = claim_from(fields["claim"], has_64_bits)
        if claim.model != fields["model"]:
            raise ValueError(f"it is of model {claim.model}")
        return claim
    except (ValueError, RecursionError) as error:
        raise AidgeError(
            f"its claim is damaged ({str(error):.80})", where=str(path), hint="generate again", code="PLAN_FILE"
        ) from error
