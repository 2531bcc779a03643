# SPDX-License-Identifier: MIT
"""What a model remembers between two pushes of rows: where the inference waits. It is RAM of its own, as a state is."""

from __future__ import annotations

from dataclasses import dataclass

from aidge_build.cascade.cascade import Cascade, Line

_LARGEST_HALF = (1 << 16) - 1


@dataclass(frozen=True)
class Progress:
    """The fields of the struct: `pointers` to outputs, `cursors` into whole tensors, then the number of the next step, the rows
    that came, and those of them that wait for the rest of their band. `line` is that of the input."""

    line: Line
    pointers: int
    cursors: int

    @staticmethod
    def of(cascades: tuple[Cascade, ...], pointers: int) -> Progress | None:
        """None where no input comes by rows. `pointers`: the outputs that the firmware names when it begins."""
        found = next((cascade for cascade in cascades if cascade.arriving), None)
        if found is None:
            return None
        return Progress(found.lines[found.arriving], pointers, len(found.walked))

    @property
    def count_bytes(self) -> int:
        """Of a number of rows."""
        return 2 if self.line.height <= _LARGEST_HALF else 4

    def alignment(self, pointer_bytes: int) -> int:
        """Of the struct, on a target with pointers of so many bytes."""
        return max(pointer_bytes if self.pointers else 2, 4 if self.cursors else 2, self.count_bytes)

    def size_bytes(self, pointer_bytes: int) -> int:
        """Of the struct, by the rules that all of C's compilers for these targets follow: fields in order, the widest first."""
        used = self.pointers * pointer_bytes + 4 * self.cursors + 2 * self.count_bytes + 2
        step = self.alignment(pointer_bytes)
        return -(-used // step) * step
