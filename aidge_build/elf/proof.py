# SPDX-License-Identifier: MIT
"""Compares a linked program with what the models in it claim, and with the plans that they were generated from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aidge_build.boards import Region
from aidge_build.elf.claims import Claim
from aidge_build.elf.image import Image
from aidge_build.elf.regions import RegionUse

ERROR, WARNING, NOTE = "error", "warning", "note"


@dataclass(frozen=True)
class Finding:
    """One fact about the program; `code` is stable (MEM01 ...), `severity` is "error", "warning" or "note"."""

    code: str
    severity: str
    text: str


@dataclass(frozen=True)
class Plan:
    """The fields of a plan file that can be compared with a claim."""

    file: str
    model: str
    model_sha256: str
    arena_bytes: int


def check_image(image: Image, claims: Sequence[Claim], plans: Sequence[Plan], uses: Sequence[RegionUse],
                homeless: Sequence) -> tuple[Finding, ...]:
    """Every finding, errors first in the order of their codes."""
    regions = [use.region for use in uses]
    findings = [*_check_regions(uses, homeless)]
    for claim in claims:
        findings += _check_buffer(image, claim, claim.arena_symbol, claim.arena_bytes, "arena", regions)
        findings += _check_buffer(image, claim, claim.state_symbol, claim.state_bytes, "state", regions)
        findings += _check_weights(image, claim, regions)
        findings += _check_layers(image, claim)
    findings += _check_plans(claims, plans)
    if not claims:
        findings.append(Finding("NOTE", NOTE, "no aidge note: planner comparison skipped, region check only"))
    order = (ERROR, WARNING, NOTE)
    return tuple(sorted(findings, key=lambda finding: (order.index(finding.severity), finding.code)))


def measure(image: Image, claim: Claim) -> int | None:
    """The bytes of a model's arena as linked; None when its symbol is gone or the caller owns the arena."""
    symbol = image.symbol(claim.arena_symbol) if claim.arena_symbol else None
    return symbol.size_bytes if symbol else None


def _check_regions(uses: Sequence[RegionUse], homeless: Sequence):
    for use in uses:
        excess = use.used_bytes - use.region.length_bytes
        if excess > 0:
            largest = ", ".join(f"{name} {size:,}" for name, size in use.largest)
            yield Finding("MEM01", ERROR, f"memory {use.region.name}: {use.used_bytes:,} B used of {use.region.length_bytes:,} B "
                                          f"(+{excess:,} B). Largest: {largest}")
    for section in homeless if uses else ():
        yield Finding("MEM01", ERROR, f"section {section.name} ({section.size_bytes:,} B at 0x{section.address:08x}) lies in no memory of the board")


def _check_buffer(image: Image, claim: Claim, name: str | None, claimed: int, what: str, regions: Sequence[Region]):
    if name is None or claimed == 0:
        return
    symbol = image.symbol(name)
    if symbol is None:
        yield Finding("MEM02", ERROR, f"{what} {name} of model {claim.model} is not in the program: cannot verify its {claimed:,} B. "
                                      f"Hint: does the firmware call {claim.model}_run?")
        return
    if symbol.size_bytes != claimed:
        yield Finding("MEM02", ERROR, f"{what} {name} is {symbol.size_bytes:,} B, the plan says {claimed:,} B ({symbol.size_bytes - claimed:+,} B)")
    region = _region_of(symbol.address, regions)
    if region is not None and region.kind == "flash":
        yield Finding("MEM02", ERROR, f"{what} {name} lies in {region.name}, which cannot be written")


def _check_weights(image: Image, claim: Claim, regions: Sequence[Region]):
    for name in claim.weights:
        symbol = image.symbol(name)
        if symbol is None:
            yield Finding("MEM07", WARNING, f"weights {name} are planned but absent (merged by the compiler, or the model is not used)")
            continue
        section, region = image.section(symbol.section), _region_of(symbol.address, regions)
        if section is not None and section.writable:
            yield Finding("MEM03", ERROR, f"weights {name} ({symbol.size_bytes:,} B) are in writable {section.name}: they cost flash and RAM. "
                                          "Hint: declare them const")
        elif region is not None and region.kind == "ram":
            yield Finding("MEM03", ERROR, f"weights {name} ({symbol.size_bytes:,} B) lie in {region.name}, which is RAM")


def _check_layers(image: Image, claim: Claim):
    for name in claim.layers:
        if image.symbol(name) is None:
            yield Finding("MEM07", WARNING, f"layer {name} is planned but absent (merged by the compiler, or the model is not used)")


def _check_plans(claims: Sequence[Claim], plans: Sequence[Plan]):
    by_model = {claim.model: claim for claim in claims}
    for plan in plans:
        claim = by_model.get(plan.model)
        if claim is None:
            yield Finding("MEM04", ERROR, f"{plan.file} plans model {plan.model}, of which the program holds no claim: cannot verify it")
        elif not claim.from_note:
            yield Finding("MEM04", WARNING, f"the note of model {plan.model} was discarded by the linker script: its model hash is unknown")
        elif claim.model_sha256 != plan.model_sha256:
            yield Finding("MEM04", ERROR, f"model {plan.model} in the program has hash {claim.model_sha256[:12]}, {plan.file} has "
                                          f"{plan.model_sha256[:12]}: stale link")
        if claim is not None and claim.arena_bytes != plan.arena_bytes:
            yield Finding("MEM02", ERROR, f"the arena of model {plan.model} claims {claim.arena_bytes:,} B, {plan.file} says {plan.arena_bytes:,} B")


def _region_of(address: int, regions: Sequence[Region]) -> Region | None:
    return next((region for region in regions if region.origin <= address < region.end), None)
