# SPDX-License-Identifier: MIT
"""Texts of Armv6-M's instructions as assembly of RISC-V."""

from __future__ import annotations

import re

import pytest

from aidge_build.base.errors import AidgeError
from aidge_build.contract.kernel_kit.riscv.registers import RV32E
from aidge_build.contract.kernel_kit.riscv.routine import Routine

PARAMETERS = "int *to, int count, int third, int fourth, int fifth"
OF_32_REGISTERS = re.compile(r"\b(a[67]|s([2-9]|1[01])|t[3-6])\b")


class Emitter(Routine):
    macros = "OWN"


class Emitter16(Emitter):
    registers = RV32E


def printed(*lines: str, parameters: str = PARAMETERS, emitter: type[Emitter] = Emitter) -> list[str]:
    """The instructions of a function."""
    code = emitter()
    for line in lines:
        code.label(line[1:-1]) if line.startswith("%") and line.endswith(":") else code(line)
    text = code.function("tried", parameters, "Tried.")
    return [line.split('"')[1].removesuffix("\\n").strip() for line in text.splitlines() if line.strip().startswith('"')]


def in_a_loop(*lines: str) -> list[str]:
    begin = ["%enter.low", "%turn:"]
    return printed(*begin, *lines, "subs %count, %count, #1", "bne %turn", "%leave")


def test_a_list_of_registers_is_accesses_at_distances_and_one_step_of_the_address():
    found = in_a_loop("ldm %to!, {%x, %y}", "adds %x, %x, %y", "stm %to!, {%x}")
    assert found == ["1:", "lw a3, 0(a0)", "lw a2, 4(a0)", "add a3, a3, a2", "sw a3, 8(a0)"] + [
        *("addi a1, a1, -1", "addi a0, a0, 12", "bnez a1, 1b", "ret"),
    ]


def test_a_comparison_is_part_of_the_branch():
    body = "cmp %count, %third", "bhi %end", "cmp %count, #7", "beq %end", "cmp %count, #0", "blt %end"
    found = printed("%enter.low", *body, "%end:", "%leave")
    assert found[:4] == ["bgtu a1, a2, 1f", "li t6, 7", "beq a1, t6, 1f", "bltz a1, 1f"]


def test_the_upper_half_of_a_product_is_one_instruction():
    found = printed("%enter.low", "mulhu %x, %count, %third", "str %x, [%to]", "%leave")
    assert found == ["mulhu a1, a1, a2", "sw a1, 0(a0)", "ret"]


def test_values_that_wait_arguments_and_words_of_the_frame_are_in_registers_if_there_are_enough():
    found = printed(
        *("%enter.low", "%frame kept.2, other", "put %third", "str %count, [sp, %frame.other]", "ldr %count, [%argument.4]"),
        *(
            "str %count, [%to]",
            "get %third",
            "str %third, [%to, #4]",
            "ldr %x, [sp, %frame.other]",
            "str %x, [%to, #8]",
            "%leave",
        ),
    )
    assert not any("sp" in line for line in found) and found[-1] == "ret"
    assert [line for line in found if line.startswith("sw")][0] == "sw a4, 0(a0)"


def test_words_of_the_frame_are_in_memory_if_their_address_is_needed():
    found = printed(
        *("%enter.low", "%frame first, many.4", "str %count, [sp, %frame.first]", "add %from, sp, %frame.many", "%turn:"),
        *("ldm %from!, {%x}", "subs %third, %third, #1", "bne %turn", "ldr %y, [sp, %frame.first]", "str %y, [%to]", "%leave"),
    )
    assert "addi sp, sp, -16" in found and not any("0(sp)" in line and line.startswith("sw a1") for line in found)


def test_what_does_not_fit_the_registers_waits_in_memory_where_it_is_used_least():
    names = [f"x{number}" for number in range(30)]
    loads = [f"ldr %{name}, [%to, #{4 * place}]" for place, name in enumerate(names)]
    puts = [f"put %{name}" for name in names]
    uses = [line for name in names for line in (f"get %{name}", f"str %{name}, [%to]")]
    found = printed("%enter.low", *(line for pair in zip(loads, puts) for line in pair), *uses, "%leave")
    assert any(line.startswith("sw") and line.endswith("(sp)") for line in found)
    assert sum(line.startswith("sw") and "(a0)" in line for line in found) == 30


@pytest.mark.parametrize(
    "line", ["rev16 %count, %count", "ldr %count, [%to, #4]!", "adcs %count, %third", "ldr %x, [%to, #4096]"]
)
def test_a_line_without_a_meaning_is_refused_by_name(line):
    with pytest.raises(AidgeError, match="tried: `.*` has no meaning on RISC-V"):
        printed("%enter.low", line, "%leave")


def test_a_branch_on_a_comparison_of_a_value_that_has_changed_is_refused():
    with pytest.raises(AidgeError, match="`bne 1f` has no meaning on RISC-V"):
        printed("%enter.low", "cmp %count, %third", "add %third, %count", "bne %end", "str %third, [%to]", "%end:", "%leave")


def test_a_move_that_only_names_the_result_goes_into_the_next_instruction():
    found = printed("%enter.low", "mov %x, %count", "muls %x, %third", "str %x, [%to]", "str %count, [%to, #4]", "%leave")
    assert found[0] in ("mul a3, a1, a2", "mul a4, a1, a2")


NAMES = [f"x{number}" for number in range(14)]
LOADS = [f"ldr %{name}, [%to, #{4 * place}]" for place, name in enumerate(NAMES)]
STORES = [f"str %{name}, [%count, #{4 * place}]" for place, name in enumerate(NAMES)]


def test_values_of_any_kind_are_in_memory_where_16_registers_do_not_suffice():
    found = printed("%enter.low", *LOADS, *STORES, "%leave", emitter=Emitter16)
    assert not any(map(OF_32_REGISTERS.search, found))
    spilled = [line.split(", ")[1] for line in found if line.startswith("sw") and "(sp)" in line]
    assert len(spilled) == len(set(spilled)) and sum("(a0)" in line for line in found if line.startswith("lw")) == 14
    assert sum("(sp)" not in line for line in found if line.startswith("sw")) == 14


def test_a_value_that_only_waits_through_a_loop_is_in_memory_and_no_value_of_the_loop():
    sums = [f"add %{name}, %{name}, %count" for name in NAMES[:7]]
    ends = [f"str %{name}, [%to]" for name in NAMES]
    loop = ["%turn:", *sums, "subs %third, %third, #1", "bne %turn"]
    found = printed("%enter.low", *LOADS, *loop, *ends, "%leave", emitter=Emitter16)
    turn = found[found.index("1:") : next(place for place, line in enumerate(found) if line.endswith("1b"))]
    assert len(turn) == 9 and not any("(sp)" in line for line in turn)


def test_code_out_of_the_way_that_jumps_back_is_no_loop():
    loop = ["%turn:", *(f"add %{name}, %{name}, %count" for name in NAMES[:6]), "subs %third, %third, #1", "bne %turn"]
    tests = [line for number in range(3) for line in ("cmp %count, %fourth", f"beq %rare{number}", f"%back{number}:")]
    rare = [line for number in range(3) for line in (f"%rare{number}:", "str %count, [%to]", f"b %back{number}")]
    found = printed("%enter.low", *LOADS, *loop, *STORES[:6], *tests, *STORES[6:], "%leave", *rare, emitter=Emitter16)
    turn = found[found.index("1:") : next(place for place, line in enumerate(found) if line.endswith("1b"))]
    assert not any("(sp)" in line for line in turn)


def test_an_array_of_the_frame_begins_where_the_stack_pointer_is():
    lines = ["%frame many.4", "mov %from, sp", "str %count, [%from, #4]", *LOADS, "ldr %y, [%from, #4]", "str %y, [%to]"]
    found = printed("%enter.low", *lines, *STORES, "%leave", emitter=Emitter16)
    of_values = {line.split(", ")[1] for line in found if line.startswith("sw") and line.endswith("(sp)")}
    assert len(of_values) > 3 and not of_values & {f"{4 * place}(sp)" for place in range(4)}


def test_functions_with_16_registers_get_6_parameters_in_them_and_keep_the_stack_at_multiples_of_4():
    parameters = ", ".join(f"int p{number}" for number in range(7))
    loads = [line for place in (4, 5, 6) for line in (f"ldr %x, [%argument.{place}]", "str %x, [%p0]")]
    found = printed("%enter.low", *loads, "%leave", parameters=parameters, emitter=Emitter16)
    assert found == ["sw a4, 0(a0)", "sw a5, 0(a0)", "lw a1, 0(sp)", "sw a1, 0(a0)", "ret"]
    assert printed("%enter.low", *LOADS[:12], *STORES[:12], "%leave", emitter=Emitter16)[0] == "addi sp, sp, -24"


def test_the_return_address_is_saved_where_its_register_has_a_value():
    found = printed("%enter.low", *LOADS[:10], *STORES[:10], "%leave", emitter=Emitter16)
    assert any(line.startswith("lw ra, ") and "(a0)" in line for line in found)
    kept = [line for line in found if line.startswith("sw ra, ") and line.endswith("(sp)")]
    assert kept and found[-1] == "ret" and found[-5:].count(kept[0].replace("sw", "lw")) == 1
