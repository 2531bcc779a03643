# SPDX-License-Identifier: MIT
"""Seeded random networks whose layers can be computed row by row: chains, residuals, skips, pools; NHWC at both ends."""

from __future__ import annotations

import numpy

from tests.models import model


class RowNetwork:
    """float32, as text for `tests.models`: every random decision comes from the seed. `dims` are rows, columns, channels."""

    def __init__(self, seed: int, layers: int = 7, *, pooled: bool = False):
        self.random = numpy.random.default_rng(seed)
        self.lines: list[str] = []
        self.constants: dict[str, numpy.ndarray] = {}
        self.dims = {}
        rows, columns, channels = (int(self.random.integers(*ends)) for ends in ((9, 25), (4, 9), (1, 4)))
        self.source = (1, rows, columns, 4 * channels)
        self.lines.append("x0 = Transpose<perm=[0,3,1,2]>(x)")
        self.dims["x0"] = (rows, columns, 4 * channels)
        self.kept = ["x0"]
        for _ in range(layers):
            self.kept.append(self._layer(self.kept[-1]))
        last = self.kept[-1]
        if pooled:
            last = self._add(f"GlobalAveragePool({last})", (1, 1, self.dims[last][2]))
        rows, columns, channels = self.dims[last]
        self.lines.append(f"y = Transpose<perm=[0,2,3,1]>({last})")
        self.result = (1, rows, columns, channels)

    def file(self) -> bytes:
        """The bytes of the ONNX file."""
        ends = [f"float[{','.join(map(str, dims))}]" for dims in (self.source, self.result)]
        return model(" ".join(self.lines), inputs=f"{ends[0]} x", outputs=f"{ends[1]} y", constants=self.constants)

    def values(self, count: int) -> numpy.ndarray:
        """Inputs, one behind the other."""
        return self.random.normal(size=(count, *self.source[1:])).astype(numpy.float32)

    def _pick(self, *choices):
        return choices[int(self.random.integers(len(choices)))]

    def _add(self, text: str, dims: tuple[int, int, int]) -> str:
        name = f"t{len(self.lines)}"
        self.lines.append(f"{name} = {text}")
        self.dims[name] = dims
        return name

    def _constant(self, *dims: int) -> str:
        name = f"c{len(self.constants)}"
        self.constants[name] = self.random.normal(size=dims).astype(numpy.float32)
        return name

    def _layer(self, source: str) -> str:
        rows, columns, channels = self.dims[source]
        kinds = ["convolution", "convolution", "depthwise", "elements"]
        kinds += ["pool"] if rows > 5 else []
        kinds += ["residual", "skip"] if any(self._fits(source, other) for other in self.kept[:-1]) else []
        kinds += ["larger"] if rows < 12 else []
        kind = self._pick(*kinds)
        if kind == "elements":
            return self._add(f"{self._pick('Relu', 'Abs', 'Neg')}({source})", self.dims[source])
        if kind in ("residual", "skip"):
            other = self._pick(*(name for name in self.kept[:-1] if self._fits(source, name)))
            if kind == "residual":
                return self._add(f"Add({source}, {other})", self.dims[source])
            return self._add(f"Concat<axis=1>({source}, {other})", (rows, columns, 2 * channels))
        if kind == "larger":
            scales = f"c{len(self.constants)}"
            self.constants[scales] = numpy.array([1, 1, 2, 2], numpy.float32)
            mode = 'mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor"'
            return self._add(f"Resize<{mode}>({source}, , {scales})", (2 * rows, 2 * columns, channels))
        window, dims = self._window(rows, columns, kind == "pool")
        if kind == "pool":
            return self._add(f"{self._pick('MaxPool', 'AveragePool')}<{window}>({source})", (*dims, channels))
        kernel = window.partition("[")[2].partition("]")[0].split(",")
        outputs = channels if kind == "depthwise" else 4 * int(self.random.integers(1, 4))
        groups = channels if kind == "depthwise" else 1
        weights = self._constant(outputs, channels // groups, *map(int, kernel))
        return self._add(f"Conv<{window}, group={groups}>({source}, {weights}, {self._constant(outputs)})", (*dims, outputs))

    def _fits(self, source: str, other: str) -> bool:
        return self.dims[source] == self.dims[other] and self.dims[source][2] <= 16

    def _window(self, rows: int, columns: int, is_pool: bool) -> tuple[str, tuple[int, int]]:
        kernel = [self._pick(2, 3) if is_pool else self._pick(1, 3, 5) for _ in range(2)]
        stride = self._pick(1, 2) if rows > 5 else 1
        dilation = 1 if is_pool else self._pick(1, 1, 2)
        spans = [(size - 1) * dilation + 1 for size in kernel]
        pads = [[int(self.random.integers(0, size)) for size in kernel] for _ in range(2)]
        sizes = [(rows, columns)[axis] + pads[0][axis] + pads[1][axis] for axis in range(2)]
        if any(size < span for size, span in zip(sizes, spans, strict=True)):
            kernel, pads, dilation, spans, sizes = [1, 1], [[0, 0], [0, 0]], 1, [1, 1], [rows, columns]
        made = tuple((size - span) // stride + 1 for size, span in zip(sizes, spans, strict=True))
        text = f"kernel_shape=[{kernel[0]},{kernel[1]}], strides=[{stride},{stride}], pads={[*pads[0], *pads[1]]}"
        return text + ("" if is_pool else f", dilations=[{dilation},{dilation}]"), (made[0], made[1])
