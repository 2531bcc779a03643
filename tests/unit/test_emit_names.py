# SPDX-License-Identifier: MIT
"""Names of classes and categories in the header: macros, which cost nothing, and hold nothing but harmless strings."""

from __future__ import annotations

import ast
import dataclasses
import re

from aidge_build.build.emit import emit
from aidge_build.build.emit.names import list_of_names, string_of
from tests.emitted import chain

HOSTILE = ('"; int injected = 42; "', "*/", "//", "a\\", "??/", "%s", "\n", "\0", "é", "\udc80", "?" * 3)


def with_names(**names: tuple[str, ...]):
    """A small program whose input and output have names."""
    program = chain()
    tensors = dict(program.view.tensors)
    for side, given in names.items():
        (name,) = getattr(program.view, f"{side}s")
        tensors[name] = tensors[name].with_(names=given)
    return dataclasses.replace(program, view=dataclasses.replace(program.view, tensors=tensors))


def header(program) -> str:
    return emit(program).files["toy.h"].decode("ascii")


def test_what_a_name_holds_stays_inside_of_its_string():
    for name in HOSTILE:
        text = string_of(name)
        assert re.fullmatch(r'"([^"\\?]|\\[0-7]{3})*"', text) and text.isprintable()
        found = ast.literal_eval("b" + text)
        assert found == name.encode("utf-8", "backslashreplace")


def test_a_long_list_is_continued_and_loses_no_name():
    names = tuple(f"category number {index}" for index in range(60))
    text = list_of_names(names)
    assert max(map(len, text.splitlines())) <= 125 and all(line.endswith(" \\") for line in text.splitlines()[:-1])
    assert tuple(re.findall(r'"([^"]*)"', text)) == names
    assert list_of_names(()) == "{}"


def test_the_header_lists_the_classes_once_and_the_words_of_an_input():
    text = header(with_names(output=("no", "yes"), input=("x", 'a"b')))
    assert '#define TOY_LABELS {"no", "yes"}\n#define TOY_LABELS_SIZE 2\n' in text
    assert "#define TOY_OUTPUT_NAMES TOY_LABELS\n#define TOY_OUTPUT_NAMES_SIZE 2\n" in text
    assert '#define TOY_INPUT_NAMES {"x", "a\\042b"}\n#define TOY_INPUT_NAMES_SIZE 2\n' in text
    assert "write -1 for any other word" in text


def test_a_model_without_names_has_no_such_macro():
    assert "NAMES" not in header(chain()) and "LABELS" not in header(chain())


def test_other_names_are_another_header():
    def digest(program):
        return re.search(r"_HEADER_([0-9a-f]{12})", header(program))[1]

    assert digest(with_names(output=("no", "yes"))) != digest(with_names(output=("yes", "no")))
