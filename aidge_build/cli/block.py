# SPDX-License-Identifier: MIT
"""A block of new weights in the firmware that binds it, and the model that it is of: what `verify` and `accuracy` share."""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import dataclass
from pathlib import Path

from aidge_build.base.errors import AidgeError
from aidge_build.base.reading import read_regular
from aidge_build.base.version import VERSION
from aidge_build.boards import Board
from aidge_build.build.emit import emit
from aidge_build.build.emit.blob import LARGEST_BLOCK_BYTES, BlobHead, read_blob
from aidge_build.build.request import CompileRequest
from aidge_build.cli.firmware_code import planned, requested_for, require_suits, without_replaceable
from aidge_build.cli.firmware_options import install, other_options, with_options_of, with_scales_of
from aidge_build.cli.linked import require_identity
from aidge_build.plan.program import Program
from aidge_build.prove.elf import Claim, read_claims, read_image
from aidge_build.run.emulate.model_calls import call_claimed, has_calls, not_callable
from aidge_build.run.verify.firmware import execute
from aidge_build.run.verify.vectors import Vectors, loaded_rows, stored_rows


@dataclass(frozen=True)
class Block:
    """The bytes of a file, what they say of themselves, the model in `elf` that binds them, and the program of the model that the
    command names, with the options and scales of the firmware. `is_of_model`: each byte is what this model makes; `given` are
    options of the command that the firmware does not have."""

    file: Path
    data: bytes
    head: BlobHead
    elf: Path
    claim: Claim
    request: CompileRequest
    program: Program
    is_of_model: bool
    given: str

    @property
    def fault(self) -> str:
        """The reason why the block is not the model's; "" where it is."""
        if self.is_of_model:
            return ""
        if self.given:
            return f"{self.given} makes another block: leave it out, the options come from {self.elf.name}"
        return f"{self.file.name} is of another model or of other samples: make it again with `aidge-build weights`"

    @property
    def notes(self) -> list[str]:
        """Returns notes about bytes after the block, and about a device that takes only newer weights and ignores the block."""
        assert self.claim.update is not None
        rest, version = len(self.data) - self.head.size_bytes, self.claim.update.version
        lines = [f"{self.file.name}: {rest:,} B after the block, which nothing compares"] if rest else []
        if self.head.version <= version:
            lines.append(
                f"{self.file.name}: {self.elf.name} has weights of version {version:,}: a device that takes the newer ones "
                f"ignores this block. For that, --weights-version {version + 1} of `aidge-build weights`"
            )
        return lines


def block_of(arguments: argparse.Namespace, elf: Path, name: str | None = None) -> Block:
    """The block of --block for a linked program, and its model there: the one of this name, or the one that the block is for.

    AidgeError (WEIGHTS) for a file that is no block for the program, CheckFailed for a model that is another network: the code of
    the firmware would read its bytes as what they are not.
    """
    file = Path(arguments.block)
    data = read_regular(file, LARGEST_BLOCK_BYTES)
    head = read_blob(data, str(file))
    image = read_image(elf)
    claim = _claim_for(read_claims(image), head, arguments, elf, name)
    require_identity(image, claim)
    merged, firmware = with_options_of(claim, str(elf), arguments)
    merged.weights_version = head.version
    assert claim.update is not None
    request = requested_for(with_scales_of(claim.update, merged), claim.model)
    program = planned(request)
    sources = emit(program)
    others = other_options(merged, firmware, "weights-version")
    remedy = f"it is another network than the firmware's: name the model that {file.name} was made of"
    if claim.tool not in ("", VERSION):
        remedy += f"; or version {claim.tool} made the firmware, and this is {VERSION}: {install(claim)}"
    require_suits(request, sources, claim, others, remedy)
    return Block(file, data, head, elf, claim, request, program, data[: head.size_bytes] == sources.blob, others[0])


def _claim_for(claims: tuple[Claim, ...], head: BlobHead, arguments: argparse.Namespace, elf: Path, name: str | None) -> Claim:
    """The model that can bind the block; of two with the same code and ports either can."""
    named = [claim for claim in claims if claim.update and name in (None, claim.model)]
    if not named:
        raise without_replaceable(str(elf), name)
    found = [one for one in named if one.update and (one.update.data, one.update.layout) == (head.interface, head.layout)]
    if not found:
        raise AidgeError(
            f"is no set of weights for {', '.join(claim.model for claim in named)} in {elf.name}",
            where=arguments.block,
            hint=f"`aidge-build weights {arguments.model} --against {elf.name} --out {Path(arguments.block).name}` makes one",
            code="WEIGHTS",
        )
    return found[0]


def outputs_with(block: Block, board: Board, vectors: Vectors) -> tuple[Vectors, int | None, str]:
    """The outputs of the linked program with the block, its instructions, and the name of the program that ran: a program of the
    new model where the firmware cannot be called. The layout of the block then says that the code of layers is the same."""
    reason = not_callable(block.claim) if has_calls(board) else f"Unicorn does not emulate {board.name}"
    if not reason:
        called = call_claimed(block.elf, board, block.claim, stored_rows(block.program.view, vectors), block.data)
        outputs = loaded_rows(block.program.view, [one.outputs for one in called])
        return outputs, sum(one.instructions for one in called), block.elf.name
    with tempfile.TemporaryDirectory() as folder:
        execution = execute(block.program, board, vectors, Path(folder))
    ran = f"a program of this model ({block.elf.name} cannot be called: {reason})"
    return execution.outputs, execution.result.run_instructions, ran
