# SPDX-License-Identifier: MIT
"""The emitter of this library's assembly."""

from __future__ import annotations

from aidge_build.kernel_kit.routine import Routine


class Code(Routine):
    macros = "AIDGE_ARMV7M"


__all__ = ["Code"]
