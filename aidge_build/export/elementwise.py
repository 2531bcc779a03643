# SPDX-License-Identifier: MIT
"""Kernels that read each element before they write the one at the same place."""

from __future__ import annotations

from aidge_build.backend.prod_conso import ProdConso
from aidge_build.backend.spec import Demands, NodeView
from aidge_build.export.node import ExportNode


class ElementWise(ExportNode):
    """The output may overwrite any input of its size: one that is not broadcast, so that each element is read once."""

    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        return ProdConso.in_place_model(view).demands
