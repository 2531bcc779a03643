# SPDX-License-Identifier: MIT
"""Writes what the firmware hears in the field, 5 grown-ups and 15 children: python field_sounds.py ../keyword build/sounds.pcm

Of each sound the label and the samples, as int16.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy

sys.path.insert(0, sys.argv[1])
from sounds import CHILDREN, GROWN_UPS, clips


def main() -> None:
    heard = [clips(count, seed, voices) for count, seed, voices in ((5, 5, GROWN_UPS), (15, 6, CHILDREN))]
    records = [numpy.concatenate([[label], sound]) for sounds, labels in heard for sound, label in zip(sounds, labels)]
    Path(sys.argv[2]).write_bytes(numpy.stack(records).astype("<i2").tobytes())


if __name__ == "__main__":
    main()
