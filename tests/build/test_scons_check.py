# SPDX-License-Identifier: MIT
"""The check as a part of the link, with a stand-in for the command."""

from __future__ import annotations

import json

import pytest

SCRIPT = (
    "Import('env')\nkws = env.AidgeModel('kws', 'kws.onnx'{options})\napp = env.Program('app.elf', ['main.c', "
    "kws])\nenv.AidgeCheck(app)\n"
)


@pytest.fixture
def checked(project):
    """The firmware with a check, in a variant folder."""
    for name in ("main.c", "kws.onnx"):
        project.write("src/" + name, project.read(name))
    project.write("src/SConscript", SCRIPT.format(options=""))
    project.sconstruct("SConscript('src/SConscript', exports='env', variant_dir='build', duplicate=0)")
    return project


def test_the_check_follows_the_link_and_leaves_its_findings_beside_the_elf_until_they_are_cleaned(checked):
    assert checked.build()[-2:] == ["LINK app.elf", "CHECK app.elf"]
    findings = json.loads(checked.read("build/app.elf.check.json"))
    assert findings == {
        "ok": True,
        "options": {
            "--out": ["build/app.elf.check.json"],
            "--objects": ["build/kws.o", "build/kws_weights.o"],
            "--board": ["host"],
            "--plan": ["build/kws.plan.json"],
        },
    }
    assert checked.build() == []
    checked.build("-c")
    assert not (checked.folder / "build/app.elf.check.json").exists()


@pytest.mark.requirement("G16")
def test_a_failed_check_fails_the_target_in_every_build_and_removes_the_elf(checked):
    checked.build()
    checked.write("src/kws.onnx", "topology=A\nweights=1\ncheck=bad\n")
    for _ in range(2):
        run = checked.scons()
        assert run.exit_code == 2 and "the arena is not the plan's" in run.output
        assert not (checked.folder / "build/app.elf").exists()
        assert json.loads(checked.read("build/app.elf.check.json"))["ok"] is False
    checked.write("src/kws.onnx", "topology=A\nweights=1\n")
    assert checked.build()[-2:] == ["LINK app.elf", "CHECK app.elf"]


OBJCOPY = "env.AddPostAction(app, Action('cp $TARGET ${TARGET.base}.bin', cmdstr='BIN'))\n"


@pytest.mark.parametrize(
    "lines", [OBJCOPY + "env.AidgeCheck(app)\n", "env.AidgeCheck(app)\n" + OBJCOPY], ids=["objcopy first", "check first"]
)
def test_a_program_that_fails_leaves_no_image_whoever_comes_first(project, lines):
    project.sconstruct("app = env.Program('app.elf', ['main.c', env.AidgeModel('kws', 'kws.onnx')])\n" + lines)
    project.write("kws.onnx", "topology=A\nweights=1\ncheck=bad\n")
    run = project.scons()
    assert run.exit_code == 2 and "BIN" not in run.output and not (project.folder / "app.bin").exists()
    project.write("kws.onnx", "topology=A\nweights=1\n")
    lines = project.scons().output.splitlines()
    assert lines.index("CHECK  app.elf") < lines.index("BIN") and (project.folder / "app.bin").exists()


def test_a_check_that_is_asked_for_twice_runs_once(project):
    project.write("SConstruct", project.read("SConstruct") + "env.AidgeCheck(app)\nenv.AidgeCheck(app, board='host')\n")
    assert project.build().count("CHECK app.elf") == 1


def test_the_findings_come_out_of_a_cache_with_the_program(project, tmp_path):
    lines = f"env.AidgeCheck(app)\nCacheDir({str(tmp_path / 'cache')!r})\n"
    project.write("SConstruct", project.read("SConstruct") + lines)
    project.build()
    other = type(project)(tmp_path / "elsewhere")
    for name in ("SConstruct", "main.c", "kws.onnx"):
        other.write(name, project.read(name))
    assert other.build() == [] and json.loads(other.read("app.elf.check.json"))["ok"] is True


def test_the_findings_are_a_file_that_others_depend_on(project):
    lines = "env.AidgeCheck(app)\nenv.Command('copy.json', 'app.elf.check.json', Copy('$TARGET', '$SOURCE'))\n"
    project.write("SConstruct", project.read("SConstruct") + lines)
    assert project.build("copy.json")[-2:] == ["LINK app.elf", "CHECK app.elf"]
    assert json.loads(project.read("copy.json"))["ok"] is True and project.build(".") == []


def test_a_link_command_that_names_all_its_targets_is_not_given_one_more(project):
    project.sconstruct(
        "kws = env.AidgeModel('kws', 'kws.onnx')\n"
        "app = env.Command('app.elf', env.Object(['main.c', *kws]), '$CC -o $TARGETS $SOURCES')\nenv.AidgeCheck(app)\n"
    )
    assert project.build()[-1] == "CHECK app.elf" and project.build() == []
    project.build("-c")
    assert not (project.folder / "app.elf.check.json").exists()


def test_the_check_takes_the_board_of_the_model_and_the_plans_of_all_models(checked):
    checked.write("src/vad.onnx", "topology=V\nweights=1\n")
    checked.write("src/own/readme", "")
    script = SCRIPT.format(options=", board='mine', board_path='own'").replace("kws])", "kws, 'vad.onnx'])")
    checked.write("src/SConscript", script.replace("Import('env')", "Import('env')\nenv['AIDGE_BOARD'] = 'mine'"))
    checked.build()
    options = json.loads(checked.read("build/app.elf.check.json"))["options"]
    assert options["--board"] == ["mine"] and options["--board-path"] == ["src/own"]
    assert options["--plan"] == ["build/kws.plan.json", "build/vad.plan.json"]
    assert options["--objects"] == [f"build/{name}.o" for name in ("kws", "kws_weights", "vad", "vad_weights")]


@pytest.mark.parametrize("library", ["StaticLibrary", "SharedObject"])
def test_the_objects_of_a_model_are_compared_through_a_library_and_whatever_they_are_called(project, library):
    made = (
        "[env.SharedObject('x_' + c.name[:-2], c) for c in kws]" if library == "SharedObject" else "env.StaticLibrary('net', kws)"
    )
    project.sconstruct(
        f"env.Tool('ar')\nkws = env.AidgeModel('kws', 'kws.onnx', board='host')\nmade = {made}\n"
        "env['STATIC_AND_SHARED_OBJECTS_ARE_THE_SAME'] = 1\nenv.AidgeCheck(env.Program('app.elf', ['main.c', made]))"
    )
    project.build()
    objects = json.loads(project.read("app.elf.check.json"))["options"]["--objects"]
    shared = ["x_kws.os", "x_kws_weights.os"]
    assert objects == (shared if library == "SharedObject" else ["kws.o", "kws_weights.o"])


@pytest.mark.parametrize("suffix", [".m4.o", "_of_m4"])
def test_the_objects_of_a_model_are_compared_whatever_suffix_they_have(project, suffix):
    project.sconstruct(
        f"env['OBJSUFFIX'] = {suffix!r}\nenv.AidgeCheck(env.Program('app.elf', ['main.c', env.AidgeModel('kws', 'kws.onnx')]))"
    )
    project.build()
    objects = json.loads(project.read("app.elf.check.json"))["options"]["--objects"]
    assert objects == [f"kws{suffix}", f"kws_weights{suffix}"]


@pytest.mark.parametrize("libs", ["LIBS=[ml, 'm']", "LIBS=['ml', 'm'], LIBPATH='lib'"])
def test_a_model_in_a_library_of_libs_is_found_compared_and_its_header_as_well(project, libs):
    project.sconstruct(
        "env.Tool('ar')\nml = env.StaticLibrary('lib/ml', env.AidgeModel('kws', 'kws.onnx', out='generated'))\n"
        f"env.AidgeCheck(env.Program('app.elf', 'main.c', {libs}))"
    )
    assert project.build()[-1] == "CHECK app.elf" and project.build() == []
    options = json.loads(project.read("app.elf.check.json"))["options"]
    assert options["--objects"] == ["generated/kws.o", "generated/kws_weights.o"]
    assert options["--plan"] == ["generated/kws.plan.json"]
    project.write("kws.onnx", "topology=A\nweights=2\n")
    assert project.build() == ["AIDGE kws.c", "CC kws_weights.o", "LINK app.elf", "CHECK app.elf"]


@pytest.mark.parametrize("sources", ["'main.c'", "'main.c', LIBS=['ml'], LIBPATH='lib'"])
def test_a_check_of_a_program_without_a_model_says_what_to_write(project, sources):
    project.write("main.c", "int main(void) { return 0; }\n")
    project.sconstruct(
        f"env.Tool('ar')\nenv.AidgeCheck(env.Program('app.elf', {sources}))\n"
        "env.StaticLibrary('lib/ml', env.AidgeModel('kws', 'kws.onnx'))"
    )
    run = project.scons()
    assert run.exit_code == 2 and "there is no model among the sources of app.elf, nor in a library of LIBS" in run.output
    assert "name it: models=[kws]" in run.output and "env.Append(CPPPATH=[kws.include])" in run.output


def test_options_of_the_check_reach_it_and_a_misspelled_one_is_refused(project):
    lines = project.read("SConstruct") + "env.AidgeCheck(app, regions={'FLASH': '0,4096,flash'}, board_path='own')\n"
    project.write("own/readme", "")
    project.write("SConstruct", lines)
    project.build()
    options = json.loads(project.read("app.elf.check.json"))["options"]
    assert options["--region"] == ["FLASH=0,4096,flash"] and options["--board-path"] == ["own"] and "--board" not in options
    project.write("SConstruct", lines.replace("regions=", "region="))
    run = project.scons()
    assert run.exit_code == 2 and "AidgeCheck has no option 'region'; did you mean 'regions'?" in run.output
    project.write("SConstruct", lines.replace("board_path='own'", "max_stack=99"))
    run = project.scons()
    assert run.exit_code == 2 and "no option 'max_stack'; env.AidgeBudget(app, max_stack=99) has it;" in run.output


def test_an_alias_that_fails_to_run_a_program_ends_in_one_line(project):
    project.write("SConstruct", project.read("SConstruct") + "env.AlwaysBuild(env.Alias('run', app, [['false', '$SOURCE']]))\n")
    run = project.scons("run")
    assert run.exit_code == 2 and "[run] Error 1" in run.output and "Traceback" not in run.output


@pytest.mark.parametrize(
    "model, flags, line",
    [
        ("board='stm32f4'", "-O2 -O0", "app.elf: models are compiled with -O0, which costs instructions"),
        (
            "cpu='generic'",
            "-g",
            "app.elf: models are compiled without any -O, which costs instructions",
        ),
        ("board='stm32f4'", "-O0 -Og", ""),
        ("board='host'", "-O0", ""),
    ],
)
def test_one_line_says_that_models_for_a_microcontroller_are_not_optimized(project, model, flags, line):
    project.sconstruct(
        f"env['CCFLAGS'] = {flags!r}.split()\n"
        f"env.AidgeCheck(env.Program('app.elf', ['main.c', env.AidgeModel('kws', 'kws.onnx', {model})]))"
    )
    run = project.scons()
    assert run.exit_code == 0 and line in run.output and ("models are compiled" in run.output) is bool(line), run.output
    assert ("several times the stack: env.Append(CCFLAGS=['-O2']), or -Os\n" in run.output) is bool(line)
