# SPDX-License-Identifier: MIT
"""The kernels that compute the bands of a layer, and their demands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from aidge_build.contract.library import Kernel, Library
from aidge_build.contract.spec import Demands, NodeView
from aidge_build.graph.format import same_bytes
from aidge_build.graph.view import Node
from aidge_build.plan.cascade.alike import alike
from aidge_build.plan.cascade.row_layer import RowLayer
from aidge_build.prepare.adaptation.assignment import Assignment
from aidge_build.prepare.adaptation.match import Target, match

Band = tuple[int, int]
SYMBOL = "layer"  # of calls that are only compared


class BandKernels:
    """The layers of a graph that can be computed by rows, with their kernels: the layer's own kernel, or another one for a layer
    that takes its input in by parts."""

    def __init__(self, assignment: Assignment, libraries: Sequence[Library], target: Target):
        self.assignment, self.libraries, self.target = assignment, libraries, target
        self._layers: dict[str, RowLayer | None] = {}
        self._kernels: dict[str, Kernel | None] = {}
        self._demands: dict[tuple, Demands | None] = {}
        self._wholes: dict[str, int] = {}

    def layer(self, node: Node) -> RowLayer | None:
        """Returns the layer by rows; None if the layer or its kernel has none."""
        if node.name not in self._layers:
            found = RowLayer.of(self.assignment.node_view(node)) if self.assignment.choices[node.name].kernel else None
            self._layers[node.name] = None if found is None or self.kernel(found) is None else found
        return self._layers[node.name]

    def kernel(self, layer: RowLayer) -> Kernel | None:
        """Returns the kernel that computes the bands of the layer."""
        if layer.name not in self._kernels:
            own = self.assignment.choices[layer.name].kernel
            self._kernels[layer.name] = self._for_parts(layer) if layer.in_parts else own
        return self._kernels[layer.name]

    def demands(self, layer: RowLayer, bands: Sequence[Band]) -> Demands | None:
        """Returns the largest demands of these bands; None if the kernel refuses one of them."""
        sizes, found = sizes_of(bands), None
        for band in layer.one_of_each(bands):
            wanted = self.of_band(layer, band, sizes)
            if wanted is None:
                return None
            if found is None or _scratch(wanted) > _scratch(found):
                found = wanted
        return found

    def instructions_beyond(self, layer: RowLayer, bands: Sequence[Band]) -> int | None:
        """Returns the instructions of all bands minus the instructions of the whole layer; None if its kernel does not state
        them."""
        whole, sizes = self._of_whole(layer), sizes_of(bands)
        found = 0
        for band, times in layer.shapes(bands):
            asked = self.of_band(layer, band, sizes)
            if not whole or asked is None or not asked.instructions:
                return None
            found += times * asked.instructions
        return found - whole

    def agree(self, layer: RowLayer, bands: Sequence[Band]) -> bool:
        """Whether one function with the same constants computes all of these bands; if not, such bands are refused after this."""
        kernel, sizes = self.kernel(layer), sizes_of(bands)
        assert kernel is not None
        views = (self.view(layer, band, sizes) for band in layer.one_of_each(bands))
        first, *others = (kernel.call(replace(view, symbol=SYMBOL), None) for view in views)
        found = all(alike(first, other) for other in others)
        if not found:
            self._demands.update({(layer.name, sizes, layer.shape(*band)): None for band in bands})
        return found

    def view(self, layer: RowLayer, band: Band, sizes: tuple[int, int]) -> NodeView:
        """Returns the band as its kernel sees it; `sizes` are the rows of the largest and of the smallest band."""
        return replace(layer.view(*band, sizes), **self.target.asked)

    def of_band(self, layer: RowLayer, band: Band, sizes: tuple[int, int]) -> Demands | None:
        """Returns the demands of one band, None if the kernel refuses it; `sizes` are the rows of the largest and of the smallest
        band of the layer."""
        key = layer.name, sizes, layer.shape(*band)
        if key not in self._demands:
            view, kernel = self.view(layer, band, sizes), self.kernel(layer)
            assert kernel is not None
            refused = kernel.rejection(view, self.target.features, self.target.rounding)
            wanted = None if refused else kernel.demands(view)
            self._demands[key] = wanted if wanted is not None and wanted.bands else None
        return self._demands[key]

    def _of_whole(self, layer: RowLayer) -> int:
        """Returns the instructions of the whole layer; 0 if they are not known."""
        if layer.name not in self._wholes:
            own = None if layer.in_parts else self.kernel(layer)
            seen = replace(layer.seen, **self.target.asked)
            self._wholes[layer.name] = own.demands(seen).instructions if own else 0
        return self._wholes[layer.name]

    def _for_parts(self, layer: RowLayer) -> Kernel | None:
        view = self.view(layer, (0, layer.height), (layer.height, layer.height))
        return next((kernel for kernel in match(view, self.libraries, self.target).accepted if _stores_alike(kernel, view)), None)


def sizes_of(bands: Sequence[Band]) -> tuple[int, int]:
    """Returns the rows of the largest and of the smallest band."""
    sizes = [last - first for first, last in bands]
    return max(sizes), min(sizes)


def _scratch(demands: Demands) -> tuple[int, int]:
    return demands.scratch_bytes, demands.scratch_alignment


def _stores_alike(kernel: Kernel, view: NodeView) -> bool:
    """Whether the kernel reads and writes the tensors as they are stored."""
    sides = ((view.inputs, kernel.spec.input_spec), (view.outputs, kernel.spec.output_spec))
    asked = [
        (tensor, spec_of(index).format_for(tensor.rank))
        for tensors, spec_of in sides
        for index, tensor in enumerate(tensors)
        if tensor is not None and not tensor.is_constant
    ]
    return all(wanted is None or same_bytes(tensor.dims, wanted, tensor.storage) for tensor, wanted in asked)
