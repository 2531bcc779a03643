# SPDX-License-Identifier: MIT
"""Leaves out of the kernels' C what no layer calls: functions, constants and macros that are the file's own.

An item stays if it does not surely define one static name, and everything that it names stays, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from aidge_build.build.emit.definitions import Item, items_of, parsed


def without_unused(texts: Sequence[str], called: Iterable[str]) -> list[str]:
    """Returns the texts in the same order, without items that the words in `called` do not reach; "" for an empty text."""
    files = [parsed(text) for text in texts]
    items = [list(items_of(nodes)) for nodes in files]
    everything = [item for of_file in items for item in of_file]
    if any("##" in line for item in everything for line in item.lines):  # names that are put together are not seen
        return list(texts)
    _forget_names_that_are_not_static(everything)
    _keep_what_is_reached(everything, called)
    return [
        _text(_printed(nodes)) if any(item.kept and not item.is_comment for item in of_file) else ""
        for nodes, of_file in zip(files, items, strict=True)
    ]


def _forget_names_that_are_not_static(items: Sequence[Item]) -> None:
    """Keeps items that other files may use. A macro counts as `static` if each of its definitions begins with `static`."""
    starts: dict[str, set[str]] = {}
    for item in items:
        if item.stands_for is not None:
            starts.setdefault(item.name, set()).add(item.stands_for)
    static = {"static", *(name for name, words in starts.items() if words == {"static"})}
    for item in items:
        if item.stands_for is None and not item.specifiers & static:
            item.name = ""


def _keep_what_is_reached(items: Sequence[Item], called: Iterable[str]) -> None:
    named: dict[str, list[Item]] = {}
    for item in items:
        named.setdefault(item.name, []).append(item)
    new, seen = {"", *called}, set()
    while new:
        seen |= new
        reached = [item for word in sorted(new) for item in named.get(word, ())]
        new = set()
        for item in reached:
            item.kept = True
            new |= item.words
            for group in item.around:
                group.kept = True
                new.update(group.words())
        new -= seen


def _printed(nodes: Sequence) -> Iterator[str]:
    for node in nodes:
        if not node.kept:
            continue
        if isinstance(node, Item):
            yield from node.lines
            continue
        yield from node.lead
        branches = [(directive, list(_printed(inside))) for directive, inside in node.branches]
        while not any(line.strip() for line in branches[-1][1]):
            branches.pop()
        for directive, inside in branches:
            yield from (*directive, *inside)
        yield node.end


def _text(lines: Iterable[str]) -> str:
    """Returns the lines as text, without the gaps of removed lines."""
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip("\n")
