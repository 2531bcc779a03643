# SPDX-License-Identifier: MIT
"""Steps that were followed through the text of a program: how long each may be, whatever the data are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from aidge_build.base.errors import MissingTool
from aidge_build.boards.cores import RISCV, THUMB, Core, core_of_machine
from aidge_build.cli.steps import what_helps
from aidge_build.contract.thumb.instruction import read_disassembly
from aidge_build.prove.elf import Claim, Image
from aidge_build.prove.elf.findings import ERROR, Finding
from aidge_build.run.toolchain import disassemble

if TYPE_CHECKING:
    from aidge_build.prove.longest import StepsBound


def step_bounds(elf: Path, image: Image, claims: Sequence[Claim], core: Core | None = None) -> tuple[StepsBound, ...]:
    """Returns the bounds of all models that run in steps; () for programs of other code than Thumb and RISC-V of 32
    bits. `core`: by default a core that runs such programs."""
    promised = [claim for claim in claims if claim.max_step]
    core = core or core_of_machine(image.machine)
    if not promised or core is None or core.stack not in (THUMB, RISCV) or image.has_64_bits:
        return ()
    from aidge_build.prove.longest import StepsBound, bound_steps  # for models in steps alone

    try:
        instructions = read_disassembly(disassemble(elf, core)) if core.stack == THUMB else {}
    except MissingTool as error:
        return tuple(StepsBound(claim.model, claim.max_step, (), error.what) for claim in promised)
    return tuple(bound_steps(image, instructions, claim) for claim in promised)


def bound_findings(bounds: Sequence[StepsBound], unproved: str = ERROR) -> Iterator[Finding]:
    """INS02: a step may be longer than the model promises. INS03: nobody knows; `unproved` says how severe that is."""
    for bound in bounds:
        over = [step for step in bound.steps if step.instructions > bound.max_step]
        if over:
            worst = max(over, key=lambda step: step.instructions)
            where = f", in {worst.layer}" if worst.layer else ""
            yield Finding(
                "INS02",
                ERROR,
                f"a step of {bound.model} may take {worst.instructions:,} instructions for some input{where}, the model promises "
                f"at most {bound.max_step:,}",
                f"data decide the ways through its code: {what_helps(bound.max_step, worst.instructions)}",
            )
        if bound.reason:
            known = f" of step {len(bound.steps) + 1:,}" if bound.steps else ""
            yield Finding("INS03", unproved, f"no bound{known} of {bound.model} can be proved: {bound.reason}")


def bound_lines(bounds: Sequence[StepsBound], names: Mapping[str, str]) -> list[str]:
    """`steps of kws: 88, at most 34,562 instructions for any input, in 'conv_3'`; `names` are the names of layers by symbol."""
    lines = []
    for bound in bounds:
        longest = bound.longest
        if longest is not None:
            where = f", in '{names.get(longest.layer, longest.layer)}'" if longest.layer else ""
            most = f"at most {longest.instructions:,} instructions for any input"
            most += " and the weights of the program" if bound.of_weights else ""
            lines.append(f"steps of {bound.model}: {len(bound.steps):,}, {most}{where}")
    return lines


def bound_data(bounds: Sequence[StepsBound]) -> list[dict]:
    """The same for programs."""
    return [
        {
            "model": bound.model,
            "max_step": bound.max_step,
            "longest": bound.longest.instructions if bound.longest else None,
            "refused": bound.reason,
            "steps": [{"layer": step.layer, "instructions": step.instructions} for step in bound.steps],
        }
        for bound in bounds
    ]
