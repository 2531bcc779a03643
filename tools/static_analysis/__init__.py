# SPDX-License-Identifier: MIT
"""MISRA C:2012 and three other readers of C over kernels, generated code and examples; deviations with reasons."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "kernels"))  # whose cases are read
