# SPDX-License-Identifier: MIT
"""Untrusted files as bytes and values: a file that is irregular, too large, or too deep is refused before it costs anything."""

from __future__ import annotations

import json
import os
import stat
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import NoneType
from typing import BinaryIO

from aidge_build.base.errors import AidgeError

LARGEST_TEXT_BYTES = 64 << 20  # of a JSON or TOML file
HEAD_BYTES = 1 << 16  # of a file that is looked at before the rest is read


def read_regular(path: Path, limit: int, code: str = "INPUT", look_at: Callable[[bytes, bytes], None] | None = None) -> bytes:
    """The bytes of a regular file of at most `limit` bytes; anything else is refused before it is read.

    `look_at` is given the first and the last bytes of a file that is larger than `HEAD_BYTES`, and may refuse it.
    """
    with open_regular(path, code) as stream:
        size = os.fstat(stream.fileno()).st_size
        if look_at is not None and size > HEAD_BYTES:
            _look(stream, size, look_at, path)
        if size > limit:
            raise AidgeError(
                f"the file has {size:,} bytes, the limit is {limit:,}",
                where=str(path),
                code=code,
                hint="is it the right file? So much fits no microcontroller",
            )
        return stream.read()


@contextmanager
def open_regular(path: Path, code: str = "INPUT") -> Iterator[BinaryIO]:
    """The stream of a regular file; a pipe or device is refused, and never waited for."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        with open(descriptor, "rb") as stream:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise AidgeError(
                    "this is not a regular file", where=str(path), code=code, hint="name a file, no folder or device"
                )
            yield stream
    except OSError as error:
        raise AidgeError(
            f"cannot be read: {error.strerror}",
            where=str(path),
            code=code,
            hint="check the path" if isinstance(error, FileNotFoundError) else "check what it is, and its permissions",
        ) from error


def _look(stream, size: int, look_at: Callable[[bytes, bytes], None], path: Path) -> None:
    head = stream.read(HEAD_BYTES)
    stream.seek(size - HEAD_BYTES)
    tail = stream.read()
    stream.seek(0)
    try:
        look_at(head, tail)
    except AidgeError as error:
        raise error.within(str(path))


def read_json(path: Path, shape: object, code: str, hint: str) -> dict:
    """The JSON object in a file; AidgeError where it is none, or has not this shape (`require_shape`)."""
    value = json_of(read_regular(path, LARGEST_TEXT_BYTES, code), str(path), code, hint)
    require_shape(value, shape, str(path), code, hint)
    return value


def json_of(data: bytes, where: str, code: str, hint: str):
    """The value of a JSON text."""
    try:
        return json.loads(data)
    except RecursionError:
        raise AidgeError("is JSON that is nested too deep", where=where, hint=hint, code=code) from None
    except ValueError as error:
        raise AidgeError(f"is not JSON ({error})", where=where, hint=hint, code=code) from error


def toml_of(data: bytes, where: str, code: str) -> dict:
    """The tables of a TOML text."""
    hint = "toml.io describes the format"
    try:
        return tomllib.loads(data.decode())
    except RecursionError:
        raise AidgeError("is TOML that is nested too deep", where=where, hint=hint, code=code) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, ValueError) as error:
        raise AidgeError(f"not a TOML file: {error}", where=where, hint=hint, code=code) from error


def require_shape(value: object, shape: object, where: str, code: str, hint: str) -> None:
    """Refuses a value without the `shape`: a type or a tuple of types (bool is no int); [shape] of all items of a list;
    {key: shape} of the keys of an object, where "key?" may be absent, and others may be there."""
    wrong = _misfit(value, shape, "")
    if wrong:
        raise AidgeError(wrong, where=where, code=code, hint=hint)


def fits(value: object, shape: object) -> bool:
    """Whether a value has the `shape`."""
    return not _misfit(value, shape, "")


def _misfit(value: object, shape: object, at: str) -> str:
    """Returns a text about the first part of a value with another shape; "" if there is none."""
    if isinstance(shape, Mapping):
        return _misfit_of_table(value, shape, at)
    if isinstance(shape, list):
        if not isinstance(value, list):
            return f"{at or 'the whole'} is {_shown(value)}, wants a list"
        return next(filter(None, (_misfit(item, shape[0], f"{at}[{index}]") for index, item in enumerate(value))), "")
    types = shape if isinstance(shape, tuple) else (shape,)
    if type(value) in types:
        return ""
    return f"{at or 'the whole'} is {_shown(value)}, wants {' or '.join(_NAMES[kind] for kind in types)}"


def _misfit_of_table(value: object, shape: Mapping[str, object], at: str) -> str:
    if not isinstance(value, dict):
        return f"{at or 'the whole'} is {_shown(value)}, wants a table"
    for key, inner in shape.items():
        name = key.removesuffix("?")
        place = f"{at}.{name}" if at else name
        if name not in value and not key.endswith("?"):
            return f"has no '{place}'"
        wrong = _misfit(value[name], inner, place) if name in value else ""
        if wrong:
            return wrong
    return ""


_NAMES = {int: "an integer", float: "a number", str: "text", bool: "true or false", dict: "a table", NoneType: "nothing"}


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
