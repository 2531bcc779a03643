# SPDX-License-Identifier: MIT
"""The codes that functions of generated code return."""

from __future__ import annotations

from enum import IntEnum


class ReturnCode(IntEnum):
    """The names are the ones of N.h: N_OK, N_POINTER and so on; 5 is free."""

    OK = 0
    POINTER = 1
    MORE = 2
    ORDER = 3
    WEIGHTS = 4
    DAMAGED = 6
    OVERWRITTEN = 7
