# SPDX-License-Identifier: MIT
"""Which outputs of a depthwise layer make a pair, and the plane of words that holds what both see."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import groupby

from aidge_build.contract.call import Struct
from aidge_build.contract.kernel_kit.window2d import window2d
from aidge_build.contract.spec import NodeView

MOST_SCRATCH_BYTES = 4096
SHARED_BYTES = 84  # of aidge_armv7m_shared
BLOCK = 3  # pairs
BLOCK_COST, PAIR_COST = 30, 22  # instructions of a block, and of a pair in it, beside those of its taps


@dataclass(frozen=True)
class Layout:
    """Pairs are (height, width). The second output of a pair lies `apart` from the first; `band` of the `rows` rows of `columns`
    pairs are computed from one plane."""

    in_size: tuple[int, int]
    out_size: tuple[int, int]
    kernel: tuple[int, int]
    stride: tuple[int, int]
    dilation: tuple[int, int]
    pads: tuple[int, int]
    apart: tuple[int, int]
    rows: int
    columns: int
    band: int

    def _extent(self, axis: int, outputs: int) -> int:
        return (outputs - 1) * self.stride[axis] + (self.kernel[axis] - 1) * self.dilation[axis] + 1

    @property
    def plane_rows(self) -> int:
        return self._extent(0, self.band)

    @property
    def pitch(self) -> int:
        return self._extent(1, self.columns)

    @property
    def scratch_bytes(self) -> int:
        return SHARED_BYTES + 4 * self.plane_rows * self.pitch

    @property
    def cost(self) -> int:
        """About how many instructions a channel takes."""
        whole, rest = self.blocks
        taps = self.kernel[0] * self.kernel[1]
        blocks = whole * (BLOCK_COST + BLOCK * (PAIR_COST + taps)) + (BLOCK_COST + rest * (PAIR_COST + taps) if rest else 0)
        return self.rows * blocks + 5 * self._extent(0, self.rows) * self.pitch

    @property
    def fills(self) -> tuple[int, int, int, int] | None:
        """Words of a row of the plane: pads, those whose second value alone lies in the image, both, the first alone; more pads
        follow. None where they stand in another order."""
        distance = self.apart[1] * self.stride[1]
        columns = [column - self.pads[1] for column in range(self.pitch)]
        kinds = [(0 <= column < self.in_size[1], 0 <= column + distance < self.in_size[1]) for column in columns]
        runs = [(kind, len(list(group))) for kind, group in groupby(kinds)]
        before = runs.pop(0)[1] if runs[0][0] == (False, False) else 0
        if runs and runs[-1][0] == (False, False):
            runs.pop()
        counts, order = dict(runs), [(False, True), (True, True), (True, False)]
        if len(counts) < len(runs) or list(counts) != [kind for kind in order if kind in counts]:
            return None
        seconds, both, firsts = (counts.get(kind, 0) for kind in order)
        return before, seconds, both, firsts

    @property
    def blocks(self) -> tuple[int, int]:
        """Blocks of a row, and pairs that are left."""
        return divmod(self.columns, BLOCK)

    @property
    def is_looped(self) -> bool:
        """Whether the text has a loop over the blocks of a row."""
        whole, rest = self.blocks
        return whole > 1 or (whole == 1 and not rest)

    @property
    def name(self) -> str:
        """The properties on which the text depends."""
        steps = f"s{self.stride[1]}d{self.dilation[1]}"
        whole, rest = self.blocks
        return f"{self.kernel[0]}x{self.kernel[1]}_{steps}_{'blocks' if self.is_looped else 'block' if whole else ''}{rest}"

    @property
    def works_in_place(self) -> bool:
        """Whether an output at the place of the input overwrites only what is read no more."""
        done, top = 0, -self.pads[0]
        while done < self.rows:
            rows = min(self.band, self.rows - done)
            read = (top + self._extent(0, rows) + self.apart[0] * self.stride[0]) * self.in_size[1]
            done, top = done + rows, top + rows * self.stride[0]
            if done < self.rows and done * self.out_size[1] > max(0, read):
                return False
        return self.out_size[0] * self.out_size[1] <= self.in_size[0] * self.in_size[1]

    @property
    def plane_turns(self) -> tuple[int, int, int, int, int]:
        """Bands of a channel; rows of the plane that lie in the image with both values, that do not, and that move up; values in
        the rows that do not."""
        _, seconds, both, firsts = self.fills
        values = ((0, firsts + both), (self.apart[0] * self.stride[0], seconds + both))
        bands = inside = edge = moved = edge_values = done = ready = 0
        while done < self.rows:
            rows = min(self.band, self.rows - done)
            top, end = done * self.stride[0] - self.pads[0], self._extent(0, rows)
            for row in range(top + ready, top + end):
                found = [count for down, count in values if 0 <= row + down < self.in_size[0]]
                if len(found) == len(values):
                    inside += 1
                else:
                    edge, edge_values = edge + 1, edge_values + sum(found)
            bands, done = bands + 1, done + rows
            if done < self.rows:
                ready = max(0, end - rows * self.stride[0])
                moved += ready
        return bands, inside, edge, moved, edge_values

    @property
    def struct(self) -> Struct:
        """The struct of depthwise.h."""
        before, seconds, both, firsts = self.fills
        return Struct(
            "aidge_armv7m_depthwise",
            {
                "rows": self.rows,
                "band": self.band,
                "plane_rows": self.plane_rows,
                "pitch": self.pitch,
                "down": self.apart[0],
                "right": self.apart[1],
                "columns": self.columns,
                "blocks": self.blocks[0],
                "rest": self.blocks[1],
                "before": before,
                "seconds": seconds,
                "both": both,
                "firsts": firsts,
            },
        )


def window_of(view: NodeView) -> Struct:
    """The window of the layer, or of a band of its rows, which stay rows."""
    operator = view.operator
    return window2d(view.inputs[0], view.outputs[0], operator.window, operator.groups, is_upright=view.layer is not None)


def layout_of(view: NodeView) -> Layout | None:
    """The cheapest layout whose plane is small enough; None where there is none. Bands have that of the largest of them."""
    fields = window_of(view).fields
    if view.layer is None:
        return _cheapest(_layouts(fields))
    of_largest = _layouts({**fields, "out_height": view.layer.rows})
    largest = _cheapest(layout for layout in of_largest if layout.apart[0] == 0 or view.layer.fewest > 1)
    if largest is None:
        return None
    return next((layout for layout in _layouts(fields) if (layout.apart[0] == 0) == (largest.apart[0] == 0)), None)


def _cheapest(layouts: Iterable[Layout]) -> Layout | None:
    return min(filter(_is_offered, layouts), key=lambda layout: (layout.cost, layout.scratch_bytes), default=None)


def _is_offered(layout: Layout) -> bool:
    return layout.scratch_bytes <= MOST_SCRATCH_BYTES and layout.fills is not None


def _layouts(fields: Mapping[str, int]) -> Iterator[Layout]:
    """Pairs one above the other, with a plane of the whole image; and pairs beside each other, in bands."""

    def pair(name: str) -> tuple[int, int]:
        return fields[f"{name}_height"], fields[f"{name}_width"]

    height, width = pair("out")
    common = {
        "in_size": pair("in"),
        "out_size": (height, width),
        "kernel": pair("kernel"),
        "stride": pair("stride"),
        "dilation": pair("dilation"),
        "pads": (fields["pad_top"], fields["pad_left"]),
    }
    if height > 1:
        half = (height + 1) // 2
        yield Layout(**common, apart=(height - half, 0), rows=half, columns=width, band=half)
    if width > 1:
        half = (width + 1) // 2
        beside = Layout(**common, apart=(0, width - half), rows=height, columns=half, band=height)
        bands = [replace(beside, band=band) for band in range(height, 0, -1)]
        yield from [layout for layout in bands if layout.scratch_bytes <= MOST_SCRATCH_BYTES][:1]
