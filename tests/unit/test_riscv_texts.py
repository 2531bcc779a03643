# SPDX-License-Identifier: MIT
"""Texts of Armv6-M's instructions as assembly of RISC-V."""

from __future__ import annotations

import pytest

from aidge_build.base.errors import AidgeError
from aidge_build.contract.kernel_kit.riscv.routine import Routine


class Emitter(Routine):
    macros = "OWN"


def printed(*lines: str, parameters: str = "int *to, int count, int third, int fourth, int fifth") -> list[str]:
    """The instructions of a function."""
    code = Emitter()
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
