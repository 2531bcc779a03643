# SPDX-License-Identifier: MIT
"""Writes the images by which the ranges of the int8 values are found: a part of those of training, never those of the test.

python calibrate.py digits.npz calibration.npz
"""

from __future__ import annotations

import sys

import numpy

COUNT = 200


def main() -> None:
    images = numpy.load(sys.argv[1])["training_images"][:COUNT]
    numpy.savez_compressed(sys.argv[2], image=images[:, None, None] / numpy.float32(16))


if __name__ == "__main__":
    main()
