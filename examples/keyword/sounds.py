# SPDX-License-Identifier: MIT
"""Synthetic speech: words of vowels and noise, said by voices of random pitch, size, speed and loudness, in random noise.

Nothing of it is recorded. A vowel is the sum of the harmonics of a voice, as strong as two resonances let them be.
"""

from __future__ import annotations

import numpy

RATE, SAMPLES = 8000, 4160  # 520 ms: 25 frames of 30 ms, one every 20 ms, and 10 ms
LABELS = ("(noise)", "ya", "oui", "sa", "us")
# Of each word the parts: the two resonances in Hz at the begin and at the end, or 0 for a hiss; the share of the time.
WORDS = {
    "ya": (((270, 2300), (750, 1200), 0.5), ((750, 1200), (750, 1200), 0.5)),
    "oui": (((300, 800), (300, 800), 0.4), ((300, 800), (270, 2300), 0.6)),
    "sa": ((0, 0, 0.4), ((700, 1200), (750, 1150), 0.6)),
    "us": (((600, 1000), (600, 1000), 0.6), (0, 0, 0.4)),
}


# Voices: the pitch in Hz, and what multiplies the resonances of a word.
GROWN_UPS, CHILDREN = ((90, 240), (0.88, 1.15)), ((230, 380), (1.15, 1.4))


def clip(label: int, random: numpy.random.Generator, voices: tuple = GROWN_UPS) -> numpy.ndarray:
    """A sound of this label, int16 [SAMPLES]."""
    sound = random.normal(size=SAMPLES) * random.uniform(0.002, 0.02)
    if label:
        word = said(WORDS[LABELS[label]], int(random.uniform(0.3, 0.42) * RATE), random, voices)
        start = int(random.integers(0, SAMPLES - word.size))
        sound[start : start + word.size] += word * random.uniform(0.08, 0.6) / numpy.abs(word).max()
    elif random.random() < 0.5:  # a hum
        sound += random.uniform(0.02, 0.3) * numpy.sin(2 * numpy.pi * random.uniform(50, 3000) / RATE * numpy.arange(SAMPLES))
    return numpy.clip(numpy.rint(32768 * sound), -32768, 32767).astype(numpy.int16)


def said(parts: tuple, count: int, random: numpy.random.Generator, voices: tuple) -> numpy.ndarray:
    """A word of about so many samples by one voice."""
    pitch, size = (random.uniform(*between) for between in voices)
    pieces = []
    for begin, end, share in parts:
        length = int(count * share * random.uniform(0.8, 1.2))
        pieces.append(vowel(begin, end, length, pitch, size) if begin else hiss(length, random))
    word = numpy.concatenate(pieces)
    return word * numpy.minimum(1, numpy.minimum(numpy.arange(word.size), numpy.arange(word.size)[::-1]) / 200)


def vowel(begin: tuple, end: tuple, length: int, pitch: float, size: float) -> numpy.ndarray:
    """Harmonics below 3.8 kHz, as strong as the resonances are there, which move from begin to end."""
    course = numpy.linspace(0, 1, length)[:, None]
    harmonics = numpy.arange(1, int(3800 / (1.1 * pitch)) + 1)
    tone = pitch * (1.1 - 0.2 * course)
    frequencies = tone * harmonics
    strength = sum(1 / (1 + ((frequencies - size * (a + (b - a) * course)) / 90) ** 2) for a, b in zip(begin, end))
    turns = numpy.cumsum(tone, 0) / RATE
    return (strength * numpy.sin(2 * numpy.pi * turns * harmonics)).sum(1)


def hiss(length: int, random: numpy.random.Generator) -> numpy.ndarray:
    """Noise whose high frequencies are the strongest."""
    return 0.4 * numpy.diff(random.normal(size=length + 1))


def clips(count: int, seed: int, voices: tuple = GROWN_UPS) -> tuple[numpy.ndarray, numpy.ndarray]:
    """So many sounds, int16 [count, SAMPLES], and their labels."""
    random = numpy.random.default_rng(seed)
    labels = numpy.arange(count) % len(LABELS)
    return numpy.stack([clip(int(label), random, voices) for label in labels]), labels.astype(numpy.int64)
