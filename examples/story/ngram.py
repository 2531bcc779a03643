# SPDX-License-Identifier: MIT
"""The model to beat: n-grams of the same text, each character by the 4 before it:   python ngram.py [--text FILE] [--order 4]

Interpolated, with the discounts of Chen and Goodman (1998, modified Kneser-Ney).
"""

from __future__ import annotations

import austen
import numpy
from train import arguments

BASE = len(austen.CHARACTERS)


def grams(text: numpy.ndarray, length: int) -> numpy.ndarray:
    """A number for each `length` characters in a row; the last character counts 1."""
    found = numpy.zeros(len(text) - length + 1, numpy.int64)
    for place in range(length):
        found = found * BASE + text[place : place + len(found)]
    return found


def counted(text: numpy.ndarray, length: int, longest: int) -> tuple[numpy.ndarray, numpy.ndarray]:
    """The n-grams, and how often each occurs; of all but the longest, how many characters precede it."""
    found = grams(text, length) if length == longest else numpy.unique(grams(text, length + 1)) % BASE**length
    return numpy.unique(found, return_counts=True)


def looked_up(keys: numpy.ndarray, values: numpy.ndarray, wanted: numpy.ndarray) -> numpy.ndarray:
    """The value of each wanted key, 0 without one."""
    places = numpy.minimum(numpy.searchsorted(keys, wanted), len(keys) - 1)
    return numpy.where(keys[places] == wanted, values[places], 0)


def discounts(counts: numpy.ndarray) -> numpy.ndarray:
    """The discounts of counts of 0, 1, 2, and 3 or more."""
    occurs = numpy.maximum([(counts == count).sum() for count in range(1, 5)], 1)
    part = occurs[0] / (occurs[0] + 2 * occurs[1])
    found = [count - (count + 1) * part * occurs[count] / occurs[count - 1] for count in (1, 2, 3)]
    return numpy.clip([0, *found], 0, [0, 1, 2, 3])


def bits_a_character(training: numpy.ndarray, text: numpy.ndarray, order: int) -> float:
    """Bits for each character of the text that has `order` characters before it."""
    shares = numpy.full(len(text) - order, 1 / BASE)
    for length in range(1, order + 2):
        keys, counts = counted(training, length, order + 1)
        taken = discounts(counts)
        contexts, places = numpy.unique(keys // BASE, return_inverse=True)
        wanted = grams(text, length)[order + 1 - length :]
        seen = looked_up(keys, counts, wanted)
        total = looked_up(contexts, numpy.bincount(places, counts), wanted // BASE)
        free = looked_up(contexts, numpy.bincount(places, taken[numpy.minimum(counts, 3)]), wanted // BASE)
        known = numpy.maximum(total, 1)
        shares = (seen - taken[numpy.minimum(seen, 3)]) / known + numpy.where(total > 0, free / known, 1) * shares
    return float(-numpy.log2(shares).mean())


if __name__ == "__main__":
    parser = arguments("Measures an n-gram model on the held-out pages.")
    parser.add_argument("--order", type=int, default=4, help="how many characters before each one count")
    given = parser.parse_args()
    text = austen.read(given.text, given.sha256)
    print(f"order {given.order}: {bits_a_character(text.training, text.held_out, given.order):.4f} bits a character")
