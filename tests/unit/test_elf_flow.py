# SPDX-License-Identifier: MIT
"""Jump tables, tables of constructors, and guesses of straight-line code, from texts of instructions."""

from __future__ import annotations

from dataclasses import replace

import pytest

from aidge_build.prove.elf.frames import Refusal
from aidge_build.prove.elf.jump_tables import offsets, words
from aidge_build.prove.elf.linear_sweep import linear_sweep
from aidge_build.prove.elf.program_code import Code
from aidge_build.prove.elf.stack import runs_use
from aidge_build.prove.elf.start_up import _Held, tabled
from tests.golden.test_findings import section
from tests.listings import TEXT, listed

CODE = dict.fromkeys(range(0x110, 0x140, 2))  # addresses of instructions


def reader(stored: bytes):
    """Reads a table at 0x100."""

    def read(address: int, width: int) -> int | None:
        data = stored[address - 0x100 :][:width]
        return int.from_bytes(data, "little") if len(data) == width else None

    return read


@pytest.mark.parametrize(
    "stored, width, signed, scale, targets",
    [
        (bytes([8, 9, 31, 0]), 1, False, 2, (0x110, 0x112, 0x13E)),
        (bytes([8, 32, 9]), 1, False, 2, (0x110,)),
        (bytes([8, 7, 9]), 1, False, 2, (0x110,)),
        (bytes([8, 0, 9, 0]), 2, False, 2, (0x110, 0x112)),
        (bytes([8, 0, 9]), 2, False, 2, (0x110,)),
        (bytes([0x10, 0, 0, 0, 0x12, 0, 0, 0]), 4, True, 1, (0x110, 0x112)),
        (bytes([127]), 1, True, 2, None),
        (bytes([0x88]), 1, False, 2, None),
        (b"", 1, False, 2, None),
        (bytes(20 * [8]), 1, False, 2, (0x110,)),
    ],
)
def test_a_table_of_distances_ends_at_the_first_entry_that_leads_to_no_instruction(stored, width, signed, scale, targets):
    if targets is None:
        with pytest.raises(Refusal, match="the jump table at 0x100 cannot be read"):
            offsets(0x100, width, signed, scale, CODE, reader(stored))
    else:
        assert offsets(0x100, width, signed, scale, CODE, reader(stored)) == targets


def test_distances_may_be_negative_and_a_table_with_a_known_length_has_no_wrong_entry():
    code = {0x100 - 2 * distance: None for distance in (1, 128)}
    assert offsets(0x100, 1, True, 2, code, reader(bytes([0xFF, 0x80, 0x7F]))) == (0, 0xFE)
    assert offsets(0x100, 1, False, 2, CODE, reader(bytes([8, 9, 0])), 2) == (0x110, 0x112)
    with pytest.raises(Refusal, match="leads to 0x100, where no instruction is"):
        offsets(0x100, 1, False, 2, CODE, reader(bytes([8, 9, 0])), 3)


def test_a_table_has_4096_entries_at_most():
    code, stored = dict.fromkeys((0x100FC, 0x100FE)), 4096 * b"\xff\x7f" + b"\xfe\x7f"
    assert offsets(0x100, 2, False, 2, code, reader(stored)) == (0x100FE,)
    assert offsets(0x100, 2, False, 2, code, reader(stored[2:])) == (0x100FC, 0x100FE)


def test_a_table_of_addresses_ends_at_the_first_one_outside_of_the_function():
    def found(*entries: int) -> tuple[int, ...]:
        stored = b"".join(entry.to_bytes(4, "little") for entry in entries)
        return words(0x100, lambda place: place < 0x130, CODE, reader(stored))

    assert found(0x111, 0x112) == (0x110, 0x112) and found(0x110, 0x131, 0x112) == (0x110,) and found(0x10F) == ()
    assert found(*(5 * [0x110])) == (0x110,), "the table ends where code begins"


TABLES = "__libc_init_array:\n{}\nbx lr\none:\nbx lr\ntwo:\nbx lr\nlast:\nnop\nbx lr"
LOAD = "ldr r4, [pc, #LITERAL]\n"


def called(text: str, entries=("one", "two"), name: str = "__libc_init_array") -> tuple[str, ...] | None:
    """The functions that the last `blx` of start-up code calls, whose table of functions begins at the symbol of the script."""
    body = TABLES.format(text).replace("__libc_init_array", name)
    count = sum(not line.endswith(":") for line in body.splitlines())
    table = TEXT + 4 * count
    number = next((place for place, line in enumerate(text.splitlines()) if "LITERAL" in line), 0)
    body = body.replace("LITERAL", str(table + 4 * len(entries) - (TEXT + 4 * number) - 4))
    places = {"one": table - 16, "two": table - 12}
    stored = b"".join((places[entry] | 1).to_bytes(4, "little") for entry in entries)
    made, instructions = listed(body, {"table": stored + table.to_bytes(4, "little")})
    limits = {"__preinit_array_start": table, "__preinit_array_end": table, "__init_array_start": table}
    limits["__init_array_end"] = table + 4 * len(entries)
    symbols = {key: (replace(made.symbols[0], name=key, address=value, kind="absolute"),) for key, value in limits.items()}
    code = Code(replace(made, by_name={**made.by_name, **symbols}), instructions)
    call = [one for one in instructions.values() if one.mnemonic == "blx"][-1]
    found = tabled(code, call)
    return None if found is None else tuple({value: key for key, value in places.items()}[place] for place in found)


@pytest.mark.parametrize(
    "text, is_called",
    [
        (f"{LOAD}ldr r3, [r4]\nblx r3", True),
        (f"{LOAD}ldr r3, [r4, #4]\nblx r3", True),
        (f"{LOAD}ldr r3, [r4], #4\nblx r3", True),
        (f"{LOAD}adds r4, #4\nldr r3, [r4]\nblx r3", True),
        (f"{LOAD}mov r5, r4\nldr r3, [r5]\nblx r3", True),
        (f"{LOAD}add r5, r4, r6\nldr r3, [r5]\nmov r2, r3\nblx r2", True),
        (f"{LOAD}ldmia r4!, {{r3}}\nblx r3", True),
        (f"{LOAD}str r4, [sp, #4]\nldr r5, [sp, #4]\nldr r3, [r5]\nblx r3", True),
        (f"{LOAD}ldr r3, [r4]\nstr r3, [sp, #4]\nmovs r3, #0\nldr r3, [sp, #4]\nblx r3", True),
        (f"{LOAD}ldr r3, [r4]\nmov r3, r7\nblx r3", False),
        (f"{LOAD}ldr r3, [r4]\nadd r3, r7, r6\nblx r3", False),
        (f"{LOAD}add r4, r7, r6\nldr r3, [r4]\nblx r3", False),
        (f"{LOAD}ldr r3, [r4]\nldr r3, [r7]\nblx r3", False),
        (f"{LOAD}ldr r3, [r4]\nbl one\nblx r3", False),
        (f"{LOAD}cbz r0, .over\nldr r3, [r4]\n.over:\nblx r3", False),
        (f"{LOAD}.again:\nldr r3, [r4]\nblx r3\nadds r4, #4\nb .again", True),
        (f"{LOAD}ldr r3, [r4]\nstr r7, [sp, #4]\nldr r3, [sp, #4]\nblx r3", False),
        (f"{LOAD}blx r4", False),
        ("ldr r3, [r4]\nblx r3", False),
    ],
)
def test_start_up_code_calls_the_functions_of_a_table_if_the_register_holds_a_word_of_it_on_every_path(text, is_called):
    assert called(text) == (("one", "two") if is_called else None)
    assert called(text, name="other") is None


@pytest.mark.parametrize(
    "name, operands, kind",
    [
        ("mov", ("r1", "r2"), None),
        ("mov", ("r2", "r1"), "place"),
        ("mov", ("r2", "r3"), "entry"),
        ("add", ("r1", "r2", "r4"), None),
        ("add", ("r2", "r1", "r4"), "place"),
        ("add", ("r1", "r4"), "place"),
        ("sub", ("r4", "r1"), "place"),
        ("add", ("r2", "r3", "r4"), None),
    ],
)
def test_a_move_keeps_what_a_register_holds_and_a_sum_with_a_place_is_a_place(name, operands, kind):
    """r1 holds a place in a table, r3 an entry."""
    assert _Held(kinds={"r1": "place", "r3": "entry"})._kept_kind(name, operands) == kind


def test_where_paths_meet_a_kind_that_one_of_them_does_not_confirm_is_forgotten_and_that_is_said():
    held = _Held(kinds={"r1": "place", "r3": "entry"})
    assert held.meet(_Held(kinds={"r1": "place"})) and held.kinds == {"r1": "place"}
    assert not held.meet(_Held(kinds={"r1": "place"}))


@pytest.mark.parametrize(
    "text, parts",
    [
        ("add r1, r0, #24", {"r1": 24}),
        ("sub r1, r0, #24", {"r1": -24 & 0xFFFFFFFF}),
        ("adds r0, #8", {"r0": 8}),
        ("adds r0, #8\nsubs r0, #8", {}),
        ("adds r0, #8\nmov r2, r0", {"r0": 8, "r2": 8}),
        ("adds r0, #8\nlsls r1, r0, #2", {"r0": 8, "r1": 32}),
        ("adds r0, #8\nadd r1, r2, r0, lsl #3", {"r0": 8, "r1": 64}),
        ("adds r0, #8\nadd r1, r2, r0, lsr #3", {"r0": 8}),
        ("adds r0, #8\nadd r1, r0, r0", {"r0": 8, "r1": 16}),
        ("movs r3, #5\nadd r1, r0, r3", {"r1": 5, "r3": 5}),
        ("adds r0, #8\nstr r0, [sp, #4]\nldr r5, [sp, #4]", {"r0": 8, 4: 8, "r5": 8}),
        ("adds r0, #8\nadds r4, #4\nbl g", {"r4": 4}),
        ("adds r0, #8\nadds r4, #4\nblx r5", {"r4": 4}),
        ("adds r0, #8\nbx lr", {"r0": 8}),
        ("adds r0, #8\nmuls r0, r1", {}),
    ],
)
def test_the_constant_terms_of_sums_are_followed(text, parts):
    code = Code(*listed(f"f:\n{text}\nnop\ng:\nbx lr"))
    *_, last = linear_sweep(code, TEXT)
    assert last.parts == parts and last.instruction.mnemonic == "nop"


def test_a_register_that_holds_a_number_is_its_own_constant_term_and_an_address_may_be_known():
    code = Code(*listed("f:\nmovs r0, #64\nadd r1, r2, #8\nnop"))
    *_, last = linear_sweep(code, TEXT)

    def address(operand: str) -> tuple[int, bool] | None:
        return replace(last, instruction=last.instruction._replace(operands=("r3", operand))).address()

    assert address("[r0]") == (64, True) and address("[r0, #4]") == (68, True) and address("r0") is None
    assert (
        address("[r1, #4]") == (12, False) and address("[r0, r1]") == (72, False) and address("[r0, r0, lsl #1]") == (192, True)
    )


@pytest.mark.parametrize("width, at", [(1, 0), (2, 0), (4, 0), (4, 2)])
def test_a_switch_of_libgcc_reads_its_table_after_the_call(width, at):
    """Words begin at a multiple of four bytes."""
    name = {1: "__gnu_thumb1_case_uqi", 2: "__gnu_thumb1_case_uhi", 4: "__gnu_thumb1_case_si"}[width]
    made, instructions = listed(f"f:\nbl {name}\nnop\nnop\n.to:\npush {{r0-r3}}\nbx lr\n{name}:\nbx lr")
    table, target = TEXT + 4, TEXT + 12
    entry = (target - table) // (1 if width == 4 else 2)
    content = bytearray(made.sections[0].content)
    content[4 : 4 + width] = entry.to_bytes(width, "little")
    for place in (table, table + 4):
        del instructions[place]
    part = section(".text", TEXT, bytes(content))
    if at:  # the call ends two bytes before the table
        call = instructions.pop(TEXT)
        instructions[TEXT - 2] = call._replace(address=TEXT - 2)
        table = TEXT + 4
        made = replace(made, symbols=tuple(replace(one, address=TEXT - 2) if one.name == "f" else one for one in made.symbols))
        made = replace(made, by_name={**made.by_name, "f": (replace(made.by_name["f"][0], address=TEXT - 2),)})
        content = bytes(2) + bytes(content)
        part = section(".text", TEXT - 2, content)
    bound = runs_use(replace(made, sections=(replace(part, executable=True), *made.sections[1:])), instructions, ("f",))["f"]
    assert bound.reason.startswith("an indirect jump at"), "the way leads to the target"
