# SPDX-License-Identifier: MIT
"""`check` proves the memory use of a linked program, from the ELF file alone."""

from __future__ import annotations

import json
import re
import shutil
import struct
import subprocess

import pytest
from elftools.elf.elffile import ELFFile

from aidge_build.base.version import CLAIM_VERSION
from aidge_build.cli import main
from aidge_build.prove.elf import read_claims, read_image
from tests.programs import CLAIM, SHA256, arena, build, constant, model, needs_cross_compiler, state

pytestmark = needs_cross_compiler


def check(capsys, elf, *arguments: str) -> tuple[int, dict]:
    code = main(["check", str(elf), "--json", *arguments])
    return code, json.loads(capsys.readouterr().out)


def codes(result: dict, severity: str) -> list[str]:
    return [finding["code"] for finding in result["findings"] if finding["severity"] == severity]


def write_plan(folder, **changes):
    path = folder / "kws.plan.json"
    path.write_text(json.dumps({"model": "kws", "model_sha256": SHA256, "arena_bytes": 512, **changes}))
    return str(path)


@pytest.mark.parametrize("flags", [(), ("-O3", "-flto")], ids=["plain", "lto"])
def test_a_program_that_keeps_its_plan_passes(tmp_path, capsys, flags):
    elf = build("stm32f7", model("DTCM"), tmp_path, flags=flags)
    code, result = check(capsys, elf, "--board", "stm32f7", "--plan", write_plan(tmp_path), "--out", str(tmp_path / "out.json"))
    assert code == 0 and result["ok"] and codes(result, "error") == []
    assert result["arena_bytes"] == result["planned_bytes"] == 512 and 0 < result["stack_bound_bytes"] < 200
    dtcm = next(region for region in result["regions"] if region["name"] == "DTCM")
    assert dtcm == {"name": "DTCM", "used_bytes": 512, "length_bytes": 65536}
    written = json.loads((tmp_path / "out.json").read_text())
    assert written.pop("kept")["lines"] and written == result


def test_names_that_the_compiler_extended_are_found(tmp_path, capsys):
    elf = build("stm32f7", model("DTCM"), tmp_path)
    renames = ("kws_conv=kws_conv.constprop.0", "kws_fc=kws_fc.isra.0.constprop.1", "kws_arena=kws_arena.lto_priv.0")
    subprocess.run(["arm-none-eabi-objcopy", *(f"--redefine-sym={rename}" for rename in renames), str(elf)], check=True)
    code, result = check(capsys, elf, "--board", "stm32f7")
    assert code == 0 and result["findings"] == [] and result["arena_bytes"] == 512


def test_a_program_of_the_host_is_checked_without_memories(tmp_path, capsys):
    code, result = check(capsys, build("host", model(claim={"cpu": "host"}), tmp_path), "--board", "host")
    assert code == 0 and result["findings"] == [] and result["regions"] == [] and result["arena_bytes"] == 512


def test_the_text_says_that_the_arena_is_as_planned(tmp_path, capsys):
    elf = build("stm32f7", model("DTCM"), tmp_path)
    assert main(["check", str(elf), "--board", "stm32f7"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == f"{elf}: arena kws   512 B = plan"


def test_a_note_can_be_switched_off_by_its_code_and_an_error_cannot(tmp_path, capsys):
    main_begins = "int main(void) {"
    indirect = f"void (*volatile hook)(void); {main_begins} if (hook) hook();"
    elf = build("stm32f7", model("DTCM", arena_bytes=520).replace(main_begins, indirect), tmp_path)
    for quiet, printed in (([], ["MEM02", "STK02"]), (["--quiet=STK02,MEM02"], ["MEM02"])):
        assert main(["check", str(elf), "--board", "stm32f7", "--out", str(tmp_path / "out.json"), *quiet]) == 1
        assert re.findall(r": (?:error|warning|note) (\w+):", capsys.readouterr().out) == printed
        assert [finding["code"] for finding in json.loads((tmp_path / "out.json").read_text())["findings"]] == ["MEM02", "STK02"]
    assert main(["check", str(elf), "--board", "stm32f7", "--quiet=STK2"]) == 2
    assert "there is no finding 'STK2'" in capsys.readouterr().err


@pytest.mark.parametrize(
    "program, expected",
    [
        (model("DTCM", arena_bytes=520), "MEM02"),
        (model("DTCM", claim=arena(size_bytes=500)), "MEM02"),
        (model("DTCM", claim=arena(symbol="kws_gone")), "MEM02"),
        (model("DTCM", claim={"state": state("kws", 63)}), "MEM02"),
        (model("DTCM", weights="volatile"), "MEM03"),
        (model("DTCM", weights='__attribute__((section(".data.x")))'), "MEM03"),
    ],
    ids=["arena too large", "claim too small", "no arena", "state", "writable weights", "weights in .data"],
)
def test_a_broken_claim_is_found(tmp_path, capsys, program, expected):
    code, result = check(capsys, build("stm32f7", program, tmp_path), "--board", "stm32f7")
    assert code == 1 and not result["ok"] and expected in codes(result, "error")


@pytest.mark.parametrize(
    "changes, expected",
    [
        ({"model_sha256": "cd" * 32}, "MEM04"),
        ({"model": "vww"}, "MEM04"),
        ({"arena_bytes": 4}, "MEM02"),
        ({"arena_bytes": 513}, "MEM02"),
        ({"weights_bytes": 65}, "MEM02"),
        ({"peak_bytes": 511}, "MEM02"),
        ({"layers": [{"symbol": "kws_conv"}]}, "MEM04"),
    ],
)
def test_a_program_that_does_not_belong_to_the_plan_is_found(tmp_path, capsys, changes, expected):
    elf = build("stm32f7", model("DTCM"), tmp_path)
    code, result = check(capsys, elf, "--board", "stm32f7", "--plan", write_plan(tmp_path, **changes))
    assert code == 1 and codes(result, "error") == [expected]


@pytest.mark.requirement("MEM07")
def test_a_layer_that_is_not_linked_is_a_warning(tmp_path, capsys):
    elf = build(
        "stm32f7",
        model("DTCM", claim={"layers": ["kws_conv", "kws_gone"], "weights": [constant("kws_no_weights", bytes(64))]}),
        tmp_path,
    )
    code, result = check(capsys, elf, "--board", "stm32f7")
    assert code == 0 and codes(result, "warning") == codes(result, "note") == ["MEM07"]


@pytest.mark.requirement("MEM01")
def test_regions_may_be_given_by_number_and_an_overfull_one_is_found(tmp_path, capsys):
    elf = build("stm32f7", model("DTCM"), tmp_path)
    regions = ["--region", "FLASH=0x08000000,256,flash", "--region", "RAM=0x20000000,0x50000"]
    code, result = check(capsys, elf, *regions)
    assert code == 1 and set(codes(result, "error")) == {"MEM01"}
    assert result["findings"][0]["text"].startswith("memory FLASH: ")


@pytest.mark.requirement("MEM01")
def test_a_section_outside_of_all_memories_is_found(tmp_path, capsys):
    elf = build("stm32f7", model("DTCM"), tmp_path)
    code, result = check(capsys, elf, "--region", "FLASH=0x08000000,0x100000", "--region", "RAM=0x20010000,0x3C000")
    assert code == 1 and codes(result, "error") == ["MEM01"] and ".aidge_DTCM" in result["findings"][0]["text"]


def test_without_the_note_the_absolute_symbol_still_proves_the_arena(tmp_path, capsys):
    elf = build("stm32f7", model("DTCM"), tmp_path)
    objcopy = shutil.which("arm-none-eabi-objcopy")
    subprocess.run([objcopy, "--remove-section=.note.aidge", str(elf)], check=True)
    claims = read_claims(read_image(elf))
    assert [(claim.model, claim.arena_bytes, claim.from_note) for claim in claims] == [("kws", 512, False)]
    subprocess.run([objcopy, "--strip-symbol=aidge_kws__arena_bytes", str(elf)], check=True)
    code, result = check(capsys, elf, "--board", "stm32f7")
    assert code == 0 and codes(result, "note") == ["NOTE"]


def test_the_note_survives_stripping(tmp_path):
    elf = build("stm32f7", model("DTCM"), tmp_path)
    subprocess.run(["arm-none-eabi-strip", str(elf)], check=True)
    (claim,) = read_claims(read_image(elf))
    assert claim.from_note and claim.layers == tuple(CLAIM["layers"]) and claim.model_sha256 == SHA256


@pytest.fixture(scope="module")
def model_elf(tmp_path_factory):
    """A program that keeps its plan."""
    return build("stm32f7", model("DTCM"), tmp_path_factory.mktemp("elf"))


@pytest.mark.requirement("NOTE")
@pytest.mark.parametrize(
    "version, age, hint",
    [
        (2, "an early", "generate the model again, and link: this claim has no digests of constants to check"),
        (CLAIM_VERSION + 1, "a newer", "pip install --upgrade aidge-build"),
    ],
)
def test_a_claim_of_another_version_is_refused_with_its_age(tmp_path, capsys, version, age, hint):
    code, result = check(capsys, build("stm32f7", model("DTCM", version=version), tmp_path), "--board", "stm32f7")
    assert (code, result["error"]["code"]) == (2, "NOTE")
    assert result["error"]["what"] == (
        f"{age} version of aidge-build generated a model in it: its claim has version {version}, "
        f"this one reads 3 to {CLAIM_VERSION}"
    )
    assert result["error"]["hint"] == hint


@pytest.mark.requirement("NOTE")
@pytest.mark.parametrize(
    "text", ["[" * 20_000, "[]", '"x"', "{}", json.dumps({**CLAIM, "arena_bytes": 500}), json.dumps({**CLAIM, "arenas": [5]})]
)
def test_a_damaged_claim_is_refused_in_one_line(tmp_path, capsys, model_elf, text):
    elf = shutil.copy(model_elf, tmp_path)
    (tmp_path / "note").write_bytes(
        struct.pack("<III8sHI", 6, 6 + len(text), 1, b"aidge", CLAIM_VERSION, len(text)) + text.encode()
    )
    subprocess.run([shutil.which("arm-none-eabi-objcopy"), f"--update-section=.note.aidge={tmp_path / 'note'}", elf], check=True)
    code, result = check(capsys, elf, "--board", "stm32f7")
    assert (code, result["error"]["code"]) == (2, "NOTE") and len(result["error"]["what"]) < 200


@pytest.mark.requirement("PLAN_FILE")
@pytest.mark.parametrize(
    "text",
    ["[" * 20_000, "[]", "5", '{"model": "kws"}']
    + [
        json.dumps({"model": "kws", "model_sha256": SHA256, "arena_bytes": 512, **wrong})
        for wrong in (
            {"arena_bytes": None},
            {"weights_bytes": []},
            {"peak_bytes": "x"},
            {"layers": 3},
            {"layers": [3]},
            {"layers": {}},
        )
    ],
    ids=range(10),
)
def test_a_damaged_plan_is_refused_in_one_line(tmp_path, capsys, model_elf, text):
    (tmp_path / "kws.plan.json").write_text(text)
    code, result = check(capsys, model_elf, "--board", "stm32f7", "--plan", str(tmp_path / "kws.plan.json"))
    if code == 1:  # no layers at all are those of another model
        assert text.endswith("{}}") and codes(result, "error") == ["MEM04"]
    else:
        assert (code, result["error"]["code"]) == (2, "PLAN_FILE") and len(result["error"]["what"]) < 200


def changed_header(folder, elf, name: str, field: int, value: int):
    """The program with a word of a section's header changed: 4 is its type, 8 its flags, 20 its size."""
    content = bytearray(elf.read_bytes())
    with open(elf, "rb") as stream:
        image = ELFFile(stream)
        at = image["e_shoff"] + image.get_section_index(name) * image["e_shentsize"] + field
    struct.pack_into("<I", content, at, value)
    (folder / "changed.elf").write_bytes(content)
    return folder / "changed.elf"


@pytest.mark.requirement("ELF")
@pytest.mark.parametrize("name", [".text", ".symtab", ".note.aidge"])
def test_a_section_that_lies_about_its_size_is_refused_in_one_line(tmp_path, capsys, model_elf, name):
    elf = changed_header(tmp_path, model_elf, name, 20, 0xFFFFFFF0)
    code, result = check(capsys, elf, "--board", "stm32f7")
    assert (code, result["error"]["code"]) == (2, "ELF") and name in result["error"]["what"]


@pytest.mark.requirement("ELF")
@pytest.mark.parametrize("name", [".text", ".symtab", ".note.aidge"])
def test_a_compressed_section_is_refused_in_one_line(tmp_path, capsys, model_elf, name):
    """SHF_COMPRESSED: a few bytes that say to be gigabytes."""
    elf = changed_header(tmp_path, model_elf, name, 8, 0x802)
    code, result = check(capsys, elf, "--board", "stm32f7")
    assert (code, result["error"]["code"]) == (2, "ELF")
    assert result["error"]["what"] == f"section {name} is compressed"


def test_a_note_that_is_not_in_the_file_is_none(tmp_path, capsys, model_elf):
    """SHT_NOBITS: 4 GB of zeros that nobody stores."""
    elf = changed_header(tmp_path, changed_header(tmp_path, model_elf, ".note.aidge", 4, 8), ".note.aidge", 20, 0xFFFFFFF0)
    code, result = check(capsys, elf, "--board", "stm32f7")
    assert code == 0 and codes(result, "warning") == ["MEM04"]


@pytest.mark.parametrize("content", [b"", b"no ELF", b"\x7fELF" + bytes(60)])
def test_what_is_no_program_is_refused_in_one_line(tmp_path, capsys, content):
    (tmp_path / "app.elf").write_bytes(content)
    code, result = check(capsys, tmp_path / "app.elf")
    assert code == 2 and result["error"]["code"] == "ELF"


def test_a_missing_file_is_refused(tmp_path, capsys):
    assert check(capsys, tmp_path / "none.elf")[0] == 2
