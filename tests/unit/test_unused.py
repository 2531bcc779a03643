# SPDX-License-Identifier: MIT
"""What no layer reaches leaves the kernels' C, and nothing else does."""

from __future__ import annotations

import pytest

from aidge_build.build.emit.definitions import without_comments
from aidge_build.build.emit.unused import without_unused

MACROS = """/* SPDX-License-Identifier: 0BSD */
/* How functions are inlined. */
#if defined(__GNUC__)
#define LIB_INLINE static inline __attribute__((always_inline, aligned(4)))
#define LIB_APART static __attribute__((noinline))
#else
#define LIB_INLINE static inline
#define LIB_APART static
#endif

#define LIB_TWICE(x) \\
    (2 * (x))"""
HELPERS = """#include <string.h>

/* Keeps its { comment. */
LIB_INLINE int lib_first(int x)
{
    return x > 0 ? LIB_TWICE(x) : '}';
}

/* Only below another. */
LIB_APART void lib_second(const char *text, int (*table)[2])
{
#if LIB_WIDE
    lib_third(text, "};");
#else
    (void)table;
#endif
}

static void lib_third(const char *a, const char *b);
static void lib_third(const char *a, const char *b)
{
    (void)a; (void)b;
}

static const int lib_numbers[2] = {
    1, 2};

typedef struct { int x; } lib_shape;

int lib_public(void)
{
    return 1;
}"""


def left(called, *texts):
    return without_unused(texts, called)


def names(text):
    return [name for name in ("first", "second", "third", "numbers", "shape", "public") if f"lib_{name}" in text]


@pytest.mark.parametrize(
    "called, kept",
    [
        ((), ["shape", "public"]),
        (("lib_first",), ["first", "shape", "public"]),
        (("lib_second",), ["second", "third", "shape", "public"]),
        (("lib_third", "lib_numbers"), ["third", "numbers", "shape", "public"]),
    ],
)
def test_functions_and_constants_stay_where_something_reaches_them(called, kept):
    macros, helpers = left(called, MACROS, HELPERS)
    assert names(helpers) == kept
    assert helpers.count("lib_third(const") == 2 * ("third" in kept)  # with its declaration
    assert ("Keeps its" in helpers, "Only below" in helpers) == ("first" in kept, "second" in kept)
    assert "\n\n\n" not in helpers
    assert [name for name in ("LIB_INLINE", "LIB_APART", "LIB_TWICE") if name in macros] == [
        name for name, user in (("LIB_INLINE", "first"), ("LIB_APART", "second"), ("LIB_TWICE", "first")) if user in kept
    ]


def test_a_file_of_which_nothing_is_left_is_empty_and_a_licence_stays_with_the_rest():
    assert left((), MACROS) == [""]
    (macros,) = left(("LIB_APART",), MACROS)
    assert macros.splitlines() == [
        "/* SPDX-License-Identifier: 0BSD */",
        "/* How functions are inlined. */",
        "#if defined(__GNUC__)",
        "#define LIB_APART static __attribute__((noinline))",
        "#else",
        "#define LIB_APART static",
        "#endif",
    ]


def test_a_condition_keeps_the_macros_that_it_asks_for():
    text = "#define A 1\n#define B 2\n#if A > 1\nstatic int f(void)\n{\n    return 0;\n}\n#endif"
    assert left(("f",), text) == [text.replace("#define B 2\n", "")]
    assert left((), text) == [""]


FIRST, SECOND = (f"static int {name}(void)\n{{\n    return 0;\n}}" for name in ("first", "second"))


@pytest.mark.parametrize(
    "called, kept",
    [
        (("first", "second"), f"#if A\n{FIRST}\n#elif B\n#else\n{SECOND}\n#endif"),
        (("first",), f"#if A\n{FIRST}\n#endif"),
        (("second",), f"#if A\n#elif B\n#else\n{SECOND}\n#endif"),
        ((), ""),
    ],
)
def test_branches_of_a_condition_go_from_the_last_one_on_if_nothing_is_left_in_them(called, kept):
    text = f"#if A\n{FIRST}\n#elif B\nstatic int third;\nstatic int fourth = 4;\n#else\n{SECOND}\n#endif"
    assert left(called, text.replace("static int third;\n", "")) == [kept]


@pytest.mark.parametrize(
    "text",
    [
        "#define GLUE(a) f_##a\nstatic void f_x(void) { }",
        "EACH(f, g)\nstatic void h(void)\n{\n}",
        '#ifdef __cplusplus\nextern "C" {\n#endif\nstatic void f(void) { }\n#ifdef __cplusplus\n}\n#endif',
        "static void f(int x)\n#if WIDE\n{ g(x); }\n#else\n{ h(x); }\n#endif",
        "#if A\nstatic void f(void) {\n#else\nstatic void f(int x) {\n#endif\n}",
        '#pragma GCC poison x\n#error "no"',
        "static void f(void)\n#define A 1\n{\n}",
        "static int f(void) { return 0; }\n#endif",
        "#else\nstatic int f(void) { return 0; }",
        "#if A\nstatic int f(void) { return 0; }",
        "static int f(void)\n{\n    return 0;",
    ],
)
def test_what_is_not_surely_one_definition_stays(text):
    assert left((), text) == [text]


def test_what_a_comment_quotes_is_a_comment_and_a_comment_in_a_string_is_none():
    text = 'a; // say "b"\nc /* it\'s\n"d" */ e = "/* f */ // g"; h = \'"\'; // \'i\''
    assert without_comments(text) == 'a;  \nc \n e = "/* f */ // g"; h = \'"\';  '


def test_functions_that_call_themselves_or_each_other_in_a_circle_go_together():
    text = "static int f(int x) { return g(x); }\n\nstatic int g(int x) { return f(x); }\n\nstatic int h(int x) { return h(x); }"
    assert left((), text) == [""]
    assert left(("g",), text) == [text.split("\n\nstatic int h")[0]]


def test_a_name_in_assembly_is_a_use_and_one_in_a_comment_is_none():
    text = 'static void f(void) { }\n\nstatic void g(void) { }\n\nvoid h(void)\n{\n    __asm__("bl f"); /* not g */\n}'
    assert left((), text) == [text.replace("static void g(void) { }\n\n", "")]
