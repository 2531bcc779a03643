# SPDX-License-Identifier: MIT
"""Planes of a memory manager that wrap around or have gaps: for kernels that declare it, and exactly where bytes are free."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

import numpy
import pytest

import aidge_build
from aidge_build import Call, Demands, ImplSpec, Input, IOSpec, KernelNode, Literal, Output, Struct, dformat, dtype
from aidge_build.base.errors import AidgeError, CheckFailed
from aidge_build.contract.library import Kernel, Library
from aidge_build.contract.mem_info import MemInfo, mem_info_of
from aidge_build.contract.spec import NodeView
from tests.models import graph
from tests.sanitized import sanitized

C = b"""struct ring_plane { int32_t per, stride, cont, jump; };
static int32_t ring_at(const struct ring_plane *plane, int32_t index)
{
    const int32_t behind = index / plane->per * plane->stride;
    return index % plane->per + (behind >= plane->cont ? behind + plane->jump : behind);
}
static void ring_map(const float *in, const struct ring_plane *from, float *out, const struct ring_plane *to,
                     int32_t elements, int32_t negates)
{
    for (int32_t i = 0; i < elements; i++) {
        const float x = in[ring_at(from, i)];
        out[ring_at(to, i)] = negates || x < 0.0f ? -x : x;
    }
}
"""


class Ring(KernelNode):
    """Neg or Abs, element by element, wherever its planes lie."""

    @classmethod
    def demands(cls, view):
        return Demands(output_stride=True, output_wrap=True, input_planes=(0,))

    def call(self) -> Call:
        planes = [self.view.in_mem_info[0], self.mem_info[0] if self.mem_info else None]
        tensors = (self.inputs[0], self.outputs[0])
        source, target = (_described(info or mem_info_of(tensor, 0)) for info, tensor in zip(planes, tensors))
        numbers = Literal(self.outputs[0].elements), Literal(int(self.node.type == "Neg"))
        return Call("ring_map", ("ring.h",), (Input(0), source, Output(0), target, *numbers))


def _described(info: MemInfo) -> Struct:
    cont = info.cont_size if info.wrap_size else 1 << 30
    jump = info.wrap_offset - info.offset - info.cont_size if info.wrap_size else 0
    return Struct("struct ring_plane", {"per": info.size // 4, "stride": info.stride // 4, "cont": cont // 4, "jump": jump // 4})


class Unaware(Ring):
    """The same, but it says nothing about planes."""

    @classmethod
    def demands(cls, view):
        return Demands()


def library(neg: type[KernelNode] = Ring, absolute: type[KernelNode] = Ring) -> Library:
    spec = ImplSpec(IOSpec(dtype.float32, dformat.any_1))
    kernels = [Kernel("ring", node.__name__, kind, spec, node) for kind, node in (("Neg", neg), ("Abs", absolute))]
    return Library("ring", "c", "", {"ring.h": C}, tuple(kernels), ())


VIEW = graph(
    "a = Neg(x) b = Abs(a) c = Neg(b) d = Abs(c) y = Neg(d)", inputs="float[1,12] x", outputs="float[1,12] y"
)  # a to d have 48 bytes each, two of them live at once
OUTPUT = mem_info_of(VIEW.tensor("y"), 0)


def whole(offset: int) -> MemInfo:
    return mem_info_of(VIEW.tensor("a"), offset)


def ring(offset: int, cont: int, wrap: int, *, size: int = 4, stride: int = 0) -> MemInfo:
    """The 12 floats from `offset` on; after `cont` bytes they continue at `wrap`."""
    stride = stride or size
    count = 48 // size
    extent = stride * (count - 1) + size
    return MemInfo(size, offset, stride, count, 1, cont, offset, wrap, extent - cont if cont else 0)


def exported(folder: Path, planes: list, peak: int = 112, used: Library | None = None, **choices):
    made = aidge_build.SequentialScheduler(VIEW)

    def manager(scheduler):
        nodes = scheduler.get_static_scheduling()
        return peak, {node: [plane] for node, plane in zip(nodes, [*planes, OUTPUT], strict=True)}

    aidge_build.scheduler_export(made, str(folder), used or library(), manager, **choices)
    return made


PLANS = {
    "a ring": [ring(64, 32, 48), whole(0), ring(96, 16, 48), whole(0)],
    "in the gaps of each other": [ring(0, 0, 0, stride=8), ring(4, 0, 0, stride=8), ring(0, 0, 0, stride=8), whole(96)],
    "a ring with gaps": [whole(112), ring(0, 0, 0), ring(64, 48, 52, stride=8), whole(0)],
}
PEAKS = {"a ring": 112, "in the gaps of each other": 144, "a ring with gaps": 160}


@pytest.mark.parametrize("name", PLANS)
def test_kernels_read_and_write_planes_that_wrap_around_or_have_gaps(tmp_path, name):
    made = exported(tmp_path, PLANS[name], PEAKS[name], test_mode=True)
    aidge_build.generate_main_compare(str(tmp_path), made, {"x": numpy.float32([numpy.arange(12) - 5.5])})
    assert subprocess.run([sanitized(tmp_path)], capture_output=True, text=True).stdout == "0 values differ\n"
    assert any(place.plane is not None for place in made.program.memory.places.values())


PLAN = PLANS["a ring"]


@pytest.mark.parametrize(
    "planes, error, message",
    [
        ([ring(64, 32, 40), *PLAN[1:]], CheckFailed, r"'b' .* and 'a \(1\)' .* overlap|'a \(1\)' .* and 'b' .* overlap"),
        ([ring(64, 32, 80), *PLAN[1:]], CheckFailed, "'a' .* and 'a \\(1\\)' .* overlap"),
        ([ring(64, 32, 100), *PLAN[1:]], CheckFailed, "gives 'a' .* of 112"),
        ([ring(64, 32, -16), *PLAN[1:]], CheckFailed, "gives 'a' .* of 112"),
        ([ring(64, 30, 48), *PLAN[1:]], AidgeError, "wraps around after 30 bytes"),
        ([ring(62, 32, 48), *PLAN[1:]], AidgeError, "elements have 4 bytes"),
        ([ring(0, 0, 0, size=6, stride=8), *PLAN[1:]], AidgeError, "elements have 4 bytes"),
        ([MemInfo(4, 0, 8, 11, 1), *PLAN[1:]], AidgeError, "has 11 positions of 4 bytes"),
        ([MemInfo(4, 64, 4, 12, 1, 32, 64, 48, 12), *PLAN[1:]], AidgeError, "has 32 and 12 bytes, its positions need 48"),
    ],
)
def test_a_plane_that_is_wrong_or_overlaps_another_one_is_refused(tmp_path, planes, error, message):
    with pytest.raises(error, match=message):
        exported(tmp_path / "out", planes)
    assert not (tmp_path / "out").exists()


def test_a_plane_that_the_writing_kernel_does_not_declare_is_refused(tmp_path):
    with pytest.raises(AidgeError, match="the plane of 'a' wraps around, which its kernel does not declare"):
        exported(tmp_path, PLAN, used=library(neg=Unaware))


def test_a_plane_that_a_reading_kernel_does_not_declare_is_refused(tmp_path):
    with pytest.raises(AidgeError, match=r"'a' wraps around, which the kernel of its reader node 'Abs_1' \(Abs\) does not"):
        exported(tmp_path, PLAN, used=library(absolute=Unaware))


def test_what_a_manager_says_of_an_output_of_the_graph_is_the_firmware_s_business(tmp_path):
    made = aidge_build.SequentialScheduler(graph("a = Neg(x) y = Abs(a)", inputs="float[1,12] x", outputs="float[1,12] y"))

    def manager(scheduler):
        first, second = scheduler.get_static_scheduling()
        return 160, {first: [whole(0)], second: [ring(64, 32, 48)]}

    aidge_build.scheduler_export(made, str(tmp_path), library(), manager)
    assert made.program.memory.arena.peak_bytes == 48 and made.program.memory.places["y"].plane is None


def test_a_kernel_may_ask_for_its_planes_where_nothing_is_placed_yet():
    """As `explain` calls it."""
    kernel = library().kernels[0]
    assert kernel.call(NodeView.of(VIEW, VIEW.nodes[0]), None).function == "ring_map"


def test_planes_are_accepted_exactly_where_no_two_live_bytes_meet(tmp_path):
    """Random planes against sets of bytes: b meets a and c, c meets b and d."""
    source, verdicts = random.Random(7), []
    for number in range(80):
        planes = [_random_plane(source) for _ in range(4)]
        held = [_bytes(plane) for plane in planes]
        legal = all(len(one) == 48 for one in held) and not any(one & other for one, other in zip(held, held[1:]))
        try:
            exported(tmp_path / str(number), planes, 448)
            verdicts.append((legal, True))
        except CheckFailed:
            verdicts.append((legal, False))
    assert {legal == accepted for legal, accepted in verdicts} == {True}
    assert min(sum(accepted for _, accepted in verdicts), sum(not accepted for _, accepted in verdicts)) > 10


def _random_plane(source: random.Random) -> MemInfo:
    stride = source.choice((4, 4, 8))
    extent = stride * 11 + 4
    cont = source.choice((0, stride * source.randint(1, 10)))
    offset, wrap = (4 * source.randint(0, (448 - size) // 4) for size in (cont or extent, extent - cont))
    return ring(offset, cont, wrap, stride=stride)


def _bytes(plane: MemInfo) -> set[int]:
    found = set()
    for position in range(12):
        behind = position * plane.stride
        wraps = plane.wrap_size and behind >= plane.cont_size
        first = plane.wrap_offset + behind - plane.cont_size if wraps else plane.offset + behind
        found |= set(range(first, first + 4))
    return found
