# SPDX-License-Identifier: MIT
"""The options that firmware was generated with, for a command about a new model in its place."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path

from aidge_build.base.errors import AidgeError
from aidge_build.base.options import MODEL, QUANTIZATION, differing, from_words, with_given
from aidge_build.base.version import VERSION
from aidge_build.build.emit.ports import quantization_in
from aidge_build.build.inputs import UNNAMED_CONTRACT
from aidge_build.build.request import CompileRequest
from aidge_build.plan.program import Program
from aidge_build.prove.elf import Claim, read_claims, read_image
from aidge_build.prove.elf.claim import ClaimedUpdate
from aidge_build.sources.formats import format_of


def options_of(claim: Claim, elf: str) -> argparse.Namespace:
    """The options in the claim of a model, without paths, which firmware does not remember; AidgeError (CLAIM) where this version
    does not know one."""
    try:
        remembered = from_words(claim.made_with or (), MODEL.options)
    except ValueError as error:
        raise AidgeError(
            "was generated with options that this version does not know",
            where=elf,
            tried=claim.made_with or (),
            code="WEIGHTS",
            hint=f"use the version that made the firmware: {install(claim)}",
        ) from error
    remembered.rounding = remembered.rounding or UNNAMED_CONTRACT
    return remembered


def with_options_of(claim: Claim, elf: str, arguments: argparse.Namespace) -> tuple[argparse.Namespace, argparse.Namespace]:
    """The command with the options of the claim where it gives none, and the options of the claim. If the model was generated
    for a core, the board of the command only runs it."""
    firmware = options_of(claim, elf)
    options = MODEL.options
    if arguments.quantize is None:  # the model is a quantized file: its options of quantizing are in it
        options = tuple(option for option in options if option not in QUANTIZATION)
    merged = with_given(arguments, firmware, options)
    if firmware.board is None:
        merged.board = None
    return merged, firmware


def claim_named(elf: Path, name: str | None, model: str) -> Claim:
    """The claim of the model of this name in a linked program; without a name the only one, or else the one that is called like
    the file `model`. AidgeError (USAGE) where the program has no such model, or several."""
    claims = read_claims(read_image(elf))
    meant = name or (Path(model).stem if len(claims) > 1 else None)
    found = next((claim for claim in claims if meant in (None, claim.model)), None)
    if found is not None:
        return found
    known = ", ".join(claim.model for claim in claims)
    if not claims:
        what, hint = "holds no model", "a program that was linked with a generated model"
    else:
        what = f"has no model {name}: its models are {known}" if name else f"has several models: {known}"
        hint = f"add --name NAME, e.g. --name {claims[0].model}"
    raise AidgeError(what, where=str(elf), hint=hint, code="USAGE")


def with_options_in(elf: Path, name: str, arguments: argparse.Namespace) -> argparse.Namespace:
    """The command with the options that the model of this name states in a linked program, and with its scales if its weights
    can be replaced; the command as it is where the program has no such model, or does not state them."""
    claim = next((claim for claim in read_claims(read_image(elf)) if claim.model == name and claim.made_with is not None), None)
    if claim is None:
        return arguments
    merged, _ = with_options_of(claim, str(elf), arguments)
    return with_scales_of(claim.update, merged) if claim.update else merged


def with_scales_of(update: ClaimedUpdate, arguments: argparse.Namespace) -> argparse.Namespace:
    """The command, which quantizes with the scales of the firmware's inputs and outputs: new weights do not change the meaning of
    the bytes that the firmware feeds and reads."""
    return argparse.Namespace(**vars(arguments), ports=tuple(quantization_in(port) for port in update.ports))


def scales_note(program: Program, quantize: str | None) -> tuple[str, ...]:
    """Returns a line if the weights can be replaced and the scales come from samples: a block for firmware has other scales."""
    if quantize is None or not program.options.replaces_weights:
        return ()
    return (
        f"scales of inputs and outputs: from {Path(quantize).name}, as in new firmware. A block for firmware in the field keeps "
        "the firmware's: --against FIRMWARE.elf --block BLOCK verifies it",
    )


def without_quantization(request: CompileRequest, firmware: Iterable[str], model: Iterable[str]) -> str:
    """Returns what to do about a float model for firmware with integers, else "". `firmware` and `model` are the scales of inputs
    and outputs, in the words of a claim."""
    pairs = zip(firmware, model, strict=False)
    if request.float_model or not any(quantization_in(one) and not quantization_in(other) for one, other in pairs):
        return ""
    found = format_of(request.model)
    remedy = "add --quantize SAMPLES.npz" if found.is_quantizable else f"give the {found.suffix} file of its quantized model"
    return f"the firmware is quantized, and this model is float: {remedy}"


def install(claim: Claim) -> str:
    """Returns the command that installs the version of the tool that made the firmware."""
    return f"pip install aidge-build=={claim.tool or VERSION}"


def other_options(arguments: argparse.Namespace, firmware: argparse.Namespace, *left_out: str) -> tuple[str, str]:
    """Returns the options of the command that differ from the firmware's, without `left_out`, and the firmware's own options:
    ("--optimize size", "--optimize balanced"); ("", "") where none differs."""
    options = [option for option in MODEL.options if option.name not in left_out]
    found = differing(arguments, firmware, options)
    return " ".join(given for given, _ in found), " ".join(before for _, before in found)
