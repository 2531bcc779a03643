# SPDX-License-Identifier: MIT
"""A core without a board: its features, and the libraries that are made for it."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from aidge_build.base.errors import AidgeError
from aidge_build.boards import list_boards, load_board
from aidge_build.boards.cores import load_core
from aidge_build.build.inputs import add_model_arguments, default_libraries, find_libraries, load, load_libraries

DIGITS = Path(__file__).resolve().parents[2] / "examples/digits/digits.onnx"


def libraries(*words: str) -> list[str]:
    parser = argparse.ArgumentParser()
    add_model_arguments(parser)
    return [library.name for library in load(parser.parse_args([*words, str(DIGITS)]), "digits").libraries if library.kernels]


@pytest.mark.parametrize(
    "cpu, fpu, features",
    [
        ("cortex-m0", "", "narrow"),
        ("cortex-m23+nodsp", "", "narrow"),
        ("cortex-m3", "", "thumb2"),
        ("cortex-m4", "", "thumb2 dsp"),
        ("cortex-m4", "fpv4-sp-d16", "thumb2 dsp fpu"),
        ("cortex-m33+nodsp", "", "thumb2"),
        ("cortex-m33+nodsp+nofp", "auto", "thumb2"),
        ("cortex-m7+nofp.dp", "auto", "thumb2 dsp fpu"),
        ("cortex-m55", "auto", "thumb2 dsp fpu mve"),
        ("cortex-m55+nomve.fp", "auto", "thumb2 dsp fpu"),
        ("cortex-m85+nopacbti", "auto", "thumb2 dsp fpu mve"),
    ],
)
def test_features_follow_from_the_core_its_extensions_and_the_fpu(cpu, fpu, features):
    assert load_core(cpu).features_with(fpu) == frozenset(features.split())


@pytest.mark.parametrize(
    "cpu, message", [("cortex-a9", "unknown core 'cortex-a9'"), ("cortex-m4+turbo", "unknown extension 'turbo'")]
)
def test_an_unknown_core_or_extension_is_refused(cpu, message):
    with pytest.raises(AidgeError, match=message):
        load_core(cpu)


@pytest.mark.parametrize("name", [name for name in list_boards() if name != "host"])
def test_a_core_gets_the_libraries_of_the_boards_that_have_it(name):
    board = load_board(name)
    assert load_core(board.cpu).features_with(board.fpu) == board.core.features_with(board.fpu) == board.features
    assert libraries(f"--cpu={board.cpu}", *([f"--fpu={board.fpu}"] if board.fpu else [])) == list(board.libs)


def test_a_core_without_an_fpu_gets_the_kernels_for_its_dsp_instructions():
    assert libraries("--cpu=cortex-m4") == libraries("--cpu=cortex-m33+nofp", "--fpu=auto") == ["cortexm", "armv7m", "ref"]


def test_a_core_without_dsp_instructions_gets_the_kernels_for_thumb_2_or_for_16_bit_instructions():
    assert libraries("--cpu=cortex-m3") == libraries("--cpu=cortex-m33+nodsp", "--fpu=auto") == ["armv7m", "ref"]
    assert libraries("--cpu=cortex-m0") == libraries("--cpu=cortex-m23") == ["armv6m", "ref"]


@pytest.mark.parametrize(
    "cpu, wanted",
    [
        *((cpu, ["rv32", "ref"]) for cpu in ("rv32im", "rv32imc", "rv32imac", "rv32imafc", "hazard3", "rv32gc+ilp32d")),
        *((cpu, ["rv32", "ref"]) for cpu in ("rv32emc", "rv32ec-zmmul", "rv32ec_zmmul+ilp32e", "rv32imac+ilp32e")),
        *((cpu, ["ref"]) for cpu in ("rv32i", "rv32ec", "rv32im+ilp32e")),
    ],
)
def test_a_risc_v_core_without_products_gets_portable_c(cpu, wanted):
    assert libraries(f"--cpu={cpu}") == wanted


def test_a_named_library_comes_before_the_features():
    assert libraries("--cpu=cortex-m4", "--fpu=auto", "--lib=ref") == ["ref"]


def chosen(found: dict[str, Path], cpu: str, fpu: str = "") -> list[str]:
    core = load_core(cpu)
    return default_libraries(found, core.features_with(fpu), core)


def write(folder: Path, name: str, line: str) -> None:
    (folder / name).mkdir()
    (folder / name / "library.toml").write_text(f'name = "{name}"\n{line}\n')


def test_a_library_of_the_users_says_itself_which_cores_it_is_for(tmp_path):
    for name, line in {
        "fast": 'default_for = ["dsp", "fpu"]',
        "less": 'default_for = ["dsp"]',
        "anywhere": "default_for = []",
        "silent": "",
    }.items():
        write(tmp_path, name, line)
    found = find_libraries([tmp_path])
    assert chosen(found, "cortex-m4", "auto") == ["fast", "less", "cortexm", "armv7m", "anywhere", "ref"]
    assert chosen(found, "cortex-m4") == ["less", "cortexm", "armv7m", "anywhere", "ref"]
    assert chosen(found, "cortex-m3") == ["armv7m", "anywhere", "ref"]
    assert chosen(found, "cortex-m0") == ["armv6m", "anywhere", "ref"]


@pytest.mark.parametrize(
    "line, message",
    [
        ('default_for = ["simd"]', "wants a list of what a core must have"),
        ('default_for = "dsp"', "wants a list"),
        ('language = "c++"\ndefault_for = []', "only taken where it is named"),
    ],
)
def test_what_a_library_says_about_cores_is_checked(tmp_path, line, message):
    write(tmp_path, "mine", line)
    with pytest.raises(AidgeError, match=message):
        default_libraries(find_libraries([tmp_path]), frozenset())


def test_a_library_is_found_by_its_own_name_and_by_that_of_its_folder_and_is_loaded_once(tmp_path):
    folder = tmp_path / "checkout-of-mine"
    folder.mkdir()
    (folder / "library.toml").write_text('name = "mine"\n')
    found = find_libraries([folder])
    for names in (["mine"], ["checkout-of-mine"], ["mine", "checkout-of-mine"]):
        assert [library.name for library in load_libraries(names, found)[0]] == ["mine"]
    with pytest.raises(AidgeError, match="there is no library 'mime'.*did you mean mine"):
        load_libraries(["mime"], found)


def test_a_manifest_that_cannot_be_read_is_complained_of_where_its_library_is_wanted(tmp_path):
    write(tmp_path, "broken", "name =")
    write(tmp_path, "mine", "")
    found = find_libraries([tmp_path])
    assert [library.name for library in load_libraries(["mine"], found)[0]] == ["mine"]
    with pytest.raises(AidgeError, match="broken/library.toml"):
        load_libraries(["broken"], found)


def test_a_library_that_is_added_or_changes_its_mind_is_a_dependency(tmp_path):
    write(tmp_path, "mine", 'default_for = ["mve"]')
    parser = argparse.ArgumentParser()
    add_model_arguments(parser)
    request = load(parser.parse_args(["--cpu=cortex-m4", f"--kernel-path={tmp_path}", str(DIGITS)]), "digits")
    assert {str(tmp_path), str(tmp_path / "mine/library.toml")} <= set(request.dependencies)
    assert "mine" not in [library.name for library in request.libraries]


def test_a_board_does_not_choose_that_its_core_has_16_registers(tmp_path):
    (tmp_path / "few.toml").write_text('extends = "qemu_riscv32"\ncpu = "rv32emc"\n')
    assert load_board("few", [tmp_path]).features == {"rv32m", "rv32e"}
