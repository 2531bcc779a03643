# SPDX-License-Identifier: MIT
"""The commands of gdb on QEMU's own server, which looks like a debug probe: values are numpy's, and faults are found.

One board and one RISC-V core; AIDGE_STRESS=1 takes more boards and options.
"""

from __future__ import annotations

import argparse
import ast
import io
import os
import re
import shutil
import subprocess
import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy
import pytest

from aidge_build.base.installed import gdb_script
from aidge_build.base.npz import read_npz
from aidge_build.boards import load_board
from aidge_build.build.compile import build_program
from aidge_build.build.inputs import add_model_arguments, load
from aidge_build.run.verify import firmware
from aidge_build.run.verify.layer_values import layer_values
from aidge_build.run.verify.vectors import random_vectors
from tests.programs import needs_cross_compiler, needs_qemu, needs_riscv
from tests.qemu_server import qemu_server

GDB = shutil.which("gdb-multiarch")
pytestmark = [needs_qemu, pytest.mark.skipif(GDB is None, reason="needs gdb-multiarch")]
MODEL = Path(__file__).resolve().parents[2] / "examples" / "keyword" / "keyword.onnx"
MARK = "==next==\n"
SCRIPT = f"""
for each in %s:
    print({MARK!r}, end="")
    try:
        print(gdb.execute(each, to_string=True), end="")
    except gdb.error as error:
        print("refused:", error)
"""


@dataclass(frozen=True)
class Build:
    """A linked program, and the values of its layers."""

    board: str
    elf: Path
    values: Path


def made(folder: Path, board: str, *words: str) -> Build:
    """The keyword example, which has states, layers in place, and tensors that are other names of others."""
    parser = argparse.ArgumentParser()
    add_model_arguments(parser)
    program = build_program(load(parser.parse_args([str(MODEL), "--board", board, *words]), "kws"))
    harness = firmware._harness(program, False, attached=True)
    elf, _ = firmware._build(program, load_board(board), folder, firmware.Run(), harness)
    (folder / "values.npz").write_bytes(layer_values(program, random_vectors(program.view, 2, seed=3)))
    return Build(board, elf, folder / "values.npz")


def told(build: Build, *commands: str) -> list[str]:
    """The answer of each command, in one session of gdb and QEMU; a refusal begins with "refused: "."""
    with qemu_server(build.board, build.elf) as where:
        return answers(build.elf, f"target remote {where}", *commands)[1:]


def answers(elf: Path, *commands: str) -> list[str]:
    script = elf.with_suffix(".py")
    script.write_text(SCRIPT % (list(commands),))
    words = [GDB, "-nx", "-batch", "-x", str(gdb_script()), "-x", str(script), str(elf)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    return done.stdout.split(MARK)[1:] or [done.stderr]


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Build:
    if shutil.which("arm-none-eabi-gcc") is None:
        pytest.skip("needs arm-none-eabi-gcc")
    return made(tmp_path_factory.mktemp("gdb"), "mps2-an386")


@pytest.fixture(scope="module")
def session(built) -> dict[str, str]:
    """One session with all facts: a name for each command -> its answer."""
    values = built.values
    commands = {
        "diff before N_run": f"aidge diff {values}",
        "break at N_run": "break *kws_run",
        "come to N_run": "continue",
        "diff of other inputs": f"aidge diff {values}",
        "feed": f"aidge feed {values} 1",
        "diff at N_run": f"aidge diff {values}",
        "break in a layer": "break kws_conv_2",
        "come to the layer": "continue",
        "tensors": "aidge tensors",
        "all tensors": "aidge tensors all",
        "diff at the layer": f"aidge diff {values}",
        "show": "aidge show Conv 0,3,12",
        "show an overwritten one": "aidge show audio_0_Concat_0",
        "show a later one": "aidge show scores",
        "show nothing": "aidge show nothing",
        "show no row": "aidge show Conv 0,99",
        "show no number": "aidge show Conv x",
        "arena": "aidge arena &kws_arena",
        "arena elsewhere": "aidge arena 0x20100000",
        "aidge alone": "aidge",
        "no command": "aidge shows Conv",
        "an interrupt writes": "set *(char *)(0x20001000 + 3 * 80 + 7) ^= 0x40",
        "diff of the damaged one": f"aidge diff {values}",
        "watch": "aidge watch Relu_2_quantized",
        "come to the write": "continue",
        "who writes": "python print(_model().now()[2])",
        "remove": "delete",
        "layers": f"aidge layers {values}",
        "diff behind the layers": f"aidge diff {values} 0",
        "a wrong weight": "set *(int *)((char *)&kws_conv_3_stream + 400) ^= 0x40404040",
        "layers of wrong weights": f"aidge layers {values} 1",
        "differing": "print $aidge_differing",
    }
    return dict(zip(commands, told(built, *commands.values()), strict=True))


def test_inputs_are_written_and_recognized_where_the_firmware_has_them(session):
    assert "the address of input is known after a stop at *kws_run" in session["diff before N_run"]
    assert "the inputs are no vector of" in session["diff of other inputs"]
    assert session["feed"] == "vector 1 of 2: audio_pcm, audio_past, audio_tail, decision_past\n"
    assert session["diff at N_run"].splitlines() == [
        "in kws_run, 0 of 15 layers complete; vector 1",
        "4 of 4 tensors in memory are equal; 15 are not in memory now",
    ]


def test_a_layer_shows_its_tensors_and_whether_they_are_in_memory(session):
    here, read, written = session["tensors"].splitlines()
    assert here == "at the start of layer 'Conv_2'"
    assert re.fullmatch(
        r"  Relu_quantized: int8 \[1, 8, 13, 10\], 1040 B at 0x20001000, scale 0\.0703\d+, zero point -128; in memory", read
    )
    assert written.endswith("at 0x20001000, scale 0.149501115, zero point -128; not written yet: layer 'Conv_2' does")
    states = {line.split(":")[0].strip(): line.partition("; ")[2] for line in session["all tensors"].splitlines()[1:]}
    assert states["audio_past"] == "overwritten by layer 'audio_Concat_6' ('audio_past_next_next')"
    assert states["audio_12_Reshape_0"] == states["audio_past_next_next"] == "in memory"  # two names of the same bytes
    assert states["Flatten_quantized"] == "not written yet: layer 'GlobalMaxPool' does"


def test_values_are_those_of_numpy_in_the_order_of_the_model(session, built):
    row = read_npz(built.values)["Relu_quantized"][1, 0, 3, 12]
    title, stored, real = session["show"].splitlines()
    assert stored == f"  [0,3,12,:] {' '.join(map(str, row))}" and len(set(row)) > 2
    assert real == f"     real {' '.join(f'{(int(one) + 128) * 0.0703873262:.4g}' for one in row)}"


@pytest.mark.parametrize(
    "command, reason",
    [
        ("show an overwritten one", "'audio_0_Concat_0' is overwritten by layer 'Conv' ('Relu_quantized')"),
        ("show a later one", "'scores' is not written yet: layer 'Gemm' does"),
        ("show nothing", "there is no tensor or layer 'nothing': `aidge tensors all` lists them"),
        ("show no row", "'Relu_quantized' has no rows that begin with [0, 99]: its dims are [1, 8, 13, 10]"),
        ("show no number", "'x' is no whole number, or several with commas between them"),
    ],
)
def test_values_that_are_not_there_are_refused_with_the_reason(session, command, reason):
    assert session[command] == f"refused: aidge: {reason}\n"


def test_the_owners_of_an_address_are_told_in_their_order(session):
    assert session["arena"].splitlines()[1:4] == [
        "  Relu_quantized [0, 0, 0, 0]; in memory",
        "  Relu_2_quantized [0, 0, 0, 0]; not written yet: layer 'Conv_2' does",
        "  Relu_3_quantized [0, 0, 0, 0]; not written yet: layer 'Conv_3' does",
    ]
    assert "  scratch of Gemm, during layer 'Gemm'" in session["arena"]
    assert session["arena elsewhere"].splitlines()[1:] == ["  the plan keeps nothing at 0x20100000"]


def test_a_word_that_is_no_command_is_refused_and_none_lists_them(session):
    assert "aidge watch -- Stop when" in session["aidge alone"]
    assert session["no command"].startswith("refused: ")


def test_a_byte_that_another_writes_is_found(session):
    assert "6 of 6 tensors in memory are equal" in session["diff at the layer"]
    damaged = session["diff of the damaged one"]
    assert "  Relu_quantized (layer 'Conv'): 1 of 1040 values differ by up to 64; the first is [0, 7, 3, 0]: " in damaged
    assert "5 of 6 tensors in memory are equal" in damaged


def test_a_watched_tensor_names_its_writer_in_assembly_without_frames(session):
    assert "written by layer 'Conv_2', as planned: 'Relu_2_quantized'" in session["come to the write"]
    assert session["who writes"] == "in layer 'Conv_2'\n"


def test_a_whole_inference_stops_behind_the_first_wrong_layer(session):
    assert session["layers"].splitlines()[1:] == ["vector 0: 15 of 15 layers are equal"]
    assert "9 of 9 tensors in memory are equal; 10 are not" in session["diff behind the layers"]
    *_, difference, stopped = session["layers of wrong weights"].splitlines()
    assert re.match(
        r"  Relu_3_quantized \(layer 'Conv_3'\): \d+ of 192 values differ by up to \d+; the first is \[0, \d+, ", difference
    )
    assert stopped == "stopped behind the first layer that differs: in kws_run, 7 of 15 layers complete"
    assert session["differing"].startswith("$1 = 1\n")


RISCV = ("qemu_riscv32", "--arena", "caller")
MORE = [
    ("mps3-an547", "--io", "arena", "--arena", "caller"),
    ("mps2-an500", "--io", "arena"),
    ("mps2-an505", "--update", "weights"),
]


@needs_riscv
@needs_cross_compiler
@pytest.mark.parametrize("words", [RISCV, *(MORE if os.environ.get("AIDGE_STRESS") else [])], ids=" ".join)
def test_layers_are_equal_wherever_the_arena_and_the_inputs_are(tmp_path, words):
    build = made(tmp_path, *words)
    layers, _, _, tensors = told(build, f"aidge layers {build.values} 1", "break *kws_conv", "continue", "aidge tensors")
    assert re.search(r"vector 1: (\d+) of \1 layers are equal", layers)
    assert tensors.startswith("at the start of layer 'Conv'\n") and "audio_12_Reshape_0" in tensors and "; in memory\n" in tensors


@pytest.mark.skipif(not os.environ.get("AIDGE_STRESS"), reason="AIDGE_STRESS=1 takes all options")
@pytest.mark.parametrize("words", [("--max-step", "20000"), ("--ram-budget", "1535")], ids=" ".join)
def test_a_model_in_steps_or_by_rows_is_compared_in_its_layers(tmp_path, words):
    build = made(tmp_path, "mps2-an386", *words)
    commands = ["break *kws_run", "continue", f"aidge feed {build.values} 1", "break kws_gemm", "continue"]
    *_, diff, _, layers = told(build, *commands, f"aidge diff {build.values} 1", "delete", f"aidge layers {build.values}")
    assert re.match(r"at the start of layer 'Gemm'; vector 1\n(\d+) of \1 tensors in memory are equal", diff)
    assert ("kws_run computes in steps or by rows: break in a layer" in layers) == (words[0] == "--max-step")
    assert ("vector 0: 15 of 15 layers are equal" in layers) == (words[0] != "--max-step")


def test_a_program_that_ends_before_the_next_inference_is_said_to_have_ended(built):
    ending = ["set $sp = 0", "set $pc = 0xf0000000", f"aidge layers {built.values}"]  # QEMU ends when the core locks up
    assert told(built, *ending)[-1].startswith("refused: aidge: the program ended, or its server did (")


def damaged(values: Path, folder: Path) -> dict[str, bytes]:
    """Files that are no values of the program, by the reason for which they are refused."""
    whole = values.read_bytes()
    arrays = read_npz(values)
    inputs = io.BytesIO()
    numpy.savez(inputs, x=arrays["audio_pcm"])
    cut = io.BytesIO()
    with zipfile.ZipFile(values) as archive, zipfile.ZipFile(cut, "w") as made:
        for name in archive.namelist():
            made.writestr(name, archive.read(name)[: -1 if name == "scores.npy" else None])
    foreign = io.BytesIO()
    numpy.savez(foreign, **{**arrays, "aidge": numpy.frombuffer(b'{"model_sha256": "00"}', numpy.uint8)})
    return {
        "is no whole NPZ file: File is not a zip file": whole[: len(whole) // 2],
        "is no whole NPZ file: Bad CRC-32": whole.replace(arrays["scores"].tobytes(), b"\x55" * arrays["scores"].size),
        "is no whole NPZ file: an array is cut": cut.getvalue(),
        "has no values of layers: aidge-build verify MODEL --io-data": inputs.getvalue(),
        "is of another model, board or options than kws": foreign.getvalue(),
    }


def test_files_that_are_no_values_and_plans_of_other_builds_are_refused_in_one_line(built, tmp_path):
    reasons = damaged(built.values, tmp_path)
    for number, content in enumerate(reasons.values()):
        (tmp_path / f"{number}.npz").write_bytes(content)
    plan = (built.elf.parent / "kws.plan.json").read_text()
    digest = re.search(r'"code": "([0-9a-f]{12})"', plan)[1]
    (tmp_path / "other.plan.json").write_text(plan.replace(digest, "0" * 12))
    (tmp_path / "no.plan.json").write_text("{}")
    commands = [f"aidge diff {tmp_path / str(number)}.npz" for number in range(len(reasons))]
    commands += [f"aidge plan {tmp_path / name}.plan.json" for name in ("other", "no", "gone")] + ["aidge tensors"]
    expected = [
        *reasons,
        "is not of the build of this program: build again",
        "is no plan of this version of aidge-build",
        "gone.plan.json cannot be read: No such file or directory",
    ]
    found = answers(built.elf, *commands)
    for answer, reason in zip(found, [*expected, "the program does not run: start it"], strict=True):
        assert answer.startswith("refused: aidge: ") and reason in answer and answer.count("\n") == 1


def test_the_commands_are_written_for_the_python_of_old_gdbs():
    for path in gdb_script().parent.glob("*.py"):
        ast.parse(path.read_text(), feature_version=(3, 6))
