# SPDX-License-Identifier: MIT
"""`verify --against`: compares a model with a program that was linked before; the emulator calls both with the same inputs."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from aidge_build.base.errors import EXIT_CHECK_FAILED, AidgeError, needs_option
from aidge_build.base.naming import counted
from aidge_build.base.terminal import table
from aidge_build.boards import Board, load_board
from aidge_build.build.compile import build_program
from aidge_build.build.emit.ports import quantization_in
from aidge_build.build.inputs import load
from aidge_build.build.request import CompileRequest
from aidge_build.cli.block import block_of, outputs_with
from aidge_build.cli.firmware_options import claim_named, other_options, scales_note, with_options_of, without_quantization
from aidge_build.cli.linked import stack_of
from aidge_build.cli.other_contract import rounded_by
from aidge_build.cli.outcome import Outcome
from aidge_build.graph.view import GraphView
from aidge_build.plan.program import Program
from aidge_build.prove.elf import Claim, read_image
from aidge_build.prove.elf.claimed_call import ClaimedArgument
from aidge_build.run.emulate.model_calls import call_claimed, require_callable, require_calls
from aidge_build.run.verify.compare import Difference, compare
from aidge_build.run.verify.firmware import code_bytes, execute
from aidge_build.run.verify.steps import run_as_kernels
from aidge_build.run.verify.vectors import (
    Vectors,
    input_conversions,
    loaded_rows,
    model_inputs,
    perturbed,
    read_npz,
    reference_outputs,
    stored_rows,
)

_NOT_TOGETHER = ("replay", "probe", "elf", "label_array", "layers", "float", "picture")
_NOT_WITH_BLOCK = (*_NOT_TOGETHER, "reference", "markdown", "keep", "flag")  # nothing is built
_TITLES = ("", "old", "new", "change")
_FIGURES = {
    "ram_bytes": "RAM of the model, bytes",
    "code_bytes": "flash: code, bytes",
    "weights_bytes": "flash: weights, bytes",
    "stack_bytes": "stack of a call, bytes",
    "instructions": "instructions of an inference",
}


@dataclass(frozen=True)
class Linked:
    """A model in a linked program: what it claims, and its figures by the names of `_FIGURES`; None for one that is not known."""

    claim: Claim
    figures: dict[str, int | None]


def add_against_arguments(parser: argparse.ArgumentParser) -> None:
    """The old program, and how the comparison is printed."""
    parser.add_argument(
        "--against",
        type=Path,
        metavar="OLD.elf",
        help="a program that was linked before, such as the firmware of the last release: compares values, RAM, flash, stack and "
        "instructions of both (--name says which of its models); otherwise with the numpy backend alone",
    )
    parser.add_argument(
        "--block",
        type=Path,
        metavar="FILE",
        help="block of new weights that the program of --against binds: fails unless the program then computes what the model "
        "means, and each byte of the block is the model's (default: the model is new firmware)",
    )
    parser.add_argument("--markdown", action="store_true", help="with --against: print a table in Markdown; otherwise plain text")


def run_against(arguments: argparse.Namespace) -> Outcome:
    """Compares the model of the command with the model of the old program. Exit code 1 if the new program is wrong, or if both
    were made from one file and differ: an upgrade must not change values."""
    board = _board_of(arguments)
    if arguments.block:
        return _run_block(arguments, board)
    old_claim = claim_named(arguments.against, arguments.name, arguments.model)
    require_callable(old_claim, arguments.against)
    request, told = _request(arguments, old_claim)
    program = build_program(request)
    vectors, converted = _vectors(arguments, program.view)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(arguments.keep or temporary)
        execution = execute(program, board, vectors, folder, flags=tuple(arguments.flag))
        new_claim = claim_named(execution.elf, old_claim.model, arguments.model)
        ports = _differing_ports(request, old_claim, new_claim, arguments.against)
        notes = [told, *converted, *ports, *(scales_note(program, arguments.quantize) if ports else ())]
        called = call_claimed(
            arguments.against, board, old_claim, stored_rows(program.view, _for_old(arguments, program.view, old_claim))
        )
        instructions = round(sum(one.instructions for one in called) / len(called))
        ran = execution.result.run_instructions
        old = Linked(old_claim, _figures(arguments.against, board, old_claim, instructions))
        new = Linked(new_claim, _figures(execution.elf, board, new_claim, None if ran is None else round(ran / len(called))))
    outputs = loaded_rows(program.view, [one.outputs for one in called])
    differences = [compare(name, execution.outputs[name], outputs[name]) for name in program.view.handed_out]
    wanted = run_as_kernels(program, vectors)
    is_right = all(compare(name, execution.outputs[name], wanted[name]).within for name in program.view.handed_out)
    stored = _stored(arguments, program, old_claim, vectors, outputs)
    notes += stored.lines
    outcome = _outcome(arguments, board, old, new, differences, len(called), notes, is_right)
    return replace(outcome, exit_code=max(outcome.exit_code, stored.exit_code))


def _stored(arguments: argparse.Namespace, program: Program, claim: Claim, vectors: Vectors, outputs: Vectors) -> Outcome:
    """The outputs of the old program beside the ones of --reference, if there are some."""
    if not arguments.reference:
        return Outcome([], {})
    reference = reference_outputs(
        read_npz(Path(arguments.io_data)), arguments.reference, program.view, len(vectors[program.view.given[0]])
    )
    found = [compare(name, outputs[name], reference[name]) for name in program.view.handed_out]
    differing, values = sum(one.differing_values for one in found), sum(one.values for one in found)
    largest = max(one.max_difference for one in found)
    line = (
        f"{arguments.against.name} beside '{arguments.reference}': {differing} of {counted(values, 'value')} differ (largest "
        f"difference {largest:g})"
    )

    contract = []
    if differing:
        contract = rounded_by(arguments, lambda words: _request(words, claim)[0], program, vectors, reference)
    return Outcome([line, *contract], {}, EXIT_CHECK_FAILED if differing else 0)


def _run_block(arguments: argparse.Namespace, board: Board) -> Outcome:
    """The program with a block of new weights, compared with the numpy backend. Exit code 1 where a value differs, or where the
    block is not the one that `weights` makes of the model."""
    block = block_of(arguments, arguments.against, arguments.name)
    program, elf, file = block.program, block.elf.name, block.file.name
    vectors, converted = _vectors(arguments, program.view)
    count = len(next(iter(vectors.values())))
    outputs, instructions, ran = outputs_with(block, board, vectors)
    wanted = run_as_kernels(program, vectors)
    differences = [compare(name, outputs[name], wanted[name]) for name in program.view.handed_out]
    data = {
        **_compared(board, differences, count),
        "instructions_per_inference": None if instructions is None else round(instructions / count),
        "block": {
            "version": block.head.version,
            "size_bytes": block.head.size_bytes,
            "is_of_model": block.is_of_model,
        },
    }
    lines = [
        f"{arguments.model} as {file} in {ran} on {board.name}: {data['differing_values']} of "
        f"{counted(data['values'], 'value')} differ from the numpy backend (largest difference {data['max_difference']:g}), "
        f"{counted(count, 'vector')}",
        f"{file}: version {block.head.version:,}, {block.head.size_bytes:,} B, "
        + ("each byte is what" if block.is_of_model else "not the bytes that")
        + f" this model makes for {elf}",
        *([] if instructions is None else [f"{data['instructions_per_inference']:,} instructions per inference"]),
        *block.notes,
        *block.request.notices,
        *converted,
    ]
    fault = block.fault
    if not fault and not all(one.within for one in differences):
        fault = "the program with this block is not what the numpy backend computes"
    return Outcome([*lines, f"FAILED: {fault}"], data, EXIT_CHECK_FAILED) if fault else Outcome(lines, data)


def _vectors(arguments: argparse.Namespace, view: GraphView) -> tuple[Vectors, list[str]]:
    """The inputs of the file, and lines about stored ones of another scale."""
    arrays = read_npz(Path(arguments.io_data))
    vectors, converted = model_inputs(arrays, view), input_conversions(arrays, view)
    return perturbed(vectors, arguments.perturb, arguments.seed) if arguments.perturb else vectors, converted


def _for_old(arguments: argparse.Namespace, view: GraphView, claim: Claim) -> Vectors:
    """The same inputs by the scales of the old program; stored values that state no scale are the same bytes for both."""
    assert claim.passed is not None
    scales = {name: quantization_in(port.scale) for name, port in zip(view.given, claim.passed.inputs)}
    tensors = {name: replace(view.tensor(name), quantization=scale) for name, scale in scales.items() if scale}
    return _vectors(arguments, replace(view, tensors={**view.tensors, **tensors}))[0]


def _board_of(arguments: argparse.Namespace) -> Board:
    option, others = ("--block", _NOT_WITH_BLOCK) if arguments.block else ("--against", _NOT_TOGETHER)
    other = next((name for name in others if getattr(arguments, name)), None)
    if other:
        typed = f"--{other.replace('_', '-')}"
        measured = "; `accuracy --elf --block` measures labelled samples" if arguments.block and other == "label_array" else ""
        hint = f"leave out {typed}, or {option}{measured}"
        raise AidgeError(f"does not fit {option}", where=typed, hint=hint, code="USAGE")
    if arguments.io_data is None:
        raise needs_option("against", "--io-data VECTORS.npz")
    if not arguments.board:
        raise needs_option("against", "--board BOARD")
    board = load_board(arguments.board, arguments.board_path)
    if not arguments.block:
        require_calls(board)
    return board


def _request(arguments: argparse.Namespace, claim: Claim) -> tuple[CompileRequest, str]:
    """The new model with the options of the old program where the command says nothing else, and a line about them."""
    if claim.made_with is None:
        return load(
            arguments, claim.model
        ), f"options: {arguments.against.name} does not say its own, new: the options of this command"
    merged, firmware = with_options_of(claim, str(arguments.against), arguments)
    given, before = other_options(merged, firmware)
    if bool(claim.code_in) != bool(arguments.place):  # a path, which no program remembers
        old, new = ("without", "with") if arguments.place else ("with", "without")
        given, before = f"{given} {new} --place".strip(), f"{before} {old} --place".strip()
    both = f"options of both: {' '.join(claim.made_with) or 'the defaults'}"
    return load(merged, claim.model), f"options: old {before}; new {given}" if given else both


def _differing_ports(request: CompileRequest, old: Claim, new: Claim, elf: Path) -> list[str]:
    """Lines about scales that differ; AidgeError where inputs or outputs cannot be the same bytes."""
    assert old.passed is not None and new.passed is not None
    inputs, outputs = (old.passed.inputs, new.passed.inputs), (old.passed.outputs, new.passed.outputs)
    lines = []
    for side, (before, after) in (("input", inputs), ("output", outputs)):
        if [_bytes_of(one) for one in before] != [_bytes_of(one) for one in after]:
            raise AidgeError(
                f"has the {side}s {_words(before)}; the new model has {_words(after)}",
                where=str(elf),
                hint=without_quantization(request, *([one.scale for one in ports] for ports in (before, after)))
                or "only programs with the same types and shapes get the same vectors",
                code="VECTORS",
            )
        for one, other in zip(before, after):
            if one.scale != other.scale:
                so = (
                    "samples that are real or state a scale are converted for each"
                    if side == "input"
                    else "stored values are compared as they are"
                )
                lines.append(f"{side} {other.name}: {one.scale} before, {other.scale} now; {so}")
    return lines


def _bytes_of(port: ClaimedArgument) -> tuple[str, int]:
    return port.type, port.size_bytes


def _words(ports: Sequence[ClaimedArgument]) -> str:
    return ", ".join(f"{port.name} {port.type}" for port in ports)


def _figures(elf: Path, board: Board, claim: Claim, instructions: int | None) -> dict[str, int | None]:
    image = read_image(elf)
    stack = stack_of(elf, image, (claim,), board.core, required=False)
    bound = stack.runs.get(f"{claim.model}_run") if stack else None
    kept = (*claim.arenas, *((claim.state,) if claim.state else ()), *claim.kept)
    return {
        "ram_bytes": sum(part.size_bytes for part in kept) + (0 if claim.arenas else claim.arena_bytes),
        "code_bytes": code_bytes(elf, claim.model),
        "weights_bytes": claim.weights_bytes,
        "stack_bytes": bound.bytes if bound else None,
        "instructions": instructions,
    }


def _outcome(
    arguments: argparse.Namespace,
    board: Board,
    old: Linked,
    new: Linked,
    differences: Sequence[Difference],
    vectors: int,
    notes: Sequence[str],
    is_right: bool,
) -> Outcome:
    same_file = old.claim.model_sha256 == new.claim.model_sha256
    data = {
        **_compared(board, differences, vectors),
        "same_model_file": same_file,
        "old": {"tool": old.claim.tool, "model_sha256": old.claim.model_sha256, **old.figures},
        "new": {"tool": new.claim.tool, "model_sha256": new.claim.model_sha256, **new.figures},
    }
    rows = [_row(title, old.figures[name], new.figures[name]) for name, title in _FIGURES.items()]
    lines = [
        f"{arguments.model} against {arguments.against.name} on {board.name}: {data['differing_values']} of "
        f"{counted(data['values'], 'value')} differ (largest difference {data['max_difference']:g}), "
        f"{counted(vectors, 'vector')}",
        f"old: aidge-build {old.claim.tool or 'unknown'}, new: {new.claim.tool}, "
        + ("from the same model file" if same_file else "from another model file"),
        *notes,
        *(_markdown(rows) if arguments.markdown else table(rows, _TITLES, numbers=(1, 2, 3))),
    ]
    has_failed = not is_right or same_file and data["differing_values"]
    if not is_right:
        lines.append("FAILED: the new program is not what the numpy backend computes: `verify` without --against says where")
    elif has_failed:
        lines.append("FAILED: the same model file gives other values: CHANGELOG.md lists values that changed on purpose")
    return Outcome(lines, data, EXIT_CHECK_FAILED if has_failed else 0)


def _compared(board: Board, differences: Sequence[Difference], vectors: int) -> dict:
    """Returns the JSON fields that both comparisons have."""
    return {
        "board": board.name,
        "vectors": vectors,
        "values": sum(one.values for one in differences),
        "differing_values": sum(one.differing_values for one in differences),
        "max_difference": max((one.max_difference for one in differences), default=0),
        "outputs": [one.as_json() for one in differences],
    }


def _row(title: str, old: int | None, new: int | None) -> tuple[str, ...]:
    change = "" if old is None or new is None else f"{new - old:+,}" if new != old else "0"
    return (title, *("unknown" if one is None else f"{one:,}" for one in (old, new)), change)


def _markdown(rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return ["", f"| {' | '.join(_TITLES)} |".replace("|  |", "| |"), "|---|---:|---:|---:|", *lines]
