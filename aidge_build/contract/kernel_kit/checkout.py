# SPDX-License-Identifier: MIT
"""The sources of the user's checkout of another library that a call needs, as the generated file can hold them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from aidge_build.base.errors import AidgeError

FOLDER = "checkout/"  # of the checkout's files in the library
_INCLUDE = re.compile(r'^([ \t]+#[ \t]*include[ \t]*"[^"]+")', re.MULTILINE)  # indented: inside #if, for float or for MSVC
_GUARDED = re.compile(r"(?:[^#\n].*\n|\n)*#[ \t]*ifndef[ \t]+(\w+)\s*\n#[ \t]*define[ \t]+\1\b")
_ANGLE = re.compile(r"^#[ \t]*include[ \t]*<([^>]+)>", re.MULTILINE)


def closure(
    files: Mapping[str, bytes], functions: tuple[str, ...], prefix: str, warnings: tuple[str, ...] = ()
) -> tuple[tuple[str, ...], dict[str, bytes]]:
    """Returns the sources (paths) that define these functions and all that they call, and new and changed texts by path. `prefix`
    begins the names of all functions of the checkout. `warnings` of gcc and clang, as "-Wunused-parameter", are switched off
    around the checkout's code.

    Functions become weak symbols, so that two models in one firmware share them: `#pragma weak`, in a header of each source that
    comes before all sources. `#include <name>` of a header of the checkout names the header. AidgeError (LIBRARY) if the checkout
    lacks a function.
    """
    texts = {
        path: data.decode() for path, data in sorted(files.items()) if path.startswith(FOLDER) and path.endswith((".c", ".h"))
    }
    defined = re.compile(rf"^(?!static|__STATIC|#| |\*|/)[\w \*]+?\b({prefix}\w+)\s*\((?=[^;]*?\)\s*\{{)", re.MULTILINE)
    homes = {name: path for path, text in texts.items() if path.endswith(".c") for name in defined.findall(text)}
    for name in functions:
        if name not in homes:
            raise AidgeError(
                f"the checkout defines no function {name}", where="--checkout", code="LIBRARY", hint="take a newer release"
            )
    paths = _reached(texts, homes, functions, re.compile(rf"\b{prefix}\w+"))
    weak = {f"{path}.weak.h": _weak(name for name, home in homes.items() if home == path) for path in paths}
    whole = {path: _without(warnings, _as_library_file(text, texts)).encode() for path, text in texts.items()}
    return (*weak, *paths), {**weak, **{path: data for path, data in whole.items() if data != files[path]}}


def _reached(texts: Mapping[str, str], homes: Mapping[str, str], functions: tuple[str, ...], named: re.Pattern) -> list[str]:
    """Returns the sources of the functions and of all functions that these sources name, sorted."""
    wanted, paths = list(functions), set[str]()
    while wanted:
        path = homes.get(wanted.pop())
        if path is not None and path not in paths:
            paths.add(path)
            wanted += named.findall(texts[path])
    return sorted(paths)


def _weak(names: Iterable[str]) -> bytes:
    return "".join(["/* SPDX-License-Identifier: 0BSD */\n", *(f"#pragma weak {name}\n" for name in sorted(names))]).encode()


def _as_library_file(text: str, texts: Mapping[str, str]) -> str:
    """Returns the text with includes that the generated file can resolve."""
    headers = {path.rpartition("/")[2]: path for path in texts}

    def named(found: re.Match) -> str:
        return f'#include "{headers[found[1]]}"' if found[1] in headers else found[0]

    return _ANGLE.sub(named, _INCLUDE.sub(r"/* \1: left out */", text))


def _without(warnings: tuple[str, ...], text: str) -> str:
    """Returns the text between pragmas that switch the warnings off. A header with an include guard, which has to come first,
    stays as it is."""
    if not warnings or _GUARDED.match(text):
        return text
    ignored = [f'#pragma GCC diagnostic ignored "{warning}"' for warning in warnings]
    return "\n".join(["#pragma GCC diagnostic push", *ignored, text.strip("\n"), "#pragma GCC diagnostic pop", ""])
