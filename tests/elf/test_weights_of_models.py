# SPDX-License-Identifier: MIT
"""Generated models in linked programs: their weights are what was generated, however they are built, or the array is named."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy
import pytest

from aidge_build.base.output import write_sources
from aidge_build.build.emit import emit
from aidge_build.plan.options import Options
from aidge_build.plan.program import Program
from tests.command import aidge_build
from tests.emitted import chain
from tests.programs import needs_cross_compiler

pytestmark = needs_cross_compiler
ARM = ("-mcpu=cortex-m4", "-mthumb", "-Os", "-ffunction-sections", "-fdata-sections")
LINKS = {"plain": (), "lto": ("-flto",), "O3 lto": ("-O3", "-flto"), "merged": ("-fmerge-all-constants",), "O0": ("-O0",)}
RETRAINED = numpy.array([9, 8, 7, 6, 5, 4], numpy.int8)
REGIONS = ("--region=FLASH=0x8000,0x100000", "--region=RAM=0x200000,0x100000")


def succeed(*words, folder: Path) -> None:
    done = subprocess.run([str(word) for word in words], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def compiled(folder: Path, program: Program, *flags: str) -> list[str]:
    """The objects of a model, from files of its own folder."""
    folder.mkdir(exist_ok=True)
    write_sources(emit(program), folder)
    names = (program.name, f"{program.name}_weights")
    for name in names:
        succeed("arm-none-eabi-gcc", *ARM, *flags, "-c", f"{name}.c", folder=folder)
    return [str(folder / f"{name}.o") for name in names]


def linked(folder: Path, objects: list[str], *flags: str, models: tuple[str, ...] = ("toy",)) -> Path:
    """A program that calls each model."""
    calls = "".join(f"int {name}_run(const signed char *, signed char *);" for name in models)
    body = " + ".join(f"{name}_run(x, y)" for name in models)
    (folder / "main.c").write_text(
        f"{calls} static signed char x[6], y[6]; int main(void) {{ return {body}; }}\n"
        "void _exit(int code) { (void)code; for (;;); }\n"
    )
    succeed(
        "arm-none-eabi-gcc", *ARM, *flags, "-nostartfiles", "-Wl,--gc-sections,-e,main", "main.c", *objects, "-o", "app.elf",
        folder=folder,
    )  # fmt: skip
    return folder / "app.elf"


def findings(elf: Path, *options) -> list[tuple[str, str, str]]:
    found = aidge_build("check", elf, *options, "--json").json["findings"]
    return [(item["code"], item["severity"], item["text"]) for item in found if item["code"].startswith("MEM")]


@pytest.mark.parametrize("weights", ["c", "incbin"])
@pytest.mark.parametrize("flags", LINKS)
def test_a_generated_model_is_what_was_generated_however_it_is_linked(tmp_path, flags, weights):
    program = chain(options=Options(weights=weights))
    found = findings(linked(tmp_path, compiled(tmp_path, program, *LINKS[flags]), *LINKS[flags]))
    if flags == "O3 lto" and weights == "c":  # six numbers that the compiler turned into instructions: said, and no error
        ((code, severity, text),) = found
        assert (code, severity) == ("MEM07", "note") and text.endswith(
            ": toy_first_weights, toy_first_bias; their bytes are not compared"
        )
    else:
        assert found == []


def test_retrained_weights_are_right_with_code_that_was_compiled_before(tmp_path):
    code, _ = compiled(tmp_path, chain())
    _, weights = compiled(tmp_path / "new", chain(weights=RETRAINED))
    assert findings(linked(tmp_path, [code, weights])) == []


def test_an_object_of_constants_from_before_the_training_is_not_the_one_of_the_plan(tmp_path):
    """Its claim and its numbers agree: only the plan knows that there are new ones."""
    code, weights = compiled(tmp_path, chain())
    elf = linked(tmp_path, [code, weights])
    write_sources(emit(chain(weights=RETRAINED, model_sha256="cd" * 32)), tmp_path)
    assert findings(elf) == []
    ((code, severity, text),) = findings(elf, "--plan", tmp_path / "toy.plan.json")
    assert (code, severity) == ("MEM04", "error") and text.endswith("toy.plan.json has cdcdcdcdcdcd: stale link")


@pytest.mark.requirement("MEM14")
def test_a_file_of_numbers_from_before_the_training_is_found(tmp_path):
    """weights=incbin: the object is made of the new N_weights.c and an old N_weights.bin."""
    options = Options(weights="incbin")
    objects = compiled(tmp_path, chain(options=options, weights=RETRAINED))
    (tmp_path / "toy_weights.bin").write_bytes(emit(chain(options=options)).files["toy_weights.bin"])
    succeed("arm-none-eabi-gcc", *ARM, "-c", "toy_weights.c", folder=tmp_path)
    (finding,) = findings(linked(tmp_path, objects))
    assert finding[:2] == ("MEM14", "error") and finding[2].startswith("weights toy_first_weights (6 B) of model toy are not")


@pytest.mark.parametrize(
    "other, what",
    [(chain(region="SRAM1", weights=RETRAINED), "code"), (chain(alignment=16, weights=RETRAINED), "interface")],
    ids=["code", "interface"],
)
@pytest.mark.parametrize("flags", [(), ("-flto",)], ids=["plain", "lto"])
def test_constants_of_another_model_whose_names_match_are_found(tmp_path, other, what, flags):
    code, _ = compiled(tmp_path, chain(), *flags)
    _, weights = compiled(tmp_path / "other", other, *flags)
    found = [entry for entry in findings(linked(tmp_path, [code, weights], *flags)) if entry[0] == "MEM04"]
    assert len(found) == 1 and found[0][1] == "error" and f"were generated with {what} " in found[0][2]


def test_both_files_of_constants_in_one_program_contradict_each_other(tmp_path):
    code, weights = compiled(tmp_path, chain())
    _, other = compiled(tmp_path / "other", chain(weights=RETRAINED))
    found = findings(linked(tmp_path, [code, weights, other], "-Wl,-z,muldefs"))
    assert [entry[:2] for entry in found] == [("MEM04", "error")] and "several claims of model toy" in found[0][2]


@pytest.mark.requirement("MEM14")
def test_each_of_several_models_is_compared_with_its_own_numbers(tmp_path):
    objects = [*compiled(tmp_path, chain("kws")), *compiled(tmp_path, chain("vad", weights=RETRAINED))]
    elf = linked(tmp_path, objects, models=("kws", "vad"))
    assert findings(elf) == []
    content = elf.read_bytes()
    assert content.count(RETRAINED.tobytes()) == 1
    elf.write_bytes(content.replace(RETRAINED.tobytes(), bytes(range(1, 7))))
    assert [entry[2] for entry in findings(elf)] == [
        "weights vad_first_weights (6 B) of model vad are not what was generated: their SHA-256 differs"
    ]


def test_one_model_is_compared_in_each_image_that_holds_it(tmp_path):
    objects = compiled(tmp_path, chain())
    first = linked(tmp_path, objects)
    second = shutil.copy(first, tmp_path / "second.elf")
    second.write_bytes(first.read_bytes().replace(bytes(range(1, 7)), bytes(6)))
    assert findings(first) == [] and [entry[0] for entry in findings(second)] == ["MEM14"]


def test_the_claim_costs_no_byte_of_the_image(tmp_path):
    objects = compiled(tmp_path, chain())
    images = []
    for name, more in (("with", ()), ("without", ("--remove-section=.note.aidge",))):
        for path in objects:
            succeed("arm-none-eabi-objcopy", *more, path, folder=tmp_path)
        elf = linked(tmp_path, objects)
        succeed("arm-none-eabi-objcopy", "-O", "binary", elf, name, folder=tmp_path)
        images.append((tmp_path / name).read_bytes())
    assert images[0] == images[1]
