# SPDX-License-Identifier: MIT
"""N_weights.c (and N_weights.bin): the constants and the claim. Only these files change with new weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy

from aidge_build.base.naming import comment_text
from aidge_build.build.emit.claim import NOTE_SECTION, RISCV_NOTE_SECTION, c_string, claim_assembly
from aidge_build.build.emit.fast_code import memories_of_functions
from aidge_build.build.emit.template import render_file
from aidge_build.graph.dtype import DType
from aidge_build.plan.constant_arrays import Array
from aidge_build.plan.program import Program


@dataclass(frozen=True)
class ArrayText:
    """An array as the template needs it: `text` its numbers (weights=c), `offset_bytes` its place in the .bin."""

    array: Array
    comment: str
    text: str
    offset_bytes: int
    size_bytes: int


def weights_files(program: Program, arrays: Sequence[Array], claim: dict) -> dict[str, bytes]:
    """Returns file name -> content."""
    incbin = program.options.weights == "incbin"
    section = RISCV_NOTE_SECTION if program.target.is_riscv else NOTE_SECTION
    texts, binary = [], bytearray()
    for array in arrays:
        if incbin:
            binary += bytes(-len(binary) % array.alignment)
        numbers = "" if incbin else "\n".join(f"    {line}" for line in array.lines())
        texts.append(ArrayText(array, comment_text(array.origin, 100), numbers, len(binary), len(array.data)))
        if incbin:
            binary += array.data
    text = render_file(
        "weights.c",
        name=program.name,
        prefix=program.name.upper(),
        conditions=[condition for condition in program.target.conditions if not condition.is_remark],
        model_sha256=program.model_sha256,
        arrays=texts,
        incbin=incbin,
        sections=any(array.region for array in arrays),
        copied=_copied(program, arrays),
        copies_code=bool(memories_of_functions(program)),
        needs_math=not incbin and any(map(_needs_math, arrays)),
        claim=[c_string(line) for line in claim_assembly(claim, section)] if program.options.assembly == "on" else [],
        blob=texts[0] if program.options.replaces_weights else None,
    )
    files = {f"{program.name}_weights.c": text.encode("ascii")}
    if incbin:
        files[f"{program.name}_weights.bin"] = bytes(binary)
    return files


def _copied(program: Program, arrays: Sequence[Array]) -> list[str]:
    """Returns the linker script's names of the sections that start-up code copies to RAM."""
    held = {"constants": {array.region for array in arrays}, "code": set(memories_of_functions(program).values())}
    memories = [region.name for region in program.target.regions if region.kind == "ram"]
    return [f"{what}_{name}" for what, of in held.items() for name in memories if name in of]


def _needs_math(array: Array) -> bool:
    """Whether an array has NAN or INFINITY, which are macros of math.h."""
    return array.dtype in (DType.float32, DType.float64) and not bool(numpy.isfinite(array.values).all())
