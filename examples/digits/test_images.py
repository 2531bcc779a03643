# SPDX-License-Identifier: MIT
"""Writes the 450 test images and their labels: test_images.h and test_images.c for the firmware, test_images.npz for
`aidge-build accuracy`.

    python test_images.py              write them next to this file
    python test_images.py --out DIR    write them elsewhere

It needs numpy and scikit-learn. The files are committed, so that building the firmware needs neither.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path

import dataset
import numpy as np

NOTICE = """\
/* SPDX-License-Identifier: CC-BY-4.0 */
/* Written by test_images.py. Do not edit.
 * From "Optical Recognition of Handwritten Digits" by E. Alpaydin and C. Kaynak, UCI Machine Learning Repository,
 * doi:10.24432/C50P49, CC BY 4.0, as scikit-learn distributes it; a selection of 450 images, values unchanged. */
"""


def header() -> str:
    """Return the text of test_images.h."""
    return f"""{NOTICE}
#ifndef TEST_IMAGES_H
#define TEST_IMAGES_H

#include <stdint.h>

#define TEST_IMAGES {dataset.TEST_IMAGES}
#define TEST_IMAGE_PIXELS {dataset.SIDE * dataset.SIDE}

/* Row by row from the top, 0 (paper) to 16 (ink). */
extern const uint8_t test_images[TEST_IMAGES][TEST_IMAGE_PIXELS];

/* The digit, 0 to 9, that each image shows. */
extern const uint8_t test_labels[TEST_IMAGES];

#endif
"""


def source(images: dataset.Images) -> str:
    """Return the text of test_images.c."""
    pixels = "\n".join(_image(image, index) for image, index in zip(images.pixels, images.indices, strict=True))
    labels = "\n".join(f"    {_row(images.labels[start : start + 25])}" for start in range(0, dataset.TEST_IMAGES, 25))
    return f"""{NOTICE}
#include "test_images.h"

/* The comments give each image's index in scikit-learn's load_digits(). */
const uint8_t test_images[TEST_IMAGES][TEST_IMAGE_PIXELS] = {{
{pixels}
}};

const uint8_t test_labels[TEST_IMAGES] = {{
{labels}
}};
"""


def _image(pixels: np.ndarray, index: int) -> str:
    half = dataset.SIDE // 2
    return f"    {{ /* {index} */\n     {_row(pixels[:half].flat)}\n     {_row(pixels[half:].flat)}\n    }},"


def _row(values: Iterable[int]) -> str:
    return ", ".join(str(value) for value in values) + ","


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    folder = Path(__file__).resolve().parent
    parser.add_argument("--out", type=Path, default=folder, metavar="DIR", help="folder to write to (default: that of this file)")
    arguments = parser.parse_args()
    _, test = dataset.split()
    (arguments.out / "test_images.h").write_text(header(), encoding="ascii", newline="\n")
    (arguments.out / "test_images.c").write_text(source(test), encoding="ascii", newline="\n")
    pixels = (test.pixels[:, None] / 16).astype(np.float32)  # [image][1][8][8], from 0 (paper) to 1 (ink)
    np.savez_compressed(arguments.out / "test_images.npz", x=pixels, labels=test.labels.astype(np.int64))


if __name__ == "__main__":
    main()
