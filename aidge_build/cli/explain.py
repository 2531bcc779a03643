# SPDX-License-Identifier: MIT
"""The verb `explain`: which kernel each node got, which rule decided, how it computes, and why every other one was rejected."""

from __future__ import annotations

import argparse
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from aidge_build.base.errors import AidgeError
from aidge_build.base.naming import no_layer, readable_names
from aidge_build.base.terminal import fitted, table
from aidge_build.boards import Board
from aidge_build.build.compile import assigned, build_program, import_model, notices_of
from aidge_build.build.emit.manifest import channels_removed, packed_constants
from aidge_build.build.inputs import NAME_TO_LOOK_AT, add_model_arguments, load
from aidge_build.build.layer_names import nodes_called, printed_names, symbols_of
from aidge_build.build.request import CompileRequest
from aidge_build.cli.cycles import inference_data, time_lines
from aidge_build.cli.outcome import Outcome
from aidge_build.cli.place import Measurement, add_place_arguments, measured, not_emulated, placed, rooms_within
from aidge_build.cli.reads import cache_line, hot_bytes, layer_read_data, read_lines
from aidge_build.contract.call import Input
from aidge_build.contract.library import Kernel
from aidge_build.contract.node_view import NodeView
from aidge_build.graph.view import Node
from aidge_build.measure.fit.count import counting_twin
from aidge_build.plan.cascade.messages import role_of, saved
from aidge_build.plan.fast_memory import AUTO
from aidge_build.plan.packed_constants import expansion_instructions, has_few_values
from aidge_build.plan.program import Program
from aidge_build.prepare.adaptation.assignment import Assignment
from aidge_build.prepare.adaptation.fuse_meta import refused_patterns
from aidge_build.prove.timing.estimate import Cycles
from aidge_build.run.emulate import LayerCount, RunResult

EXAMPLES = (
    ("explain kws.onnx --board stm32f7", "which kernel each node got"),
    ("explain kws.onnx --board stm32f7 conv_1", "one node, with every rejection"),
    ("explain kws.onnx --board mps2-an386 --measure", "and what each costs, in the emulator"),
    ("explain kws.onnx --board stm32g474 --place auto --within CCM=16K --out place.toml", "what leaves flash"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_model_arguments(parser)
    parser.add_argument(
        "node", nargs="?", metavar="NODE", help="node to explain, with every rejection (default: a table of all nodes)"
    )
    parser.add_argument(
        "--measure",
        action="store_true",
        help="run the model in the board's emulator, and print the instructions of each layer (default: kernels only)",
    )
    parser.add_argument(
        "--io-data", metavar="F.npz", help="input vectors for --measure, as `verify` reads them (default: a seeded random one)"
    )
    add_place_arguments(parser)


def _asked(arguments: argparse.Namespace) -> tuple[CompileRequest, tuple[tuple[str, int], ...]]:
    """The request, and the memories that --place auto fills; `arguments.measure` is set where these are chosen."""
    chooses = arguments.place == AUTO
    request = load(argparse.Namespace(**{**vars(arguments), "place": None}) if chooses else arguments, NAME_TO_LOOK_AT)
    rooms = rooms_within(arguments, request)
    arguments.measure |= chooses
    if arguments.measure and (request.board is None or request.board.is_host or counting_twin(request.board) is None):
        raise not_emulated(request)
    if arguments.io_data and not arguments.measure:
        raise AidgeError("works only with --measure", where="--io-data", code="USAGE", hint="leave it out, or add --measure")
    return request, rooms


def run(arguments: argparse.Namespace) -> Outcome:
    request, rooms = _asked(arguments)
    view, notices = import_model(request)
    try:
        assignment, given_way = assigned(view, request)
    except AidgeError as error:
        raise error.within(request.file_name)
    chosen = _chosen(arguments.node, assignment, request.file_name)
    measurement = measured(request, arguments.io_data) if arguments.measure else None
    program = _planned(request, assignment)
    symbols = symbols_of(assignment.view.nodes)
    described = _described(request, assignment, measurement, program, {name: symbols[name] for name in chosen})
    more = (*given_way, *notices_of(assignment, request), *(measurement.conversions if measurement else ()))
    lines = [f"{Path(request.file_name).name}: {notice}" for notice in (*notices, *more)]
    if arguments.node is not None or arguments.verbosity:
        for entry in described:
            lines += _lines(entry, refused_patterns(assignment.view, entry["name"], request.libraries, request.target))
    else:
        lines += _overview(described, measurement, request.board, symbols)
    if arguments.node is None:
        lines += [f"library {library.name}: {notice}" for library in request.libraries for notice in library.notices]
        lines += [assignment.format_line(), *_constants(described)]
        lines += (
            saved(program.schedule.cascades, program.memory.peak.peak_bytes, program.memory.whole_peak_bytes) if program else []
        )
    choice, place = placed(request, measurement, rooms, arguments.out, arguments.io_data)
    copies = {"format_copies_bytes": assignment.bytes_copied, "formats_proved_optimal": assignment.formats_proved}
    cycles = inference_data(measurement.result, request.board) if measurement and request.board else {}
    data = {"nodes": described, **copies, "instructions": _whole(measurement), **cycles, **place}
    return Outcome([*fitted(lines), *choice], data)


def _described(
    request: CompileRequest,
    assignment: Assignment,
    measurement: Measurement | None,
    program: Program | None,
    chosen: Mapping[str, str],
) -> list[dict]:
    """The layers for programs, in order; `chosen` are their symbols by the nodes' names."""
    counts = _counts(measurement) if measurement else {}
    cascades = program.schedule.cascades if program else ()
    kernels = {layer.node.name: layer.kernel.name for layer in program.layers} if program else {}
    packings = _packings(program, request.target.features) if program else {}
    found = [
        {
            **_describe(assignment, node, chosen[node.name], request, counts.get(node.name)),
            "hot_bytes": hot_bytes(measurement.result if measurement else None, chosen[node.name]),
            "reads": layer_read_data(measurement.result if measurement else None, chosen[node.name]),
            "cascade": role_of(node.name, node.outputs[0], kernels.get(node.name, ""), cascades),
        }
        for node in assignment.view.nodes
        if node.name in chosen
    ]
    for entry in found:
        entry["packed"] = packings.get(entry["name"])
        if entry["packed"]:
            entry["constants_bytes"] -= entry["packed"]["saved_bytes"]
    return found


def _packings(program: Program, features: Collection[str]) -> dict[str, dict]:
    """Returns, by layer, the savings and the costs of constants that are packed in flash and expanded in the arena."""
    layers = {layer.node.name: layer for layer in program.layers}
    return {
        entry["layer"]: {
            "kinds": entry["kinds"],
            "flash_bytes": entry["flash_bytes"],
            "saved_bytes": entry["size_bytes"] - entry["flash_bytes"],
            "arena_bytes": entry["size_bytes"],
            "instructions_estimated": expansion_instructions(layers[entry["layer"]], features),
        }
        for entry in packed_constants(program)
    }


def _packed_line(packed: dict | None) -> str:
    """Returns the savings and the costs of a layer with packed constants in words; "" for none."""
    if packed is None:
        return ""
    kinds = " and ".join("tables" if kind == "table" else f"{kind}-bit weights" for kind in packed["kinds"])
    return (
        f"{kinds} packed: {packed['flash_bytes']:,} B of flash ({packed['saved_bytes']:,} B less), expanded to "
        f"{packed['arena_bytes']:,} B of the arena by about {packed['instructions_estimated']:,} instructions"
    )


def _whole(measurement: Measurement | None) -> int | None:
    """The instructions of an inference, where they were counted."""
    return _mean(measurement.result.run_instructions, measurement.result) if measurement else None


def _overview(
    described: Sequence[dict], measurement: Measurement | None, board: Board | None, symbols: Mapping[str, str]
) -> list[str]:
    """A table of all layers: their costs where these were measured, or else their kernels."""
    read = readable_names(symbols, NAME_TO_LOOK_AT)
    whole = _whole(measurement)
    if measurement is None or board is None or whole is None:
        return _kernels(described, read)
    result = measurement.result
    reads = read_lines(result, {symbol: read[name] for name, symbol in symbols.items()})
    cache = cache_line(board)
    return [*_costs(described, whole, read, bool(cache)), *cache, *time_lines(result, board), *reads]


def _constants(described: Sequence[dict]) -> list[str]:
    """Returns a line that compares the flash for the constants of all layers with the constants of the model."""
    taken, own = (sum(entry[key] for entry in described) for key in ("constants_bytes", "model_constants_bytes"))
    if not own:
        return []
    why = "multipliers, tables and the kernels' order"
    why = f"for {why}" if taken >= own else f"by packed weights or zeros left out; {why} included"
    more = f"{taken - own:+,} B ({(taken - own) / own:+.1%}) {why}"
    return [f"constants: {taken:,} B; {own:,} B in the model, {more}"]


def _chosen(name: str | None, assignment: Assignment, file_name: str) -> set[str]:
    """The names of the nodes to explain."""
    view = assignment.view
    found = view.nodes if name is None else nodes_called(name, view)
    if name is not None and not found:
        raise no_layer(name, printed_names(view), file_name)
    return {node.name for node in found}


def _planned(request: CompileRequest, assignment: Assignment) -> Program | None:
    """The whole program where layers may be computed row by row or have packed weights; None where they are not, or where there
    is no program."""
    options = request.options
    packs = request.target.packs_weights and any(map(has_few_values, assignment.view.tensors.values()))
    if not packs and options.memory_model != "cascade" and not options.ram_budget and not options.max_step and not request.board:
        return None
    try:
        return build_program(request)
    except AidgeError:
        return None


def _counts(run: Measurement) -> dict[str, LayerCount]:
    """The mean counts of each layer in an inference, by the node's name."""
    result = run.result
    return {
        layer.node.name: replace(
            count,
            instructions=_mean(count.instructions, result),
            cycles=Cycles(_mean(count.cycles.total, result) or 0) if count.cycles else None,
        )
        for layer, count in zip(run.program.layers, result.layers, strict=True)
        if count.instructions is not None and result.runs
    }


def _mean(number: int | None, result: RunResult) -> int | None:
    return round(number / result.runs) if number is not None and result.runs else None


def _kernels(described: Sequence[dict], read: Mapping[str, str]) -> list[str]:
    """A table that fits a terminal: the kernel of each layer; and what else is to be said of some."""
    rows = [
        (
            read[entry["name"]],
            entry["op"],
            f"{entry['library']} {entry['kernel']}".strip(),
            f"{entry['dtype']} {'x'.join(map(str, entry['dims']))} {entry['format']}",
            f"{entry['constants_bytes']:,} B" if entry["constants_bytes"] else "",
            str(len(entry["rejected"]) or ""),
        )
        for entry in described
    ]
    lines = table(rows, ("layer", "operator", "kernel", "output", "constants", "rejected"), numbers=(4, 5))
    for entry in described:
        remarks = [entry["cascade"], _packed_line(entry["packed"]), f"refused: {entry['refused']}" if entry["refused"] else ""]
        lines += [f"{read[entry['name']]}: {remark}" for remark in remarks if remark]
    return [*lines, "why a kernel was taken, and the others rejected: name a layer, or -v for all"]


def _costs(described: Sequence[dict], whole: int, read: Mapping[str, str], has_cache: bool) -> list[str]:
    """A table that fits a terminal: what each layer costs, and all of them; the bytes of hot code only for a flash with a
    cache."""
    layers = sum(entry["instructions"] or 0 for entry in described)
    macs = sum(entry["macs"] for entry in described)
    rows = [
        *(_cost_cells(entry, read[entry["name"]], has_cache) for entry in described),
        ("around the layers", "", "", "", f"{whole - layers:,}", "", "", ""),
        ("an inference", "", "", "", f"{whole:,}", f"{whole / macs:.2f}" if macs else "", "", ""),
    ]
    titles = ("node", "operator", "kernel", "output", "instructions", "per MAC", "~cycles", "hot code")
    shown = [place for place, column in enumerate(zip(*rows, strict=True)) if any(column)]
    chosen = [[row[place] for place in shown] for row in rows]
    return table(chosen, [titles[place] for place in shown], numbers=range(shown.index(4), len(shown)))


def _cost_cells(entry: dict, name: str, has_cache: bool) -> tuple[str, ...]:
    numbers = (("instructions", ","), ("instructions_per_mac", ".2f"), ("cycles_estimated", ","))
    return (
        name,
        entry["op"],
        f"{entry['library']} {entry['kernel']}".strip(),
        "x".join(map(str, entry["dims"])),
        *("" if entry[key] is None else format(entry[key], form) for key, form in numbers),
        f"{entry['hot_bytes']:,} B" if has_cache and entry["hot_bytes"] else "",
    )


def _describe(assignment: Assignment, node: Node, symbol: str, request: CompileRequest, count: LayerCount | None) -> dict:
    """The layer for programs; `count` is what was measured of it."""
    choice, seen = assignment.choices[node.name], assignment.node_view(node)
    kernel, macs = choice.kernel, seen.multiply_accumulates
    instructions, source = _instructions(kernel, seen, request, count)
    return {
        "name": node.name,
        "op": node.type,
        "kernel": kernel.name if kernel else "view",
        "library": kernel.library if kernel else "",
        "rounding": kernel.spec.rounding if kernel else request.target.rounding,
        "format": str(seen.outputs[0].storage),
        "dtype": seen.outputs[0].dtype.name,
        "dims": list(seen.outputs[0].dims),
        "macs": macs,
        "instructions": instructions,
        "instructions_from": source,
        "instructions_per_mac": round(instructions / macs, 3) if macs and instructions is not None else None,
        "cycles_estimated": count.cycles.total if count and count.cycles else None,
        **_facts(assignment, node, symbol),
        "channels_removed": channels_removed(seen.inputs, seen.outputs),
        "rule": choice.rule,
        "origin": list(node.origin),
        "rejected": [{"kernel": name, "reason": reason} for name, reason in choice.rejected],
    }


def _instructions(
    kernel: Kernel | None, seen: NodeView, request: CompileRequest, count: LayerCount | None
) -> tuple[int | None, str | None]:
    """The instructions of a layer, and where the number is from."""
    if count and count.instructions is not None:
        return count.instructions, "measured"
    table = request.target.cost_table
    if not kernel or not table or table.unit != "instructions":
        return None, None
    cost = table.cost(kernel, seen, request.target.flash_wait_states)
    return (None, None) if cost is None else (round(cost), "cost table")


def _facts(assignment: Assignment, node: Node, symbol: str) -> dict:
    """Returns the facts that the kernel states at this node, or why it cannot be called there after all."""
    kernel = assignment.choices[node.name].kernel
    nothing = {"facts": {}, "constants_bytes": 0, "model_constants_bytes": 0}
    if kernel is None:
        return {**nothing, "refused": ""}
    try:
        seen = replace(assignment.node_view(node), symbol=symbol)
        call = kernel.call(seen, None)
    except AidgeError as error:
        return {**nothing, "refused": str(error)}
    own = {index: tensor.data.nbytes for index, tensor in enumerate(seen.inputs) if tensor is not None and tensor.is_constant}
    as_they_are = {argument.index for argument in call.arguments if isinstance(argument, Input)} & set(own)
    return {
        "facts": dict(sorted(call.facts.items())),
        "constants_bytes": sum(part.values.nbytes for part in call.constants) + sum(own[index] for index in as_they_are),
        "model_constants_bytes": sum(own.values()),
        "refused": "",
    }


def _lines(entry: dict, patterns: Sequence[tuple[str, str]]) -> list[str]:
    shape = "x".join(map(str, entry["dims"]))
    text = (
        f"{entry['name']:<28} {entry['op']:<18} {entry['library'] + ' ' + entry['kernel']:<28} {entry['rounding']:<6} "
        f"{entry['dtype']} {shape} {entry['format']}: {entry['rule']}"
    )
    reasons = "; ".join(f"{rejected['kernel']} ({rejected['reason']})" for rejected in entry["rejected"])
    text = f"{text}. Rejected: {reasons}" if reasons else text
    details = _details(entry) if entry["kernel"] != "view" else ""
    more = [details] if details else []
    more += [f"not together with its neighbours: {kernel} ({reason})" for kernel, reason in patterns]
    return [text, *(f"    {line}" for line in more)]


def _details(entry: dict) -> str:
    """Returns how the layer is computed: block, epilogue, channels, instructions; a dash where nobody has counted them."""
    facts, removed = entry["facts"], entry["channels_removed"]
    parts = [f"{key} {facts[key]}" for key in sorted(facts, key=lambda key: (key not in ("block", "epilogue"), key))]
    if any(removed.values()):
        parts.append(f"channels left out: {removed['inputs']} of the inputs, {removed['outputs']} of the outputs")
    if entry["macs"]:
        per_mac, source = entry["instructions_per_mac"], entry["instructions_from"]
        parts.append(f"{'-' if per_mac is None else f'{per_mac:.2f}'} instructions per MAC" + (f" ({source})" if source else ""))
    elif entry["instructions"] is not None:
        parts.append(f"{entry['instructions']:,} instructions ({entry['instructions_from']})")
    if entry["constants_bytes"]:
        parts.append(f"constants {entry['constants_bytes']:,} B, the model's {entry['model_constants_bytes']:,} B")
    parts += [remark for remark in (_packed_line(entry["packed"]), entry["cascade"]) if remark]
    if entry["refused"]:
        parts.append(f"refused: {entry['refused']}")
    return "; ".join(parts)
