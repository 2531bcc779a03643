# SPDX-License-Identifier: MIT
"""All that the kernels of this folder must know of a library."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from aidge_build.boards.cores import RV32E
from aidge_build.contract.kernel_kit.routine import Routine


@dataclass(frozen=True)
class Core:
    """A library of kernels: its name, its emitter of assembly, the features of its cores, and how many output channels its dense
    kernels compute at a time if nothing prevents it, and how many outputs the kernels of fully connected layers, in pairs. `few`
    is the same for its cores with 16 registers, if it has such."""

    library: str
    emitter: type[Routine]
    features: frozenset[str] = frozenset()
    together: int = 1
    outputs: int = 4
    few: Core | None = None

    def on(self, features: Collection[str]) -> Core:
        """Returns the library for a core with these features."""
        return self.few if self.few and RV32E in features else self

    @property
    def prefix(self) -> str:
        """The begin of the names of its C functions."""
        return f"aidge_{self.library}"
