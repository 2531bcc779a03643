# SPDX-License-Identifier: MIT
"""The adapter for PlatformIO in look-alikes of its builder: our own texts, no line of theirs."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tests.build.adapters import ENVIRONMENT, FIRST, FOLDER, STRICT, run, scons
from tests.build.checkout import ROOT
from tests.build.conftest import MODEL, STUB
from tests.programs import needs_cross_compiler

# PlatformIO: the builder's main script makes the default environment, runs the extra scripts, and links PIOBUILDFILES.

PLATFORM = f"""\
import os
env = DefaultEnvironment(tools=['gcc', 'gnulink'])
env.Replace(ENV={{'PATH': os.environ['PATH']}}, PROJECT_DIR=Dir('#').abspath, BUILD_DIR=Dir('#.pio/build/native').abspath,
            PROGPATH='$BUILD_DIR/firmware.elf', PIOPLATFORM='native',
            CFLAGS={STRICT.split()}, AIDGE_BUILD=[{sys.executable!r}, {str(STUB)!r}],
            CCCOMSTR='CC $TARGET', LINKCOMSTR='LINK $TARGET')
OPTIONS = {{'custom_aidge_models': ARGUMENTS.get('models', 'models/kws.onnx'), 'custom_aidge_optimize': 'size',
           'custom_aidge_bind': 'time=49\\nbatch=1', 'custom_aidge_kernel_path': 'mine'}}
env.AddMethod(lambda env, name, default=None: OPTIONS.get(name, default), 'GetProjectOption')
env.SConscript({str(FOLDER / "platformio/aidge_models.py")!r}, exports={{'env': env.Clone()}})
env.Append(PIOBUILDFILES=[env.Object('$BUILD_DIR/src/main.o', 'main.c')])
env.Default(env.Program('$PROGPATH', env['PIOBUILDFILES']))
"""


def test_platformio_builds_models_in_its_own_graph_and_checks_the_program(firmware):
    firmware.write("SConstruct", PLATFORM)
    firmware.write("mine/used.h", "int used;\n")
    assert scons(firmware) == {step.replace("app.elf", "firmware.elf") for step in FIRST}
    assert scons(firmware) == set()
    options = json.loads(firmware.read(".pio/build/native/aidge/kws.plan.json"))["options"]
    assert options["--optimize"] == ["size"] and options["--bind"] == ["time=49", "batch=1"]
    objects = json.loads(firmware.read(".pio/build/native/firmware.elf.check.json"))["options"]["--objects"]
    assert [path.rpartition("/")[2] for path in objects] == ["kws.o", "kws_weights.o"]
    firmware.write("models/kws.onnx", "topology=A\nweights=2\n")
    assert scons(firmware) == {"AIDGE kws.c", "CC kws_weights.o", "LINK firmware.elf"}
    assert sorted(path.name for path in (firmware.folder / "models").iterdir()) == ["kws.onnx"]
    firmware.write("models/kws.onnx", MODEL + "check=bad\n")
    done = subprocess.run(
        [sys.executable, "-m", "SCons", "-Q"], cwd=firmware.folder, env=ENVIRONMENT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2 and "the arena is not the plan's" in done.stderr


def test_platformio_takes_names_and_values_that_a_shell_would_read_as_they_are(firmware):
    name = "x`touch ran`;touch ran;$(touch ran)&'\"$HOME"
    firmware.write(f"{name}/kws.onnx", MODEL.replace("weights=1", "weights=7"))
    firmware.write("mine/used.h", "int used;\n")
    firmware.write("SConstruct", PLATFORM.replace("'time=49\\nbatch=1'", repr(name)))
    run(firmware, sys.executable, "-m", "SCons", "-Q", f"models={name}/kws.onnx")
    plan = json.loads(firmware.read(".pio/build/native/aidge/kws.plan.json"))
    assert plan["weights"] == "7" and plan["options"]["--bind"] == [name] and not list(firmware.folder.rglob("ran"))


def test_platformio_without_a_model_is_left_alone(firmware):
    firmware.write("main.c", "int main(void) { return 0; }\n")
    firmware.write("SConstruct", PLATFORM)
    assert "AIDGE" not in run(firmware, sys.executable, "-m", "SCons", "-Q", "models=")


# A platform for microcontrollers, of which a script that runs before it sees neither compiler nor flags.

EMBEDDED = f"""\
env = DefaultEnvironment(tools=['gcc', 'gnulink'])
env.Replace(PROJECT_DIR=Dir('#').abspath, BUILD_DIR=Dir('#.pio/build/one').abspath, PIOPLATFORM='own', BOARD='one',
            AIDGE_BUILD=[{sys.executable!r}, {str(STUB)!r}], PROGPATH='$BUILD_DIR/firmware.elf')
env.AddMethod(lambda env, name, default=None: {{'custom_aidge_models': 'models/kws.onnx', **ARGUMENTS}}.get(name, default),
              'GetProjectOption')
env.AddMethod(lambda env: {{f'build.{{key}}': ARGUMENTS.get(key, '') for key in ('cpu', 'march', 'mabi')}}, 'BoardConfig')
env.SConscript({str(FOLDER / "platformio/aidge_models.py")!r}, exports={{'env': env.Clone()}})
env.Replace(CC='arm-none-eabi-gcc', LINK='arm-none-eabi-gcc')
env.Append(CCFLAGS=['-mcpu=cortex-m4', '-mthumb'])
env.Append(LINKFLAGS=['-mcpu=cortex-m4', '-nostdlib', '-Wl,-e,main', ARGUMENTS.get('own', '-g')])
env.Append(PIOBUILDFILES=[env.Object('$BUILD_DIR/src/main.o', 'main.c')])
env.Default(env.Program('$PROGPATH', env['PIOBUILDFILES']))
"""


@needs_cross_compiler
def test_platformio_before_its_platform_names_the_core_of_the_board_and_the_linker_is_asked_for_a_map(firmware):
    firmware.write("SConstruct", EMBEDDED)
    run(firmware, sys.executable, "-m", "SCons", "-Q", "cpu=cortex-m4")
    folder = firmware.folder / ".pio/build/one"
    assert json.loads((folder / "aidge/kws.plan.json").read_text())["options"]["--cpu"] == ["cortex-m4"]
    assert [path.name for path in folder.glob("*.map")] == ["firmware.elf.map"]
    assert run(firmware, sys.executable, "-m", "SCons", "-Q", "cpu=cortex-m4").endswith("firmware.elf' is up to date.\n")
    (folder / "firmware.elf.map").unlink()
    run(firmware, sys.executable, "-m", "SCons", "-Q", "cpu=cortex-m4", "own=-Wl,-Map=own.map")
    assert not list(folder.glob("*.map")) and (firmware.folder / "own.map").exists()


@pytest.mark.parametrize("name, value", [("cpu", "cortex-m7"), ("board", "stm32f4")])
def test_platformio_takes_the_core_or_board_that_the_project_names(firmware, name, value):
    firmware.write("SConstruct", EMBEDDED)
    said = run(firmware, sys.executable, "-m", "SCons", "-Q", "-n", "verbose=1", "cpu=cortex-m4", f"custom_aidge_{name}={value}")
    assert f"--{name}={value}" in said and "--cpu=cortex-m4" not in said


def test_platformio_before_its_platform_takes_the_march_of_a_board_with_risc_v(firmware):
    firmware.write("SConstruct", EMBEDDED)
    words = ("march=rv32imacxw", "mabi=ilp32")
    assert "--cpu=rv32imacxw+ilp32 " in run(firmware, sys.executable, "-m", "SCons", "-Q", "-n", "verbose=1", *words)


@pytest.mark.parametrize(
    "python_path, expected",
    [
        (
            str(ROOT),
            "the board 'one' names no core: write custom_aidge_cpu = cortex-m4 (or rv32imc, generic), or custom_aidge_board\n",
        ),
        ("hidden", f"the Python of PlatformIO lacks the package aidge_build: {sys.executable} -m pip install aidge_build\n"),
    ],
    ids=["no core", "no package"],
)
def test_platformio_says_in_one_line_what_it_lacks_and_builds_nothing_for_another_machine(firmware, python_path, expected):
    firmware.write("SConstruct", EMBEDDED)
    firmware.write("hidden/aidge_build.py", "raise ImportError('hidden')\n")
    environment = {**os.environ, "PYTHONPATH": python_path}
    done = subprocess.run(
        [sys.executable, "-m", "SCons", "-Q"], cwd=firmware.folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 3 and done.stderr == f"aidge_models.py: {expected}" and "Traceback" not in done.stdout
