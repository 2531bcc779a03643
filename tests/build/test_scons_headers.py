# SPDX-License-Identifier: MIT
"""Who finds the header of a model: the objects that are linked with it, and no others."""

from __future__ import annotations

import json
import re
import subprocess

import pytest

MODEL = "kws = env.AidgeModel('kws', 'kws.onnx', out='out')\n"
SIZED = '#include "kws.h"\nint main(void) { return kws_run() + KWS_SIZE; }\n'  # exits with weights + size


@pytest.fixture
def two_projects(project):
    """Two projects, each with a main.c and a model kws.onnx of its own."""
    for index, name in enumerate(("pa", "pb"), 1):
        project.write(f"{name}/main.c", SIZED)
        project.write(f"{name}/kws.onnx", f"topology=A\nweights=0\nsize={index}\n")
    return project


def test_each_program_includes_the_header_of_its_own_model(two_projects):
    two_projects.sconstruct(
        "for place in ('pa', 'pb'):\n"
        "    local = env if place == 'pa' else env.Clone()\n"
        "    kws = local.AidgeModel('kws', place + '/kws.onnx', out='out_' + place)\n"
        "    local.Program(place + '.elf', [place + '/main.c', kws])\n"
    )
    two_projects.build()
    codes = [subprocess.run([two_projects.folder / f"{name}.elf"], check=False).returncode for name in ("pa", "pb")]
    assert codes == [1, 2] and two_projects.build() == []


def test_a_second_model_of_the_same_name_in_one_environment_is_refused_in_one_line(two_projects):
    two_projects.sconstruct(
        "env.AidgeModel('kws', 'pa/kws.onnx', out='out_pa')\nenv.AidgeModel('kws', 'pb/kws.onnx', out='out_pb')\n"
    )
    run = two_projects.scons()
    assert run.exit_code == 2
    assert "model 'kws' in 'out_pa'; a second one in 'out_pb' needs an environment of its own: env = env.Clone()" in run.output
    assert 'SConstruct", line 5, in <module>' in run.output


def test_a_second_model_of_the_same_name_named_as_a_source_is_refused_too(two_projects):
    for name in ("pa", "pb"):
        two_projects.write(f"{name}/SConscript", "Import('env')\nenv.Program('app.elf', ['main.c', 'kws.onnx'])\n")
    two_projects.sconstruct("for place in ('pa', 'pb'):\n    SConscript(place + '/SConscript', exports='env')\n")
    run = two_projects.scons()
    assert run.exit_code == 2 and "a second one in 'pb' needs an environment of its own" in run.output
    assert 'pb/SConscript", line 2, in <module>' in run.output


@pytest.mark.parametrize(
    "second", ["env.AidgeModel('KWS', 'pb/kws.onnx', out='out')", "env.Clone().AidgeModel('KWS', 'pb/kws.onnx')"]
)
def test_two_models_whose_names_differ_in_upper_case_alone_are_refused(two_projects, second):
    """On a disk that knows no upper case one would overwrite the files of the other; their macros are the same on any."""
    two_projects.sconstruct(f"env.AidgeModel('kws', 'pa/kws.onnx')\n{second}\n")
    run = two_projects.scons()
    assert (
        run.exit_code == 2
        and "the models 'kws' and 'KWS' differ in upper case alone: macros of both begin with KWS_" in run.output
    )
    assert 'SConstruct", line 5, in <module>' in run.output


def test_two_different_models_for_one_folder_are_refused(two_projects):
    two_projects.sconstruct(
        "env.AidgeModel('kws', 'pa/kws.onnx', out='out')\n"
        "env.Clone().AidgeModel('kws', 'pa/kws.onnx', out='out', optimize='size')\n"
    )
    run = two_projects.scons()
    assert run.exit_code == 2 and "out/kws.c is generated with nothing else and with --optimize=size: give" in run.output


def test_an_object_of_two_programs_with_different_models_is_refused(two_projects):
    two_projects.sconstruct(
        "main = env.Object('main', 'pa/main.c')\n"
        "for place in ('pa', 'pb'):\n"
        "    local = env.Clone()\n"
        "    local.Program(place + '.elf', [main, local.AidgeModel('kws', place + '/kws.onnx', out=place)])\n"
    )
    run = two_projects.scons()
    assert run.exit_code == 2 and "main.o is linked with pa/kws.h and with pb/kws.h" in run.output


def test_no_compile_line_of_another_program_names_the_folder_of_a_model_and_nothing_of_it_is_compiled_anew(project):
    project.write("other.c", "int main(void) { return 0; }\n")
    other = "env.Replace(CCCOMSTR='')\nenv.Program('other.elf', ['other.c'])\n"
    project.sconstruct(other)
    project.scons()
    project.sconstruct(other + MODEL + "env.Program('app.elf', ['main.c', kws])\n")
    lines = project.scons().output.splitlines()
    assert any("-Iout" in line and "main.c" in line for line in lines)
    assert not any("other.c" in line or "other.o" in line for line in lines)
    (project.folder / "other.o").unlink()
    assert not any("-Iout" in line for line in project.scons().output.splitlines() if "other.c" in line)


# Ways to a program, each in a folder of its own with a main.c.
WAYS = {
    "object before the model": "main = env.Object('main.c')\nMODEL\nenv.Program('app.elf', [main, kws])",
    "model in a library": "MODEL\nenv.Program('app.elf', ['main.c', env.StaticLibrary('models', kws)])",
    "user in a library": "MODEL\nenv.Program('app.elf', [env.StaticLibrary('all', ['main.c']), kws])",
    "shared library": "MODEL\nenv.SharedLibrary('all', ['main.c', kws])",
    "override of the program": "MODEL\nenv.Program('app.elf', ['main.c', kws], CPPPATH=['one', 'two'])",
    "override of the object": "MODEL\nenv.Program('app.elf', [env.Object('main.c', CPPPATH='one'), kws])",
    "path as a text": "env.Replace(CPPPATH='one:two')\nMODEL\nenv.Program('app.elf', ['main.c', kws])",
    "path replaced afterwards": "MODEL\nenv.Replace(CPPPATH='one')\nenv.Program('app.elf', ['main.c', kws])",
    "own link command": "MODEL\nobjects = [env.Object('main.c'), [env.Object(file) for file in kws]]\n"
    "env.AidgeCheck(env.Command('app.elf', objects, '$CC -o $TARGET $SOURCES'))",
    "include": "MODEL\nenv.Append(CPPPATH=[kws.include])\nenv.Object('main.c')",
    "environment without the tool": "MODEL\n"
    "plain = Environment(tools=['gcc', 'gnulink'], ENV=env['ENV'], CCCOMSTR='CC $TARGET')\n"
    "env.Program('app.elf', [plain.Object('main.c'), kws])",
    "emitters set later": "MODEL\nenv.Tool('gnulink')\nenv.Program('app.elf', ['main.c', kws])",
}


def test_what_is_linked_with_a_model_finds_its_header(project):
    for index, lines in enumerate(WAYS.values()):
        lines = lines.replace("MODEL", "kws = env.AidgeModel('kws', '#kws.onnx', out='out')")
        project.write(f"way{index}/SConscript", f"Import('env')\n{lines}\n")
        project.write(f"way{index}/main.c", SIZED)
    project.sconstruct(
        "env.Tool('ar')\nenv.Replace(SHCCCOMSTR='CC $TARGET')\n"
        f"for index in range({len(WAYS)}):\n    SConscript('way%d/SConscript' % index, exports={{'env': env.Clone()}})\n"
    )

    def compiled() -> set[str]:
        run = project.scons("-k")
        found = {int(index) for index in re.findall(r"^CC way(\d+)/main\.os?$", run.output, re.MULTILINE)}
        failed = [way for index, way in enumerate(WAYS) if f"way{index}/main.c:" in run.output]
        assert run.exit_code == 0, failed or run.output
        return {way for index, way in enumerate(WAYS) if index in found}

    assert compiled() == set(WAYS)
    assert compiled() == set()
    project.write("kws.onnx", "topology=A\nweights=1\nsize=3\n")  # the header is a dependency
    assert compiled() == set(WAYS)


def test_editors_learn_the_folder_of_the_header(project):
    project.sconstruct(
        "env.Tool('compilation_db')\nenv.CompilationDatabase()\n" + MODEL + "env.Program('app.elf', ['main.c', kws])\n"
    )
    project.build("compile_commands.json")
    entries = {entry["file"]: entry["command"] for entry in json.loads(project.read("compile_commands.json"))}
    assert "-Iout" in entries["main.c"]


def test_who_cannot_find_the_header_is_told_where_it_is(project):
    project.write("own.h", '#include "kws.h"\n')
    project.write("main.c", '#include "own.h"\nint main(void) { return 0; }\n')
    project.sconstruct(MODEL + "env.Program('app.elf', ['main.c'])\n")
    run = project.scons()
    assert run.exit_code == 2
    assert "main.o: kws.h is generated in out: put the model among the sources of the program, or append its folder" in run.output


def test_who_compiles_by_a_command_of_his_own_is_told_what_to_append(project):
    own = "env.Replace(CCCOM=\"$CC -o $TARGET -c ${_concat('-I', CPPPATH, '', __env__)} $SOURCES\")\n"
    program = "env.Program('app.elf', ['main.c', kws])\n"
    project.sconstruct(own + MODEL + program)
    run = project.scons()
    assert run.exit_code == 2 and "main.o: kws.h is generated in out" in run.output
    project.sconstruct(own + MODEL + "env.Append(CPPPATH=[kws.include])\n" + program)
    assert "LINK app.elf" in project.build()
    project.write("main.c", '#include "kws.h"\n#error mine\n')
    assert "is generated in" not in project.scons().output


IMAGES = """
for name in ('one', 'two'):
    image = env.Clone(OBJPREFIX=name + '_', CPPDEFINES={'IMAGE': name})
    %s
    image.AidgeCheck(image.Program(name + '.elf', ['main.c', kws]))
"""


@pytest.mark.parametrize("call", ["image.AidgeModel('kws', 'kws.onnx', out='out')", "'kws.onnx'"], ids=["named", "source"])
def test_a_model_that_each_image_asks_for_is_generated_once_and_without_a_warning(project, call):
    project.sconstruct(IMAGES % f"kws = {call}")
    run = project.scons()
    assert run.exit_code == 0 and "arning" not in run.output, run.output
    assert run.steps.count("AIDGE kws.c") == 1 and {"CHECK one.elf", "CHECK two.elf"} < set(run.steps)


def test_a_change_of_weights_reaches_every_image_and_the_generator_runs_once(project):
    project.sconstruct(MODEL + IMAGES % "")
    assert "arning" not in project.scons().output
    project.write("kws.onnx", "topology=A\nweights=2\n")
    steps = [step.format(name) for name in ("one", "two") for step in ("CC {}_kws_weights.o", "LINK {}.elf", "CHECK {}.elf")]
    assert sorted(project.build()) == sorted(["AIDGE kws.c", *steps])
    assert project.build() == []
