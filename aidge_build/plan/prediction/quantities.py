# SPDX-License-Identifier: MIT
"""The numbers of a call on which its instructions may depend: sizes, rounded quotients, words of the C function."""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import prod
from typing import NamedTuple

from aidge_build.plan.prediction.described import Described

_NUMBER, _TYPE = re.compile(r"_[a-z]?\d"), re.compile(r"_(?:int8|uint8|int16|float32)(?=_|$)")  # in a C function's name
_WORD = re.compile(r"[a-z]{3,}")
_BLOCK = re.compile(r"(\d+) (pixel|row|value|channel|output)s?(?: x (\d+) (?:channel|output)s?)?")
_SHARE = re.compile(r"integer in (\d+) of (\d+)")
_DIVISORS = (2, 4, 8, 16)


def family_of(described: Described) -> str:
    """Returns the kernel, and the name of the C function up to its type or its first number: calls with equal results cost
    alike."""
    return f"{described.kernel}/{_start(described.function)}"


def words_of(described: Described) -> frozenset[str]:
    """Returns the words in the rest of the function's name: variants of the function."""
    return frozenset(_WORD.findall(described.function[len(_start(described.function)) :]))


def _start(function: str) -> str:
    """Returns the name up to the type, or up to the first number if it comes before the type."""
    number, kind = _NUMBER.search(function), _TYPE.search(function)
    ends = [match.start() for match in (number,) if match] + [match.end() for match in (kind,) if match]
    return function[: min(ends, default=len(function))]


def quantities(described: Described) -> dict[str, float]:
    """Returns all numbers by name; `one` is 1, `is_WORD` 1 for each word, arguments have the names of the C struct's fields."""
    found = {"one": 1.0, **_sizes(described)}
    found |= {f"of_{name.replace('.', '_')}": float(number) for name, number in described.arguments.items()}
    found |= {f"work_{name}": float(number) for name, number in described.work.items()}
    found |= {f"is_{word}": 1.0 for word in words_of(described)}
    return found


class _Extents(NamedTuple):
    """The axes of a layer's first output and first input; 1 for an axis that a layer without an image does not have."""

    channels: int
    depth: int
    width: int = 1
    batches: int = 1
    source_lines: int = 1
    source_width: int = 1


def _extents(described: Described) -> _Extents:
    output = described.outputs[0] if described.outputs else (1,)
    source = described.inputs[0] if described.inputs else (1,)
    if len(output) > 2 and described.operator not in ("FC", "MatMul"):
        depth = source[1] if len(source) > 1 else source[-1]
        return _Extents(output[1], depth, output[-1], output[0], prod(source[:1] + source[2:-1]), source[-1])
    return _Extents(output[-1] if output else 1, source[-1] if source else 1)


def _sizes(described: Described) -> dict[str, float]:
    of = _extents(described)
    elements = sum(map(prod, described.outputs))
    positions = elements // max(1, of.channels)
    kernel = [described.attributes.get(f"window.kernel{axis}", 0) for axis in range(3)]
    kernel = [size for size in kernel if size] or [1]
    terms = described.macs // max(1, elements)
    depth = max(1, terms // prod(kernel)) if described.macs else of.depth
    pixels, together, values = _block(described)
    found = {
        "elements": elements,
        "inputs": sum(map(prod, described.inputs)),
        "positions": positions,
        "channels": of.channels,
        "lines": positions // max(1, of.width),
        "width": of.width,
        "depth": depth,
        "source_lines": of.source_lines,
        "source_width": of.source_width,
        "taps": prod(kernel),
        "kernel_height": kernel[0],
        "kernel_width": kernel[-1],
        "stride_width": described.attributes.get(f"window.strides{len(kernel) - 1}", 1),
        "kernel_pairs": -(-kernel[-1] // 2),
        "kernel_halves": kernel[-1] // 2 + 1,
        "batches": of.batches,
        "terms": terms,
        "macs": described.macs,
        "constants": sum(described.constants.values()),
        "groups": -(-of.channels // together),
        "blocks": positions // pixels,
        "rest": positions % pixels,
        "runs": -(-positions // pixels),
        "line_runs": positions // max(1, of.width) * -(-of.width // pixels),
        "line_blocks": positions // max(1, of.width) * (of.width // pixels),
        "line_rest": positions // max(1, of.width) * (of.width % pixels),
        "value_blocks": elements // values,
        "value_rest": elements % values,
        "row_blocks": positions * (of.channels // values),
        "row_rest": positions * (of.channels % values),
        "float_share": _float_share(described.facts),
    }
    for divisor in _DIVISORS:
        for name in ("depth", "terms", "channels"):
            found[f"{name}_by_{divisor}"] = -(-found[name] // divisor)
        found[f"row_by_{divisor}"] = -(-kernel[-1] * depth // divisor)
    return {name: float(number) for name, number in found.items()}


def _block(described: Described) -> tuple[int, int, int]:
    """Returns the pixels, channels and values that are computed together, as far as the kernel states them; otherwise 1."""
    match = _BLOCK.match(described.facts.get("block", ""))
    if match is None:
        return 1, 1, 1
    first, second = int(match[1]), int(match[3] or 1)
    if match[2] == "value":
        return 1, 1, first
    return (first, second, 1) if match[2] in ("pixel", "row") else (1, first, 1)


def _float_share(facts: Mapping[str, str]) -> float:
    """Returns the share of groups of channels with an epilogue in float, 0 to 1."""
    text = facts.get("epilogue", "")
    match = _SHARE.match(text)
    return 1 - int(match[1]) / int(match[2]) if match else float(text == "float")


def value_of(term: str, found: Mapping[str, float]) -> float:
    """Returns the product of the quantities that the term names; a quantity that a call does not have is 0."""
    return prod(found.get(name, 0.0) for name in term.split("*"))
