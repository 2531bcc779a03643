# SPDX-License-Identifier: MIT
"""A model on all samples: on the host by the numpy backend, and as firmware on a board, where all of them are one emulation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy

from aidge_build.base.errors import AidgeError
from aidge_build.base.naming import counted
from aidge_build.base.terminal import with_progress
from aidge_build.boards import Board
from aidge_build.build.emit import emit
from aidge_build.contract.reference.sequence import run_in_order
from aidge_build.contract.spec import NodeView
from aidge_build.graph.quantization import Quantization
from aidge_build.graph.view import GraphView
from aidge_build.measure.accuracy.labelled import LabelledSet
from aidge_build.operators.arithmetic.requantize import dequantize
from aidge_build.plan.program import Program
from aidge_build.prepare.input_samples import fed
from aidge_build.prove.elf import Claim, read_claims, read_image
from aidge_build.run.emulate.model_calls import call_claimed, require_callable, require_calls
from aidge_build.run.verify.firmware import execute
from aidge_build.run.verify.vectors import Vectors, loaded_rows, stored_rows

MOST_PARTS = 10  # how often a pass over all samples says how far it is
PART = 1 << 28  # multiply-accumulates that are not worth a line: a second or so


@dataclass(frozen=True, eq=False)
class Stage:
    """One way to run the model: `name` says which. `raw` are its outputs as stored, `outputs` and `inputs` real values [sample,
    element]. Counts are per inference, and None if nothing counts them."""

    name: str
    where: str
    raw: Vectors
    outputs: Vectors
    inputs: Vectors
    instructions: int | None = None
    peak_bytes: int | None = None
    flash_bytes: int | None = None


def input_quantizations(view: GraphView) -> dict[str, Quantization]:
    """The quantization of each input that has one scale."""
    found = {name: view.tensor(name).quantization for name in view.given}
    return {name: one for name, one in found.items() if one is not None and one.per_tensor}


def on_host(name: str, view: GraphView, samples: LabelledSet, known: dict[str, Quantization]) -> Stage:
    """The graph in numpy; `known` are the quantizations of inputs in the quantized model."""
    vectors = {one: fed(samples, one, view.tensor(one), known.get(one)) for one in view.given}
    return stage(name, "host, numpy backend", view, vectors, outputs_on_host(view, vectors, name))


def outputs_on_host(view: GraphView, vectors: Vectors, title: str) -> Vectors:
    """Returns every output of the graph for every vector; prints a progress line."""
    count = len(next(iter(vectors.values())))
    return run_in_order(view, vectors, _announced(count, _work(view) * count, title))


def on_board(program: Program, board: Board, samples: LabelledSet, folder: Path, flags: Sequence[str] = ()) -> Stage:
    """The firmware of the program on the board, all samples in one run."""
    view = program.view
    vectors = {name: fed(samples, name, view.tensor(name), None) for name in view.given}
    execution = execute(program, board, vectors, folder, flags=tuple(flags))
    counted = execution.result.run_instructions
    made = stage(board.name, f"board {board.name}", view, vectors, execution.outputs)
    return Stage(
        made.name,
        made.where,
        made.raw,
        made.outputs,
        made.inputs,
        None if counted is None else round(counted / samples.count),
        program.memory.peak.peak_bytes,
        execution.code_bytes + execution.weights_bytes,
    )


def on_elf(elf: Path, program: Program, board: Board, samples: LabelledSet, other: tuple[str, str] = ("", "")) -> Stage:
    """The linked program's own code, called for each sample. Its model must have been generated from `program`, by the name in
    the ELF (`claim_of`), else AidgeError. `other` are the options that differ: the user's, and the options of the linked program.
    """
    require_calls(board)
    claim = claim_of(elf, program.model_sha256)
    require_callable(claim, elf)
    texts = b"".join(emit(program).files.values()).decode(errors="replace")
    if f"{claim.model}_run_{claim.interface}" not in texts or claim.code not in texts:
        given, before = other
        raise AidgeError(
            f"its model was generated with {before}, and not with {given}"
            if given
            else f"its model was generated with other options, or by another version ({claim.tool or 'unknown'})",
            where=str(elf),
            hint=f"leave out {given}: the options come from the program" if given else _remedy(claim, program),
            code="USAGE",
        )
    view = program.view
    vectors = {name: fed(samples, name, view.tensor(name), None) for name in view.given}
    called = call_claimed(elf, board, claim, stored_rows(view, vectors))
    outputs = loaded_rows(view, [one.outputs for one in called])
    return stage(elf.name, f"{elf.name} on {board.name}", view, vectors, outputs)


def _remedy(claim: Claim, program: Program) -> str:
    """Returns the option with a file that the program's build had and this command lacks, where there is one."""
    if claim.code_in and program.fast is None:
        return "add the --place FILE of its build"
    if program.monitoring is not None and not program.options.monitor_ranges:
        return "add the --monitor-samples FILE of its build"
    return "compile and link it again"


def claim_of(elf: Path, model_sha256: str) -> Claim:
    """Returns the linked program's claim of the model with this digest; AidgeError if it holds none, or two."""
    linked = read_claims(read_image(elf))
    claims = [claim for claim in linked if claim.model_sha256 == model_sha256]
    if len(claims) != 1:
        if linked and not any(claim.from_note for claim in linked):
            raise AidgeError(
                "it has no notes of its models, which say how they are called",
                where=str(elf),
                hint="its linker script must keep .note.aidge, and models must be generated without --assembly off",
                code="USAGE",
            )
        of_block = not claims and any(claim.update for claim in linked)
        raise AidgeError(
            "holds this model twice" if claims else "does not hold this model",
            where=str(elf),
            hint="name the model that it was linked with (a float model that its build quantized: add --quantize SAMPLES.npz), "
            "and the options that it was generated with"
            + ("; for a model with new weights, add their block: --block FILE" if of_block else ""),
            code="USAGE",
        )
    return claims[0]


def first_samples(samples: LabelledSet, count: int | None) -> LabelledSet:
    """Returns the first `count` samples; all samples for None."""
    if count is None:
        return samples
    if count < 1:
        raise AidgeError(f"wants a positive number, got {count}", where="--samples", code="USAGE")
    return samples.chosen(slice(count))


class UndefinedOutput(AidgeError):
    """An output is NaN."""


def stage(name: str, where: str, view: GraphView, vectors: Vectors, outputs: Vectors) -> Stage:
    """A stage with the real values of its inputs and outputs; UndefinedOutput for one that is NaN: no figure is true of it."""
    found = real_values(view, outputs)
    for output, values in found.items():
        bad = numpy.isnan(values).any(axis=1)
        if bad.any():
            raise UndefinedOutput(
                f"output '{output}' is NaN in {int(bad.sum())} of {counted(len(values), 'sample')}, the first has the index "
                f"{int(bad.argmax())}",
                where=f"{name} ({where})",
                hint="repair the model, or leave such samples out",
                code="VECTORS",
            )
    return Stage(name, where, outputs, found, real_values(view, vectors))


def is_number(values: numpy.ndarray) -> bool:
    """Whether an output, as `real_values` returns it, is one integer without a scale, such as the number of a class."""
    return values.dtype == numpy.int64 and values.shape[1] == 1


def answers(values: numpy.ndarray) -> numpy.ndarray | None:
    """Returns the answer [sample] of an output: the number, or the index of the largest value; None for one real value."""
    if is_number(values):
        return values[:, 0]
    return values.argmax(axis=1) if values.shape[1] > 1 else None


def deviations(outputs: Vectors, reference: Vectors) -> dict[str, float]:
    """The mean absolute difference of each output from the reference's; a distance between numbers of classes has no meaning."""
    return {
        name: float(numpy.abs(values - reference[name]).mean())
        for name, values in outputs.items()
        if name in reference and reference[name].shape == values.shape and not is_number(values)
    }


def renamed(outputs: Vectors, names: Sequence[str]) -> Vectors:
    """Outputs in their order under the names of another model's: exporters and quantizers rename them."""
    if len(outputs) != len(names):
        raise AidgeError(
            f"one model has {counted(len(outputs), 'output')}, the other {len(names)}", where="--float", code="USAGE"
        )
    return outputs if set(outputs) == set(names) else dict(zip(names, outputs.values()))


def real_values(view: GraphView, tensors: Vectors) -> Vectors:
    """Returns real values [sample, element]; integers without a quantization mean themselves, and stay int64."""
    found = {}
    for name, values in tensors.items():
        quantization = view.tensor(name).quantization
        is_known = quantization is not None and quantization.per_tensor and values.dtype.kind in "iu"
        if quantization is not None and is_known:
            decoded = dequantize(values, quantization)
        else:
            decoded = values.astype(numpy.int64 if quantization is None and values.dtype.kind in "iub" else numpy.float64)
        found[name] = decoded.reshape(len(values), -1)
    return found


def _work(view: GraphView) -> int:
    return sum(NodeView.of(view, node).multiply_accumulates for node in view.nodes)


def _announced(count: int, work: int, title: str) -> Iterator[int]:
    """Yields the numbers of all samples; prints a line now and then if there is much work."""
    parts = min(MOST_PARTS, count, work // PART)
    if parts < 2:
        yield from range(count)
        return
    edges = [count * part // parts for part in range(parts + 1)]
    for first, last in with_progress(
        "RUN", list(zip(edges, edges[1:])), lambda part: f"{title}: {part[0]:,} of {count:,} samples are done"
    ):
        yield from range(first, last)
