# SPDX-License-Identifier: MIT
"""The known content of memory: constants, and values that were stored since a call began. Other memory may hold any value."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from aidge_build.prove.elf.frames import Refusal
from aidge_build.prove.longest.values import Objects, Span, Value

_Part = int | None
# A word: a known value, four bytes with some known, or nothing.
_Word = Value | tuple[_Part, ...]


class Constants:
    """Bytes that no code writes, as (address, bytes)."""

    def __init__(self, parts: Iterable[tuple[int, bytes]]):
        self._parts = sorted(parts)
        self._known: dict[int, _Word] = {}

    def word(self, at: int) -> _Word:
        """Returns the known content of the word at a multiple of four: another object may begin within the word."""
        if at not in self._known:
            self._known[at] = _word_of([*map(self._byte, range(at, at + 4))])
        return self._known[at]

    def _byte(self, at: int) -> _Part:
        inside = (content[at - first] for first, content in self._parts if first <= at < first + len(content))
        return next(inside, None)


@dataclass
class Room:
    """The memory that a function of the C library may write: the stack below `stack`, and the word at `errno`. `lowest` is the
    lowest written address of the stack."""

    stack: int
    errno: int
    lowest: int = field(init=False)

    def __post_init__(self) -> None:
        self.lowest = self.stack

    def take(self, address: int) -> None:
        """Notes a store to an address; Refusal if the function may not write there."""
        if self.stack - _MOST_STACK <= address < self.stack:
            self.lowest = min(self.lowest, address)
        elif address & ~3 != self.errno:
            raise Refusal(f"a store to 0x{address:x}")


_MOST_STACK = 1 << 12


class Memory:
    """The known words. After a fork, each path has a table of its own for changes. `saved` are the stack addresses of saved
    registers: no pointer leads there. `touched` are the first addresses of the objects from `given` on that were read or
    written."""

    def __init__(self, constants: Constants, objects: Objects, given: int):
        self.constants = constants
        self.objects = objects
        self.given = given
        self.touched: set[int] = set()
        self._base: dict[int, _Word] = {}
        self._own: dict[int, _Word] | None = None
        self.saved: set[int] = set()
        self.room: Room | None = None  # None: any address

    @property
    def is_alone(self) -> bool:
        """Whether no other path has forked from this one."""
        return self._own is None

    @property
    def known(self) -> tuple[int, ...]:
        """The addresses of the words that were stored with known values."""
        return tuple(self._base)

    def parted(self) -> Memory:
        """Returns a copy; from here on both memories change independently."""
        other = Memory(self.constants, self.objects, self.given)
        other.touched, other.room = self.touched, self.room  # shared by all paths
        self._own = {} if self._own is None else self._own
        other._base, other._own, other.saved = self._base, dict(self._own), set(self.saved)
        return other

    def moved(self, first: int, end: int, by: int) -> Memory:
        """Returns a copy in which pointers to addresses from `first` to before `end` point `by` bytes further."""
        other = self.copied()
        for at, word in self._base.items():
            if isinstance(word, int) and first <= word < end:
                other._base[at] = word + by
        return other

    def copied(self) -> Memory:
        """Returns a copy: a store into it leaves this memory as it is."""
        other = Memory(self.constants, self.objects, self.given)
        other.saved, other._base = set(self.saved), dict(self._base)
        return other

    def meet(self, other: Memory) -> None:
        """Keeps the values that `other`, a fork of this memory, confirms."""
        assert self._own is not None and other._own is not None
        for at in {*self._own, *other._own}:
            one, two = self._word(at), other._word(at)
            self._own[at] = one if one == two else _joined(self.objects, one, two)
        self.saved &= other.saved

    def settle(self) -> None:
        """Merges the path's own table into the memory: no other path is left."""
        for at, word in (self._own or {}).items():
            if word is None:
                self._base.pop(at, None)
            else:
                self._base[at] = word
        self._own = None

    def _word(self, at: int) -> _Word:
        if self._own is not None and at in self._own:
            return self._own[at]
        return self._base.get(at)

    def _put(self, at: int, word: _Word) -> None:
        if self._own is not None:
            self._own[at] = word
        elif word is None:
            self._base.pop(at, None)
        else:
            self._base[at] = word

    def load(self, address: Value, width: int) -> Value:
        """Returns the known value of the little-endian number of `width` bytes at an address."""
        if not isinstance(address, int):
            self._touch(address)
            return None
        if address >= self.given:
            self._touch(address)
        at, offset = address & ~3, address & 3
        word = self._word(at)
        if word is None:
            word = self.constants.word(at)
        if offset == 0 and width == 4:
            return None if isinstance(word, tuple) else word
        if offset + width <= 4:
            return _number(_bytes(word)[offset : offset + width])
        return _number([self._byte(address + index) for index in range(width)])

    def _reach(self, address: int) -> None:
        """Notes a store to an address."""
        if self.room is not None:
            self.room.take(address)
        if address >= self.given:
            self._touch(address)

    def _touch(self, address: Value) -> None:
        span = self.objects.around(address)
        if span is not None:
            self.touched.add(span.first)

    def _byte(self, address: int) -> _Part:
        found = self.load(address, 1)
        return found if isinstance(found, int) else None

    def store(self, address: Value, width: int, value: Value) -> None:
        """Stores a number of `width` bytes. A pointer with a known object but an unknown offset may write anywhere in the
        object."""
        if not isinstance(address, int):
            self.forget(address)
            return
        self._reach(address)
        self.saved.discard(address & ~3)
        if width == 4 and not address & 3:
            self._put(address, value)
            return
        number = value if isinstance(value, int) else None
        for index in range(width):
            self._put_byte(address + index, None if number is None else number >> 8 * index & 255)

    def _put_byte(self, address: int, byte: _Part) -> None:
        at, known = address & ~3, self._word(address & ~3)
        if known is None and byte is None:
            return
        parts = [*_bytes(known)]
        parts[address & 3] = byte
        self._put(at, _word_of(parts))

    def save(self, address: int, value: Value) -> None:
        """Stores a register as `push` does."""
        self.store(address, 4, value)
        self.saved.add(address)

    def kill(self, address: Value, size_bytes: int) -> None:
        """Forgets `size_bytes` at an address, which were written with unknown values."""
        if not isinstance(address, int):
            self.forget(address)
            return
        self._reach(address)
        for at in range(address & ~3, address + size_bytes, 4):
            if self._word(at) is not None:
                for byte in range(max(at, address), min(at + 4, address + size_bytes)):
                    self._put_byte(byte, None)
            self.saved.discard(at)

    def forget(self, address: Value) -> None:
        """Forgets the object that a pointer leads to after an unknown store, or all objects for an unknown pointer."""
        if self.room is not None:
            raise Refusal("a store to an address that is not known")
        self._touch(address)
        span = self.objects.around(address)
        spans: Sequence[Span] = self.objects.spans if span is None else [span]
        for at in [*self._base, *(self._own or ())]:
            if at not in self.saved and any(span.first - 3 <= at < span.end for span in spans):
                self._put(at, None)


def _bytes(word: _Word) -> Sequence[_Part]:
    if isinstance(word, int):
        return [word >> shift & 255 for shift in (0, 8, 16, 24)]
    return word if isinstance(word, tuple) else [None] * 4


def _number(parts: Sequence[_Part]) -> int | None:
    known = [part for part in parts if part is not None]
    return int.from_bytes(known, "little") if len(known) == len(parts) else None


def _word_of(parts: Sequence[_Part]) -> _Word:
    """Returns the word of four bytes."""
    if None in parts:
        return tuple(parts) if any(part is not None for part in parts) else None
    return _number(parts)


def _joined(objects: Objects, one: _Word, two: _Word) -> _Word:
    found = objects.joined(one, two)  # type: ignore[arg-type]  # of words with some known bytes, nothing
    if found is not None:
        return found
    return _word_of([first if first == second else None for first, second in zip(_bytes(one), _bytes(two), strict=True)])
