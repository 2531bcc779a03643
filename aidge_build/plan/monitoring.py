# SPDX-License-Identifier: MIT
"""N_monitor: counters of what a device sees, in RAM, and the dump of them that `aidge-build accuracy --field` reads.

| counters | type | content |
|---|---|---|
| inferences | uint32 | since the last reset; stays at its largest value |
| saturated, beyond | uint32 for each counted input | elements at an end of their type, outside the range of the samples |
| counted | uint16 | inferences in the numbers before and after this one, but `inferences` |
| with_saturated, with_beyond | uint16 for each counted input | inferences with such elements |
| bins | uint8 | histograms, one after the other: each inference is in one bin of each |

If a bin reaches 255, or `counted` its limit, all numbers but `inferences` are halved. Within a histogram the remainder of a half
goes to the next bin, so that each histogram still adds up to `counted`. So old inferences weigh half as much, then a quarter.

| bytes of the dump | content |
|---|---|
| 4 | MAGIC |
| 1, 1, 2 | FORMAT, counted inputs, bytes of the dump |
| 12 | digest of the meaning of these counters |
| rest | the counters in their order, little-endian, without gaps |
| 4 | CRC-32 of all bytes before it (IEEE 802.3, the CRC of zlib) |
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from aidge_build.base.errors import AidgeError
from aidge_build.graph.dtype import DType
from aidge_build.graph.tensor import Tensor
from aidge_build.graph.view import GraphView
from aidge_build.plan.counting import elements_of_step, instructions_at_end
from aidge_build.plan.options import Options
from aidge_build.plan.seen_range import BINS, SUMS, SeenRange, sum_dtype

MAGIC = b"AMON"
FORMAT = 1
HEAD_BYTES, DIGEST_BYTES, CRC_BYTES = 8, 12, 4
FULL = 255  # of a bin
MOST_CLASSES = 64  # an output with more elements is no score of classes
NUMBERS = 8  # bins of an output that is one class number: the last one counts all larger numbers
MOST_COUNTED = (1 << 16) - 1
MOST_ELEMENTS = 1 << 24
_INPUTS = (DType.int8, DType.uint8, DType.int16, DType.uint16, DType.float32)
_OUTPUTS = (DType.int8, DType.uint8, DType.int16, DType.uint16, DType.float32)
_ANY_RANGE = SeenRange(0, 0, 0, 0, ((),) * len(SUMS))  # sizes depend on no sample
_NUMBERS = (DType.int32, DType.int64, DType.uint32, DType.uint64)
# Edges of the bins of margins and values, in parts of the range of a quantized type (256 or 65,536), and real values of floats.
_MARGINS = (0.0625, 0.25, 0.5, 0.9375)
_FLOAT_VALUES = (-4.0, -1.0, -0.25, 0.0, 0.25, 1.0, 4.0)
_VALUES = tuple(part / 8 - 0.5 for part in range(1, 8))


@dataclass(frozen=True)
class MonitoredInput:
    """An input with counters: `index` among the inputs; `seen` is None if no samples say what is usual: saturation is counted.
    With --max-step a step counts up to `piece` elements."""

    name: str
    index: int
    dtype: DType
    elements: int
    seen: SeenRange | None
    piece: int = 0

    @property
    def steps(self) -> int:
        """The steps that count the input."""
        return -(-self.elements // self.piece) if self.piece else 0

    @property
    def sums(self) -> DType | None:
        """The type of its sums; None without samples."""
        return sum_dtype(self.dtype, self.elements) if self.seen else None

    @property
    def ends(self) -> tuple[int, int] | None:
        """The least and the largest value of an integer type."""
        if self.dtype.is_float:
            return None
        return self.dtype.range


@dataclass(frozen=True)
class MonitoredOutput:
    """An output with histograms: `scores` of classes (top class, margin), the `number` of a class, or one `value`."""

    name: str
    index: int
    dtype: DType
    elements: int
    kind: Literal["scores", "number", "value"]

    @property
    def classes(self) -> int:
        """The bins of the class."""
        return NUMBERS if self.kind == "number" else self.elements

    @property
    def edges(self) -> tuple[int | float, ...]:
        """The edges of the bins of margin or value, in stored values; () for the number of a class."""
        if self.kind == "number":
            return ()
        if self.dtype.is_float:
            return _MARGINS if self.kind == "scores" else _FLOAT_VALUES
        parts = _MARGINS if self.kind == "scores" else _VALUES
        size = 1 << 8 * self.dtype.size_bytes
        offset = size // 2 + self.dtype.range[0] if self.kind == "value" else 0
        return tuple(round(part * size) + offset for part in parts)


@dataclass(frozen=True)
class Histogram:
    """`bins` counters from `first` on: of the `what` of an input or output (`of`)."""

    what: str
    of: str
    first: int
    bins: int


@dataclass(frozen=True)
class Monitoring:
    """The counters of a model. If the elements of an input are counted in several calls (`is_in_pieces`), RAM holds the sums of
    the elements so far: an inference that is left before its end counts nothing."""

    inputs: tuple[MonitoredInput, ...]
    outputs: tuple[MonitoredOutput, ...]
    is_in_pieces: bool = False

    @property
    def histograms(self) -> tuple[Histogram, ...]:
        """All histograms, in the order of their bins."""
        found, first = [], 0
        for what, name, bins in self._histograms():
            found.append(Histogram(what, name, first, bins))
            first += bins
        return tuple(found)

    def _histograms(self) -> Iterator[tuple[str, str, int]]:
        for one in self.inputs:
            yield from ((what, one.name, BINS) for what in SUMS if one.seen)
        for output in self.outputs:
            if output.kind != "value":
                yield "class", output.name, output.classes
            if output.kind != "number":
                yield "margin" if output.kind == "scores" else "value", output.name, len(output.edges) + 1

    @property
    def bins(self) -> int:
        """The number of all bins."""
        return sum(one.bins for one in self.histograms)

    @property
    def size_bytes(self) -> int:
        """The bytes of the counters in RAM, and of the sums."""
        return -(-(self.sum_bytes + self.counter_bytes) // self.alignment) * self.alignment

    @property
    def alignment(self) -> int:
        """The alignment of the struct in bytes: sums may have 64 bits."""
        return max([4, *(one.sums.size_bytes for one in self.inputs if one.sums and self.is_in_pieces)])

    @property
    def sum_bytes(self) -> int:
        """The bytes of the sums: four numbers of an input with samples, and its saturated elements and the elements beyond."""
        if not self.is_in_pieces:
            return 0
        return sum(8 + (4 * one.sums.size_bytes if one.sums else 0) for one in self.inputs)

    @property
    def counter_bytes(self) -> int:
        """The bytes of the counters without the gap at their end."""
        return 6 + 12 * len(self.inputs) + self.bins

    @property
    def dump_bytes(self) -> int:
        """The bytes that N_monitor writes."""
        return HEAD_BYTES + DIGEST_BYTES + self.counter_bytes + CRC_BYTES

    @property
    def most_counted(self) -> int:
        """The limit of `counted`: below it no number of elements overflows."""
        return min([MOST_COUNTED, *(((1 << 32) - 1) // one.elements for one in self.inputs)])

    def head(self) -> bytes:
        """Returns the first bytes of each dump, before the digest."""
        return MAGIC + bytes([FORMAT, len(self.inputs)]) + self.dump_bytes.to_bytes(2, "little")


def monitoring_of(view: GraphView, options: Options, seen: dict[str, SeenRange], has_fpu: bool = True) -> Monitoring | None:
    """Returns the counters of a graph, with what samples say about its inputs; None if the options ask for none. AidgeError
    (MONITOR) if there is nothing to count, or (USAGE) an output to count that is never in memory as a whole."""
    if options.monitor == "off":
        return None
    inputs = [
        MonitoredInput(
            name,
            index,
            tensor.dtype,
            tensor.elements,
            seen.get(name),
            elements_of_step(tensor, options.max_step, has_fpu) if options.max_step else 0,
        )
        for index, (name, tensor) in enumerate((name, view.tensor(name)) for name in view.given)
        if is_counted(tensor) and (name in seen or not tensor.dtype.is_float)
    ]
    outputs = _outputs(view)
    if not inputs and not outputs:
        raise AidgeError(
            "counts nothing of this model: no input has samples or an integer type, and no output is a score of classes, a class "
            "number or one value",
            where="--monitor",
            hint="add --monitor-samples F.npz, or leave out --monitor",
            code="MONITOR",
        )
    if outputs and options.output == "rows":
        what = f"output '{outputs[0].name}' is counted as a whole, and by rows it never is in memory as a whole"
        raise AidgeError(what, where="--monitor", hint="--output whole", code="USAGE")
    return Monitoring(tuple(inputs), tuple(outputs), bool(options.max_step) or "rows" in (options.input, options.output))


def _outputs(view: GraphView) -> list[MonitoredOutput]:
    return [
        MonitoredOutput(name, index, tensor.dtype, tensor.elements, kind)
        for index, (name, tensor) in enumerate((name, view.tensor(name)) for name in view.handed_out)
        if (kind := kind_of(tensor)) is not None
    ]


def monitor_bytes(view: GraphView, options: Options) -> int:
    """Returns the bytes of the counters in RAM; 0 without a monitor."""
    counted = [name for name in view.given if is_counted(view.tensor(name))] if options.monitor_ranges else []
    monitoring = monitoring_of(view, options, dict.fromkeys(counted, _ANY_RANGE))
    return monitoring.size_bytes if monitoring else 0


def is_counted(tensor: Tensor) -> bool:
    """Whether an input of this type and size can have counters."""
    return tensor.dtype in _INPUTS and 0 < tensor.elements <= MOST_ELEMENTS


def kind_of(tensor: Tensor) -> Literal["scores", "number", "value"] | None:
    """Returns the counters of an output; None if it has none."""
    if tensor.elements == 1 and tensor.dtype in _NUMBERS and tensor.quantization is None:
        return "number"
    if tensor.dtype not in _OUTPUTS:
        return None
    if tensor.elements == 1:
        return "value"
    is_row = max(tensor.dims, default=0) == tensor.elements
    return "scores" if is_row and tensor.elements <= MOST_CLASSES else None


def monitor_at_end(view: GraphView, options: Options, has_fpu: bool) -> int:
    """Returns the instructions with which the last step of an inference counts; 0 without a monitor or steps."""
    if options.monitor == "off" or not options.max_step:
        return 0
    inputs = [tensor for name in view.given if is_counted(tensor := view.tensor(name))]
    counted = Monitoring((), tuple(_outputs(view)))
    return instructions_at_end(
        inputs, [view.tensor(one.name) for one in counted.outputs], counted.bins + len(inputs) * BINS * len(SUMS), has_fpu
    )
