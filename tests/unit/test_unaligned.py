# SPDX-License-Identifier: MIT
"""How the generator learns that no word may be read or written at any address, and what then changes."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pytest

from aidge_build.build.compile import build_program
from aidge_build.build.emit import emit
from aidge_build.build.inputs import add_model_arguments, load
from aidge_build.plan.program import Program
from tests.command import aidge_build
from tests.shared import int8_model

ROOT = Path(__file__).resolve().parents[2]
DIGITS = ROOT / "examples/digits/digits.onnx"  # its first layer has one input channel
M4 = ("--cpu=cortex-m4", "--fpu=auto")


def program(*words: str, model: Path = DIGITS, flags: tuple[str, ...] = ()) -> Program:
    parser = argparse.ArgumentParser()
    add_model_arguments(parser)
    arguments = parser.parse_args([*words, str(model)])
    return build_program(load(argparse.Namespace(**vars(arguments), flag=list(flags)), "net"))


def kernels(made: Program) -> set[str]:
    return {layer.kernel.library for layer in made.layers}


def own_board(folder: Path, *flags: str) -> tuple[str, str]:
    """Options for a board that compiles with these flags."""
    (folder / "own.toml").write_text(f'extends = "stm32f7"\ntitle = "own"\ncompiler_flags = {json.dumps(flags)}\n')
    return "--board=own", f"--board-path={folder}"


def test_layers_that_need_words_at_any_address_take_other_kernels_and_the_rest_keep_theirs():
    before, after = program(*M4), program(*M4, "--unaligned=off")
    changed = [one.symbol for one, other in zip(before.layers, after.layers) if one.kernel != other.kernel]
    assert changed == list(before.unaligned_layers) and 0 < len(changed) < len(before.layers)
    assert after.unaligned_layers == ()
    assert {layer.kernel.library for layer in after.layers if layer.symbol in changed} == {"armv7m"}


def test_the_build_says_the_flag_the_cost_and_what_would_help():
    page = " ".join((ROOT / "docs/builds.md").read_text(encoding="utf-8").split())
    (line,) = [
        notice for notice in program(*M4, "--unaligned=off", model=int8_model("kws_dscnn")).notices if "kernels of" in notice
    ]
    assert f"kws.onnx: {line}" in page
    assert [notice for notice in program(*M4).notices if "kernels of" in notice] == []


def test_flags_of_the_command_and_of_the_board_count_the_last_one_of_them(tmp_path):
    assert program(*M4, flags=("-mno-unaligned-access",)).is_aligned_only
    assert not program(*M4, flags=("-mno-unaligned-access", "-munaligned-access")).is_aligned_only
    own = own_board(tmp_path, "-O2", "-mno-unaligned-access")
    assert program(*own).is_aligned_only
    assert not program(*own, flags=("-munaligned-access",)).is_aligned_only
    assert not program(*own_board(tmp_path, "-O2")).is_aligned_only


@pytest.mark.parametrize("cpu", ["cortex-m0plus", "generic"])
def test_nothing_changes_for_cores_without_unaligned_access(cpu):
    before, after = (emit(program(f"--cpu={cpu}", f"--unaligned={word}")).files for word in ("on", "off"))
    assert before["net.c"] == after["net.c"] and before["net.h"] == after["net.h"]
    assert "unaligned" not in before["net.c"].decode()


@pytest.mark.parametrize("core", [("--cpu=cortex-m3",), ("--cpu=cortex-m55", "--fpu=auto")])
def test_code_whose_kernels_read_bytes_compiles_with_either_flag(core):
    made = program(*core)
    assert made.unaligned_layers == () and "unaligned" not in emit(made).files["net.c"].decode()


def test_the_claim_and_the_plan_say_whether_words_may_lie_anywhere(tmp_path):
    for word, expected in (("on", True), ("off", False)):
        done = aidge_build("compile", DIGITS, *M4, f"--unaligned={word}", "--name", "net", "--out", tmp_path)
        assert done.exit_code == 0, done.stderr
        assert json.loads((tmp_path / "net.plan.json").read_text())["claim"]["unaligned"] is expected


def test_inputs_and_outputs_must_lie_at_multiples_of_4_where_words_do():
    before, after = (emit(program(*M4, f"--unaligned={word}")).files["net.h"].decode() for word in ("on", "off"))
    assert "at a multiple of" not in before and after.count("at a multiple of 4 bytes") == 2


def test_without_assembly_the_compilers_flags_decide_alone():
    assert "unaligned" not in emit(program(*M4, "--assembly=off")).files["net.c"].decode()
