# SPDX-License-Identifier: MIT
"""The code of a program is that of its objects: whatever differs is found, and nothing else.

One bit of each byte is turned over; AIDGE_STRESS=1 (`./sconsw stress`) takes all, in more builds.
"""

from __future__ import annotations

import dataclasses
import os
import struct
import subprocess
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from aidge_build.prove.elf import read_image
from aidge_build.prove.elf.code_places import find_places
from aidge_build.prove.elf.code_proof import CodeProof, check_code
from aidge_build.prove.elf.linked_object import Linked
from aidge_build.prove.elf.objects import read_names, read_object
from aidge_build.prove.elf.references import ThumbObject
from tests.command import aidge_build
from tests.elf.compiled_parts import CALLER, MODEL, SCRIPT, addresses, compile_parts, link_parts, patched, proof_of, run, turned
from tests.elf.own_script import REGIONS, edited
from tests.programs import needs_cross_compiler, needs_cross_cplusplus

pytestmark = needs_cross_compiler
SECTIONS = ("-ffunction-sections", "-fdata-sections")
STRESS = bool(os.environ.get("AIDGE_STRESS"))
BUILDS = [
    ("cortex-m0", ("-O2",)),
    ("cortex-m4", ("-Os", *SECTIONS)),
    ("cortex-m0", ("-O2", "-mpure-code")),
]
MORE_BUILDS = [
    ("cortex-m0", ("-O0", "-mpure-code")),
    ("cortex-m33", ("-O2", "-mpure-code")),
    ("cortex-m0plus", ("-Os", "-mpure-code", *SECTIONS)),
    ("cortex-m0", ("-O2", "-mlong-calls")),
    ("cortex-m3", ("-O0", *SECTIONS)),
    ("cortex-m4", ("-O3", "-g3", *SECTIONS)),
    ("cortex-m7", ("-O2", "-mslow-flash-data")),
    ("cortex-m55", ("-O2", "-mlong-calls", *SECTIONS)),
    ("cortex-m23", ("-O1",)),
]


def ids(value) -> str:
    return value if isinstance(value, str) else "".join(value)


def model_of(folder: Path, cpu: str = "cortex-m4", *flags: str) -> tuple[Path, Path]:
    """The program, and the object of its model."""
    objects = compile_parts(folder, cpu, *(flags or ("-Os", *SECTIONS)))
    return link_parts(folder, objects, cpu=cpu), objects[0]


def codes(proof: CodeProof) -> set[str]:
    return {finding.code for finding in proof.findings}


@pytest.mark.parametrize("cpu, flags", [*BUILDS, *(MORE_BUILDS if STRESS else ())], ids=ids)
def test_a_bit_that_is_turned_over_is_found_wherever_it_lies_and_nothing_before(tmp_path, cpu, flags):
    elf, model = model_of(tmp_path, cpu, *flags)
    image, names, objects = read_image(elf), read_names(elf), read_object(model)
    whole = check_code(image, names, [objects], ())
    assert (whole.findings, whole.not_compared, whole.functions, whole.constants) == ((), (), 4, 4)
    one = ThumbObject(objects, Linked(image, names))
    find_places(one)
    parts = [(placement.part, placement.base) for placement in one.placements.values()]
    assert whole.size_bytes == sum(part.size_bytes for part, _ in parts if part.content)
    for part, base in parts:
        for at in range(len(part.content)):
            for bit in range(8) if STRESS else (at % 8,):
                found = check_code(turned(image, base + at, bit), names, [objects], ()).findings
                assert found and {finding.severity for finding in found} == {"error"}, (part.name, at, bit)


@pytest.mark.requirement("COD01")
def test_a_function_that_returns_at_once_is_not_the_model(tmp_path):
    """movs r0, #0; bx lr: as small as a patch can be."""
    elf, model = model_of(tmp_path)
    patched(elf, addresses(elf)["kws_run"], b"\x00\x20\x70\x47")
    result = aidge_build("check", "--objects", model, tmp_path / "caller.o", elf, *REGIONS, "--json")
    found = [finding for finding in result.json["findings"] if finding["code"].startswith("COD")]
    address = addresses(elf)["kws_run"]
    assert result.exit_code == 1 and [finding["code"] for finding in found] == ["COD01"]
    assert found[0]["text"] == (f"kws_run differs in 4 B, first at kws_run+0x0 (0x{address:08x}): it is not what kws.o holds")
    assert "tools that run after the link must not" in found[0]["hint"]
    text = aidge_build("check", elf, f"--objects={model}", *REGIONS).stdout
    assert "error COD01: kws_run differs" in text and "code =" not in text


def test_what_was_compared_is_said_in_text_and_json(tmp_path):
    elf, model = model_of(tmp_path)
    proof = proof_of(elf, model)
    said = f"       code = kws.o   4 functions, 4 constants, {proof.size_bytes:,} B\n"
    assert said in aidge_build("check", "--objects", model, elf).stdout
    code = aidge_build("check", "--objects", model, tmp_path / "caller.o", "--json", "--", elf).json["code"]
    assert code["objects"] == ["kws.o", "caller.o"] and code["not_compared"] == [] and code["functions"] == 8
    assert code["size_bytes"] > proof.size_bytes and code["constants"] == 4 + 1  # not what nobody stores


@pytest.mark.parametrize(
    "flags, reason", [((), "no objects were given (--objects)"), (("-flto",), "kws.o: it was compiled with -flto")]
)
def test_without_objects_and_with_link_time_optimisation_the_check_says_that_code_is_not_compared(tmp_path, flags, reason):
    objects = compile_parts(tmp_path, "cortex-m4", "-O1", *flags)
    elf = link_parts(tmp_path, objects, *flags)
    result = aidge_build("check", elf, *(["--objects", *objects] if flags else []))
    assert result.exit_code == 0 and f"       code not compared: {reason}\n" in result.stdout and "code =" not in result.stdout
    assert result.stdout.count("code not compared") == (2 if flags else 1)


def test_objects_of_another_model_are_no_proof(tmp_path):
    elf, _ = model_of(tmp_path)
    (other,) = compile_parts(tmp_path, other="int vad_run(void) { return 4; }")
    proof = proof_of(elf, other)
    assert proof.objects == () and proof.not_compared == (
        "other.o: nothing of it is in the program",
        "kws_run of model kws: in none of the objects, or not in the program",
    )


@pytest.mark.requirement("COD01")
def test_a_model_compiled_anew_is_not_the_linked_one(tmp_path):
    elf, _ = model_of(tmp_path)
    (newer,) = compile_parts(tmp_path, "cortex-m4", "-Os", *SECTIONS, kws=MODEL.replace("* 3.5f", "* 4.5f"))
    (finding,) = proof_of(elf, newer).findings
    assert finding.code == "COD01" and finding.text.startswith("kws_conv differs in ")
    (larger,) = compile_parts(tmp_path, "cortex-m4", "-O0", kws=MODEL)
    proof = proof_of(elf, larger)
    assert len(proof.findings) == 8 + 1 and proof.findings[-1].text.endswith(" more differences")


def branch_to(place: int, target: int) -> bytes:
    """`bl target` as it stands at `place` (Armv7-M Architecture Reference Manual, A7.7.18)."""
    offset = target - place - 4
    sign, i1, i2 = offset >> 24 & 1, offset >> 23 & 1, offset >> 22 & 1
    first = 0xF000 | sign << 10 | offset >> 12 & 0x3FF
    return struct.pack("<HH", first, 0xD000 | (1 - (i1 ^ sign)) << 13 | (1 - (i2 ^ sign)) << 11 | offset >> 1 & 0x7FF)


@pytest.mark.requirement("COD02")
def test_a_branch_to_another_function_is_found_though_the_linker_fills_it_in(tmp_path):
    elf, model = model_of(tmp_path)
    disassembly = subprocess.run(["arm-none-eabi-objdump", "-d", elf], capture_output=True, text=True, check=True).stdout
    place = next(int(line.split(":")[0], 16) for line in disassembly.splitlines() if "<kws_conv>" in line and "bl\t" in line)
    patched(elf, place, branch_to(place, addresses(elf)["main"]))
    (finding,) = proof_of(elf, model).findings
    assert finding.code == "COD02" and finding.text == (
        f"kws_run+0x{place - addresses(elf)['kws_run']:x} (0x{place:08x}) leads to main; kws.o says kws_conv"
    )
    assert not proof_of(patched(elf, place, branch_to(place, addresses(elf)["kws_conv"])), model).findings


VENEERS = {"cortex-m0": 12, "cortex-m4": 4}


@pytest.mark.parametrize("cpu", VENEERS)
def test_a_branch_is_followed_through_its_veneer(tmp_path, cpu):
    """kws_far lies in RAM, too far away for a branch to or from flash."""
    elf, model = model_of(tmp_path, cpu, "-O1", *SECTIONS)
    veneers = [name for name in read_names(elf) if name.endswith("_veneer")]
    assert sorted(veneers) == ["__kws_far_veneer", "__other_veneer"] and not proof_of(elf, model).findings
    literal = addresses(elf)["__kws_far_veneer"] + VENEERS[cpu]
    patched(elf, literal, struct.pack("<I", addresses(elf)["main"] | 1))
    (finding,) = proof_of(elf, model).findings
    assert finding.code == "COD02" and "leads to __kws_far_veneer; kws.o says kws_far" in finding.text


@pytest.mark.parametrize("cpu", ["cortex-m0", "cortex-m4"])
def test_functions_that_changed_places_are_found(tmp_path, cpu):
    """Both in the bytes and in the table of symbols."""
    code = "__attribute__((noinline)) int kws_{0}(int x) {{ return x {1} 5; }}\n"
    text = code.format("one", "+") + code.format("two", "-") + "int kws_run(int x) { return kws_one(x) * kws_two(x); }"
    sources = {"kws": text, "caller": "int kws_run(int); void Reset_Handler(void) { kws_run(3); for (;;); }"}
    objects = compile_parts(tmp_path, cpu, "-O1", *SECTIONS, **sources)
    elf = link_parts(tmp_path, objects, cpu=cpu)
    one, two = addresses(elf)["kws_one"], addresses(elf)["kws_two"]
    before = elf.read_bytes()

    def swap(content: bytearray, image: ELFFile) -> None:
        table = image.get_section_by_name(".symtab")
        for index, symbol in enumerate(table.iter_symbols()):
            if symbol.name in ("kws_one", "kws_two"):
                value = (two if symbol.name == "kws_one" else one) | 1
                struct.pack_into("<I", content, table["sh_offset"] + index * table["sh_entsize"] + 4, value)

    image = read_image(elf)
    section = image.section(".text")
    first, second = (section.content[at - section.address :][:4] for at in (one, two))
    patched(patched(elf, one, second), two, first)
    assert codes(proof_of(elf, objects[0])) == {"COD01"}
    elf.write_bytes(before)
    assert codes(proof_of(edited(elf, swap), objects[0])) == {"COD01", "COD02"}


def test_a_symbol_that_was_moved_within_its_section_is_found(tmp_path):
    objects = compile_parts(tmp_path, "cortex-m4", "-O1")
    elf = link_parts(tmp_path, objects)

    def move(content: bytearray, image: ELFFile) -> None:
        table = image.get_section_by_name(".symtab")
        for index, symbol in enumerate(table.iter_symbols()):
            if symbol.name == "kws_tail":
                at = table["sh_offset"] + index * table["sh_entsize"] + 4
                struct.pack_into("<I", content, at, symbol["st_value"] + 4)

    right = addresses(elf)["kws_tail"]
    texts = [finding.text for finding in proof_of(edited(elf, move), objects[0]).findings if finding.code == "COD02"]
    assert f"kws_tail is at 0x{right + 4:08x}, but the rest of kws.o puts it at 0x{right:08x}" in texts


def test_code_that_is_cut_off_or_not_stored_is_found(tmp_path):
    elf, model = model_of(tmp_path)
    run_at, text = addresses(elf)["kws_run"], read_image(elf).section(".text")

    def cut(size: int):
        def change(content: bytearray, image: ELFFile) -> None:
            index = next(at for at, section in enumerate(image.iter_sections()) if section.name == ".text")
            struct.pack_into("<I", content, image["e_shoff"] + index * image["e_shentsize"] + 20, size)

        return change

    before = elf.read_bytes()
    whole = read_object(model)
    size = next(part.size_bytes for part in whole.parts.values() if part.name == ".text.kws_run")
    (finding,) = [one for one in proof_of(edited(elf, cut(run_at - text.address + 6)), model).findings if "kws_run" in one.text]
    assert finding.text == f"kws_run is cut off: 6 of {size} B of .text.kws_run are stored: it is not what kws.o holds"
    elf.write_bytes(before)
    assert any("0 of " in one.text for one in proof_of(edited(elf, cut(run_at - text.address)), model).findings)


def test_a_string_that_linkers_unite_is_compared_where_it_went(tmp_path):
    """`hello` of the model and of its caller are one; `abc` is the end of `zabc`."""
    objects = compile_parts(tmp_path, "cortex-m4", "-O1", *SECTIONS)
    elf = link_parts(tmp_path, objects)
    assert not proof_of(elf, *objects).findings
    section = read_image(elf).section(".text")
    place = section.address + section.content.index(b"hello\0")
    assert section.content.count(b"hello\0") == 1
    (finding,) = proof_of(patched(elf, place + 4, b"p"), objects[0]).findings
    assert finding.code == "COD02" and finding.text.startswith("kws_names+0x8 (0x") and "a constant of .rodata" in finding.text


def test_other_programs_around_a_model_raise_no_alarm(tmp_path):
    """Functions of equal names in other files, symbols that are stripped, wrapped or local, and functions that are left out."""
    twin = "__attribute__((noinline)) static int kws_conv(int x) { return x * 7; }\n"
    twin += "__attribute__((noinline)) static int other(int x) { return x * 13; }\n"
    twin += "int another(int x) { return kws_conv(x) + other(x); }"
    unused = "int kws_unused(int x) { return kws_conv(x) + 3; }\n"
    sources = {"twin": twin, "kws": MODEL + unused, "caller": CALLER.replace("return kws_run", "return another(2) + kws_run")}
    sources["caller"] = "int another(int);\n" + sources["caller"]
    objects = compile_parts(tmp_path, "cortex-m4", "-Os", *SECTIONS, **sources)
    plain = link_parts(tmp_path, objects)
    assert proof_of(plain, objects[1]).functions == 5
    for options in (
        ("-Wl,--gc-sections",),
        ("-Wl,--gc-sections", "-Wl,-x"),
        ("-Wl,--gc-sections", "-Wl,--sort-section=alignment"),
    ):
        elf = link_parts(tmp_path, objects, *options)
        proof = proof_of(elf, *objects)
        assert (proof.findings, proof.not_compared) == ((), ()), options
        assert "kws_unused" not in addresses(elf) and proof_of(elf, objects[1]).functions == 4
        patched(elf, addresses(elf)["kws_run"] + 8, b"\0\0")
        assert codes(proof_of(elf, objects[1])) == {"COD01"}


@pytest.mark.parametrize("flags", [(), ("-mpure-code",)], ids=ids)
def test_a_local_function_without_a_symbol_is_found_by_who_calls_it(tmp_path, flags):
    objects = compile_parts(tmp_path, "cortex-m4", "-Os", *SECTIONS, *flags)
    at = addresses(link_parts(tmp_path, objects))["kws_conv"]
    elf = link_parts(tmp_path, objects, "-Wl,-x")
    assert "kws_conv" not in addresses(elf) and proof_of(elf, objects[0]).functions == 4
    (finding,) = proof_of(patched(elf, at, b"\x00\x20\x70\x47"), objects[0]).findings
    assert finding.code == "COD01" and finding.text.startswith("kws_conv differs in ")


def test_a_wrapped_function_is_reached_under_its_other_name(tmp_path):
    wrapped = CALLER + "int __real_other(int); int __wrap_other(int x) { return __real_other(x) + 1; }"
    objects = compile_parts(tmp_path, "cortex-m4", "-O1", kws=MODEL, caller=CALLER, extra=wrapped.split("\n")[-1])
    elf = link_parts(tmp_path, objects, "-Wl,--wrap=other")
    assert "__wrap_other" in addresses(elf)
    assert (proof_of(elf, *objects).findings, proof_of(elf, *objects).not_compared) == ((), ())


def test_a_weak_function_that_another_object_defines_is_not_ours(tmp_path):
    weak = "__attribute__((weak)) int tuned(int x) { return x + 1; } int base(int x) { return tuned(x); }"
    strong = "int tuned(int x) { return x * 99; }"
    caller = "int base(int); void Reset_Handler(void) { base(3); for (;;); }"
    for flags in (("-O1",), ("-O1", *SECTIONS)):
        objects = compile_parts(tmp_path, "cortex-m4", *flags, weak=weak, strong=strong, caller=caller)
        assert not proof_of(link_parts(tmp_path, [objects[0], objects[2]]), objects[0]).not_compared
        proof = proof_of(link_parts(tmp_path, objects), *objects)
        assert not proof.findings
        assert proof.not_compared == (("weak.o: tuned is weak, and another object defines it",) if SECTIONS[0] in flags else ())


@pytest.mark.requirement("COD01")
def test_a_changed_kernel_that_models_share_is_found_though_it_is_weak(tmp_path):
    """Its name ends in the digest of its text, so every definition of it is equal."""
    weak = "__attribute__((weak, noinline)) int {0}(int x) {{ return x + 1; }} int kws_run(int x) {{ return {0}(x) + 2; }}"
    caller = "int kws_run(int); void Reset_Handler(void) { kws_run(3); for (;;); }"
    for name, expected in (("tuned_0123456789ab", {"COD01"}), ("tuned", set())):
        objects = compile_parts(tmp_path, "cortex-m4", "-O1", *SECTIONS, kws=weak.format(name), caller=caller)
        elf = link_parts(tmp_path, objects)
        assert proof_of(elf, *objects).not_compared == ()
        proof = proof_of(patched(elf, addresses(elf)[name], b"\x00\x20"), *objects)
        assert codes(proof) == expected and len(proof.not_compared) == (name == "tuned")


@needs_cross_cplusplus
def test_objects_of_cplusplus_are_compared(tmp_path):
    """Inline functions and templates, of which the linker takes one of several."""
    inline = "template <class T> struct Sum { T all{}; __attribute__((noinline)) void add(T x) { all += x * 3; } };\n"
    inline += "__attribute__((noinline)) inline int twice(int x) { return x * 2; }\n"
    kws = f'{inline} extern "C" int kws_run(int x) {{ Sum<int> s; s.add(x); s.add(twice(x)); return s.all; }}'
    other = f'{inline} extern "C" int kws_run(int x); extern "C" void Reset_Handler() {{ Sum<int> s; '
    other += "s.add(kws_run(3)); s.add(twice(4)); }"
    objects = compile_parts(tmp_path, "cortex-m4", "-O1", *SECTIONS, "-fno-exceptions", compiler="g++", kws=kws, other=other)
    elf = link_parts(tmp_path, objects, "-Wl,--gc-sections")
    proof = proof_of(elf, *objects)
    assert (proof.findings, proof.not_compared) == ((), ()) and proof.functions == 4
    assert codes(proof_of(patched(elf, addresses(elf)["kws_run"], b"\x00\x20\x70\x47"), *objects)) == {"COD01"}


def test_a_program_without_symbols_and_one_for_a_computer_are_not_compared(tmp_path):
    elf, model = model_of(tmp_path)
    run(tmp_path, "strip", "app.elf")
    assert proof_of(elf, model).not_compared == ("the program has no symbols",)
    image = dataclasses.replace(read_image(elf), machine="X86_64")
    assert check_code(image, {}, [read_object(model)], ()).not_compared == (
        "the program is for X86_64, code is read for Cortex-M and RISC-V alone",
    )


@pytest.mark.requirement("OBJECT")
def test_files_that_are_no_objects_are_refused_with_what_to_name(tmp_path):
    elf, model = model_of(tmp_path)
    (tmp_path / "text.o").write_text("no object")
    for path, text in (
        (tmp_path / "gone.o", "cannot be read: No such file or directory. Hint: check the path"),
        (
            tmp_path / "text.o",
            "not a readable object file (Magic number does not match). Hint: name what the compiler wrote, N.o",
        ),
        (elf, "is not an object file. Hint: name what the compiler wrote, N.o, and the program last"),
    ):
        result = aidge_build("check", "--objects", path, elf)
        assert result.exit_code == 2 and result.stderr.count("\n") == 1 and text in result.stderr
    result = aidge_build("check", "--objects", model)
    assert result.exit_code == 2 and "the following arguments are required: ELF" in result.stderr
    run(tmp_path, "ar", "rcs", "kws.a", str(model))
    result = aidge_build("check", "--objects", tmp_path / "kws.a", elf)
    assert result.exit_code == 2 and "kws.a: is an archive. Hint: name the objects that are in it" in result.stderr
    bitcode = tmp_path / "clang.o"
    bitcode.write_bytes(b"BC\xc0\xde" + bytes(20))
    assert proof_of(elf, bitcode).not_compared[0] == "clang.o: it was compiled with -flto"


def test_a_variable_of_zeros_may_be_stored_nowhere_and_others_may_not(tmp_path):
    """A section of its own is stored in an object, whatever it holds; the linker script calls it NOLOAD."""
    script = SCRIPT.replace("    .bss :", "    .dma (NOLOAD) : { *(.dma) } > RAM\n    .bss :")
    text = '__attribute__((section(".dma"))) {0} char buffer[40] = {{{1}}};\nint kws_run(int n) {{ return buffer[n]; }}\n'
    caller = "int kws_run(int n); void Reset_Handler(void) { kws_run(3); for (;;); }"
    for what, first, expected in (("", "0", set()), ("", "7", {"COD01"}), ("const", "0", {"COD01"})):
        objects = compile_parts(tmp_path, kws=text.format(what, first), caller=caller)
        proof = proof_of(link_parts(tmp_path, objects, script=script), objects[0])
        assert codes(proof) == expected and proof.functions == 1
        assert all("buffer is cut off: 0 of 40 B of .dma are stored" in finding.text for finding in proof.findings)


@pytest.mark.requirement("COD02")
def test_a_vector_that_was_changed_is_found_where_its_object_is_named(tmp_path):
    vectors = "void Reset_Handler(void); void Fault_Handler(void) { for (;;); } extern int kws_run(char *, int);\n"
    vectors += '__attribute__((section(".vectors"), used)) void *const vectors[4] = { (void *)0x20010000, Reset_Handler, '
    vectors += "Fault_Handler, Fault_Handler };"
    objects = compile_parts(tmp_path, "cortex-m4", "-O1", kws=MODEL, caller=CALLER, start=vectors)
    elf = link_parts(tmp_path, objects, script=SCRIPT.replace("{ *(.text*)", "{ KEEP(*(.vectors)) *(.text*)"))
    assert not proof_of(elf, *objects).findings
    place = addresses(elf)["vectors"]
    patched(elf, place + 12, struct.pack("<I", addresses(elf)["kws_run"] | 1))
    (finding,) = proof_of(elf, *objects).findings
    assert finding.code == "COD02"
    assert finding.text == f"vectors+0xc (0x{place + 12:08x}) leads to kws_run; start.o says Fault_Handler"
    assert not proof_of(elf, *objects[:2]).findings  # nobody has named what holds it


def test_an_instruction_that_the_linker_replaced_for_an_erratum_is_said_to_be_left_out(tmp_path):
    text = "__attribute__((naked)) int kws_run(int *p) "
    text += '{ __asm__("push {r4-r11, lr}\\n ldm r0, {r1-r9}\\n add.w r0, r0, r1\\n pop {r4-r11, pc}"); }'
    caller = "int kws_run(int *); void Reset_Handler(void) { kws_run((int *)0x20000000); for (;;); }"
    objects = compile_parts(tmp_path, "cortex-m4", "-O2", kws=text, caller=caller)
    elf = link_parts(tmp_path, objects, "-Wl,--fix-stm32l4xx-629360=all")
    proof = proof_of(elf, *objects)
    said = "kws.o: 2 instructions of .text that the linker replaced for an erratum of the core"
    assert (proof.findings, proof.not_compared) == ((), (said,)) and proof.functions == 2
    place = addresses(elf)["kws_run"] + 4
    (finding,) = proof_of(patched(elf, place, branch_to(place, addresses(elf)["Reset_Handler"])), objects[0]).findings
    assert finding.code == "COD01" and "first at kws_run+0x4" in finding.text


def test_a_function_that_nobody_refers_to_is_compared_where_its_bytes_are(tmp_path):
    spare = MODEL + "__attribute__((used)) static int kws_spare(int x) { return x * 11; }"
    objects = compile_parts(tmp_path, "cortex-m4", "-Os", *SECTIONS, kws=spare, caller=CALLER)
    elf = link_parts(tmp_path, objects)
    assert "kws_spare" in addresses(elf) and proof_of(elf, objects[0]).functions == 5


@pytest.mark.requirement("COD02")
def test_an_object_that_refers_to_a_symbol_which_the_program_lacks_is_an_error(tmp_path):
    elf, model = model_of(tmp_path)
    run(tmp_path, "objcopy", "--strip-symbol=memcpy", "app.elf")
    (finding,) = proof_of(elf, model).findings
    assert (finding.code, finding.severity) == ("COD02", "error")
    assert finding.text == "kws.o refers to memcpy, which the program does not have"


@pytest.mark.parametrize("hide", [("--strip-symbol=kws_table",), ("--redefine-sym", "kws_table=other_name")])
def test_an_array_that_was_changed_and_hidden_is_an_error(tmp_path, hide):
    """The caller names it, too: it cannot have become part of the code."""
    objects = compile_parts(tmp_path, kws=MODEL, caller=CALLER)
    elf = link_parts(tmp_path, objects)
    patched(elf, addresses(elf)["kws_table"], bytes(4))
    run(tmp_path, "objcopy", *hide, "app.elf")
    result = aidge_build("check", elf, "--objects", *objects, "--json")
    found = [finding for finding in result.json["findings"] if finding["code"] == "COD02"]
    assert "caller.o refers to kws_table, which the program does not have" in [finding["text"] for finding in found]
    assert result.exit_code == 1


def test_absent_weights_are_no_finding_only_where_the_code_was_compared_and_does_not_name_them(tmp_path):
    unused = MODEL.replace("+ kws_fc_weights[n & 63]", "")
    objects = compile_parts(tmp_path, "cortex-m4", "-O1", *SECTIONS, kws=unused, caller=CALLER)
    elf = link_parts(tmp_path, objects, "-Wl,--gc-sections")
    for named, is_proved in ((objects, True), ([], False)):
        result = aidge_build("check", elf, *(["--objects", *named] if named else []), "--json")
        found = [one for one in result.json["findings"] if one["code"] == "MEM07" and "weights" in one["text"]]
        assert len(found) == (not is_proved) and result.exit_code == 0
