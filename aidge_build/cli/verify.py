# SPDX-License-Identifier: MIT
"""The verb `verify`: build the generated code, run it, and compare it with a reference or with the numpy backend."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy

from aidge_build.base.errors import AidgeError, needs_option
from aidge_build.base.naming import readable_names
from aidge_build.base.options import CHECK, add_options, also_called, options_named
from aidge_build.base.output import write_files
from aidge_build.base.terminal import fitted
from aidge_build.boards import Board, load_board
from aidge_build.build.compile import build_program
from aidge_build.build.emit import emit
from aidge_build.build.imported import simplified
from aidge_build.build.inputs import add_model_arguments, load
from aidge_build.build.request import CompileRequest
from aidge_build.cli.against import add_against_arguments, run_against
from aidge_build.cli.cycles import cycle_lines, inference_data
from aidge_build.cli.firmware_options import scales_note, with_options_in
from aidge_build.cli.longest import bound_data, bound_findings, bound_lines, step_bounds
from aidge_build.cli.other_contract import rounded_by
from aidge_build.cli.outcome import Outcome
from aidge_build.cli.probing import add_probe_arguments, measured_json, measured_lines, probe_from
from aidge_build.cli.replayed import add_replay_arguments, name_of, replay_from, replayed, require_one_source
from aidge_build.cli.serial import add_serial_arguments, serial_from
from aidge_build.cli.steps import step_finding, step_lines
from aidge_build.cli.verdict import Compared, compared_outputs, verdict
from aidge_build.contract.reference.sequence import run_in_order
from aidge_build.graph.view import GraphView
from aidge_build.measure.accuracy import against_float
from aidge_build.measure.accuracy.against_float import Beside, beside_float, compare_with_float, lines
from aidge_build.measure.accuracy.departure import Comparison
from aidge_build.measure.accuracy.drawing import layers_drawing
from aidge_build.measure.accuracy.labelled import LabelledSet, samples_of
from aidge_build.plan.program import Program
from aidge_build.prepare.input_samples import fed
from aidge_build.prove.elf import read_claims, read_image
from aidge_build.prove.elf.claim import claim_from
from aidge_build.prove.elf.findings import ERROR
from aidge_build.prove.elf.planned_claims import with_planned
from aidge_build.prove.longest import StepsBound
from aidge_build.run.emulate import RunResult
from aidge_build.run.verify.firmware import Run, execute_as
from aidge_build.run.verify.float_tolerance import are_near, makes_levels_of_floats
from aidge_build.run.verify.layer_values import layer_values
from aidge_build.run.verify.layers import meanings
from aidge_build.run.verify.replay import Replay
from aidge_build.run.verify.steps import run_as_kernels
from aidge_build.run.verify.vectors import Vectors, model_inputs, perturbed, read_npz, reference_outputs, remarks_on

EXAMPLES = (
    ("verify kws.onnx --board stm32f7 --io-data vectors.npz", "compiles, runs, compares the outputs"),
    ("verify kws.onnx --board mps2-an386 --layers", "every layer, with its instructions"),
    ("verify kws.onnx --board stm32f4 --io-data vectors.npz --probe :3333", "on the board, with its cycles"),
    ("verify kws.onnx --board stm32f4 --io-data vectors.npz --serial /dev/ttyACM0", "your firmware, without a probe"),
    ("verify kws.onnx --board stm32f4 --io-data vectors.npz --against old.elf", "beside the firmware of before: values, bytes"),
    ("verify new.onnx --board stm32f4 --io-data vectors.npz --against app.elf --block new.bin", "new weights in that firmware"),
)
COMMON = (
    "io-data",
    "against",
    "layers",
    "reference",
    "replay",
    "elf",
    "probe",
    "serial",
    "board",
    "cpu",
    "optimize",
    "rounding",
    "quantize",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_model_arguments(parser)
    parser.add_argument(
        "--io-data",
        metavar="F.npz",
        help="input vectors, an NPZ file with x or x_<input>; with --replay: samples that the inputs should be like",
    )
    add_replay_arguments(parser)
    add_against_arguments(parser)
    add_probe_arguments(parser)
    add_serial_arguments(parser)
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
        "--layer-values",
        type=Path,
        metavar="F.npz",
        help="file for the values of each layer in numpy, which `aidge diff` in gdb compares with (default: none)",
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


@dataclass(frozen=True)
class _Source:
    """The source of the inputs: `arrays` of a file of vectors (real ones as `samples` where a float model takes them, too), or
    the `replay` of a dump. `reference` are stored values to compare with, None where the numpy backend computes them.
    `remarks` are lines about arrays that were read otherwise than they are, or not at all. `whole` is the graph before rewrites
    of its states, if it has some (`_before_rewrites`)."""

    arrays: Vectors
    samples: LabelledSet | None
    replay: Replay | None
    vectors: Vectors
    reference: Vectors | None
    remarks: tuple[str, ...] = ()
    whole: GraphView | None = None

    def wanted(self, program: Program) -> Vectors:
        """The outputs to compare with."""
        if self.reference:
            return self.reference
        if self.replay:
            return self.replay.outputs(program)
        if self.whole and not makes_levels_of_floats(program.view):
            return run_in_order(self.whole, self.vectors)
        return run_as_kernels(program, self.vectors)

    def is_near_meaning(self, program: Program, outputs: Vectors) -> bool:
        """Whether outputs that equal the operations of the kernels are near the meaning of the graph, too: the operations that a
        kernel states might be wrong as its C is."""
        if self.reference or self.replay or not makes_levels_of_floats(program.view):
            return True
        return are_near(program.view, outputs, run_in_order(self.whole or program.view, self.vectors))

    def meanings(self, view: GraphView, trace: Vectors) -> Vectors:
        """The outputs of every layer by the inputs that it had in `trace`."""
        return self.replay.meanings(trace) if self.replay else meanings(view, self.vectors, trace)


@dataclass(frozen=True)
class _Found:
    """The outputs compared with the expected ones, the bounds of the steps, and the layers compared with the float model."""

    compared: Compared
    bounds: tuple[StepsBound, ...]
    beside: Comparison | None


def run(arguments: argparse.Namespace) -> Outcome:
    if arguments.against is not None:
        return run_against(arguments)
    serial = serial_from(arguments)
    _settle_place(arguments)
    floats = _float_model(arguments)
    board = load_board(arguments.board, arguments.board_path)
    probe = probe_from(arguments, board)
    request = _request(arguments)
    program = build_program(request)
    partners = beside_float(program, request, floats) if floats else None
    source = replace(_source(arguments, program, bool(floats)), whole=_before_rewrites(request, program))
    if arguments.layer_values:
        write_files({arguments.layer_values: layer_values(program, source.vectors)})
    with tempfile.TemporaryDirectory() as temporary:
        how = Run(flags=tuple(arguments.flag), probe=probe, serial=serial)
        found = _found(arguments, program, board, how, source, partners, Path(arguments.keep or temporary))
    result, outputs = found.compared.execution.result, found.compared.execution.outputs
    read = readable_names({layer.node.name: layer.symbol for layer in program.layers}, program.name)
    shown = {} if arguments.verbosity else read
    accuracy = _accuracy(outputs, source.arrays, arguments.label_array)
    notes = _notes(arguments, program, source)
    if source.reference and not found.compared.equals:
        notes += (*rounded_by(arguments, _request, program, source.vectors, source.reference),)
    parts = [
        verdict(arguments, program, board.name, found.compared, accuracy, shown, notes),
        _counted(result, board),
        _steps(arguments, program, result, found.bounds, {layer.symbol: read[layer.node.name] for layer in program.layers}),
    ]
    if source.replay:
        parts.append(replayed(source.replay, program, outputs, arguments.io_data))
    if found.beside and floats:
        parts.append(_beside_float(arguments, found.beside, floats, shown))
    return _joined(parts)


def _joined(parts: Sequence[Outcome]) -> Outcome:
    """The parts as one answer, which begins with its failure."""
    exit_code = max(part.exit_code for part in parts)
    data = {key: value for part in parts for key, value in part.data.items()}
    text = [line for part in parts for line in part.lines]
    if exit_code and not data["differing_values"]:
        text[0] = f"FAILED, for a reason below; {text[0]}"  # the values that agree are not the ones in question
    return Outcome(fitted(text), data, exit_code)


def _settle_place(arguments: argparse.Namespace) -> None:
    """Refuses options that fit neither each other nor a run on one board, which is the host where none is named."""
    alone = next((name for name in ("markdown", "block") if getattr(arguments, name)), None)
    if alone:
        raise needs_option(alone, "--against OLD.elf")
    require_one_source(arguments)
    if not arguments.board and arguments.cpu:
        raise AidgeError(
            "verify runs the code on a board, not on a core",
            where=f"--cpu {arguments.cpu}",
            hint="replace it by --board B; `aidge-build list boards` lists them",
            code="USAGE",
        )
    arguments.board = arguments.board or "host"


def _float_model(arguments: argparse.Namespace) -> Path | None:
    """Returns the float model that --layers also compares with: the named one, or the model itself if it is quantized here."""
    if arguments.replay:
        return None
    own = Path(arguments.model) if arguments.layers and arguments.quantize else None
    if arguments.float and not arguments.layers:
        raise needs_option("float", "--layers")
    for option, bases in (("least_sqnr", arguments.float or arguments.quantize), ("picture", arguments.float or own)):
        if getattr(arguments, option) is not None and not bases:
            raise needs_option(option, "--float MODEL")
    floats = arguments.float or own
    _require_unperturbed(arguments, floats)
    return floats


def _require_unperturbed(arguments: argparse.Namespace, floats: Path | None) -> None:
    if arguments.perturb and (arguments.reference or floats):
        what = "stored references do" if arguments.reference else "--float does"
        raise AidgeError(f"{what} not fit perturbed vectors", where="--perturb", code="USAGE")


def _request(arguments: argparse.Namespace) -> CompileRequest:
    """Returns the request for the model with its options, or with the firmware's options if a firmware is read. --least-sqnr is
    an option of --quantize; without --quantize it limits the comparison with --float, and is left out here."""
    settled = argparse.Namespace(**vars(arguments) | ({} if arguments.quantize else {"least_sqnr": None}))
    name = name_of(settled)
    return load(with_options_in(arguments.elf, name, settled) if arguments.elf else settled, name)


def _before_rewrites(request: CompileRequest, program: Program) -> GraphView | None:
    """Returns the imported graph of a model with states, with the same inputs and outputs: rewrites that make a window the state,
    or cut computations that repeat, are then compared with their origin, and not with themselves."""
    if not program.view.states:
        return None
    whole, _ = simplified(request)
    return whole if _ports(whole) == _ports(program.view) else None


def _ports(view: GraphView) -> list[tuple]:
    tensors = [view.tensor(name) for name in (*view.given, *view.handed_out)]
    return [(tensor.name, tensor.dims, tensor.dtype, tensor.quantization) for tensor in tensors]


def _found(
    arguments: argparse.Namespace,
    program: Program,
    board: Board,
    how: Run,
    source: _Source,
    partners: Beside | None,
    folder: Path,
) -> _Found:
    """Builds and runs the program in `folder`, and once more with a trace where layers are asked for or outputs differ."""
    how = replace(how, states=source.replay.states if source.replay else ())
    first = replace(how, estimates=True, elf=arguments.elf if how.probe or how.serial else None)
    execution = execute_as(program, board, source.vectors, folder, first)
    compared, beside = compared_outputs(program, execution, source.wanted(program)), None
    if arguments.layers or not compared.equals or not source.is_near_meaning(program, execution.outputs):
        traced = execute_as(program, board, source.vectors, folder / "traced", replace(how, trace=True))
        meant = source.meanings(program.view, traced.trace)
        compared = compared.by_layers(program, traced, meant, source.reference is not None)
        if source.samples and partners:
            beside = compare_with_float(program, partners, source.samples, source.vectors, traced.trace, arguments.least_sqnr)
    return _Found(compared, _step_bounds(execution.elf, program), beside)


def _notes(arguments: argparse.Namespace, program: Program, source: _Source) -> tuple[str, ...]:
    """Lines about the scales that the command chose, and about the arrays of the file."""
    return source.remarks if source.replay or arguments.elf else (*scales_note(program, arguments.quantize), *source.remarks)


def _source(arguments: argparse.Namespace, program: Program, has_float: bool) -> _Source:
    if arguments.replay:
        replay = replay_from(arguments, program)
        return _Source({}, None, replay, replay.vectors, None)
    arrays, view = read_npz(Path(arguments.io_data)), program.view
    try:
        samples = samples_of(arrays, view) if has_float else None
        vectors = _stored(samples, program) if samples else model_inputs(arrays, view)
        count = len(next(iter(vectors.values())))
        reference = reference_outputs(arrays, arguments.reference, view, count) if arguments.reference else None
    except AidgeError as error:
        raise error.within(arguments.io_data)
    remarks = remarks_on(arrays, view, count, {arguments.reference, arguments.label_array} - {None})
    if arguments.perturb:
        vectors = perturbed(vectors, arguments.perturb, arguments.seed)
    return _Source(arrays, samples, None, vectors, reference, tuple(remarks))


def _stored(samples: LabelledSet, program: Program) -> Vectors:
    """Real values are quantized as the firmware's inputs want it."""
    return {name: fed(samples, name, program.view.tensor(name), None) for name in program.view.given}


def _step_bounds(elf: Path, program: Program) -> tuple[StepsBound, ...]:
    """Returns the bounds of steps from the program's disassembly; () where the model runs in one piece."""
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


def _counted(result: RunResult, board: Board) -> Outcome:
    """Cycles, estimated and measured."""
    lines = [*cycle_lines(result, board), *measured_lines(result, board)]
    return Outcome(lines, {**inference_data(result, board), **measured_json(result)})


def _steps(
    arguments: argparse.Namespace,
    program: Program,
    result: RunResult,
    bounds: tuple[StepsBound, ...],
    names: Mapping[str, str],
) -> Outcome:
    """Steps of an inference, as they were counted and as they are bounded; `names` are the names of layers by symbol."""
    findings = list(bound_findings(bounds, arguments.max_step_unproved))
    too_long = step_finding(result, program.options.max_step)
    findings += [too_long] if too_long else []
    lines = [*step_lines(result, result.runs, names), *bound_lines(bounds, names)]
    lines += [finding.line(arguments.model) for finding in findings]
    data = {"step_bounds": bound_data(bounds)} if bounds else {}
    return Outcome(lines, data, int(any(finding.severity == ERROR for finding in findings)))


def _beside_float(arguments: argparse.Namespace, beside: Comparison, floats: Path, shown: Mapping[str, str]) -> Outcome:
    """Compares each layer with the float model, as lines and as a picture; with --least-sqnr no layer may be too far from it."""
    data = against_float.as_json(beside, floats)
    if arguments.picture:
        write_files({arguments.picture: layers_drawing(data).encode()})
    is_too_far = arguments.least_sqnr is not None and beside.departs
    return Outcome(lines(beside, data, shown), {"beside_float": data}, int(bool(is_too_far)))
