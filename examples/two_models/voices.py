# SPDX-License-Identifier: MIT
"""Writes what grown-ups and children say, and the labels, as a C header: python voices.py ../keyword build/voices.h"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, sys.argv[1])
from sounds import CHILDREN, GROWN_UPS, SAMPLES, clips

COUNT = 5  # of each


def main() -> None:
    heard = [clips(COUNT, seed, voices) for seed, voices in ((5, GROWN_UPS), (6, CHILDREN))]
    labels = ", ".join(str(label) for _, group in heard for label in group)
    rows = [", ".join(map(str, row)) for sounds, _ in heard for row in sounds.tolist()]
    lines = [
        "#include <stdint.h>",
        f"#define GROWN_UP_SOUNDS {COUNT}",
        f"#define SOUNDS {len(rows)}",
        f"#define SAMPLES {SAMPLES}",
        f"static const int64_t labels[SOUNDS] = {{{labels}}};",
        "static const int16_t sounds[SOUNDS][SAMPLES] = {",
        *(f"    {{{row}}}," for row in rows),
        "};",
    ]
    Path(sys.argv[2]).write_text("\n".join([*lines, ""]))


if __name__ == "__main__":
    main()
