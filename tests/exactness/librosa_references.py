# SPDX-License-Identifier: MIT
"""`python -m tests.exactness.librosa_references`: what librosa gives for the audio front end's parameters, stored in librosa.npz.

It needs the packages librosa and numpy, in an environment of its own: nothing else here imports librosa.
"""

from __future__ import annotations

from pathlib import Path

import numpy

STORED = Path(__file__).with_name("librosa.npz")
RATE = 16000
# The arguments of our front end; `librosa_features` says what they are for librosa.
CASES = {
    "htk, centred": {"window": 512, "hop": 160, "length": 512, "bands": 40, "lowest": 20.0, "center": True},
    "slaney, decibels, a shorter window": {
        **{"window": 400, "hop": 160, "length": 512, "bands": 64, "lowest": 50.0, "highest": 7600.0, "scale": "slaney"},
        **{"norm": "slaney", "logarithm": "db", "floor": 1e-10, "center": True},
    },
    "hamming, not centred": {"window": 512, "hop": 256, "length": 512, "bands": 24, "lowest": 0.0, "kind": "hamming"},
    "slaney scale alone": {"window": 480, "hop": 480, "length": 480, "bands": 32, "lowest": 100.0, "scale": "slaney"},
    "MFCC": {
        **{"window": 400, "hop": 160, "length": 400, "bands": 40, "lowest": 0.0, "scale": "slaney", "norm": "slaney"},
        **{"logarithm": "db", "floor": 1e-10, "coefficients": 13, "center": True},
    },
}


def pcm() -> numpy.ndarray:
    """Half a second of a synthetic sweep over noise, int16."""
    random = numpy.random.Generator(numpy.random.PCG64(7))
    time = numpy.arange(RATE // 2) / RATE
    sweep = 9000 * numpy.sin(2 * numpy.pi * (200 * time + 4000 * time**2)) * (time % 0.2 < 0.15)
    return numpy.clip(numpy.rint(sweep + random.normal(size=time.size) * 30), -32768, 32767).astype(numpy.int16)


def librosa_features(words: dict) -> numpy.ndarray:
    """[frames, bands or coefficients]: librosa's mel spectrogram, the logarithm of it plus the floor, its transform."""
    import librosa
    import scipy.fft

    parameters = {"kind": "hann", "scale": "htk", "norm": "none", "logarithm": "ln", "floor": 1e-6, "highest": None, **words}
    power = librosa.feature.melspectrogram(
        y=(pcm() / 32768).astype(numpy.float64),
        sr=RATE,
        n_fft=words["length"],
        hop_length=words["hop"],
        win_length=words["window"],
        window=parameters["kind"],
        center=words.get("center", False),
        pad_mode="constant",
        power=2.0,
        n_mels=words["bands"],
        fmin=words["lowest"],
        fmax=parameters["highest"],
        htk=parameters["scale"] == "htk",
        norm=None if parameters["norm"] == "none" else parameters["norm"],
        dtype=numpy.float64,
    )
    raised = power + parameters["floor"]
    found = 10 * numpy.log10(raised) if parameters["logarithm"] == "db" else numpy.log(raised)
    if "coefficients" in words:
        found = scipy.fft.dct(found, axis=0, type=2, norm="ortho")[: words["coefficients"]]
    return found.T


def main() -> None:
    numpy.savez_compressed(STORED, **{name: librosa_features(words).astype(numpy.float32) for name, words in CASES.items()})


if __name__ == "__main__":
    main()
