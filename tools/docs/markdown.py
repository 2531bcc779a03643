# SPDX-License-Identifier: MIT
"""Words of the code as Markdown."""

from __future__ import annotations


def cell(text: str) -> str:
    """Text in a table: one line, and no bar that would end the cell; a bracket is no tag, and an underscore no emphasis."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")


def code(text: str) -> str:
    return f"`{text.replace('|', chr(92) + '|')}`" if text else ""
