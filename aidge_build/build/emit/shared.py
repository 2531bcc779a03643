# SPDX-License-Identifier: MIT
"""Kernels that several models share: functions in assembly get a name that ends in the digest of everything that they are made
of, and are weak, so that the linker keeps one of several equal functions.

A naked function is the same whoever calls it: the compiler neither inlines it nor makes a copy for one caller, and sharing costs
nothing but that a last call of it is no jump (a linker may take out calls of weak functions, so gcc lets them return). Code that
the compiler makes from C for the shapes of one layer stays the model's own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from aidge_build.build.emit.definitions import Item, items_of, parsed
from aidge_build.build.emit.digest import digest_of

SPECIFIER, SECTION = "AIDGE_SHARED", "AIDGE_SHARED_IN"
_STATIC, _NAKED = re.compile(r"\bstatic\b"), "naked"
_WORD = re.compile(r"[A-Za-z_]\w*")
_TYPE = re.compile(r"\(\s*\*\s*(\w+)\s*\)\s*\(|(\w+)\s*(?:\[[^\]]*\]\s*)*;\s*$")


def share_kernels(texts: Sequence[str]) -> tuple[list[str], tuple[tuple[str, str], ...]]:
    """Returns the texts of a model's kernels in their order, changed so that functions that models share are linked once; and the
    names of these functions with their linker symbols."""
    files = [parsed(text) for text in texts]
    items = [item for nodes in files for item in items_of(nodes)]
    if any("##" in line for item in items for line in item.lines):  # names that are put together are not seen
        return list(texts), ()
    macros = _macros_of_naked(items)
    functions = _functions(items, macros)
    defining = _defining(items)
    names = {name: f"{name}_{_digest(name, items, defining)}" for name in sorted(functions)}
    new = [_rewritten(text, nodes, macros, functions, names) for text, nodes in zip(texts, files, strict=True)]
    return new, tuple(sorted(names.items()))


def _macros_of_naked(items: Sequence[Item]) -> dict[str, list[Item]]:
    """Returns the macros that begin with `static` and contain `naked` in each of their definitions."""
    macros: dict[str, list[Item]] = {}
    for item in items:
        if item.stands_for is not None:
            macros.setdefault(item.name, []).append(item)
    return {
        name: found
        for name, found in macros.items()
        if all(item.stands_for == "static" and _NAKED in item.words for item in found)
    }


def _functions(items: Sequence[Item], macros: dict[str, list[Item]]) -> dict[str, list[Item]]:
    """Returns the definitions of naked functions; not of functions with a separate declaration, because that says `static`."""
    found: dict[str, list[Item]] = {}
    declared = {item.name for item in items if item.stands_for is None and item.specifiers and "{" not in item.bare}
    for item in items:
        naked = item.specifiers & macros.keys() or ("static" in item.specifiers and _NAKED in _WORD.findall(item.head))
        if naked and item.stands_for is None and "{" in item.bare and item.name not in declared:
            found.setdefault(item.name, []).append(item)
    return found


def _defining(items: Sequence[Item]) -> dict[str, list[int]]:
    """Returns, by word, the places of the items that define it."""
    found: dict[str, list[int]] = {}
    for place, item in enumerate(items):
        for word in (item.name,) if item.name else _types(item):
            found.setdefault(word, []).append(place)
    return found


def _types(item: Item) -> Iterator[str]:
    """Yields the names in a definition that is no function, variable or macro."""
    text = item.bare.strip()
    if text.startswith("typedef"):
        match = _TYPE.search(text)
        yield from (name for name in (match.groups() if match else ()) if name)
    elif not text.startswith("#"):
        yield from item.words


def _digest(name: str, items: Sequence[Item], defining: dict[str, list[int]]) -> str:
    """Returns the digest of the function and of everything that its text names, without comments."""
    seen, new, used = set[str](), {name}, set[int]()
    while new:
        places = {place for word in new for place in defining.get(word, ())} - used
        seen, used, new = seen | new, used | places, set()
        for place in places:
            new |= {*items[place].words, *(word for group in items[place].around for word in group.words())}
        new -= seen
    text = "\n".join(line for place in sorted(used) for line in _lines(items[place]))
    return digest_of(text)


def _lines(item: Item) -> Iterator[str]:
    for group in item.around:
        yield from (line for directive, _ in group.branches for line in directive)
    yield from (" ".join(line.split()) for line in item.bare.splitlines() if line.strip())


def _rewritten(
    text: str,
    nodes: Sequence,
    macros: dict[str, list[Item]],
    functions: dict[str, list[Item]],
    names: dict[str, str],
) -> str:
    changed = {id(item): item for item in (*sum(macros.values(), []), *sum(functions.values(), []))}
    place = 0
    for item in items_of(nodes):
        if id(item) not in changed:
            continue
        old = "\n".join(item.lines[item.lead :])
        new = _STATIC.sub(SPECIFIER, old, count=1) if _STATIC.search(item.head) else old
        if item.name in functions:
            head = _STATIC.sub(SPECIFIER, item.head, count=1)
            new = f'{head}\n    {SECTION}(".text.{names[item.name]}");\n{new}'
        place = text.index(old, place)
        text = text[:place] + new + text[place + len(old) :]
        place += len(new)
    return text
