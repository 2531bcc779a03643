# SPDX-License-Identifier: MIT
"""A model whose generated files are among the sources, too: the copy in the program, the other one, and what to remove."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from aidge_build.prove.elf.claim import claim_from
from aidge_build.prove.elf.copies import Copies, copies_in_map, copies_in_messages, copies_of_sources
from tests.command import aidge_build
from tests.elf.compiled_parts import CALLER, MODEL, compile_parts, link_parts, run
from tests.programs import CLAIM, needs_cross_compiler

MODEL_CLAIM = claim_from(CLAIM)
REMOVE = "remove one: the build generates and links kws.c and kws_weights.c itself"
# Lines that GNU ld 2.40 wrote.
MAP = """
LOAD Core/Src/kws.c.obj
LOAD Core/Src/kws_weights.c.obj
LOAD libkws.a
LOAD linker stubs

Linker script and memory map

.text           0x08000040     0x46ec
 *(.text*)
 .text.kws_run  0x08002624       0x3c CODE
                0x08002624                kws_run_c58032be63df
                0x08002624                kws_run
 .rodata.kws_fc_weights
                0x080043dc       0x40 WEIGHTS
                0x080043dc                kws_fc_weights
"""


def map_of(code: str, weights: str) -> str:
    return MAP.replace("CODE", code).replace("WEIGHTS", weights)


def archive(path: Path, symbols: str, content: bytes = b"") -> None:
    """An archive of GNU `ar` with the index of these symbols."""
    names = "".join(f"{name}\0" for name in symbols.split()).encode()
    index = struct.pack(f">{1 + len(symbols.split())}I", len(symbols.split()), *[8] * len(symbols.split())) + names
    path.write_bytes(b"!<arch>\n" + f"{'/':48}{len(index):<10}`\n".encode() + index + content)


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    archive(tmp_path / "libkws.a", "kws_run kws_fc_weights", b"the object")
    (tmp_path / "kws.c.obj").write_bytes(b"the object")
    return tmp_path


@pytest.mark.parametrize(
    "code, weights, linked",
    [
        ("Core/Src/kws.c.obj", "Core/Src/kws_weights.c.obj", ("Core/Src/kws.c.obj", "Core/Src/kws_weights.c.obj")),
        ("libkws.a(kws.c.obj)", "Core/Src/kws_weights.c.obj", ("Core/Src/kws_weights.c.obj",)),
        ("libold.a(kws.c.obj)", "libold.a(kws_weights.c.obj)", ("libold.a(kws.c.obj)", "libold.a(kws_weights.c.obj)")),
        ("libkws.a(kws.c.obj)", "libkws.a(kws_weights.c.obj)", ()),
    ],
)
def test_the_copy_that_the_linker_met_first_is_told_by_its_map_and_the_archive_that_gave_nothing(folder, code, weights, linked):
    archive(folder / "libold.a", "kws_run", b"another object")
    copies = copies_in_map(map_of(code, weights), [MODEL_CLAIM], folder)
    assert copies == ((Copies("kws", linked, ("libkws.a",)),) if linked else ())
    for copy in copies:
        assert copy.fact == f"the kws of this program comes from {' and '.join(linked)}, not from libkws.a"
        assert copy.hint.startswith(REMOVE)


def test_the_object_that_the_check_was_given_is_no_copy_whatever_other_archives_hold(folder):
    text = map_of("libkws.a(kws.c.obj)", "libkws.a(kws.c.obj)").replace("LOAD libkws.a", "LOAD libkws.a\nLOAD libold.a")
    archive(folder / "libold.a", "kws_run kws_fc_weights", b"another object")
    assert copies_in_map(text, [MODEL_CLAIM], folder, [folder / "kws.c.obj"]) == ()
    (copy,) = copies_in_map(text.replace("libkws.a(", "libold.a("), [MODEL_CLAIM], folder, [folder / "kws.c.obj"])
    assert (copy.linked, copy.others) == (("libold.a(kws.c.obj)",), ("libkws.a",))
    plain = map_of("build/kws.o", "build/kws.o").replace("LOAD libkws.a\n", "")
    assert copies_in_map(plain, [MODEL_CLAIM], folder, [folder / "build" / "kws.o"]) == ()
    (copy,) = copies_in_map(plain, [MODEL_CLAIM], folder, [Path("other/kws.o")])
    assert copy.fact == "the kws of this program comes from build/kws.o, not from other/kws.o"
    assert copies_in_map(map_of("/tmp/a.ltrans0.ltrans.o", "/tmp/a.ltrans0.ltrans.o"), [MODEL_CLAIM], folder) == ()


def test_debug_information_tells_the_copy_where_objects_have_one_name(folder):
    for name in ("src", "build"):
        (folder / name).mkdir()
        (folder / name / "kws.c").touch()
    for source, linked in (("src/kws.c", ("src/kws.c",)), ("build/kws.c", ()), ("of/another/machine/kws.c", ())):
        copies = copies_of_sources([MODEL_CLAIM], {"kws_run": source}, {"kws": Path("build")})
        assert copies == ((Copies("kws", linked, ("build/kws.c",)),) if linked else ())


def test_a_model_that_the_linker_refuses_to_link_twice_is_named_with_all_its_files():
    again = """ld: kws.o: in function `kws_run':
kws.c:(.text.kws_run+0x0): multiple definition of `kws_run'; Core/Src/kws.c.obj:kws.c:(.text.kws_run+0x0): first defined here
ld: kws_weights.o:(.rodata+0x0): multiple definition of `kws_fc_weights'; Core/Src/kws_weights.c.obj:(.rodata+0x0): first defined
"""
    text = map_of("Core/Src/kws.c.obj", "Core/Src/kws_weights.c.obj")
    (copy,) = copies_in_messages(again, text, [MODEL_CLAIM])
    assert copy.fact == (
        "the model kws is linked twice: from Core/Src/kws.c.obj and Core/Src/kws_weights.c.obj, and from kws.o and kws_weights.o"
    )
    (copy,) = copies_in_messages(again, map_of("kws.o", "kws_weights.o"), [MODEL_CLAIM])
    assert copy.fact.startswith("the model kws is linked twice, from kws.o and kws_weights.o both times: two sources of one name")
    # Weights of another model: other arrays, and one claim.
    other = (
        "ld: libkws.a(kws_weights.c.obj): in function `aidge_kws__arena_bytes':\n"
        "kws_weights.c:(*ABS*+0x5e0): multiple definition of `aidge_kws__arena_bytes'\n"
    )
    (copy,) = copies_in_messages(other, text, [MODEL_CLAIM])
    assert copy.fact.endswith("twice: from Core/Src/kws_weights.c.obj, and from libkws.a(kws_weights.c.obj)")
    assert copies_in_messages(again.replace("kws_run", "vww_run").replace("kws_fc", "vww_fc"), text, [MODEL_CLAIM]) == ()


@pytest.mark.requirement("MEM04")
@needs_cross_compiler
def test_the_check_says_one_time_that_another_copy_is_linked_than_the_one_of_the_archive(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (own,) = compile_parts(tmp_path, "cortex-m4", "-O1", kws=MODEL)
    run(tmp_path, "ar", "rcs", "libkws.a", "kws.o")
    (tmp_path / "Core").mkdir()
    objects = compile_parts(tmp_path / "Core", "cortex-m4", "-Os", kws=MODEL, caller=CALLER)
    elf = link_parts(tmp_path, [path.relative_to(tmp_path) for path in objects], "libkws.a", "-Wl,-Map=app.map")
    checked = aidge_build("check", elf, "--objects", own, "--json")
    errors = [finding for finding in checked.json["findings"] if finding["severity"] == "error"]
    assert [(one["code"], one["text"]) for one in errors] == [
        ("MEM04", "the kws of this program comes from Core/kws.o, not from libkws.a")
    ]
    assert errors[0]["hint"].startswith(REMOVE)
