# SPDX-License-Identifier: MIT
"""The JSON schemas of the package describe every key of the files that the verbs write."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
import pytest

from tests.command import aidge_build
from tests.docs.project import link, make_project
from tools.docs.files import file_pages, resolved

ROOT = Path(__file__).resolve().parents[2]
SCHEMAS = {
    path.name.partition(".")[0]: json.loads(path.read_text()) for path in sorted((ROOT / "aidge_build/base/schemas").iterdir())
}
PLANS = {
    "whole": ("kws", "--board", "stm32f7"),
    "caller": ("kws", "--arena", "caller"),
    "record": ("kws", "--record", "2"),
    "steps": ("kws", "--board", "stm32f4", "--max-step", "9000"),
    "states": ("vad", "--state", "h_out=h", "--state", "c_out=c"),
    "rows": ("mask", "--input", "rows", "--output", "rows", "--memory-model", "cascade"),
    "constants": ("kws", "--board", "stm32f7", "--constants-in", "DTCM=4K"),
    "weights": ("kws", "--board", "stm32f7", "--update", "weights"),
}


@pytest.fixture(scope="module")
def project(tmp_path_factory) -> Path:
    return make_project(tmp_path_factory.mktemp("schemas") / "project", linked=False)


@pytest.fixture(scope="module")
def program(project) -> Path:
    link(project)
    return project / "app.elf"


def compared(name: str, document: dict) -> None:
    """The file keeps its schema, and no key of it is without a description."""
    jsonschema.validate(document, SCHEMAS[name], jsonschema.Draft202012Validator)
    assert sorted(set(undescribed(document, SCHEMAS[name], SCHEMAS[name].get("$defs", {}), name))) == []


def undescribed(value, schema: dict, known: dict, where: str):
    schema = resolved(schema, known)
    if isinstance(value, dict) and "properties" in schema:
        for key, inside in value.items():
            if key not in schema["properties"]:
                yield f"{where}.{key}"
            else:
                yield from undescribed(inside, schema["properties"][key], known, f"{where}.{key}")
    elif isinstance(value, list) and "items" in schema:
        for inside in value:
            yield from undescribed(inside, schema["items"], known, f"{where}[]")


def plan_of(project: Path, case: str, folder: Path) -> dict:
    model, *options = PLANS[case]
    done = aidge_build("compile", project / f"{model}.onnx", "--out", folder, *options)
    assert done.exit_code == 0, done.stderr
    return json.loads((folder / f"{model}.plan.json").read_text())


@pytest.mark.parametrize("case", PLANS)
def test_a_plan_is_what_its_schema_says(case, project, tmp_path):
    compared("plan", plan_of(project, case, tmp_path))


def test_a_check_is_what_its_schema_says(program):
    for words in ([], ["--max-stack", "8"], ["--objects", program.with_name("kws.o")]):
        compared("check", aidge_build("check", program, "--board", "stm32f7", *words, "--json").json)


def test_a_run_is_what_its_schema_says(program):
    compared("run", aidge_build("run", program, "--board", "stm32f7", "--json").json)


@pytest.mark.parametrize("words", [(), ("--test-mode", "--layout", "dnn")])
def test_an_exported_folder_says_what_its_schema_says(words, project, tmp_path):
    done = aidge_build("export", project / "kws.onnx", "--lib", "ref", "--out", tmp_path, *words)
    assert done.exit_code == 0, done.stderr
    document = json.loads((tmp_path / "export.json").read_text())
    compared("export", document)
    listed = {*document["sources"], *document["headers"], *document["static"], document["plan"], document["header"]}
    assert listed | {"README.md", "export.json"} == {
        path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()
    }


def test_the_schemas_are_schemas_and_say_of_each_key_what_it_is():
    assert sorted(SCHEMAS) == ["check", "export", "image", "plan", "run"]
    for schema in SCHEMAS.values():
        jsonschema.Draft202012Validator.check_schema(schema)
    keys = re.findall(r"^\| `([^`]+)` \| [^|]+ \| (.*) \|$", "\n".join(file_pages(ROOT)), re.MULTILINE)
    assert len(keys) > 100 and [key for key, meaning in keys if len(meaning) < 5] == []


@pytest.fixture(scope="module")
def plan(project, tmp_path_factory) -> dict:
    return plan_of(project, "whole", tmp_path_factory.mktemp("plan"))


@pytest.mark.parametrize("change", [{"schema": 2}, {"arena_bytes": "160"}, {"layers": [{}]}, {"macs": None}])
def test_a_file_of_another_form_does_not_keep_the_schema(change, plan):
    with pytest.raises(jsonschema.ValidationError):
        compared("plan", plan | change)
    with pytest.raises(jsonschema.ValidationError, match="'order' is a required property"):
        compared("plan", {key: value for key, value in plan.items() if key != "order"})


def test_a_key_that_nobody_described_is_found(plan):
    first, *others = plan["layers"]
    with pytest.raises(AssertionError, match=r"plan.layers\[\].surprise"):
        compared("plan", plan | {"layers": [first | {"surprise": 1}, *others]})
