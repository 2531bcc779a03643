# SPDX-License-Identifier: MIT
"""Which nodes of an ONNX file something reads: operators, functions, and expansions."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext

from aidge_build.base.errors import AidgeError, plugged_in
from aidge_build.operators.base import Operator
from aidge_build.sources.formats.onnx.expansion import expansions
from aidge_build.sources.formats.onnx.frame import Frame
from aidge_build.sources.onnx_format import ModelNode, OnnxModel, has_body

_EARLY = {"LayerNormalization": 17}  # operators that onnxruntime writes before the opset that has them
LISTED = "'aidge-build list operators' lists the supported ones"

_OURS = f"{Operator.__module__.partition('.')[0]}."  # of the modules of operators that are no library's


class Vocabulary:
    """The operators that a model may use: `operators` maps ONNX names to classes."""

    def __init__(self, model: OnnxModel, operators: Mapping[str, type[Operator]]):
        self._model = model
        self._operators = operators

    def around(self, node: ModelNode) -> AbstractContextManager[None]:
        """Returns the context for code of an operator: an exception is the author's fault if a library brings the operator, and
        else a fault of aidge_build."""
        return plugged_in(f"the operator {node.full_type}", code="OPERATOR") if self.is_plugged_in(node) else nullcontext()

    def is_plugged_in(self, node: ModelNode) -> bool:
        """Whether its operator is a library's."""
        found = self._operators.get(node.full_type)
        return found is not None and not found.__module__.startswith(_OURS)

    def refuse_unknown(self, nodes: Iterable[ModelNode], frame: Frame) -> None:
        """Refuses the nodes that nothing reads, all at once."""
        unknown = [node for node in nodes if not self.knows(node, frame)]
        if not unknown:
            return
        where: dict[str, list[ModelNode]] = {}
        for node in unknown:
            where.setdefault(node.full_type, []).append(node)
        found = "; ".join(
            f"{kind} at {nodes[0].where()}" + (f" and {len(nodes) - 1} more" if len(nodes) > 1 else "")
            for kind, nodes in sorted(where.items())
        )
        known = [*self._operators, *expansions()]
        near = sorted({match for kind in where for match in difflib.get_close_matches(kind, known, n=2, cutoff=0.6)})
        hint = f"nearest supported: {', '.join(near)}" if near else LISTED
        kinds = f"unsupported operator{'s' if len(where) > 1 else ''} {', '.join(sorted(where))}"
        raise AidgeError(
            f"{kinds}: {found}",
            code="OPERATOR",
            hint=f"{hint}; a new operator is one file in a library of your own (--kernel-path DIR --lib NAME,...)",
        )

    def knows(self, node: ModelNode, frame: Frame) -> bool:
        """Whether an operator, a function or an expansion reads it."""
        return (
            (node.full_type, node.overload) in self._model.functions
            or node.full_type in self._operators
            or node.full_type in expansions()
            or has_body(node.full_type, node.opset if node.opset is not None else frame.opsets.get(node.domain, 0))
        )

    def opset_of(self, node: ModelNode, frame: Frame) -> int:
        """The version of its operator's meaning."""
        if node.opset is not None:
            return node.opset
        if not node.domain and node.op_type in _EARLY:
            return max(_EARLY[node.op_type], frame.opsets.get("", 0))
        if node.domain and node.domain not in frame.opsets and node.full_type in expansions():
            return 1  # dialects have one version, and their exporters forget to import it
        if node.domain not in frame.opsets:
            raise AidgeError(f"the model imports no opset of the domain '{node.domain or 'ai.onnx'}'", code="VERSION")
        return frame.opsets[node.domain]
