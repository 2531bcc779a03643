# SPDX-License-Identifier: MIT
"""The verb `verify`: build the generated code, run it, and compare it with a reference or with the numpy backend."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import numpy

from aidge_build.base.errors import AidgeError, needs_option
from aidge_build.base.naming import counted, readable
from aidge_build.base.options import CHECK, add_options, also_called, options_named
from aidge_build.base.output import write_files
from aidge_build.base.terminal import fitted, table
from aidge_build.boards import load_board
from aidge_build.build.compile import build_program
from aidge_build.build.emit import emit
from aidge_build.build.emit.record import record_functions
from aidge_build.build.inputs import USER_NAMES, add_model_arguments, load
from aidge_build.cli.against import add_against_arguments, run_against
from aidge_build.cli.cycles import cycle_lines, inference_data
from aidge_build.cli.firmware_options import scales_note, with_options_in
from aidge_build.cli.groups import PROVE
from aidge_build.cli.longest import bound_data, bound_findings, bound_lines, step_bounds
from aidge_build.cli.outcome import Outcome
from aidge_build.cli.probing import add_probe_arguments, measured_json, measured_lines, probe_from
from aidge_build.cli.replayed import (
    add_replay_arguments,
    as_json,
    name_of,
    record_line,
    replay_from,
    replay_lines,
    require_one_source,
)
from aidge_build.cli.steps import step_data, step_finding, step_lines
from aidge_build.contract.reference.sequence import run_in_order
from aidge_build.measure.accuracy import against_float
from aidge_build.measure.accuracy.against_float import beside_float, compare_with_float, lines
from aidge_build.measure.accuracy.drawing import layers_drawing
from aidge_build.measure.accuracy.labelled import LabelledSet, fed, samples_of
from aidge_build.plan.program import Program
from aidge_build.prove.elf import read_claims, read_image
from aidge_build.prove.elf.claim import claim_from
from aidge_build.prove.elf.findings import ERROR
from aidge_build.prove.elf.planned_claims import with_planned
from aidge_build.prove.longest import StepsBound
from aidge_build.run.emulate import LayerCount, RunResult
from aidge_build.run.verify.compare import Difference, compare, first_difference, top1_equal
from aidge_build.run.verify.firmware import Execution, execute
from aidge_build.run.verify.float_levels import BY_FLOATS, come_from_floats, first_wrong_layer
from aidge_build.run.verify.layers import meanings
from aidge_build.run.verify.vectors import Vectors, model_inputs, perturbed, read_npz, reference_outputs, remarks_on

_TITLES = ("instructions", "share", "MACs", "operator", "kernel", "layer")

SUMMARY = "compare the generated C with numpy, value by value: generate, compile, run"
GROUP = PROVE
EXAMPLES = (
    ("verify kws.onnx --board stm32f7 --io-data vectors.npz", "compiles, runs, compares the outputs"),
    ("verify kws.onnx --board mps2-an386 --layers", "every layer, with its instructions"),
    ("verify kws.onnx --board stm32f4 --io-data vectors.npz --probe :3333", "on the board, with its cycles"),
    ("verify kws.onnx --board stm32f4 --io-data vectors.npz --against old.elf", "beside the firmware of before: values, bytes"),
    ("verify new.onnx --board stm32f4 --io-data vectors.npz --against app.elf --block new.bin", "new weights in that firmware"),
)
COMMON = (
    "io-data",
    "against",
    "layers",
    "reference",
    "label-array",
    "float",
    "replay",
    "elf",
    "probe",
    "board",
    "cpu",
    "optimize",
    "rounding",
    "quantize",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_model_arguments(parser)
    parser.add_argument("--io-data", metavar="F.npz", help="input vectors, an NPZ file with x or x_<input>")
    add_replay_arguments(parser)
    add_against_arguments(parser)
    add_probe_arguments(parser)
    parser.add_argument(
        "--reference", metavar="KEY", help="array of the NPZ file with the values to compare with (default: the numpy backend's)"
    )
    parser.add_argument(
        "--label-array",
        metavar="KEY",
        help="array of class numbers in the NPZ file, to print the accuracy, too (default: none)",
    )
    also_called(parser, "--label-array", "--labels")
    parser.add_argument(
        "--perturb",
        type=int,
        default=0,
        metavar="N",
        help="number of seeded perturbations to run instead of the vectors (default: the vectors themselves)",
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the perturbations (default: 0)")
    parser.add_argument(
        "--layers",
        action="store_true",
        help="compare the output of each layer with the numpy backend, too (default: outputs of the model)",
    )
    parser.add_argument(
        "--float",
        type=Path,
        metavar="F.onnx",
        help="model before quantization, for --layers to compare with, too (default: none; with --quantize the model itself); "
        "--least-sqnr then fails where a layer's own signal to noise is smaller",
    )
    parser.add_argument("--picture", type=Path, metavar="F.svg", help="picture of the comparison with --float (default: none)")
    add_options(parser, options_named(CHECK, "max-step-unproved"))
    parser.add_argument(
        "--keep", metavar="DIR", help="folder that keeps sources, ELF, input.bin and output.bin (default: nothing is kept)"
    )
    parser.add_argument(
        "--flag",
        action="append",
        default=[],
        metavar="FLAG",
        help="further compiler flag, e.g. --flag=-O3 (repeat; default: the board's)",
    )


def run(arguments: argparse.Namespace) -> Outcome:
    if arguments.against is not None:
        return run_against(arguments)
    alone = next((name for name in ("markdown", "block") if getattr(arguments, name)), None)
    if alone:
        raise needs_option(alone, "--against OLD.elf")
    require_one_source(arguments)
    if not arguments.board:
        if arguments.cpu:
            raise AidgeError(
                "verify runs the code on a board, not on a core",
                where=f"--cpu {arguments.cpu}",
                hint="replace it by --board B; `aidge-build list boards` lists them",
                code="USAGE",
            )
        arguments.board = "host"
    floats = None if arguments.replay else _float_model(arguments)
    least_sqnr = arguments.least_sqnr
    if not arguments.quantize:
        arguments.least_sqnr = None  # of the layers beside --float alone
    if arguments.perturb and (arguments.reference or floats):
        what = "stored references do" if arguments.reference else "--float does"
        raise AidgeError(f"{what} not fit perturbed vectors", where="--perturb", code="USAGE")
    board = load_board(arguments.board, arguments.board_path)
    probe = probe_from(arguments, board)
    name = name_of(arguments)
    request = load(with_options_in(arguments.elf, name, arguments) if arguments.elf else arguments, name)
    program = build_program(request)
    partners = beside_float(program, request, floats) if floats else None
    replay = replay_from(arguments, program) if arguments.replay else None
    arrays = {} if replay else read_npz(Path(arguments.io_data))
    try:
        samples = samples_of(arrays, program.view) if floats else None
        vectors = _stored(samples, program) if samples else replay.vectors if replay else model_inputs(arrays, program.view)
        count = len(next(iter(vectors.values())))
        wanted = reference_outputs(arrays, arguments.reference, program.view, count) if arguments.reference else None
    except AidgeError as error:
        raise error.within(arguments.io_data)
    if arguments.perturb:
        vectors = perturbed(vectors, arguments.perturb, arguments.seed)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(arguments.keep or temporary)
        executed = partial(
            execute,
            program,
            board,
            vectors,
            flags=tuple(arguments.flag),
            states=replay.states if replay else (),
            probe=probe,
        )
        execution = executed(folder, elf=arguments.elf if probe else None, estimates=True)
        is_stored = wanted is not None
        wanted = wanted or (replay.outputs() if replay else run_in_order(program.view, vectors))
        differences = [compare(name, execution.outputs[name], wanted[name]) for name in program.view.handed_out]
        passed, by_floats = all(difference.within for difference in differences), False
        first = beside = None
        if arguments.layers or not passed:
            traced = executed(folder / "traced", trace=True)
            trace = traced.trace
            meant = replay.meanings(trace) if replay else meanings(program.view, vectors, trace)
            first = first_wrong_layer(program, meant, trace)
            by_floats = not passed and not is_stored and come_from_floats(program, execution.outputs, traced, first)
        if samples and partners:
            beside = compare_with_float(program, partners, samples, vectors, trace, least_sqnr)
        bounds = _step_bounds(execution.elf, program)
        accuracy = _accuracy(execution.outputs, arrays, arguments.label_array)
        data = _data(program, board.name, vectors, execution, differences, top1_equal(execution.outputs, wanted), first, accuracy)
        data["by_floats"] = by_floats
        data["first_differing_value"] = None if passed else first_difference(list(wanted), execution.outputs, wanted)
    passed = (passed or by_floats) and not (arguments.layers and first)
    read = {layer.node.name: readable(layer.node.name, layer.symbol, program.name) for layer in program.layers}
    text = _lines(arguments, data, passed, {} if arguments.verbosity else read)
    text[1:1] = [] if replay else remarks_on(arrays, program.view, count, {arguments.reference, arguments.label_array} - {None})
    text[1:1] = () if replay or arguments.elf else scales_note(program, arguments.quantize)
    text += [*cycle_lines(execution.result, board), *measured_lines(execution.result, board)]
    data |= {**inference_data(execution.result, board), **measured_json(execution.result)}
    names = {layer.symbol: read[layer.node.name] for layer in program.layers}
    text += [*step_lines(execution.result, execution.result.runs, names), *bound_lines(bounds, names)]
    found = list(bound_findings(bounds, arguments.max_step_unproved))
    text += [finding.line(arguments.model) for finding in found]
    passed = passed and not any(finding.severity == ERROR for finding in found)
    if bounds:
        data["step_bounds"] = bound_data(bounds)
    too_long = step_finding(execution.result, program.options.max_step)
    if too_long:
        text.append(too_long.line(arguments.model))
        passed = False
    if replay:
        data["replay"] = as_json(replay, replay.departures(execution.outputs))
        text += replay_lines(data["replay"])
        passed = passed and not data["replay"]["departures"]
    if beside and floats:
        data["beside_float"] = against_float.as_json(beside, floats)
        text += lines(beside, data["beside_float"], {} if arguments.verbosity else read)
        passed = passed and not (least_sqnr is not None and beside.departs)
        if arguments.picture:
            write_files({arguments.picture: layers_drawing(data["beside_float"]).encode()})
    if not passed and not data["differing_values"]:
        text[0] = f"FAILED, for a reason below; {text[0]}"  # the values that agree are not the ones in question
    return Outcome(fitted(text), data, 0 if passed else 1)


def _float_model(arguments: argparse.Namespace) -> Path | None:
    """What --layers compares with beside numpy: the named float model, or the model itself where this command quantizes it."""
    own = Path(arguments.model) if arguments.layers and arguments.quantize else None
    if arguments.float and not arguments.layers:
        raise needs_option("float", "--layers")
    for option, bases in (("least_sqnr", arguments.float or arguments.quantize), ("picture", arguments.float or own)):
        if getattr(arguments, option) is not None and not bases:
            raise needs_option(option, "--float MODEL")
    return arguments.float or own


def _stored(samples: LabelledSet, program: Program) -> Vectors:
    """Real values are quantized as the firmware's inputs want it."""
    return {name: fed(samples, name, program.view.tensor(name), None) for name in program.view.given}


def _step_bounds(elf: Path, program: Program) -> tuple[StepsBound, ...]:
    """What the text of the program says of steps; () where the model runs in one piece."""
    if not program.options.max_step:
        return ()
    image = read_image(elf)
    claims = read_claims(image)
    if not any(claim.from_note for claim in claims):  # without assembly a program has no note
        claims = with_planned(image, claims, {"the plan": claim_from(emit(program).manifest["claim"], image.has_64_bits)})
    return step_bounds(elf, image, claims)


def _accuracy(outputs: Vectors, arrays: Vectors, key: str | None) -> float | None:
    if key is None:
        return None
    if key not in arrays:
        raise AidgeError(f"there is no array '{key}'", where="--label-array", tried=sorted(arrays), code="VECTORS")
    first = next(iter(outputs.values()))
    return float(numpy.mean(first.reshape(len(first), -1).argmax(1) == arrays[key].reshape(-1)))


def _data(
    program: Program,
    board: str,
    vectors: Vectors,
    execution: Execution,
    differences: list[Difference],
    top1: int,
    first: dict | None,
    accuracy: float | None,
) -> dict:
    count = len(next(iter(vectors.values())))
    result = execution.result
    counts = {layer.symbol: layer for layer in result.layers}
    per_layer = {symbol: layer.instructions for symbol, layer in counts.items()}
    macs = sum(layer.macs for layer in program.layers)
    data = {
        "board": board,
        "rounding": program.options.rounding,
        "vectors": count,
        "values": sum(difference.values for difference in differences),
        "differing_values": sum(difference.differing_values for difference in differences),
        "max_difference": max(difference.max_difference for difference in differences),
        "top1_equal": top1,
        "outputs": [difference.as_json() for difference in differences],
        "first_difference": first,
        "instructions_per_inference": None if result.run_instructions is None else round(result.run_instructions / count),
        "macs": program.model_macs,
        "macs_executed": macs,
        "layers": [
            {
                "name": layer.node.name,
                "op": layer.node.type,
                "kernel": f"{layer.kernel.library} {layer.kernel.name}",
                "macs": layer.macs,
                "instructions": _per_vector(per_layer.get(layer.symbol), count),
                **_cycles(counts.get(layer.symbol), count, result),
            }
            for layer in program.layers
        ],
        "peak_bytes": program.peak.peak_bytes,
        "arena_bytes": program.arena.peak_bytes,
        "stack_bytes": result.stack_high_water_bytes,
        "flash_bytes": {"code": execution.code_bytes, "weights": execution.weights_bytes},
    }
    steps = step_data(result, program.options.max_step)
    data |= {"steps": steps} if steps else {}
    if program.recording is not None:
        spent = [per_layer.get(symbol) for symbol in record_functions(program.name)]
        known = [number for number in spent if number is not None]
        per_vector = _per_vector(sum(known), count) if len(known) == len(spent) else None
        data["record"] = {
            "slots": program.recording.slots,
            "size_bytes": program.recording.size_bytes,
            "instructions": per_vector,
        }
    return data if accuracy is None else {**data, "accuracy": accuracy}


def _cycles(layer: LayerCount | None, count: int, result: RunResult) -> dict:
    """The estimate, and what a board measured; {} where there is neither."""
    if layer is None or (layer.cycles is None and result.measured is None):
        return {}
    estimated = {"cycles_estimated": _per_vector(layer.cycles.total if layer.cycles else None, count)}
    return {**estimated, "cycles_measured": layer.cycles_measured} if result.measured else estimated


def _per_vector(instructions: int | None, count: int) -> int | None:
    return None if instructions is None else round(instructions / count)


def _layer(layer: dict, instructions: int, read: Mapping[str, str]) -> tuple[str, ...]:
    share = f"{100 * layer['instructions'] / max(1, instructions):.1f} %"
    name = read.get(layer["name"], layer["name"])
    return f"{layer['instructions']:,}", share, f"{layer['macs']:,}", layer["op"], layer["kernel"], name


def _lines(arguments: argparse.Namespace, data: dict, passed: bool, read: Mapping[str, str]) -> list[str]:
    """The answer, and with --layers or -v a row for each layer; `read` are short names of layers."""
    against = f"'{arguments.reference}'" if arguments.reference else "the numpy backend"
    rounding = USER_NAMES.get(data["rounding"], data["rounding"])
    lines = [
        f"{Path(arguments.model).name} on {data['board']}: {data['differing_values']} of "
        f"{counted(data['values'], 'value')} differ from {against}"
        f" (largest difference {data['max_difference']:g}), {counted(data['vectors'], 'vector')}, rounding {rounding}"
    ]
    if data["instructions_per_inference"] is not None:
        total, macs = data["instructions_per_inference"], data["macs_executed"]
        lines.append(f"{total:,} instructions per inference" + (f", {total / macs:.2f} per MAC" if macs else ""))
        known = [layer for layer in data["layers"] if layer["instructions"] is not None]
        if known and (arguments.layers or arguments.verbosity):
            lines += table([_layer(layer, total, read) for layer in known], _TITLES, numbers=(0, 1, 2))
    lines.append(
        f"arena {data['arena_bytes']:,} B, peak {data['peak_bytes']:,} B (in use at one time, inputs and outputs included)"
        + (f", stack {data['stack_bytes']:,} B" if data["stack_bytes"] is not None else "")
    )
    if "record" in data:
        lines.append(record_line(data["record"]))
    if "accuracy" in data:
        lines.append(f"accuracy {100 * data['accuracy']:.1f} %")
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
    if not passed and arguments.reference and not data["first_difference"]:
        other = "onnx" if data["rounding"] == "double" else "tflite"
        lines.append(
            f"FAILED: {against} is of another model, of other inputs, or rounded otherwise (--rounding {other}); the C equals "
            "the numpy backend in each layer"
        )
    elif not passed:
        lines.append("FAILED: beyond the contract's tolerance. Next: the kernel of the first differing layer")
    return lines
