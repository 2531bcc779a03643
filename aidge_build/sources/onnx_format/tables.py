# SPDX-License-Identifier: MIT
"""Tables of words: which tensors share one, and the place of each word in it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy


class Tables:
    """A table for every tensor of text; tensors that were joined share theirs. Words keep the order in which they came."""

    def __init__(self) -> None:
        self._above: dict[str, str] = {}
        self._words: dict[str, dict[str, int]] = {}

    def root(self, tensor: str) -> str:
        """The name of the table that the tensor uses."""
        while (above := self._above.get(tensor, tensor)) != tensor:
            self._above[tensor] = self._above.get(above, above)
            tensor = above
        return tensor

    def enter(self, tensor: str, words: Iterable[str]) -> None:
        """Puts new words at the end of the tensor's table."""
        table = self._words.setdefault(self.root(tensor), {})
        for word in words:
            table.setdefault(word, len(table))

    def join(self, tensors: Iterable[str]) -> None:
        """Lets these tensors share the table of the first one."""
        first, *others = tensors
        for other in others:
            into, old = self.root(first), self.root(other)
            if into != old:
                self._above[old] = into
                self.enter(first, self._words.pop(old, ()))

    def words(self, tensor: str) -> tuple[str, ...]:
        """The table."""
        return tuple(self._words.get(self.root(tensor), ()))

    def places(self, tensor: str, words: Iterable[str]) -> numpy.ndarray:
        """The places of words that were entered, int64."""
        table = self._words.get(self.root(tensor), {})
        return numpy.array([table[word] for word in words], numpy.int64)


def as_places(values: numpy.ndarray, table: Sequence[str]) -> numpy.ndarray:
    """Returns words as their places in the table, -1 for a missing word; other values, and words without a table, stay."""
    if values.dtype.kind not in "OU" or not table:
        return values
    places = {word: place for place, word in enumerate(table)}
    found = [places.get(str(word), -1) for word in values.reshape(-1)]
    return numpy.array(found, numpy.int64).reshape(values.shape)
