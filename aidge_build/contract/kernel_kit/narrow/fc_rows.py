# SPDX-License-Identifier: MIT
"""int8 fully connected layer."""

from __future__ import annotations

from typing import ClassVar, TypeVar

import numpy

from aidge_build.contract.call import Call, Constant, Input, Output, Scratch, Struct, computed
from aidge_build.contract.kernel_kit.byte_weights import offsets_of
from aidge_build.contract.kernel_kit.following import following
from aidge_build.contract.kernel_kit.linear_int8 import Linear, LinearNode
from aidge_build.contract.kernel_kit.narrow import fc_blocks
from aidge_build.contract.kernel_kit.narrow.columns import column_bytes, dense_call
from aidge_build.contract.kernel_kit.narrow.conditions import linear_spec
from aidge_build.contract.kernel_kit.narrow.core import Core
from aidge_build.contract.kernel_kit.narrow.dense import PIXELS
from aidge_build.contract.kernel_kit.narrow.fc import store_text, texts, what_is_added
from aidge_build.contract.kernel_kit.narrow.fc_layout import HALF, PIECE, UNITS, Layout, layout, most_words
from aidge_build.contract.kernel_kit.narrow.packing import (
    GENERAL_KIND,
    PACKED_BITS,
    Kinds,
    filled,
    form_of,
    general_numbers,
    head,
    kinds_of,
)
from aidge_build.contract.kernel_kit.packing import as_words
from aidge_build.contract.kernel_kit.window2d import rows_as_image
from aidge_build.contract.spec import ROW_MAJOR, Demands, ImplSpec, NodeView, Predicate

ANY_OUTLIERS = 4  # weights; one of so many may be kept apart if others may come
Taps = TypeVar("Taps", int, numpy.ndarray)
MOST_STEP = 127  # bytes from one weight that is kept apart to the next
MOST_ROWS = 4  # six pixels cost as much as one
MOST_COLUMN_BYTES = 4096  # of rows that are computed as pixels
LIST_END = -1
MOST_INDEX = 32767  # of an output or a tap in a list of halfwords


def fc_demands(view: NodeView, rows: int) -> Demands:
    """Scratch: the columns of a block and sums. Outputs follow a row's inputs."""
    outputs, features = view.inputs[1].dims[:2]
    steps = [(row * outputs, row * features) for row in range(1, rows + 1)]
    return following(steps, view.outputs[0], 4 * most_words(features, outputs))


def _too_wide(view: NodeView) -> str:
    most = max(view.inputs[1].dims[:2])
    return f"{most:,} inputs or outputs, at most {MOST_INDEX + 1:,}" if most > MOST_INDEX + 1 else ""


_INDEXED = Predicate("inputs and outputs have numbers of 16 bits", _too_wide)


def are_pixels(view: NodeView) -> bool:
    """Whether rows cost less as the pixels of a convolution, in not much more memory."""
    rows, features = view.inputs[0].dims
    return rows > MOST_ROWS and column_bytes(view) <= MOST_COLUMN_BYTES


def spec(core: Core) -> ImplSpec:
    """Returns the spec of fully connected layers on the cores of a library."""
    return linear_spec(core.features, _INDEXED, form=ROW_MAJOR, with_offsets=lambda _: True)


class FcInt8(LinearNode):
    """A library's subclass names its `core`."""

    core: ClassVar[Core]

    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        rows, features = view.inputs[0].dims
        if not are_pixels(view):
            return fc_demands(view, rows)
        done = [min(row + PIXELS, rows) for row in range(0, rows, PIXELS)]
        steps = [(row * view.outputs[0].dims[1], row * features) for row in done]
        return following(steps, view.outputs[0], column_bytes(view))

    def call(self) -> Call:
        core = self.core.on(self.view.features)
        if not are_pixels(self.view):
            return fc_call(core, self, self.inputs[0].dims[0])
        return dense_call(core, self, self.inputs[1].data, rows_as_image(self.inputs[0].dims, self.outputs[0].dims), False)


def fc_call(core: Core, node: LinearNode, rows: int) -> Call:
    """The call for weights [outputs, features(, 1, 1)]."""
    outputs, features = node.inputs[1].dims[:2]
    linear = node.linear(node.inputs[1].data.reshape(outputs, features))
    added = offsets_of(linear.rows)
    weights = linear.rows - added[:, None]
    if not linear.is_any and not added.any() and fc_blocks.fits(weights, linear.bits <= PACKED_BITS):
        return _sparse_call(core, linear, rows)
    found = layout(weights, core.outputs, node.view.objective, linear.is_any)
    numbers, kinds = _numbers(core, linear, found)
    marks = numpy.arange(outputs) if linear.is_any else numpy.flatnonzero(kinds.kinds)
    outliers, runs = _outliers(core, weights, found), _runs(core, weights, found)
    apart = int(found.outliers.sum())
    are_many = 0 < apart and runs.nbytes < outliers.nbytes and not linear.is_any
    if linear.is_any:  # room for the ones of other weights, after the end of the list
        outliers = numpy.pad(outliers, ((0, max(0, -(-features * outputs // ANY_OUTLIERS) - apart)), (0, 0)))
    wanted = {
        "offsets": bool(added.any()),
        "outliers": (apart or linear.is_any) and not are_many,
        "runs": are_many,
        "marks": len(marks),
    }
    others = tuple(kind for kind, is_wanted in wanted.items() if is_wanted)
    is_one, is_packed = found.blocks == 1, linear.bits <= PACKED_BITS
    function, functions = texts(
        core, found.units, found.turn_units, outputs > found.paired, others, found.is_in_pieces, is_one, is_packed
    )
    lists = {
        "offsets": (Constant("offsets", added[found.order].astype(numpy.int8)),),
        "outliers": (Constant("outliers", outliers),),
        "runs": (Constant("runs", runs),),
        "marks": _marks(kinds, marks, found),
    }
    return Call(
        function,
        ("core/target.h", "kit/narrow/fc.h"),
        (
            Input(0),
            Output(0),
            Constant("weights", _weights(weights, found, is_packed)),
            Constant("numbers", numbers),
            Constant("order", found.order.astype(numpy.uint16)),
            *(constant for kind in others for constant in lists[kind]),
            Scratch(),
            _shape(found, rows, features, outputs),
        ),
        note=_note(found, outputs, apart),
        texts=functions,
        facts=computed(f"1 row x {core.outputs} outputs", int((kinds.kinds != GENERAL_KIND).sum()), outputs, "output"),
        work={name: rows * count for name, count in _turns(found, kinds, features, apart).items()},
    )


def _sparse_call(core: Core, linear: Linear, rows: int) -> Call:
    """The call where few blocks of the weights are not 0."""
    outputs, features = linear.rows.shape
    found = Layout(numpy.arange(outputs), core.outputs, (), (), numpy.zeros((outputs, features), bool), features, features)
    numbers, kinds = _numbers(core, linear, found)
    marks = _marks(kinds, numpy.flatnonzero(kinds.kinds), found)
    blocks = fc_blocks.stream(linear.rows)
    function, functions = fc_blocks.texts(core, len(marks) > 0, store_text(core))
    return Call(
        function,
        ("core/target.h", "kit/narrow/fc.h"),
        (
            Input(0),
            Output(0),
            Constant("blocks", blocks),
            Constant("numbers", numbers),
            Constant("order", found.order.astype(numpy.uint16)),
            *marks,
            Scratch(),
            _shape(found, rows, features, outputs),
        ),
        note=f"{outputs} outputs without blocks of zeros",
        texts=functions,
        facts=computed("1 row x 1 output", int((kinds.kinds != GENERAL_KIND).sum()), outputs, "output"),
    )


def _marks(kinds: Kinds, marks: numpy.ndarray, found: Layout) -> tuple[Constant, ...]:
    if not len(marks):
        return ()
    entries = _ended(numpy.stack([marks, kinds.kinds[marks]], axis=1), found).astype(numpy.uint16)
    return Constant("marks", entries), kinds.constants[1]


def _shape(found: Layout, rows: int, features: int, outputs: int) -> Struct:
    groups = dict(zip(found.units, found.groups))
    sizes = {
        "rows": rows,
        "features": features,
        "outputs": outputs,
        "block_taps": found.block_taps,
        "taps": found.taps,
        "column_words": found.block_taps + 1 + found.block_taps // (2 * found.shortest),
        "chunk": 2 * found.shortest,
        **{f"groups_{units}": groups.get(units, 0) for units in UNITS},
        "singles": outputs - found.paired,
        "piece": min(outputs, PIECE),
    }
    return Struct("aidge_kit_narrow_fc", sizes)


def _turns(found: Layout, kinds: Kinds, features: int, outliers: int) -> dict[str, int]:
    """How often the loops of a row turn, which depends on the weights: of its columns, of groups, of outputs alone, of what is
    put right at the end."""
    taps, singles = found.taps, len(found.order) - found.paired
    return {
        "columns": taps // 2,
        "column_chunks": taps // (2 * found.shortest),
        "unfilled_chunks": taps // (2 * found.shortest) - features // (2 * found.shortest),
        "joins": sum(taps // (2 * units) for units in found.units[1:]),
        "groups": found.blocks * sum(found.groups),
        "group_units": taps // 2 * sum(found.groups),
        "group_chunks": sum(taps // (2 * units) * groups for units, groups in zip(found.units, found.groups)),
        "singles": found.blocks * singles,
        "single_taps": taps * singles,
        "single_turns": taps // (2 * found.turn_units) * singles,
        "outliers": outliers,
        "corrections": len(kinds.corrections),
        "in_float": int((kinds.kinds == GENERAL_KIND).sum()),
    }


def _note(found: Layout, outputs: int, outliers: int) -> str:
    chunks = ", ".join(
        f"{found.together * groups} in pairs with chunks of {2 * units}" for units, groups in zip(found.units, found.groups)
    )
    alone = f"; {outliers} weights apart" if outliers else ""
    return f"{outputs} outputs{': ' + chunks + ' taps' if chunks else ' one by one'}{alone}"


def _ended(entries: numpy.ndarray, found: Layout) -> numpy.ndarray:
    """Entries [place of the output, ...], rising, as fc.h reads them: places in each piece, and the end of its list."""
    lists, first = [], 0
    for end in found.pieces:
        own = entries[(first <= entries[:, 0]) & (entries[:, 0] < end)]
        own[:, 0] -= first
        lists += [own, numpy.full((1, entries.shape[1]), LIST_END)]
        first = end
    return numpy.concatenate(lists)


def _outliers(core: Core, rows: numpy.ndarray, found: Layout) -> numpy.ndarray:
    """[place of the output, tap, weight] of each, int16."""
    places, taps = numpy.nonzero(found.outliers[found.order])
    entries = numpy.stack([places, _byte_of(core, found, taps), rows[found.order[places], taps]], axis=1)
    return _ended(entries, found).astype(numpy.int16)


def _runs(core: Core, rows: numpy.ndarray, found: Layout) -> numpy.ndarray:
    """The pairs of fc.h, int8 [pairs, 2]."""
    pairs: list[tuple[int, int]] = []
    for output in found.order:
        place = 0
        for tap in numpy.flatnonzero(found.outliers[output]).tolist():
            moves, step = divmod(_byte_of(core, found, tap) - place, MOST_STEP)
            pairs += [(MOST_STEP, 0)] * moves + [(step, int(rows[output, tap]))]
            place = _byte_of(core, found, tap)
        pairs.append((0, 0))
    return numpy.array(pairs, numpy.int8)


def _byte_of(core: Core, found: Layout, taps: Taps) -> Taps:
    """Returns the byte of the input of a tap: among the inputs, or in columns, as the first or the last byte of a word (fc.h)."""
    is_last = found.tap_bytes > 1 and core.emitter.multiplies_high
    return found.tap_bytes * taps + taps % 2 * (found.tap_bytes - 1) * is_last


def _weights(rows: numpy.ndarray, found: Layout, is_packed: bool) -> numpy.ndarray:
    """The words of fc.h."""
    kept = numpy.where(found.outliers, 0, rows)
    bytes_ = (filled(kept, found.taps)[found.order] + what_is_added(is_packed)).astype(numpy.uint8)
    blocks = []
    for first in range(0, found.taps, found.block_taps):
        part = bytes_[:, first : first + found.block_taps]
        # [group, pair, output, unit, tap] -> [group, unit, pair, output, tap]
        pairs = part[: found.paired].reshape(-1, found.together // 2, 2, part.shape[1] // 2, 2).transpose(0, 3, 1, 2, 4)
        if is_packed:
            pairs = pairs[:, :, ::2] | pairs[:, :, 1::2] << 4
        blocks += [pairs.ravel(), part[found.paired :].ravel()]
    return numpy.concatenate(blocks).view("<i4").astype(numpy.int32)


def _numbers(core: Core, linear: Linear, found: Layout) -> tuple[numpy.ndarray, Kinds]:
    """The words of fc.h."""
    form, order = form_of(core, linear), found.order
    reach = numpy.maximum(numpy.abs(linear.low - form.starts), numpy.abs(linear.high - form.starts))
    kinds = kinds_of(form, reach < 1 << 31, order)
    fast = numpy.stack([linear.bias - form.starts, form.widths, form.constants, form.multipliers], axis=1)
    general = numpy.stack([linear.bias, *general_numbers(linear)], axis=1)
    numbers = numpy.where((kinds.kinds != GENERAL_KIND)[:, None], fast[order], general[order])
    numbers[: found.paired, 0] -= HALF * found.chunks
    return as_words([*head(linear, form), *numbers.ravel().tolist()]), kinds
