# SPDX-License-Identifier: MIT
"""The producer-consumer model: how much an operator requires, protects and produces in each of its evaluations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from aidge_build.base.errors import AidgeError
from aidge_build.compat.handles import InheritedOperator
from aidge_build.contract.spec import Demands, NodeView, in_place_demands, tensors_that_move
from aidge_build.graph.tensor import Tensor
from aidge_build.operators.window import Window

Parts = tuple[tuple[int, ...], ...]  # per tensor, the elements of each evaluation; () for a tensor without parts


class Elts_t(int):  # the inherited name
    """A number of elements, as producer-consumer models of the inherited style count them."""

    @classmethod
    def data_elts(cls, elements: int) -> Elts_t:
        """So many elements."""
        return cls(elements)

    @classmethod
    def none_elts(cls) -> Elts_t:
        """No element."""
        return cls(0)


@dataclass
class ProdConso:
    """The elements that each evaluation of a node reads and writes. `demands` are the demands of its kernel on the planner.

    Usually one evaluation reads and writes everything. `inputs` and `outputs` may say how many elements each of several
    evaluations reads and writes (`in_parts`, `by_rows`): then a node can run as soon as the first part of its input is there.
    `evaluations` counts the evaluations that have run (`update_consumer_producer`). Methods that begin with `get_` bear the
    inherited names and count elements, as there; the others count bytes.
    """

    view: NodeView
    demands: Demands = Demands()
    inputs: Parts = ()
    outputs: Parts = ()
    evaluations: int = field(default=0, compare=False)

    def __post_init__(self) -> None:
        self.view = _at_its_place(self.view)
        if isinstance(self.demands, bool):
            self.demands = in_place_demands(self.view) if self.demands else Demands()

    def get_operator(self) -> InheritedOperator:
        """The operator as the inherited API hands it out."""
        return InheritedOperator(self.view)

    @classmethod
    def default_model(cls, view: NodeView) -> ProdConso:
        """Every input is read while every output is written: nothing may overlap."""
        return cls(view)

    @classmethod
    def in_place_model(cls, view: NodeView) -> ProdConso:
        """Output 0 may overwrite every input of its size, element by element."""
        return cls(view, in_place_demands(_at_its_place(view)))

    @classmethod
    def model_of_kind(cls, view: NodeView) -> ProdConso:
        """The demands of the operator's kind: element-wise operators may overwrite inputs of their output's size, others none."""
        view = _at_its_place(view)
        size = view.outputs[0].size_bytes
        allowed = view.operator.takes_over(view.inputs, view.outputs)
        return cls(
            view,
            Demands(
                in_place=tuple(
                    index for index in allowed if not view.inputs[index].is_constant and view.inputs[index].size_bytes == size
                )
            ),
        )

    @classmethod
    def in_parts(
        cls, view: NodeView, inputs: Sequence[Sequence[int]], outputs: Sequence[Sequence[int]], demands: Demands = Demands()
    ) -> ProdConso:
        """Several evaluations; each reads and writes so many further elements; AidgeError unless they add up.

        One list per input and output, all of the same length; an empty list for an input that the first evaluation reads whole
        (weights).
        """
        lengths = {len(parts) for parts in (*inputs, *outputs) if parts}
        sides = [*zip(("input",) * len(inputs), view.inputs, inputs), *zip(("output",) * len(outputs), view.outputs, outputs)]
        wrong = len(inputs) != len(view.inputs) or len(outputs) != len(view.outputs) or len(lengths) != 1
        if wrong or not all(parts for parts in outputs):
            raise _fault(view, "wants a list per input and output, and one number of evaluations")
        for side, tensor, parts in sides:
            total = tensor.elements if tensor is not None else 0
            if parts and (min(parts) < 0 or sum(parts) != total):
                raise _fault(view, f"reads or writes {sum(parts)} of the {total} elements of an {side}")
        return cls(view, demands, tuple(map(tuple, inputs)), tuple(map(tuple, outputs)))

    @classmethod
    def by_rows(cls, view: NodeView, demands: Demands = Demands()) -> ProdConso:
        """One evaluation per row of the output: for windows over images, and for operators that map each element to one.

        Source of the rows: the window of output row r ends at input row r * stride - pad + extent. AidgeError for any other
        operator.
        """
        output, window = view.outputs[0], getattr(view.operator, "window", None)
        rows = output.dims[2] if output.rank == 4 else 0
        moving = [tensor for tensor in view.inputs if tensor is not None and not tensor.is_constant]
        if not rows or len(view.outputs) != 1 or window is None and not _is_by_element(view, moving):
            raise _fault(view, "has no rows that follow each other")
        height = moving[0].dims[2]
        reached = range(1, rows + 1) if window is None else _reached_rows(window, rows, height)
        new = [after - before for before, after in pairwise((0, *reached))]
        inputs = [
            [] if tensor is None or tensor.is_constant else [count * (tensor.elements // height) for count in new]
            for tensor in view.inputs
        ]
        return cls.in_parts(view, inputs, [[output.elements // rows] * rows], demands)

    def required_bytes(self, index: int) -> int:
        """Bytes of input `index` that the next evaluation needs, beyond the earlier bytes (0 for an input that is not given)."""
        return self._input_part(index, self.evaluations) * _unit(self.view.inputs[index])

    def protected_bytes(self, index: int) -> int:
        """Returns by how many bytes output 0 must begin before input `index`.

        0 when it may overwrite the input in place; all bytes of the input when the two must not overlap.
        """
        if index in self.demands.in_place:
            return 0
        tensor = self.view.inputs[index]
        leads = [lead for position, lead in self.demands.overlap if position == index]
        return min([0 if tensor is None else tensor.size_bytes, *leads])

    def required_memory_bytes(self, index: int) -> int:
        """The memory that output `index` needs: all of it, also where it is written in parts."""
        return self.view.outputs[index].size_bytes

    @property
    def scratch_bytes(self) -> int:
        """Memory that only the node itself uses."""
        return self.demands.scratch_bytes

    def consumed_bytes(self, index: int, evaluations: int = 1) -> int:
        """Bytes of input `index` that so many evaluations read, from the first one on."""
        return self._consumed(index, evaluations) * _unit(self.view.inputs[index])

    def produced_bytes(self, index: int, evaluations: int = 1) -> int:
        """Bytes of output `index` that so many evaluations write, from the first one on."""
        return self._produced(index, evaluations) * _unit(self.view.outputs[index])

    @property
    def evaluations_of_all(self) -> int:
        """The number of evaluations that read and write everything."""
        return max((len(parts) for parts in self.outputs), default=1)

    def get_nb_required_data(self, index: int) -> int:
        """Elements of input `index` that the next evaluation requires beyond the elements that were there before."""
        return self._input_part(index, self.evaluations)

    def get_nb_protected_data(self, index: int) -> int:
        """Elements of input `index` that output 0 must keep clear of."""
        unit = _unit(self.view.inputs[index])
        return -(-self.protected_bytes(index) // unit) if unit else 0

    get_nb_required_protected = get_nb_protected_data

    def get_required_memory(self, index: int, inputs_size: Sequence[int] = ()) -> int:
        """Elements of the memory that output `index` needs; `inputs_size` is accepted, shapes are known here."""
        return self.view.outputs[index].elements

    def get_nb_consumed_data(self, index: int) -> int:
        """Elements of input `index` that all evaluations so far have read."""
        return self._consumed(index, self.evaluations)

    def get_nb_produced_data(self, index: int) -> int:
        """Elements of output `index` that all evaluations so far have written."""
        return self._produced(index, self.evaluations)

    def update_consumer_producer(self) -> None:
        """One more evaluation has run."""
        self.evaluations += 1

    def reset_consumer_producer(self) -> None:
        """None has run."""
        self.evaluations = 0

    update_consummer_producer, reset_consummer_producer = update_consumer_producer, reset_consumer_producer

    def _input_part(self, index: int, evaluation: int) -> int:
        tensor = self.view.inputs[index]
        parts = self.inputs[index] if self.inputs else ()
        if parts:
            return parts[evaluation % len(parts)]
        return 0 if tensor is None or evaluation % self.evaluations_of_all else tensor.elements

    def _consumed(self, index: int, evaluations: int) -> int:
        return sum(self._input_part(index, evaluation) for evaluation in range(evaluations))

    def _produced(self, index: int, evaluations: int) -> int:
        parts = self.outputs[index] if self.outputs else (self.view.outputs[index].elements,)
        whole, rest = divmod(evaluations, len(parts))
        return whole * sum(parts) + sum(parts[:rest])

    def __repr__(self) -> str:
        """Without tensors: weights would fill pages."""
        parts = f", evaluation {self.evaluations} of {self.evaluations_of_all}" if self.outputs else ""
        return f"ProdConso({self.view.node.where()}, {self.demands}{parts})"


class IdentityProdConso(ProdConso):
    """The model of an operator with an output of the same bytes as its input."""

    def __init__(self, op: InheritedOperator):
        super().__init__(op, True)  # type: ignore[arg-type]


def demanded_by(model_of: Callable, view: NodeView) -> Demands:
    """The demands of a kernel that is registered with a producer-consumer model: `model_of` gets the operator at its place.

    A model of the inherited style overrides `get_nb_required_protected`: how many elements output 0 must be ahead of an input, 0
    where it may overwrite it in place. This counts elements, so it holds only if the elements of both tensors have one size.
    """
    model = model_of(InheritedOperator(view))
    if type(model).get_nb_required_protected is ProdConso.get_nb_required_protected:
        return model.demands
    output, in_place, overlap = view.outputs[0], [], []
    for index in tensors_that_move(view.inputs):
        unit, elements = _unit(view.inputs[index]), int(model.get_nb_required_protected(index))
        if unit != output.dtype.size_bytes:
            continue
        if elements == 0 and view.inputs[index].size_bytes == output.size_bytes:
            in_place.append(index)
        elif elements * unit < output.size_bytes:
            overlap.append((index, elements * unit))
    return Demands(in_place=tuple(in_place), overlap=tuple(overlap))


def _at_its_place(view: NodeView | InheritedOperator) -> NodeView:
    return view._view if isinstance(view, InheritedOperator) else view


def _unit(tensor: Tensor | None) -> int:
    return 0 if tensor is None else tensor.dtype.size_bytes


def _fault(view: NodeView, what: str) -> AidgeError:
    return AidgeError(f"the producer-consumer model {what}", where=view.node.where(), code="OPERATOR")


def _is_by_element(view: NodeView, moving: Sequence[Tensor]) -> bool:
    is_of_kind = not {"ElementWise", "ElementWiseBinary"}.isdisjoint(view.operator.kinds())
    return is_of_kind and all(tensor.dims == view.outputs[0].dims for tensor in moving)


def _reached_rows(window: Window, rows: int, height: int) -> list[int]:
    """Returns how many rows of the input have been read after each row of the output; the last number is all rows."""
    ends = [row * window.strides[0] - window.pads_begin[0] + window.extents[0] for row in range(rows - 1)]
    return [*(min(height, max(0, end)) for end in ends), height]
