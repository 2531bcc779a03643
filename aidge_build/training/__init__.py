# SPDX-License-Identifier: MIT
"""Training on the numpy backend: gradient descent on a graph whose last node is a loss. The generator imports nothing of this."""

from aidge_build.training.descent import SGD
from aidge_build.training.fit import fit, train_step

__all__ = ["SGD", "fit", "train_step"]
