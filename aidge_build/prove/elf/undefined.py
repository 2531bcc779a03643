# SPDX-License-Identifier: MIT
"""A program with undefined symbols: reads a linker's messages and its cross references about them."""

from __future__ import annotations

import re
from dataclasses import dataclass

# GNU ld: "main.c:7: undefined reference to `f'", or "main.c:(.text+0x4): ..." without debug information.
_GNU = re.compile(r"^(?:\S*ld(?:\.\w+)?(?:\.exe)?: )?(.+?):(?:\d+|\([^)]*\)): undefined reference to [`'](.+)'$", re.MULTILINE)
# GNU ld names the object of a function first, then its source: "main.o: in function `main':" and "main.c:(.text+0x4): ...".
_GNU_OBJECT = re.compile(
    r"^(?:\S*ld(?:\.\w+)?(?:\.exe)?: )?(.+?): in function [`'].*':\n(?:\S*ld: )?(.+?):(?:\d+|\()", re.MULTILINE
)
# LLVM: "undefined symbol: f", followed by lines ">>> referenced by main.c:7 (/src/main.c:7)" or ">>> referenced by main.o".
_LLVM = re.compile(r"undefined symbol: (.+)((?:\n>>> .*)*)")
_REFERENCE = re.compile(r">>> referenced by ([^\s:]+)")
_CROSS_REFERENCE = re.compile(r"(\S+)?\s+(\S.*)")
# The file name for all code that link-time optimisation made.
OPTIMIZED = "<artificial>"
_PLUGIN = " (symbol from plugin)"


@dataclass(frozen=True)
class Undefined:
    """A symbol that is referenced and not defined, and the source files that reference it (objects, if a linker names these)."""

    symbol: str
    sources: tuple[str, ...]


def read_undefined(messages: str) -> tuple[Undefined, ...]:
    """Returns the undefined symbols in a linker's messages, by name."""
    found: dict[str, dict[str, None]] = {}
    sources = dict(_GNU_OBJECT.findall(messages))
    for source, symbol in _GNU.findall(messages):
        found.setdefault(symbol, {})[sources.get(source, source)] = None
    for symbol, references in _LLVM.findall(messages):
        found.setdefault(symbol, {}).update(dict.fromkeys(_REFERENCE.findall(references)))
    return tuple(Undefined(symbol, tuple(found[symbol])) for symbol in sorted(found))


def read_cross_references(link_map: str) -> dict[str, tuple[str, ...]]:
    """Returns the files that define or reference each symbol, from the table that `--cref` appends to a map of GNU ld.

    With link-time optimisation these are the linker's input files and an intermediate file.
    """
    found: dict[str, tuple[str, ...]] = {}
    symbol = ""
    for line in link_map.rpartition("\nCross Reference Table\n")[2].splitlines():
        match = _CROSS_REFERENCE.fullmatch(line)
        if match and match[1] != "Symbol":
            symbol = match[1] or symbol
            found[symbol] = (*found.get(symbol, ()), match[2].removesuffix(_PLUGIN))
    return found
