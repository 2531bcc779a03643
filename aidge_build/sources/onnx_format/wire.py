# SPDX-License-Identifier: MIT
"""A walk over protobuf's wire format that refuses what a parser should not see: cut files, deep nesting, other files.

Source of the encoding: protobuf.dev/programming-guides/encoding. The walk keeps its own stack, so that nesting cannot
exhaust Python's, and copies nothing.
"""

from __future__ import annotations

from aidge_build.base.errors import AidgeError

DEEPEST = 48  # a flat model nests 7 deep; every sub-graph adds 3
LARGEST_BYTES = (1 << 31) - 1  # protobuf's own limit for one message

_SIZE_OF_FIXED = {1: 8, 5: 4}
_VARINT, _LENGTH = 0, 2


def check_wire(data: bytes, descriptor) -> None:
    """Refuses bytes that are not a complete message of the protobuf type `descriptor`."""
    if len(data) > LARGEST_BYTES:
        raise AidgeError(
            f"the file has {len(data)} bytes; an ONNX file has at most {LARGEST_BYTES}",
            code="MODEL_FILE",
            hint="store the weights as external data",
        )
    waiting = [(0, len(data), descriptor, 1)]
    while waiting:
        position, end, message, depth = waiting.pop()
        if depth > DEEPEST:
            raise AidgeError(f"the messages of the file are nested more than {DEEPEST} deep", code="MODEL_FILE")
        while position < end:
            tag, position = _varint(data, position, end)
            number, kind = tag >> 3, tag & 7
            if number == 0:
                raise _not_a_model(f"field number 0 before byte {position}")
            if kind == _VARINT:
                _, position = _varint(data, position, end)
                continue
            if kind == _LENGTH:
                size, position = _varint(data, position, end)
            elif kind in _SIZE_OF_FIXED:
                size = _SIZE_OF_FIXED[kind]
            else:
                raise _not_a_model(f"wire type {kind} before byte {position}")
            if size > end - position:
                raise _truncated(position, size, end - position)
            field = message.fields_by_number.get(number)
            if kind == _LENGTH and field is not None and field.message_type is not None:
                waiting.append((position, position + size, field.message_type, depth + 1))
            position += size


def _varint(data: bytes, position: int, end: int) -> tuple[int, int]:
    """The number at `position` and where the next field starts."""
    value = shift = 0
    while position < end:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
        if shift > 63:
            raise _not_a_model(f"a number of more than 10 bytes before byte {position}")
    raise _truncated(position, 1, 0)


def _truncated(position: int, wanted: int, left: int) -> AidgeError:
    return AidgeError(
        f"the file is truncated or damaged: at byte {position} it announces {wanted} bytes, {left} are left",
        code="MODEL_FILE",
        hint="copy or download the model again",
    )


def _not_a_model(why: str) -> AidgeError:
    return AidgeError(f"not an ONNX model ({why})", code="MODEL_FILE")
