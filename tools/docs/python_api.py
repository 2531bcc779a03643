# SPDX-License-Identifier: MIT
"""The page of the Python API, from signatures and docstrings."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Callable, Iterator

from tools.docs.markdown import code

MODULES = ("aidge_build", *(f"aidge_build.{name}" for name in ("frontend", "net", "quantization", "training")))


def python_page() -> Iterator[str]:
    yield from (
        "# Python API",
        "",
        "The public names, with signatures and docstrings. [operators.md](operators.md) lists the functions of",
        "`aidge_build.net`, one for each operator. Guides: [kit.md](kit.md), [export-api.md](export-api.md),",
        "[frontend.md](frontend.md), [quantization.md](quantization.md).",
        "",
    )
    for public in MODULES:
        module = importlib.import_module(public)
        yield from (f"## {public}", "")
        for name in module.__all__:
            yield from entry(name, getattr(module, name))


def entry(name: str, value: object) -> Iterator[str]:
    yield from (f"### {name}", "")
    if not inspect.isclass(value) and not inspect.isfunction(value):
        yield from (prose(inspect.getdoc(value)) if not isinstance(value, str | int) else f"A constant: `{value!r}`.", "")
        return
    yield from (*signature(name, value), prose(inspect.getdoc(value)), "")
    if inspect.isclass(value):
        for member, method in sorted(vars(value).items()):
            if not member.startswith("_") and (line := first_line(method)):
                yield f"- {code(member)}: {line}"
        yield ""


def signature(name: str, value: Callable) -> Iterator[str]:
    try:
        text = str(inspect.signature(value))
    except ValueError:
        return
    text = re.sub(r"<[^<>]*>", "...", text)  # defaults that are objects
    text = re.sub(r"(: |-> )'([^']*)'", r"\1\2", text)  # annotations are texts
    yield from (f"    {line}" for line in f"{name}{text}".splitlines())
    yield ""


def first_line(method: object) -> str:
    function = method.fget if isinstance(method, property) else getattr(method, "__func__", method)
    text = inspect.getdoc(function) if inspect.isfunction(function) else ""
    return prose(text.partition("\n\n")[0]) if text else ""


def prose(text: str | None) -> str:
    """A docstring as Markdown; what is indented stays code, and nothing else becomes markup."""
    return "\n".join(line if line.startswith("    ") else plain(line) for line in (text or "").splitlines())


def plain(line: str) -> str:
    """Between the words in backticks no character is markup."""
    parts = re.split(r"(`[^`]*`)", line)
    return "".join(part if part.startswith("`") else re.sub(r"([*<])", r"\\\1", part) for part in parts)
