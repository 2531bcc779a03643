# SPDX-License-Identifier: MIT
"""--record: what the last inferences read and wrote, found in a dump of the firmware's RAM and run once more."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
from pathlib import Path

import numpy
import pytest

from aidge_build.boards import load_board
from aidge_build.plan.schedule.recording import sums_of
from aidge_build.prove.elf.image import read_image
from aidge_build.run.emulate.program import INSTRUCTION_LIMIT, Program
from aidge_build.run.toolchain import build_program
from tests.command import Result, aidge_build
from tests.programs import ROOT, needs_cross_compiler
from tests.sanitized import sanitized
from tests.stateful import MODELS, Stateful

DIGITS = ROOT / "examples" / "digits" / "digits.onnx"
STRESS = "AIDGE_STRESS" in os.environ
# Runs the inputs of a file and writes what a crash dump would hold: N_record between other bytes.
MAIN = """
#include "net.h"
#include <stdio.h>
static struct { INPUTS } in;
static struct { OUTPUTS } out;
int main(void)
{
    FILE *from = fopen("inputs.bin", "rb"), *to = fopen("ram.bin", "wb");
    while (fread(&in, sizeof in, 1, from) == 1)
        if (net_run(PASSED) != 0)
            return 1;
    (void)fwrite("others' bytes", 1, 13, to);
    (void)fwrite(net_record, 1, NET_RECORD_BYTES, to);
    (void)fwrite(&in, 1, sizeof in, to);
    return fclose(to);
}
"""


def ran(folder: Path, stateful: Stateful, count: int, *words: str) -> None:
    """A program for this machine that has run `count` random inputs and left ram.bin."""
    (folder / "net.onnx").write_bytes(stateful.file())
    made = aidge_build("compile", folder / "net.onnx", "--out", folder, "--board", "host", *stateful.words(), *words)
    assert made.exit_code == 0, made
    plan = json.loads((folder / "net.plan.json").read_text())
    values = numpy.random.default_rng(3)
    with (folder / "inputs.bin").open("wb") as file:
        for _ in range(count):
            for port in plan["inputs"]:
                file.write(values.normal(size=port["dims"]).astype(numpy.float32).tobytes())
    main = MAIN
    for word, struct in (("INPUTS", "inputs"), ("OUTPUTS", "outputs")):
        fields = (f"float {port['symbol']}[{port['size_bytes'] // 4}];" for port in plan[struct])
        main = main.replace(word, " ".join(fields))
    passed = [f"{side}.{port['symbol']}" for side in ("in", "out") for port in plan[f"{side}puts"]]
    (folder / "main.c").write_text(main.replace("PASSED", ", ".join(passed)))
    subprocess.run([str(sanitized(folder))], cwd=folder, check=True)


def on_host(folder: Path, stateful: Stateful, *words) -> Result:
    return aidge_build(
        "verify", folder / "net.onnx", "--board", "host", *stateful.words(), "--replay", folder / "ram.bin", *words
    )


@pytest.mark.parametrize("name", [*MODELS] if STRESS else ["a delay line of three"])
def test_each_inference_begins_with_the_state_that_it_had_in_the_firmware(name, tmp_path):
    ran(tmp_path, MODELS[name], 7, "--record", "3")
    result = on_host(tmp_path, MODELS[name], "--record", "3", "--layers", "--json")
    assert result.exit_code == 0, result
    data = result.json
    assert data["replay"]["inferences"] == [{"number": number, "ended": True} for number in (5, 6, 7)]
    assert data["replay"]["departures"] == [] and data["vectors"] == 3 and data["differing_values"] == 0


def test_the_dump_of_other_options_of_another_name_or_without_a_record_is_refused_in_a_line(tmp_path):
    stateful = MODELS["a running sum in place"]
    ran(tmp_path, stateful, 4, "--record", "3")
    other = on_host(tmp_path, stateful, "--record", "4")
    assert other.exit_code == 2 and "of other inputs, outputs or options" in other.stderr and other.stderr.count("\n") == 1, other
    named = on_host(tmp_path, stateful, "--record", "3", "--name", "kws")
    assert named.exit_code == 2 and "of other inputs, outputs or options" in named.stderr, named
    without = on_host(tmp_path, stateful)
    assert without.exit_code == 2 and "--record is missing" in without.stderr, without
    (tmp_path / "ram.bin").write_bytes(bytes(1000))
    empty = on_host(tmp_path, stateful, "--record", "3")
    assert empty.exit_code == 2 and "ram.bin: holds no record" in empty.stderr, empty


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ((), "the vectors are missing. Hint: --io-data zoo:digits/test.npz, or --replay DUMP"),
        (("--io-data", "x.npz", "--elf", "e"), "--elf: works only with --replay"),
        (("--replay", "d", "--dump-base", "0"), "--dump-base: works only with --elf"),
        (("--io-data", "x.npz", "--block", "b"), "--block: works only with --against"),
        (("--replay", "d", "--reference", "r"), "--reference: works only with --io-data"),
        (("--replay", "d", "--perturb", "3"), "--perturb: works only with --io-data"),
    ],
)
def test_options_that_do_not_belong_together(words, reason):
    result = aidge_build("verify", DIGITS, *words)
    assert result.exit_code == 2 and reason in result.stderr, result


FIRMWARE = """
#include "digits.h"
#include "semihosting.h"
static int8_t frame[DIGITS_INPUT_SIZE], scores[DIGITS_OUTPUT_SIZE];
int main(void)
{
    uint32_t number, index;
    for (number = 0; number < 6u; number++) {
        for (index = 0; index < DIGITS_INPUT_SIZE; index++)
            frame[index] = (int8_t)(number * 31u + index * index);
        if (digits_run(frame, scores) != 0)
            return 1;
    }
    return 0;
}
"""


def firmware(folder: Path, record: str = "4") -> tuple[Path, object]:
    board = load_board("mps2-an386")
    made = aidge_build("compile", DIGITS, "--out", folder, "--board", board.name, "--record", record)
    assert made.exit_code == 0, made
    assert f"record {44 + 100 * int(record)} B, weights" in made.stdout
    (folder / "main.c").write_text(FIRMWARE)
    sources = [folder / name for name in ("digits.c", "digits_weights.c", "main.c")]
    return build_program(board, sources, folder / "app.elf", work_folder=folder / "objects", include_folders=[folder]), board


def ram_after(elf: Path, board, stop: str, times: int) -> bytes:
    """The memory of the data when the core comes by the function `stop` for the so many-th time."""
    import unicorn

    from aidge_build.run.emulate.unicorn_machine import Machine

    came = []

    def on_code(machine, address, size, _) -> None:
        came.append(address)
        if len(came) == times:
            machine.emu_stop()

    program = Program(read_image(elf), board, elf.parent, ("app",), False, "", (), INSTRUCTION_LIMIT)
    machine = Machine(program)
    try:
        address = program.image.symbol(stop).address
        machine.machine.hook_add(unicorn.UC_HOOK_CODE, on_code, begin=address, end=address)
        machine._execute(machine._reset(), 0xFFFFFFFE)
        region = board.region("data")
        return machine.read(region.origin, region.length_bytes)
    finally:
        machine.semihosting.close()
        machine.release()


@needs_cross_compiler
def test_run_dumps_nothing_where_one_of_the_symbols_has_no_bytes_in_memory(tmp_path):
    elf, board = firmware(tmp_path)
    for dump, emulator, reason in (
        ("digits_recrd=b", "unicorn", "no symbol digits_recrd. Hint: did you mean 'digits_record'?"),
        ("__stack_top=b", "unicorn", "does not say the size of __stack_top"),
        ("digits_record=a", "unicorn", "a is named twice"),
        ("digits_record=b", "qemu", "works only in Unicorn. Hint: add --emulator unicorn"),
        ("digits_record=", "unicorn", "'digits_record=' is not SYMBOL=FILE"),
    ):
        words = ("run", elf, "--board", board.name, "--emulator", emulator, "--dump", "frame=a", "--dump", dump)
        with contextlib.chdir(tmp_path):
            refused = aidge_build(*words)
        assert refused.exit_code == 2 and reason in refused.stderr and not (tmp_path / "a").exists(), refused


@needs_cross_compiler
def test_a_program_of_several_models_is_asked_for_a_name_and_one_without_a_record_says_so(tmp_path):
    board = load_board("mps2-an386")
    for name, words in (("kws", ("--record", "2")), ("sww", ())):
        assert aidge_build("compile", DIGITS, "--out", tmp_path, "--board", board.name, "--name", name, *words).exit_code == 0
    (tmp_path / "main.c").write_text(
        '#include "kws.h"\n#include "sww.h"\nstatic int8_t frame[KWS_INPUT_SIZE], scores[KWS_OUTPUT_SIZE];\n'
        "int main(void) { return kws_run(frame, scores) + sww_run(frame, scores); }\n"
    )
    sources = sorted(tmp_path.glob("*.c"))
    elf = build_program(board, sources, tmp_path / "two.elf", work_folder=tmp_path / "objects", include_folders=[tmp_path])
    dump = tmp_path / "ram.bin"
    assert aidge_build("run", elf, "--board", board.name, "--dump", f"kws_record={dump}").exit_code == 0
    replayed = ("verify", DIGITS, "--board", board.name, "--replay", dump, "--elf", elf)
    several = "two.elf: has several models: kws, sww. Hint: add --name NAME, e.g. --name kws"
    for words, reason in (
        ((), several),
        (("--record", "2"), several),
        (("--name", "digits"), "two.elf: has no model digits: its models are kws, sww. Hint: add --name"),
        (("--name", "sww"), "two.elf: this program keeps no record of sww."),
        (("--name", "sww", "--record", "2"), "two.elf: this program keeps no record of sww."),
    ):
        refused = aidge_build(*replayed, *words)
        assert refused.exit_code == 2 and reason in refused.stderr, (words, refused)
    assert "inferences 1 to 1, as recorded" in aidge_build(*replayed, "--name", "kws").stdout
    against = aidge_build("verify", DIGITS, "--board", board.name, "--io-data", "x.npz", "--against", elf)
    assert against.exit_code == 2 and several in against.stderr, against


@needs_cross_compiler
def test_a_core_that_stopped_within_an_inference_leaves_its_input_and_those_before(tmp_path):
    elf, board = firmware(tmp_path)
    dump = ram_after(elf, board, "digits_pool2", 5)
    (tmp_path / "ram.bin").write_bytes(dump)
    base = hex(board.region("data").origin)
    command = ["verify", DIGITS, "--board", board.name, "--record", "4", "--replay", tmp_path / "ram.bin"]
    (tmp_path / "retrained.onnx").write_bytes(DIGITS.read_bytes())  # the only model of the firmware, by another name
    looked_for = aidge_build("verify", tmp_path / "retrained.onnx", *command[2:4], *command[6:], "--elf", elf)
    assert "inferences 2 to 5, as recorded" in looked_for.stdout, looked_for  # options and place from firmware and dump
    result = aidge_build(*command, "--elf", elf, "--dump-base", base, *(["--layers"] if STRESS else []))
    assert result.exit_code == 0 and "inferences 2 to 5, as recorded\ninference 5 had not ended\n" in result.stdout, result
    assert "record of the last 4 inferences: 444 B of RAM, " in result.stdout
    assert ", record 444 B = plan" in aidge_build("check", elf, "--board", board.name).stdout
    elsewhere = aidge_build(*command, "--elf", elf, "--dump-base", "0x1FFFFFFC")
    assert elsewhere.exit_code == 2 and "no record begins there" in elsewhere.stderr, elsewhere

    ran = aidge_build(
        "run", elf, "--board", board.name, "--emulator", "unicorn", "--dump", f"digits_record={tmp_path / 'end.bin'}"
    )
    assert ran.exit_code == 0 and "end.bin: 444 B of digits_record, from address 0x" in ran.stdout, ran
    at_the_end = aidge_build(*command[:-1], tmp_path / "end.bin")
    assert at_the_end.exit_code == 0 and "inferences 3 to 6, as recorded" in at_the_end.stdout, at_the_end

    symbol = read_image(elf).symbol("digits_record")
    start = symbol.address - board.region("data").origin
    (tmp_path / "ram.bin").write_bytes(dump[: start + 100] + bytes([dump[start + 100] ^ 4]) + dump[start + 101 :])
    damaged = aidge_build(*command)
    assert damaged.exit_code == 2 and "is damaged" in damaged.stderr and damaged.stderr.count("\n") == 1, damaged


def test_the_plan_has_the_bytes_of_the_record(tmp_path):
    assert aidge_build("compile", DIGITS, "--out", tmp_path, "--board", "mps2-an386", "--record", "5").exit_code == 0
    assert json.loads((tmp_path / "digits.plan.json").read_text())["record"] == {
        "slots": 5,
        "slot_bytes": 100,
        "size_bytes": 544,
    }


@needs_cross_compiler
@pytest.mark.skipif(not STRESS, reason="AIDGE_STRESS: two more programs")
def test_verify_counts_what_a_record_costs(tmp_path):
    numpy.savez(tmp_path / "io.npz", x=numpy.random.default_rng(1).integers(-128, 128, (2, 1, 1, 8, 8)).astype(numpy.int8))
    words = ["verify", DIGITS, "--io-data", tmp_path / "io.npz", "--board", "mps2-an386", "--json"]
    plain, recorded = aidge_build(*words).json, aidge_build(*words, "--record", "4").json
    more = recorded["instructions_per_inference"] - plain["instructions_per_inference"]
    assert recorded["record"]["size_bytes"] == 444 and abs(more - recorded["record"]["instructions"]) <= 10
    assert "record" not in plain


def test_what_the_firmware_computed_is_compared_with_what_is_computed_here(tmp_path):
    """The arena of a firmware is overwritten by something else: same inputs, other outputs."""
    stateful = MODELS["two states that change places"]
    ran(tmp_path, stateful, 3, "--record", "3")
    dump = bytearray((tmp_path / "ram.bin").read_bytes())
    slot = 13 + 44 + 1 * (24 + 32 + 16 + 16)
    dump[slot + 24 + 32 + 16 + 3] ^= 0x40  # the first output of the second inference, and its sums
    first, second = sums_of(bytes(dump[slot + 24 + 32 + 16 : slot + 24 + 32 + 16 + 16]))
    dump[slot + 16 : slot + 24] = first.to_bytes(4, "little") + second.to_bytes(4, "little")
    (tmp_path / "ram.bin").write_bytes(dump)
    result = on_host(tmp_path, stateful, "--record", "3")
    assert result.exit_code == 1 and "inference 2 gave other values in the firmware: output 'y', 1 of 4" in result.stdout, result
    assert "0 of 12 values differ from the numpy backend" in result.stdout
    assert result.stdout.count("gave other values") == 1
