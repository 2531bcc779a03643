# SPDX-License-Identifier: MIT
"""A layer for every kernel of a library, and for every form of a line of the C that its kernels generate, from the cases of all
tests.

A test that is about a kernel gives its cases in a function `candidates`, or `_more_of_ref` names what does; a kernel without
a case is `missing`. Of all layers as few are taken as show every kernel, every header and every form of a line.
"""

from __future__ import annotations

import collections
import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import every_kernel
import harness
import helium_harness
import onnx
import test_caches
import test_conversions_without_fpu
import test_decimate
import test_fourier
import test_log_mel
import test_normalize_without_fpu
import test_pool_parts
import test_ref_classic
import test_ref_elementwise
import test_ref_trees
import test_replace
import test_slide
import test_stack
import test_suppression
import test_tflite_nodes
from cortexm_harness import accepted
from test_ref_products import products

from aidge_build.contract.call import Call
from aidge_build.contract.library import Kernel
from aidge_build.contract.spec import NodeView
from aidge_build.graph.dtype import DType
from aidge_build.measure.conformance.cases import prepare
from aidge_build.sources.onnx_format.node_cases import NodeCase, node_cases
from tests.operators.test_narrow_weights import packed_products

LIBRARIES = every_kernel.LIBRARIES
FORESTS = 48
OF_EACH = 12
_ASSEMBLY = re.compile(r"__asm__[^;]*;")
_OWN = re.compile(r"\baidge_\w+")
_NUMBERS = re.compile(r"\d+")
_LIST = re.compile(r"0(?:, -?0)+")


@dataclass(frozen=True, eq=False)
class EveryLayer:
    """One layer: its kernel, and the node as the kernel sees it."""

    kernel: Kernel
    view: NodeView

    @functools.cached_property
    def call(self) -> Call:
        return self.kernel.node_class(self.view).call()

    @functools.cached_property
    def shows(self) -> frozenset[tuple[str, str]]:
        """What of its library is seen in it."""
        lines = {("line", line) for text in self.call.texts for line in forms_of(text)}
        return frozenset({("kernel", self.kernel.name), *(("header", path) for path in self.call.sources), *lines})


def forms_of(text: str) -> set[str]:
    """The lines of a generated text without what differs from layer to layer: numbers, own names, and what is assembly."""
    lines = _NUMBERS.sub("0", _OWN.sub("f", _ASSEMBLY.sub("", text))).split("\n")
    return {_LIST.sub("0", line.strip()) for line in lines if line.strip()}


@functools.cache
def layers(library: str) -> tuple[EveryLayer, ...]:
    """As few layers as show all that any of them shows, each time the one that shows most of what is left."""
    left = _candidates(library)
    wanted = frozenset().union(*(layer.shows for layer in left))
    chosen = []
    while wanted:
        best = max(left, key=lambda layer: len(layer.shows & wanted))
        chosen.append(best)
        wanted -= best.shows
        left = [layer for layer in left if layer.shows & wanted]
    return tuple(chosen)


def _candidates(library: str) -> list[EveryLayer]:
    """Those that differ in what they show."""
    found: dict[frozenset, EveryLayer] = {}
    for layer in _all_of(library):
        found.setdefault(layer.shows, layer)
    taken = {layer.kernel.name for layer in found.values()}
    for kernel in helium_harness.library(library).kernels:  # those to which another one is preferred wherever both fit
        if kernel.name not in taken:
            views = (layer.view for layer in list(found.values()) if layer.view.node.type == kernel.type)
            view = next((view for view in views if not kernel.rejection(view, view.features, "any")), None)
            if view is not None:
                found[frozenset({("kernel", kernel.name)})] = EveryLayer(kernel, view)
                taken.add(kernel.name)
    return list(found.values())


def _all_of(library: str) -> Iterator[EveryLayer]:
    if library == "ref":
        yield from map(_layer, _more_of_ref())
        yield from _of_programs()
    for path in sorted(Path(__file__).parent.glob("test_*.py")):
        yield from map(_layer, accepted(_of_library(test_stack.candidates_in(path.stem), library)))


def _of_library(cases, library: str) -> list:
    if library != "ref":
        return test_stack.of_library(cases, library)
    return [test_pool_parts.CaseOfRef(case.view, case.values) for case in cases]


def _layer(case: harness.Case) -> EveryLayer:
    cuts = getattr(case, "cuts", ())  # of a layer that takes in its input part by part
    return EveryLayer(case.kernel, case.part(case.stored, *cuts[:2]) if cuts else case.stored)


def _more_of_ref() -> Iterator[harness.Case]:
    """Cases of what only `ref` has."""
    yield from every_kernel._of_ref()
    for name in test_tflite_nodes.GRAPHS:
        if name.endswith(("random 0", "random 1")) and test_tflite_nodes.family_of(name) not in test_tflite_nodes.REFUSED:
            yield from test_tflite_nodes.nodes_of(name)
    for seed in range(FORESTS):
        yield from (test_ref_trees.random_case(seed, objective) for objective in ("size", "speed"))
    for classic in ("linear_models", "vector_machines", "features", "lookups", "distances"):
        yield from getattr(test_ref_classic, classic)()
    for dtype in (DType.int8, DType.float32, DType.int64):
        yield from (*test_replace.cases(dtype), *test_slide.cases(dtype), *test_caches.cases(dtype))
    yield from test_caches.zeroed_rows()
    yield from map(test_suppression.entry, range(12))
    yield from test_log_mel.cases(harness.case, 12)
    yield from test_decimate.cases()
    yield from test_fourier.cases(harness.case, test_fourier.LENGTHS[:20])
    for seed in range(4):
        yield test_conversions_without_fpu.quantize_case(seed)
        yield test_conversions_without_fpu.dequantize_case(seed)
        yield test_normalize_without_fpu.normalization(harness.case, seed)
    yield from test_ref_elementwise.rescalings(harness.case)
    yield from products(harness.case)
    yield from test_pool_parts.float_means(harness.case, test_pool_parts.Ref)
    for double in (False, True):
        yield from test_pool_parts.mean_cases(harness.case, test_pool_parts.Ref, double)


def _of_programs() -> Iterator[EveryLayer]:
    """The layers of ONNX's own cases, some with each combination of operators, and of products with packed weights."""
    ref, number_of = helium_harness.library("ref"), collections.Counter[tuple[str, ...]]()
    cases = [NodeCase("packed", packed_products(), {}, (), 0, 0, ())]
    for case in node_cases().values():
        operators = tuple(sorted({node.op_type for node in onnx.ModelProto.FromString(case.model).graph.node}))
        number_of[operators] += 1
        if number_of[operators] <= OF_EACH:
            cases.append(case)
    for number, case in enumerate(cases):
        program = prepare(case, f"net_{number}", (ref,)).program
        for layer in program.layers if program else ():
            yield EveryLayer(layer.kernel, NodeView(layer.node, layer.inputs, layer.outputs, program.view))
