# SPDX-License-Identifier: MIT
"""The verb `explain`: which kernel each node got, which rule decided, and why every other one was rejected."""

from __future__ import annotations

import argparse

from aidge_build.backend.adapt import adapt_to_backend
from aidge_build.backend.assignment import Assignment
from aidge_build.cli.outcome import Outcome
from aidge_build.compile import import_model
from aidge_build.emit.manifest import channels_removed
from aidge_build.errors import AidgeError
from aidge_build.graph.view import Node
from aidge_build.inputs import NAME_TO_LOOK_AT, add_model_arguments, load

SUMMARY = "which kernel each node got, and why"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_model_arguments(parser)
    parser.add_argument("node", nargs="?", metavar="NODE", help="only this node, with every rejection")


def run(arguments: argparse.Namespace) -> Outcome:
    request = load(arguments, NAME_TO_LOOK_AT)
    view, notices = import_model(request)
    try:
        assignment = adapt_to_backend(view, request.libraries, request.target)
    except AidgeError as error:
        raise error.within(request.file_name)
    nodes = assignment.view.nodes
    if arguments.node is not None:
        nodes = tuple(node for node in nodes if arguments.node == node.name or arguments.node in node.origin)
        if not nodes:
            raise AidgeError(f"there is no node '{arguments.node}'", where=request.file_name, code="USAGE",
                             tried=[node.name for node in assignment.view.nodes][:40])
    described = [_describe(assignment, node, request.target.rounding) for node in nodes]
    lines = [*(f"{request.file_name}: {notice}" for notice in notices), *(_line(entry) for entry in described)]
    return Outcome("\n".join(lines), {"nodes": described})


def _describe(assignment: Assignment, node: Node, rounding: str) -> dict:
    choice, seen = assignment.choices[node.name], assignment.node_view(node)
    kernel = choice.kernel
    return {
        "name": node.name, "op": node.type, "kernel": kernel.name if kernel else "view", "library": kernel.library if kernel else "",
        "rounding": kernel.spec.rounding if kernel else rounding, "format": str(seen.outputs[0].storage),
        "dtype": seen.outputs[0].dtype.name, "dims": list(seen.outputs[0].dims), "macs": seen.multiply_accumulates,
        "channels_removed": channels_removed(seen.inputs, seen.outputs),
        "rule": choice.rule, "origin": list(node.origin),
        "rejected": [{"kernel": name, "reason": reason} for name, reason in choice.rejected],
    }


def _line(entry: dict) -> str:
    shape = "x".join(map(str, entry["dims"]))
    text = (f"{entry['name'][:40]:<40} {entry['op']:<18} {entry['library'] + ' ' + entry['kernel']:<28} {entry['rounding']:<6} "
            f"{entry['dtype']} {shape} {entry['format']}: {entry['rule']}")
    removed = entry["channels_removed"]
    if any(removed.values()):
        text += f"; channels left out: {removed['inputs']} of the inputs, {removed['outputs']} of the outputs"
    reasons = "; ".join(f"{rejected['kernel']} ({rejected['reason']})" for rejected in entry["rejected"])
    return f"{text}. Rejected: {reasons}" if reasons else text
