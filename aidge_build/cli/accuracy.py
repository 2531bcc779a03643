# SPDX-License-Identifier: MIT
"""The verb `accuracy`: how often a model is right, before quantization, after it, and as firmware; limits fail the build."""

from __future__ import annotations

import argparse
import json
import shlex
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from aidge_build.base.errors import EXIT_CHECK_FAILED, AidgeError, CheckFailed, needs_option
from aidge_build.base.options import ACCURACY, LIMITS, MODEL, add_options, also_called, options_named, typed_again
from aidge_build.base.output import remove_file, write_files
from aidge_build.boards import Board, load_board
from aidge_build.build.calls import model_sha256
from aidge_build.build.compile import build_program, import_model
from aidge_build.build.inputs import NAME_TO_LOOK_AT, add_model_arguments, load, read_model_file
from aidge_build.build.option_values import bindings
from aidge_build.build.request import CompileRequest
from aidge_build.cli.accuracy_flips import add_flip_arguments, flipped
from aidge_build.cli.block import Block, block_of, outputs_with
from aidge_build.cli.field import add_field_arguments, judge_field, refuse_field_options
from aidge_build.cli.firmware_options import other_options, with_options_of
from aidge_build.cli.outcome import Outcome
from aidge_build.graph.view import GraphView
from aidge_build.measure.accuracy.document import Judged, agreement, agreement_lines, document, lines
from aidge_build.measure.accuracy.gate import verdicts
from aidge_build.measure.accuracy.labelled import (
    LabelledSet,
    given_samples,
    shared_samples,
)
from aidge_build.measure.accuracy.stages import (
    Stage,
    claim_of,
    first_samples,
    input_quantizations,
    on_board,
    on_elf,
    on_host,
    renamed,
    stage,
)
from aidge_build.measure.accuracy.task import judged, tasks_of
from aidge_build.prepare.input_samples import conversions, fed, model_samples
from aidge_build.prove.elf import Claim, read_claims, read_image
from aidge_build.run.verify.compare import compare
from aidge_build.run.verify.vectors import read_npz

EXAMPLES = (
    ("accuracy kws.onnx --board stm32f7 --labels test.npz --min-top1 0.97", "fails below 97 %"),
    ("accuracy kws.onnx --monitor-samples train.npz --field dump.bin", "whether a device in the field sees other inputs"),
    ("accuracy new.onnx --board stm32f4 --elf app.elf --block new.bin --labels test.npz", "new weights in that firmware"),
)
COMMON = (
    "labels",
    "float",
    "samples",
    "min-top1",
    "max-loss",
    "elf",
    "block",
    "field",
    "flips",
    "out",
    "board",
    "optimize",
    "quantize",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_model_arguments(parser)
    add_options(parser, ACCURACY.options)
    also_called(parser, "--labels", "--io-data")
    parser.add_argument(
        "--flag",
        action="append",
        default=[],
        metavar="FLAG",
        help="further compiler flag, e.g. --flag=-O3 (repeat; default: the board's)",
    )
    add_field_arguments(parser)
    add_flip_arguments(parser)
    parser.add_argument(
        "--out",
        type=Path,
        metavar="F.json",
        help="file for the figures (`report --accuracy` reads it), unless a limit is broken (default: none)",
    )


def run(arguments: argparse.Namespace) -> Outcome:
    if arguments.field:
        return judge_field(arguments)
    refuse_field_options(arguments)
    if arguments.flips is not None:
        return flipped(arguments)
    limits = {name: value for name in LIMITS if (value := getattr(arguments, name.replace("-", "_"))) is not None}
    block = _block(arguments)
    request, other = (block.request, ("", "")) if block else _request(arguments)
    path = arguments.labels or arguments.quantize
    if path is None:
        raise AidgeError("the samples are missing", where="--labels", code="USAGE", hint="add --labels F.npz (docs/accuracy.md)")
    view = import_model(request)[0]
    samples = first_samples(given_samples(Path(path), view), arguments.samples)
    if not samples.is_labelled:
        _require_float(arguments, path, limits)
    stages = _stages(arguments, request, view, samples, other, block)
    notes = [*block.notes, *block.request.notices] if block else _weights_of(arguments.elf, request.name)
    notes += conversions(samples, view)
    if samples.is_labelled:
        return _judged(arguments, view, samples, stages, limits, notes)
    reference = "the float model" if stages[0].name == "float" else "the numpy backend"
    data = agreement(Path(arguments.model).name, stages, samples.count, _shared(arguments, view, samples), _differing(stages))
    return _outcome(arguments, agreement_lines(data, reference), data, bool(data["differing_values"]), notes)


def _judged(
    arguments: argparse.Namespace,
    view: GraphView,
    samples: LabelledSet,
    stages: list[Stage],
    limits: Mapping[str, float],
    notes: Sequence[str],
) -> Outcome:
    """Returns how often each stage is right."""
    tasks = tasks_of(samples, stages, arguments.task, arguments.labelled_output or view.handed_out[0])
    found = [Judged(stage, judged(task, samples, stage.outputs, stage.inputs)) for stage, task in zip(stages, tasks)]
    reached = verdicts(limits, found[-1].figures, found[0].figures if stages[0].name == "float" else None)
    shared = _shared(arguments, view, samples)
    data = document(Path(arguments.model).name, tasks[-1], found, reached, samples.count, shared, _differing(stages))
    failed = bool(data["differing_values"]) or not all(verdict.kept for verdict in reached)
    return _outcome(arguments, lines(found, data), data, failed, notes)


def _outcome(arguments: argparse.Namespace, said: Sequence[str], data: dict, failed: bool, notes: Sequence[str]) -> Outcome:
    """The document for people, with notes about the weights after its first line, and what to type next."""
    _write(arguments.out, data, failed)
    text = [*said[:1], *notes, *said[1:], *_next(arguments, data)]
    return Outcome(text, data, EXIT_CHECK_FAILED if failed else 0)


def _weights_of(elf: str | None, model: str) -> list[str]:
    """A line that says which weights the figures of --elf are of, where devices may have received others."""
    if elf is None:
        return []
    return [
        f"{Path(elf).name}: figures of the weights of its build, version {claim.update.version:,}; --block FILE measures weights "
        "that devices received"
        for claim in read_claims(read_image(Path(elf)))
        if claim.model == model and claim.update
    ]


def _next(arguments: argparse.Namespace, data: Mapping[str, object]) -> list[str]:
    """Returns the command that names the layer, with the same options; [] unless the firmware computes other values."""
    if not data["differing_values"]:
        return []
    options = typed_again(arguments, MODEL.options)
    flags = "".join(f" --flag={shlex.quote(flag)}" for flag in arguments.flag)
    samples = shlex.quote(str(arguments.labels or arguments.quantize))
    verify = f"aidge-build verify {shlex.quote(arguments.model)}{options}"
    if not arguments.elf:
        return [f"Next: {verify}{flags}"]
    elf = shlex.quote(str(arguments.elf))
    block = f" --block {shlex.quote(str(arguments.block))}" if arguments.block else flags
    board = typed_again(arguments, options_named(MODEL, "board", "board-path"))
    return [
        f"Next: aidge-build check {elf}{board}",  # it names bytes that were changed after the build
        f"if that finds nothing: {verify} --io-data {samples} --against {elf}{block}",
    ]


def _block(arguments: argparse.Namespace) -> Block | None:
    """The block of new weights that the program of --elf binds; CheckFailed for one that is not the model's."""
    if arguments.block is None:
        return None
    if arguments.elf is None:
        raise needs_option("block", "--elf PROGRAM")
    _require_board(arguments)
    block = block_of(arguments, Path(arguments.elf))
    if block.fault:
        raise CheckFailed(block.fault, where=arguments.model, hint="name the model and the samples of the block", code="WEIGHTS")
    return block


def _require_board(arguments: argparse.Namespace) -> None:
    if not arguments.board:
        replaced = f"replace --cpu {arguments.cpu} by" if arguments.cpu else "add"
        hint = f"{replaced} --board B, the board to emulate; the program states the options of its model"
        raise AidgeError("works only with --board", where="--elf", hint=hint, code="USAGE")


def _request(arguments: argparse.Namespace) -> tuple[CompileRequest, tuple[str, str]]:
    """The request, with the options of the program of --elf where the command gives none; and the options that differ, in the
    words of the command and of the program: ("", "") without a program that states its options."""
    if arguments.elf is None:
        return load(arguments, NAME_TO_LOOK_AT), ("", "")
    _require_board(arguments)
    claim = _claim_of(Path(arguments.elf), arguments)
    if claim.made_with is None:
        return load(arguments, claim.model), ("", "")
    merged, firmware = with_options_of(claim, arguments.elf, arguments)
    return load(merged, claim.model), other_options(merged, firmware)


def _claim_of(elf: Path, arguments: argparse.Namespace) -> Claim:
    """The claim about the model. The digest of a model that is quantized here depends on options that the program states: if
    that program has one model, it is the model."""
    if not arguments.quantize:
        return claim_of(elf, model_sha256(*read_model_file(Path(arguments.model))))
    claims = read_claims(read_image(elf))
    if len(claims) == 1:
        return claims[0]
    request = load(arguments, NAME_TO_LOOK_AT)
    return claim_of(elf, model_sha256(request.model, request.external))


def _require_float(arguments: argparse.Namespace, path: str, limits: Mapping[str, float]) -> None:
    """Without labels there is no right answer: only how often a model agrees with the float model, and a program with numpy."""
    if not arguments.float and not arguments.quantize and not arguments.elf:
        hint = "--float F.onnx counts how often the float model agrees; or add an array labels or targets (docs/accuracy.md)"
        raise AidgeError("there is no array 'labels' or 'targets'", where=path, code="VECTORS", hint=hint)
    if limits:
        raise AidgeError("limits a figure of labelled samples", where=f"--{next(iter(limits))}", code="USAGE", hint="add labels")


def _stages(
    arguments: argparse.Namespace,
    request: CompileRequest,
    view: GraphView,
    samples: LabelledSet,
    other: tuple[str, str],
    block: Block | None,
) -> list[Stage]:
    """Float model, model on the host, firmware: what is named of them. The float model's outputs get the model's names. `other`
    are the options that differ from the program's, `block` is what it binds."""
    known = input_quantizations(view)
    stages = []
    floats = _float_request(arguments, request)
    if floats is not None:
        before, _ = import_model(floats)
        try:
            stage = on_host("float", before, _renamed_inputs(samples, before), _renamed_known(known, before))
        except AidgeError as error:
            raise error.within(floats.file_name)
        stages.append(replace(stage, outputs=renamed(stage.outputs, view.handed_out)))
    stages.append(on_host("model", view, samples, known))
    if block:
        stages.append(_with_block(block, load_board(arguments.board, arguments.board_path), samples))
    elif arguments.elf:
        board = load_board(arguments.board, arguments.board_path)
        stages.append(on_elf(Path(arguments.elf), build_program(request), board, samples, other))
    elif arguments.board:
        board = load_board(arguments.board, arguments.board_path)
        with tempfile.TemporaryDirectory() as folder:
            stages.append(on_board(build_program(request), board, samples, Path(folder), arguments.flag))
    return stages


def _with_block(block: Block, board: Board, samples: LabelledSet) -> Stage:
    """The linked program with the block, called for each sample."""
    view = block.program.view
    vectors = {name: fed(samples, name, view.tensor(name), None) for name in view.given}
    outputs, _, ran = outputs_with(block, board, vectors)
    return stage(block.elf.name, f"{block.file.name} in {ran} on {board.name}", view, vectors, outputs)


def _float_request(arguments: argparse.Namespace, request: CompileRequest) -> CompileRequest | None:
    """The model from before quantization: what --float names, or what this build quantized itself."""
    if arguments.float:
        model, external = read_model_file(Path(arguments.float))
        return replace(request, model=model, external=external, file_name=arguments.float, bind=bindings(arguments.bind))
    if request.float_model is not None:
        return replace(request, model=request.float_model, bind=bindings(arguments.bind))
    return None


def _renamed_inputs(samples: LabelledSet, view: GraphView) -> LabelledSet:
    """The same samples under the input names of another model: exporters and quantizers rename them, and keep their order."""
    if set(samples.inputs) == set(view.given) or len(samples.inputs) != len(view.given):
        return samples
    stated = dict(zip(view.given, samples.stated.values()))
    return replace(samples, inputs=dict(zip(view.given, samples.inputs.values())), stated=stated)


def _renamed_known(known: dict, view: GraphView) -> dict:
    if set(known) <= set(view.given) or len(view.given) != 1:
        return known
    return dict(zip(view.given, known.values()))


def _shared(arguments: argparse.Namespace, view: GraphView, samples: LabelledSet) -> int | None:
    path = arguments.calibration or arguments.quantize
    if not path:
        return None
    try:
        return shared_samples(model_samples(read_npz(Path(path)), view), samples.inputs)
    except AidgeError as error:
        raise error.within(path)


def _differing(stages: list[Stage]) -> int | None:
    """Values of the firmware beyond what the contract allows against the same model on the host."""
    host, board = stages[-2:] if len(stages) > 1 else (None, None)
    if host is None or board is None or host.name != "model":
        return None
    return sum(compare(name, values, host.raw[name]).differing_values for name, values in board.raw.items())


def _write(path: Path | None, data: dict, failed: bool) -> None:
    """A build takes a file that is there for done: one that failed leaves none."""
    if path is None:
        return
    if failed:
        remove_file(path)
    else:
        write_files({path: (json.dumps(data, indent=1) + "\n").encode()})
