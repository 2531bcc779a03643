# SPDX-License-Identifier: MIT
"""Code of kernels and templates is compiled once for each content, and kept beside the file; methods of dataclasses, too."""

from __future__ import annotations

import dataclasses
import sys

import pytest

from aidge_build.base import render
from aidge_build.base.kept_code import kept_code, kept_methods
from aidge_build.contract.library import load_library


@pytest.fixture(autouse=True)
def python_keeps_code(monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", False)


def answer(path, content: bytes, made: list[bytes]):
    def make():
        made.append(content)
        return compile(content, str(path), "eval")

    return eval(kept_code(str(path), content, make))


def test_code_is_made_once_for_each_content(tmp_path):
    path, made = tmp_path / "file.py", []
    path.write_bytes(b"1")
    answers = [answer(path, content, made) for content in (b"1", b"1", b"2", b"2", b"1")]
    assert (answers, made) == ([1, 1, 2, 2, 1], [b"1", b"2", b"1"])
    assert len(list(tmp_path.rglob("*"))) == 3  # the file, the folder, what is kept


@pytest.mark.parametrize("damaged", [lambda data: data[:-1], lambda data: data[:48], lambda data: b"", lambda data: b"x" + data])
def test_damaged_code_is_made_again(tmp_path, damaged):
    path, made = tmp_path / "file.py", []
    path.write_bytes(b"1")
    answer(path, b"1", made)
    (kept,) = tmp_path.glob("__pycache__/*")
    kept.write_bytes(damaged(kept.read_bytes()))
    assert [answer(path, b"1", made), answer(path, b"1", made)] == [1, 1] and made == [b"1", b"1"]


def test_nothing_is_kept_beside_no_file_or_where_python_keeps_nothing(tmp_path, monkeypatch):
    made = []
    assert answer(tmp_path / "none" / "file.py", b"1", made) == 1
    path = tmp_path / "file.py"
    path.write_bytes(b"1")
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    assert answer(path, b"1", made) == 1 and list(tmp_path.rglob("*")) == [path]


def test_a_library_that_was_loaded_before_compiles_nothing(tmp_path, monkeypatch):
    files = {"library.toml": b'name = "mine"\n', "one.py": b"from . import two\nVALUE = two.VALUE\n", "two.py": b"VALUE = 2\n"}
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)

    def loaded() -> int:
        load_library(files, str(tmp_path))
        modules = [name for name in sys.modules if name.startswith("aidge_kernels_mine_")]
        (value,) = {sys.modules[name].VALUE for name in modules if name.endswith((".one", ".two"))}
        for name in modules:  # as in another process
            del sys.modules[name]
        return value

    assert loaded() == 2
    with monkeypatch.context() as patch:
        patch.setattr("builtins.compile", lambda *words, **options: 1 / 0)
        assert loaded() == 2
    files["two.py"] = b"VALUE = 3\n"  # as long, in the same second
    assert loaded() == 3


def test_a_template_that_was_filled_before_is_not_parsed_again(tmp_path, monkeypatch):
    (tmp_path / "page").write_text("{% include 'part' %} of {{ count }}\n")
    (tmp_path / "part").write_text("{% if count %}\none\n{% endif %}")

    def filled(count: int) -> str:
        return render.render_parts(lambda name: (tmp_path / name).read_text(), "page", {"count": count}, place)

    def place(name: str) -> str:
        return str(tmp_path / name)

    assert filled(2) == "one\n of 2\n"
    with monkeypatch.context() as patch:
        patch.setattr("jinja2.Environment.compile", lambda *words, **options: 1 / 0)
        assert filled(3) == "one\n of 3\n"
    (tmp_path / "part").write_text("two")
    assert filled(2) == "two of 2\n"


def test_a_dataclass_that_was_made_before_compiles_no_method(tmp_path, monkeypatch):
    def shown(*names: str) -> str:
        with kept_methods(str(tmp_path / "file.py")):
            made = dataclasses.make_dataclass("Made", [(name, int, 3) for name in names], frozen=True)
        assert made(1) == made(1) != made(2) and len({made(), made()}) == 1
        return repr(made(1))

    assert shown("left", "right") == "Made(left=1, right=3)"
    assert shown("left") == "Made(left=1)"
    with monkeypatch.context() as patch:
        patch.setattr("builtins.compile", lambda *words, **options: 1 / 0)
        assert shown("left", "right") == "Made(left=1, right=3)"
        with pytest.raises(ZeroDivisionError):
            shown("right")
    assert "exec" not in vars(dataclasses)
