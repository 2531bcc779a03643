# SPDX-License-Identifier: MIT
"""Every field that a linker fills in is read from the relocations of an object; damaged objects end in no traceback."""

from __future__ import annotations

import os
import random
import struct
from contextlib import suppress
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from aidge_build.base.errors import AidgeError
from aidge_build.prove.elf import read_image
from aidge_build.prove.elf.code_proof import check_code
from aidge_build.prove.elf.objects import read_names, read_object
from tests.elf.compiled_parts import SCRIPT, addresses, compile_parts, link_parts, run, turned
from tests.programs import needs_cross_compiler, needs_riscv

pytestmark = needs_cross_compiler


@pytest.fixture(scope="module")
def a_model(tmp_path_factory, request) -> tuple[Path, Path]:
    folder, core = tmp_path_factory.mktemp("damage"), getattr(request, "param", "cortex-m4")
    objects = compile_parts(folder, core, "-Os", "-ffunction-sections", "-fdata-sections")
    return link_parts(folder, objects, cpu=core), objects[0]


@pytest.mark.parametrize("a_model", ["cortex-m4", pytest.param("rv32imac", marks=needs_riscv)], indirect=True)
@pytest.mark.parametrize("seed", range(2000 if os.environ.get("AIDGE_STRESS") else 20))
def test_damaged_objects_are_refused_or_compared_and_end_in_no_traceback(tmp_path, a_model, seed):
    elf, model = a_model
    generator = random.Random(seed)
    content = bytearray(model.read_bytes())
    for _ in range(3):
        content[generator.randrange(len(content))] = generator.randrange(256)
    (tmp_path / "damaged.o").write_bytes(content)
    with suppress(AidgeError):
        check_code(read_image(elf), read_names(elf), [read_object(tmp_path / "damaged.o")], ())


@pytest.mark.requirement("OBJECT")
def test_constants_of_no_size_are_damage(tmp_path, a_model):
    content = bytearray(a_model[1].read_bytes())
    with open(a_model[1], "rb") as stream:
        elf = ELFFile(stream)
        sections = list(elf.iter_sections())
        merged = next(at for at, section in enumerate(sections) if section.name.startswith(".rodata") and section["sh_entsize"])
        struct.pack_into("<I", content, elf["e_shoff"] + merged * elf["e_shentsize"] + 36, 0)
    (tmp_path / "damaged.o").write_bytes(content)
    with pytest.raises(AidgeError, match="has constants of no size"):
        read_object(tmp_path / "damaged.o")


def test_an_address_behind_constants_that_linkers_unite_is_left_out_and_said(tmp_path, a_model):
    content = bytearray(a_model[1].read_bytes())
    with open(a_model[1], "rb") as stream:
        pointers = ELFFile(stream).get_section_by_name(".data.kws_names")
    content[pointers["sh_offset"] + 1] += 1  # 256 further on
    (tmp_path / "behind.o").write_bytes(content)
    proof = check_code(read_image(a_model[0]), read_names(a_model[0]), [read_object(tmp_path / "behind.o")], ())
    assert proof.findings == () and "behind.o: addresses of .rodata.str1.1, which" in proof.not_compared[0]


EVERY_FIELD = """
    .syntax unified
    .thumb
    .section .text.fields, "ax", %progbits
    .global fields
    .type fields, %function
    .thumb_func
fields: b.n near
    beq.n near
    beq.w far
    bne.w below
    b.w far
    bl far
    bl below
    movw r0, #:lower16:far
    movt r0, #:upper16:far
1:  movw r1, #:lower16:(far - 1b)
2:  movt r1, #:upper16:(far - 2b)
    bx lr
    .balign 4
    .word far, far + 8, far - ., number - .
    .word small + 0x11
    .short small, small + 5
    .byte small, small + 3
    .reloc ., R_ARM_PREL31, far
    .word 0x80000000
    .reloc ., R_ARM_TARGET1, far
    .word 4
    .reloc ., R_ARM_ABS32_NOI, far
    .word 0
    .reloc ., R_ARM_REL32_NOI, number
    .word 0
    .reloc ., R_ARM_V4BX, far
    .reloc ., R_ARM_NONE, far
    bx lr
    .size fields, . - fields
    .section .text.near, "ax", %progbits
    .global near
    .type near, %function
    .thumb_func
near: bx lr
    .size near, 2
    .section .text.far, "ax", %progbits
    .global far
    .type far, %function
    .thumb_func
far: bx lr
    .size far, 2
    .section .text.below, "ax", %progbits
    .global below
    .type below, %function
    .thumb_func
below: bx lr
    .size below, 2
    .data
    .global number
number: .word 5
"""
IN_ORDER = SCRIPT.replace("{ *(.text*)", "{ *(.text.below) *(.text.fields) *(.text.near) *(.text.far) *(.text*)")


def test_every_field_that_a_linker_fills_in_is_read(tmp_path):
    objects = compile_parts(tmp_path, caller="void Reset_Handler(void) { for (;;); }")
    (tmp_path / "fields.s").write_text(EVERY_FIELD)
    run(tmp_path, "gcc", "-mcpu=cortex-m4", "-c", "fields.s")
    objects = [tmp_path / "fields.o", *objects]
    elf = link_parts(tmp_path, objects, "-Wl,--defsym=small=0x42", script=IN_ORDER)
    whole = read_object(objects[0])
    kinds = {relocation.kind for part in whole.parts.values() for relocation in part.relocations}
    assert kinds == {0, 2, 3, 5, 8, 10, 30, 38, 40, 42, 47, 48, 49, 50, 51, 55, 56, 102, 103}
    image, names = read_image(elf), read_names(elf)
    proof = check_code(image, names, [whole], ())
    assert (proof.findings, proof.not_compared) == ((), ())
    places = addresses(elf)
    for address in (places["below"], *range(places["fields"], places["far"] + 2)):
        for bit in range(8):
            assert check_code(turned(image, address, bit), names, [whole], ()).findings, (hex(address), bit)
