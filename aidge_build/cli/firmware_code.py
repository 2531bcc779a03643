# SPDX-License-Identifier: MIT
"""Whether the code of firmware reads the weights of another model: the same inputs and outputs, and the same layers."""

from __future__ import annotations

import argparse

from aidge_build.base.errors import AidgeError, CheckFailed
from aidge_build.base.naming import counted
from aidge_build.base.source_files import Sources
from aidge_build.build.compile import build_program
from aidge_build.build.inputs import UNNAMED_CONTRACT, USER_NAMES, load
from aidge_build.build.request import CompileRequest
from aidge_build.cli.firmware_options import without_quantization
from aidge_build.plan.program import Program
from aidge_build.prove.elf.claim import Claim, ClaimedUpdate
from aidge_build.sources.formats import format_of, formats


def requested_for(merged: argparse.Namespace, name: str) -> CompileRequest:
    """The request; firmware remembers no paths, so a board of the user's own must be named again."""
    try:
        return load(merged, name)
    except AidgeError as error:
        if error.code == "BOARD" and not merged.board_path:
            error.hint = (
                f"the firmware was generated for a board of your own: give its folder again, --board-path DIR ({error.hint})"
            )
        raise


def without_replaceable(where: str, name: str | None) -> AidgeError:
    """The refusal of firmware in which no model (of this name) binds blocks of weights: no block helps there."""
    return AidgeError(
        f"has no model{f' {name}' if name else ''} whose weights can be replaced",
        where=where,
        code="WEIGHTS",
        hint="new weights need new firmware there; firmware that takes blocks is built with --update weights",
    )


def planned(request: CompileRequest) -> Program:
    """The program of a model with the options of firmware. No option helps against a layer that the firmware's contract does not
    have: each would make other code."""
    try:
        return build_program(request)
    except AidgeError as error:
        if error.code in ("ROUNDING", "KERNEL"):
            error.hint = (
                _other_format(request) or "give the network of the firmware with other weights; another one needs new firmware"
            )
        raise


def _suits(sources: Sources, update: ClaimedUpdate) -> bool:
    new = sources.manifest["claim"]["update"]
    return (new["layout"], new["data"]) == (update.layout, update.data)


def _other_format(request: CompileRequest) -> str:
    """Returns what to do where the firmware computes as models of the other format do by default, else ""."""
    contract = USER_NAMES.get(request.options.rounding, UNNAMED_CONTRACT)
    if format_of(request.model).rounding == contract:
        return ""
    file = next(one.a_file for one in reversed(formats()) if one.rounding == contract)
    return f"the firmware computes with --rounding {contract}, as it does from {file}: give {file} with the new weights"


def require_suits(request: CompileRequest, sources: Sources, claim: Claim, others: tuple[str, str], remedy: str) -> None:
    """The same code reads both: what kernels proved about the old weights they have proved about the new ones. `others` are the
    options of the command that differ, and the firmware's; `remedy` helps where nothing else is known to. CheckFailed (WEIGHTS)
    names the first difference."""
    new, update = sources.manifest["claim"]["update"], claim.update
    assert update is not None
    if _suits(sources, update):
        return
    given, before = others
    if given:
        raise CheckFailed(
            f"{given} makes other code than the firmware has, which was generated with {before}",
            where=request.file_name,
            code="WEIGHTS",
            hint=f"leave out {given}: the command takes the options of the firmware from it",
        )
    unquantized = without_quantization(request, update.ports, new["ports"])
    hint = _other_format(request) or unquantized or _of_scales(request, update, new) or remedy
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


def _with_quotes(port: str) -> str:
    """`input input int8 [1, 8]` as `input 'input' int8 [1, 8]`: a claim has the words alone."""
    side, name, rest = port.split(" ", 2)
    return f"{side} '{name}' {rest}"


def _difference(sources: Sources, update: ClaimedUpdate) -> str:
    new, layers = sources.manifest["claim"]["update"], sources.manifest["layers"]
    for before, after in zip(update.ports, new["ports"], strict=False):
        if before != after:
            return f"the firmware has {_with_quotes(before)}; the new model has {_with_quotes(after)}"
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
