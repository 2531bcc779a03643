# SPDX-License-Identifier: MIT
"""Reductions over any axes, any type: one loop, generated with the operator's expressions in it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from aidge_build.base.errors import AidgeError
from aidge_build.contract.call import Call, Input, Output, Struct
from aidge_build.contract.kernel_kit.conditions import REAL, SAME_QUANTIZATION
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import ROW_MAJOR, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType
from aidge_build.graph.tensor import Tensor

from ..shared.each_expressions import NUMBERS, wide

AXES = 4
UNROLLED = 4  # elements in a pass of the inner loop: below 4 instructions for each float on Cortex-M4F
EXTREMES = ("ReduceMax", "ReduceMin")  # which select an element, whatever the stored numbers stand for


@dataclass(frozen=True)
class Reduction:
    """The sum `s` begins as `start`, takes in every element x by `step`, and ends as `end`.

    `count` is the number of elements. `largest` asks for the largest element m before the loop.
    """

    start: str
    step: str
    end: str = "s"
    type: str = ""  # of s; "" is the element's type
    largest: bool = False


def _sums(term: str, end: str = "s") -> Callable[[DType], Reduction]:
    def find(dtype: DType) -> Reduction:
        if dtype is DType.float32:
            return Reduction("0.0f", f"s += {term};", end)
        whole = term.replace(
            "fabsf(x)", f"(x < 0 ? 0u - ({wide(dtype)})x : ({wide(dtype)})x)" if dtype.name.startswith("int") else "x"
        )
        whole = whole.replace("x * x", f"({wide(dtype)})x * ({wide(dtype)})x")
        whole = f"({wide(dtype)})x" if whole == "x" else whole
        return Reduction("0u", f"s += {whole};", end, wide(dtype))

    return find


def _floats_only(found: Reduction) -> Callable[[DType], Reduction | None]:
    return lambda dtype: found if dtype is DType.float32 else None


def _extreme(sign: str) -> Callable[[DType], Reduction]:
    test = f"(x {sign} s) || (x != x)"

    def find(dtype: DType) -> Reduction:
        return Reduction(_least(dtype, sign), f"s = {test if dtype is DType.float32 else f'x {sign} s'} ? x : s;")

    return find


def _least(dtype: DType, sign: str) -> str:
    """The value that every other one replaces, also the result where there is no element."""
    if dtype is DType.float32:
        return "-INFINITY" if sign == ">" else "INFINITY"
    if dtype is DType.bool:
        return "0" if sign == ">" else "1"
    if sign == ">":
        return "0" if dtype.name.startswith("u") else f"{dtype.name.upper()}_MIN"
    return f"{dtype.name.upper()}_MAX"


REDUCTIONS: dict[str, Callable[[DType], Reduction | None]] = {
    "ReduceL1": _sums("fabsf(x)"),
    "ReduceL2": _floats_only(Reduction("0.0f", "s += x * x;", "sqrtf(s)")),
    "ReduceLogSum": _floats_only(Reduction("0.0f", "s += x;", "logf(s)")),
    "ReduceLogSumExp": _floats_only(Reduction("0.0f", "s += expf(x - m);", "m + logf(s)", largest=True)),
    "ReduceMax": _extreme(">"),
    "ReduceMean": lambda dtype: (
        Reduction("0.0f", "s += x;", "s / (float)shape->count")
        if dtype is DType.float32
        else Reduction("0", "s += (int64_t)x;", "s / shape->count", "int64_t")
        if dtype.size_bytes < 8
        else None
    ),
    "ReduceMin": _extreme("<"),
    "ReduceProd": lambda dtype: (
        Reduction("1.0f", "s *= x;") if dtype is DType.float32 else Reduction("1u", f"s *= ({wide(dtype)})x;", "s", wide(dtype))
    ),
    "ReduceSum": _sums("x"),
    "ReduceSumSquare": _sums("x * x"),
}


def _reduction(view: NodeView) -> Reduction | None:
    dtype = view.inputs[0].dtype
    if dtype is DType.bool:
        return REDUCTIONS[view.node.type](dtype) if view.node.type in EXTREMES else None
    return REDUCTIONS[view.node.type](dtype) if dtype in NUMBERS else None


def _types(view: NodeView) -> str:
    return "" if _reduction(view) is not None else f"{view.node.type} of {view.inputs[0].dtype.name} has no C expression"


def _spec(values: Predicate) -> ImplSpec:
    side = IOSpec(DType.any, ROW_MAJOR)
    return ImplSpec(side, predicates=(values, Predicate("the type has a C expression", _types)))


@kernel(sorted(REDUCTIONS.keys() - {*EXTREMES}), _spec(REAL))
class Reduce(KernelNode):
    def call(self) -> Call:
        (source,), kind = self.inputs, self.node.type.lower()
        found = _reduction(self.view)
        shape = reduce_shape(source, self.operator.axes)
        width = _width(shape, found)
        flat = shape["outputs"] == shape["kept"][-1] and shape["count"] == shape["reduced"][-1]
        function = f"aidge_ref_{kind}_{source.dtype.name}{f'_by_{width}' if width else ''}{'_flat' if flat else ''}"
        return Call(
            function,
            ("any/reduce.h",),
            (Input(0), Output(0), Struct("aidge_ref_reduce_shape", shape)),
            texts=(_text(function, found, source.dtype, width, flat),),
        )


@kernel(EXTREMES, _spec(SAME_QUANTIZATION))
class ReduceExtreme(Reduce):
    """The largest or smallest of the stored numbers, which is that of the real ones."""


def reduce_shape(source: Tensor, axes: tuple[int, ...]) -> dict[str, int | tuple[int, ...]]:
    """The kept and the reduced axes of a row-major tensor, slowest first; neighbours of one kind are merged."""
    strides = source.layout.strides if source.elements else (0,) * source.rank  # nothing is read, and no pointer leaves its array
    return merged_shape([(axis in axes, size, step) for axis, (size, step) in enumerate(zip(source.dims, strides))])


def merged_shape(places: Sequence[tuple[bool, int, int]]) -> dict[str, int | tuple[int, ...]]:
    """The same of (reduced, size, step) of each axis, those of a kind slowest first."""
    merged: list[tuple[bool, int, int]] = []
    for reduced, size, step in places:
        if size == 1:
            continue
        if merged and merged[-1][0] == reduced and merged[-1][2] == size * step:
            merged[-1] = (reduced, merged[-1][1] * size, step)
        else:
            merged.append((reduced, size, step))
    fields: dict[str, int | tuple[int, ...]] = {}
    for name, wanted in (("kept", False), ("reduced", True)):
        chosen = [(size, step) for reduced, size, step in merged if reduced is wanted]
        if len(chosen) > AXES:
            raise AidgeError(f"the reduction needs {len(chosen)} loops over {name} axes, the kernel has {AXES}", code="KERNEL")
        filled = [(1, 0)] * (AXES - len(chosen)) + chosen
        fields |= {name: tuple(size for size, _ in filled), f"{name}_steps": tuple(step for _, step in filled)}
    count = total = 1
    for reduced, size, _ in merged:
        count, total = (count * size, total) if reduced else (count, total * size)
    return {"outputs": total, "count": count, **fields}


def _width(shape: dict, found: Reduction) -> int:
    """How many neighbouring outputs are computed at once; 0 where the elements of one output are neighbours."""
    if shape["reduced_steps"][-1] == 1 or shape["outputs"] == 1:
        return 0
    return 1 if found.largest else min(shape["kept"][-1], UNROLLED)


def _block(head: str, lines: Iterable[str]) -> list[str]:
    return [f"{head} {{".lstrip(), *(f"    {line}" for line in lines), "}"]


def _text(function: str, found: Reduction, dtype: DType, width: int, flat: bool) -> str:
    """The C function. `flat`: one kept and one reduced axis at most, so that no place needs a division."""
    c, kind, columns = dtype.c_type, found.type or dtype.c_type, range(max(width, 1))
    place = f"(column < columns - {width}) ? column : columns - {width}" if width > 1 else "column"
    ends = (_of_column(column, found.end if kind == c else f"({c})({found.end})") for column in columns)
    first = "" if flat else "o + "
    group = _block(
        f"for (column = 0; column < columns; column += {len(columns)})",
        [
            f"const int32_t place = {place};",
            f"const {c} *first = {'input' if flat else 'base'} + place * shape->kept_steps[3];",
            *(_largest(c) if found.largest else ()),
            *(f"{kind} s{column} = {found.start};" for column in columns),
            *_runs(_run(found, c, width), c, flat),
            *(f"output[{first}place{f' + {column}' if column else ''}] = {end};" for column, end in enumerate(ends)),
        ],
    )
    body = [
        "const int32_t columns = shape->kept[3], run = shape->reduced[3];",
        *(["const int32_t step = shape->reduced_steps[3];"] if width else ()),
        f"int32_t column, j{'' if flat else ', o'}{', i' if found.largest or not flat else ''};",
        *_groups(group, c, flat),
    ]
    head = f"static void {function}(const {c} *input, {c} *output, const aidge_ref_reduce_shape *shape)"
    return "\n".join([head, *_block("", body)])


def _groups(group: list[str], c: str, flat: bool) -> list[str]:
    base = f"const {c} *base = input + aidge_ref_kept_at(shape, o);"
    return group if flat else _block("for (o = 0; o < shape->outputs; o += columns)", [base, *group])


def _of_column(column: int, text: str) -> str:
    return re.sub(r"\bs\b", f"s{column}", text)


def _run(found: Reduction, c: str, width: int) -> list[str]:
    """The loop over elements at equal distances."""

    def take(column: int, place: int) -> str:
        return f"{{ const {c} x = at[{place}]; {_of_column(column, found.step)} }}"

    if width:
        return _block("for (j = run; j > 0; j--)", [*(take(column, column) for column in range(width)), "at += step;"])
    several = [*(take(0, place) for place in range(UNROLLED)), f"at += {UNROLLED};"]
    run = _block(f"for (j = run; j >= {UNROLLED}; j -= {UNROLLED})", several)
    return run + _block("for (; j > 0; j--)", [take(0, 0), "at++;"])


def _runs(run: list[str], c: str, flat: bool) -> list[str]:
    """The loop over all runs; `flat`: there is one."""
    if flat:
        return [f"const {c} *at = first;", *run]
    at = f"const {c} *at = first + ((i == 0) ? 0 : aidge_ref_reduced_at(shape, i));"
    return _block("for (i = 0; i < shape->count; i += run)", [at, *run])


def _largest(c: str) -> list[str]:
    """The largest element, or 0 where that is no number."""
    lines = [f"const {c} x = first[aidge_ref_reduced_at(shape, i)];", "m = x > m ? x : m;"]
    return [f"{c} m = -INFINITY;", *_block("for (i = 0; i < shape->count; i++)", lines), "m = isfinite(m) ? m : 0.0f;"]
