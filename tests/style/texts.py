# SPDX-License-Identifier: MIT
"""The texts that people read, by name: pages, options, help, findings, messages, comments of generated C and of each room."""

from __future__ import annotations

import argparse
import ast
import functools
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from aidge_build.base.options.table import TABLE
from aidge_build.base.options.variables import VARIABLES
from aidge_build.cli.parsing import verb_parser
from aidge_build.cli.verbs import MODULES, module_of, summary_of
from aidge_build.prove.elf.findings import RULES

ROOT = Path(__file__).resolve().parents[2]
# CHANGELOG.md is a record: its old entries stay as they were written.
_PAGES = (
    *("[!C]*.md", "CONTRIBUTING.md", "docs/*.md", "boards/*.md", "skills/*/*.md", "integrations/*.md", "examples/*/*.md"),
    *("aidge_build/base/templates/**/*.md.j2", "aidge_build/measure/packages/*/[!c]*.md.j2"),
)
_WORDS = re.compile(r"\b[a-z]+\b")
_ROW_OF_FINDING = re.compile(r"^\| [A-Z]{3,4}\d* \|.*$", re.MULTILINE)
_C_COMMENT = re.compile(r"/\*(.*?)\*/", re.DOTALL)
_TEMPLATE = re.compile(r"\{#.*?#\}|\{%.*?%\}", re.DOTALL)
# Each group is a text: a comment between `def f():` and the docstring, a docstring, whole lines of comments, the end of a line.
# Python's own parser finds the same texts and takes ten times as long.
_PYTHON = re.compile(
    r'''(?:(?<=:\n)[ ]+|(?<=:)[ ]+\#(.*)\n[ ]+|^)r?"""((?s:.*?))"""'''
    r'''|"""(?s:\\.|.)*?"""|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\''''
    r"|(^[ ]*\#.*(?:\n[ ]*\#.*)*)|\#(.*)",
    re.MULTILINE,
)


def _page(name: str) -> str:
    """A page, or the template of one, without the rows that the findings have written."""
    return _ROW_OF_FINDING.sub("", _TEMPLATE.sub("", (ROOT / name).read_text(encoding="utf-8")))


def _options() -> str:
    meanings = [option.meaning for group in TABLE for option in group.options]
    return "\n\n".join([*meanings, *(variable.meaning for variable in VARIABLES)])


def _help() -> str:
    found = []
    for name in MODULES:
        module = module_of(name)
        helps = [action.help for action in verb_parser(name)._actions if action.help != argparse.SUPPRESS]
        found += [summary_of(name), *(text for _, text in module.EXAMPLES), *(text for text in helps if text)]
    return "\n\n".join(dict.fromkeys(found))


def _findings() -> str:
    return "\n\n".join(text for rule in RULES.values() for text in (rule.meaning, rule.hint))


def _messages() -> str:
    """The strings of three words and more in the package: errors, findings, notices, lines of verbs. Docstrings are none."""
    found: list[str] = []
    for path in sorted((ROOT / "aidge_build").rglob("*.py")):
        nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
        inner = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
        inner |= {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
        strings = (node for node in nodes if isinstance(node, ast.JoinedStr | ast.Constant) and id(node) not in inner)
        found += (text for text in map(_text_of, strings) if len(_WORDS.findall(text)) > 2)
    return "\n\n".join(dict.fromkeys(found))


def _generated() -> str:
    """Comments of the templates of C, of the headers that are kept as examples, and the sentences of the functions in headers."""
    templates = (ROOT / "aidge_build" / "base" / "templates").rglob("*.[ch].j2")
    kept = (ROOT / "tests" / "golden").glob("*/*.h")
    found: list[str] = []
    for path in sorted([*templates, *kept]):
        text = _TEMPLATE.sub("", path.read_text(encoding="utf-8"))
        found += (re.sub(r"\{\{.*?\}\}", "CODE", comment).replace("\n *", "\n") for comment in _C_COMMENT.findall(text))
    for path in sorted((ROOT / "aidge_build" / "build" / "emit").glob("*.py")):
        found += _sentences_in(ast.parse(path.read_text(encoding="utf-8")))
    return "\n\n".join(dict.fromkeys(found))


def _sentences_in(module: ast.Module) -> Iterator[str]:
    """Strings that end as a sentence does and are no docstring."""
    docstrings = {id(node.value) for node in ast.walk(module) if isinstance(node, ast.Expr)}
    for node in ast.walk(module):
        if isinstance(node, (ast.Tuple, ast.List, ast.Assign, ast.Return)):
            parts = node.elts if isinstance(node, (ast.Tuple, ast.List)) else [node.value] if node.value else []
            for part in parts:
                text = _text_of(part)
                if id(part) not in docstrings and text.endswith((".", ";", ":")) and " " in text:
                    yield text


def comments_in(python: str) -> list[str]:
    """Returns the docstrings and comments of a file. A single backquote, as linkers print it, begins no code."""
    found = [text.replace("#", "") for groups in _PYTHON.findall(python) for text in groups if text]
    return [text.replace("`", "") if text.count("`") % 2 else text for text in found]


def _comments_of(room: Path) -> str:
    return "\n\n".join(text for path in sorted(room.rglob("*.py")) for text in comments_in(path.read_text(encoding="utf-8")))


def comments_of_kernels() -> dict[str, str]:
    """Returns the docstrings and comments of each Python file and header of the libraries, by its path."""
    found = {}
    for path in sorted((ROOT / "kernels").rglob("*.*")):
        if path.suffix in (".py", ".h"):
            text = path.read_text(encoding="utf-8")
            comments = comments_in(text) if path.suffix == ".py" else _C_COMMENT.findall(text.replace("\n *", "\n"))
            found[path.relative_to(ROOT).as_posix()] = "\n\n".join(comments)
    return found


def _text_of(node: ast.expr) -> str:
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "CODE" for part in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def texts() -> dict[str, Callable[[], str]]:
    """Returns what reads each text; pages are named by their path."""
    pages = [path.relative_to(ROOT).as_posix() for pattern in _PAGES for path in sorted(ROOT.glob(pattern))]
    found: dict[str, Callable[[], str]] = {page: lambda page=page: _page(page) for page in pages}  # type: ignore[misc]
    others = {"options": _options, "help": _help, "findings": _findings, "messages": _messages, "generated C": _generated}
    rooms = [path.parent for path in sorted((ROOT / "aidge_build").glob("*/__init__.py"))]
    others |= {f"comments of {room.name}": functools.partial(_comments_of, room) for room in rooms}
    return {name: functools.cache(read) for name, read in (found | others).items()}
