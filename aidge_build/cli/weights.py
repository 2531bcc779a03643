# SPDX-License-Identifier: MIT
"""The verb `weights`: new weights for firmware that is in the field already, and the proof that they suit."""

from __future__ import annotations

import argparse
from pathlib import Path

from aidge_build.cli.firmware_options import install, options_of, other_options, with_scales_of, without_quantization
from aidge_build.cli.groups import BUILD
from aidge_build.cli.linked import require_identity
from aidge_build.cli.outcome import Outcome
from aidge_build.compile import compile
from aidge_build.elf.claim import Claim, ClaimedUpdate
from aidge_build.elf.claims import read_claims
from aidge_build.elf.image import Image, read_image
from aidge_build.emit.blob import read_blob
from aidge_build.errors import AidgeError, CheckFailed
from aidge_build.inputs import add_model_arguments, load
from aidge_build.naming import counted
from aidge_build.options import MODEL, with_given
from aidge_build.output import write_files
from aidge_build.request import CompileRequest
from aidge_build.sources import Sources
from aidge_build.tflite_format import is_tflite
from aidge_build.version import VERSION

SUMMARY = "make new weights for firmware in the field, and prove that they fit"
GROUP = BUILD
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
    request = _requested(merged, claim.model)
    sources = _compiled(request)
    _require_suits(request, sources, claim, update, other_options(merged, firmware, "weights-version"))
    head = read_blob(sources.blob, arguments.out)
    write_files({Path(arguments.out): sources.blob})
    where = Path(arguments.against).name
    line = (
        f"{arguments.out}: weights of {claim.model} for {where}, version {head.version:,}, {head.size_bytes:,} B: the code "
        f"of all {counted(len(update.layers), 'layer')} is the code of the firmware"
    )
    if arguments.weights_version is None:
        line += f". A device whose block has version {head.version:,} ignores it: for that, --weights-version {head.version + 1}"
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
    model = f"no model {name}" if name else "no model"
    raise AidgeError(
        f"has {model} whose weights can be replaced",
        where=image.path,
        code="WEIGHTS",
        hint="generate the model with --update weights",
    )


def _requested(merged: argparse.Namespace, name: str) -> CompileRequest:
    """The request; firmware remembers no paths, so a board of the user's own must be named again."""
    try:
        return load(merged, name)
    except AidgeError as error:
        if error.code == "BOARD" and not merged.board_path:
            error.hint = (
                f"the firmware was generated for a board of your own: give its folder again, --board-path DIR ({error.hint})"
            )
        raise


def _compiled(request: CompileRequest) -> Sources:
    """The generated files. No option helps against a layer that the firmware's contract does not have: each would make other
    code."""
    try:
        return compile(request)
    except AidgeError as error:
        if error.code in ("ROUNDING", "KERNEL"):
            error.hint = (
                _other_format(request) or "give the network of the firmware with other weights; another one needs new firmware"
            )
        raise


def _other_format(request: CompileRequest) -> str:
    """Returns what to do where the firmware computes as models of the other format do by default, else ""."""
    if is_tflite(request.model) == (request.options.rounding == "double"):
        return ""
    contract, file = ("onnx", "an ONNX file") if is_tflite(request.model) else ("tflite", "a .tflite file")
    return f"the firmware computes with --rounding {contract}, as it does from {file}: give {file} with the new weights"


def _require_suits(
    request: CompileRequest, sources: Sources, claim: Claim, update: ClaimedUpdate, others: tuple[str, str]
) -> None:
    """The same code reads both: what kernels proved about the old weights they have proved about the new ones. `others` are the
    options of the command that differ, and the firmware's."""
    new = sources.manifest["claim"]["update"]
    if (new["layout"], new["data"]) == (update.layout, update.data):
        return
    given, before = others
    if given:
        raise CheckFailed(
            f"{given} makes other code than the firmware has, which was generated with {before}",
            where="weights",
            code="WEIGHTS",
            hint=f"leave out {given}: the command takes the options of the firmware from it",
        )
    unquantized = without_quantization(request, update.ports, new["ports"])
    hint = _other_format(request) or unquantized or _of_scales(request, update, new) or _remedy(claim)
    raise CheckFailed(
        _difference(sources, update),
        where=request.file_name,
        code="WEIGHTS",
        hint=f"the firmware was generated with `{' '.join(claim.made_with or ())}`; {hint}",
    )


def _of_scales(request: CompileRequest, update: ClaimedUpdate, new: dict) -> str:
    """Returns how an input or output keeps the firmware's scale, where nothing else of it differs; else ""."""
    ports = [(before, after) for before, after in zip(update.ports, new["ports"], strict=False) if before != after]
    if not ports or any(before.partition(", scale ")[0] != after.partition(", scale ")[0] for before, after in ports):
        return ""
    if request.float_model is None:
        return "give the float model and --quantize SAMPLES.npz: the command keeps the firmware's scales"
    return "quantize with the samples of the firmware's build: a model with states keeps no scales"


def _remedy(claim: Claim) -> str:
    """Returns what to do: a later version of the tool may have other kernels than the one that made the firmware."""
    if claim.tool in ("", VERSION):
        return "what differs needs new firmware, too"
    return f"version {claim.tool} made it, this is {VERSION}: {install(claim)}, and make the weights with that"


def _difference(sources: Sources, update: ClaimedUpdate) -> str:
    new, layers = sources.manifest["claim"]["update"], sources.manifest["layers"]
    for before, after in zip(update.ports, new["ports"], strict=False):
        if before != after:
            return f"the firmware has {before}; the new model has {after}"
    if len(layers) != len(update.layers):
        return f"the firmware computes {counted(len(update.layers), 'layer')}, the new model needs {len(layers)}"
    for layer, made, (kernel, code) in zip(layers, new["layers"], update.layers, strict=True):
        if made["kernel"] != kernel:
            refused = next((one["reason"] for one in layer["rejected"] if kernel.endswith(f" {one['kernel']}")), "")
            return f"layer {layer['name']} has the kernel {kernel} in the firmware, these weights need {made['kernel']}" + (
                f": {refused}" if refused else ""
            )
        if made["code"] != code:
            note = f" ({layer['note']})" if layer["note"] else ""
            return f"layer {layer['name']}: these weights need other code of {kernel}{note}"
    if new["data"] != update.data:
        return "inputs, outputs or states have another order, scale or other names of classes"
    return "all layers call the same kernels, but the code of a kernel is another one"
