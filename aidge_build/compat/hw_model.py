# SPDX-License-Identifier: MIT
"""Memories of a target as memory managers of the inherited API name them."""

from __future__ import annotations

from dataclasses import dataclass

from aidge_build.compat.placeholders import placeholder_names

globals().update(placeholder_names("hw_model"))


@dataclass
class Memory:
    """A memory of `capacity` bytes; the one with the smallest `priority` is filled first. `used` bytes are not for tensors."""

    capacity: int
    priority: int = 0
    used: int = 0

    @property
    def available_capacity(self) -> int:
        """The bytes that tensors may take."""
        return self.capacity - self.used
