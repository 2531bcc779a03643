# SPDX-License-Identifier: MIT
"""Handwritten digits: the network of examples/digits."""

from __future__ import annotations

import numpy

from tools.zoo.made import EXAMPLES, Arrays, Made, run_script

SEED = 1


def made() -> Made:
    """What the script of the example trains."""
    model, floating = run_script("digits", "train.py", "--out", "@digits.onnx", "--float-out", "@float.onnx")
    return Made(model, floating)


def held_out() -> Arrays:
    """The 450 test images of the example."""
    return dict(numpy.load(EXAMPLES / "digits" / "test_images.npz"))
