# SPDX-License-Identifier: MIT
"""Builds that are killed, that run twice at once, that meet a full disk or a read-only tree, with the real generator.

AIDGE_STRESS=1 kills at 50 moments instead of one, and takes the Make generator, too.
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from aidge_build.base.installed import cmake_folder
from aidge_build.build.compile import compile
from aidge_build.cli import main
from tests.build.checkout import ROOT, scons_in
from tests.build.known_compiler import WORKS, begin_build
from tests.build.test_real_generator import COMMAND, DIGITS, with_other_weights
from tests.served import served

KILLS, BUILDERS = (50, ("scons", "Ninja", "Unix Makefiles")) if os.environ.get("AIDGE_STRESS") else (1, ("scons", "Ninja"))
MAIN = (
    '#include "digits.h"\nint main(void) { static int8_t in[DIGITS_INPUT_SIZE], out[DIGITS_OUTPUT_SIZE]; return '
    "digits_run(in, out); }\n"
)
GENERATED = ("digits.c", "digits.h", "digits_weights.c", "digits.plan.json")
CMAKELISTS = """\
cmake_minimum_required(VERSION 3.20)
project(firmware LANGUAGES C)
find_package(aidge_build CONFIG REQUIRED)
aidge_add_model(digits MODEL digits.onnx)
add_executable(app.elf main.c)
target_link_libraries(app.elf PRIVATE digits)
aidge_check_memory(app.elf digits)
"""
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}


@pytest.fixture(params=BUILDERS)
def firmware(request, project):
    """A firmware with a real model, and the command that builds it."""
    project.write("main.c", MAIN)
    (project.folder / "kws.onnx").unlink()
    shutil.copy(DIGITS, project.folder / "digits.onnx")
    if request.param == "scons":
        project.sconstruct(
            "app = env.Program('app.elf', ['main.c', env.AidgeModel('digits', 'digits.onnx')])\nenv.AidgeCheck(app)",
            settings=f"AIDGE_BUILD=[{sys.executable!r}, {str(project.write('command.py', COMMAND))!r}],",
        )
        return project.folder, project.folder, [sys.executable, "-m", "SCons", "-Q", "-j2"]
    program = {"Ninja": "ninja", "Unix Makefiles": "make"}[request.param]
    if not (shutil.which("cmake") and shutil.which(program)):
        pytest.skip(f"needs cmake and {program}")
    project.write("CMakeLists.txt", CMAKELISTS)
    begin_build(project.folder / "build", request.param)
    words = [f"-Daidge_build_DIR={cmake_folder()}", f"-DAIDGE_EXECUTABLE={sys.executable};-m;aidge_build", WORKS]
    made = run(["cmake", "-S", ".", "-B", "build", "-G", request.param, *words], project.folder)
    assert made.returncode == 0, made.stdout
    return project.folder, project.folder / "build", ["cmake", "--build", "build", "-j2"]


def run(command: list[str], folder: Path) -> subprocess.CompletedProcess:
    return subprocess.run(
        command, cwd=folder, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )


def outcome(build: Path) -> dict[str, bytes]:
    """The program and the generated files."""
    found = {name: path for name in ("app.elf", *GENERATED) for path in build.rglob(name) if "CMakeFiles" not in path.parts}
    return {name: path.read_bytes() for name, path in found.items()}


def finished(folder: Path, build: Path, command: list[str]) -> dict[str, bytes]:
    """What a build that must succeed leaves."""
    done = run(command, folder)
    assert done.returncode == 0, done.stdout
    return outcome(build)


def test_a_killed_build_is_completed_by_the_next_one(firmware):
    folder, build, command = firmware
    contents, expected = (DIGITS.read_bytes(), with_other_weights()), []
    for content in contents[:KILLS]:
        (folder / "digits.onnx").write_bytes(content)
        start = time.monotonic()
        expected.append(finished(*firmware))
        duration = time.monotonic() - start
    assert sorted(expected[0]) == sorted(("app.elf", *GENERATED)) and len({one["app.elf"] for one in expected}) == len(expected)
    moments = random.Random(7)
    for index in range(KILLS):
        (folder / "digits.onnx").write_bytes(contents[(index + 1) % 2])
        process = subprocess.Popen(
            command, cwd=folder, env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
        time.sleep(moments.uniform(0.05, 1.0) * duration)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        wanted = index // 2 % len(expected)  # the model whose build was killed, or the one before
        (folder / "digits.onnx").write_bytes(contents[wanted])
        assert finished(*firmware) == expected[wanted]


def said(path: Path) -> bytes | dict:
    """What a file says; of a check without the digests of the program, whose debug information names the folder."""
    if not path.name.endswith(".check.json"):
        return path.read_bytes()
    return {key: value for key, value in json.loads(path.read_text()).items() if key != "kept"}


def test_ctrl_c_ends_with_130_and_the_next_build_is_that_of_a_new_checkout(command, tmp_path):
    words = [sys.executable, "-m", "SCons", "-Q", "board=host"]
    folder, expected = tmp_path / "interrupted", tmp_path / "expected"
    for step in ("AIDGE ", "CC "):
        process = subprocess.Popen(
            [*words, f"build={folder}"],
            cwd=ROOT,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        next(line for line in process.stdout if line.startswith(step))
        os.killpg(process.pid, signal.SIGINT)
        output = process.stdout.read()
        # A Python that is just starting reports the interrupt in its own frozen modules; no file of ours may do so.
        assert process.wait() == 130 and f'File "{ROOT}' not in output and "LINK" not in output, output
        assert not [path for path in folder.rglob("*") if path.name.endswith(".tmp")]
    assert run([*words, f"build={folder}"], ROOT).returncode == 0
    scons_in(ROOT, "board=host", f"build={expected}")
    files = [
        {path.relative_to(place): said(path) for path in place.rglob("*") if path.suffix in (".c", ".h", ".json")}
        for place in (folder, expected)
    ]
    assert files[0] == files[1]


def test_ctrl_c_ends_the_generator_with_130_and_leaves_nothing(tmp_path):
    process = subprocess.Popen(
        [
            sys.executable,
            "-X",
            "importtime",
            "-m",
            "aidge_build",
            "compile",
            str(DIGITS),
            "--board=host",
            f"--out={tmp_path / 'out'}",
        ],
        cwd=ROOT,
        text=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    next(line for line in process.stderr if line.endswith(".conv2d_int8\n"))  # while the kernels are loaded
    process.send_signal(signal.SIGINT)
    assert "Traceback" not in process.stderr.read() and process.wait() == 130
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("firmware", BUILDERS if os.environ.get("AIDGE_STRESS") else BUILDERS[:1], indirect=True)
def test_two_builds_at_once_are_completed_by_the_next_one(firmware):
    """Compilers of two builds write the same objects, so that one of the builds may fail; nothing wrong may stay."""
    folder, build, command = firmware
    if "SCons" in command:  # nobody kills these builds: forks do
        command, script = [*served("SCons"), *command[command.index("-Q") :]], folder / "SConstruct"
        script.write_text(re.sub(r"AIDGE_BUILD=\[.*?\]", f"AIDGE_BUILD={served('aidge_build')}", script.read_text()))
    firmware = folder, build, command
    first = finished(*firmware)
    (folder / "digits.onnx").write_bytes(with_other_weights())
    processes = [
        subprocess.Popen(command, cwd=folder, env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(2)
    ]
    for process in processes:
        process.wait()
    second = finished(*firmware)
    assert [name for name in GENERATED if first[name] != second[name]] == ["digits_weights.c", "digits.plan.json"]
    (folder / "digits.onnx").write_bytes(DIGITS.read_bytes())
    assert finished(*firmware) == first


def test_several_generators_at_once_in_one_folder_all_succeed(tmp_path):
    command = [*served("aidge_build"), "compile", str(DIGITS), "--board=host", f"--out={tmp_path}", "--name=digits"]
    processes = [subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) for _ in range(3)]
    assert [(process.communicate()[1], process.returncode) for process in processes] == [(b"", 0)] * 3
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(GENERATED)


def test_a_model_that_is_replaced_while_the_generator_runs_is_said_and_read_by_the_next_build(tmp_path, monkeypatch, capsys):
    model, stamp = tmp_path / "digits.onnx", tmp_path / "out/digits.stamp"
    model.write_bytes(DIGITS.read_bytes())
    words = [
        "compile",
        str(model),
        "--board=host",
        f"--out={tmp_path / 'out'}",
        f"--depfile={tmp_path / 'out/d'}",
        f"--stamp={stamp}",
    ]
    assert main(words) == 0 and stamp.exists()

    def replacing(request):
        model.write_bytes(with_other_weights())
        return compile(request)

    monkeypatch.setattr("aidge_build.cli.compile.compile", replacing)
    assert main(words) == 2 and not stamp.exists()
    assert capsys.readouterr().err == f"aidge-build: {model}: it was replaced while the generator ran. Hint: build again\n"
    assert main(words) == 0 and stamp.exists()


# Disks. A user namespace gives an ordinary user a file system to fill, and root one that refuses to be written.


def in_namespace(script: str, *words: object) -> subprocess.CompletedProcess:
    probe = subprocess.run(["unshare", "-rm", "true"], capture_output=True) if shutil.which("unshare") else None
    if probe is None or probe.returncode != 0:
        pytest.skip("needs unshare with user namespaces")
    return run(["unshare", "-rm", "sh", "-c", script, "sh", *map(str, words)], ROOT)


COMPILE = '"$1" -m aidge_build compile "$2" --name digits --board host --out "$3/out" --depfile "$3/out/d" --stamp "$3/out/s"'


@pytest.mark.parametrize("kilobytes", [4, 20, 48, 72])
def test_a_full_disk_is_one_line_with_the_file_and_no_file_is_half_written(tmp_path, kilobytes):
    disk = tmp_path / "disk"
    disk.mkdir()
    done = in_namespace(
        f'mount -t tmpfs -o size={kilobytes}k tmpfs "$3"; {COMPILE}; status=$?; ls -A "$3/out"; exit $status',
        sys.executable,
        DIGITS,
        disk,
    )
    assert done.returncode == 2, done.stdout
    lines = done.stdout.splitlines()
    assert "No space left on device" in lines[0] and str(disk / "out") in lines[0]
    assert lines[1:] == []


def test_a_read_only_folder_of_outputs_is_one_line(tmp_path):
    done = in_namespace(f'mount -t tmpfs -o ro tmpfs "$3"; {COMPILE}', sys.executable, DIGITS, tmp_path)
    assert done.returncode == 2 and done.stdout.count("\n") == 1
    assert "Read-only file system" in done.stdout and str(tmp_path / "out") in done.stdout


def test_a_read_only_checkout_builds_into_a_folder_elsewhere(command, tmp_path):
    script = (
        'mount --bind . . && cd "$PWD" && mount -o remount,ro,bind . && ! touch SConstruct 2>/dev/null && "$1" -m '
        'SCons -Q board=host build="$2"'
    )
    done = in_namespace(script, sys.executable, tmp_path / "out")
    assert done.returncode == 0, done.stdout
    assert (tmp_path / "out/host/digits/digits.elf").exists()


def test_ctrl_c_while_the_command_is_being_loaded_is_no_traceback():
    """At any moment of the first imports: a module that is asked for late raises what Ctrl-C raises."""
    program = "import builtins, sys; load = builtins.__import__\n"
    program += "def interrupted(name, *rest):\n    if name == 'aidge_build.cli.outcome':\n        raise KeyboardInterrupt\n"
    program += "    return load(name, *rest)\nbuiltins.__import__ = interrupted\n"
    program += "from aidge_build.__main__ import main; sys.exit(main())\n"
    ended = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "")
