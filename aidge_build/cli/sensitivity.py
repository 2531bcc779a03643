# SPDX-License-Identifier: MIT
"""The verb `sensitivity`: which layer of a float model costs accuracy in int8, and the cheapest types that keep it."""

from __future__ import annotations

import argparse
import math
import shlex
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from aidge_build.base.errors import EXIT_CHECK_FAILED, AidgeError, needs_option
from aidge_build.base.naming import counted, readable_names
from aidge_build.base.options import ACCURACY, add_options, options_named
from aidge_build.base.output import write_files
from aidge_build.base.terminal import table
from aidge_build.boards import load_board
from aidge_build.build.compile import build_program, import_model
from aidge_build.build.inputs import NAME_TO_LOOK_AT, add_model_arguments, load
from aidge_build.build.layer_names import symbols_of, with_own_names
from aidge_build.build.option_values import bindings, scheme_of
from aidge_build.build.request import CompileRequest
from aidge_build.cli.outcome import Outcome
from aidge_build.measure.accuracy.costs import OBJECTIVES, Cost, cost_in_bytes, cost_in_instructions, cost_table_for
from aidge_build.measure.accuracy.drawing import pareto_svg
from aidge_build.measure.accuracy.labelled import LabelledSet, labelled_set
from aidge_build.measure.accuracy.search import Found, search
from aidge_build.measure.accuracy.sensitivity import Sensitivity, sensitivities
from aidge_build.measure.accuracy.stages import first_samples, on_board
from aidge_build.measure.accuracy.texts import figure_text
from aidge_build.measure.accuracy.trials import FEW_BITS, FLOAT, INT8, TYPES, Trial, Trials
from aidge_build.prepare.quantization.nearness import json_decibels
from aidge_build.run.verify.vectors import read_npz

EXAMPLES = (
    ("accuracy --layers float.onnx --quantize samples.npz --labels test.npz --board stm32f7", "which layer costs accuracy"),
)
COMMON = ("search", "max-loss", "types", "objective", "out", "picture", "task", "samples", "board", "cpu", "optimize")
_KINDS = (*TYPES, *FEW_BITS)
_SHORT = {"int8": "8", "int4": "4", "int3": "3", "int2": "2", "int16": "16", "float32": "f"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_model_arguments(parser)
    labels, *others = options_named(ACCURACY, "labels", "task", "labelled-output", "samples")
    meaning = (
        "samples with class numbers (`labels`) or real values (`targets`), by which losses are counted (docs/accuracy.md); "
        "`verify --layers --float` needs none"
    )
    add_options(parser, (replace(labels, required=True, meaning=meaning), *others))
    parser.add_argument(
        "--search", action="store_true", help="look for the cheapest mixture of types, too (default: only measure the layers)"
    )
    parser.add_argument(
        "--max-loss", type=float, default=0.005, metavar="SHARE", help="top-1 that --search may lose (default: 0.005)"
    )
    parser.add_argument(
        "--types",
        default=",".join(TYPES),
        metavar="A,B",
        help=f"types that --search may use, of {', '.join(_KINDS)} (default: {','.join(TYPES)})",
    )
    parser.add_argument(
        "--objective", choices=OBJECTIVES, default="instructions", help="cost to minimise (default: instructions)"
    )
    parser.add_argument(
        "--costs", type=Path, metavar="F.toml", help="table of kernel costs (default: the shipped table of the core)"
    )
    parser.add_argument("--out", type=Path, metavar="F.onnx", help="file for the model that --search found (default: none)")
    parser.add_argument("--picture", type=Path, metavar="F.svg", help="picture of the measurements of --search (default: none)")


def run(arguments: argparse.Namespace) -> Outcome:
    kinds = _kinds(arguments)
    if arguments.quantize is None:
        raise AidgeError(
            "the samples for quantization are missing", where="--quantize F.npz", hint="add --quantize F.npz", code="USAGE"
        )
    if arguments.least_sqnr is None:
        arguments.least_sqnr = -math.inf  # the verb looks for the layer that spoils a model, so no such model is refused
    quantized = load(arguments, NAME_TO_LOOK_AT)
    request = replace(quantized, model=quantized.float_model, float_model=None, bind=bindings(arguments.bind))
    view, _ = import_model(request)
    try:
        samples = first_samples(labelled_set(read_npz(Path(arguments.labels)), view), arguments.samples)
    except AidgeError as error:
        raise error.within(arguments.labels)
    price = cost_in_bytes if arguments.objective == "bytes" else _by_table(request, arguments.costs)
    task = (arguments.task, arguments.labelled_output or "")
    symbols = symbols_of(import_model(quantized)[0].nodes)
    read = {} if arguments.verbosity else readable_names(symbols, NAME_TO_LOOK_AT)
    calibration = read_npz(Path(arguments.quantize))
    scheme = with_own_names(scheme_of(arguments), request, calibration)
    trials = Trials(request, calibration, scheme, samples, price, task, read)
    alone = sensitivities(trials)
    found = search(trials, arguments.max_loss, kinds) if arguments.search else None
    measured = _measured(arguments, trials, samples, found)
    data = _data(arguments, trials, alone, found, measured)
    _write(arguments, data, found)
    return Outcome(_lines(trials, data), data, EXIT_CHECK_FAILED if found and found.taken is None else 0)


def _by_table(request: CompileRequest, path: Path | None) -> Callable[[CompileRequest], Cost]:
    table = cost_table_for(request, path)
    return lambda one: cost_in_instructions(one, table)


def _kinds(arguments: argparse.Namespace) -> list[str]:
    kinds = [kind for kind in _KINDS if kind in arguments.types.split(",")]
    unknown = sorted(set(arguments.types.split(",")) - set(_KINDS))
    if unknown or INT8 not in kinds:
        what = f"there is no type '{unknown[0]}'" if unknown else "int8 is the type to start from"
        raise AidgeError(what, where="--types", tried=_KINDS, code="USAGE")
    for option in ("out", "picture"):
        if getattr(arguments, option) and not arguments.search:
            raise needs_option(option, "--search")
    return kinds


def _measured(
    arguments: argparse.Namespace, trials: Trials, samples: LabelledSet, found: Found | None
) -> dict[tuple, int | None]:
    """Instructions on the board, counted by one inference: of all int8, all float, and what the search found worth it."""
    if not arguments.board:
        return {}
    board, one = load_board(arguments.board, arguments.board_path), first_samples(samples, 1)
    wanted = [trials.all(INT8), trials.all(FLOAT), *([trial.types for trial in found.front] if found else [])]
    wanted += [found.taken.types] if found and found.taken else []
    counts = {}
    for types in dict.fromkeys(wanted):
        with tempfile.TemporaryDirectory() as folder:
            counts[types] = on_board(build_program(trials.request_of(types)), board, one, Path(folder)).instructions
    return counts


def _data(
    arguments: argparse.Namespace,
    trials: Trials,
    alone: tuple[Sensitivity, ...],
    found: Found | None,
    measured: dict[tuple, int | None],
) -> dict:
    def shown(trial: Trial) -> dict:
        cost = trials.cost(trial.types)
        return {
            "types": dict(zip(trials.layers, trial.types)),
            **trial.figures.as_json(),
            "loss": trials.loss(trial),
            "sqnr_db": json_decibels(trial.sqnr_db),
            "cost": cost.number,
            "unknown_kernels": list(cost.unknown),
            "instructions": measured.get(trial.types),
        }

    layers = [
        {
            "layer": one.layer,
            "int8_alone": shown(one.alone),
            "float_alone": shown(one.spared),
            "float_alone_costs": one.extra,
            "is_float_alone": one.is_spared,
        }
        for one in alone
    ]
    integers = trials.measured(trials.all(INT8))
    return {
        "model": Path(arguments.model).name,
        "samples": trials.samples.count,
        "task": trials.task.kind,
        "unit": trials.cost(integers.types).unit,
        "float": trials.float_figures.as_json(),
        "int8": shown(integers),
        "layers": layers,
        "search": found
        and {
            "max_loss": arguments.max_loss,
            "taken": found.taken and shown(found.taken),
            "front": [shown(trial) for trial in found.front],
            "measured": len(found.measured),
            "points": [
                {
                    "cost": trials.cost(trial.types).number,
                    "loss": trials.loss(trial),
                    "title": _types(trial.types),
                    "best": trial in found.front,
                    "chosen": trial is found.taken,
                }
                for trial in found.measured
            ],
        },
    }


def _types(types: tuple[str, ...]) -> str:
    """The layers' types in their order: 8 8 16 f."""
    return " ".join(_SHORT[kind] for kind in types)


def _lines(trials: Trials, data: dict) -> list[str]:
    first = f"{data['model']}: {counted(data['samples'], 'sample')}, {data['task']}; float {figure_text(data['float'])}"
    rows = [
        (
            trials.shown(one["layer"]),
            _decibels(one["int8_alone"]["sqnr_db"]),
            f"{100 * one['int8_alone']['loss']:.2f} %",
            f"{100 * one['float_alone']['loss']:.2f} %" if one["is_float_alone"] else INT8,
            f"{one['float_alone_costs']:+,.0f}" if one["is_float_alone"] else "",
        )
        for one in data["layers"]
    ]
    titles = ("layer", "SQNR dB, int8 alone", "loss, int8 alone", "loss, float alone", f"float alone, {data['unit']}")
    found = [first, f"all int8: {_trial(data['int8'], data['unit'])}", *table(rows, titles, numbers=range(1, 5))]
    kept = [trials.shown(one["layer"]) for one in data["layers"] if not one["is_float_alone"]]
    if kept:
        found.append(f"int8 between int8 layers, whatever --layer-types says of the layer alone: {', '.join(kept)}")
    unknown = data["int8"]["unknown_kernels"]
    if unknown:
        found.append(f"not in the table of costs, counted as the median of others: {', '.join(unknown)}")
    if data["search"]:
        found += _search_lines(trials, data)
    return found


def _search_lines(trials: Trials, data: dict) -> list[str]:
    result = data["search"]
    rows = [
        (
            f"{one['cost']:,.0f}",
            "" if one["instructions"] is None else f"{one['instructions']:,}",
            f"{100 * one['loss']:.2f} %",
            _decibels(one["sqnr_db"]),
            _types(tuple(one["types"].values())),
        )
        for one in result["front"]
    ]
    titles = (
        data["unit"],
        "counted instructions",
        "loss",
        "SQNR dB",
        f"types of {', '.join(map(trials.shown, trials.layers))}",
    )
    lines = [
        f"{result['measured']} mixtures measured; no other is cheaper and better than these:",
        *table(rows, titles, range(4)),
    ]
    taken = result["taken"]
    if taken is None:
        return [*lines, f"FAILED: no mixture loses at most {100 * result['max_loss']:g} %"]
    other = [
        f"--layer-types {shlex.quote(f'{trials.shown(layer)}={kind}')}" for layer, kind in taken["types"].items() if kind != INT8
    ]
    return [
        *lines,
        f"taken, losing at most {100 * result['max_loss']:g} %: {_trial(taken, data['unit'])}",
        f"not int8: {' '.join(other) or 'no layer'}",
    ]


def _trial(one: dict, unit: str) -> str:
    counted = "" if one["instructions"] is None else f", {one['instructions']:,} instructions counted"
    return f"{figure_text(one)}, loss {100 * one['loss']:.2f} %, about {one['cost']:,.0f} {unit}{counted}"


def _decibels(number: float | None) -> str:
    return "exact" if number is None else f"{number:.1f}"


def _write(arguments: argparse.Namespace, data: dict, found: Found | None) -> None:
    files = {}
    if found and arguments.picture:
        title = f"{data['model']}: loss by {data['unit']}"
        files[arguments.picture] = pareto_svg(title, data["search"]["points"], data["unit"]).encode()
    if found and found.taken and arguments.out:
        files[arguments.out] = found.taken.model
    write_files(files)
