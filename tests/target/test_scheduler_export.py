# SPDX-License-Identifier: MIT
"""scheduler_export: the folder builds with a plain compiler, computes the right numbers, and is the same each time."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy
import pytest

import aidge_build
from aidge_build.base.errors import AidgeError, CheckFailed
from aidge_build.contract.library import library_of
from aidge_build.contract.reference import cpu
from aidge_build.plan.options import Options
from aidge_build.prepare.recipes import simplify
from tests.command import aidge_build as command
from tests.models import graph, model

ROOT = Path(__file__).resolve().parents[2]
RANDOM = numpy.random.default_rng(5)
WEIGHTS = {
    "w": RANDOM.normal(size=(4, 3, 3, 3)).astype(numpy.float32),
    "v": RANDOM.normal(size=(5, 4 * 3 * 4)).astype(numpy.float32),
}
TEXT = (
    "a = Conv<pads=[1,1,1,1]>(x, w) r = Relu(a) p = MaxPool<kernel_shape=[2,2], strides=[2,2]>(r) f = "
    "Flatten(p) g = Gemm<transB=1>(f, v) "
    "y = Softmax(g)"
)
INPUTS = {"x": RANDOM.normal(size=(1, 3, 6, 8)).astype(numpy.float32)}


def scheduler() -> aidge_build.SequentialScheduler:
    return aidge_build.SequentialScheduler(
        simplify(graph(TEXT, inputs="float[1,3,6,8] x", outputs="float[1,5] y", constants=WEIGHTS))
    )


def built_and_run(folder: Path, *sources: str) -> subprocess.CompletedProcess:
    names = sources or sorted(path.name for path in folder.glob("*.c"))
    subprocess.run(["cc", "-Wall", "-Wextra", "-Werror", *names, "-lm", "-o", "net"], cwd=folder, check=True)
    return subprocess.run([folder / "net"], cwd=folder, capture_output=True, text=True)


@pytest.mark.parametrize("manager", [aidge_build.compute_default_mem_info, aidge_build.generate_optimized_memory_info])
def test_the_folder_builds_with_a_plain_compiler_and_runs_right(tmp_path, manager):
    made = scheduler()
    written = aidge_build.scheduler_export(made, str(tmp_path), "ref", memory_manager=manager)
    assert sorted(Path(path).name for path in written) == sorted(path.name for path in tmp_path.iterdir())
    assert {"README.md", "forward.c", "forward.h", "main.c", "model.c", "model.h", "model_weights.c", "model.plan.json"} <= {
        Path(path).name for path in written
    }
    aidge_build.generate_main(str(tmp_path), made, INPUTS)
    done = built_and_run(tmp_path)
    wanted = cpu.run(made.graph_view, INPUTS)["y"].reshape(-1)
    assert done.returncode == 0 and numpy.allclose([float(word) for word in done.stdout.split()], wanted, atol=1e-5)


def test_each_node_s_backend_is_the_library(tmp_path):
    made = scheduler()
    aidge_build.scheduler_export(made, str(tmp_path), "ref", memory_manager=aidge_build.compute_default_mem_info)
    assert set(made.backends.values()) == {"ref"} and [node.name for node in made.get_static_scheduling()] == list(made.backends)


def test_a_comparing_main_checks_every_layer_in_test_mode(tmp_path):
    made = scheduler()
    aidge_build.scheduler_export(made, str(tmp_path), "ref", memory_manager=aidge_build.compute_default_mem_info, test_mode=True)
    aidge_build.generate_main_compare(str(tmp_path), made, INPUTS)
    done = built_and_run(tmp_path)
    assert (done.returncode, done.stdout) == (0, "0 values differ\n")
    weights = tmp_path / "model_weights.c"
    weights.write_text(re.sub(r"-?\d+\.\d+(e-\d+)?f?,", "9.5f,", weights.read_text(), count=1))
    done = built_and_run(tmp_path)
    assert done.returncode == 1 and "instead of" in done.stdout


def test_a_comparing_main_checks_the_outputs_otherwise(tmp_path):
    made = scheduler()
    aidge_build.scheduler_export(made, str(tmp_path), "ref", memory_manager=aidge_build.compute_default_mem_info)
    aidge_build.generate_main_compare(str(tmp_path), made, INPUTS)
    assert built_and_run(tmp_path).stdout == "0 values differ\n"


def test_a_memory_manager_is_required(tmp_path):
    with pytest.raises(AidgeError, match="needs a memory_manager"):
        aidge_build.scheduler_export(scheduler(), str(tmp_path), "ref")


@pytest.mark.parametrize("options", [{"memory_model": "cascade"}, {"ram_budget": 4096}])
def test_a_memory_manager_s_tensors_are_whole(tmp_path, options):
    with pytest.raises(AidgeError, match="no layer is computed row by row"):
        aidge_build.scheduler_export(
            scheduler(),
            str(tmp_path),
            "ref",
            memory_manager=aidge_build.generate_optimized_memory_info,
            options=Options(**options),
        )
    assert not list(tmp_path.iterdir())


def test_arguments_reach_the_memory_manager(tmp_path):
    def manager(made, shift):
        peak, found = aidge_build.compute_default_mem_info(made)
        return peak + shift, {node: [aidge_build_shifted(info, shift) for info in infos] for node, infos in found.items()}

    def aidge_build_shifted(info, shift):
        return {
            "size": info.size,
            "stride": info.stride,
            "offset": info.offset + shift,
            "length": info.length,
            "count": info.count,
        }

    made = scheduler()
    aidge_build.scheduler_export(made, str(tmp_path), "ref", memory_manager=manager, memory_manager_args={"shift": 64})
    aidge_build.generate_main_compare(str(tmp_path), made, INPUTS)
    assert made.program.memory.arena.peak_bytes > 64 and built_and_run(tmp_path).stdout == "0 values differ\n"


def overlapping(made):
    peak, found = aidge_build.compute_default_mem_info(made)
    return peak, {
        node: [
            {"size": info.size, "stride": info.stride, "offset": 0, "length": info.length, "count": info.count} for info in infos
        ]
        for node, infos in found.items()
    }


def wrapped(made):
    peak, found = aidge_build.compute_default_mem_info(made)
    return peak, {
        node: [
            {"size": i.size, "stride": i.stride, "offset": i.offset, "length": i.length, "count": i.count, "wrap_size": 8}
            for i in infos
        ]
        for node, infos in found.items()
    }


def too_small(made):
    return 16, aidge_build.compute_default_mem_info(made)[1]


def silent(made):
    return 0, {}


@pytest.mark.parametrize(
    "manager, error, message",
    [
        (overlapping, CheckFailed, "overlap"),
        (wrapped, AidgeError, "wraps around"),
        (too_small, CheckFailed, "of 16"),
        (silent, AidgeError, "says nothing"),
    ],
)
def test_a_plan_that_is_wrong_is_refused_and_nothing_is_written(tmp_path, manager, error, message):
    with pytest.raises(error, match=message):
        aidge_build.scheduler_export(scheduler(), str(tmp_path / "out"), "ref", memory_manager=manager)
    assert not (tmp_path / "out").exists()


def test_the_same_bytes_under_any_hash_seed(tmp_path):
    """This process has another one in each run of the tests."""
    code = (
        "import sys, aidge_build; from tests.target.test_scheduler_export import scheduler; "
        "aidge_build.scheduler_export(scheduler(), sys.argv[1], 'ref', memory_manager=aidge_build.generate_optimized_memory_info)"
    )
    here, other = tmp_path / "here", tmp_path / "other"
    aidge_build.scheduler_export(scheduler(), str(here), "ref", memory_manager=aidge_build.generate_optimized_memory_info)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": "77"}
    subprocess.run([sys.executable, "-c", code, str(other)], cwd=ROOT, check=True, env=environment)
    found = [{path.name: path.read_bytes() for path in sorted(folder.iterdir())} for folder in (here, other)]
    assert found[0] == found[1]


EXPORT_LIB = """
from aidge_build import ExportLib, ExportNodeCpp, ImplSpec, IOSpec, dtype
class Own(ExportLib):
    _name = "own"
    static_files = {FOLDER + "/notes.txt": "documents"}
@Own.register("ReLU", ImplSpec(IOSpec(dtype.float32)))
class Relu(ExportNodeCpp):
    config_template, include_list = "", []
    forward_template, kernels_to_copy = FOLDER + "/relu.jinja", [FOLDER + "/relu.h"]
"""


def test_an_export_library_of_the_program_itself_mixes_with_another_one(tmp_path):
    (tmp_path / "relu.jinja").write_text("own_relu({{ in_name[0] }}, {{ out_name[0] }}, {{ in_size[0] }});")
    (tmp_path / "relu.h").write_text(
        "static void own_relu(const float *in, float *out, int n) { for (int i = 0; i < n; i++) out[i] = in[i] > 0 ? in[i] : 0; }"
    )
    (tmp_path / "notes.txt").write_text("hello")
    names = {"FOLDER": str(tmp_path), "__name__": __name__}
    exec(EXPORT_LIB, names)
    made = aidge_build.SequentialScheduler(
        graph("a = Sigmoid(x) b = Relu(a) y = Sigmoid(b)", inputs="float[1,4] x", outputs="float[1,4] y")
    )
    out = tmp_path / "out"
    written = aidge_build.scheduler_export(
        made, str(out), [names["Own"], "ref"], memory_manager=aidge_build.compute_default_mem_info
    )
    assert str(out / "documents" / "notes.txt") in written
    assert list(made.backends.values()) == ["ref", "own", "ref"]
    aidge_build.generate_main_compare(str(out), made, {"x": numpy.float32([[-1, 0, 1, 2]])})
    assert built_and_run(out).stdout == "0 values differ\n"


CPP_LIB = """
from aidge_build import ExportLib, ExportNodeCpp, ImplSpec, IOSpec, dtype
class Own(ExportLib):
    _name = "own"
    language = LANGUAGE
    static_files = {FOLDER + "/limits.hpp": "include/own", FOLDER + "/notes.txt": "documents"}
@Own.register("ReLU", ImplSpec(IOSpec(dtype.float32)))
class Relu(ExportNodeCpp):
    config_template, include_list = "", []
    forward_template, kernels_to_copy = FOLDER + "/relu.jinja", [FOLDER + "/relu.hpp"]
"""


def cpp_library(folder: Path, language: str) -> type[aidge_build.ExportLib]:
    (folder / "relu.jinja").write_text("own_relu<{{ in_size[0] }}>({{ in_name[0] }}, {{ out_name[0] }});")
    (folder / "relu.hpp").write_text(
        '#include "own/limits.hpp"\n#include <algorithm>\n'
        "template <int N, class T> static void own_relu(const T *in, T *out)\n"
        "{ for (int i = 0; i < N; i++) out[i] = std::max(in[i], own::least<T>()); }\n"
    )
    (folder / "limits.hpp").write_text("namespace own { template <class T> constexpr T least() { return T(0); } }\n")
    (folder / "notes.txt").write_text("hello")
    names = {"FOLDER": str(folder), "LANGUAGE": language, "__name__": __name__}
    exec(CPP_LIB, names)
    return names["Own"]


RELU = {"x": numpy.float32([[-1, 0, 1, 2]])}


def relu_scheduler() -> aidge_build.SequentialScheduler:
    return aidge_build.SequentialScheduler(
        graph("a = Sigmoid(x) b = Relu(a) y = Neg(b)", inputs="float[1,4] x", outputs="float[1,4] y")
    )


def compiled_as_its_readme_says(folder: Path) -> subprocess.CompletedProcess:
    command, run = re.search(
        r"^## Compile and run\n\n    (.*)\n    (.*)$", (folder / "README.md").read_text(), re.MULTILINE
    ).groups()
    subprocess.run(command.split(), cwd=folder, check=True)
    return subprocess.run([folder / run], cwd=folder, capture_output=True, text=True)


def test_a_class_that_says_it_is_cpp_or_has_cpp_kernels_becomes_cpp_with_its_static_files(tmp_path):
    says, folders = cpp_library(tmp_path, "c++"), []
    for name, own in (("class", says), ("value", library_of(says)), ("kernels", cpp_library(tmp_path, ""))):
        made, out = relu_scheduler(), tmp_path / name
        aidge_build.scheduler_export(made, str(out), [own, "ref"], memory_manager=aidge_build.compute_default_mem_info)
        aidge_build.generate_main_compare(str(out), made, RELU)
        folders.append({path.relative_to(out).as_posix(): path.read_bytes() for path in out.rglob("*") if path.is_file()})
    assert folders[0] == folders[1] == folders[2]
    assert sorted(folders[0]) == sorted(
        ["README.md", "documents/notes.txt", "export.json", "forward.cpp", "forward.hpp", "include/own/limits.hpp", "main.cpp"]
        + ["model.cpp", "model.h", "model.plan.json", "model_weights.cpp"]
    )
    assert compiled_as_its_readme_says(tmp_path / "class").stdout == "0 values differ\n"


def test_two_languages_for_one_library_are_refused(tmp_path):
    with pytest.raises(AidgeError, match=r"Own says language 'c\+\+', not 'c'"):
        library_of(cpp_library(tmp_path, "c++"), "c")


def test_a_static_file_in_the_place_of_a_generated_one_is_refused(tmp_path):
    own = cpp_library(tmp_path, "c++")
    (tmp_path / "model.h").write_text("")
    own.static_files = {**own.static_files, str(tmp_path / "model.h"): ""}
    with pytest.raises(AidgeError, match=r"the static file model.h would replace a generated one"):
        aidge_build.scheduler_export(
            relu_scheduler(), str(tmp_path / "out"), [own, "ref"], memory_manager=aidge_build.compute_default_mem_info
        )


def onnx_file(folder: Path) -> Path:
    path = folder / "net.onnx"
    path.write_bytes(model(TEXT, inputs="float[N,3,6,8] x", outputs="float[N,5] y", constants=WEIGHTS))
    return path


def test_a_model_file_becomes_the_graph_that_the_export_wants_in_one_call(tmp_path):
    view = aidge_build.load_onnx(onnx_file(tmp_path), bind={"N": 1}, libraries="ref")
    made = aidge_build.SequentialScheduler(view)
    aidge_build.scheduler_export(made, str(tmp_path / "out"), "ref", memory_manager=aidge_build.generate_optimized_memory_info)
    aidge_build.generate_main_compare(str(tmp_path / "out"), made, INPUTS)
    assert compiled_as_its_readme_says(tmp_path / "out").stdout == "0 values differ\n"


def test_what_an_import_decides_for_the_user_is_a_warning(tmp_path):
    with pytest.warns(UserWarning, match="symbolic batch 'N' becomes 1"):
        aidge_build.load_onnx(onnx_file(tmp_path))


def test_the_verb_writes_a_folder_that_compiles_and_compares(tmp_path):
    numpy.savez(tmp_path / "io.npz", x=INPUTS["x"][None])
    out = tmp_path / "out"
    words = ["--lib", "ref", "--out", out, "--name", "kws", "--io-data", tmp_path / "io.npz", "--bind", "N=1"]
    result = command("export", onnx_file(tmp_path), *words, "--json")
    assert result.exit_code == 0, result.stderr
    assert sorted(result.json["files"]) == sorted(path.name for path in out.iterdir()) and "kws.c" in result.json["files"]
    assert compiled_as_its_readme_says(out).stdout == "0 values differ\n"


def test_the_verb_refuses_an_arena_of_the_caller(tmp_path):
    result = command("export", onnx_file(tmp_path), "--lib", "ref", "--out", tmp_path / "out", "--arena", "caller")
    assert result.exit_code == 2 and "a standalone folder owns its arena" in result.stderr and not (tmp_path / "out").exists()
