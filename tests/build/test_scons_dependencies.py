# SPDX-License-Identifier: MIT
"""Which steps scons runs after which change, with a stand-in for the generator."""

from __future__ import annotations

import os
import time

import pytest

EVERYTHING = {"AIDGE kws.c", "CC main.o", "CC kws.o", "CC kws_weights.o", "LINK app.elf"}


def test_the_first_build_runs_every_step_once_and_a_null_build_no_command(project):
    steps = project.build()
    assert sorted(steps) == sorted(EVERYTHING)
    assert project.build() == []


def test_touching_the_model_and_the_sources_runs_nothing(project):
    project.build()
    for name in ("kws.onnx", "main.c", "kws.c", "kws.h", "SConstruct"):
        os.utime(project.folder / name, (2_000_000_000, 2_000_000_000))
    assert project.build() == []


def test_a_change_of_weights_alone_runs_the_generator_one_compile_and_the_link_and_writes_no_header(project):
    project.build()
    before = (project.folder / "kws.h").stat()
    project.write("kws.onnx", "topology=A\nweights=2\n")
    assert project.build() == ["AIDGE kws.c", "CC kws_weights.o", "LINK app.elf"]
    after = (project.folder / "kws.h").stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


def test_a_changed_model_with_the_time_of_the_old_one_is_seen(project):
    path = project.folder / "kws.onnx"
    os.utime(path, (1_700_000_000, 1_700_000_000))
    project.build()
    path.write_text("topology=A\nweights=22\n")
    os.utime(path, (1_700_000_000, 1_700_000_000))
    assert "AIDGE kws.c" in project.build()


def test_a_change_of_topology_does_not_recompile_the_users_code(project):
    project.build()
    project.write("kws.onnx", "topology=B\nweights=1\n")
    assert project.build() == ["AIDGE kws.c", "CC kws.o", "LINK app.elf"]


def test_a_changed_option_regenerates(project):
    project.build()
    project.write("SConstruct", project.read("SConstruct").replace("'kws.onnx')", "'kws.onnx', libs=['mine', 'ref'])"))
    assert project.build() == ["AIDGE kws.c", "CC kws.o", "LINK app.elf"]
    assert '"--lib": ["mine,ref"]' in project.read("kws.c").replace("\\", "")


def test_a_deleted_output_comes_back_and_nothing_is_compiled(project):
    project.build()
    for output in ("kws.h", "kws.c", "kws_weights.c", "kws.plan.json"):
        (project.folder / output).unlink()
        assert project.scons(".").steps == ["AIDGE kws.c"]
        assert (project.folder / output).exists()


def test_cleaning_removes_what_was_made_and_nothing_else(project):
    before = {path.name for path in project.folder.iterdir()}
    project.build()
    project.build("-c")
    assert {path.name for path in project.folder.iterdir()} - {".sconsign.dblite"} == before


def test_cleaning_removes_everything_where_the_model_is_built_too(project):
    project.write("raw.txt", "topology=A\nweights=1\n")
    project.sconstruct(
        "model = env.Command('made/kws.onnx', 'raw.txt', Copy('$TARGET', '$SOURCE'))\n"
        "env.Program('app.elf', ['main.c', env.AidgeModel('kws', model, out='out')])"
    )
    project.build()
    run = project.scons("-c")
    assert run.exit_code == 0 and "Traceback" not in run.output, run.output
    assert not [path for folder in ("made", "out") for path in (project.folder / folder).glob("*")]
    assert not (project.folder / "app.elf").exists()


@pytest.mark.parametrize("decider", ["Decider('make')\n", "env.Decider('make')\n"])
def test_after_a_change_of_weights_the_generator_runs_once_also_where_times_decide(project, decider):
    project.write("SConstruct", project.read("SConstruct").replace("env.Tool(", decider + "env.Tool("))
    project.build()
    before = time.time() - 5  # times count in whole seconds
    for path in project.folder.iterdir():
        os.utime(path, (before, before))
    os.utime(project.write("kws.onnx", "topology=A\nweights=2\n"), (2_000_000_000, 2_000_000_000))  # newer than what is made
    assert project.build() == ["AIDGE kws.c", "CC kws_weights.o", "LINK app.elf"]
    assert project.build() == []


def test_a_failing_generator_fails_the_build_and_the_next_build_repairs_it(project):
    project.write("kws.onnx", "nonsense\n")
    run = project.scons()
    assert run.exit_code == 2 and "kws.onnx: not a model" in run.output
    project.write("kws.onnx", "topology=A\nweights=1\n")
    assert set(project.build()) == EVERYTHING


def test_changed_external_weights_regenerate(project):
    project.write("kws.onnx", b"topology=A\nweights=1\n\x0a\x08location\x12\x08kws.data")
    project.write("kws.data", "one")
    project.build()
    project.write("kws.data", "two")
    assert project.build()[:1] == ["AIDGE kws.c"]


@pytest.mark.parametrize("folder", ["kernel_path", "board_path"])
def test_a_changed_file_in_a_folder_of_the_user_regenerates_and_a_touched_one_does_not(project, folder):
    path = project.write("mine/lib/kernel.h", "int one;\n")
    project.write("SConstruct", project.read("SConstruct").replace("'kws.onnx')", f"'kws.onnx', {folder}='mine')"))
    project.build()
    os.utime(path, (2_000_000_000, 2_000_000_000))
    assert project.build() == []
    path.write_text("int two;\n")
    assert project.build() == ["AIDGE kws.c"]


def test_another_place_of_the_same_tool_runs_nothing(project):
    project.build()
    text = project.read("SConstruct")
    stub = project.write("moved/stub_generator.py", open(text.split("AIDGE_BUILD=[")[1].split("'")[3], "rb").read())
    old = text.split("AIDGE_BUILD=[")[1].split("'")[3]
    project.write("SConstruct", text.replace(old, str(stub)))
    assert project.build() == []
    stub.write_text(stub.read_text() + "# changed\n")
    assert project.build() == ["AIDGE kws.c"]


def test_a_variant_folder_holds_everything_that_is_made(project):
    project.write("src/main.c", project.read("main.c"))
    project.write("src/kws.onnx", project.read("kws.onnx"))
    project.write(
        "src/SConscript", "Import('env')\nkws = env.AidgeModel('kws', 'kws.onnx')\nenv.Program('app.elf', ['main.c', kws])\n"
    )
    project.sconstruct("SConscript('src/SConscript', exports='env', variant_dir='build/debug', duplicate=0)")
    assert set(project.build("-j2")) == EVERYTHING
    assert sorted(path.name for path in (project.folder / "src").iterdir()) == ["SConscript", "kws.onnx", "main.c"]
    assert (project.folder / "build/debug/kws.h").exists()
    assert project.build() == []


def test_a_model_is_a_source_like_any_other(project):
    project.sconstruct("env.Program('app.elf', ['main.c', 'kws.onnx'])")
    assert set(project.build()) == EVERYTHING
    assert project.build() == []
    project.write("kws.onnx", "topology=A\nweights=2\n")
    assert project.build() == ["AIDGE kws.c", "CC kws_weights.o", "LINK app.elf"]


def test_nothing_is_written_beside_a_model_that_lies_elsewhere(project):
    project.write("src/main.c", project.read("main.c"))
    project.write("models/kws.onnx", project.read("kws.onnx"))
    project.write("src/SConscript", "Import('env')\nenv.Program('app.elf', ['main.c', '#models/kws.onnx'])\n")
    project.sconstruct("SConscript('src/SConscript', exports='env', variant_dir='build', duplicate=0)")
    assert set(project.build()) == EVERYTHING
    assert [path.name for path in (project.folder / "models").iterdir()] == ["kws.onnx"]


def test_two_models_in_one_firmware(project):
    project.write("vad.onnx", "topology=V\nweights=5\n")
    project.write("main.c", '#include "kws.h"\n#include "vad.h"\nint main(void) { return kws_run() + vad_run() == 6 ? 0 : 1; }\n')
    project.sconstruct("env.Program('app.elf', ['main.c', env.AidgeModel('kws', 'kws.onnx'), 'vad.onnx'])")
    assert {"AIDGE kws.c", "AIDGE vad.c"} < set(project.build())
    assert os.spawnv(os.P_WAIT, project.folder / "app.elf", ["app.elf"]) == 0
    project.write("vad.onnx", "topology=V\nweights=7\n")
    assert project.build() == ["AIDGE vad.c", "CC vad_weights.o", "LINK app.elf"]


def test_the_files_of_a_model_add_up_with_other_lists_of_sources(project):
    lists = ("Glob('*.c') + kws", "['main.c'] + kws", "kws + ['main.c']", "kws[:1] + kws[1:] + ['main.c']", "[*kws, 'main.c']")
    programs = [f"env.AidgeCheck(env.Program('{index}.elf', {sources}))\n" for index, sources in enumerate(lists)]
    project.sconstruct("kws = env.AidgeModel('kws', 'kws.onnx', out='out')\n" + "".join(programs))
    assert {f"{verb} {index}.elf" for verb in ("LINK", "CHECK") for index in range(len(lists))} < set(project.build())


def test_a_model_that_is_itself_built(project):
    project.write("raw.txt", "topology=A\nweights=1\n")
    project.sconstruct(
        "model = env.Command('made/kws.onnx', 'raw.txt', Copy('$TARGET', '$SOURCE'))\n"
        "env.Program('app.elf', ['main.c', env.AidgeModel('kws', model)])"
    )
    assert set(project.build()) == EVERYTHING
    assert project.build() == []
    project.write("raw.txt", "topology=A\nweights=3\n")
    assert project.build() == ["AIDGE kws.c", "CC kws_weights.o", "LINK app.elf"]


def test_the_full_command_is_shown_with_verbose(project):
    assert "compile --out=. --name=kws" in project.scons("verbose=1").output


def test_objects_come_from_a_cache_in_another_folder(project, tmp_path):
    text = project.read("SConstruct") + f"CacheDir({str(tmp_path / 'cache')!r})\n"
    project.write("SConstruct", text)
    project.build()
    other = type(project)(tmp_path / "elsewhere")
    for name in ("SConstruct", "main.c", "kws.onnx"):
        other.write(name, project.read(name))
    run = other.scons("app.elf")
    assert run.exit_code == 0 and "AIDGE" not in run.output.replace("`", "") and "Retrieved" in run.output


REPOSITORY = """\
kws = env.AidgeModel('kws', 'models/kws.onnx', kernel_path='kernels', quantize='samples.txt', out='generated')
env.AidgeCheck(env.Program('app.elf', ['main.c', kws]))
env.AidgeAccuracy(kws, labels='samples.txt')
"""


def test_everything_that_a_model_is_made_from_may_lie_in_a_repository(project, tmp_path):
    project.write("models/kws.onnx", project.read("kws.onnx"))
    project.write("kernels/used.h", "int used_header;\n")
    project.write("samples.txt", "5\n")
    project.sconstruct(REPOSITORY)
    mine = type(project)(tmp_path / "mine")
    mine.write("readme", "")
    assert "CHECK app.elf" in mine.build("-Y", str(project.folder)) and mine.build("-Y", str(project.folder)) == []
    assert "weight = 5;" in mine.read("generated/kws_weights.c") and "used_header" in mine.read("generated/kws.c")
    project.write("samples.txt", "6\n")
    assert mine.build("-Y", str(project.folder))[:2] == ["AIDGE kws.c", "CC kws_weights.o"]
    mine.write("models/kws.onnx", "topology=B\n")
    assert mine.build("-Y", str(project.folder))[:2] == ["AIDGE kws.c", "CC kws.o"]  # a file here hides that of the repository


def test_a_repository_that_is_built_is_not_built_again_and_its_plan_is_checked(project, tmp_path):
    project.write("SConstruct", project.read("SConstruct") + "env.AidgeCheck(app)\n")
    project.build()
    mine = type(project)(tmp_path / "mine")
    mine.write("main.c", "int more;\n" + project.read("main.c"))
    assert mine.build("-Y", str(project.folder)) == ["CC main.o", "LINK app.elf", "CHECK app.elf"]
