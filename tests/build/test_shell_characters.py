# SPDX-License-Identifier: MIT
"""Names and values that a shell would run, split or expand: every build system takes them as they are, or refuses them first."""

from __future__ import annotations

import json
import shutil
import sys

import pytest

from aidge_build.base.installed import cmake_folder
from tests.build.checkout import ROOT
from tests.build.conftest import STUB
from tests.build.known_compiler import WORKS, begin_build

# A file of each name is a model; what a shell would run leaves a file `ran`.
NAMES = [
    "x`touch ran`.onnx",
    "x`touch${IFS}ran`.onnx",
    "x$(touch ran).onnx",
    "x;touch ran;.onnx",
    "x&touch ran&.onnx",
    "x|touch ran.onnx",
    "it's.onnx",
    'a"b.onnx',
    "two\nlines.onnx",
    "a b.onnx",
    "-x.onnx",
    "$x.onnx",
    "<x> {a,b} *?[c]! #~%.onnx",
]
OF_SCONS = [*NAMES, "größe.onnx", "$HOME.onnx"]

EVERY_NAME = """\
models = {os.path.basename(node.get_abspath()): node for node in Glob('*') if node.name.endswith('.onnx')}
for index, name in enumerate(sorted(models)):
    kws = env.AidgeModel('m%d' % index, models[name], board='host', bind={'v': name, name: 1}, state={name: name})
    env.AidgeAccuracy(kws, labels=models[name])
env.AidgeCheck(env.Program('app.elf', ['main.c', kws]), quiet=sorted(models))
env.Command('by_action.json', models["x`touch${IFS}ran`.onnx"],
            env.AidgeAction('accuracy', '--out=$TARGET', '--labels=$SOURCE', '--', '$SOURCE', comstr=''))
"""


def test_scons_takes_every_name_and_value_as_it_is(project):
    (project.folder / "kws.onnx").unlink()
    for index, name in enumerate(OF_SCONS):
        project.write(name, f"topology=A\nweights=1\nright=0.{index + 10}\n")
    project.write("main.c", f'#include "m{len(OF_SCONS) - 1}.h"\nint main(void) {{ return 0; }}\n')
    project.sconstruct("import os\n" + EVERY_NAME)
    run = project.scons("verbose=1")
    assert run.exit_code == 0, run.output
    assert not list(project.folder.glob("ran*")) and project.build() == []
    for index, name in enumerate(sorted(OF_SCONS)):
        plan = json.loads(project.read(f"m{index}.plan.json"))
        assert plan["right"] == f"0.{OF_SCONS.index(name) + 10}"
        assert plan["options"]["--bind"] == sorted([f"v={name}", f"{name}=1"]) and plan["options"]["--state"] == [
            f"{name}={name}"
        ]
        assert json.loads(project.read(f"m{index}.accuracy.json"))["options"]["--labels"] == [name]
    assert json.loads(project.read("app.elf.check.json"))["options"]["--quiet"] == [",".join(sorted(OF_SCONS))]
    assert json.loads(project.read("by_action.json"))["options"]["--labels"] == ["x`touch${IFS}ran`.onnx"]
    assert "'x`touch ran`.onnx'" in run.output  # a command that can be typed


@pytest.mark.parametrize(
    "lines, hint",
    [
        ("env.Program('app.elf', ['main.c', 'x`touch ran`/kws.onnx'])", "out='...' names another folder"),
        ("env.AidgeModel('kws', 'kws.onnx', out='x`touch ran`')", "out='...' names another folder"),
        (
            "app = env.Program('app`touch ran`', ['main.c', env.AidgeModel('kws', 'kws.onnx')])\nenv.AidgeCheck(app)",
            "give the program another name",
        ),
    ],
    ids=["folder of a model", "out", "program"],
)
def test_scons_refuses_what_its_own_commands_would_run_before_anything_does(project, lines, hint):
    project.write("x`touch ran`/kws.onnx", project.read("kws.onnx"))
    project.sconstruct(lines)
    run = project.scons()
    assert run.exit_code == 2 and "a shell would run what is between backquotes in '" in run.output and hint in run.output
    assert run.steps == [] and not (project.folder / "ran").exists()


def test_scons_compiles_what_is_generated_in_a_folder_of_any_other_name(project):
    name = "a;touch ran;$(touch ran)&b"
    project.sconstruct(
        f"kws = env.AidgeModel('kws', 'kws.onnx', out=Dir('.').Dir({name!r}))\n"
        "env.AidgeCheck(env.Program('app.elf', ['main.c', kws]))"
    )
    assert project.build()[-1] == "CHECK app.elf" and project.build() == [] and not (project.folder / "ran").exists()


def test_a_spawn_of_the_users_gets_words_that_a_shell_reads_as_they_are(project):
    lines = (
        "spawn = env['SPAWN']\ndef traced(sh, escape, command, words, variables):\n    print('SPAWN', words)\n"
        "    return spawn(sh, escape, command, words, variables)\nenv['SPAWN'] = traced\n"
        "env.AidgeModel('kws', 'kws.onnx', bind={'v': '`touch ran`'})\n"
    )
    project.sconstruct(lines)
    run = project.scons()
    assert run.exit_code == 0 and "\"'--bind=v=`touch ran`'\"" in run.output and not (project.folder / "ran").exists()
    assert json.loads(project.read("kws.plan.json"))["options"]["--bind"] == ["v=`touch ran`"]


needs_make = pytest.mark.skipif(
    shutil.which("make") is None or " " in str(ROOT), reason="needs make, and a checkout at a path without spaces: make cannot"
)
MAKEFILE = f"""\
AIDGE = {sys.executable} {STUB}
include {ROOT}/integrations/make/aidge.mk
MODEL = models/kws.onnx
GIVEN := $(file <given)
$(eval $(call aidge_model,%s))
all: app.elf
app.elf: main.o $(AIDGE_OBJECTS)
	$(CC) -o $@ $^
	$(AIDGE_CHECK)
main.o: $(AIDGE_HEADERS)
"""


@needs_make
@pytest.mark.parametrize(
    "call", ["kws,$(GIVEN),--board=host", "$(GIVEN:.onnx=),$(MODEL),--board=host", "kws,$(MODEL),--quantize=$(GIVEN)"]
)
def test_make_refuses_a_name_that_it_cannot_carry_before_anything_runs(firmware, call):
    firmware.write("Makefile", MAKEFILE % call)
    for name in NAMES:
        firmware.write("given", name)
        firmware.write(name, "topology=A\nweights=1\n")
        done = firmware.run("make")
        if " " in name or "\n" in name and "--quantize" in call:  # two words of the options
            assert done.exit_code == 2
        elif name != "-x.onnx":
            assert done.exit_code == 2 and "aidge.mk: " in done.output and "which make or its shell would read" in done.output, (
                name
            )
            assert not (firmware.folder / "build").exists()
        shutil.rmtree(firmware.folder / "build", ignore_errors=True)
        assert not list(firmware.folder.glob("ran*"))


@needs_make
def test_make_hands_an_option_on_as_it_is_or_refuses_it(firmware):
    firmware.write(
        "Makefile", MAKEFILE % "kws,$(MODEL),--board=host --bind=$(GIVEN)" + "AIDGE_CHECK_OPTIONS = --quiet=$(GIVEN)\n"
    )
    for value in ("a;touch ran;b", "a|touch<ran", "a&b", "*", "[a]", "{a,b}", "!x", "-x", "~", "a=b%c", "<a>", "a?b:c/d,e"):
        value = value.replace("touch ran", "touch>ran")
        firmware.write("given", value)
        done = firmware.run("make")
        assert done.exit_code == 0, done.output
        assert json.loads(firmware.read("build/aidge/kws.plan.json"))["options"]["--bind"] == [value]
        assert json.loads(firmware.read("app.elf.check.json"))["options"]["--quiet"] == [value]
    for value in ("`touch>ran`", "$(touch>ran)", "${IFS}", "it's", 'a"b', "a\\b", "a#b"):
        firmware.write("given", value)
        done = firmware.run("make")
        assert done.exit_code == 2 and "aidge.mk: the option '--bind=" in done.output, done.output
    assert not (firmware.folder / "ran").exists()


CMAKELISTS = """\
cmake_minimum_required(VERSION 3.20)
project(firmware LANGUAGES C)
find_package(aidge_build CONFIG REQUIRED)
file(READ given given)
aidge_add_model(kws MODEL "${given}" BIND "v=${given}")
add_executable(app main.c)
target_link_libraries(app PRIVATE kws)
aidge_check_memory(app kws QUIET "${given}")
"""
CARRIED_BY_CMAKE = ["-x`touch${IFS}ran` $(touch ran)&'\"#{a,b}<*>?!~%[c]$ENV{HOME}$(shell touch ran)@HOME@.onnx"]
REFUSED_BY_CMAKE = [
    "x;touch ran;.onnx",
    "x|touch ran.onnx",
    "two\n\ttouch ran.onnx",
    "a\\b.onnx",
    "x].onnx",
    "[x.onnx",
    "x:y.onnx",
]


@pytest.mark.skipif(shutil.which("cmake") is None, reason="needs cmake")
@pytest.mark.parametrize("generator, program", [("Ninja", "ninja"), ("Unix Makefiles", "make")])
def test_cmake_takes_a_name_or_value_as_it_is_or_refuses_it_when_it_configures(firmware, generator, program):
    if shutil.which(program) is None:
        pytest.skip(f"needs {program}")
    words = (f"-Daidge_build_DIR={cmake_folder()}", f"-DAIDGE_EXECUTABLE={sys.executable};{STUB}", WORKS)
    firmware.write("CMakeLists.txt", CMAKELISTS)
    begin_build(firmware.folder / "build", generator)
    for index, name in enumerate([*REFUSED_BY_CMAKE, *CARRIED_BY_CMAKE]):
        firmware.write("given", name)
        firmware.write(name, f"topology=A\nweights={index}\n")
        run = firmware.run("cmake", "-S", ".", "-B", "build", "-G", generator, *words)
        if name in REFUSED_BY_CMAKE:
            assert run.exit_code == 1 and "rename it" in " ".join(run.output.split()), name
            continue
        assert run.exit_code == 0, run.output
        run = firmware.run("cmake", "--build", "build")
        assert run.exit_code == 0, run.output
        plan = json.loads(firmware.read("build/aidge/kws/kws.plan.json"))
        assert plan["weights"] == str(index) and plan["options"]["--bind"] == [f"v={name}"]
        assert json.loads(firmware.read("build/app.check.json"))["options"]["--quiet"] == [name]
    assert not list(firmware.folder.rglob("ran*"))
