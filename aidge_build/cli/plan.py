# SPDX-License-Identifier: MIT
"""The verb `plan`: the memory plan of a model, or of a problem file of the planner, alone."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path

from aidge_build.base.errors import AidgeError, printable
from aidge_build.base.naming import LONGEST_READ, counted, readable_names
from aidge_build.base.output import write_files
from aidge_build.base.reading import read_regular
from aidge_build.base.terminal import fitted
from aidge_build.build.compile import build_program
from aidge_build.build.emit import emit
from aidge_build.build.inputs import LARGEST_MODEL_BYTES, NAME_TO_LOOK_AT, add_model_arguments, load
from aidge_build.cli.outcome import Outcome
from aidge_build.cli.tradeoff import tradeoff
from aidge_build.measure.report.plan_page import Named, plan_drawing, plan_page
from aidge_build.plan.cascade.messages import saved
from aidge_build.plan.memory.checker import check
from aidge_build.plan.memory.picture import render_text
from aidge_build.plan.memory.plan import CapacityExceeded, MemoryPlan
from aidge_build.plan.memory.planner import plan
from aidge_build.plan.program import Program
from aidge_build.plan.schedule.order import Order, best_order
from aidge_build.plan.schedule.problem_file import BufferProblem, GraphProblem, is_problem_file, read_problem

EXAMPLES = (
    ("explain --plan kws.onnx --board stm32f7 --why", "what is live at the peak"),
    ("explain --plan kws.onnx --html plan.html", "the arena as a page"),
    ("explain --plan kws.onnx --tradeoff", "RAM against instructions, of layers computed row by row"),
)
COMMON = (
    "why",
    "tradeoff",
    "html",
    "capacity",
    "board",
    "cpu",
    "io",
    "ram-budget",
    "memory-model",
    "optimize",
    "rounding",
    "quantize",
)
KEYS = (
    "peak_bytes",
    "lower_bound_bytes",
    "bound_node",
    "order_peak_bytes",
    "order_lower_bound_bytes",
    "order_proved_optimal",
    "order_states",
    "offsets_proved_optimal",
    "format_copies_bytes",
    "formats_proved_optimal",
    "scratch_bytes",
    "state_bytes",
    "io_bytes",
    "arena_bytes",
    "record",
    "monitor",
    "regions",
    "regions_proved_optimal",
    "cascades",
    "peak_bytes_of_whole_tensors",
    "order",
    "buffers",
    "peak_buffers",
)
PROBLEM_NODES = 1_000_000  # of the exhaustive search: somebody who asks for a plan alone waits longer than a build


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_model_arguments(parser)
    parser.add_argument(
        "--capacity", type=int, metavar="BYTES", help="bytes that there are, more is an error (default: no limit)"
    )
    parser.add_argument(
        "--drop-identities",
        action="store_true",
        help="leave out operations that only copy, of a problem file (default: keep them)",
    )
    parser.add_argument(
        "--why", action="store_true", help="list the tensors that are live at the peak (default: a picture of the arena)"
    )
    parser.add_argument(
        "--tradeoff",
        action="store_true",
        help="print RAM against estimated instructions of plans with layers row by row (default: one plan)",
    )
    parser.add_argument("--svg", metavar="FILE", type=Path, help="picture of the arena to write (default: none)")
    parser.add_argument(
        "--html", metavar="FILE", type=Path, help="page with the picture and a table of the buffers to write (default: none)"
    )


def run(arguments: argparse.Namespace) -> Outcome:
    if is_problem_file(arguments.model):
        if arguments.tradeoff:
            raise AidgeError(
                "works only with a model: a problem file has no layers", where="--tradeoff", code="USAGE", hint="leave it out"
            )
        return _run_problem(arguments)
    request = load(arguments, NAME_TO_LOOK_AT)
    if arguments.tradeoff:
        return tradeoff(arguments, request)
    program = build_program(request)
    if arguments.capacity is not None and program.memory.peak.peak_bytes > arguments.capacity:
        raise _exceeds(arguments, program.memory.peak)
    manifest = emit(program).manifest
    data = {key: manifest[key] for key in KEYS if key in manifest}
    peak, named = program.memory.peak, _named(program)
    file = Path(arguments.model).name
    lines = [
        *(f"{file}: {notice}" for notice in program.notices),
        f"{file}: {peak.report_line(_bound_step(program, data['bound_node'] or '', arguments), program.schedule.order.report())}",
        f"arena {data['arena_bytes']:,} B, inputs and outputs {data['io_bytes']:,} B ({arguments.io}), "
        f"scratch {data['scratch_bytes']:,} B",
        *map(_constants_line, manifest.get("constants_in", ())),
        *_parts_lines(program),
        *saved(program.schedule.cascades, peak.peak_bytes, program.memory.whole_peak_bytes),
    ]
    drawn = [part.plan for part in program.memory.split] or [peak]
    _draw(arguments, drawn, f"peak {peak.peak_bytes:,} B", named, lines)
    data["live_at_peak"] = _live(peak, _tensors_of(program))
    short = {} if arguments.verbosity else {**_of_tensors(program), **named.buffers}
    if arguments.why:
        lines += _why(data["live_at_peak"], peak, short)
    else:
        lines += chain.from_iterable(_picture(each, len(program.layers), short) for each in drawn)
    return Outcome(fitted(lines), data)


def _bound_step(program: Program, node: str, arguments: argparse.Namespace) -> str:
    """The name of the layer that is computed at the peak, short unless everything is wanted."""
    read = readable_names({layer.node.name: layer.symbol for layer in program.layers}, NAME_TO_LOOK_AT)
    return node if arguments.verbosity else read.get(node, node)


def _constants_line(memory: dict) -> str:
    """The constants and functions in a memory other than flash."""
    code = f"; code of {counted(len(memory['functions']), 'function')}" if "functions" in memory else ""
    return (
        f"constants in {memory['region']}: {memory['size_bytes']:,} of {memory['room_bytes']:,} B, "
        f"of {', '.join(memory['layers']) or 'no layer'}{code}"
    )


def _parts_lines(program: Program) -> Iterator[str]:
    """The record of inferences, the monitor, and an arena in several memories."""
    if program.recording:
        yield f"record of the last {counted(program.recording.slots, 'inference')} {program.recording.size_bytes:,} B"
    if program.monitoring:
        yield f"monitor {program.monitoring.size_bytes:,} B"
    if program.memory.split:
        parts = ", ".join(f"{part.region} {part.size_bytes:,} B" for part in program.memory.split)
        yield f"the arena in {parts}: least access cost{', proved' if program.memory.split_proved else ' not proven'}"


def _picture(drawn: MemoryPlan, steps: int, read: Mapping[str, str]) -> list[str]:
    heading = [f"{drawn.region}: {drawn.peak_bytes:,} B"] if drawn.region else []
    return heading + render_text(drawn, max(1, steps), read=read).split("\n")


def _tensors_of(program: Program) -> dict[str, list[str]]:
    """The layers' outputs by the buffer that they share with others."""
    found: dict[str, list[str]] = {}
    for layer in program.layers:
        for tensor in layer.outputs:
            found.setdefault(program.schedule.buffer_of.get(tensor.name, tensor.name), []).append(tensor.name)
    return found


def _of_tensors(program: Program) -> dict[str, str]:
    """Returns for each tensor that a layer writes the name of the layer's function in C."""
    return {tensor.name: layer.symbol.removeprefix(f"{NAME_TO_LOOK_AT}_") for layer in program.layers for tensor in layer.outputs}


def _named(program: Program) -> Named:
    """Returns the names of steps, as their functions have them in C, and of buffers, after the layers that write them first."""
    short = {layer.node.name: layer.symbol.removeprefix(f"{NAME_TO_LOOK_AT}_") for layer in program.layers}
    buffers = {f"scratch of {node}": f"scratch of {name}" for node, name in short.items()}
    for layer in program.layers:
        for tensor in layer.outputs:
            buffers.setdefault(program.schedule.buffer_of.get(tensor.name, tensor.name), short[layer.node.name])
    in_full = [name if name == node else f"{name}: {node}" for node, name in short.items()]
    return Named(list(short.values()), in_full, buffers)


def _run_problem(arguments: argparse.Namespace) -> Outcome:
    path = Path(arguments.model)
    problem = read_problem(read_regular(path, LARGEST_MODEL_BYTES), path.name, drop_identities=arguments.drop_identities)
    if isinstance(problem, GraphProblem):
        return _plan_graph(arguments, problem)
    outcomes = [_plan_buffers(arguments, entry) for entry in problem]
    if len(outcomes) == 1:
        return outcomes[0]
    every = {key: all(outcome.data[key] for outcome in outcomes) for key in ("order_proved_optimal", "offsets_proved_optimal")}
    return Outcome(
        [outcome.lines[0] for outcome in outcomes],
        {**every, "instances": [outcome.data for outcome in outcomes]},
    )


def _plan_graph(arguments: argparse.Namespace, problem: GraphProblem) -> Outcome:
    order = best_order(problem.question)
    buffers = problem.buffers(order)
    found = plan(buffers, arguments.capacity, nodes=PROBLEM_NODES)
    check(found, buffers, arguments.capacity)
    steps = [problem.step_name(order, step) for step in range(len(order.order))]
    return _outcome(arguments, found, Path(arguments.model).name, steps, [problem.numbers[index] for index in order.order], order)


def _plan_buffers(arguments: argparse.Namespace, problem: BufferProblem) -> Outcome:
    found = plan(problem.buffers, arguments.capacity, nodes=PROBLEM_NODES)
    check(found, problem.buffers, arguments.capacity)
    return _outcome(arguments, found, problem.name, [], [], None)


def _outcome(
    arguments: argparse.Namespace, found: MemoryPlan, name: str, steps: list[str], numbers: list[int], order: Order | None
) -> Outcome:
    """`order` is None where the lifetimes are given: then this order is the only one."""
    node = steps[found.bound_step] if found.bound_step < len(steps) else ""
    lines = [f"{name}: {found.report_line(node, order.report() if order else '')}"]
    _draw(arguments, [found], f"peak {found.peak_bytes:,} B", Named(steps), lines)
    sizes = {
        kind: [p.buffer.size_bytes for p in found.placements if p.buffer.kind == kind] for kind in ("io", "scratch", "state")
    }
    live = _live(found, {})
    data = {
        "name": name,
        "peak_bytes": found.peak_bytes,
        "lower_bound_bytes": found.lower_bound_bytes,
        "bound_node": node or None,
        "order_peak_bytes": order.peak_bytes if order else found.lower_bound_bytes,
        "order_lower_bound_bytes": order.lower_bound_bytes if order else found.lower_bound_bytes,
        "order_proved_optimal": order.proved_optimal if order else True,
        "order_states": order.states if order else 0,
        "offsets_proved_optimal": found.offsets_proved_optimal,
        "scratch_bytes": max(sizes["scratch"], default=0),
        "state_bytes": sum(sizes["state"]),
        "io_bytes": sum(sizes["io"]),
        "arena_bytes": found.peak_bytes,
        "regions": [{"name": "arena", "used_bytes": found.peak_bytes, "lower_bound_bytes": found.lower_bound_bytes}],
        "regions_proved_optimal": None,
        "order": numbers,
        "buffers": [
            {
                "name": p.buffer.name,
                "kind": p.buffer.kind,
                "region": "arena",
                "offset_bytes": p.offset_bytes,
                "size_bytes": p.buffer.size_bytes,
                "first": p.buffer.first,
                "last": p.buffer.last,
            }
            for p in found.placements
        ],
        "live_at_peak": live,
    }
    last = max((placement.buffer.last for placement in found.placements), default=1)
    lines += _why(live, found, {}) if arguments.why else render_text(found, max(last, len(steps))).split("\n")
    return Outcome(fitted(lines), data)


def _live(found: MemoryPlan, tensors_of: dict[str, list[str]]) -> list[dict]:
    """Returns the buffers that are live in the peak, the largest first."""
    live = sorted(found.live_at(found.bound_step), key=lambda placement: (-placement.buffer.size_bytes, placement.offset_bytes))
    return [
        {
            "name": p.buffer.name,
            "kind": p.buffer.kind,
            "offset_bytes": p.offset_bytes,
            "size_bytes": p.buffer.size_bytes,
            "first": p.buffer.first,
            "last": p.buffer.last,
            "tensors": tensors_of.get(p.buffer.name, [p.buffer.name]),
        }
        for p in live
    ]


def _why(live: list[dict], found: MemoryPlan, read: Mapping[str, str]) -> list[str]:
    lines = [f"live in step {found.bound_step}, the peak: {found.lower_bound_bytes:,} B"]
    for entry in live:
        others = [_read(name, read) for name in entry["tensors"] if name != entry["name"]]
        shared = f", then in place {', '.join(map(printable, others))}" if others else ""
        lines.append(
            f"  {entry['size_bytes']:>12,} B at {entry['offset_bytes']:>10,}  "
            f"steps [{entry['first']}, {entry['last']})  {entry['kind']:<10}  {printable(_read(entry['name'], read))}{shared}"
        )
    return lines


def _read(name: str, read: Mapping[str, str]) -> str:
    """Returns a buffer's name for people: the name of the layer that writes it if its own is long."""
    return name if len(name) <= LONGEST_READ else read.get(name, name)


def _draw(arguments: argparse.Namespace, drawn: list[MemoryPlan], peak: str, named: Named, lines: list[str]) -> None:
    title = f"{Path(arguments.model).name}: {peak}"
    drawings = {}
    if arguments.svg:
        drawings[arguments.svg] = plan_drawing(drawn, named, title).encode()
    if arguments.html:
        drawings[arguments.html] = plan_page(drawn, named, title, lines).encode()
    write_files(drawings)


def _exceeds(arguments: argparse.Namespace, peak: MemoryPlan) -> AidgeError:
    live = [placement.buffer for placement in peak.live_at(peak.bound_step)]
    live.sort(key=lambda buffer: (-buffer.size_bytes, buffer.name))
    return CapacityExceeded(
        peak.peak_bytes, arguments.capacity, peak.bound_step, live, region="", proved=peak.offsets_proved_optimal
    ).within(arguments.model)
