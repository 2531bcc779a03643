# SPDX-License-Identifier: MIT
"""`accuracy --field`: dumps of the monitor of devices, compared with samples or with the dump of a device that works."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator
from pathlib import Path

from aidge_build.base.errors import EXIT_BAD_INPUT, EXIT_CHECK_FAILED, AidgeError, needs_option
from aidge_build.base.naming import counted
from aidge_build.base.reading import read_regular
from aidge_build.build.compile import build_program
from aidge_build.build.emit.monitor import monitor_digest
from aidge_build.build.inputs import NAME_TO_LOOK_AT, load
from aidge_build.cli.outcome import Outcome
from aidge_build.measure.accuracy.stages import outputs_on_host
from aidge_build.measure.field.counts import Counts, Reference, counts_of, read_counts, together
from aidge_build.measure.field.document import reasons, verdict_data, verdict_line, verdict_table
from aidge_build.measure.field.verdict import Verdict, verdict_on
from aidge_build.plan.program import Program
from aidge_build.plan.seen_range import SUMS
from aidge_build.prepare.input_samples import fed, input_samples
from aidge_build.run.verify.vectors import Vectors, read_npz

LARGEST_DUMP_BYTES = 256 << 20
FALSE_ALARMS, LEAST_FALSE_ALARMS, MOST_FALSE_ALARMS = 0.01, 1e-5, 0.2
_OTHERS = ("elf", "block", "float", "out", "min_top1", "max_loss", "min_auc", "max_mae", "max_rmse", "min_r2")


def add_field_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the dumps, and what they are compared with."""
    parser.add_argument(
        "--field",
        action="append",
        type=Path,
        metavar="DUMP",
        help="dump that N_monitor wrote on a device, of a build with --monitor on: whether its inputs and answers are as usual "
        "(repeat; docs/howto-field.md; default: measure samples)",
    )
    parser.add_argument(
        "--baseline",
        type=Path,
        metavar="DUMP",
        help="dump of a device that works, for --field to compare with; of several the last (default: inputs of "
        "--monitor-samples, answers to --labels, or to the same samples)",
    )
    parser.add_argument(
        "--together",
        action="store_true",
        help="add up the dumps of --field, of one device that resets its counters after each (default: a verdict on each)",
    )
    parser.add_argument(
        "--false-alarms",
        type=float,
        metavar="SHARE",
        help=f"largest share of unchanged devices that --field may flag (default: {FALSE_ALARMS})",
    )


def refuse_field_options(arguments: argparse.Namespace) -> None:
    """Refuses what belongs to --field."""
    given = next((name for name in ("baseline", "together", "false_alarms") if getattr(arguments, name)), None)
    if given:
        raise needs_option(given, "--field DUMP")


def judge_field(arguments: argparse.Namespace) -> Outcome:
    """Returns the verdict on each dump: exit code 1 if one has changed, 2 if one is no dump of this model."""
    other = next((name for name in _OTHERS if getattr(arguments, name) is not None), None)
    if other:
        raise AidgeError("works only without --field", where=f"--{other.replace('_', '-')}", code="USAGE", hint="leave it out")
    share = FALSE_ALARMS if arguments.false_alarms is None else arguments.false_alarms
    if not LEAST_FALSE_ALARMS <= share <= MOST_FALSE_ALARMS:
        hint = f"a share from {LEAST_FALSE_ALARMS} to {MOST_FALSE_ALARMS}"
        raise AidgeError(f"is {share:g}", where="--false-alarms", code="USAGE", hint=hint)
    arguments.monitor = "on"
    program = build_program(load(arguments, NAME_TO_LOOK_AT))
    samples = _samples(arguments, program)
    usual = _read(program, arguments.baseline)[-1] if arguments.baseline else None
    if usual is None and samples is None:
        hint = "--monitor-samples F.npz of the build, --labels F.npz, or --baseline DUMP of a device that works"
        raise AidgeError("nothing says what is usual", where="--field", code="USAGE", hint=hint)
    said = _Said()
    for name, counts in _dumps(arguments, program, said):
        said.verdict(arguments, name, _verdict(program, counts, usual, samples, share))
    return Outcome(said.lines, {"model": arguments.model, "dumps": said.data}, max(said.codes))


class _Said:
    """The lines and the data about the dumps, and the exit codes."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.data: list[dict] = []
        self.codes: set[int] = set()

    def refusal(self, path: Path, refused: AidgeError) -> None:
        """Adds a file that is no dump of the model."""
        self.lines.append(str(refused))
        self.data.append({"file": str(path), "refused": str(refused)})
        self.codes.add(EXIT_BAD_INPUT)

    def verdict(self, arguments: argparse.Namespace, name: str, verdict: Verdict) -> None:
        """Adds a verdict."""
        self.lines += _lines(arguments, name, verdict)
        self.data.append(verdict_data(name, verdict))
        self.codes.add(EXIT_CHECK_FAILED if verdict.flagged else 0)


def _dumps(arguments: argparse.Namespace, program: Program, said: _Said) -> Iterator[tuple[str, Counts]]:
    """Yields the dumps, each with its name; one with the sum of all if --together asks for it."""
    found: list[tuple[str, Counts]] = []
    for path in arguments.field:
        try:
            read = _read(program, path)
        except AidgeError as refused:
            said.refusal(path, refused)
            continue
        found += [(f"{path} dump {number}" if len(read) > 1 else str(path), counts) for number, counts in enumerate(read, 1)]
    if arguments.together and found:
        yield counted(len(found), "dump"), together([counts for _, counts in found])
    else:
        yield from found


def _verdict(program: Program, counts: Counts, usual: Counts | None, samples: Reference | None, share: float) -> Verdict:
    assert program.monitoring is not None
    if usual is not None:
        return verdict_on(program.monitoring, counts, usual, samples, share)
    assert samples is not None
    return verdict_on(program.monitoring, counts, samples.counts, samples, share)


def _read(program: Program, path: Path) -> tuple[Counts, ...]:
    assert program.monitoring is not None
    return read_counts(read_regular(path, LARGEST_DUMP_BYTES, "DUMP"), program.monitoring, monitor_digest(program), str(path))


def _samples(arguments: argparse.Namespace, program: Program) -> Reference | None:
    """The inputs of the samples, and the answers of the numpy backend, counted in their order. A model answers the samples
    of its training with larger margins than others, so other samples are better for the answers."""
    usual = arguments.monitor_samples or arguments.quantize or arguments.labels
    if usual is None:
        return None
    inputs, view = _vectors(usual, arguments, program), program.view
    answered = _vectors(arguments.labels, arguments, program) if arguments.labels else inputs
    assert program.monitoring is not None
    return counts_of(program.monitoring, view, inputs, outputs_on_host(view, answered, "usual"))


def _vectors(path: str, arguments: argparse.Namespace, program: Program) -> Vectors:
    view = program.view
    try:
        samples = input_samples(read_npz(Path(path)), view)
        return {name: fed(samples, name, view.tensor(name), None)[: arguments.samples] for name in view.given}
    except AidgeError as error:
        raise error.within(str(path))


def _lines(arguments: argparse.Namespace, name: str, verdict: Verdict) -> list[str]:
    lines = [verdict_line(name, verdict)]
    if not verdict.flagged:
        return lines
    lines += [*verdict_table(verdict), *reasons(verdict)]
    inputs = {one.of for one in verdict.findings if one.what in (*SUMS, "saturation", "beyond the range")}
    if not any(one.of in inputs for one in verdict.flagged):
        unseen = "--labels F.npz with samples that training has not seen, or " if arguments.labels is None else ""
        return [
            *lines,
            f"Next: only the answers have changed: compare with {unseen}--baseline DUMP of a device in the same place",
        ]
    model = shlex.quote(arguments.model)
    return [
        *lines,
        f"Next: look at the sensor; then keep inputs of this device (compile {model} --record 4), add them to the training, and "
        "install new weights (aidge-build weights)",
    ]
