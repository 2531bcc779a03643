# SPDX-License-Identifier: MIT
"""--place: constants and functions that `explain --place auto` chose leave flash, run, and are proved to be there."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy
import pytest

from aidge_build.base.errors import AidgeError
from aidge_build.boards import load_board
from aidge_build.plan.constant_regions import require_places
from aidge_build.plan.fast_memory import FastMemory, read_fast_memory, text_of
from aidge_build.prove.elf import read_claims, read_image
from aidge_build.prove.elf.code_memory import check_code_memory, check_code_places
from aidge_build.prove.elf.data_proof import check_constants
from aidge_build.prove.elf.waivers import NO_WAIVERS
from tests.command import Result, aidge_build
from tests.programs import ROOT, needs_cross_compiler

DIGITS = ROOT / "examples" / "digits" / "digits.onnx"
G4 = load_board("stm32g474")
MODEL = ("--board", "stm32g474")
AUTO = ("--place", "auto", "--within", "CCM=4K")


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """With place.toml, what `explain` said of it, and in `kept` a program that was built with it."""
    made = tmp_path_factory.mktemp("place")
    said = aidge_build("explain", DIGITS, *MODEL, *AUTO, "--out", made / "place.toml", "--json")
    assert said.exit_code == 0, said.stderr
    (made / "said.json").write_text(said.stdout)
    numpy.savez(made / "io.npz", x=numpy.random.default_rng(1).integers(-128, 128, (2, 1, 1, 8, 8)).astype(numpy.int8))
    words = ("--io-data", made / "io.npz", "--keep", made / "kept", "--place", made / "place.toml")
    verified = aidge_build("verify", DIGITS, *MODEL, *words)
    assert verified.exit_code == 0, verified
    return made


@needs_cross_compiler
def test_what_leaves_flash_saves_its_stalls_within_its_bytes(folder):
    place = json.loads((folder / "said.json").read_text())["place"]
    (memory,) = place["memories"]
    assert 0 < memory["used_bytes"] <= memory["bytes"] == 4096 and place["is_optimal"]
    assert sum(one["stalls"] for one in place["moved"]) == place["stalls_saved"] >= place["stalls_saved_by_density"]
    assert 0 < 0.9 * place["stalls_saved"] < place["cycles_before"] - place["cycles_after"]


@needs_cross_compiler
def test_a_build_with_the_file_is_as_planned_and_another_place_is_found(folder):
    elf = folder / "kept" / "model.elf"
    checked = aidge_build("check", elf, *MODEL)
    assert checked.exit_code == 0 and not {"MEM02", "MEM03"} & set(checked.stdout.replace(":", " ").split()), checked
    image, ccm = read_image(elf), next(region for region in G4.regions if region.name == "CCM")
    (claim,) = read_claims(image)
    (code,) = claim.code_in
    assert (code.region, code.memory) == ("CCM", (ccm.origin, ccm.length_bytes)) and code.functions
    assert not list(check_code_places(image, claim, (claim,)))
    elsewhere = replace(claim, code_in=(replace(code, memory=(ccm.end, 4096), functions=(*code.functions, "inlined")),))
    wrong, absent = check_code_places(image, elsewhere, (claim, elsewhere))
    assert wrong.code == "MEM02" and ".aidge_code_CCM : { *(.text.aidge_CCM.*) } > CCM" in wrong.hint
    assert (absent.code, absent.text.endswith("not used: inlined")) == ("MEM07", True)
    (large,) = check_code_places(image, replace(claim, code_in=(replace(code, room_bytes=99),)), (claim,))
    assert large.code == "MEM02" and "of CCM, the plan gives them 99 B" in large.text


@needs_cross_compiler
def test_of_two_models_that_move_a_function_each_has_its_own_there(folder):
    image = read_image(folder / "kept" / "model.elf")
    (claim,) = read_claims(image)
    name = claim.code_in[0].functions[0]
    (inside,) = image.by_name[name]
    both = {**image.by_name, name: (inside, replace(inside, address=G4.regions[0].origin + 1))}
    assert not list(check_code_places(replace(image, by_name=both), claim, (claim,)))
    (left,) = check_code_places(replace(image, by_name=both), claim, (claim, replace(claim, model="other")))
    assert left.code == "MEM02" and f"function {name} of model" in left.text and "at 0x08000001" in left.text


@needs_cross_compiler
@pytest.mark.parametrize("kind", ["code", "constants"])
def test_what_no_start_up_code_copies_fails_the_check(folder, kind):
    image = read_image(folder / "kept" / "model.elf")
    (claim,) = read_claims(image)
    (section,) = (one for one in image.sections if one.name == f".aidge_{kind}_CCM")

    def found(content: bytes) -> list[tuple[str, str]]:
        """With this in place of the load address in the table of start-up code."""
        word = section.load_address.to_bytes(4, "little")
        sections = tuple(replace(one, content=one.content.replace(word, content)) for one in image.sections)
        less = replace(image, sections=sections)
        findings = [*check_code_memory(less, claim, G4.regions), *check_constants(less, claim, G4.regions, NO_WAIVERS)]
        return [(one.code, one.severity) for one in findings if "no start-up code was found that copies" in one.text]

    assert found(section.load_address.to_bytes(4, "little")) == []
    assert found(bytes(4)) == [("MEM03", "error")]


@needs_cross_compiler
def test_a_command_about_the_program_asks_for_its_file(folder):
    elf, words = folder / "kept" / "model.elf", (*MODEL, "--io-data", folder / "io.npz")
    labels = ("--labels", ROOT / "examples" / "digits" / "test_images.npz", "--samples", "1")
    refused = aidge_build("accuracy", DIGITS, *MODEL, "--elf", elf, *labels)
    assert refused.exit_code == 2 and "Hint: add the --place FILE of its build" in refused.stderr, refused
    beside = aidge_build("verify", DIGITS, *words, "--against", elf)
    assert "options: old with --place; new without --place" in beside.stdout, beside


@needs_cross_compiler
def test_the_time_of_fit_holds_for_a_build_with_the_file(folder):
    fits = aidge_build("fit", DIGITS, *MODEL, "--place", folder / "place.toml", "--json")
    place, (answer,) = json.loads((folder / "said.json").read_text())["place"], fits.json["models"][0]["boards"]
    error = answer["milliseconds_error"] / 100
    assert answer["milliseconds"] * (1 - error) < 1e3 * place["cycles_after"] / G4.clock_hz < answer["milliseconds"] * (1 + error)


@needs_cross_compiler
def test_the_file_is_read_as_it_was_written_and_only_for_its_model_and_options(folder, tmp_path):
    fast = read_fast_memory((folder / "place.toml").read_bytes(), "place.toml")
    assert read_fast_memory(text_of(fast, ["a comment"]).encode(), "again") == fast and fast.functions

    def compiled(changed, *words, added="") -> Result:
        (tmp_path / "place.toml").write_text(text_of(changed, []) + added)
        return aidge_build("compile", DIGITS, "--out", tmp_path, "--place", tmp_path / "place.toml", *words)

    assert compiled(fast, *MODEL).exit_code == 0
    (memory,) = json.loads((tmp_path / "digits.plan.json").read_text())["constants_in"]
    assert {name for name, _ in fast.functions} < set(memory["functions"]) and memory["room_bytes"] == 4096
    for changed, words, reason in (
        (fast, (*MODEL, "--io", "arena"), "made without --io=arena"),
        (fast, ("--board", "stm32g431"), "made with --board=stm32g474 and without --board=stm32g431"),
        (replace(fast, model_sha256="0" * 64), MODEL, "made for the model with SHA-256 000000000000"),
        (replace(fast, layers=(("conv9", "CCM"),)), MODEL, "names the layer 'conv9'"),
        (replace(fast, functions=(("aidge_other", "CCM"),)), MODEL, "names the function 'aidge_other'"),
        (replace(fast, functions=(("printf(", "CCM"),)), MODEL, "names neither one layer nor one function"),
        (replace(fast, rooms=(("CCM", 64 << 10),)), MODEL, "has 32,768 B, not 65,536"),
        (replace(fast, rooms=(("SRAM", 4096),)), MODEL, "which has no [[memory]] entry"),
        (replace(fast, rooms=(("CCM", 8),)), MODEL, "B more constants to CCM than its 8"),
        (replace(fast, constants=(("missing", "CCM"),)), MODEL, "names the layer 'missing'"),
        (
            replace(fast, rooms=(*fast.rooms, ("SRAM", 8192)), layers=(("conv1", "SRAM"),)),
            MODEL,
            "SRAM does not run code of conv1",
        ),
        (fast, (*MODEL, "--weights", "incbin"), "an included binary is in one memory"),
        (fast, (*MODEL, "--kernels", "shared"), "a shared kernel has one place"),
    ):
        refused = compiled(changed, *words)
        assert refused.exit_code == 2 and reason in refused.stderr, refused
    for added, reason in (
        ('\n[[constant]]\nlayer = "conv1"\nmemory = "CCM"\n', "nothing reads 'constant'"),
        ('\n[[code]]\nlayer = "conv1"\nmemory = "CCM"\nbytes = 1\n', "an entry names neither one layer nor one function"),
    ):
        refused = compiled(fast, *MODEL, added=added)
        assert refused.exit_code == 2 and reason in refused.stderr, refused


def test_constants_at_address_0_are_refused():
    fast = FastMemory("0" * 64, (), (("ITCM", 4096),), constants=(("conv1", "ITCM"),))
    with pytest.raises(AidgeError, match="ITCM begins at address 0, which no pointer to a constant may have"):
        require_places(fast, load_board("stm32f7").regions, "place.toml")


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("--board", "stm32g474", "--place", "auto", "--out", "p.toml"), "--within is missing"),
        ((*MODEL, *AUTO), "--out is missing"),
        ((*MODEL, "--within", "CCM=4K"), "works only with --place"),
        ((*MODEL, "--place", "auto", "--within", "CCM=0", "--out", "p.toml"), "wants MEMORY=BYTES"),
        ((*MODEL, "--place", "auto", "--within", "ITCM=4K", "--out", "p.toml"), "ITCM of board stm32g474 is no memory"),
        ((*MODEL, "--place", "auto", "--within", "FLASH=4K", "--out", "p.toml"), "FLASH of board stm32g474 is flash"),
        (("--board", "stm32h743", "--place", "auto", "--within", "AXI=4K", "--out", "p.toml"), "has access_cost 2"),
        (("--board", "nrf52840", "--place", "auto", "--within", "RAM=4K", "--out", "p.toml"), "does not describe its flash"),
        (("--board", "mps2-an386", "--place", "auto", "--within", "SSRAM23=4K", "--out", "p.toml"), "has no wait states"),
        (("--cpu", "cortex-m4", "--place", "auto", "--within", "CCM=4K", "--out", "p.toml"), "only a board"),
    ],
)
def test_nothing_is_chosen_where_no_gain_is_known(words, reason):
    refused = aidge_build("explain", DIGITS, *words)
    assert refused.exit_code == 2 and reason in refused.stderr, refused


def test_a_build_does_not_choose():
    refused = aidge_build("plan", DIGITS, *MODEL, "--place", "auto")
    assert refused.exit_code == 2 and "only `explain` measures and chooses" in refused.stderr, refused
