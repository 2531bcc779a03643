# SPDX-License-Identifier: MIT
"""The generator's result: files by name, and the manifest as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Sources:
    """`files` maps a name without a folder to its bytes; `manifest` is the content of N.plan.json; `blob` is what N_bind takes,
    b"" where weights cannot be replaced."""

    files: Mapping[str, bytes]
    manifest: dict
    blob: bytes = b""
