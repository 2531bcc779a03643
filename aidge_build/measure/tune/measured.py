# SPDX-License-Identifier: MIT
"""The measurement of a layer with a kernel, as a value that goes to a file and comes back."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Measured:
    """A layer with one of its kernels; `cycles` are estimated, or None, `flash_lines` how often its constants come from another
    line of flash. `shapes` are its classes of shapes from coarse to fine, `size` is the class by which costs are known
    (adaptation/layer_classes.py); `formats` are the formats of its tensors."""

    layer: str
    op: str
    types: str
    shapes: tuple[str, ...]
    size: str
    formats: str
    library: str
    kernel: str
    macs: int
    elements: int  # of all outputs
    instructions: int
    cycles: int | None
    flash_lines: int | None

    @property
    def title(self) -> str:
        """The kernel as people name it."""
        return f"{self.library} {self.kernel}"

    def as_json(self) -> dict[str, Any]:
        """Numbers, words and lists."""
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Measured:
        """Returns the measurement that `as_json` wrote."""
        return cls(**{**data, "shapes": tuple(data["shapes"])})
