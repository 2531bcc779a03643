# SPDX-License-Identifier: MIT
"""Cores are values read from TOML; a user's core costs one file beside the boards."""

from __future__ import annotations

import argparse
from pathlib import Path
from unittest.mock import Mock

import pytest

from aidge_build.base.errors import AidgeError
from aidge_build.boards import load_board
from aidge_build.boards.cores import THUMB, all_cores, core_of_machine, find_core, list_cores, load_core, runs_code_of
from aidge_build.build.compile import compile
from aidge_build.build.inputs import add_model_arguments, load
from aidge_build.run.toolchain.compiler import Compiler

DIGITS = Path(__file__).resolve().parents[2] / "examples/digits/digits.onnx"
OWN = 'machines = ["RISCV"]\ntoolchain = "riscv32-unknown-elf-"\n'


def write(folder: Path, text: str, name: str = "cores/mine") -> Path:
    path = folder / f"{name}.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return folder


def refusal(folder: Path) -> str:
    with pytest.raises(AidgeError) as caught:
        load_core("mine", [folder])
    assert caught.value.exit_code == 2 and caught.value.code == "BOARD" and caught.value.hint
    assert str(folder) in caught.value.where
    return str(caught.value)


def test_every_built_in_core_says_what_reads_its_programs():
    for core in all_cores():
        if core.is_portable:
            assert core.name == "generic" and core.possible_features == frozenset() and not core.machines and not core.toolchain
            continue
        assert core.machines and core.is_native == (core.name == "host") == (not core.toolchain)
        assert core.calls or core.is_native
        assert (core.stack == THUMB) == (core.machines == ("ARM",)) == bool(core.architecture)
        assert core.architecture == "" or core.architecture in core.runs
        assert core.features | core.may_have <= set(core.known_features)


def test_an_architecture_runs_the_code_of_those_before_it_and_of_no_other():
    cores = {core.architecture for core in all_cores()} - {""}
    assert sorted(name for name in cores if runs_code_of("v8-M.mainline", name)) == [
        "v6-M",
        "v7-M",
        "v7E-M",
        "v8-M.baseline",
        "v8-M.mainline",
    ]
    assert [name for name in sorted(cores) if runs_code_of("v8-M.baseline", name)] == ["v6-M", "v8-M.baseline"]
    assert not runs_code_of("v9-M", "v6-M")


def test_a_users_core_is_one_file_beside_the_boards(tmp_path):
    write(tmp_path, f'{OWN}flags = ["-march=rv32imc"]\n')
    assert "mine" in list_cores([tmp_path]) and "mine" not in list_cores()
    core = load_core("mine", [tmp_path])
    assert (core.toolchain, core.stack, core.features, core.pointer_bytes) == ("riscv32-unknown-elf-", "none", frozenset(), 4)
    assert core_of_machine("RISCV", [tmp_path]) is not None and find_core("mine") is None
    parser = argparse.ArgumentParser()
    add_model_arguments(parser)
    request = load(parser.parse_args(["--cpu=mine", f"--board-path={tmp_path}", str(DIGITS)]), "digits")
    assert request.cpu == "mine" and [library.name for library in request.libraries if library.kernels] == ["ref"]
    assert str(tmp_path / "cores/mine.toml") in request.dependencies


def test_a_users_board_has_a_core_of_the_users(tmp_path):
    board = 'extends = "rp2040"\ncpu = "mine"\nfloat_abi = "ilp32"\nfeatures = ["wide"]\n'
    core = 'flags = ["-march=rv32imc", "-mabi={float_abi}", "-mfpu={fpu}"]\n[known_features]\nwide = { title = "wide loads" }\n'
    write(write(tmp_path, OWN + core), board, "node")
    found = load_board("node", [tmp_path])
    assert found.compiler_flags[:3] == ("-march=rv32imc", "-mabi=ilp32", "-O2") and found.features == {"wide"}
    assert str(tmp_path / "cores/mine.toml") in found.files


def test_a_users_core_builds_on_a_built_in_one_and_hides_one_of_its_name(tmp_path):
    write(tmp_path, 'extends = "cortex-m7"\ncache_line = 64\n[extensions]\nslow = ["dsp"]\n')
    core = load_core("mine+slow", [tmp_path])
    assert core.cache_line == 64 and "nofp" in core.extensions and core.features_with() == {"thumb2"}
    write(tmp_path, 'extends = "armv7e-m"\nfeatures = []\n', "cores/cortex-m4")
    assert load_core("cortex-m4", [tmp_path]).features == frozenset() != load_core("cortex-m4").features


@pytest.mark.parametrize(
    "text, message",
    [
        (f'{OWN}toolchian = "x"\n', "unknown key 'toolchian'. Hint: did you mean 'toolchain'?"),
        (f"{OWN}cache_line = true\n", "key 'cache_line' has the wrong type of value: True"),
        (f"{OWN}runs = [1]\n", "key 'runs' must be a list of strings"),
        ('extends = "armv7"\n', "there is no core 'armv7'. Hint: did you mean 'armv7-m'? Cores: cortex-m0"),
        ('extends = "mine"\n', "cores extend each other in a cycle: mine -> mine"),
        ('toolchain = "x-"\n', "key 'machines' is missing"),
        ('machines = ["RISCV"]\n', "key 'toolchain' is missing"),
        (f'{OWN}stack = "arm"\n', "key 'stack': 'arm' is not valid. Hint: valid: thumb, riscv, none"),
        (f'{OWN}calls = "none"\n', "key 'calls': 'none' is not valid"),
        (f'{OWN}features = ["wide"]\n', "key 'features': 'wide' is not valid. Hint: valid: none"),
        ('extends = "cortex-m4"\nmay_have = ["fppu"]\n', "key 'may_have': 'fppu' is not valid"),
        (f'{OWN}flags = ["-march={{arch}}"]\n', "key 'flags': 'arch' is not valid. Hint: valid: cpu, fpu, float_abi"),
        (f'{OWN}[extensions]\nnodsp = "dsp"\n', "extensions: key 'nodsp' has the wrong type of value"),
        ('extends = "cortex-m4"\n[extensions]\nless = ["simd"]\n', "key 'extensions.less': 'simd' is not valid"),
        (f"{OWN}[compiler_faults]\nall = 1\n", "compiler_faults: key 'all' has the wrong type of value"),
        (f"{OWN}[known_features]\nwide = 1\n", "known_features.wide: a table is expected here"),
        (f'{OWN}[known_features]\nwide = {{ implies = ["wide"] }}\n', "known_features.wide: key 'title' is missing"),
        (
            f'{OWN}[known_features]\nwide = {{ title = "w", implies = ["b"] }}\n',
            "key 'known_features.wide.implies': 'b' is not valid",
        ),
        (f'{OWN}[known_features]\nwide = {{ name = "w" }}\n', "unknown key 'name'"),
        ("machines = [", "cores/mine.toml"),
        (f'{OWN}timing = "cortex-m4"\n', "key 'timing': only code of Thumb and RISC-V is read"),
    ],
)
def test_a_wrong_core_file_is_refused_with_its_name_and_the_reason(tmp_path, text, message):
    assert message in refusal(write(tmp_path, text))


def test_code_for_a_core_that_nothing_is_known_about_is_portable_c_and_says_so(tmp_path):
    parser = argparse.ArgumentParser()
    add_model_arguments(parser)
    for cpu in ("generic", "rv64gc+lp64d"):
        words = ([f"--cpu={name}", str(DIGITS)] for name in (cpu, "host"))
        found = [compile(load(parser.parse_args(one), "digits")) for one in words]
        assert found[0].files["digits.c"] == found[1].files["digits.c"]
        said, others = (sources.manifest.get("notices", []) for sources in found)
        assert [line for line in said if line not in others] == [
            f"--cpu {cpu}: portable C: there are no optimised kernels for this core"
        ]


@pytest.mark.requirement("COMPILE")
def test_a_core_that_gcc_or_the_emulator_does_not_know_is_refused_with_the_key_of_its_file(tmp_path):
    message = "x-gcc: error: unrecognized -mcpu target: cortex-m99"
    with pytest.raises(AidgeError, match="-mcpu target: cortex-m99. Hint: install a newer compiler, or write `flags`"):
        Compiler("x-gcc", None).run(["sh", "-c", f"echo '{message}' >&2; exit 1"], "model.c")
    pytest.importorskip("unicorn")
    from aidge_build.run.emulate.unicorn_machine import Machine

    write(tmp_path, 'extends = "stm32f4"\ncpu = "cortex-m35p"\n', "node")
    unknown = Mock(program=Mock(board=load_board("node", [tmp_path])))
    with pytest.raises(AidgeError, match='no cortex-m35p. Hint: write unicorn = "NAME" into .*, one of CORTEX_M0, .*CORTEX_M7;'):
        Machine.core(unknown)


def test_a_core_without_tools_is_no_boards(tmp_path):
    write(tmp_path, 'extends = "rp2040"\ncpu = "generic"\n', "node")
    with pytest.raises(AidgeError, match="core 'generic' has no toolchain, and a board needs one"):
        load_board("node", [tmp_path])


def test_a_core_name_is_never_a_path(tmp_path):
    assert find_core("bases/cortex-m") is None and find_core("../boards/rp2040") is None and find_core("") is None
    assert find_core("n" * 5000) is None


@pytest.mark.requirement("BOARD")
@pytest.mark.parametrize(
    "cpu, message",
    [
        ("cortex-m44", "there is no core 'cortex-m44'. Hint: did you mean 'cortex-m4'? Cores: cortex-m0"),
        ("cortex-m4+turbo", "unknown extension 'turbo' of the core. Tried: cdecp0"),
    ],
)
def test_a_board_whose_core_nobody_knows_is_refused_with_its_file(tmp_path, cpu, message):
    write(tmp_path, f'extends = "rp2040"\ncpu = "{cpu}"\n', "node")
    with pytest.raises(AidgeError) as caught:
        load_board("node", [tmp_path])
    assert caught.value.code == "BOARD" and f"{tmp_path}/node.toml: cpu: {message}" in str(caught.value)
