# SPDX-License-Identifier: MIT
"""`sbom`: a bill of materials that the schema of CycloneDX takes, of the files that were generated and of nothing else."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from aidge_build.base.errors import AidgeError
from tests.command import aidge_build
from tests.models import model

# Its schemas are read without a network; formats beyond them (uri, ...) are looked at where their checkers are installed.
json_validation = pytest.importorskip("cyclonedx.validation.json", reason="needs cyclonedx-python-lib")
schema_version = pytest.importorskip("cyclonedx.schema").SchemaVersion
from aidge_build.measure.report.bill import Product, bill_of  # noqa: E402

NETWORKS = {"kws": "y = Relu(x)", "vad": "a = Sigmoid(x) y = Add(a, x)"}
MAIN = """#include "kws.h"
#include "vad.h"
int main(void)
{
    float x[4] = {0}, y[4];
    return kws_run(x, y) + vad_run(x, y);
}
"""


def generate(folder: Path, name: str, *words: object) -> Path:
    (folder / f"{name}.onnx").write_bytes(model(NETWORKS[name], inputs="float[1,4] x", outputs="float[1,4] y"))
    done = aidge_build("compile", folder / f"{name}.onnx", "--out", folder, "--cpu", "host", *words)
    assert done.exit_code == 0, done.stderr
    return folder / f"{name}.plan.json"


@pytest.fixture(scope="module")
def firmware(tmp_path_factory) -> Path:
    """The folder of a host program with two models."""
    folder = tmp_path_factory.mktemp("bill")
    for name in NETWORKS:
        generate(folder, name)
    (folder / "main.c").write_text(MAIN)
    sources = [str(path) for path in sorted(folder.glob("*.c"))]
    subprocess.run(["cc", "-std=c99", *sources, "-lm", "-o", str(folder / "app.elf")], check=True)
    return folder


@pytest.fixture
def plans(firmware) -> list[Path]:
    return [firmware / "kws.plan.json", firmware / "vad.plan.json"]


def billed(folder: Path, *words: object) -> dict:
    done = aidge_build("sbom", *words, "--out", folder / "app.cdx.json")
    assert done.exit_code == 0, done.stderr
    text = (folder / "app.cdx.json").read_text()
    wrong = json_validation.JsonStrictValidator(schema_version.V1_6).validate_str(text)
    assert wrong is None, wrong
    return json.loads(text)


def refused(folder: Path, exit_code: int, *words: object) -> str:
    done = aidge_build("sbom", *words, "--out", folder / "none.cdx.json")
    assert done.exit_code == exit_code and len(done.stderr.splitlines()) == 1, done
    assert not (folder / "none.cdx.json").exists()
    return done.stderr


def parts(bill: dict, kind: str) -> dict[str, dict]:
    return {part["bom-ref"]: part for part in bill["components"] if part["bom-ref"].startswith(f"{kind}:")}


def test_a_firmware_s_bill_names_models_code_and_kernels_with_their_digests(firmware, plans, tmp_path):
    bill = billed(tmp_path, *plans, "--elf", firmware / "app.elf", "--licence", "kws=Apache-2.0")
    product = bill["metadata"]["component"]
    assert (product["type"], product["name"]) == ("firmware", "app")
    assert product["hashes"][0]["content"] == hashlib.sha256((firmware / "app.elf").read_bytes()).hexdigest()
    models = parts(bill, "model")
    for name in NETWORKS:
        assert (
            models[f"model:{name}"]["hashes"][0]["content"]
            == hashlib.sha256((firmware / f"{name}.onnx").read_bytes()).hexdigest()
        )
    assert models["model:kws"]["licenses"] == [{"expression": "Apache-2.0"}]
    assert models["model:vad"]["licenses"] == [{"license": {"name": "not stated"}}]
    assert models["model:vad"]["modelCard"]["modelParameters"]["inputs"] == [{"format": "x: float32[1,4]"}]
    for name, code in parts(bill, "code").items():
        assert code["licenses"] == [{"expression": "0BSD"}]
        for file in code["components"]:
            assert file["hashes"][0]["content"] == hashlib.sha256((firmware / file["name"]).read_bytes()).hexdigest()
        assert f"{name[5:]}.c" in [file["name"] for file in code["components"]]
    root = Path(__file__).resolve().parents[2]
    files = [file for library in parts(bill, "library").values() for file in library["components"]]
    assert len(files) >= 3
    for file in files:
        assert file["hashes"][0]["content"] == hashlib.sha256((root / "kernels" / file["name"]).read_bytes()).hexdigest()
        assert file["licenses"] == [{"expression": "0BSD"}]
    assert {file["name"] for file in files} == {
        title
        for name in NETWORKS
        for title in re.findall(r"^/\* ---- (\S+/\S+) ---- \*/$", (firmware / f"{name}.c").read_text(), re.M)
    }
    needed = {entry["ref"]: entry.get("dependsOn", []) for entry in bill["dependencies"]}
    assert needed["product"] == ["code:kws", "code:vad"] and "model:kws" in needed["code:kws"]
    assert {ref for refs in needed.values() for ref in refs} | {"product"} == set(needed)


def test_the_same_plans_make_the_same_bytes_in_any_order_and_only_a_source_date_adds_a_time(plans, tmp_path, monkeypatch):
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    first = billed(tmp_path, *plans)
    before = (tmp_path / "app.cdx.json").read_bytes()
    assert billed(tmp_path, *reversed(plans)) == first and (tmp_path / "app.cdx.json").read_bytes() == before
    assert "timestamp" not in first["metadata"]
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    timed = billed(tmp_path, *plans)
    assert timed["metadata"].pop("timestamp") == "2023-11-14T22:13:20Z" and timed == first
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "soon")
    assert "SOURCE_DATE_EPOCH: 'soon' is not a number of seconds since 1970" in refused(tmp_path, 2, *plans)


def test_the_serial_number_follows_the_content(plans, tmp_path):
    serials = [
        billed(tmp_path, *words)["serialNumber"]
        for words in (plans, plans[:1], [*plans, "--licence", "kws=MIT"], [*plans, "--release", "2.0"])
    ]
    assert len(set(serials)) == 4
    assert all(
        re.fullmatch(r"urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", one) for one in serials
    )


@pytest.mark.requirement("SBOM")
def test_a_file_that_was_changed_after_it_was_generated_is_no_part_of_a_bill(tmp_path):
    plan = generate(tmp_path, "kws")
    with open(tmp_path / "kws.c", "a") as stream:
        stream.write("/* by hand */\n")
    assert f"{tmp_path / 'kws.c'}: it was changed after it was generated: SHA-256 " in refused(tmp_path, 1, plan)
    (tmp_path / "kws.c").unlink()
    assert f"{tmp_path / 'kws.c'}: cannot be read: No such file or directory" in refused(tmp_path, 2, plan)


def test_a_firmware_has_the_models_of_the_plans_and_no_others(firmware, plans, tmp_path):
    elf = firmware / "app.elf"
    assert f"{elf}: no plan is given of its model vad" in refused(tmp_path, 1, plans[0], "--elf", elf)
    other = generate(tmp_path, "kws", "--io", "arena")
    said = refused(tmp_path, 1, other, plans[1], "--elf", elf)
    assert f"{elf}: it was linked with other code of the model kws" in said
    subprocess.run(["cc", "-x", "c", "-", "-o", str(tmp_path / "bare.elf")], input=b"int main(void) { return 0; }", check=True)
    assert "it was linked without the model kws" in refused(tmp_path, 1, plans[0], "--elf", tmp_path / "bare.elf")


@pytest.mark.parametrize(
    "change, reason",
    [
        ({"model_sha256": "0" * 63}, "the SHA-256 of model is '"),
        ({"files": {"../main.c": "0" * 64}}, "'../main.c' is not a file name of a plan"),
        ({"files": {"..": "0" * 64}}, "'..' is not a file name of a plan"),
        (
            {"libraries": [{"name": "ref", "files": [{"path": "a.h", "sha256": "x", "licence": None}]}]},
            "the SHA-256 of a.h is 'x'",
        ),
        ({"libraries": [{"name": "ref"}]}, "has no 'libraries[0].files'"),
    ],
)
def test_a_damaged_plan_makes_no_bill(change, reason, plans, tmp_path):
    (tmp_path / "kws.plan.json").write_text(json.dumps(json.loads(plans[0].read_text()) | change))
    assert f"kws.plan.json: {reason}" in refused(tmp_path, 2, tmp_path / "kws.plan.json")


def test_words_that_fit_no_model_are_refused(plans, tmp_path):
    assert f"{plans[0]}: two plans belong to model kws" in refused(tmp_path, 2, plans[0], plans[0])
    for word in ("kws", "kws=", "other=MIT"):
        assert f"--licence {word}: is not MODEL=SPDX. Hint: models: kws, vad" in refused(tmp_path, 2, *plans, "--licence", word)


def test_licences_of_kernels_are_joined_and_a_file_without_one_is_said(plans):
    plan = json.loads(plans[0].read_text())
    file = {"path": "own.h", "sha256": "1" * 64, "licence": "MIT OR GPL-2.0-only"}
    plan["libraries"] = [{"name": "mine", "files": [file]}]
    bill = bill_of([plan], Product("p"))
    assert parts(bill, "code")["code:kws"]["licenses"] == [{"expression": "0BSD AND (MIT OR GPL-2.0-only)"}]
    file["licence"] = None
    bill = bill_of([plan], Product("p"))
    assert parts(bill, "code")["code:kws"]["licenses"] == [{"license": {"name": "0BSD"}}, {"license": {"name": "not stated"}}]
    assert parts(bill, "library")["library:mine"]["licenses"] == [{"license": {"name": "not stated"}}]


def test_two_models_with_different_versions_of_a_kernel_bring_both(plans):
    one, two = (json.loads(plan.read_text()) for plan in plans)
    for plan, digest in ((one, "1" * 64), (two, "2" * 64)):
        plan["libraries"] = [{"name": "mine", "files": [{"path": "a.h", "sha256": digest, "licence": "MIT"}]}]
    bill = bill_of([one, two], Product("p"))
    assert [file["bom-ref"] for file in parts(bill, "library")["library:mine"]["components"]] == [
        "file:mine/a.h@111111111111",
        "file:mine/a.h@222222222222",
    ]


@pytest.mark.requirement("SBOM")
def test_a_bill_that_the_schema_refuses_is_not_written(plans):
    plan = json.loads(plans[0].read_text())
    plan["libraries"] = [{"name": "mine", "files": [{"path": "", "sha256": "1", "licence": "MIT"}]}]
    with pytest.raises(AidgeError, match="the bill would not be CycloneDX 1.6: '1' "):
        bill_of([plan], Product("p"))


@pytest.mark.requirement("PACKAGES")
def test_without_the_optional_packages_one_line_says_what_to_type(plans, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "cyclonedx", None)
    assert "Hint: pip install 'aidge_build[sbom]'; in a checkout: " in refused(tmp_path, 3, *plans)
