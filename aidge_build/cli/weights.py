# SPDX-License-Identifier: MIT
"""The verb `weights`: new weights for firmware that is in the field already, and the proof that they suit."""

from __future__ import annotations

import argparse
from pathlib import Path

from aidge_build.base.errors import AidgeError
from aidge_build.base.naming import counted
from aidge_build.base.options import MODEL, with_given
from aidge_build.base.output import write_files
from aidge_build.base.version import VERSION
from aidge_build.build.emit import emit
from aidge_build.build.emit.blob import read_blob
from aidge_build.build.inputs import add_model_arguments
from aidge_build.cli.firmware_code import planned, requested_for, require_suits, without_replaceable
from aidge_build.cli.firmware_options import install, options_of, other_options, with_scales_of
from aidge_build.cli.linked import require_identity
from aidge_build.cli.outcome import Outcome
from aidge_build.prove.elf.claim import Claim, ClaimedUpdate
from aidge_build.prove.elf.claims import read_claims
from aidge_build.prove.elf.image import Image, read_image

EXAMPLES = (("weights retrained.onnx --against app.elf --out new.bin", "new weights for firmware in the field, proved to suit"),)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_model_arguments(parser)
    parser.add_argument(
        "--against", required=True, metavar="ELF", help="firmware in the field; it holds the options that it was generated with"
    )
    parser.add_argument("--out", required=True, metavar="FILE", help="file for the block that N_bind takes")
    parser.add_argument("--name", help="model in the firmware, where several can get new weights (default: the only one)")


def run(arguments: argparse.Namespace) -> Outcome:
    image = read_image(Path(arguments.against))
    claim, update = _claimed(image, arguments.name)
    require_identity(image, claim)
    firmware = options_of(claim, arguments.against)
    firmware.weights_version = update.version + 1
    merged = with_scales_of(update, with_given(arguments, firmware, MODEL.options))
    request = requested_for(merged, claim.model)
    sources = emit(planned(request))
    remedy = "what differs needs new firmware, too"
    if claim.tool not in ("", VERSION):  # a later version may have other kernels
        remedy = f"version {claim.tool} made it, this is {VERSION}: {install(claim)}, and make the weights with that"
    require_suits(request, sources, claim, other_options(merged, firmware, "weights-version"), remedy)
    head = read_blob(sources.blob, arguments.out)
    write_files({Path(arguments.out): sources.blob})
    where = Path(arguments.against).name
    line = (
        f"{arguments.out}: weights of {claim.model} for {where}, version {head.version:,}, {head.size_bytes:,} B: the code "
        f"of all {counted(len(update.layers), 'layer')} is the code of the firmware"
    )
    if arguments.weights_version is None:
        line += f". A device whose block has version {head.version:,} ignores it: for that, --weights-version {head.version + 1}"
    elif head.version <= update.version:
        line += f". {where} has weights of version {update.version:,}: a device that takes the newer ones ignores this block"
    states = f"states keep their bytes: if their scales are others now, call {claim.model}_reset after {claim.model}_bind"
    return Outcome(
        [line, *([states] if sources.manifest["states"] else []), *request.notices],
        {"model": claim.model, "version": head.version, "size_bytes": head.size_bytes, "layout": head.layout},
    )


def _claimed(image: Image, name: str | None) -> tuple[Claim, ClaimedUpdate]:
    found = [(claim, claim.update) for claim in read_claims(image) if claim.update is not None and name in (None, claim.model)]
    if len(found) == 1:
        return found[0]
    if found:
        names = ", ".join(claim.model for claim, _ in found)
        raise AidgeError(
            f"has several models that can get new weights: {names}", where=image.path, code="USAGE", hint="add --name NAME"
        )
    raise without_replaceable(image.path, name)
