# SPDX-License-Identifier: MIT
"""Seeded damage: to bytes, to the fields of a protobuf message, to JSON and to TOML. The same seed gives the same damage."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from random import Random

INTEGERS = (
    0,
    1,
    2,
    3,
    4,
    7,
    16,
    127,
    128,
    255,
    256,
    65535,
    65536,
    1 << 20,
    (1 << 31) - 1,
    1 << 31,
    1 << 32,
    1 << 38,
    (1 << 63) - 1,
)
FLOATS = (0.0, -0.0, 1.0, -1.0, 1e-45, 1e-38, 3e38, float("inf"), float("-inf"), float("nan"), 0.5, 1e-7, 255.0)
TEXTS = ("", "x", "y", "a\x1b[2J", "\n", "\0", "é", "ai.onnx.ml", "SAME_UPPER", "reflect", "../x", "n" * 300, "-1", "int", "NaN")
DEEP = 20_000


def damaged_bytes(data: bytes, chance: Random) -> bytes:
    """Some bits flipped, bytes replaced, a piece cut out, doubled, moved or zeroed, or an end that is missing."""
    found = bytearray(data)
    for _ in range(chance.choice((1, 1, 1, 2, 4, 16))):
        if not found:
            break
        at = chance.randrange(len(found))
        size = min(len(found) - at, chance.choice((1, 2, 4, 8, 64)))
        kind = chance.randrange(7)
        if kind == 0:
            found[at] ^= 1 << chance.randrange(8)
        elif kind == 1:
            found[at] = chance.choice((0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256)))
        elif kind == 2:
            del found[at : at + size]
        elif kind == 3:
            found[at:at] = found[at : at + size]
        elif kind == 4:
            found[at : at + size] = chance.choice((b"\0", b"\xff", b"\x80")) * size
        elif kind == 5:
            other = chance.randrange(len(found))
            found[at : at + size] = found[other : other + size]
        else:
            number = chance.choice(INTEGERS)
            found[at : at + 4] = (number & 0xFFFFFFFF).to_bytes(4, "little")
    return bytes(found[: chance.randrange(len(found))]) if found and chance.random() < 0.05 else bytes(found)


def damaged_message(message, chance: Random) -> None:
    """One to four fields of a protobuf message, or of a message inside, get other values, a copy, or none."""
    for _ in range(chance.choice((1, 1, 1, 2, 3, 4))):
        _damage_field(message, chance)


def _damage_field(message, chance: Random) -> None:
    fields = message.ListFields()
    while fields:
        field, value = chance.choice(fields)
        repeated = field.is_repeated
        if field.message_type is None:
            return _damage_value(message, field, value, chance)
        if repeated and chance.random() < 0.15:
            return _damage_list(value, chance)
        if chance.random() < 0.05:
            return message.ClearField(field.name)
        message = chance.choice(value) if repeated else value
        fields = message.ListFields()
    _add_field(message, chance)


def _add_field(message, chance: Random) -> None:
    field = chance.choice(message.DESCRIPTOR.fields)
    if field.message_type is None:
        made = _other(field, None, chance)
        if field.is_repeated:
            getattr(message, field.name).append(made)
        else:
            setattr(message, field.name, made)


def _damage_list(values, chance: Random) -> None:
    at = chance.randrange(len(values))
    kind = chance.randrange(3)
    if kind == 0:
        del values[at]
    elif kind == 1:
        values.add().CopyFrom(values[chance.randrange(len(values) - 1)] if len(values) > 1 else values[at])
    else:
        one, other = type(values[at])(), type(values[at])()
        second = chance.randrange(len(values))
        one.CopyFrom(values[at])
        other.CopyFrom(values[second])
        values[at].CopyFrom(other)
        values[second].CopyFrom(one)


def _damage_value(message, field, value, chance: Random) -> None:
    if not field.is_repeated:
        if chance.random() < 0.1:
            return message.ClearField(field.name)
        return setattr(message, field.name, _other(field, value, chance))
    at, kind = chance.randrange(len(value)), chance.randrange(5)
    if kind == 0:
        del value[at]
    elif kind == 1:
        value.append(value[at])
    elif kind == 2:
        other = chance.randrange(len(value))
        value[at], value[other] = value[other], value[at]
    else:
        value[at] = _other(field, value[at], chance)


def _other_text(value: str | bytes, is_bytes: bool, chance: Random) -> str | bytes:
    if value and is_bytes and chance.random() < 0.7:
        return damaged_bytes(value, chance)
    text = chance.choice((*TEXTS, *_words))
    return text.encode() if is_bytes else text


def _other(field, value, chance: Random):
    """Another value of the field's type; text is preferably some that the model holds already."""
    if field.enum_type is not None:
        return chance.choice(field.enum_type.values).number
    if field.cpp_type in (field.CPPTYPE_FLOAT, field.CPPTYPE_DOUBLE):
        return chance.choice((*FLOATS, (value or 0.0) * 2, -(value or 0.0)))
    if field.cpp_type == field.CPPTYPE_BOOL:
        return not value
    if field.cpp_type == field.CPPTYPE_STRING:
        return _other_text(value, field.type == field.TYPE_BYTES, chance)
    number = chance.choice((*INTEGERS, *(-number for number in INTEGERS), (value or 0) + 1, (value or 0) - 1))
    bits = 64 if field.cpp_type in (field.CPPTYPE_INT64, field.CPPTYPE_UINT64) else 32
    low, high = (
        (-(1 << bits - 1), 1 << bits - 1) if field.cpp_type in (field.CPPTYPE_INT32, field.CPPTYPE_INT64) else (0, 1 << bits)
    )
    return low + (number - low) % (high - low)


_words: list[str] = []  # names in the message that is being damaged


def use_words(words: Sequence[str]) -> None:
    """What text of a damaged message may become: names that it holds elsewhere make other graphs, not only broken ones."""
    _words[:] = words


def damaged_json(data: bytes, chance: Random) -> bytes:
    """One to three values inside get another type, another number, or are missing; or the text itself is damaged."""
    if chance.random() < 0.3:
        return damaged_bytes(data, chance)
    root = json.loads(data)
    for _ in range(chance.choice((1, 1, 2, 3))):
        places = list(_places(root))
        holder, key = chance.choice(places)
        if chance.random() < 0.15 and isinstance(holder, dict):
            del holder[key]
        else:
            holder[key] = _json_value(holder[key], chance)
    text = json.dumps(root)
    if chance.random() < 0.03:
        text = text.replace("0", chance.choice(("[" * DEEP, '{"a":' * DEEP, "9" * 5000, "1e999")), 1)
    return text.encode()


def _places(value):
    if isinstance(value, dict | list):
        for key in list(value) if isinstance(value, dict) else range(len(value)):
            yield value, key
            yield from _places(value[key])


def _json_value(value, chance: Random):
    choices: tuple[Callable[[], object], ...] = (
        lambda: None,
        lambda: chance.choice(INTEGERS) * chance.choice((1, -1)),
        lambda: chance.choice(FLOATS),
        lambda: chance.choice(TEXTS),
        lambda: [],
        lambda: {},
        lambda: [value, value],
        lambda: {"a": value},
        lambda: True,
        lambda: value + 1 if isinstance(value, int) else "x",
    )
    return chance.choice(choices)()


def damaged_toml(data: bytes, chance: Random) -> bytes:
    """One to three values or lines of a TOML text are replaced, doubled or left out; or its bytes are damaged."""
    if chance.random() < 0.3:
        return damaged_bytes(data, chance)
    lines = data.decode().splitlines()
    for _ in range(chance.choice((1, 1, 2, 3))):
        at, kind = chance.randrange(len(lines)), chance.randrange(4)
        key, equals, _ = lines[at].partition("=")
        if kind == 0:
            del lines[at]
        elif kind == 1:
            lines.insert(chance.randrange(len(lines) + 1), lines[at])
        elif equals:
            lines[at] = f"{key}= {_toml_value(chance)}"
        if not lines:
            break
    return "\n".join(lines).encode()


def _toml_value(chance: Random) -> str:
    numbers = [str(number * sign) for number in INTEGERS for sign in (1, -1)]
    plain = (
        "true",
        "[]",
        "{}",
        "[1, 2]",
        '["a"]',
        '[["a"]]',
        "{a = 1}",
        "nan",
        "inf",
        "1.5",
        "1979-05-27",
        "[" * 3000 + "]" * 3000,
    )
    texts = [json.dumps(text, ensure_ascii=False) for text in TEXTS if text.isprintable()]
    return chance.choice([*numbers, *plain, *texts])
