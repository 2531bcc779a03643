# SPDX-License-Identifier: MIT
"""The sources of the user's CMSIS-NN checkout that a call needs, as the generated file can hold them."""

from __future__ import annotations

import re
from collections.abc import Mapping

_INCLUDE = re.compile(r'^([ \t]+#[ \t]*include[ \t]*"[^"]+")', re.MULTILINE)  # indented: inside #if, for float or for MSVC
_DEFINED = re.compile(r"^(?!static|__STATIC|#| |\*|/)[\w \*]+?\b(arm_\w+)\s*\((?=[^;]*?\)\s*\{)", re.MULTILINE)
_NAMED = re.compile(r"\barm_\w+")


def closure(files: Mapping[str, bytes], functions: tuple[str, ...]) -> tuple[tuple[str, ...], dict[str, bytes]]:
    """The sources (paths) that define these functions and all that they call, and the changed texts by path.

    Functions become weak symbols, so that two models in one firmware share them.
    """
    texts = {
        path: data.decode("utf-8")
        for path, data in sorted(files.items())
        if path.startswith("checkout/") and path.endswith((".c", ".h"))
    }
    home = {name: path for path, text in texts.items() if path.endswith(".c") for name in _DEFINED.findall(text)}
    wanted, paths = list(functions), []
    while wanted:
        path = home.get(wanted.pop())
        if path is not None and path not in paths:
            paths.append(path)
            wanted += sorted(set(_NAMED.findall(texts[path])))
    weak = "".join(f"#pragma weak {name}\n" for name, path in sorted(home.items()) if path in paths)
    changed = {path: _INCLUDE.sub(r"/* \1: left out */", text).encode() for path, text in texts.items() if _INCLUDE.search(text)}
    return ("checkout/weak.h", *sorted(paths)), {"checkout/weak.h": weak.encode(), **changed}
