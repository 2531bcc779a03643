# SPDX-License-Identifier: MIT
"""Writing generated files: only what differs, nothing half-written, reasons for changes."""

from __future__ import annotations

import copy
import errno
import os
import shutil
import subprocess
from pathlib import Path

import numpy
import pytest

from aidge_build.base.errors import AidgeError
from aidge_build.base.output import depfile_text, describe_change, remove_file, write_files, write_sources
from aidge_build.base.source_files import Sources
from aidge_build.build.emit import emit
from aidge_build.cli import main
from tests.emitted import chain
from tests.small_model import small_model


def times(folder):
    return {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}


def make_old(folder):
    for path in folder.iterdir():
        os.utime(path, (1, 1))


def test_only_files_that_differ_are_written(tmp_path):
    write_sources(emit(chain()), tmp_path)
    make_old(tmp_path)
    before = times(tmp_path)
    assert write_sources(emit(chain()), tmp_path) == ()
    assert times(tmp_path) == before
    write_sources(emit(chain(weights=numpy.full(6, 9, numpy.int8))), tmp_path)
    assert {name for name, time in times(tmp_path).items() if time != before[name]} == {"toy_weights.c", "toy.plan.json"}


def test_no_other_file_stays_in_the_folder(tmp_path):
    write_sources(emit(chain()), tmp_path / "new" / "folder")
    assert sorted(times(tmp_path / "new" / "folder")) == ["toy.c", "toy.h", "toy.plan.json", "toy_weights.c"]


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_failure_leaves_the_old_files_and_names_path_and_reason(tmp_path, monkeypatch, call):
    write_sources(emit(chain()), tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(f"aidge_build.base.output.os.{call}", full)
    with pytest.raises(AidgeError) as refusal:
        write_sources(emit(chain(count=8)), tmp_path)
    assert "No space left on device" in str(refusal.value) and str(tmp_path / "toy.") in str(refusal.value)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize("reason", [errno.EROFS, errno.EACCES])
def test_a_file_system_that_removes_no_file_either_is_named_with_its_reason(tmp_path, monkeypatch, reason):
    def refuse(path, *_, **__):
        raise OSError(reason, os.strerror(reason), str(path))

    monkeypatch.setattr("builtins.open", refuse)
    monkeypatch.setattr("pathlib.Path.unlink", refuse)
    with pytest.raises(AidgeError, match=rf"toy.*: cannot be written: {os.strerror(reason)}"):
        write_sources(emit(chain()), tmp_path)
    with pytest.raises(AidgeError, match=rf"old.c: cannot be removed: {os.strerror(reason)}"):
        remove_file(tmp_path / "old.c")


@pytest.mark.parametrize("reason", [errno.EROFS, errno.EACCES, errno.ENOSPC, errno.ENOTDIR, errno.EEXIST])
def test_a_verb_that_meets_a_file_system_which_takes_no_file_says_so_in_one_line(tmp_path, monkeypatch, capsys, reason):
    def refuse(path, *_, **__):
        raise OSError(reason, os.strerror(reason), str(path))

    model, vectors = tmp_path / "one.onnx", tmp_path / "v.npz"
    model.write_bytes(small_model())
    numpy.savez(vectors, x=numpy.zeros((1, 8), numpy.int8))
    monkeypatch.setattr("pathlib.Path.mkdir", refuse)
    code = main(["verify", str(model), "--board", "microbit", "--io-data", str(vectors), "--keep", str(tmp_path / "work")])
    said = capsys.readouterr().err
    assert code == 2 and len(said.splitlines()) == 1
    assert f"work: cannot be used: {os.strerror(reason)}" in said


def test_a_folder_in_the_way_is_named_and_nothing_is_written(tmp_path):
    (tmp_path / "toy_weights.c").mkdir()
    with pytest.raises(AidgeError, match=r"toy_weights.c: cannot be written: is a folder"):
        write_sources(emit(chain()), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["toy_weights.c"]


@pytest.mark.parametrize("folder", [".", "/"])
def test_a_folder_without_a_name_is_named_too(folder):
    with pytest.raises(AidgeError, match=f"{folder}: cannot be written: is a folder"):
        write_files({Path(folder): b"1"})


@pytest.mark.requirement("WRITE")
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_device_or_pipe_in_the_way_stays_and_is_not_read(tmp_path):
    """Root could replace /dev/null."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(AidgeError, match=r"pipe: cannot be written: is no regular file"):
        write_files({tmp_path / "other": b"1", tmp_path / "pipe": b"1"})
    assert (tmp_path / "pipe").is_fifo() and [path.name for path in tmp_path.iterdir()] == ["pipe"]


def test_a_file_in_the_place_of_the_folder_is_named(tmp_path):
    (tmp_path / "out").write_text("")
    with pytest.raises(AidgeError, match="out.*cannot be written"):
        write_sources(emit(chain()), tmp_path / "out")


def test_a_damaged_old_manifest_is_no_obstacle(tmp_path):
    (tmp_path / "toy.plan.json").write_text('{"schema": 1, "files"')
    assert write_sources(emit(chain()), tmp_path) == ()


def test_the_stamp_is_always_touched_and_the_depfile_names_it(tmp_path):
    depfile, stamp = tmp_path / "toy.d", tmp_path / "toy.stamp"
    write_sources(emit(chain()), tmp_path, depfile=depfile, stamp=stamp, dependencies=["b.onnx", "a.toml"])
    os.utime(stamp, (1, 1))
    write_sources(emit(chain()), tmp_path, depfile=depfile, stamp=stamp, dependencies=["b.onnx", "a.toml"])
    assert stamp.stat().st_mtime > 1
    assert depfile.read_text() == f"{stamp}: a.toml \\\n b.onnx\n"


@pytest.mark.skipif(shutil.which("make") is None, reason="make is missing")
def test_make_reads_paths_with_spaces_dollars_and_hashes_from_the_depfile(tmp_path):
    names = ["a b.onnx", "c$d.onnx", "e#f.onnx"]
    for name in names:
        (tmp_path / name).write_text("")
    (tmp_path / "Makefile").write_text("include out.d\nout:\n\t@printf '%s\\n' $(foreach f,$?,'$f')\n")
    (tmp_path / "out.d").write_text(depfile_text(["out"], names))
    made = subprocess.run(["make", "-s", "-C", tmp_path], capture_output=True, text=True, check=True)
    assert "No rule" not in made.stderr and "c$d.onnx" in made.stdout and "e#f.onnx" in made.stdout


def changed_layer(**changes) -> tuple[dict, dict]:
    """Manifests before and after a change of the first layer's code."""
    old = emit(chain()).manifest
    new = copy.deepcopy(old)
    new["files"]["toy.c"] = "other"
    new["layers"][0] |= {"code_sha256": "other", **changes}
    return old, new


def test_a_changed_proof_names_the_layer():
    assert describe_change(*changed_layer(note="clamp dropped")) == (
        "toy.c changed: layer first: proof changed (clamp proved necessary -> clamp dropped)",
    )


def test_a_changed_kernel_names_both():
    assert describe_change(*changed_layer(kernel="fast")) == ("toy.c changed: layer first: kernel changed (scale_s8 -> fast)",)


def test_channels_that_new_weights_make_constant_are_one_line_that_says_how_to_avoid_it():
    advice = "changed with the weights (constant channels); update='weights' avoids that"
    old, new = changed_layer(channels_removed={"inputs": 0, "outputs": 3})
    assert describe_change(old, new) == (f"code of 1 layer {advice}",)
    new["layers"][1] |= {"code_sha256": "other", "channels_removed": {"inputs": 3, "outputs": 0}}
    assert describe_change(old, new) == (f"code of 2 layers {advice}",)


def test_a_changed_shape_is_said():
    old, new = emit(chain()).manifest, emit(chain(count=8)).manifest
    assert describe_change(old, new) == tuple(f"toy.c changed: layer {name}: shape changed" for name in ("first", "second"))


def test_many_changed_layers_are_counted_and_not_all_listed():
    old = emit(chain()).manifest
    new = copy.deepcopy(old)
    for manifest, digest in ((old, "before"), (new, "after")):
        manifest["files"]["toy.c"] = digest
        manifest["layers"] = [{**manifest["layers"][0], "name": f"layer {index}", "code_sha256": digest} for index in range(30)]
    lines = describe_change(old, new)
    assert len(lines) == 4 and lines[-1] == "toy.c changed: 27 more layers (see their notes in toy.plan.json)"


def test_new_layers_and_unchanged_code_need_no_explanation():
    old, new = emit(chain()).manifest, emit(chain(names=("x", "other", "m", "second", "y"))).manifest
    assert describe_change(old, new) == ()
    assert describe_change(old, old) == () and describe_change({}, old) == ()


def test_changed_kernel_text_is_said():
    new = emit(chain(alignment=16)).manifest
    assert describe_change(emit(chain()).manifest, new) == ("toy.c changed: the text of kernels, arena or options",)


def test_files_may_come_without_a_manifest(tmp_path):
    assert write_sources(Sources({"group_arena.c": b"x"}, {}), tmp_path) == ()
    assert (tmp_path / "group_arena.c").read_bytes() == b"x"
