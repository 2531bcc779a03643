# SPDX-License-Identifier: MIT
"""The base class of kernels: one class per kernel, about fifteen lines, one `Call` as its result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from aidge_build.contract.call import Call
from aidge_build.contract.mem_info import MemInfo
from aidge_build.contract.spec import CHANNELS_LAST, Demands, ImplSpec, NodeView
from aidge_build.graph.tensor import Tensor

WORD_BYTES = 4


class KernelNode:
    """A kernel applied to one node: `inputs` and `outputs` are the node's tensors with their final formats.

    `mem_info` has one entry per output when all of them are in the arena, else it is None.
    """

    # Set by the decorator `kernel`.
    kernel_types: ClassVar[tuple[str, ...]]
    kernel_spec: ClassVar[ImplSpec]
    kernel_pattern: ClassVar[str]
    kernel_variants: ClassVar[tuple[type[KernelNode], ...]]

    # About the instructions of a multiply-accumulate on a core with DSP and FPU, if they are many; the build prints them.
    instructions_per_mac: ClassVar[float] = 0.0
    # The same on a core with 16-bit instructions (feature `narrow`).
    narrow_instructions_per_mac: ClassVar[float] = 0.0

    # How the kernel's text uses inline assembly: "none"; "helps": a build without assembly uses C and intrinsics instead;
    # "needed": it is in assembly alone, and another library's kernel is faster than it. "": as library.toml says.
    assembly: ClassVar[str] = ""

    # Whether its pattern is also looked for before recipes: a quantized layer is one of float32 there, between DequantizeLinear
    # and QuantizeLinear.
    before_recipes: ClassVar[bool] = True

    def __init__(self, node: NodeView, mem_info: Sequence[MemInfo] | None = None):
        self.view = node
        self.node = node.node
        self.operator = node.operator
        self.name = node.node.name
        self.inputs: tuple[Tensor | None, ...] = node.inputs
        self.outputs: tuple[Tensor, ...] = node.outputs
        self.mem_info = [MemInfo.of(info) for info in mem_info] if mem_info else None

    @property
    def output_gap(self) -> int:
        """The elements to skip after each position of output 0: not 0 only if `demands` returned `output_stride`."""
        return self.mem_info[0].gap_bytes // self.outputs[0].dtype.size_bytes if self.mem_info else 0

    @classmethod
    def takes_per_mac(cls, view: NodeView, is_narrow: bool) -> float:
        """Returns about the instructions of a multiply-accumulate of this layer, if they are many, else 0; `is_narrow`: on a core
        with 16-bit instructions."""
        return max(cls.instructions_per_mac, cls.narrow_instructions_per_mac * is_narrow)

    @classmethod
    def registered_spec(cls, spec: ImplSpec) -> ImplSpec:
        """Returns the spec under which the class is registered, with the class's own conditions on a node."""
        return spec

    @classmethod
    def keeps_words(cls, view: NodeView) -> bool:
        """Whether every word that the kernel reads or writes is at a multiple of 4 bytes, as tensors, scratch and constants do.

        Called for libraries with `unaligned = true`: their assembly reads and writes several bytes at once. It is true if every
        position of every computed tensor has a multiple of 4 elements: positions of weights then take whole words, too.
        """
        last = () if cls.kernel_spec.input_spec(0).format == CHANNELS_LAST else (-1,)
        return all(
            tensor.dims[axis] % WORD_BYTES == 0
            for tensor in (*view.inputs, *view.outputs)
            if tensor is not None and not tensor.is_constant and tensor.dtype.size_bytes < WORD_BYTES
            for axis in ((1, *last) if tensor.rank > 1 else (-1,) * tensor.rank)
        )

    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        """Returns the demands of the kernel on the planner for this node."""
        return Demands()

    def call(self) -> Call:
        """Returns the call; AidgeError if this node cannot be computed exactly."""
        raise NotImplementedError


KernelClass = type[KernelNode]


def kernel(types: str | Sequence[str], spec: ImplSpec | Sequence[ImplSpec], pattern: str = ""):
    """Marks a class as a kernel for these operator types; the loader of the library registers marked classes.

    With a `pattern` the type names a meta-operator: nodes that the pattern fits and the spec accepts become one node. Several
    specs are as many kernels: each further one is a subclass of the class, in `kernel_variants`.
    """
    first, *further = (spec,) if isinstance(spec, ImplSpec) else spec

    def mark(cls: type[KernelNode]) -> type[KernelNode]:
        cls.kernel_types = (types,) if isinstance(types, str) else tuple(types)
        cls.kernel_spec = first
        cls.kernel_pattern = pattern
        cls.kernel_variants = tuple(
            type(f"{cls.__name__}_{number}", (cls,), {"__module__": cls.__module__, "kernel_spec": other})
            for number, other in enumerate(further, 1)
        )
        return cls

    return mark
