# SPDX-License-Identifier: MIT
"""Compares a linked program with what the models in it claim, and with the plans that they were generated from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from aidge_build.boards import Region
from aidge_build.elf.arena_proof import check_buffers
from aidge_build.elf.claims import Claim
from aidge_build.elf.findings import ERROR, NOTE, WARNING, Finding
from aidge_build.elf.image import Image, Section
from aidge_build.elf.machine_proof import check_machine
from aidge_build.elf.regions import RegionUse, region_at


@dataclass(frozen=True)
class Plan:
    """The fields of a plan file that can be compared with a claim."""

    file: str
    model: str
    model_sha256: str
    arena_bytes: int
    weights_bytes: int | None = None
    peak_bytes: int | None = None
    layers: tuple[str, ...] | None = None


def check_image(
    image: Image, claims: Sequence[Claim], plans: Sequence[Plan], uses: Sequence[RegionUse], homeless: Sequence[Section]
) -> tuple[Finding, ...]:
    """Every finding about memory."""
    regions = [use.region for use in uses]
    findings = [*_check_regions(uses, homeless)]
    for claim in claims:
        findings += check_machine(image, claim)
        if not claim.from_note:
            findings.append(
                Finding(
                    "MEM04",
                    WARNING,
                    f"the linker script discarded the note of model {claim.model}: its hash, its weights and layers, "
                    "and the memory and alignment of its arena are unknown",
                    ".note.aidge 0 : { KEEP(*(.note.aidge)) }",
                )
            )
        if not image.symbols:
            findings.append(
                Finding(
                    "MEM02",
                    ERROR,
                    f"the program has no symbols: cannot verify the {claim.arena_bytes:,} B of model {claim.model}",
                    "check before `strip`",
                )
            )
            continue
        findings += [
            *check_buffers(image, claim, claims, regions),
            *_check_weights(image, claim, regions),
            *_check_weights_size(image, claim),
            *_check_presence(image, claim),
        ]
    by_model = {claim.model: claim for claim in claims}
    for plan in plans:
        findings += _check_plan(plan, by_model.get(plan.model))
    if not claims:
        findings.append(Finding("NOTE", NOTE, "no aidge note: planner comparison skipped, region check only"))
    return tuple(findings)


def measure(image: Image, claim: Claim) -> int | None:
    """The bytes of a model's arena as linked; None when a symbol of it is gone or the caller owns the arena."""
    symbols = [image.symbol(part.symbol) for part in claim.arenas]
    return sum(symbol.size_bytes for symbol in symbols if symbol) if symbols and all(symbols) else None


def keeps_plan(image: Image, claim: Claim, claims: Sequence[Claim], uses: Sequence[RegionUse]) -> bool:
    """Whether the arena has the bytes that were planned, and has them where and as the plan says."""
    found = check_buffers(image, claim, claims, [use.region for use in uses])
    return measure(image, claim) == claim.arena_bytes and not any(finding.severity == ERROR for finding in found)


def _check_regions(uses: Sequence[RegionUse], homeless: Sequence[Section]) -> Iterator[Finding]:
    for use in uses:
        excess = use.used_bytes - use.region.length_bytes
        if excess > 0:
            largest = ", ".join(f"{name} {size:,}" for name, size in use.largest)
            yield Finding(
                "MEM01",
                ERROR,
                f"memory {use.region.name}: {use.used_bytes:,} B used of {use.region.length_bytes:,} B "
                f"(+{excess:,} B). Largest: {largest}",
            )
    for section in homeless if uses else ():
        yield Finding(
            "MEM01",
            ERROR,
            f"section {section.name} ({section.size_bytes:,} B at 0x{section.address:08x}) lies in no memory of the board",
            "add the memory to the board file, or name it with --region",
        )


def _check_weights(image: Image, claim: Claim, regions: Sequence[Region]) -> Iterator[Finding]:
    for symbol in filter(None, map(image.symbol, claim.weights)):
        section, region = image.section_of(symbol), region_at(symbol.address, regions)
        label = f"weights {symbol.name} ({symbol.size_bytes:,} B)"
        if section is None or not section.content:
            yield Finding(
                "MEM03",
                ERROR,
                f"{label} are not stored: nobody fills {section.name if section else 'their memory'}",
                "the linker script must not call .rodata NOLOAD",
            )
            continue
        if section.writable and not (region is not None and region.kind == "flash"):
            yield Finding(
                "MEM03", ERROR, f"{label} are in writable {section.name}: they cost flash and RAM", "declare them const"
            )
        elif region is not None and region.kind == "ram":
            yield Finding("MEM03", ERROR, f"{label} lie in {region.name}, which is RAM")
        if symbol.address % max(claim.weights_alignment, 1):
            yield Finding(
                "MEM02",
                ERROR,
                f"{label} lie at 0x{symbol.address:08x}, which is no multiple of {claim.weights_alignment}",
                "the linker script must keep the alignment of input sections: no SUBALIGN",
            )


def _check_weights_size(image: Image, claim: Claim) -> Iterator[Finding]:
    """Their sum is as claimed; where some were merged or dropped, not more."""
    found = [image.symbol(name) for name in claim.weights]
    linked = sum(symbol.size_bytes for symbol in found if symbol)
    if linked > claim.weights_bytes or (None not in found and found and linked != claim.weights_bytes):
        yield Finding(
            "MEM02",
            ERROR,
            f"the weights of model {claim.model} are {linked:,} B, "
            f"the plan says {claim.weights_bytes:,} B "
            f"({linked - claim.weights_bytes:+,} B)",
        )


def _check_presence(image: Image, claim: Claim) -> Iterator[Finding]:
    # The compiler may turn small constants into immediate operands; a layer it keeps.
    for what, names, severity, hint in (
        ("layers", claim.layers, WARNING, ""),
        ("weights", claim.weights, NOTE, "harmless: they became part of the code"),
    ):
        absent = [name for name in names if image.symbol(name) is None]
        if absent:
            yield Finding(
                "MEM07",
                severity,
                f"model {claim.model}: {what} planned but absent, merged by the compiler or not used: {', '.join(absent)}",
                hint,
            )


def _check_plan(plan: Plan, claim: Claim | None) -> Iterator[Finding]:
    if claim is None:
        yield Finding(
            "MEM04", ERROR, f"{plan.file} plans model {plan.model}, of which the program holds no claim: cannot verify it"
        )
        return
    if claim.from_note and claim.model_sha256 != plan.model_sha256:
        yield Finding(
            "MEM04",
            ERROR,
            f"model {plan.model} in the program has hash {claim.model_sha256[:12]}, "
            f"{plan.file} has {plan.model_sha256[:12]}: stale link",
        )
    compared = (
        ("arena", claim.arena_bytes, plan.arena_bytes),
        ("weights", claim.weights_bytes, plan.weights_bytes),
        ("peak", claim.peak_bytes, plan.peak_bytes),
    )
    for what, claimed, planned in compared if claim.from_note else compared[:1]:
        if planned is not None and claimed != planned:
            yield Finding(
                "MEM02", ERROR, f"the {what} of model {plan.model} claims {claimed:,} B, {plan.file} says {planned:,} B"
            )
    if claim.from_note and plan.layers is not None and claim.layers != plan.layers:
        yield Finding("MEM04", ERROR, f"the layers of model {plan.model} in the program are not those of {plan.file}: stale link")
