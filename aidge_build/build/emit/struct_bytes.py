# SPDX-License-Identifier: MIT
"""The bytes of constants that kernels' C declares, as compilers for these targets lay them out: structs, and tables of numbers.

Fields are whole numbers of known widths, arrays of them, and structs of them; each begins at a multiple of its width, and bytes
between fields are 0.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy

from aidge_build.base.errors import AidgeError
from aidge_build.build.emit.definitions import without_comments

_TYPEDEF = re.compile(r"typedef\s+struct(?:\s+\w+)?\s*\{([^{}]*)\}\s*(\w+)\s*;")
_FIELD = re.compile(r"(?:const\s+)?(\w+)\s+(.+)")
_NAME = re.compile(r"\w+\s*(?:\[\s*(\d+)\s*\])?")
_TABLE = re.compile(r"^static const (float|u?int(?:8|16|32|64)_t) (\w+)\[\d*\] = \{([^{};]*)\};", re.MULTILINE)
_WHOLE = re.compile(r"u?int(8|16|32|64)_t")
_NUMBER = re.compile(r"\(-(\d+)[uUlL]* - 1\)|(-?\d+)")


@dataclass(frozen=True)
class _Layout:
    """A type: its bytes, its alignment, and offset and bytes of each number in it. `members` are the numbers of each field of a
    struct, by the position of the first one."""

    size: int
    alignment: int
    numbers: tuple[tuple[int, int], ...]
    members: Mapping[int, int]


def structs_in(texts: Iterable[str]) -> dict[str, str]:
    """Returns the fields of each struct that the C texts declare, by the name of its type."""
    return {name: fields for text in texts for fields, name in _TYPEDEF.findall(without_comments(text))}


def numbers_in(text: str) -> list[int]:
    """Returns the numbers of an initialiser."""
    return [-int(least) - 1 if least else int(number) for least, number in _NUMBER.findall(text)]


def tables_in(texts: Iterable[str]) -> dict[str, bytes]:
    """Returns the bytes of each table of numbers that the C texts define outside of functions, by its name."""
    return {name: _numbers_of(kind, numbers) for text in texts for kind, name, numbers in _TABLE.findall(without_comments(text))}


def _numbers_of(kind: str, text: str) -> bytes:
    if kind == "float":
        return numpy.array([float(number.rstrip("f\n ")) for number in text.split(",") if number.strip()], "<f4").tobytes()
    return numpy.array(numbers_in(text), numpy.dtype(kind.removesuffix("_t")).newbyteorder("<")).tobytes()


def bytes_of_struct(structs: Mapping[str, str], kind: str, values: Sequence[str]) -> bytes:
    """Returns the bytes of a struct; each of the `values` is a number, or the numbers of a field in braces. AidgeError (EMIT) for
    a struct that cannot be read."""
    layout = _layout(structs, kind)
    data, at = bytearray(layout.size), 0
    for value in values:
        room, numbers = layout.members.get(at, 0) if value.startswith("{") else 1, numbers_in(value)
        if len(numbers) > room or at + room > len(layout.numbers):
            raise _unreadable(kind)
        for (offset, size), number in zip(layout.numbers[at : at + room], numbers):
            data[offset : offset + size] = (number % (1 << 8 * size)).to_bytes(size, "little")
        at += room
    return bytes(data)


def _layout(structs: Mapping[str, str], kind: str) -> _Layout:
    """Returns the layout of a type by the rules of the ABIs of Arm and RISC-V."""
    if whole := _WHOLE.fullmatch(kind):
        size = int(whole[1]) // 8
        return _Layout(size, size, ((0, size),), {})
    if kind not in structs:
        raise _unreadable(kind)
    size, alignment, numbers, members = 0, 1, list[tuple[int, int]](), dict[int, int]()
    for field, count in _fields(structs[kind], kind):
        member = _layout(structs, field)
        size += -size % member.alignment
        alignment = max(alignment, member.alignment)
        members[len(numbers)] = count * len(member.numbers)
        for _ in range(count):
            numbers += [(size + offset, width) for offset, width in member.numbers]
            size += member.size
    return _Layout(size + -size % alignment, alignment, tuple(numbers), members)


def _fields(text: str, kind: str) -> Iterator[tuple[str, int]]:
    """Yields the type of each field, and the elements of an array, or 1."""
    for declaration in filter(None, (" ".join(part.split()) for part in text.split(";"))):
        field = _FIELD.fullmatch(declaration)
        for name in field[2].split(",") if field else ("",):
            match = _NAME.fullmatch(name.strip())
            if field is None or match is None:
                raise _unreadable(kind)
            yield field[1], int(match[1] or 1)


def _unreadable(kind: str) -> AidgeError:
    return AidgeError(
        f"the bytes of a constant of type '{kind}' are not known",
        where="--integrity",
        hint="a struct needs a typedef in the kernel's C, with fields of whole numbers (int32_t), arrays or structs of them",
        code="EMIT",
    )
