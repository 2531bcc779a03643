# SPDX-License-Identifier: MIT
"""Conditions under which an operator means no more than the operator of the same name in the inherited libraries.

Operators here may say more (pads inside a convolution, groups, broadcasting, scales). A kernel of an export library gets such a
node only where the kernel's class lists the condition in `handles`, or where its templates name an attribute of the condition.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace

import numpy

from aidge_build.base.errors import AidgeError
from aidge_build.compat.attributes import member_titles
from aidge_build.contract.node import KernelClass
from aidge_build.contract.spec import ImplSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType
from aidge_build.graph.tensor import Tensor, constant
from aidge_build.operators.arithmetic.requantize import clamp_levels
from aidge_build.operators.conv import Convolution
from aidge_build.operators.pad import Pad
from aidge_build.operators.window import Window

_BROADCASTING = ("Max", "Mean", "Min", "PRelu", "Sum", "Where")  # operators of a kind of their own that broadcast, too
_BIAS = 2  # the input of a convolution or fully connected layer that may be missing
_ELEMENT_WISE = frozenset({"ElementWise", "ElementWiseBinary"})
_ROWS = ("FC", "Gemm", "MatMul")  # operators for which a matrix [N, C] is N inputs


def _window(view: NodeView) -> Window | None:
    return getattr(view.operator, "window", None)


def _has_pads(view: NodeView) -> bool:
    window = _window(view)
    return window is not None and window.has_pads


def _not_padded(view: NodeView) -> str:
    """Returns why the node is not a Pad with zeros followed by the operator without pads; "" if it is."""
    if not _has_pads(view):
        return "has no pads"
    return "" if getattr(view.operator, "count_include_pad", True) else "does not count pads"


PADDED = Predicate("has pads", _not_padded)
PADDED_HANDLES = frozenset({"pads", "count_include_pad"})  # a kernel of a padded composition handles these, too


def _tensors(view: NodeView) -> list[Tensor]:
    return [tensor for tensor in (*view.inputs, *view.outputs) if tensor is not None]


def _clamp(view: NodeView) -> str:
    low, high = getattr(view.operator, "minimum", -math.inf), getattr(view.operator, "maximum", math.inf)
    return f"clamps to {low:g}..{high:g}" if low > -math.inf or high < math.inf else ""


def _groups(view: NodeView) -> str:
    groups = getattr(view.operator, "groups", 1)
    return f"has {groups} groups" if groups != 1 and not getattr(view.operator, "depthwise", False) else ""


def _counts_pads(view: NodeView) -> str:
    if not _has_pads(view) or not hasattr(view.operator, "count_include_pad"):
        return ""
    return "counts pads" if view.operator.count_include_pad else "does not count pads"


def _strides(view: NodeView) -> str:
    strides = getattr(_window(view), "strides", ())
    return f"has strides of {', '.join(map(str, strides))}" if set(strides) - {1} else ""


def _dilations(of_pools: bool) -> Callable[[NodeView], str]:
    def said(view: NodeView) -> str:
        dilations = getattr(_window(view), "dilations", ())
        is_asked = of_pools == ("Pooling" in view.node.type) and set(dilations) - {1}
        return f"has dilations of {', '.join(map(str, dilations))}" if is_asked else ""

    return said


def _batch(is_element_wise: bool) -> Callable[[NodeView], str]:
    def said(view: NodeView) -> str:
        if is_element_wise != bool(_ELEMENT_WISE.intersection(view.operator.kinds())):
            return ""
        least = 2 if is_element_wise or view.node.type in _ROWS else 3
        moving = [tensor for tensor in _tensors(view) if not tensor.is_constant and tensor.rank >= least]
        return next((f"has a batch of {tensor.dims[0]}" for tensor in moving if tensor.dims[0] != 1), "")

    return said


def _broadcasts(view: NodeView) -> str:
    may = "Broadcast" in view.operator.kinds() or view.node.type in _BROADCASTING
    return "broadcasts" if may and any(tensor.dims != view.outputs[0].dims for tensor in _tensors(view)) else ""


def _axis(view: NodeView) -> str:
    if "ForAxis" not in view.operator.kinds() or view.inputs[0] is None:
        return ""
    data, axis = view.inputs[0], view.operator.axis
    return f"works along axis {axis} alone" if data.elements != data.dims[axis] else ""


def _axes(view: NodeView) -> str:
    if "ReduceAxis" not in view.operator.kinds() or view.inputs[0] is None:
        return ""
    return "reduces some axes alone" if view.outputs[0].elements > 1 else ""


def _border(view: NodeView) -> str:
    mode = getattr(view.operator, "mode", "constant") if isinstance(view.operator, Pad) else "constant"
    return f"pads by {mode}" if mode != "constant" else ""


def _border_value(view: NodeView) -> str:
    value = view.operator.value if isinstance(view.operator, Pad) and view.operator.mode == "constant" else 0
    return f"pads with {value:g}" if value else ""


def _pads_elsewhere(view: NodeView) -> str:
    """The inherited Pad puts elements around images; here it may pad any axis, and cut."""
    pads = (*view.operator.pads_begin, *view.operator.pads_end) if isinstance(view.operator, Pad) else ()
    if any(pad < 0 for pad in pads):
        return "cuts elements off"
    count = len(pads) // 2
    return "pads batch or channels" if count > 2 and any((*pads[:2], *pads[count : count + 2])) else ""


def _scales(view: NodeView) -> str:
    return "a tensor is quantized" if any(tensor.quantization is not None for tensor in _tensors(view)) else ""


def _zero_points(view: NodeView) -> str:
    shifted = (any(tensor.quantization.zero_points) for tensor in _tensors(view) if tensor.quantization is not None)
    return "a tensor has a zero point" if any(shifted) else ""


@dataclass(frozen=True)
class Condition:
    """Something that an operator may say, and that a kernel has to know of to compute it.

    `said` gives the words of a refusal, "" where the node does not say it. A template knows of it if it names one of `names`.
    If the inherited operator says it, too (`is_inherited`), it is asked of templates alone.
    """

    word: str
    names: tuple[str, ...]
    said: Callable[[NodeView], str]
    is_inherited: bool = False

    @property
    def remedy(self) -> str:
        """Returns what the author of a kernel writes to get such nodes."""
        said = f"handles = {{{self.word!r}}}"
        return f"{said}, or a template that names {' or '.join(self.names)}" if self.names else said


_BATCH = ("in_batch", "out_batch")
CONDITIONS = (
    Condition("clamp", ("minimum", "maximum"), _clamp),
    Condition("groups", ("groups",), _groups),
    Condition("pads", ("pads_begin", "pads_end"), lambda view: "has pads" if _has_pads(view) else ""),
    Condition("pads", ("pads_begin", "pads_end", "axes"), _pads_elsewhere),
    Condition("border_type", ("border_type", "mode"), _border, is_inherited=True),
    Condition("border_value", ("border_value", "constant_value", "value"), _border_value, is_inherited=True),
    Condition("strides", ("strides", "stride_dims"), _strides, is_inherited=True),
    Condition("dilations", ("dilations", "dilation_dims"), _dilations(of_pools=False), is_inherited=True),
    Condition("dilations", ("dilations", "dilation_dims"), _dilations(of_pools=True)),
    Condition("ceil_mode", ("ceil_mode",), lambda view: "rounds its size up" if getattr(_window(view), "ceil_mode", 0) else ""),
    Condition("count_include_pad", ("count_include_pad",), _counts_pads),
    Condition("batch", _BATCH, _batch(is_element_wise=False)),
    Condition("batch", (*_BATCH, "in_size", "out_size", "in_dims", "out_dims"), _batch(is_element_wise=True), is_inherited=True),
    Condition("broadcasting", (), _broadcasts),
    Condition("axis", ("axis", *_BATCH), _axis),
    Condition("axes", ("axes",), _axes),
    Condition("scales", ("in_scale", "out_scale"), _scales),
    Condition("zero_points", ("in_zero_point", "out_zero_point"), _zero_points),
)


def restricted(spec: ImplSpec, node_class: KernelClass, handles: Collection[str] = ()) -> ImplSpec:
    """The spec for nodes that say nothing that the class does not handle; `handles` are further words than the class's own.

    AidgeError (code LIBRARY) for an unknown word. The added predicate is equal for all classes: it makes no spec more specific
    than another one.
    """
    handled, known = frozenset(handles) | frozenset(getattr(node_class, "handles", ())), {each.word for each in CONDITIONS}
    if handled - known:
        what = f"{node_class.__name__} handles {min(handled - known)!r}, which is no condition"
        raise AidgeError(what, code="LIBRARY", tried=sorted(known))

    def rejection(view: NodeView) -> str:
        if hasattr(node_class, "unwritten") and (reason := node_class.unwritten(view)):
            return reason
        wanted = [(one, titles, reason) for one, titles, reason in _said_by(view, node_class) if one.word not in handled]
        named = node_class.named_attributes(view) if wanted and hasattr(node_class, "named_attributes") else None
        missing = (
            f"{reason}, which {node_class.__name__} does not handle ({condition.remedy})"
            for condition, titles, reason in wanted
            if (named is not None or not condition.is_inherited) and titles.isdisjoint(named or ())
        )
        return next(missing, "")

    return replace(spec, predicates=(*spec.predicates, Predicate("no more than the kernel handles", rejection)))


def _said_by(view: NodeView, node_class: KernelClass) -> Iterator[tuple[Condition, set[str], str]]:
    """Yields each condition that the node, or a member of a meta-operator, has: the condition, the names of its attributes in
    templates, the reason in words."""
    graph = getattr(view.operator, "graph", None)
    titles = {} if graph is None else member_titles(view.operator)
    for member in _members(view):
        for condition in CONDITIONS:
            reason = condition.said(member)
            if reason and not (condition.said is _clamp and _is_clamped_behind(view, member, node_class)):
                names = {each for name in condition.names for each in (titles[member.node.name](name) if graph else (name,))}
                yield condition, names, reason


def _is_clamped_behind(view: NodeView, member: NodeView, node_class: KernelClass) -> bool:
    """Whether the clamp belongs to the node's result, and the class computes it after its own text."""
    is_last = member is view or member.node.outputs[0] == view.operator.graph.outputs[0]
    return is_last and hasattr(node_class, "clamps_behind") and node_class.clamps_behind(view)


def clamp_of(view: NodeView) -> list[tuple[str, float | int]]:
    """The clamp of the node's result as ("<" or ">", bound), in stored values where the output is quantized."""
    graph, output = getattr(view.operator, "graph", None), view.outputs[0]
    operator = view.operator if graph is None else graph.producer(graph.outputs[0]).operator
    low, high = float(getattr(operator, "minimum", -math.inf)), float(getattr(operator, "maximum", math.inf))
    bounds = [(sign, bound) for sign, bound in (("<", low), (">", high)) if math.isfinite(bound)]
    if output.quantization is None or not bounds:
        return bounds
    return list(zip("<>", clamp_levels(low, high, output.quantization, output.dtype)))


def with_bias(view: NodeView) -> NodeView:
    """Returns the view with a bias of zeros, the input after the weights, for each convolution or FC without bias, alone or in a
    meta-operator: the inherited operators always have this input."""
    for member in _members(view):
        bias = member.inputs[_BIAS] if len(member.inputs) > _BIAS else None
        if bias is None and (isinstance(member.operator, Convolution) or member.node.type == "FC"):
            zeros = _zeros(member)
            place = view.node.inputs.index(member.node.inputs[_BIAS - 1]) + 1
            rest = place + (view.inputs[place : place + 1] == (None,))
            node = view.node.with_(inputs=(*view.node.inputs[:place], zeros.name, *view.node.inputs[rest:]))
            told = view.in_mem_info and (*view.in_mem_info[:place], None, *view.in_mem_info[rest:])
            view = replace(view, node=node, inputs=(*view.inputs[:place], zeros, *view.inputs[rest:]), in_mem_info=told)
    return view


def _zeros(view: NodeView) -> Tensor:
    output = view.outputs[0]
    channels = output.dims[1] if isinstance(view.operator, Convolution) else output.dims[-1]
    dtype = output.dtype if view.inputs[0].quantization is None else DType.int32
    return constant(f"{view.node.name}_no_bias", numpy.zeros(channels, dtype.numpy))


def _members(view: NodeView) -> list[NodeView]:
    """The node, or the members of a meta-operator."""
    graph = getattr(view.operator, "graph", None)
    return [view] if graph is None else [NodeView.of(graph, node) for node in graph.nodes]
