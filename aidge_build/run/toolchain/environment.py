# SPDX-License-Identifier: MIT
"""The environment variables that compilers, linkers and their tools get."""

from __future__ import annotations

import os
import tempfile


def of_tools() -> dict[str, str]:
    """Returns the environment with messages in English, and a temporary folder that can be written even if TMPDIR names none."""
    return {**os.environ, "LC_ALL": "C", "TMPDIR": tempfile.gettempdir()}
