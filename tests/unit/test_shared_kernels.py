# SPDX-License-Identifier: MIT
"""Functions in assembly get a name after all that they are made of: the same name is the same function, in any model."""

from __future__ import annotations

import re

import pytest

from aidge_build.build.emit.shared import share_kernels

MACRO = """#if defined(__clang__)
#define NAKED static __attribute__((naked, noinline))
#else
#define NAKED static __attribute__((naked, noipa))
#endif
"""
KERNEL = """/* Sums. */
#if ASSEMBLY
NAKED void sums(const kind *input, int32_t *output)
{
    __asm__("    bx lr\\n");
}
#else
static void sums(const kind *input, int32_t *output)
{
    output[0] = twice(input->first);
}
#endif
"""
TYPE = "typedef struct {\n    int32_t first;\n} kind;\n"
HELPER = "static int32_t twice(int32_t value)\n{\n    return value + value;\n}\n"
TEXTS = (MACRO, TYPE, HELPER, KERNEL)
OTHER = "typedef struct {\n    int32_t other;\n} unlike;\n\nstatic void else_where(unlike *all)\n{\n    all->other = 1;\n}\n"


def name_in(*texts: str) -> str:
    ((_, linked),) = share_kernels(texts)[1]
    return linked


def test_a_naked_function_may_be_defined_by_other_files_and_has_a_declaration_and_a_section():
    texts, ((name, linked),) = share_kernels(TEXTS)
    assert name == "sums" and re.fullmatch("sums_[0-9a-f]{12}", linked)
    assert texts[0] == MACRO.replace("static", "AIDGE_SHARED")
    assert texts[1:3] == [TYPE, HELPER]
    head = "NAKED void sums(const kind *input, int32_t *output)\n"
    assert texts[3] == KERNEL.replace(head, f'{head}    AIDGE_SHARED_IN(".text.{linked}");\n{head}')


def test_an_array_of_a_least_length_stays_one_in_a_function_that_is_shared():
    head = "static __attribute__((naked)) void f(int x[static 4])\n"
    (text,), ((_, linked),) = share_kernels([f"{head}{{\n}}\n"])
    shared = head.replace("static __", "AIDGE_SHARED __")
    assert text == f'{shared}    AIDGE_SHARED_IN(".text.{linked}");\n{shared}{{\n}}\n'


def test_each_of_two_equal_definitions_gets_its_own_declaration():
    head = "NAKED void f(void)\n"
    texts, ((_, linked),) = share_kernels([MACRO, f"#if A\n{head}{{\n}}\n#else\n{head}{{\n}}\n#endif\n"])
    declared = f'{head}    AIDGE_SHARED_IN(".text.{linked}");\n{head}{{\n}}\n'
    assert texts[1] == f"#if A\n{declared}#else\n{declared}#endif\n"


@pytest.mark.parametrize("place", range(4))
def test_the_name_changes_with_all_that_the_function_is_made_of(place):
    changes = (
        ("noipa", "noipa, used"),
        ("int32_t first", "int32_t last, first"),
        ("value + value", "2 * value"),
        ("bx lr", "nop"),
    )
    changed = [text.replace(*changes[place]) if place == index else text for index, text in enumerate(TEXTS)]
    assert changed[place] != TEXTS[place]
    assert name_in(*changed) != name_in(*TEXTS)


def test_the_condition_around_a_function_is_a_part_of_it():
    assert name_in(*TEXTS[:3], KERNEL.replace("#if ASSEMBLY", "#if !ASSEMBLY")) != name_in(*TEXTS)


def test_the_name_is_that_of_every_model_whatever_else_it_has():
    assert name_in(MACRO, OTHER, TYPE, HELPER, KERNEL) == name_in(*TEXTS)
    assert name_in(MACRO, "/* Twice. */\n" + TYPE, HELPER, KERNEL.replace("Sums", "Adds").replace("    __", "  __")) == name_in(
        *TEXTS
    )


def test_functions_of_the_compiler_stay_the_models_own():
    texts = [TYPE, HELPER, "static __attribute__((noinline)) int32_t once(int32_t value)\n{\n    return twice(value);\n}\n"]
    assert share_kernels(texts) == (texts, ())


def test_a_function_that_says_static_and_naked_itself_is_shared_and_its_static_data_is_not():
    text = (
        'static const int32_t table[2] = {1, 2};\n\nstatic __attribute__((naked)) void one(void)\n{\n    __asm__("bx lr");\n}\n'
    )
    (new,), ((_, linked),) = share_kernels([text])
    head = "AIDGE_SHARED __attribute__((naked)) void one(void)"
    assert new.startswith(
        "static const int32_t table[2] = {1, 2};\n\n" + f'{head}\n    AIDGE_SHARED_IN(".text.{linked}");\n{head}\n{{'
    )


def test_a_function_with_a_static_declaration_of_its_own_stays_static():
    texts = ['static void one(void);\n\nstatic __attribute__((naked)) void one(void)\n{\n    __asm__("bx lr");\n}\n']
    assert share_kernels(texts) == (texts, ())


def test_a_macro_that_is_naked_in_one_definition_alone_shares_nothing():
    texts = [MACRO.replace("naked, noipa", "noipa"), TYPE, HELPER, KERNEL]
    assert share_kernels(texts) == (texts, ())


def test_where_names_are_put_together_nothing_is_shared():
    texts = [*TEXTS, "#define JOINED(a, b) a##b\n"]
    assert share_kernels(texts) == (texts, ())


def test_two_functions_of_one_text_are_told_apart():
    two = KERNEL + KERNEL.replace("sums", "more").replace("bx lr", "nop")
    texts, names = share_kernels([MACRO, TYPE, HELPER, two])
    assert [name for name, _ in names] == ["more", "sums"]
    for name, linked in names:
        assert texts[3].count(f'\n    AIDGE_SHARED_IN(".text.{linked}");\nNAKED void {name}(') == 1
