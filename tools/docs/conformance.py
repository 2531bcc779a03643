# SPDX-License-Identifier: MIT
"""`./sconsw conformance docs`: runs every command and snippet of the documentation, those too that train, emulate for long, or
install Keras, PyTorch and scikit-learn's exporter into environments of their own below build/docs-venv."""

from __future__ import annotations

import os
import sys

import pytest

if __name__ == "__main__":
    os.environ["AIDGE_DOCS"] = "1"
    sys.exit(pytest.main(["-q", "tests/docs", *sys.argv[1:]]))
