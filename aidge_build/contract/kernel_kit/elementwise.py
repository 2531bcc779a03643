# SPDX-License-Identifier: MIT
"""Kernels that read each element before they write the element at the same place."""

from __future__ import annotations

from aidge_build.contract.node import KernelNode
from aidge_build.contract.spec import Demands, NodeView, in_place_demands


class ElementWise(KernelNode):
    """The output may overwrite any input of its size: one that is not broadcast, so that each element is read once."""

    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        return in_place_demands(view)
