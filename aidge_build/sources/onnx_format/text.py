# SPDX-License-Identifier: MIT
"""Text fields of a file as Python strings."""

from __future__ import annotations


def text_of(field: str | bytes) -> str:
    """The string; bytes that are not UTF-8 become visible escapes, so that every name can be printed and stored."""
    return field if isinstance(field, str) else field.decode("utf-8", "backslashreplace")
