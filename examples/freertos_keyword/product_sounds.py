# SPDX-License-Identifier: MIT
"""Writes what the simulated microphone plays, and the word of the self-test, as C headers, and what is usual for the monitor:
python product_sounds.py ../keyword build/sounds.h build/known.h build/usual.npz"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy

sys.path.insert(0, sys.argv[1])
from sounds import CHILDREN, GROWN_UPS, clips

HOP, CLIP_FRAMES, KNOWN_LABEL, USUAL_CLIPS = 160, 26, 1, 200


def recording() -> numpy.ndarray:
    """The clips of the microphone, int16 [clips, CLIP_FRAMES * HOP]: 20 of grown-ups, 20 of children."""
    return numpy.concatenate([clips(20, seed, voices)[0] for seed, voices in ((7, GROWN_UPS), (8, CHILDREN))])[
        :, : CLIP_FRAMES * HOP
    ]


def clip_of(frame: int, count: int) -> int:
    """The clip that the microphone plays in this frame, counted from 0 (simulated/microphone.c has the same formula)."""
    return ((frame // CLIP_FRAMES * 2654435761 & 0xFFFFFFFF) >> 16) % count


def usual() -> numpy.ndarray:
    """The sounds at the microphone, int16 [frames, 1, HOP], each clip as often as others: the range of the monitor."""
    played = recording()
    order = numpy.random.default_rng(9).permutation(numpy.arange(USUAL_CLIPS) % len(played))
    return played[order].reshape(-1, 1, HOP)


def array(values: numpy.ndarray) -> str:
    return ", ".join(map(str, values.tolist()))


def main() -> None:
    played = recording()
    rows = ",\n".join(f"{{{array(row)}}}" for row in played)
    place = '__attribute__((section(".rodata.aidge_SOUNDS.sounds")))'
    size = f"enum {{ CLIPS = {len(played)} }};\n"
    Path(sys.argv[2]).write_text(
        f"#include <stdint.h>\n{size}{place} static const int16_t sounds[CLIPS][{played.shape[1]}] = {{\n{rows}}};\n"
    )
    known = clips(5, seed=5, voices=GROWN_UPS)[0][KNOWN_LABEL][: CLIP_FRAMES * HOP]
    size = f"enum {{ KNOWN_FRAMES = {CLIP_FRAMES}, KNOWN_LABEL = {KNOWN_LABEL} }};\n"
    Path(sys.argv[3]).write_text(f"#include <stdint.h>\n{size}static const int16_t known_sound[] = {{{array(known)}}};\n")
    numpy.savez(sys.argv[4], audio_pcm=usual())


if __name__ == "__main__":
    main()
