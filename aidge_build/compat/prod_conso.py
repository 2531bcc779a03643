# SPDX-License-Identifier: MIT
"""The producer-consumer model: how many bytes an operator requires, protects and produces, which the planner may rely on."""

from __future__ import annotations

from dataclasses import dataclass

from aidge_build.contract.spec import Demands, NodeView, in_place_demands


@dataclass(frozen=True)
class ProdConso:
    """What one evaluation of a node does with memory, in bytes. Made from what the kernel demands of the planner."""

    view: NodeView
    demands: Demands = Demands()

    @classmethod
    def default_model(cls, view: NodeView) -> ProdConso:
        """Every input is read while every output is written: nothing may overlap."""
        return cls(view)

    @classmethod
    def in_place_model(cls, view: NodeView) -> ProdConso:
        """Output 0 may overwrite every input of its size, element by element."""
        return cls(view, in_place_demands(view))

    @classmethod
    def model_of_kind(cls, view: NodeView) -> ProdConso:
        """What the operator's kind allows: element-wise ones may overwrite the inputs of their output's size, others none."""
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

    def required_bytes(self, index: int) -> int:
        """What must be there of input `index` before the node runs: all of it (0 for an input that is not given)."""
        tensor = self.view.inputs[index]
        return 0 if tensor is None else tensor.size_bytes

    def protected_bytes(self, index: int) -> int:
        """How much of input `index` output 0 must keep clear of.

        0 when it may be overwritten in place; the bytes by which the output must begin earlier when it may overlap.
        """
        if index in self.demands.in_place:
            return 0
        leads = [lead for position, lead in self.demands.overlap if position == index]
        return min([self.required_bytes(index), *leads])

    def required_memory_bytes(self, index: int) -> int:
        """The memory that output `index` needs."""
        return self.view.outputs[index].size_bytes

    @property
    def scratch_bytes(self) -> int:
        """Memory that only the node itself uses."""
        return self.demands.scratch_bytes

    def consumed_bytes(self, index: int, evaluations: int = 1) -> int:
        """What so many evaluations read of input `index`."""
        return evaluations * self.required_bytes(index)

    def produced_bytes(self, index: int, evaluations: int = 1) -> int:
        """What so many evaluations write to output `index`."""
        return evaluations * self.required_memory_bytes(index)
