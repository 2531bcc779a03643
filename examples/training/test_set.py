# SPDX-License-Identifier: MIT
"""Writes the labelled images that only the finished firmware sees: python test_set.py digits.npz test.npz"""

from __future__ import annotations

import sys

import numpy


def main() -> None:
    data = numpy.load(sys.argv[1])
    images = data["test_images"][:, None, None] / numpy.float32(16)
    numpy.savez_compressed(sys.argv[2], x=images, labels=data["test_labels"])


if __name__ == "__main__":
    main()
