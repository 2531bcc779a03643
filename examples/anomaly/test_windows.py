# SPDX-License-Identifier: MIT
"""Windows that training never saw: for `aidge-build accuracy`, and four of them for main.c.   python test_windows.py F.npz F.h"""

from __future__ import annotations

import sys

import numpy
from vibration import SAMPLES, windows

EACH = 60

sound, faulty = windows(EACH, seed=11, faulty=False), windows(EACH, seed=12, faulty=True)
numpy.savez(sys.argv[1], x=numpy.concatenate([sound, faulty]), labels=numpy.repeat([0, 1], EACH))
shown = [*sound[1:3], *faulty[:2]]
rows = ["    {" + ", ".join(f"{value:.6f}f" for value in window) + "}," for window in shown]
with open(sys.argv[2], "w", encoding="utf-8") as file:
    file.write(f"static const float windows[{len(shown)}][{SAMPLES}] = {{\n" + "\n".join(rows) + "\n};\n")
