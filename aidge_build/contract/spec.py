# SPDX-License-Identifier: MIT
"""Specs: the nodes that an implementation accepts, and its demands on the planner. Structural values, stable across processes."""

from __future__ import annotations

import enum
import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

from aidge_build.base.errors import AidgeError
from aidge_build.contract.node_view import NodeView
from aidge_build.graph.dtype import DType
from aidge_build.graph.format import NAMED_ORDERS, Format, channels_last, row_major
from aidge_build.graph.quantization import Quantization
from aidge_build.graph.tensor import Tensor
from aidge_build.graph.view import GraphView
from aidge_build.operators.arithmetic.contracts import CONTRACTS

OPEN = -1  # an end of a range that is not bounded


class DFormat(enum.StrEnum):
    """A storage order in a spec. `any` accepts every order; `any_1` to `any_5` accept one order everywhere in a spec."""

    any = "any"
    any_1 = "any_1"
    any_2 = "any_2"
    any_3 = "any_3"
    any_4 = "any_4"
    any_5 = "any_5"
    row_major = "row_major"
    default = "row_major"  # the inherited name
    channels_last = "channels_last"
    nc = "nc"
    ncw = "ncw"
    nwc = "nwc"
    nchw = "nchw"
    nhwc = "nhwc"
    ncdhw = "ncdhw"
    ndhwc = "ndhwc"
    chw = "chw"
    hwc = "hwc"
    chwn = "chwn"

    @property
    def is_wildcard(self) -> bool:
        """Whether it accepts more than one order."""
        return self.name.startswith("any")


dformat = DFormat  # the spelling of the inherited API: dformat.nhwc
ANY = DFormat.any
ROW_MAJOR = DFormat.row_major
CHANNELS_LAST = DFormat.channels_last
SAME = DFormat.any_1  # any format, but the same for every input and output of the spec that says SAME


class Extent(NamedTuple):
    """The sizes of one axis that are accepted: `low` to `high` (-1: open), multiples of `multiple`."""

    low: int = OPEN
    high: int = OPEN
    multiple: int = 1

    def accepts(self, other: Extent) -> bool:
        """Whether every size of the other extent is one of this."""
        above = self.low == OPEN or other.low >= self.low
        below = self.high == OPEN or other.high != OPEN and other.high <= self.high
        fixed = other.low == other.high != OPEN
        return above and below and (other.low if fixed else other.multiple) % self.multiple == 0

    def __str__(self) -> str:
        if self.low == self.high != OPEN:
            return str(self.low)
        text = f"{self.low if self.low != OPEN else ''}..{self.high if self.high != OPEN else ''}"
        if self.multiple == 1:
            return text
        return f"multiple of {self.multiple}" + (f" in {text}" if text != ".." else "")


def multiple_of(number: int) -> Extent:
    """Returns an axis with a multiple of this number as its size."""
    return Extent(multiple=number)


def _extent(given: int | Sequence[int]) -> Extent:
    extent = Extent(given, given) if isinstance(given, int) else Extent(*given)
    if extent.multiple < 1 or OPEN != extent.high < extent.low:
        raise AidgeError(
            f"the range {tuple(extent)} holds no size", code="SPEC", hint="(smallest, largest[, multiple]), -1 for an open end"
        )
    return extent


@dataclass(frozen=True)
class IOSpec:
    """One input or output: element type, storage order, dims in logical (ONNX) order.

    `dims` has one entry per axis: a size, -1 for any, (smallest, largest) with -1 for an open end, (smallest, largest,
    multiple), or `multiple_of(4)`. Empty means any dims.
    """

    dtype: DType = DType.any
    format: DFormat = ANY
    dims: tuple[Any, ...] = ()  # after construction: of Extent

    def __post_init__(self):
        if not isinstance(self.dtype, DType):
            raise AidgeError(f"{self.dtype!r} is no element type", code="SPEC", hint="for example dtype.int8, or dtype.any")
        if self.format not in [known.value for known in DFormat]:
            raise AidgeError(f"{self.format!r} is no format", code="SPEC", tried=[known.value for known in DFormat])
        object.__setattr__(self, "format", DFormat(self.format))
        object.__setattr__(self, "dims", tuple(_extent(given) for given in self.dims))

    @classmethod
    def of(cls, tensor: Tensor) -> IOSpec:
        """Returns the spec of exactly this tensor. An unnamed storage order is `any`."""
        return _required(tensor.dtype, tensor.format, tensor.dims)

    def format_for(self, rank: int) -> Format | None:
        """Returns the storage order that this spec fixes for a tensor of this rank; None if it fixes none."""
        if self.format is ROW_MAJOR:
            return row_major(rank)
        if self.format is CHANNELS_LAST:
            return channels_last(rank)
        return Format(NAMED_ORDERS[self.format]) if self.format in NAMED_ORDERS else None

    @cached_property
    def rank(self) -> int | None:
        """The number of axes that it wants; None for any number."""
        return len(self.dims) or (len(NAMED_ORDERS[self.format]) if self.format in NAMED_ORDERS else None)

    def rejection(self, required: IOSpec, bound: dict[DType, DType]) -> str:
        """Returns the predicate of a sentence about `required` that says why it does not fit; "" if it fits. Storage orders are
        ignored: adaptation changes them.

        `bound` holds what any_1 to any_5 mean so far.
        """
        wanted = self.dtype
        if wanted.is_wildcard and wanted is not DType.any:
            wanted = bound.setdefault(wanted, required.dtype)
        if wanted is not required.dtype and wanted is not DType.any:
            return f"is {required.dtype.name}, wants {wanted.name}" + (" as elsewhere" if self.dtype.is_wildcard else "")
        if self.rank is not None and self.rank != len(required.dims):
            return f"has rank {len(required.dims)}, wants {self.rank}"
        for axis, (extent, given) in enumerate(zip(self.dims, required.dims)):
            if not extent.accepts(given):
                return f"has {given} on axis {axis}, wants {extent}"
        return ""

    def __str__(self) -> str:
        parts = [self.dtype.name, *([self.format.value] if self.format is not ANY else ())]
        return " ".join(parts) + (f" [{', '.join(map(str, self.dims))}]" if self.dims else "")


@lru_cache(maxsize=1 << 14)
def _required(dtype: DType, form: Format | None, dims: tuple[int, ...]) -> IOSpec:
    name = str(form) if form is not None else ""
    return IOSpec(dtype, DFormat(name) if name in NAMED_ORDERS else ANY, dims)


@dataclass(frozen=True)
class Predicate:
    """A named condition on a node: equality and hash are by name, so that specs are the same in every process."""

    name: str
    rejection: Callable[[NodeView], str] = field(compare=False)  # "" when the node is accepted, else the reason


@dataclass(frozen=True)
class ImplSpec:
    """The conditions under which one implementation accepts a node. The last input (output) spec also holds for all further ones.

    `ImplSpec(io)` says the same for every input and output, `ImplSpec(inputs, outputs)` takes one IOSpec or a list of them
    on each side. `attributes` are values that the operator must have. `features` are required of the CPU (dsp, fpu, mve, narrow).
    """

    inputs: tuple[IOSpec, ...] | Any = (IOSpec(),)  # given as one IOSpec, too
    outputs: tuple[IOSpec, ...] | None = None
    predicates: tuple[Predicate, ...] = ()
    features: frozenset[str] = frozenset()
    rounding: str = "onnx"
    attributes: tuple[tuple[str, object], ...] = ()

    def __post_init__(self):
        outputs = self.outputs
        if outputs is None:
            outputs = self.inputs if isinstance(self.inputs, IOSpec) else IOSpec()
        object.__setattr__(self, "inputs", _sides(self.inputs))
        object.__setattr__(self, "outputs", _sides(outputs))
        object.__setattr__(self, "predicates", tuple(map(_named, self.predicates)))
        object.__setattr__(self, "features", frozenset(self.features))
        attributes = self.attributes.items() if isinstance(self.attributes, Mapping) else self.attributes
        object.__setattr__(self, "attributes", tuple(sorted((name, _frozen(value)) for name, value in attributes)))

    def __hash__(self) -> int:
        """Returns a structural hash, the same in every process (a set of strings is hashed differently in each)."""
        return int.from_bytes(bytes.fromhex(self.key)[:8], "big") >> 4

    @property
    def key(self) -> str:
        """The sha256 of the spec's text: a build-cache key."""
        return hashlib.sha256(str(self).encode()).hexdigest()

    def input_spec(self, index: int) -> IOSpec:
        """The spec of this input; the last spec holds for all further inputs."""
        return self.inputs[min(index, len(self.inputs) - 1)]

    def output_spec(self, index: int) -> IOSpec:
        """The spec of this output; the last spec holds for all further outputs."""
        return self.outputs[min(index, len(self.outputs) - 1)]

    def rejection(self, view: NodeView, features: Iterable[str], rounding: str) -> str:
        """Returns the reason why the node is not accepted; "" if it is."""
        return self.misfit(view, features, rounding) or self.refusal(view)

    def misfit(self, view: NodeView, features: Iterable[str], rounding: str) -> str:
        """Returns the reason why the node is not accepted whatever the predicates say; "" if they decide."""
        lacking = self.features.difference(features)
        if lacking:
            return f"the CPU has no {', '.join(sorted(lacking))}"
        if not self._keeps(rounding) and view.operator.rounds(view.inputs, view.outputs):
            return f"rounds as '{self.rounding}', the build wants '{rounding}'"
        return self.rejection_of(*_required_by(view)) or self._attribute_rejection(view.operator)

    def _keeps(self, rounding: str) -> bool:
        if rounding != "any":
            return self.rounding in (rounding, "any")
        # The graph then means the default contract: rounding as a library does is allowed, another contract is not.
        return self.rounding == Quantization.rounding or self.rounding not in CONTRACTS

    def refusal(self, view: NodeView) -> str:
        """Returns the reason of the first predicate that does not hold; "" if all hold. Only predicates are code of a library's
        author."""
        for predicate in self.predicates:
            if reason := predicate.rejection(view):
                return reason
        return ""

    def rejection_of(self, inputs: Sequence[IOSpec | None], outputs: Sequence[IOSpec]) -> str:
        """Returns why these inputs and outputs (None: not given) do not fit, storage orders aside; "" if they do."""
        bound: dict[DType, DType] = {}
        for side, given, accepted in (("input", inputs, self.inputs), ("output", outputs, self.outputs)):
            for index, required in enumerate(given):
                if required is None:
                    continue
                if reason := (accepted[index] if index < len(accepted) else accepted[-1]).rejection(required, bound):
                    return f"{side} {index} {reason}"
        return ""

    def _attribute_rejection(self, operator) -> str:
        given = attributes_of(operator) if self.attributes else {}
        for name, wanted in self.attributes:
            if name not in given:
                return f"{operator.type} has no attribute {name}"
            if _frozen(given[name]) != wanted:
                return f"attribute {name} is {given[name]}, wants {wanted}"
        return ""

    def __str__(self) -> str:
        conditions = [
            *(f"{name} = {value}" for name, value in self.attributes),
            *(predicate.name for predicate in self.predicates),
            *(f"CPU with {feature}" for feature in sorted(self.features)),
        ]
        conditions += [f"rounding {self.rounding}"] if self.rounding != "onnx" else []
        sides = " -> ".join(", ".join(map(str, side)) for side in (self.inputs, self.outputs))
        return f"{sides} if {', '.join(conditions)}" if conditions else sides


def _required_by(view: NodeView) -> tuple[list[IOSpec | None], list[IOSpec]]:
    """Returns the specs of the node's inputs and outputs; cached in the view, as they are compared with each kernel's spec."""
    if "_required" not in view.__dict__:
        inputs = [None if tensor is None else IOSpec.of(tensor) for tensor in view.inputs]
        view.__dict__["_required"] = inputs, [IOSpec.of(tensor) for tensor in view.outputs]
    return view.__dict__["_required"]


def _sides(given: IOSpec | Iterable[IOSpec]) -> tuple[IOSpec, ...]:
    sides = (given,) if isinstance(given, IOSpec) else tuple(given)
    if not sides or not all(isinstance(side, IOSpec) for side in sides):
        raise AidgeError(f"{given!r}: a side of a spec is an IOSpec or a list of them", code="SPEC")
    return sides


def _named(predicate: Predicate | Callable[[NodeView], str]) -> Predicate:
    if isinstance(predicate, Predicate):
        return predicate
    name = getattr(predicate, "__name__", "")
    if not name.isidentifier():  # a lambda
        raise AidgeError(
            "a condition of a spec needs a name",
            code="SPEC",
            hint='Predicate("kernel is 3x3", function), or a function with a name',
        )
    return Predicate(name, predicate)


def _frozen(value: object) -> object:
    return tuple(map(_frozen, value)) if isinstance(value, list | tuple) else value


def attributes_of(operator) -> dict[str, object]:
    """Returns the operator's attributes by name, with the attributes of a nested value (the window of a convolution) among
    them."""
    found: dict[str, object] = {}
    for entry in fields(operator) if is_dataclass(operator) else ():
        value = getattr(operator, entry.name)
        if entry.name == "attributes":  # of an operator that takes whatever the file states
            found |= dict(value)
            continue
        if isinstance(value, GraphView):  # of a meta-operator: its members have attributes of their own
            continue
        if is_dataclass(value) and not isinstance(value, type):
            found |= {name: inner for name, inner in attributes_of(value).items() if name not in found}
        else:
            found[entry.name] = value
    return found


@dataclass(frozen=True)
class Demands:
    """The demands of an implementation on the planner, for one node.

    `in_place` lists the inputs that output 0 may overwrite while the kernel runs (output 0 then begins at the input's
    first byte), if the input is read here for the last time. `overlap` allows more with (input, lead_bytes): output 0 may
    overlap that input as long as it begins at least `lead_bytes` before it. `output_stride` says that the kernel can write
    output 0 with gaps between its positions (pixels), as a member of a concatenation: its `mem_info` then says so (`gap_bytes`).
    `bands` is false if the kernel cannot be given some rows of the layer as a smaller image (`NodeView.band`): the calls of
    all bands must be one function, with the same texts and constants.

    A memory manager of `scheduler_export` may also give planes with gaps to outputs of such kernels, and planes that wrap
    around to outputs of kernels with `output_wrap`, if every kernel that reads the tensor lists it in `input_planes`: inputs
    that it reads with gaps and around the end, by `in_mem_info` of its node.

    `keeps_scratch`: the layer reads its input part by part, and the scratch keeps its bytes from one part to the next.

    `instructions` is an estimate for one call, 0: not known. The planner computes from it the cost of bands compared with the
    whole layer, and chooses the bands.
    """

    scratch_bytes: int = 0
    scratch_alignment: int = 4
    in_place: tuple[int, ...] = ()
    overlap: tuple[tuple[int, int], ...] = ()
    output_stride: bool = False
    output_wrap: bool = False
    input_planes: tuple[int, ...] = ()
    keeps_scratch: bool = False
    bands: bool = True
    instructions: int = 0


def in_place_demands(view: NodeView) -> Demands:
    """Returns demands with which output 0 may overwrite every computed input of its size, element by element."""
    size = view.outputs[0].size_bytes
    return Demands(in_place=tuple(index for index in tensors_that_move(view.inputs) if view.inputs[index].size_bytes == size))


def tensors_that_move(tensors: Sequence[Tensor | None]) -> list[int]:
    """Returns the positions of the tensors that are computed at run time (not constant, not absent)."""
    return [index for index, tensor in enumerate(tensors) if tensor is not None and not tensor.is_constant]
