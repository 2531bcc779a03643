# SPDX-License-Identifier: MIT
"""The catalogue of build faults, F1 to F25: which test meets each, and the tests that stand nowhere else.

AIDGE_STRESS=1 sets up whole checkouts without a network and interrupts them.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import pytest

from aidge_build.boards import load_board
from aidge_build.run.toolchain import build_program
from tests.build.checkout import ROOT, copy_of_checkout
from tests.build.conftest import STUB
from tests.build.test_real_generator import DIGITS
from tests.command import aidge_build
from tests.models import model
from tests.served import served

BUILD, HERE = "tests/build/", "tests/build/test_fault_catalogue.py"
CATALOGUE = {
    1: [(BUILD + "test_build_faults.py", "test_a_killed_build_is_completed_by_the_next_one")],
    2: [
        (BUILD + "test_build_faults.py", "test_ctrl_c_ends_with_130_and_the_next_build_is_that_of_a_new_checkout"),
        (BUILD + "test_build_faults.py", "test_ctrl_c_ends_the_generator_with_130_and_leaves_nothing"),
    ],
    3: [(BUILD + "test_build_faults.py", "test_a_full_disk_is_one_line_with_the_file_and_no_file_is_half_written")],
    4: [(BUILD + "test_build_faults.py", "test_a_read_only_checkout_builds_into_a_folder_elsewhere")],
    5: [(BUILD + "test_build_faults.py", "test_a_read_only_folder_of_outputs_is_one_line")],
    6: [
        (BUILD + "test_build_faults.py", "test_two_builds_at_once_are_completed_by_the_next_one"),
        (BUILD + "test_build_faults.py", "test_several_generators_at_once_in_one_folder_all_succeed"),
    ],
    7: [
        (
            BUILD + "test_reproducible.py",
            "test_every_file_of_a_build_is_the_same_in_another_checkout_and_comes_from_a_shared_cache",
        )
    ],
    8: [
        (BUILD + "test_scons_dependencies.py", "test_a_changed_model_with_the_time_of_the_old_one_is_seen"),
        (BUILD + "test_scons_dependencies.py", "test_touching_the_model_and_the_sources_runs_nothing"),
    ],
    9: [
        (
            BUILD + "test_build_faults.py",
            "test_a_model_that_is_replaced_while_the_generator_runs_is_said_and_read_by_the_next_build",
        )
    ],
    10: [(HERE, "test_a_model_behind_a_link_is_its_content_and_a_tree_that_moved_builds_nothing")],
    11: [(BUILD + "test_shell_characters.py", "test_scons_takes_every_name_and_value_as_it_is")],
    12: [
        (BUILD + "test_scons_headers.py", "test_two_models_whose_names_differ_in_upper_case_alone_are_refused"),
        (BUILD + "test_cmake.py", "test_two_targets_whose_names_differ_in_upper_case_alone_are_refused"),
    ],
    13: [
        (BUILD + "test_real_generator.py", "test_two_models_in_one_firmware_are_both_right_and_a_null_build_does_nothing"),
        (HERE, "test_one_file_may_be_five_models_of_a_firmware"),
    ],
    14: [(HERE, "test_a_model_that_left_the_firmware_is_not_linked_and_cleaning_removes_what_the_build_still_knows")],
    15: [(HERE, "test_another_board_in_the_same_tree_makes_what_a_new_tree_has")],
    16: [
        (BUILD + "test_scons_dependencies.py", "test_a_changed_option_regenerates"),
        (HERE, "test_another_generator_regenerates_and_compiles_only_what_changes"),
    ],
    17: [(BUILD + "test_scons_dependencies.py", "test_the_first_build_runs_every_step_once_and_a_null_build_no_command")],
    18: [
        (HERE, "test_without_a_compiler_there_is_one_line_and_exit_code_3"),
        (HERE, "test_a_temporary_folder_that_cannot_be_written_is_passed_over"),
        (HERE, "test_where_no_temporary_folder_can_be_written_there_is_one_line_and_exit_code_3"),
    ],
    19: [(HERE, "test_a_package_that_is_too_old_or_damaged_is_one_line_with_its_version")],
    20: [
        ("tests/unit/test_plugged_in.py", "test_what_a_kernel_raises_is_one_line_with_library_class_and_node"),
        ("tests/unit/test_plugged_in.py", "test_a_kernel_that_never_ends_is_named_when_it_is_interrupted_and_nothing_is_written"),
        (
            "tests/unit/test_plugged_in.py",
            "test_files_that_a_kernel_brings_along_are_text_of_the_model_wherever_they_say_to_lie",
        ),
        ("tests/unit/test_plugged_in.py", "test_more_calls_than_one_or_none_are_refused"),
        (HERE, "test_a_library_that_fails_fails_the_build_by_its_name_until_it_is_mended"),
    ],
    21: [
        (HERE, "test_without_a_network_and_with_a_proxy_that_is_not_there_everything_works"),
        (HERE, "test_a_set_up_without_a_network_is_one_line_and_exit_code_3"),
        (HERE, "test_a_set_up_that_was_interrupted_is_not_taken_for_a_finished_one"),
    ],
    22: [("tests/elf/test_link_overflow.py", "test_the_arena_and_the_weights_of_a_model_are_called_so")],
    23: [
        ("tests/elf/test_regions_and_check.py", "test_a_broken_claim_is_found"),
        ("tests/elf/test_seeded_faults.py", "test_a_seeded_fault_is_found"),
    ],
    24: [(HERE, "test_neither_the_year_nor_the_folder_is_in_what_is_generated")],
    25: [
        (
            BUILD + "test_reproducible.py",
            "test_every_file_of_a_build_is_the_same_in_another_checkout_and_comes_from_a_shared_cache",
        ),
        (BUILD + "test_scons_dependencies.py", "test_objects_come_from_a_cache_in_another_folder"),
    ],
}
STRESS = pytest.mark.skipif("AIDGE_STRESS" not in os.environ, reason="AIDGE_STRESS=1 sets up whole checkouts")


def test_every_fault_of_the_catalogue_has_its_tests():
    assert sorted(CATALOGUE) == list(range(1, 26))
    for number, tests in CATALOGUE.items():
        for path, name in tests:
            assert f"def {name}(" in (ROOT / path).read_text(), (number, path, name)


def test_a_model_behind_a_link_is_its_content_and_a_tree_that_moved_builds_nothing(project):
    real = project.write("elsewhere/real.onnx", "topology=A\nweights=1\n")
    (project.folder / "kws.onnx").unlink()
    (project.folder / "kws.onnx").symlink_to(real.relative_to(project.folder))
    project.build()
    assert project.build() == []
    real.write_text("topology=A\nweights=5\n")
    assert project.build() == ["AIDGE kws.c", "CC kws_weights.o", "LINK app.elf"]
    moved = type(project)(project.folder.with_name("moved"))
    shutil.copytree(project.folder, moved.folder, symlinks=True)
    assert moved.build() == []
    shutil.rmtree(project.folder)
    assert moved.build() == [] and str(project.folder).encode() not in (moved.folder / "app.elf").read_bytes()


def test_one_file_may_be_five_models_of_a_firmware(project):
    names = [f"net{number}" for number in range(5)]
    project.write(
        "main.c",
        "".join(f'#include "{name}.h"\n' for name in names)
        + f"int main(void) {{ return {' + '.join(f'{name}_run()' for name in names)}; }}\n",
    )
    models = ", ".join(f"env.AidgeModel('{name}', 'kws.onnx')" for name in names)
    project.sconstruct(f"app = env.Program('app.elf', ['main.c', {models}])\nenv.AidgeCheck(app)")
    steps = project.build()
    assert steps.count("LINK app.elf") == 1 and [f"AIDGE {name}.c" in steps for name in names] == [True] * 5
    assert subprocess.run([project.folder / "app.elf"], check=False).returncode == 5  # the sum of what each returns
    assert project.build() == []


def test_a_model_that_left_the_firmware_is_not_linked_and_cleaning_removes_what_the_build_still_knows(project):
    two = "app = env.Program('app.elf', ['main.c', env.AidgeModel('kws', 'kws.onnx'), env.AidgeModel('vad', 'kws.onnx')])\n"
    project.sconstruct(two)
    project.build()
    assert b"vad_run" in (project.folder / "app.elf").read_bytes()
    project.sconstruct("app = env.Program('app.elf', ['main.c', env.AidgeModel('kws', 'kws.onnx')])\n")
    assert project.build() == ["LINK app.elf"] and b"vad_run" not in (project.folder / "app.elf").read_bytes()
    project.sconstruct(two)
    project.scons("-c")
    left = {path.name for path in project.folder.iterdir()} - {".sconsign.dblite"}
    assert left == {"SConstruct", "main.c", "kws.onnx"}


BOARDS = """board = ARGUMENTS['board']
env.Append(CPPDEFINES=['FOR_' + board])
app = env.Program('app.elf', ['main.c', env.AidgeModel('kws', 'kws.onnx', board=board)])
"""


def test_another_board_in_the_same_tree_makes_what_a_new_tree_has(project, tmp_path):
    """Everything that depends on the board is made anew, and going back needs no clean either."""
    main = (
        project.read("main.c") + '#ifdef FOR_stm32f4\nconst char board[] = "f4";\n#else\nconst char board[] = "other";\n#endif\n'
    )
    expected = {}
    for board in ("stm32f7", "stm32f4"):
        fresh = type(project)(tmp_path / board)
        fresh.write("main.c", main)
        fresh.write("kws.onnx", project.read("kws.onnx"))
        fresh.sconstruct(BOARDS)
        fresh.build(f"board={board}")
        expected[board] = {path.name: path.read_bytes() for path in fresh.folder.glob("*.[coh]")}
    project.write("main.c", main)
    project.sconstruct(BOARDS)
    project.build("board=stm32f7")
    for board in ("stm32f4", "stm32f7"):
        assert set(project.build(f"board={board}")) >= {"AIDGE kws.c", "CC main.o", "CC kws.o", "LINK app.elf"}
        assert {path.name: path.read_bytes() for path in project.folder.glob("*.[coh]")} == expected[board]


def test_another_generator_regenerates_and_compiles_only_what_changes(project):
    """An upgrade: the depfile names the generator's own files."""
    own = project.write("generator.py", STUB.read_bytes())
    project.sconstruct(
        "app = env.Program('app.elf', ['main.c', env.AidgeModel('kws', 'kws.onnx')])\n",
        settings=f"AIDGE_BUILD=[{sys.executable!r}, {str(own)!r}],",
    )
    project.build()
    own.write_text(STUB.read_text() + "# a newer release\n")
    assert project.build() == ["AIDGE kws.c"]
    own.write_text(STUB.read_text().replace("return {name}_weight;", "return 1 + {name}_weight;"))
    assert project.build() == ["AIDGE kws.c", "CC kws.o", "LINK app.elf"]


@pytest.mark.requirement("TOOLCHAIN")
def test_without_a_compiler_there_is_one_line_and_exit_code_3(tmp_path, monkeypatch):
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    for board, words in (("host", "cc"), ("stm32f4", "arm-none-eabi-gcc")):
        done = aidge_build("verify", DIGITS, "--io-data", ROOT / "examples/digits/test_images.npz", "--board", board)
        assert done.exit_code == 3 and done.stderr.count("\n") == 1 and words in done.stderr, done


@pytest.mark.parametrize("named", ["/proc", "/nowhere"])
def test_a_temporary_folder_that_cannot_be_written_is_passed_over(named, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", named)
    monkeypatch.setattr(tempfile, "tempdir", None)
    (tmp_path / "main.c").write_text("int main(void) { return 0; }\n")
    made = build_program(load_board("host"), [tmp_path / "main.c"], tmp_path / "a.elf", work_folder=tmp_path)
    assert made.stat().st_size > 0


@pytest.mark.requirement("TEMPORARY")
def test_where_no_temporary_folder_can_be_written_there_is_one_line_and_exit_code_3(monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(tempfile, "_candidate_tempdir_list", lambda: ["/proc"])
    done = aidge_build("verify", DIGITS, "--io-data", ROOT / "examples/digits/test_images.npz", "--board", "host")
    assert done.exit_code == 3 and done.stderr == (
        "aidge-build: no folder for temporary files is writable. Hint: TMPDIR=DIR names one\n"
    )


@pytest.mark.parametrize(
    "package, text, words",
    [
        (
            "onnx",
            "__version__ = '1.16.0'\n",
            "of the Python packages that every command needs, onnx 1.16.0 is too old, wants >=1.21",
        ),
        (
            "numpy",
            "raise ImportError('libopenblas.so: cannot open')\n",
            "a Python package cannot be loaded: it raised ImportError: libopen",
        ),
    ],
)
def test_a_package_that_is_too_old_or_damaged_is_one_line_with_its_version(package, text, words, tmp_path):
    (tmp_path / package).mkdir()
    (tmp_path / package / "__init__.py").write_text(text)
    if package == "onnx":
        (tmp_path / "onnx-1.16.0.dist-info").mkdir()
        (tmp_path / "onnx-1.16.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: onnx\nVersion: 1.16.0\n")
    done = subprocess.run(
        [sys.executable, "-m", "aidge_build", "compile", str(DIGITS), "--out", str(tmp_path / "out")],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 3 and done.stderr.startswith(f"aidge-build: {words}") and done.stderr.count("\n") == 1, done.stderr
    assert "Hint: type: ./sconsw in the checkout, or pip install --upgrade aidge_build" in done.stderr


def test_an_import_of_ours_that_fails_stays_a_fault_of_ours(monkeypatch):
    def broken(arguments):
        from aidge_build import nothing_of_this_name  # noqa: F401

    monkeypatch.setattr("aidge_build.cli.doctor.run", broken)
    monkeypatch.setattr("aidge_build.cli.environment_errors._PACKAGE", str(ROOT))
    done = aidge_build("doctor")
    assert done.exit_code == 70 and "cannot import name 'nothing_of_this_name'" in done.stderr


LIBRARY = """
from aidge_build import Call, ImplSpec, Input, IOSpec, KernelNode, Output, dtype, kernel

@kernel("ReLU", ImplSpec(IOSpec(dtype.float32)))
class Rectify(KernelNode):
    def call(self):
        raise RuntimeError("out of order")
"""


def test_a_library_that_fails_fails_the_build_by_its_name_until_it_is_mended(project):
    (project.folder / "kws.onnx").write_bytes(model("y = Relu(x)", inputs="float[1,4] x", outputs="float[1,4] y"))
    project.write("main.c", '#include "kws.h"\nint main(void) { float x[4] = {0}, y[4]; return kws_run(x, y); }\n')
    project.write("mine/library.toml", 'name = "mine"\n')
    project.write("mine/kernels.py", "")
    project.sconstruct(
        "kws = env.AidgeModel('kws', 'kws.onnx', kernel_path=['mine'], libs=['mine', 'ref'])\n"
        "env.Program('app.elf', ['main.c', kws])\n",
        settings=f"AIDGE_BUILD={served('aidge_build')},",
    )
    project.build()
    project.write("mine/kernels.py", LIBRARY)
    run = project.scons()
    assert run.exit_code == 2 and run.steps == ["AIDGE kws.c"], run.output
    assert "call of Rectify in library mine raised RuntimeError: out of order (kernels.py, line 7)" in run.output
    project.write("mine/kernels.py", "")
    assert project.build() in ([], ["AIDGE kws.c"])  # as before: nothing is to be compiled


def test_without_a_network_and_with_a_proxy_that_is_not_there_everything_works(tmp_path):
    """In a name space without a single device; also the compiler and the emulator are started."""
    probe = subprocess.run(["unshare", "-rn", "true"], capture_output=True, check=False)
    if probe.returncode != 0:
        pytest.skip("needs unshare with user and network name spaces")
    script = (
        'export HTTPS_PROXY=http://127.0.0.1:1 https_proxy=http://127.0.0.1:1; "$1" -m aidge_build verify "$2" --io-data "$3" '
        "--board host"
    )
    words = [sys.executable, str(DIGITS), str(ROOT / "examples/digits/test_images.npz")]
    done = subprocess.run(
        ["unshare", "-rn", "sh", "-c", script, "sh", *words], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_set_up_that_was_interrupted_is_not_taken_for_a_finished_one(tmp_path, monkeypatch):
    specification = importlib.util.spec_from_file_location("bootstrap", ROOT / "tools" / "bootstrap.py")
    bootstrap = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(bootstrap)
    venv, done = tmp_path / ".venv", []
    for name, path in (("VENV", venv), ("STAMP", venv / "aidge-setup"), ("LOG", venv / "log"), ("PYTHON", venv / "bin/python")):
        monkeypatch.setattr(bootstrap, name, path)

    def step(command, create_log=True):
        """Makes the environment; installing packages is interrupted, the first time."""
        (venv / "bin").mkdir(parents=True, exist_ok=True)
        (venv / "bin/python").touch()
        (venv / "lib/python3/site-packages").mkdir(parents=True, exist_ok=True)
        done.append("pip" in command)
        if done == [False, True]:
            raise KeyboardInterrupt

    monkeypatch.setattr(bootstrap, "run_logged", step)
    user, all_of_it = bootstrap.needed_locks(["run"]), bootstrap.needed_locks(["test"])
    with pytest.raises(KeyboardInterrupt):
        bootstrap.make_venv(user)
    assert not bootstrap.venv_is_ready(user) and not (venv / "aidge-setup").exists()
    bootstrap.make_venv(user)
    assert done == [False, True, False, True] and bootstrap.venv_is_ready(user) and not bootstrap.venv_is_ready(all_of_it)
    bootstrap.make_venv(all_of_it)  # adds packages to the environment that is there
    assert done[4:] == [True] and bootstrap.venv_is_ready(user) and bootstrap.venv_is_ready(all_of_it)


@STRESS
def test_a_set_up_without_a_network_is_one_line_and_exit_code_3(tmp_path):
    folder = copy_of_checkout(tmp_path / "checkout")
    environment = {**os.environ, "PIP_CONFIG_FILE": os.devnull, "PIP_RETRIES": "0", "PYTHON": sys.executable}
    done = subprocess.run(
        ["unshare", "-rn", "./sconsw", "--version"], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 3, done.stdout + done.stderr
    assert done.stderr.startswith("sconsw: the set-up of .venv failed: ERROR: ") and done.stderr.count("\n") == 1
    assert "Hint: is the network there? Step: " in done.stderr


@STRESS
def test_a_set_up_that_is_interrupted_ends_with_130_and_the_next_one_begins_anew(tmp_path):
    folder = copy_of_checkout(tmp_path / "checkout")
    for seconds in (0.1, 3):
        process = subprocess.Popen(
            ["./sconsw", "--version"],
            cwd=folder,
            env={**os.environ, "PYTHON": sys.executable},
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        assert process.stdout.readline().startswith("SETUP  .venv from requirements-user.lock")
        time.sleep(seconds)
        os.killpg(process.pid, signal.SIGINT)
        output = process.stdout.read()
        assert process.wait() == 130 and "Traceback" not in output, output
        assert not (folder / ".venv" / "aidge-setup").exists()


@pytest.mark.requirement("G1")
def test_neither_the_year_nor_the_folder_is_in_what_is_generated(tmp_path, monkeypatch):
    results = []
    for year, folder in ((1971, tmp_path / "here"), (2040, tmp_path / "somewhere else")):
        folder.mkdir()
        monkeypatch.chdir(folder)
        monkeypatch.setattr(time, "time", lambda year=year: (year - 1970) * 31_556_952.0)
        shutil.copy(DIGITS, "digits.onnx")
        assert aidge_build("compile", "digits.onnx", "--board", "stm32f4", "--out", "out").exit_code == 0
        results.append({path.name: path.read_bytes() for path in (folder / "out").iterdir()})
    assert results[0] == results[1] and len(results[0]) == 4
