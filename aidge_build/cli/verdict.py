# SPDX-License-Identifier: MIT
"""The answer of `verify`: the outputs of a run compared with the expected ones, as lines for people and as data."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from aidge_build.base.naming import counted
from aidge_build.base.terminal import table
from aidge_build.build.emit.monitor import monitor_functions
from aidge_build.build.emit.record import record_functions
from aidge_build.build.inputs import USER_NAMES
from aidge_build.cli.outcome import Outcome
from aidge_build.cli.replayed import monitor_line, record_line
from aidge_build.cli.steps import step_data
from aidge_build.plan.program import Program
from aidge_build.run.emulate import LayerCount, RunResult
from aidge_build.run.verify.compare import Difference, compare, first_difference, top1_equal
from aidge_build.run.verify.firmware import Execution
from aidge_build.run.verify.float_tolerance import (
    ALLOWED,
    BY_FLOATS,
    are_near,
    come_from_floats,
    first_wrong_layer,
    makes_levels_of_floats,
)
from aidge_build.run.verify.vectors import Vectors

_TITLES = ("instructions", "share", "MACs", "operator", "kernel", "layer")


@dataclass(frozen=True)
class Compared:
    """The outputs of `execution` and the `wanted` ones. If its layers were traced: the `first` wrong layer, whether levels of
    floats explain differences (`explained`), and whether these are near enough to be allowed (`by_floats`)."""

    execution: Execution
    wanted: Vectors
    differences: tuple[Difference, ...]
    first: dict | None = None
    explained: bool = False
    by_floats: bool = False

    @property
    def equals(self) -> bool:
        """Whether all outputs are within the contract's tolerance."""
        return all(difference.within for difference in self.differences)

    @property
    def count(self) -> int:
        """The number of vectors."""
        return len(next(iter(self.execution.outputs.values())))

    def by_layers(self, program: Program, traced: Execution, meant: Vectors, is_stored: bool) -> Compared:
        """Returns the same with the `traced` layers compared with the `meant` ones. Differences from a stored reference
        (`is_stored`) are never excused by floats."""
        first = first_wrong_layer(program, meant, traced.trace)
        outputs = self.execution.outputs
        explained = not self.equals and not is_stored and come_from_floats(program, outputs, traced, first)
        by_floats = explained and are_near(program.view, outputs, self.wanted)
        return replace(self, first=first, explained=explained, by_floats=by_floats)


def compared_outputs(program: Program, execution: Execution, wanted: Vectors) -> Compared:
    """Compares the outputs of a run with the wanted ones."""
    names = program.view.handed_out
    return Compared(execution, wanted, tuple(compare(name, execution.outputs[name], wanted[name]) for name in names))


def verdict(
    arguments: argparse.Namespace,
    program: Program,
    board: str,
    compared: Compared,
    accuracy: float | None,
    read: Mapping[str, str],
    notes: Sequence[str],
) -> Outcome:
    """The first part of the answer, and the exit code for the outputs; `notes` follow its first line, `read` are short names of
    layers."""
    passed = (compared.equals or compared.by_floats) and not compared.first
    data = _data(program, board, compared)
    data |= {} if accuracy is None else {"accuracy": accuracy}
    data["by_floats"] = compared.by_floats
    data["beyond_levels"] = compared.explained and not compared.by_floats
    outputs, wanted = compared.execution.outputs, compared.wanted
    data["first_differing_value"] = None if compared.equals else first_difference(list(wanted), outputs, wanted)
    against = f"'{arguments.reference}'" if arguments.reference else "the numpy backend"
    if not arguments.reference and makes_levels_of_floats(program.view):
        against += " in the order of the kernels"
    has_table = bool(arguments.layers or arguments.verbosity)
    lines = [
        _headline(Path(arguments.model).name, data, against),
        *notes,
        *_figure_lines(data, has_table, read),
        *_difference_lines(data, read),
    ]
    if not passed:
        lines.append(_failure(data, against, bool(arguments.reference)))
    return Outcome(lines, data, 0 if passed else 1)


def _data(program: Program, board: str, compared: Compared) -> dict:
    execution, count = compared.execution, compared.count
    result, differences = execution.result, compared.differences
    data = {
        "board": board,
        "rounding": program.options.rounding,
        "vectors": count,
        "values": sum(difference.values for difference in differences),
        "differing_values": sum(difference.differing_values for difference in differences),
        "max_difference": max(difference.max_difference for difference in differences),
        "top1_equal": top1_equal(execution.outputs, compared.wanted),
        "outputs": [difference.as_json() for difference in differences],
        "first_difference": compared.first,
        "instructions_per_inference": _per_vector(result.run_instructions, count),
        "macs": program.model_macs,
        "macs_executed": sum(layer.macs for layer in program.layers),
        "layers": _layers_data(program, result, count),
        "peak_bytes": program.memory.peak.peak_bytes,
        "arena_bytes": program.memory.arena.peak_bytes,
        "stack_bytes": result.stack_high_water_bytes,
        "flash_bytes": {"code": execution.code_bytes, "weights": execution.weights_bytes},
    }
    steps = step_data(result, program.options.max_step)
    data |= {"steps": steps} if steps else {}
    return data | _kept_data(program, result, count)


def _layers_data(program: Program, result: RunResult, count: int) -> list[dict]:
    counts = {layer.symbol: layer for layer in result.layers}
    return [
        {
            "name": layer.node.name,
            "op": layer.node.type,
            "kernel": f"{layer.kernel.library} {layer.kernel.name}",
            "macs": layer.macs,
            **_spent(counts.get(layer.symbol), count, result),
        }
        for layer in program.layers
    ]


def _kept_data(program: Program, result: RunResult, count: int) -> dict:
    """The record of inferences and the monitor, and what each takes; {} where there is neither."""
    found: dict = {}
    if program.recording is not None:
        instructions = _instructions_of(record_functions(program.name), result, count)
        size_bytes = program.recording.size_bytes
        found["record"] = {"slots": program.recording.slots, "size_bytes": size_bytes, "instructions": instructions}
    if program.monitoring is not None:
        instructions = _instructions_of(monitor_functions(program), result, count)
        found["monitor"] = {"size_bytes": program.monitoring.size_bytes, "instructions": instructions}
    return found


def _instructions_of(functions: Sequence[str], result: RunResult, count: int) -> float | None:
    """Returns the instructions of these functions per inference; None if one was not counted."""
    spent = {layer.symbol: layer.instructions for layer in result.layers}
    known = [number for number in map(spent.get, functions) if number is not None]
    return _per_vector(sum(known), count) if len(known) == len(functions) else None


def _spent(layer: LayerCount | None, count: int, result: RunResult) -> dict:
    """Instructions of a layer, and cycles where they were estimated or measured."""
    spent = {"instructions": _per_vector(layer.instructions if layer else None, count)}
    if layer is None or (layer.cycles is None and result.measured is None):
        return spent
    spent["cycles_estimated"] = _per_vector(layer.cycles.total if layer.cycles else None, count)
    return {**spent, "cycles_measured": layer.cycles_measured} if result.measured else spent


def _per_vector(instructions: int | None, count: int) -> int | None:
    return None if instructions is None else round(instructions / count)


def _layer(layer: dict, instructions: int, read: Mapping[str, str]) -> tuple[str, ...]:
    share = f"{100 * layer['instructions'] / max(1, instructions):.1f} %"
    name = read.get(layer["name"], layer["name"])
    return f"{layer['instructions']:,}", share, f"{layer['macs']:,}", layer["op"], layer["kernel"], name


def _headline(model: str, data: dict, against: str) -> str:
    rounding = USER_NAMES.get(data["rounding"], data["rounding"])
    return (
        f"{model} on {data['board']}: {data['differing_values']} of "
        f"{counted(data['values'], 'value')} differ from {against}"
        f" (largest difference {data['max_difference']:g}), {counted(data['vectors'], 'vector')}, rounding {rounding}"
    )


def _figure_lines(data: dict, has_table: bool, read: Mapping[str, str]) -> list[str]:
    """Instructions, with a row for each layer where a table is wanted; bytes, and how often the model is right."""
    lines = []
    if data["instructions_per_inference"] is not None:
        total, macs = data["instructions_per_inference"], data["macs_executed"]
        lines.append(f"{total:,} instructions per inference" + (f", {total / macs:.2f} per MAC" if macs else ""))
        known = [layer for layer in data["layers"] if layer["instructions"] is not None]
        if known and has_table:
            lines += table([_layer(layer, total, read) for layer in known], _TITLES, numbers=(0, 1, 2))
    lines.append(
        f"arena {data['arena_bytes']:,} B, peak {data['peak_bytes']:,} B (in use at one time, inputs and outputs included)"
        + (f", stack {data['stack_bytes']:,} B" if data["stack_bytes"] is not None else "")
    )
    if "record" in data:
        lines.append(record_line(data["record"]))
    if "monitor" in data:
        lines.append(monitor_line(data["monitor"]))
    if "accuracy" in data:
        lines.append(f"accuracy {100 * data['accuracy']:.1f} %")
    return lines


def _difference_lines(data: dict, read: Mapping[str, str]) -> list[str]:
    """The first layer and the first value that differ, and whether floats explain it."""
    lines = []
    if data["first_difference"]:
        first = data["first_difference"]
        node = read.get(first["node"], first["node"])
        lines.append(
            f"first differing layer: node '{node}' ({first['kernel']}), tensor '{first['tensor']}', "
            f"vector {first['vector']}, "
            f"index {first['index']}: {first['got']} instead of {first['expected']} "
            f"({first['differing_values']} of {counted(first['values'], 'value')})"
        )
    if data["by_floats"]:
        lines.append(f"the values differ {BY_FLOATS}")
    value = data["first_differing_value"]
    if value:
        lines.append(
            f"first differing value: vector {value['vector']}, index {value['index']} of '{value['tensor']}': {value['got']} "
            f"instead of {value['expected']}"
        )
    return lines


def _failure(data: dict, against: str, has_reference: bool) -> str:
    if data["beyond_levels"]:
        return (
            f"FAILED: beyond {100 * ALLOWED:g} % of the largest value, or with another largest score: the bound for levels that "
            "follow from floats; no layer differs by itself"
        )
    if not has_reference and not data["first_difference"]:
        return "FAILED: beyond the contract's tolerance, and no layer differs by itself. Next: docs/howto-wrong-result.md"
    if data["first_difference"]:
        return "FAILED: beyond the contract's tolerance. Next: the kernel of the first differing layer"
    other = "onnx" if data["rounding"] == "double" else "tflite"
    return (
        f"FAILED: {against} is of another model, of other inputs, or rounded otherwise (--rounding {other}); the C equals "
        "the numpy backend in each layer"
    )
