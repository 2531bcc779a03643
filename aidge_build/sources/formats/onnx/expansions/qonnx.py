# SPDX-License-Identifier: MIT
"""QONNX: quantizers of any bit width (Brevitas, QKeras) as QuantizeLinear and DequantizeLinear of 8 or 16 bits, clamped.

Stored integers equal the file's integers, bit for bit. If these two operators cannot express the quantizer (another rounding, a
zero point, scales along several axes), it is written in floating point, like its definition. Source: the operators Quant,
BipolarQuant and Trunc of the package qonnx.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy

from aidge_build.operators.base import require
from aidge_build.sources.formats.onnx.expansion import Draft, expands
from aidge_build.sources.formats.onnx.expansions.microsoft import like

_DOMAINS = ("qonnx.custom_op.general", "onnx.brevitas", "finn.custom_op.general", "finn.dev")
_MOST_BITS = 24  # integers of more bits are no float32


def _names(*types: str) -> tuple[str, ...]:
    return tuple(f"{domain}::{kind}" for domain in _DOMAINS for kind in types)


@dataclass(frozen=True)
class _Grid:
    """(k - zero_point) * scale for the integers k from low to high."""

    scale: numpy.ndarray
    zero_point: numpy.ndarray
    low: int
    high: int
    rounding: str

    @property
    def bipolar(self) -> bool:
        """Whether the only two values are -scale and scale."""
        return (self.low, self.high) == (-1, 1) and self.rounding == "BIPOLAR"

    def stored(self, values: numpy.ndarray) -> numpy.ndarray:
        """The integers of these values, in float32 as the definition computes them."""
        levels = values / self.scale + self.zero_point
        if self.bipolar:
            return numpy.where(levels >= 0, numpy.float32(1), numpy.float32(-1))
        return _ROUNDINGS[self.rounding](numpy.clip(levels, numpy.float32(self.low), numpy.float32(self.high)))

    def dtype(self) -> str:
        """The narrowest type that holds the integers."""
        kinds = [kind for kind in ("int8", "uint8", "int16", "int32") if _holds(kind, self.low, self.high)]
        require(bool(kinds), f"integers from {self.low} to {self.high} fit no type")
        return kinds[0]


_ROUNDINGS: dict[str, Callable[[numpy.ndarray], numpy.ndarray]] = {
    "ROUND": numpy.rint,
    "HALF_EVEN": numpy.rint,
    "CEIL": numpy.ceil,
    "FLOOR": numpy.floor,
    "UP": lambda values: numpy.sign(values) * numpy.ceil(numpy.abs(values)),
    "DOWN": numpy.fix,
    "HALF_UP": lambda values: numpy.sign(values) * numpy.floor(numpy.abs(values) + numpy.float32(0.5)),
    "HALF_DOWN": lambda values: numpy.sign(values) * numpy.ceil(numpy.abs(values) - numpy.float32(0.5)),
}


@expands(*_names("Quant", "IntQuant"))
def quant(draft: Draft) -> Sequence[str]:
    """(round(clamp(x / scale + zero_point)) - zero_point) * scale."""
    source = draft.source
    source.expect_attributes("narrow", "rounding_mode", "signed")
    bits, signed = draft.integer(draft.input(3), "its bit width"), bool(source.integer("signed", 1))
    rounding = _rounding(draft, "ROUND")
    if bits == 1 and signed:
        low, high, rounding = -1, 1, "BIPOLAR"
    else:
        low, high = _bounds(bits, signed, bool(source.integer("narrow", 0)))
    return (_quantized(draft, _Grid(_scale(draft, 1), _along_scale(draft, 2), low, high, rounding)),)


@expands(*_names("BipolarQuant"))
def bipolar_quant(draft: Draft) -> Sequence[str]:
    """scale where x is not negative, else -scale."""
    draft.source.expect_attributes()
    scale = _scale(draft, 1)
    return (_quantized(draft, _Grid(scale, numpy.zeros((), numpy.float32), -1, 1, "BIPOLAR")),)


@expands(*_names("Trunc"))
def trunc(draft: Draft) -> Sequence[str]:
    """Fewer bits of integers: with five inputs of the first version, with six of the second, which clamps and has a new scale."""
    source = draft.source
    source.expect_attributes("narrow", "rounding_mode", "signed")
    scale, zero = _scale(draft, 1), _along_scale(draft, 2)
    clamps = bool(draft.input(5))
    levels = _levels(draft, draft.input(0), scale, zero)
    levels = draft.one("Round", levels)
    rounding = _rounding(draft, "FLOOR")
    if not clamps:
        step = 2.0 ** (draft.integer(draft.input(3), "its bit width") - draft.integer(draft.input(4), "its new bit width"))
        levels = _rounded(draft, draft.one("Div", levels, like(draft, levels, step)), rounding)
        return (_spread(draft, levels, scale, zero),)
    target = _scale(draft, 4)
    steps = (2 ** numpy.round(numpy.log2(target / scale))).astype(numpy.float32)
    low, high = _bounds(
        draft.integer(draft.input(5), "its new bit width"), bool(source.integer("signed", 1)), bool(source.integer("narrow", 0))
    )
    levels = _clipped(draft, draft.one("Div", levels, draft.constant(steps)), low, high)
    made = _spread(draft, _rounded(draft, levels, rounding), target, (zero / steps).astype(numpy.float32))
    grid = _Grid(target, numpy.zeros((), numpy.float32), low, high, "ROUND")
    return (
        _through_integers(draft, made, grid) if not zero.any() and _along(target, draft.tensor(made).rank) is not None else made,
    )


def _quantized(draft: Draft, grid: _Grid) -> str:
    name = draft.input(0)
    tensor = draft.tensor(name)
    axis = _along(grid.scale, tensor.rank)
    if tensor.data is not None and axis is not None:
        return _constant(draft, grid, tensor.data, axis)
    if axis is not None and not grid.zero_point.any() and grid.rounding in ("ROUND", "HALF_EVEN") and grid.dtype() != "int32":
        bounded = name
        if not _fills(grid):
            low, high = (draft.constant((bound * grid.scale).astype(numpy.float32)) for bound in (grid.low, grid.high))
            bounded = _between(draft, name, low, high)
        return _through_integers(draft, bounded, grid)
    return _in_reals(draft, grid)


def _in_reals(draft: Draft, grid: _Grid) -> str:
    """As the definition is written."""
    levels = _levels(draft, draft.input(0), grid.scale, grid.zero_point)
    if not grid.bipolar:
        levels = _rounded(draft, _clipped(draft, levels, grid.low, grid.high), grid.rounding)
        return _spread(draft, levels, grid.scale, grid.zero_point)
    positive = draft.one("GreaterOrEqual", levels, like(draft, levels, 0.0), opset=16)
    ends = [draft.constant(((sign - grid.zero_point) * grid.scale).astype(numpy.float32)) for sign in (1, -1)]
    made = draft.one("Where", positive, *ends, opset=16)
    plain = not grid.zero_point.any() and _along(grid.scale, draft.tensor(made).rank) is not None
    return _through_integers(draft, made, grid) if plain else made


def _constant(draft: Draft, grid: _Grid, values: numpy.ndarray, axis: int) -> str:
    """Weights: the stored integers, and what they mean."""
    require(bool(numpy.isfinite(values).all()), "its data holds what is no finite number")
    stored, kind = grid.stored(values), grid.dtype()
    zero = grid.zero_point
    if zero.any() and not (
        kind in ("int8", "uint8") and (zero == numpy.rint(zero)).all() and _holds(kind, zero.min(), zero.max())
    ):
        return draft.constant(((stored - zero) * grid.scale).astype(numpy.float32))
    names = [draft.constant(stored.astype(kind)), draft.constant(_listed(grid.scale))]
    if zero.any():
        names.append(draft.constant(numpy.broadcast_to(_listed(zero), _listed(grid.scale).shape).astype(kind)))
    return draft.one("DequantizeLinear", *names, axis=axis)


def _through_integers(draft: Draft, name: str, grid: _Grid) -> str:
    """Returns the tensor after QuantizeLinear and DequantizeLinear: values on the grid stay the same."""
    axis, kind = _along(grid.scale, draft.tensor(name).rank), grid.dtype()
    scale = draft.constant(_listed(grid.scale))
    zero = draft.constant(numpy.zeros(_listed(grid.scale).shape, kind))
    opset = 21 if kind == "int16" else 13
    stored = draft.one("QuantizeLinear", name, scale, zero, axis=axis, opset=opset)
    return draft.one("DequantizeLinear", stored, scale, zero, axis=axis, opset=opset)


def _levels(draft: Draft, name: str, scale: numpy.ndarray, zero: numpy.ndarray) -> str:
    levels = draft.one("Div", name, draft.constant(scale))
    return draft.one("Add", levels, draft.constant(zero)) if zero.any() else levels


def _spread(draft: Draft, levels: str, scale: numpy.ndarray, zero: numpy.ndarray) -> str:
    if zero.any():
        levels = draft.one("Sub", levels, draft.constant(zero))
    return draft.one("Mul", levels, draft.constant(scale))


def _clipped(draft: Draft, name: str, low: int, high: int) -> str:
    return draft.one("Clip", name, like(draft, name, low), like(draft, name, high))


def _between(draft: Draft, name: str, low: str, high: str) -> str:
    """Clamped between two constants, which may differ from channel to channel."""
    if draft.tensor(low).elements == 1:
        low, high = (draft.constant(draft.known(bound, "its bound").reshape(())) for bound in (low, high))
        return draft.one("Clip", name, low, high)
    return draft.one("Min", draft.one("Max", name, low), high)


def _rounded(draft: Draft, name: str, rounding: str) -> str:
    if rounding in ("ROUND", "HALF_EVEN"):
        return draft.one("Round", name)
    if rounding in ("CEIL", "FLOOR"):
        return draft.one("Ceil" if rounding == "CEIL" else "Floor", name)
    size, sign = draft.one("Abs", name), draft.one("Sign", name)
    if rounding.startswith("HALF"):
        size = draft.one("Add", size, like(draft, size, 0.5 if rounding == "HALF_UP" else -0.5))
    return draft.one("Mul", sign, draft.one("Ceil" if rounding in ("UP", "HALF_DOWN") else "Floor", size))


def _bounds(bits: int, signed: bool, narrow: bool) -> tuple[int, int]:
    """The lowest and the highest integer of this width."""
    require(1 <= bits <= _MOST_BITS, f"a bit width of {bits} is not supported (1 to {_MOST_BITS} are)")
    if signed:
        return -(1 << bits - 1) + narrow, (1 << bits - 1) - 1
    return 0, (1 << bits) - 1 - narrow


def _fills(grid: _Grid) -> bool:
    """Whether the type of the stored integers clamps by itself."""
    limits = numpy.iinfo(grid.dtype())
    return (grid.low, grid.high) == (limits.min, limits.max)


def _holds(kind: str, low: float, high: float) -> bool:
    limits = numpy.iinfo(kind)
    return limits.min <= low and high <= limits.max


def _along(scale: numpy.ndarray, rank: int) -> int | None:
    """The axis along which a scale differs; any for a single one, None where it differs along several."""
    places = [axis - scale.ndim + rank for axis, size in enumerate(scale.shape) if size > 1]
    return None if len(places) > 1 or scale.ndim > rank else places[0] if places else 0


def _listed(values: numpy.ndarray) -> numpy.ndarray:
    """One number, or a list."""
    return values.reshape(()) if values.size == 1 else values.reshape(-1)


def _scale(draft: Draft, index: int) -> numpy.ndarray:
    """A scale, which broadcasts to the data."""
    scale = _along_scale(draft, index)
    require(bool((numpy.isfinite(scale) & (scale > 0)).all()), "its scale holds what is no positive finite number")
    return scale


def _along_scale(draft: Draft, index: int) -> numpy.ndarray:
    values, dims = (
        draft.known(draft.input(index), "its scale or zero point").astype(numpy.float32),
        draft.tensor(draft.input(0)).dims,
    )
    spread = (1,) * (len(dims) - values.ndim) + values.shape
    fits = len(spread) == len(dims) and all(size in (1, whole) for size, whole in zip(spread, dims))
    require(values.size == 1 or fits, f"a scale or zero point with the dims {list(values.shape)} for data with {list(dims)}")
    return values if fits else values.reshape(())


def _rounding(draft: Draft, default: str) -> str:
    mode = draft.source.text("rounding_mode", default).upper()
    require(mode in _ROUNDINGS, f"the rounding mode {mode!r} is unknown")
    return mode
