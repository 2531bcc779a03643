# SPDX-License-Identifier: MIT
"""Windows, mel filters and the discrete cosine transform, with the parameters of librosa and PyTorch."""

from __future__ import annotations

import math

import numpy

from aidge_build.base.errors import AidgeError

WINDOWS = {"hann": (0.5, -0.5), "hamming": (0.54, -0.46), "blackman": (0.42, -0.5, 0.08), "ones": (1.0,)}
SCALES, NORMS = ("htk", "slaney"), ("none", "slaney")


def window(kind: str, taps: int) -> numpy.ndarray:
    """Returns a periodic window [taps]: a sum of cosines, as in ONNX's HannWindow, HammingWindow and BlackmanWindow."""
    turns = 2 * numpy.pi / taps * numpy.arange(taps)
    return sum(share * numpy.cos(order * turns) for order, share in enumerate(WINDOWS[kind]))


def low_pass(factor: int) -> numpy.ndarray:
    """Returns the taps of a low-pass filter, int16 in units of 2^-15. After it every `factor`-th sample is enough.

    The filter has 16 * `factor` taps: a sinc, half as strong at 0.4 of the new rate, by a Hamming window. At half of the new rate
    it is 43 dB lower, from 0.52 of the new rate on 53 dB.
    """
    count = 16 * factor
    place = numpy.arange(count) - (count - 1) / 2
    taps = numpy.sinc(0.8 / factor * place) * (0.54 + 0.46 * numpy.cos(2 * numpy.pi * place / (count - 1)))
    return numpy.rint(taps * (1 << 15) / taps.sum()).astype(numpy.int16)


def mel_of(frequencies: numpy.ndarray, scale: str) -> numpy.ndarray:
    """Returns mel of frequencies in Hz: `htk` is 2595 log10(1 + f / 700), `slaney` linear up to 1 kHz (Auditory Toolbox)."""
    hertz = numpy.asarray(frequencies, float)
    if scale == "htk":
        return 2595 * numpy.log10(1 + hertz / 700)
    return numpy.where(hertz < 1000, hertz * 3 / 200, 15 + 27 * numpy.log(numpy.maximum(hertz, 1000) / 1000) / math.log(6.4))


def hertz_of(mels: numpy.ndarray, scale: str) -> numpy.ndarray:
    """Returns the inverse of `mel_of`."""
    if scale == "htk":
        return 700 * (10 ** (mels / 2595) - 1)
    return numpy.where(mels < 15, mels * 200 / 3, 1000 * 6.4 ** ((numpy.maximum(mels, 15) - 15) / 27))


def mel_filters(
    rate: float,
    length: int,
    bands: int,
    lowest: float = 0.0,
    highest: float | None = None,
    scale: str = "htk",
    norm: str = "none",
) -> numpy.ndarray:
    """Returns triangles [bands, length // 2 + 1] over the frequencies of a transform, with their corners evenly spread on the mel
    scale.

    They equal librosa.filters.mel(sr=rate, n_fft=length, n_mels=bands, fmin=lowest, fmax=highest, htk=scale == "htk",
    norm=None or "slaney"): with the norm `slaney` each has the area 2 over its width. AidgeError for a band without a frequency.
    """
    ends = mel_of(numpy.array([lowest, rate / 2 if highest is None else highest]), scale)
    corners = hertz_of(numpy.linspace(ends[0], ends[1], bands + 2), scale)[:, None]
    frequencies = numpy.arange(length // 2 + 1) * (rate / length)
    rising = (frequencies - corners[:-2]) / (corners[1:-1] - corners[:-2])
    falling = (corners[2:] - frequencies) / (corners[2:] - corners[1:-1])
    filters = numpy.maximum(0, numpy.minimum(rising, falling))
    empty = numpy.flatnonzero(filters.max(1) == 0)
    if empty.size:
        raise AidgeError(
            f"band {empty[0]} of {bands} holds no frequency of a transform of {length} values",
            code="FRONTEND",
            hint="fewer bands, a longer transform, or a higher lowest frequency",
        )
    return filters * (2 / (corners[2:] - corners[:-2])) if norm == "slaney" else filters


def cosines(bands: int, count: int) -> numpy.ndarray:
    """Returns the first `count` coefficients of the orthonormal DCT-II as a matrix [bands, count]."""
    matrix = numpy.cos(numpy.pi / bands * (numpy.arange(bands)[:, None] + 0.5) * numpy.arange(count)) * math.sqrt(2 / bands)
    matrix[:, 0] /= math.sqrt(2)
    return matrix
