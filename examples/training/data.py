# SPDX-License-Identifier: MIT
"""Writes digits.npz, which is committed, from scikit-learn's data set: python data.py (needs scikit-learn)."""

from __future__ import annotations

from pathlib import Path

import numpy
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

FILE = Path(__file__).resolve().with_name("digits.npz")


def main() -> None:
    digits = load_digits()
    training, test = train_test_split(numpy.arange(len(digits.target)), test_size=450, random_state=0, stratify=digits.target)
    arrays = {}
    for name, places in (("training", training), ("test", test)):
        arrays[f"{name}_images"] = digits.images[places].astype(numpy.uint8)
        arrays[f"{name}_labels"] = digits.target[places].astype(numpy.uint8)
    numpy.savez_compressed(FILE, **arrays)


if __name__ == "__main__":
    main()
