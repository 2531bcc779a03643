# SPDX-License-Identifier: MIT
"""Compares a linked program with the claims of its models, and with the plans that they were generated from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path

from aidge_build.boards import Region
from aidge_build.prove.elf.arena_proof import check_buffers
from aidge_build.prove.elf.claim import Claim
from aidge_build.prove.elf.code_memory import check_code_memory, check_code_places
from aidge_build.prove.elf.code_proof import NOT_COMPARED, CodeProof
from aidge_build.prove.elf.data_proof import check_constants
from aidge_build.prove.elf.findings import ERROR, NOTE, WARNING, Finding
from aidge_build.prove.elf.identity_proof import check_identity
from aidge_build.prove.elf.image import Image, Section
from aidge_build.prove.elf.machine_proof import check_machine
from aidge_build.prove.elf.regions import RegionUse, region_at, twice_used
from aidge_build.prove.elf.waivers import NO_WAIVERS, Waivers


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
    claim: Claim | None = None


def check_image(
    image: Image,
    claims: Sequence[Claim],
    plans: Sequence[Plan],
    uses: Sequence[RegionUse],
    homeless: Sequence[Section],
    waivers: Waivers = NO_WAIVERS,
    folders: Sequence[Path] = (),
    code: CodeProof = NOT_COMPARED,
) -> tuple[Finding, ...]:
    """Returns every finding about memory. `folders` are folders of boards, which may define the cores of models; `code` is the
    comparison with object files."""
    regions = [use.region for use in uses]
    findings = [*_check_regions(uses, homeless), *_check_twice_used(image, regions)]
    for claim in claims:
        if image.symbols and not is_linked(image, claim):
            what = f"model {claim.model} is not in the program: none of its functions, and nothing that they read or write"
            findings.append(Finding("MEM02", ERROR, what, f"does the firmware call {claim.model}_run?"))
            continue
        findings += check_machine(image, claim, folders)
        findings += _check_source(claim)
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
            *(replace(one, differing=claim.model) for one in check_identity(image, claim)),
            *check_buffers(image, claim, claims, regions, waivers),
            *check_constants(image, claim, regions, waivers, code),
            *check_code_memory(image, claim, regions),
            *check_code_places(image, claim, claims),
            *_check_layers(image, claim),
        ]
    by_model = {claim.model: claim for claim in claims}
    for plan in plans:
        claim = by_model.get(plan.model)
        differences = list(_check_plan(plan, claim)) or _check_claim(plan, claim)
        findings += (replace(one, differing=plan.model) for one in differences)
    unclaimed = sorted(_generated(image) - {*by_model, *(plan.model for plan in plans)})
    findings += (_unclaimed(model) for model in unclaimed)
    if not claims and not unclaimed:
        findings.append(Finding("NOTE", NOTE, "no aidge note: planner comparison skipped, region check only"))
    return tuple(findings)


def _generated(image: Image) -> set[str]:
    """The models with generated code in the program: N_run has a second name with the digest of N.h."""
    return {name.removesuffix("_run") for name in image.digests if name.endswith("_run")}


def _unclaimed(model: str) -> Finding:
    what = f"{model}_run is generated code, and the program holds no claim of {model}: nothing of it can be verified"
    return Finding("MEM04", ERROR, what, f"link {model}_weights.c, which has the claim, also if its weights come from elsewhere")


def is_linked(image: Image, claim: Claim) -> bool:
    """Whether anything of a model except its claim is in the program; a claim without names counts as linked."""
    names = (*claim.functions, *claim.layers, *claim.buffers, *claim.weights)
    return not claim.functions or any(image.symbol(name) for name in names)


def measure(image: Image, claim: Claim) -> int | None:
    """Returns the bytes of a model's arena as linked; None if a symbol of it is gone or the caller owns the arena."""
    symbols = [image.symbol(part.symbol) for part in claim.arenas]
    return sum(symbol.size_bytes for symbol in symbols if symbol) if symbols and all(symbols) else None


def keeps_plan(
    image: Image, claim: Claim, claims: Sequence[Claim], uses: Sequence[RegionUse], waivers: Waivers = NO_WAIVERS
) -> bool:
    """Whether the arena has the planned size, and check_buffers finds no error about its place."""
    found = check_buffers(image, claim, claims, [use.region for use in uses], waivers)
    return measure(image, claim) == claim.arena_bytes and not any(finding.severity == ERROR for finding in found)


def _check_source(claim: Claim) -> Iterator[Finding]:
    """Yields MEM04 for a model without a note, which the compiler did not write or the linker script discarded."""
    if claim.from_plan:
        yield Finding(
            "MEM04",
            WARNING,
            f"the program has no note of model {claim.model}: it is compared with what {claim.from_plan} says",
            ".note.aidge 0 : { KEEP(*(.note.aidge .aidge.note)) }; --assembly off and compilers without GNU C write none",
        )
    elif not claim.from_note:
        yield Finding(
            "MEM04",
            WARNING,
            f"the linker script discarded the note of model {claim.model}: its hash, its layers, its weights and their "
            "bytes, and the memory and alignment of its arena are unknown",
            ".note.aidge 0 : { KEEP(*(.note.aidge .aidge.note)) }, or --plan",
        )


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
    regions = [use.region for use in uses]
    for section in dict.fromkeys(homeless) if uses else ():
        where = f"is at 0x{section.address:08x}"
        if section.load_address is not None and region_at(section.address, regions):
            where = f"is stored at 0x{section.load_address:08x}"
        yield Finding(
            "MEM01",
            ERROR,
            f"section {section.name} ({section.size_bytes:,} B) {where}, in no memory of the board",
            "add the memory to the board file, or name it with --region",
        )


def _check_twice_used(image: Image, regions: Sequence[Region]) -> Iterator[Finding]:
    for section, other, region in twice_used(image, regions):
        yield Finding(
            "MEM01",
            ERROR,
            f"section {section.name} (at 0x{section.address:08x} in {region.name}) has the same bytes as {other.name} (at "
            f"0x{other.address:08x}): {region.name} is {region.same_as} at another address",
            f"the linker script must leave the bytes of {section.name} free in {region.same_as}",
        )


def _check_layers(image: Image, claim: Claim) -> Iterator[Finding]:
    """Yields MEM07 for absent layers. The compiler may turn small constants into immediate operands, but it keeps layers."""
    absent = [name for name in claim.layers if image.symbol(name) is None]
    if absent:
        yield Finding(
            "MEM07",
            WARNING,
            f"model {claim.model}: layers planned but absent, merged by the compiler or not used: {', '.join(absent)}",
        )


def _check_plan(plan: Plan, claim: Claim | None) -> Iterator[Finding]:
    if claim is None:
        yield Finding(
            "MEM04", ERROR, f"{plan.file} plans model {plan.model}, but the program holds no claim of it: cannot verify it"
        )
        return
    if claim.from_note and claim.model_sha256 != plan.model_sha256:
        yield Finding(
            "MEM04",
            ERROR,
            f"model {plan.model} in the program has hash {claim.model_sha256[:12]}, "
            f"{plan.file} has {plan.model_sha256[:12]}: stale link",
            _of_one_model(plan.model),
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
        what = f"the layers of model {plan.model} in the program differ from {plan.file}: stale link"
        yield Finding("MEM04", ERROR, what, _of_one_model(plan.model))


def _check_claim(plan: Plan, claim: Claim | None) -> Iterator[Finding]:
    """Yields MEM04 if the claim in the program differs from the claim of the plan in any field: the program's own claim alone
    proves nothing."""
    if claim is None or not claim.from_note or plan.claim is None:
        return
    planned = replace(plan.claim, from_note=True, from_plan="", is_contradicted=claim.is_contradicted)
    names = [field.name for field in fields(Claim) if getattr(claim, field.name) != getattr(planned, field.name)]
    if names:
        told = {"made_with": f"made with {_words_only_in(claim, planned)} instead of {_words_only_in(planned, claim)}"}
        what = ", ".join(told.get(name, name.replace("_", " ")) for name in names)
        yield Finding(
            "MEM04",
            ERROR,
            f"what model {plan.model} claims in the program is not what {plan.file} says of it: {what}",
            _of_one_model(plan.model),
        )


def _words_only_in(claim: Claim, other: Claim) -> str:
    """Returns the options that made one and not the other."""
    return " ".join(word for word in claim.made_with or () if word not in (other.made_with or ())) or "no option"


def _of_one_model(model: str) -> str:
    return (
        f"generate, compile and link again from one model, with no copy of {model}.c and {model}_weights.c among your sources: "
        "with -Wl,-Map=app.map, or -g, this check names the copy"
    )
