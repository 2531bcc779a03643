# SPDX-License-Identifier: MIT
"""The scikit-learn handwritten digits, split once for everybody in this folder.

1,797 images of 8 x 8 pixels, each pixel an integer 0 (paper) to 16 (ink), with a label 0 to 9.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.utils import Bunch

TEST_IMAGES = 450
SIDE = 8


@dataclass(frozen=True)
class Images:
    """Pixels uint8 [images][8][8], 0 to 16, labels uint8 [images], and each image's index in scikit-learn's data set."""

    pixels: np.ndarray
    labels: np.ndarray
    indices: np.ndarray


def split() -> tuple[Images, Images]:
    """Return (training, test): 1,347 images for training and calibration, and 450 that only the firmware sees."""
    digits = load_digits()
    everything = np.arange(len(digits.target))
    training, test = train_test_split(everything, test_size=TEST_IMAGES, random_state=0, stratify=digits.target)
    return _select(digits, training), _select(digits, test)


def _select(digits: Bunch, indices: np.ndarray) -> Images:
    return Images(
        pixels=digits.images[indices].astype(np.uint8),
        labels=digits.target[indices].astype(np.uint8),
        indices=indices,
    )
