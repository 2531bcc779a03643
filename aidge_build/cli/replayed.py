# SPDX-License-Identifier: MIT
"""`verify --replay`: the inputs that a firmware recorded, out of a dump of its RAM."""

from __future__ import annotations

import argparse
from pathlib import Path

from aidge_build.base.errors import AidgeError, needs_option
from aidge_build.base.naming import counted
from aidge_build.base.reading import read_regular
from aidge_build.base.zoo import samples_word
from aidge_build.build.emit.ports import data_digest
from aidge_build.build.emit.record import record_symbol
from aidge_build.build.inputs import NAME_TO_LOOK_AT, read_model_file
from aidge_build.cli.firmware_options import claim_named
from aidge_build.cli.input_samples import unlike_samples
from aidge_build.cli.outcome import Outcome
from aidge_build.plan.program import Program
from aidge_build.plan.schedule.recording import Recording
from aidge_build.prove.elf import Claim, read_image
from aidge_build.run.verify.dump import read_dump
from aidge_build.run.verify.likeness import Difference
from aidge_build.run.verify.replay import Replay, replay_of
from aidge_build.run.verify.vectors import Vectors, stored_rows
from aidge_build.sources.importing import refuse_other_models

LARGEST_DUMP_BYTES = 256 << 20
_OF_VECTORS = ("reference", "label_array", "perturb", "float")  # options that belong to --io-data


def add_replay_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options for the dump, and for the address of the record in it."""
    parser.add_argument(
        "--replay",
        type=Path,
        metavar="DUMP",
        help="dump of RAM with the inferences that a build with --record kept, instead of --io-data",
    )
    parser.add_argument(
        "--name",
        help="model in the firmware, for --replay, --serial, --elf and --against (default: the file's stem, or the only model)",
    )
    parser.add_argument(
        "--elf",
        type=Path,
        metavar="ELF",
        help="linked firmware, for the options and scales that it states: --replay reads the record of its model, --probe and "
        "--serial call it on the board, --layer-values is for it in gdb (default: the options of this command)",
    )
    parser.add_argument(
        "--dump-base", metavar="ADDRESS", help="address of the dump's first byte, for --elf (default: the record is looked for)"
    )


def require_one_source(arguments: argparse.Namespace) -> None:
    """Vectors or a dump, and only the options of the one that is given. With a dump, vectors are samples of its inputs."""
    if arguments.io_data is None and arguments.replay is None:
        _refuse_program(arguments.model)
        file = samples_word(Path(arguments.model))
        raise AidgeError("the vectors are missing", where="verify", code="USAGE", hint=f"--io-data {file}, or --replay DUMP")
    if arguments.replay is not None and arguments.probe is not None:
        raise AidgeError("works only in the emulator", where="--replay", hint="leave out --probe", code="USAGE")
    if arguments.replay is None:
        _require_options_of_vectors(arguments)
        return
    other = next((name for name in _OF_VECTORS if getattr(arguments, name)), None)
    if other:
        raise needs_option(other, "--io-data VECTORS.npz")
    if arguments.dump_base is not None and arguments.elf is None:
        raise needs_option("dump_base", "--elf PROGRAM")


def _require_options_of_vectors(arguments: argparse.Namespace) -> None:
    """Refuses the options of --replay, but for the program on a board."""
    reads_elf = arguments.serial or arguments.elf and (arguments.probe or arguments.layer_values)
    own = ("dump_base",) if reads_elf else ("name", "elf", "dump_base")
    given = next((name for name in own if getattr(arguments, name) is not None), None)
    if given == "elf":
        hint = "to call the model of a program in the emulator: --against ELF; on a real board: add --probe HOST:PORT"
        raise AidgeError("works only with --replay, --probe, --serial or --layer-values", where="--elf", hint=hint, code="USAGE")
    if given:
        raise needs_option(given, "--replay DUMP")


def _refuse_program(path: str) -> None:
    """A program in place of the model is the first thing to say."""
    model, _ = read_model_file(Path(path))
    try:
        refuse_other_models(model, model)
    except AidgeError as error:
        raise error.within(path)


def name_of(arguments: argparse.Namespace) -> str:
    """The prefix of the generated symbols: the firmware's where one is read, because the digest depends on it. AidgeError where
    the firmware keeps no record for --replay."""
    if arguments.elf is None:
        of_firmware = arguments.replay or arguments.serial
        return arguments.name or (Path(arguments.model).stem if of_firmware else NAME_TO_LOOK_AT)
    claim = claim_named(arguments.elf, arguments.name, arguments.model)
    if arguments.replay:
        _require_record(arguments.elf, claim)
    return claim.model


def _require_record(elf: Path, claim: Claim) -> None:
    """A claim from a note lists the record; one from a symbol alone lists nothing."""
    if any(one.word == "record" for one in claim.kept) or read_image(elf).symbol(record_symbol(claim.model)) is not None:
        return
    raise AidgeError(
        f"this program keeps no record of {claim.model}",
        where=str(elf),
        hint="name the program that the dump is of; a build with --record COUNT keeps one (docs/c-api.md)",
        code="DUMP",
    )


def replay_from(arguments: argparse.Namespace, program: Program) -> Replay:
    """Returns the inferences that the dump holds; AidgeError (DUMP) says why it cannot be replayed."""
    recording = program.recording
    if recording is None:
        raise AidgeError(
            "needs the options that the firmware was generated with, and --record is missing",
            where="--replay",
            hint="add --elf APP.elf, which states them, or --record COUNT, e.g. --record 4",
            code="USAGE",
        )
    data = read_regular(arguments.replay, LARGEST_DUMP_BYTES)
    where = str(arguments.replay)
    at = None if arguments.dump_base is None else _place(arguments, program, recording)
    kept = read_dump(data, recording, data_digest(program), where, at, str(arguments.elf or ""))
    return replay_of(program, kept, where)


def _place(arguments: argparse.Namespace, program: Program, recording: Recording) -> int:
    try:
        base = int(arguments.dump_base, 0)
    except ValueError:
        raise AidgeError(f"'{arguments.dump_base}' is no address", where="--dump-base", hint="0x20000000", code="USAGE") from None
    name = record_symbol(program.name)
    symbol = read_image(arguments.elf).symbol(name)
    if symbol is None or symbol.size_bytes != recording.size_bytes:
        raise AidgeError(
            f"has no {name} of {recording.size_bytes:,} B",
            where=str(arguments.elf),
            hint="the linked program of this model, with its symbols",
            code="DUMP",
        )
    return symbol.address - base


def _unlike_inputs(replay: Replay, program: Program, path: str | None) -> list[Difference]:
    """Returns how the recorded inputs differ from the samples of a file; [] without a file."""
    if path is None:
        return []
    tensors = [program.view.tensor(name) for name in program.view.given]
    return unlike_samples(Path(path), tensors, stored_rows(program.view, replay.vectors))


def replayed(replay: Replay, program: Program, outputs: Vectors, samples: str | None) -> Outcome:
    """Whether the firmware computed the outputs of the dump, and whether its inputs are like the samples of a file."""
    data = _as_json(replay, replay.departures(outputs))
    unlike = _unlike_inputs(replay, program, samples)
    has_failed = bool(data["departures"]) or any(one.is_certain for one in unlike)
    return Outcome([*_replay_lines(data), *(one.text for one in unlike)], {"replay": data}, int(has_failed))


def _as_json(replay: Replay, departures: list[dict]) -> dict:
    """The same for programs."""
    return {
        "inferences": [{"number": one.number, "ended": one.ended} for one in replay.kept],
        "departures": departures,
    }


def record_line(data: dict) -> str:
    """Returns a line with the RAM and the instructions that the record of inferences costs."""
    return f"record of the last {counted(data['slots'], 'inference')}: {_cost(data)}"


def monitor_line(data: dict) -> str:
    """Returns a line with the RAM and the instructions that the monitor costs."""
    return f"monitor: {_cost(data)}"


def _cost(data: dict) -> str:
    spent = f", {data['instructions']:,} instructions per inference" if data["instructions"] is not None else ""
    return f"{data['size_bytes']:,} B of RAM{spent}"


def _replay_lines(data: dict) -> list[str]:
    """Returns lines: the inferences that were replayed, and the inferences with other outputs in the firmware."""
    inferences = data["inferences"]
    first, last = inferences[0], inferences[-1]
    lines = [f"replayed: inferences {first['number']:,} to {last['number']:,}, as recorded"]
    for one in inferences:
        if not one["ended"]:
            lines.append(f"inference {one['number']:,} had not ended")
    for one in data["departures"]:
        lines.append(
            f"inference {one['inference']:,} gave other values in the firmware: output '{one['name']}', "
            f"{one['differing_values']} of {counted(one['values'], 'value')} (largest difference {one['max_difference']:g})"
        )
    if data["departures"]:
        lines.append("FAILED: same inputs, other outputs. Next: memory that something else writes, a cache, or other weights")
    return lines
