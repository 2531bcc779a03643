# SPDX-License-Identifier: MIT
"""Packages for ecosystems: what is in them, what is refused, and that the same model gives the same bytes."""

from __future__ import annotations

import hashlib
import io
import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy
import onnx
import pytest

from aidge_build.base.errors import AidgeError
from aidge_build.base.naming import layer_symbols
from aidge_build.cli import main
from aidge_build.graph.dtype import DType
from aidge_build.graph.tensor import Tensor
from aidge_build.measure.packages import Publication, load_target, making, targets
from aidge_build.measure.packages import target as descriptions
from aidge_build.measure.packages.seeded import INCREMENT, MULTIPLIER, SEED, elements, numbers, seeded_vectors
from tests.command import aidge_build
from tests.models import model
from tests.programs import ROOT
from tests.small_model import small_model


@pytest.fixture(scope="module")
def hello(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("model") / "hello.onnx"
    path.write_bytes(small_model())
    return path


@pytest.fixture(scope="module")
def package(hello):
    def run(target: str, out: Path, *words):
        return aidge_build("package", hello, "--for", target, "--out", out, *words)

    return run


def files_of(made: Path) -> dict[str, bytes]:
    """Path -> content, of a folder or an archive."""
    if made.is_dir():
        return {path.relative_to(made).as_posix(): path.read_bytes() for path in made.rglob("*") if path.is_file()}
    with zipfile.ZipFile(io.BytesIO(made.read_bytes())) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.fixture(scope="module")
def made(tmp_path_factory, package) -> dict[str, dict[str, bytes]]:
    """The files of the package of hello for each target."""
    folder = tmp_path_factory.mktemp("packages")
    found = {}
    for target in targets():
        result = package(target, folder / target, "--json")
        assert result.exit_code == 0, result.stderr
        found[target] = files_of(Path(result.json["package"]))
    return found


def test_targets_are_the_folders_with_a_description_in_order():
    folders = {path.parent.name for path in (ROOT / "aidge_build" / "measure" / "packages").glob("*/package.toml")}
    assert targets() == tuple(sorted(name.replace("_", "-") for name in folders))
    assert {"plain", "arduino"} <= set(targets())


def test_each_package_holds_the_model_its_self_test_a_licence_a_page_and_a_list_of_its_files(made):
    for target, files in made.items():
        names = {path.rpartition("/")[2] for path in files}
        assert {
            *("hello.h", "hello.c", "hello_weights.c", "hello.plan.json", "hello_self_test.h", "hello_self_test.c"),
            *("LICENSE", "README.md"),
        } <= names, target
        own = next(json.loads(data) for path, data in files.items() if path.endswith("model_hello.json"))
        assert own["target"] == target
        top = "model_hello/" if target == "arduino" else ""
        assert {top + path for path in own["files"]} == {path for path in files if not path.endswith("model_hello.json")}


def test_a_page_has_the_lines_that_call_the_model_and_says_whether_it_is_experimental(made):
    for target, files in made.items():
        page = next(data.decode() for path, data in files.items() if path.endswith("README.md"))
        assert ("Experimental" in page) == load_target(target).is_experimental, target
        assert "differing" in page and "\n\n\n" not in page and not re.search("{[{%#]", page), target


def test_the_help_lists_targets_and_which_are_experimental(capsys):
    assert main(["package", "--help", "all"]) == 0
    text = " ".join(capsys.readouterr().out.split()).replace("- ", "-")  # a line may end at a hyphen
    for target in map(load_target, targets()):
        assert f"{target.name}: {target.title}" in text
    experimental = text.partition("(experimental")[2].partition(")")[0]
    assert sorted(re.findall(r"[\w-]+", experimental.partition(":")[2])) == [
        name for name in targets() if load_target(name).is_experimental
    ]


def test_the_same_model_gives_the_same_bytes_in_any_folder_and_process(made, tmp_path, hello):
    script = f"""
import hashlib, sys
sys.path.insert(0, {str(ROOT)!r})
from aidge_build.cli import main
from aidge_build.measure.packages import targets
for target in targets():
    assert main(["package", {str(hello)!r}, "--for", target, "--out", target]) == 0
"""
    environment = {"PYTHONHASHSEED": "4711", "PATH": "/usr/bin:/bin", "TZ": "Asia/Tokyo"}
    subprocess.run([sys.executable, "-c", script], check=True, cwd=tmp_path, env=environment, capture_output=True)
    for target, files in made.items():
        (again,) = (tmp_path / target).iterdir()
        assert files_of(again) == files, target


def test_archives_have_fixed_times_and_sorted_names(tmp_path, package):
    digests = set()
    for name in ("first", "second"):
        assert package("arduino", tmp_path / name).exit_code == 0
        data = (tmp_path / name / "model_hello.zip").read_bytes()
        digests.add(hashlib.sha256(data).hexdigest())
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = archive.infolist()
            assert [entry.filename for entry in entries] == sorted(archive.namelist())
            assert {(entry.date_time, entry.compress_type) for entry in entries} == {((1980, 1, 1, 0, 0, 0), 0)}
    assert len(digests) == 1


def test_a_target_that_is_not_there_is_refused_with_those_that_are(tmp_path, package):
    result = package("arduno", tmp_path)
    assert result.exit_code == 2 and "did you mean 'arduino'" in result.stderr
    for target in targets():
        assert target in result.stderr
    assert not any(tmp_path.iterdir())


def test_a_newer_package_replaces_an_older_one_and_keeps_the_files_of_others(tmp_path, package):
    folder = tmp_path / "model_hello"
    assert package("plain", tmp_path).exit_code == 0
    own = folder / "model_hello.json"
    content = json.loads(own.read_text())
    content["files"] += ["old.c", "../outside.c", "folder", "nul\0.c"]
    own.write_text(json.dumps(content))
    (folder / "folder").mkdir()
    for path in (folder / "old.c", tmp_path / "outside.c", folder / "mine.c"):
        path.write_text("int a;\n")
    assert package("plain", tmp_path, "--release", "2.0.0").exit_code == 0
    assert json.loads(own.read_text())["release"] == "2.0.0"
    assert not (folder / "old.c").exists()
    assert (tmp_path / "outside.c").exists() and (folder / "mine.c").exists() and (folder / "folder").is_dir()


@pytest.mark.parametrize("there", ["file", "folder", "list", "other target", "archive"])
def test_something_else_at_the_place_of_the_package_is_refused_and_kept(tmp_path, there, package):
    place = tmp_path / ("model_hello.zip" if there == "archive" else "model_hello")
    if there in ("file", "archive"):
        place.write_text("mine")
    elif there == "other target":
        assert package("plain", tmp_path).exit_code == 0
        own = place / "model_hello.json"
        own.write_text(own.read_text().replace('"plain"', '"arduino"'))
    else:
        place.mkdir()
        (place / ("model_hello.json" if there == "list" else "notes.txt")).write_text("mine")
    before = place.read_bytes() if place.is_file() else files_of(place)
    result = package("arduino" if there == "archive" else "plain", tmp_path)
    assert result.exit_code == 2 and "not such a package" in result.stderr and "--out" in result.stderr
    assert (place.read_bytes() if place.is_file() else files_of(place)) == before


@pytest.mark.parametrize("target", ["plain", "arduino"])
def test_a_model_whose_name_differs_in_capitals_alone_replaces_no_package(tmp_path, package, target):
    assert package(target, tmp_path).exit_code == 0
    (made,) = tmp_path.iterdir()
    before = files_of(made)
    result = package(target, tmp_path, "--name", "Hello")
    assert result.exit_code == 2 and "not such a package of this model" in result.stderr
    assert files_of(made) == before


def test_an_empty_folder_and_an_older_archive_are_taken(tmp_path, package):
    (tmp_path / "model_hello").mkdir()
    assert package("plain", tmp_path).exit_code == 0
    for _ in range(2):
        assert package("arduino", tmp_path).exit_code == 0


@pytest.mark.parametrize(
    "words",
    [
        ("--release", "1.0"),
        ("--release", "1.0.0-\u0660"),
        ("--release", "01.0.0"),
        ("--author", 'a"; echo'),
        ("--author", "Ada\nversion=2"),
        ("--author", "Ada <ada>"),
        ("--author", "a. <ada@example.com>"),
        ("--url", "javascript:alert(1)"),
        ("--url", "https://example.com/<b>"),
    ],
)
def test_words_that_a_manifest_would_have_to_escape_are_refused(tmp_path, words, package):
    result = package("plain", tmp_path, *words)
    assert result.exit_code == 2 and words[0] in result.stderr and len(result.stderr.splitlines()) == 1
    assert not any(tmp_path.iterdir())


def test_author_url_and_release_stand_in_the_manifest(tmp_path, package):
    words = ("--author", "Ada Lovelace <ada@example.com>", "--url", "https://example.com/kws", "--release", "3.1.4")
    assert package("arduino", tmp_path, *words).exit_code == 0
    text = files_of(tmp_path / "model_hello.zip")["model_hello/library.properties"].decode()
    assert (
        "author=Ada Lovelace <ada@example.com>\n" in text
        and "url=https://example.com/kws\n" in text
        and "version=3.1.4\n" in text
    )
    assert Publication(author="Ada M. Lovelace <a@b.c>").vendor == "Ada-M-Lovelace"


@pytest.mark.requirement("NAME")
def test_a_model_whose_header_would_hide_one_of_the_ecosystem_is_refused(tmp_path, package):
    result = package("arduino", tmp_path, "--name", "Arduino")
    assert result.exit_code == 2 and "Arduino.h" in result.stderr and "--name my_Arduino" in result.stderr
    assert package("plain", tmp_path, "--name", "Arduino").exit_code == 0
    assert (tmp_path / "model_arduino" / "Arduino.h").is_file()


def test_options_that_a_package_cannot_have_are_refused(tmp_path, package):
    result = package("plain", tmp_path, "--weights", "incbin")
    assert result.exit_code == 2 and "--weights c" in result.stderr


def test_a_package_for_a_core_says_so_and_one_for_any_core_does_not(tmp_path, made, package):
    assert package("plain", tmp_path, "--cpu", "cortex-m55").exit_code == 0
    files = files_of(tmp_path / "model_hello")
    condition = b"#if !((__ARM_ARCH_ISA_THUMB + 0 >= 2) && (defined(__ARM_FEATURE_DSP)) && ((__ARM_FEATURE_MVE + 0) & 2))"
    assert condition in files["hello_self_test.c"] and b"#error" in files["hello_self_test.c"]
    assert b"**cortex-m55**" in files["README.md"]
    assert b"#error" not in made["plain"]["hello_self_test.c"] and b"any core" in made["plain"]["README.md"]


def test_vectors_of_the_user_become_the_self_test(tmp_path, package):
    images = numpy.arange(48, dtype=numpy.int8).reshape(6, 1, 8)
    numpy.savez(tmp_path / "x.npz", x=images)
    assert package("plain", tmp_path, "--io-data", tmp_path / "x.npz").exit_code == 0
    text = (tmp_path / "model_hello" / "hello_self_test.c").read_text()
    assert "given_input_0[32]" in text and "wanted_output_0[12]" in text and "drawn" not in text
    numpy.savez(tmp_path / "y.npz", y=images)
    refused = package("plain", tmp_path, "--io-data", tmp_path / "y.npz")
    assert refused.exit_code == 2 and "y.npz" in refused.stderr


def test_the_seeded_numbers_are_those_of_the_sequence():
    state, expected = SEED, []
    for _ in range(1000):
        state = (MULTIPLIER * state + INCREMENT) & 0xFFFFFFFF
        expected.append(state >> 16)
    assert numbers(1000).tolist() == expected


@pytest.mark.parametrize("kind", [kind for kind in DType if kind.is_of_tensors])
def test_seeded_elements_take_the_range_that_suits_their_type(kind):
    drawn = numpy.arange(65536, dtype=numpy.uint32)
    found = elements(Tensor("x", (65536,), kind), drawn)
    assert found.dtype == kind.numpy
    if kind.is_float:
        assert numpy.isfinite(found).all() and -1 <= found.min() < -0.9 and 0.9 < found.max() < 1
    elif kind.size_bytes <= 2 and kind is not DType.bool:
        assert (found.min(), found.max()) == kind.range
    else:
        assert sorted(set(found.tolist())) == [0, 1]


def test_seeded_vectors_follow_each_other_vector_by_vector_and_input_by_input():
    inputs = [Tensor("a", (2,), DType.uint16), Tensor("b", (), DType.uint16)]
    made = seeded_vectors(inputs, 2)
    first = numbers(6).tolist()
    assert made["a"].tolist() == [first[0:2], first[3:5]] and made["b"].tolist() == [first[2], first[5]]


def test_a_layer_called_self_test_leaves_that_name_to_the_self_test():
    assert layer_symbols("kws", [("self_test", "Add")]) == ("kws_self_test_2",)


def test_names_of_tensors_become_no_markup_on_a_page(tmp_path):
    name = "<b>`x`[y](z)|$"
    renamed = onnx.load_from_string(model("y = Relu(x)", inputs="float[2] x", outputs="float[2] y"))
    renamed.graph.input[0].name = renamed.graph.node[0].input[0] = name
    (tmp_path / "m.onnx").write_bytes(renamed.SerializeToString())
    for target in ("plain", "rust"):
        assert (
            aidge_build("package", tmp_path / "m.onnx", "--name", "net", "--for", target, "--out", tmp_path / target).exit_code
            == 0
        )
        for made in (tmp_path / target).iterdir():
            for path, data in files_of(made).items():
                assert not path.endswith((".md", ".rs")) or b"<b>" not in data and b"`x`" not in data, (target, path)


def test_the_folder_of_common_templates_is_no_target():
    with pytest.raises(AidgeError, match="there is no package for 'common'"):
        load_target("common")


def test_a_target_is_a_folder_with_the_keys_templates_and_values_of_the_page(tmp_path, monkeypatch, package):
    page = (ROOT / "docs" / "packages.md").read_text().partition("## A target of your own")[2]
    keys, values = (set(re.findall(r"`(\w+)`", table)) for table in _first_columns(page)[1:])
    assert keys == {key.rstrip("?") for key in descriptions._SHAPE}
    (tmp_path / "common").symlink_to(ROOT / "aidge_build" / "measure" / "packages" / "common")
    folder = tmp_path / "my_tool"
    folder.mkdir()
    (folder / "package.toml").write_text(re.search(r"^```toml\n(.*?)^```", page, re.M | re.S)[1])
    (folder / "model.ini.j2").write_text("{{ name }}")
    (folder / "example.md.j2").write_text("Run it.")
    monkeypatch.setattr(descriptions, "files", lambda package: tmp_path)
    descriptions._reader.cache_clear()
    refused = package("my-tool", tmp_path)
    lacks = "packages/my-tool: the template includes 'import.md', which is not there. Hint: docs/packages.md, section"
    assert refused.exit_code == 2 and lacks in refused.stderr
    (folder / "import.md.j2").write_text("Copy it.")
    given: dict = {}
    render = making.render_parts
    monkeypatch.setattr(making, "render_parts", lambda read, name, known: given.update(known) or render(read, name, known))
    done = package("my-tool", tmp_path)
    assert "a folder for my tool (experimental)" in done.stdout and values == given.keys()
    assert (tmp_path / "model_hello" / "model.ini").read_text() == "hello"
    load_target.cache_clear()
    (folder / "package.toml").write_text('title = "x"\nwhy = "y"\n')
    with pytest.raises(AidgeError, match=r"packages/my_tool/package.toml: .*docs/packages.md, section 'A target of your own'"):
        load_target("my-tool")


def _first_columns(page: str) -> list[str]:
    """The first column of each table, without its title."""
    tables = re.findall(r"^\|---.*\n((?:\|.*\n)+)", page, re.M)
    return [" ".join(row.split("|")[1] for row in table.splitlines()) for table in tables]
