# SPDX-License-Identifier: MIT
"""Matching: which kernels accept a node, in the total order of preference, and why the others do not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aidge_build.backend.spec import NodeView
from aidge_build.export.library import Kernel, Library


@dataclass(frozen=True)
class Target:
    """What a kernel may rely on: the CPU's features, the rounding and the objective of the build."""

    features: frozenset[str] = frozenset()
    rounding: str = "onnx"
    objective: str = "balanced"


@dataclass(frozen=True)
class Match:
    """The kernels of the most preferred library that accepts the node, best first; and every rejection."""

    accepted: tuple[Kernel, ...]
    rejected: tuple[tuple[str, str], ...]


def match(view: NodeView, libraries: Sequence[Library], target: Target) -> Match:
    """Order: library preference, acceptance, objective, specificity, name. Registration order does not matter."""
    rejected: list[tuple[str, str]] = []
    chosen: tuple[Kernel, ...] = ()
    for library in libraries:
        candidates = sorted(library.kernels_for(view.node.type), key=lambda kernel: _preference(kernel, target))
        if not candidates and not chosen:
            rejected.append((library.name, f"has no kernel for {view.node.type}"))
        accepted = []
        for kernel in candidates:
            reason = kernel.spec.rejection(view, target.features, target.rounding)
            if reason:
                rejected.append((f"{library.name} {kernel.name}", reason))
            elif chosen:
                rejected.append((f"{library.name} {kernel.name}", f"library {chosen[0].library} comes first"))
            else:
                accepted.append(kernel)
        chosen = chosen or tuple(accepted)
    return Match(chosen, tuple(rejected))


def _preference(kernel: Kernel, target: Target) -> tuple:
    spec = kernel.spec
    return (spec.objective != target.objective, -spec.specificity, kernel.name, kernel.node_class.__qualname__, str(spec))
