# SPDX-License-Identifier: MIT
"""Writes sounds that training never saw, and their labels, as a C header: python test_sounds.py build/sounds.h"""

from __future__ import annotations

import sys
from pathlib import Path

from sounds import LABELS, SAMPLES, clips

COUNT = 10


def main() -> None:
    sounds, labels = clips(COUNT, seed=2)
    rows = [", ".join(map(str, row)) for row in sounds.tolist()]
    words = ", ".join(f'"{label}"' for label in LABELS)
    lines = [
        "#include <stdint.h>",
        f"#define SOUNDS {COUNT}",
        f"#define SAMPLES {SAMPLES}",
        f"static const char *const words[] = {{{words}}};",
        f"static const uint8_t labels[SOUNDS] = {{{', '.join(map(str, labels))}}};",
        "static const int16_t sounds[SOUNDS][SAMPLES] = {",
        *(f"    {{{row}}}," for row in rows),
        "};",
    ]
    Path(sys.argv[1]).write_text("\n".join([*lines, ""]))


if __name__ == "__main__":
    main()
