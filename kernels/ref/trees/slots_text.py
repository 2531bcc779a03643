# SPDX-License-Identifier: MIT
"""C that fills the slots of a row: keys of features, or ranks of keys."""

from __future__ import annotations

import numpy

from aidge_build.contract.call import Constant
from aidge_build.graph.dtype import DType

from .keys import Keys
from .slots import Slots

_OF_FLOAT = """/* The order of floats as integers; NaN becomes the number that is given for it. */
static {key} aidge_ref_tree_key_{name}(const {real} *value, {key} nan)
{{
    {key} bits;
    (void)memcpy(&bits, value, sizeof bits);
    if (((u{key})bits << 1) > {infinity}) {{
        return nan;
    }}
    return bits ^ (bits < 0 ? {largest} : 0);
}}"""

_STEP = """        case {number}:
            first += first[{last}] < key ? {half} : 0;
            /* fall through */
"""
_STEPS = "".join(_STEP.format(number=step + 2, last=(1 << step) - 1, half=1 << step) for step in range(5, -1, -1))
# The first question leaves a number of limits that is one less than a power of two; each further one halves it.
_RANKS = """/* ranks[slot] = how many limits of the slot lie below the key of its feature; a slot: feature, limits, questions. */
static void {function}(const {real} *input, uint8_t *ranks, const {limit} *limits, const {slot} *slots, int32_t count{nan})
{{
    int32_t i;
    for (i = 0; i < count; i++) {{
        const {key} key = {read};
        const {limit} *first = limits;
        const uint32_t part = slots[1] + 1u - ((1u << slots[2]) >> 1);
        first += first[part - 1u] < key ? part : 0u;
        switch (slots[2]) {{
        default:
            first += first[63] < key ? 64 : 0;
            /* fall through */
{steps}        case 1:
            break;
        }}
        ranks[i] = (uint8_t)(first - limits);
        limits += slots[1];
        slots += 3;
    }}
}}"""

_KEYS = """/* keys[slot] = the key of the slot's feature. */
static void {function}(const {real} *input, {key} *keys, const {slot} *slots, int32_t count, {key} nan)
{{
    int32_t i;
    for (i = 0; i < count; i++) {{
        keys[i] = aidge_ref_tree_key_{name}(input + slots[i], nan);
    }}
}}"""

_NAN = {DType.int32: ("INT32_MIN", "INT32_MAX"), DType.int64: ("INT64_MIN", "INT64_MAX")}


def _key_text(keys: Keys) -> tuple[str, ...]:
    if not keys.is_float:
        return ()
    key, infinity = keys.type, "0xff000000u" if keys.dtype is DType.float32 else "0xffe0000000000000u"
    fields = {"name": keys.dtype.name, "real": keys.dtype.c_type, "infinity": infinity, "largest": _NAN[key][1]}
    return (_OF_FLOAT.format(key=key.c_type, **fields),)


def _read(keys: Keys, nan: str) -> str:
    return f"aidge_ref_tree_key_{keys.dtype.name}(input + slots[0], {nan})" if keys.is_float else "input[slots[0]]"


def _index_type(slots: Slots) -> DType:
    return DType.uint8 if max((one.feature for one in slots.questions), default=0) < 256 else DType.uint16


def _parts(slots: Slots) -> tuple[tuple[int, int, str], ...]:
    """(first slot, end, position of NaN's name) of slots whose NaN lies at one end."""
    high = sum(question.nan_high for question in slots.questions)
    return tuple((first, end, side) for first, end, side in ((0, high, 1), (high, slots.count, 0)) if first < end)


def filled(keys: Keys, slots: Slots) -> tuple[tuple[str, ...], list[str], list[Constant]]:
    """(functions, statements, constants) that fill `slots` of a row `input`; nothing where features are compared themselves."""
    if not slots.count:
        return (), [], []
    index = _index_type(slots)
    if slots.type is DType.uint8 and any(slots.limits):
        return _ranked(keys, slots, index)
    features = Constant("features", numpy.array([one.feature for one in slots.questions], index.numpy))
    function = f"aidge_ref_tree_keys_{keys.dtype.name}_{index.name}"
    fields = {"name": keys.dtype.name, "real": keys.dtype.c_type, "key": keys.type.c_type, "slot": index.c_type}
    lines = [
        f"{function}(input, slots + {first}, features + {first}, {end - first}, {_NAN[keys.type][side]});"
        for first, end, side in _parts(slots)
    ]
    return (*_key_text(keys), _KEYS.format(function=function, **fields)), lines, [features]


def _ranked(keys: Keys, slots: Slots, index: DType) -> tuple[tuple[str, ...], list[str], list[Constant]]:
    limits = Constant("limits", numpy.array([limit for part in slots.limits for limit in part], keys.type.numpy))
    rows = [(one.feature, len(part), len(part).bit_length()) for one, part in zip(slots.questions, slots.limits)]
    features = Constant("features", numpy.array(rows, index.numpy))
    function = f"aidge_ref_tree_ranks_{keys.dtype.name}_{index.name}"
    nan = f", {keys.type.c_type} nan" if keys.is_float else ""
    fields = {"real": keys.dtype.c_type, "limit": keys.type.c_type, "key": keys.type.c_type, "slot": index.c_type}
    text = _RANKS.format(function=function, nan=nan, read=_read(keys, "nan"), steps=_STEPS, **fields)
    lines = []
    for first, end, side in _parts(slots):
        before = sum(map(len, slots.limits[:first]))
        last = f", {_NAN[keys.type][side]}" if keys.is_float else ""
        lines.append(f"{function}(input, slots + {first}, limits + {before}, features + {3 * first}, {end - first}{last});")
    return (*_key_text(keys), text), lines, [features, limits]
