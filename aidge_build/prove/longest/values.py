# SPDX-License-Identifier: MIT
"""The known values of registers: a number, the object of an address, some of the bits, or nothing; and the known flags."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass

WORD = 0xFFFFFFFF
SIGN = 0x80000000


@dataclass(frozen=True)
class Near:
    """Some address inside the object at `place`: in C no pointer leaves the object that it was derived from."""

    place: int


@dataclass(frozen=True, eq=False)
class Few:
    """A number with at most `most` bits that are 1, all of them in `mask`; each instance means another number."""

    most: int
    mask: int = WORD


@dataclass(frozen=True)
class OneLess:
    """The number `of` minus one: the bitwise and of both has one bit less."""

    of: Few


@dataclass(frozen=True)
class Partly:
    """A number with known `bits` in `mask`."""

    mask: int
    bits: int


@dataclass(frozen=True)
class Normal:
    """A float of 32 bits that is not denormal: C library functions take many instructions for denormal numbers."""


Value = int | Near | Few | OneLess | Partly | Normal | None  # None: it depends on data, or is not followed


@dataclass(frozen=True)
class Span:
    """The addresses of an object; the stack is one object."""

    first: int
    end: int


def bits_of(value: Value) -> int:
    """Returns how many bits of a number are 1 at most."""
    if isinstance(value, int):
        return value.bit_count()
    return value.most if isinstance(value, Few) else WORD.bit_count()


def partly(mask: int, bits: int) -> Value:
    """Returns a number with these known bits."""
    return bits & WORD if mask & WORD == WORD else Partly(mask & WORD, bits & mask & WORD) if mask & WORD else None


def known_of(value: Value) -> Partly:
    """Returns the known bits of a number."""
    if isinstance(value, int):
        return Partly(WORD, value & WORD)
    return value if isinstance(value, Partly) else Partly(WORD ^ value.mask, 0) if isinstance(value, Few) else Partly(0, 0)


def shifted(name: str, value: Value, amount: int) -> Value:
    """Returns the known bits of a number that `lsl` or `lsr` shifted."""
    known = known_of(value)
    if name == "lsl":
        return partly(known.mask << amount | ~(WORD << amount), known.bits << amount)
    return partly(known.mask >> amount | ~(WORD >> amount), known.bits >> amount) if name == "lsr" else None


def doubled(value: Value, carry: bool | None) -> tuple[Value, bool | None]:
    """Returns twice a number plus a carry, and the carry out."""
    known = known_of(value)
    out = bool(known.bits & SIGN) if known.mask & SIGN else None
    return partly(known.mask << 1 | (carry is not None), known.bits << 1 | bool(carry)), out


def _possible(value: Value) -> int:
    """Returns the bits that may be 1."""
    known = known_of(value)
    return WORD ^ (known.mask & ~known.bits)


def few(most: int, mask: int = WORD) -> Value:
    """Returns a number with at most `most` bits that are 1, all of them in `mask`."""
    most = min(most, mask.bit_count())
    return None if most >= WORD.bit_count() else Few(most, mask) if most else 0


def _bitwise(name: str, one: Partly, two: Partly) -> Value:
    """Returns the bits of `and`, `orr`, `eor`, `bic` or `orn` that the known bits decide."""
    if name in ("bic", "orn"):
        name, two = {"bic": "and", "orn": "orr"}[name], Partly(two.mask, two.mask & ~two.bits)
    both, bits = one.mask & two.mask, {"and": one.bits & two.bits, "orr": one.bits | two.bits}.get(name, one.bits ^ two.bits)
    if name == "and":  # a zero decides
        both |= one.mask & ~one.bits | two.mask & ~two.bits
    elif name == "orr":
        both |= one.bits | two.bits
    return partly(both, bits)


def combined(name: str, one: Value, two: Value) -> Value:
    """Returns the known value of `and`, `orr`, `eor` or `bic` for numbers that are not both known."""
    first, second = bits_of(one), bits_of(two)
    if Partly in (type(one), type(two)):
        return _bitwise(name, known_of(one), known_of(two))
    if name == "and":
        for value, other in ((one, two), (two, one)):
            if isinstance(other, OneLess) and other.of is value:  # the lowest bit goes
                return few(other.of.most - 1)
        return few(min(first, second), _possible(one) & _possible(two))
    if name == "bic":
        return combined("and", one, WORD ^ two if isinstance(two, int) else WORD)
    return few(first + second, _possible(one) | _possible(two)) if name in ("orr", "eor") else None


class Objects:
    """The objects that code may write: variables, and the memory that a caller passes. `keeps_bits`: if numbers are merged, the
    bits in which they agree stay known."""

    def __init__(self, spans: Iterable[Span], keeps_bits: bool = False):
        self.keeps_bits = keeps_bits
        self.spans = sorted(spans, key=lambda span: span.first)
        self._firsts = [span.first for span in self.spans]

    def span(self, address: int) -> Span | None:
        """Returns the object that holds an address, or begins or ends there, or None."""
        index = bisect_right(self._firsts, address) - 1
        if index < 0 or address > self.spans[index].end:
            return None
        return self.spans[index]

    def shorten(self, end: int) -> None:
        """Makes the object around an address end there."""
        index = bisect_right(self._firsts, end) - 1
        self.spans[index] = Span(self.spans[index].first, end)

    def bytes_from(self, place: Value, most: int) -> int:
        """Returns the most bytes that a store of up to `most` bytes writes. Narrow elements or a predicate may store less than a
        whole vector, and no store writes beyond the object."""
        if not isinstance(place, int):
            return most
        span = self.span(place)
        return min(most, span.end - place) if span is not None and place < span.end else most

    def near(self, one: Value, two: Value) -> Near | None:
        """Returns the value of a sum or difference with an unknown term: a pointer into the object of the other term, or None."""
        for value in (one, two):
            if isinstance(value, Near):
                return value
            if isinstance(value, int) and self.span(value) is not None:
                return Near(value)
        return None

    def joined(self, one: Value, two: Value) -> Value:
        """Returns what is known of a number that is one of two."""
        if one == two:
            return one
        if Partly in (type(one), type(two)):
            first, second = known_of(one), known_of(two)
            return partly(first.mask & second.mask & ~(first.bits ^ second.bits), first.bits)
        if Few in (type(one), type(two)):
            return few(max(bits_of(one), bits_of(two)), _possible(one) | _possible(two))
        here, there = self.around(one), self.around(two)
        if here is not None and here == there:
            return Near(here.first)
        return partly(WORD ^ one ^ two, one) if self.keeps_bits and isinstance(one, int) and isinstance(two, int) else None

    def around(self, value: Value) -> Span | None:
        """Returns the object that an address is in or ends, or None."""
        place = value.place if isinstance(value, Near) else value
        return self.span(place) if isinstance(place, int) else None


# The flags: None, or the operation that set them (name, numbers). The bits are computed on demand.
Flags = tuple | None
_Bits = tuple[bool | None, bool | None, bool | None, bool | None]  # N, Z, C, V
_UNKNOWN: _Bits = (None, None, None, None)


def flag_bits(flags: Flags) -> _Bits:
    """Returns N, Z, C and V, each None if it is unknown."""
    if flags is None:
        return _UNKNOWN
    kind, *numbers = flags
    if kind == "bits":
        return tuple(numbers)  # type: ignore[return-value]
    if kind == "logical":  # V does not change, and no code tests it
        result, carry = numbers
        return bool(result & SIGN), result == 0, carry, None
    one, two, carry = numbers
    two = two ^ WORD if kind == "difference" else two
    total = one + two + carry
    result = total & WORD
    return bool(result & SIGN), result == 0, total > WORD, bool((one ^ result) & (two ^ result) & SIGN)


def flags_of(value: Value, carry: bool | None) -> Flags:
    """Returns N and Z of a result, as far as its bits are known, and C; nothing for a result without a known bit."""
    if isinstance(value, int):
        return "logical", value, carry
    known = known_of(value)
    if not known.mask:  # the carry alone would keep paths of the library apart for little
        return None
    return "bits", bool(known.bits & SIGN) if known.mask & SIGN else None, False if known.bits else None, carry, None


def flags_of_comparison(one: Value, two: Value) -> Flags:
    """Returns Z of a difference of numbers that cannot be equal."""
    first, second = known_of(one), known_of(two)
    return ("bits", None, False, None, None) if first.mask & second.mask & (first.bits ^ second.bits) else None


def joined_flags(one: Flags, two: Flags) -> Flags:
    """Returns the flags in which both agree."""
    if one == two:
        return one
    bits = [first if first == second else None for first, second in zip(flag_bits(one), flag_bits(two), strict=True)]
    return None if bits == [None] * 4 else ("bits", *bits)


def _not(value: bool | None) -> bool | None:
    return None if value is None else not value


def _both(one: bool | None, two: bool | None) -> bool | None:
    if one is False or two is False:
        return False
    return None if one is None or two is None else True


def _same(one: bool | None, two: bool | None) -> bool | None:
    return None if one is None or two is None else one == two


_CONDITIONS: dict[str, Callable[..., bool | None]] = {
    "al": lambda n, z, c, v: True,
    "eq": lambda n, z, c, v: z,
    "cs": lambda n, z, c, v: c,
    "mi": lambda n, z, c, v: n,
    "vs": lambda n, z, c, v: v,
    "hi": lambda n, z, c, v: _both(c, _not(z)),
    "ge": lambda n, z, c, v: _same(n, v),
    "gt": lambda n, z, c, v: _both(_same(n, v), _not(z)),
}
_OPPOSITES = {"ne": "eq", "cc": "cs", "lo": "cs", "pl": "mi", "vc": "vs", "ls": "hi", "lt": "ge", "le": "gt"}


def holds(condition: str, flags: Flags) -> bool | None:
    """Whether a condition (`ge`) is met; None if it is unknown."""
    if condition in _OPPOSITES:
        return _not(_CONDITIONS[_OPPOSITES[condition]](*flag_bits(flags)))
    return _CONDITIONS["cs" if condition == "hs" else condition](*flag_bits(flags))


def opposite(condition: str) -> str:
    """Returns the condition that is met exactly if this one is not."""
    pairs = {**_OPPOSITES, "hs": "lo"}
    return pairs.get(condition) or next(two for two, one in _OPPOSITES.items() if one == condition)


_SINGLE_BITS = {"mi": 0, "eq": 1, "cs": 2, "hs": 2, "vs": 3}  # conditions that are one of N, Z, C and V


def assumed(condition: str, flags: Flags) -> Flags:
    """Returns the flags after a condition is known to be met; a condition on several flags may leave them unchanged."""
    bits = [*flag_bits(flags)]
    if condition == "hi":
        bits[1], bits[2] = False, True
    elif condition in _SINGLE_BITS:
        bits[_SINGLE_BITS[condition]] = True
    elif opposite(condition) in _SINGLE_BITS:
        bits[_SINGLE_BITS[opposite(condition)]] = False
    return ("bits", *bits)
