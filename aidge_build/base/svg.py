# SPDX-License-Identifier: MIT
"""Drawings as SVG: elements, escaped text, marks of an axis, and a drawing as a file of its own."""

from __future__ import annotations

from aidge_build.base.render import escaped


def element(name: str, /, *inside: str, **attributes: object) -> str:
    """An element around parts that are markup. A float has one digit after its point; `class_` is class, `text_anchor` is
    text-anchor. Values of attributes hold no markup."""
    words = [
        f' {key.rstrip("_").replace("_", "-")}="{f"{value:.1f}" if isinstance(value, float) else value}"'
        for key, value in attributes.items()
    ]
    return f"<{name}{''.join(words)}>{''.join(inside)}</{name}>" if inside else f"<{name}{''.join(words)}/>"


def text(words: str, x: object, y: object, **attributes: object) -> str:
    """Text from anywhere at a place."""
    return element("text", escaped(words), **attributes, x=x, y=y)


def tip(words: str) -> str:
    """The part of an element that a browser shows where the element is pointed at."""
    return element("title", escaped(words))


def mark(y: float, left: float, right: float, words: str) -> str:
    """A mark of the axis at the left: a line across the drawing, and its label."""
    line = element("line", class_="grid", x1=left, x2=right, y1=y, y2=y)
    return line + text(words, left - 6, y + 4, class_="axis", text_anchor="end")


def lowered(by: float, *parts: str) -> str:
    """The parts as a group, moved down."""
    return element("g", *parts, transform=f"translate(0 {by:.0f})")


def file(width: float, height: float, /, *parts: str, **attributes: object) -> str:
    """A file of its own, with a line for each part."""
    head = {"xmlns": "http://www.w3.org/2000/svg", "viewBox": f"0 0 {width:.0f} {height:.0f}"}
    return element("svg", "\n", "\n".join(parts), "\n", **head, **attributes) + "\n"
