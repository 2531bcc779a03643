# SPDX-License-Identifier: MIT
"""A FlatBuffers file read field by field; every offset is checked before it is followed.

The package flatbuffers knows the encoding of tables and numbers and follows every offset; untrusted files may point
anywhere. Source of the encoding: the page "Internals" of the FlatBuffers project.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import flatbuffers.number_types as numbers
import flatbuffers.table
import numpy

from aidge_build.base.errors import AidgeError

_NUMBERS: dict[str, Any] = {
    "bool": numbers.BoolFlags,
    "int8": numbers.Int8Flags,
    "uint8": numbers.Uint8Flags,
    "int32": numbers.Int32Flags,
    "uint32": numbers.Uint32Flags,
    "uint64": numbers.Uint64Flags,
    "float32": numbers.Float32Flags,
}
_OFFSET = numbers.UOffsetTFlags.bytewidth
SHARED = 16  # times its size that a file may be read: converters share a few short vectors
_VTABLE_HEAD = 2 * numbers.VOffsetTFlags.bytewidth


@dataclass(frozen=True)
class Field:
    """A field of a table: its number in the schema, the type of its number or of its elements, its value where it is absent."""

    number: int
    dtype: str
    default: int | float | bool = 0
    several: bool = False  # a vector of such numbers


class File:
    """The bytes, and how many may still be read: a vector that many tables share counts each time.

    So what is read is at most a few times as large as the file, however its offsets are tangled.
    """

    def __init__(self, data: bytes):
        self.data = data
        self._left = SHARED * len(data)

    def within(self, position: int, size: int) -> int:
        """The position, after a check that so many bytes follow it."""
        if not 0 <= position <= len(self.data) - size:
            raise AidgeError(
                f"the file is damaged: it points at the bytes {position:,} to {position + size:,} of {len(self.data):,}",
                code="MODEL_FILE",
                hint="was it copied as text, or not to its end?",
            )
        return position

    def spend(self, size: int) -> None:
        """Counts bytes that are read."""
        self._left -= size
        if self._left < 0:
            raise AidgeError("the file is damaged: many of its tables share one long vector", code="MODEL_FILE")


class Table:
    """A table of the file. All methods raise AidgeError (code MODEL_FILE) where the file leads outside of itself."""

    def __init__(self, file: File, position: int):
        self._file = file
        self._table = flatbuffers.table.Table(file.data, file.within(position, _OFFSET))
        vtable = position - self._number("int32", position)
        file.within(vtable, _VTABLE_HEAD)
        file.within(vtable, max(_VTABLE_HEAD, self._table.Get(numbers.VOffsetTFlags, vtable)))
        file.spend(_OFFSET)

    def value(self, field: Field) -> Any:
        """A number, or a tuple of numbers where the field has several."""
        if field.several:
            return tuple(self.array(field).tolist())
        place = self._place(field.number)
        return field.default if place is None else self._number(field.dtype, place)

    def array(self, field: Field) -> numpy.ndarray:
        """The numbers of a vector; none where the field is absent."""
        dtype = numpy.dtype(field.dtype).newbyteorder("<")
        start, count = self._vector(field.number, dtype.itemsize)
        self._file.spend(count * dtype.itemsize)
        return numpy.frombuffer(self._file.data, dtype, count, start)

    def raw(self, number: int) -> memoryview:
        """The bytes of a vector of bytes, not copied."""
        start, count = self._vector(number, 1)
        return memoryview(self._file.data)[start : start + count]

    def text(self, number: int) -> str:
        """Returns a string; bytes that are no UTF-8 are replaced."""
        found = self.raw(number)
        self._file.spend(len(found))
        return bytes(found).decode("utf-8", "replace")

    def table(self, number: int) -> Table | None:
        """Returns the table of a field; None if the field is absent."""
        place = self._place(number)
        return None if place is None else Table(self._file, self._followed(place))

    def tables(self, number: int, limit: int, what: str) -> list[Table]:
        """The tables of a vector; more than `limit` are refused."""
        start, count = self._vector(number, _OFFSET)
        if count > limit:
            raise AidgeError(
                f"the model has {count:,} {what}, the limit is {limit:,}",
                code="MODEL",
                hint="this is too large for firmware; was a loop unrolled?",
            )
        return [Table(self._file, self._followed(start + index * _OFFSET)) for index in range(count)]

    def _place(self, number: int) -> int | None:
        """Returns the byte at which the field begins; None if the table does not have it."""
        offset = self._table.Offset(_VTABLE_HEAD + numbers.VOffsetTFlags.bytewidth * number)
        return self._table.Pos + offset if offset else None

    def _vector(self, number: int, width: int) -> tuple[int, int]:
        """Returns the byte at which the elements begin, and the number of elements."""
        place = self._place(number)
        if place is None:
            return 0, 0
        head = self._followed(place)
        count = self._number("uint32", head)
        return self._file.within(head + _OFFSET, count * width), count

    def _followed(self, place: int) -> int:
        return place + self._number("uint32", place)

    def _number(self, dtype: str, place: int) -> Any:
        kind = _NUMBERS[dtype]
        return self._table.Get(kind, self._file.within(place, kind.bytewidth))


def root(data: bytes) -> Table:
    """The table that the file begins with."""
    file = File(data)
    file.within(0, 2 * _OFFSET)
    return Table(file, int.from_bytes(data[:_OFFSET], "little"))
