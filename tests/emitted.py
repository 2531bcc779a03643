# SPDX-License-Identifier: MIT
"""Small programs made by hand, with a library of three toy kernels: what the tests of `emit` print and run."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass

import numpy

from aidge_build.boards import Region
from aidge_build.contract.call import Call, Constant, Input, Literal, Output, Scratch, Struct
from aidge_build.contract.library import Kernel
from aidge_build.contract.node import KernelNode
from aidge_build.contract.spec import ImplSpec
from aidge_build.graph.dtype import DType
from aidge_build.graph.quantization import per_tensor
from aidge_build.graph.tensor import Tensor, constant
from aidge_build.graph.view import GraphView, Node, graph_view
from aidge_build.plan.memory.buffer import Buffer
from aidge_build.plan.memory.plan import MemoryPlan
from aidge_build.plan.memory.planner import plan
from aidge_build.plan.names import with_names
from aidge_build.plan.options import Options
from aidge_build.plan.place import ArenaPart, Place, Placed
from aidge_build.plan.program import CodeTarget, CopiedTo, Layer, Program
from aidge_build.plan.schedule.copies import ConstantCopy, arrays_in_line
from aidge_build.plan.schedule.order import Order
from aidge_build.plan.schedule.schedule import Schedule

SHAPE_H = b"""// SPDX-License-Identifier: 0BSD
#ifndef SHAPE_H
#define SHAPE_H
#include <stdint.h>
typedef struct {
    int32_t count;
    int32_t limits[2];
} aidge_toy_shape;
#endif
"""

SCALE_H = b"""// SPDX-License-Identifier: 0BSD
/* y = clamp(x * w + b), one w and b per element; it doesn't read more than `count`. */
#pragma once
#include "common/shape.h"
#include <string.h>

static void aidge_toy_scale_s8(const int8_t *x, int8_t *y, const int8_t *w, const int32_t *b, void *scratch,
                               const aidge_toy_shape *shape)
{
    int32_t *sums = (int32_t *)scratch;
    memset(sums, 0, (size_t)shape->count * sizeof(int32_t));
    for (int32_t i = 0; i < shape->count; ++i) {
        sums[i] = (int32_t)x[i] * w[i] + b[i];
        sums[i] = sums[i] < shape->limits[0] ? shape->limits[0] : sums[i];
        sums[i] = sums[i] > shape->limits[1] ? shape->limits[1] : sums[i];
        y[i] = (int8_t)sums[i];
    }
}
"""

REVERSE_H = b"""// SPDX-License-Identifier: 0BSD
#include "common/shape.h"
#if defined(__ARM_FEATURE_DSP)
#include <arm_acle.h>
#endif
static void aidge_toy_reverse_s8(const int8_t *x, int8_t *y, int32_t count)
{
    for (int32_t i = 0; i < count; ++i) {
        y[i] = x[count - 1 - i];
    }
}
"""

ADD_H = b"""// SPDX-License-Identifier: 0BSD
#include <stdint.h>
static void aidge_toy_add_f32(const float *a, const float *b, float *y, int32_t count)
{
    for (int32_t i = 0; i < count; ++i) {
        y[i] = a[i] + b[i];
    }
}
"""

UNUSED_H = b"static int aidge_toy_unused(void) { return 0; }\n"

TOY_FILES: Mapping[str, bytes] = {
    "common/shape.h": SHAPE_H,
    "scale_s8.h": SCALE_H,
    "reverse_s8.h": REVERSE_H,
    "add_f32.h": ADD_H,
    "unused.h": UNUSED_H,
}


@dataclass(frozen=True)
class ToyOperator:
    """An operator that only has a name."""

    type: str


def toy_kernel(name: str, operator_type: str, library: str = "toy") -> Kernel:
    """A registered kernel."""
    return Kernel(library, name, operator_type, ImplSpec(), KernelNode)


def chain(
    name: str = "toy",
    *,
    count: int = 6,
    options: Options | None = None,
    names=("x", "first", "middle", "second", "y"),
    weights: numpy.ndarray | None = None,
    alignment: int = 4,
    **changes,
) -> Program:
    """y = reverse(clamp(x * w + b)): an int8 model of two layers, the first with scratch and constants."""
    options = options or Options()
    x_name, first, middle, second, y_name = names
    kind = {"dims": (1, count), "dtype": DType.int8}
    x = Tensor(x_name, quantization=per_tensor(0.1, -3), **kind)
    hidden, y = Tensor(middle, **kind), Tensor(y_name, quantization=per_tensor(0.25, 7), **kind)
    w = numpy.arange(1, count + 1, dtype=numpy.int8) if weights is None else weights
    b = numpy.arange(count, dtype=numpy.int32) * -1
    nodes = (
        Node(first, ToyOperator("Scale"), (x_name,), (middle,), (first, f"{first}_relu")),
        Node(second, ToyOperator("Reverse"), (middle,), (y_name,), (second,)),
    )
    view = graph_view("graph", nodes, {t.name: t for t in (x, hidden, y)}, [x_name], [y_name])
    inner = [Buffer(middle, count, 4, 0, 2), Buffer("scratch", 4 * count, 4, 0, 1, "scratch")]
    ends = [Buffer(x_name, count, 4, 0, 1, "io"), Buffer(y_name, count, 4, 1, 2, "io")]
    peak = plan(inner + ends)
    arena = peak if options.io == "arena" else plan(inner)
    places = {middle: Place("arena", offset_bytes=arena.offset_of(middle)), x_name: Place("input"), y_name: Place("output")}
    if options.io == "arena":
        places |= {end: Place("arena", offset_bytes=arena.offset_of(end)) for end in (x_name, y_name)}
    scale = Call(
        "aidge_toy_scale_s8",
        ("scale_s8.h",),
        (
            Input(),
            Output(),
            Constant("weights", w),
            Constant("bias", b),
            Scratch(),
            Struct("aidge_toy_shape", {"count": count, "limits": (-100, 100)}),
        ),
        "clamp proved necessary",
    )
    reverse = Call("aidge_toy_reverse_s8", ("reverse_s8.h",), (Input(), Output(), Literal(count)))
    layers = (
        Layer(
            f"{name}_first",
            nodes[0],
            toy_kernel("scale_s8", "Scale"),
            scale,
            (x,),
            (hidden,),
            count,
            arena.offset_of("scratch"),
            (("other", "wants float32"),),
            "library preference",
        ),
        Layer(f"{name}_second", nodes[1], toy_kernel("reverse_s8", "Reverse"), reverse, (hidden,), (y,), 0),
    )
    order = Order((0, 1), peak.lower_bound_bytes, peak.lower_bound_bytes, 3)
    placed = Placed(arena, (), peak, places, 2 * count, alignment, "")
    program = _program(name, "ab" * 32, view, layers, placed, "cortex-m4", options, order)
    return changed(program, **changes)


def changed(program: Program, **changes) -> Program:
    """The program with other values of these fields: its own, or those of its memory or target."""
    for part in ("memory", "target"):
        names = {field.name for field in dataclasses.fields(getattr(program, part))} & changes.keys()
        changes[part] = dataclasses.replace(getattr(program, part), **{name: changes.pop(name) for name in names})
    return with_names(dataclasses.replace(program, **changes))


def _program(
    name: str, digest: str, view: GraphView, layers: tuple[Layer, ...], memory: Placed, target: str, options: Options, order=None
) -> Program:
    steps = tuple(layer.node for layer in layers)
    order = order or Order(tuple(range(len(steps))), 0, 0, 0)
    schedule = Schedule(steps, (), {}, {}, order)
    files = {"toy": TOY_FILES}
    return with_names(Program(name, digest, view, layers, schedule, memory, CodeTarget(target), options, library_files=files))


def copying(mode: str) -> Program:
    """`chain`, whose constants are copied into the arena ("memcpy", "hook") before its first layer."""
    found = chain(options=Options(copy_constants=mode))
    layer = found.layers[0]
    copy = ConstantCopy(layer.node.name, 0, 0, arrays_in_line([(2, 6), (3, 24)], 8), 8)
    arena = plan([*(placement.buffer for placement in found.memory.arena.placements), copy.buffer])
    places = {
        name: dataclasses.replace(place, offset_bytes=arena.offset_of(name)) if place.kind == "arena" else place
        for name, place in found.memory.places.items()
    }
    moved = dataclasses.replace(
        layer, scratch_offset_bytes=arena.offset_of("scratch"), copied=CopiedTo(copy, arena.offset_of(copy.name))
    )
    return changed(found, arena=arena, places=places, layers=(moved, *found.layers[1:]), alignment=8)


def in_two_memories(options: Options | None = None) -> Program:
    """`chain` with its scratch in DTCM and its tensor in SRAM."""
    whole = chain().memory
    scratch, middle = (placement.buffer for placement in whole.arena.placements)
    parts = (ArenaPart("DTCM", 0, plan([scratch]), "dtcm"), ArenaPart("SRAM", 24, plan([middle]), "sram"))
    memories = tuple(Region(name, at, 0x1000, "ram", ()) for name, at in (("SRAM", 0x20000000), ("DTCM", 0x10000000)))
    return chain(split=parts, memories=memories, options=options)


def chain_result(x: numpy.ndarray, weights: numpy.ndarray | None = None) -> numpy.ndarray:
    """What `chain` computes."""
    index = numpy.arange(x.size)
    w = index + 1 if weights is None else weights
    return numpy.clip(x.astype(int) * w - index, -100, 100)[::-1].astype(numpy.int8)


def float_sum(name: str = "sum", options: Options | None = None, values=(1.5, -0.0, 1e-45, 3.4028235e38)) -> Program:
    """y = x + c in float32: one layer, its constant tensor read directly, two inputs of which one is not read, no arena."""
    c = constant("c", numpy.array(values, numpy.float32))
    dims = c.dims
    x, unread, y = (Tensor(tensor, dims, DType.float32) for tensor in ("x", "unread", "y"))
    node = Node("add", ToyOperator("Add"), ("x", "c"), ("y",), ("add",))
    view = graph_view("graph", [node], {t.name: t for t in (x, unread, y, c)}, ["x", "unread"], ["y"])
    call = Call("aidge_toy_add_f32", ("add_f32.h",), (Input(0), Input(1), Output(), Literal(len(values))))
    layer = Layer(f"{name}_add", node, toy_kernel("add_f32", "Add"), call, (x, c), (y,), 0)
    places = {"x": Place("input", 0), "unread": Place("input", 1), "c": Place("constant"), "y": Place("output", 0)}
    empty = MemoryPlan((), 0, 0, 0, True)
    size = x.size_bytes
    peak = plan([Buffer("x", size, 4, 0, 1, "io"), Buffer("unread", size, 4, 0, 1, "io"), Buffer("y", size, 4, 0, 1, "io")])
    placed = Placed(empty, (), peak, places, 3 * size, 4, "")
    return _program(name, "cd" * 32, view, (layer,), placed, "host", options or Options())


def reversal(options: Options | None = None) -> Program:
    """y = reverse(x) in int8: one layer, no constant, no arena."""
    x, y = (Tensor(name, (6,), DType.int8) for name in "xy")
    node = Node("reverse", ToyOperator("Reverse"), ("x",), ("y",))
    call = Call("aidge_toy_reverse_s8", ("reverse_s8.h",), (Input(), Output(), Literal(6)))
    layer = Layer("toy_reverse", node, toy_kernel("reverse_s8", "Reverse"), call, (x,), (y,), 0)
    peak = plan([Buffer("x", 6, 4, 0, 1, "io"), Buffer("y", 6, 4, 0, 1, "io")])
    view = graph_view("graph", [node], {"x": x, "y": y}, ["x"], ["y"])
    placed = Placed(MemoryPlan((), 0, 0, 0, True), (), peak, {"x": Place("input"), "y": Place("output")}, 12, 4, "")
    return _program("toy", "ab" * 32, view, (layer,), placed, "host", options or Options())
