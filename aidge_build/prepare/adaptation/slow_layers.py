# SPDX-License-Identifier: MIT
"""Notices about layers with a kernel that takes many instructions, and why no faster kernel took them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from aidge_build.base.naming import counted
from aidge_build.contract.spec import NodeView
from aidge_build.graph.dtype import DType
from aidge_build.graph.view import GraphView
from aidge_build.operators.dynamic import DynamicLayer
from aidge_build.prepare.adaptation.assignment import Assignment, Choice

MOST_PER_MAC = 6.0  # instructions of a multiply-accumulate; more is said
MOST_NAMED = 4  # layers of one kernel and reason
LONGEST_NAME = 40
_OTHER_CONTRACT = "rounds as 'onnx', the build wants 'double'"
_WIDE = ("input 1 is int16", "the weights are int16", "int16 weights")  # how specs refuse such weights


def slow_layers(assignment: Assignment, features: Iterable[str], libraries: Sequence[str], *, lacks_fpu: bool) -> tuple[str, ...]:
    """Returns lines that name every layer slower than MOST_PER_MAC, with its kernel and the reason: one line for the layers with
    faster kernels under another contract, one for the others; or nothing.

    A kernel states its instructions itself (`KernelNode.takes_per_mac`). On a core without an FPU every kernel with floats is
    slow, except for layers that only scale their sums to floats.
    """
    is_narrow, found = "narrow" in features, dict[str, list[str]]()
    by_contract: dict[str, list[str]] = {}
    for node in assignment.view.nodes:
        choice, seen = assignment.choices[node.name], assignment.node_view(node)
        if choice.kernel is None or not seen.multiply_accumulates:
            continue
        if choice.kernel.node_class.takes_per_mac(seen, is_narrow) > MOST_PER_MAC:
            reason = _reason(choice, libraries)
        elif lacks_fpu and _computes_in_float(seen):
            reason = "float32 on a core without an FPU"
        else:
            continue
        if reason.endswith(_OTHER_CONTRACT):
            by_contract.setdefault(reason.split()[0], []).append(node.name)
            continue
        found.setdefault(f"{choice.kernel.library} {choice.kernel.name}: {reason}", []).append(node.name)
    return (*_contract_line(by_contract), *_slow_line(found))


def layers_without_products(assignment: Assignment) -> tuple[str, ...]:
    """Returns one line that names the layers with multiply-accumulates, for a core that has no products; or nothing."""
    names = [
        node.name
        for node in assignment.view.nodes
        if assignment.choices[node.name].kernel and assignment.node_view(node).multiply_accumulates
    ]
    return _line(
        names,
        "products, for which this core has no instruction",
        "with a function of the compiler's library, a multiply-accumulate of two int8 networks took 90 and 170 instructions",
    )


def _contract_line(layers: Mapping[str, list[str]]) -> tuple[str, ...]:
    """Returns the line for `layers`, by the library that has faster kernels for the contract `onnx` alone; or nothing."""
    names = [name for found in layers.values() for name in found]
    return _line(
        names,
        f"portable kernels under --rounding tflite, because the faster ones of {', '.join(layers)} exist for onnx alone",
        "that takes 3 to 11 times the instructions on Cortex-M, about twice on RISC-V; --rounding onnx has the faster ones, with "
        "values that are at most one level from LiteRT's in most layers (docs/tflite.md)",
    )


def _slow_line(found: Mapping[str, list[str]]) -> tuple[str, ...]:
    if not found:
        return ()
    count = sum(map(len, found.values()))
    parts = [f"{named(names)} ({why})" for why, names in found.items()]
    layers = counted(count, "layer", "takes")
    return (f"{layers} more than {MOST_PER_MAC:g} instructions per multiply-accumulate: {'; '.join(parts)}",)


def wide_layers(assignment: Assignment, libraries: Sequence[str]) -> tuple[str, ...]:
    """Returns one line that names the layers with int16 weights that a preferred library does not take, or nothing."""
    names = []
    for node in assignment.view.nodes:
        choice, seen = assignment.choices[node.name], assignment.node_view(node)
        if choice.kernel is None or len(seen.inputs) < 2 or seen.inputs[1] is None or seen.inputs[1].dtype is not DType.int16:
            continue
        preferred = libraries[: libraries.index(choice.kernel.library)]
        refusing = [name for name, reason in choice.rejected if reason.startswith(_WIDE) and name.split()[0] in preferred]
        if refusing and seen.inputs[0].dtype is DType.int8:
            names.append(node.name)
    return _line(
        names,
        "int16 weights, which the faster kernels for this core do not take",
        "they come from biases that are no multiples of input scale * weight scale, and from weights with a zero point",
    )


def layers_with_float_weights(assignment: Assignment) -> tuple[str, ...]:
    """Returns a line that names the layers with float32 weights and data from bytes, and one for the layers with data from int16.
    Such data become floats and then integers again, and the layer is slower than in a model that is not quantized."""
    stored = _dequantized(assignment.view)
    names: dict[DType, list[str]] = {}
    for node in assignment.view.nodes:
        seen = assignment.node_view(node)
        weights = seen.inputs[1] if len(seen.inputs) > 1 else None
        is_float = weights is not None and weights.is_constant and weights.dtype is DType.float32
        if is_float and seen.multiply_accumulates and node.inputs[0] in stored:
            names.setdefault(stored[node.inputs[0]], []).append(node.name)
    halfwords = names.pop(DType.int16, [])
    return (
        *_line(
            sum(names.values(), []),
            "float32 weights and quantized data, which become floats, too",
            "int8 weights, or QuantizeLinear and DequantizeLinear after float weights, make layers of bytes (tf2onnx folds "
            "BatchNormalization into quantized weights; a .tflite file keeps the quantized weights)",
        ),
        *_line(
            halfwords,
            "int16 data, which become floats: a sum of them may be one level of 65,536 off",
            "convolutions and fully connected layers add up integers where the weights are int8 and 32 bits hold every sum; "
            "transposed convolutions do not",
        ),
    )


def _dequantized(view: GraphView) -> dict[str, DType]:
    """Returns the stored types of tensors that DequantizeLinear writes, in any format."""
    found: dict[str, DType] = {}
    for node in view.nodes:
        if node.type == "DequantizeLinear":
            found[node.output] = view.tensor(node.inputs[0]).dtype
        elif node.type == "Reformat" and node.inputs[0] in found:
            found[node.output] = found[node.inputs[0]]
    return found


def _line(names: list[str], what: str, remark: str) -> tuple[str, ...]:
    """Returns one line that says what these layers have; nothing without layers."""
    layers = counted(len(names), "layer", "has")
    return (f"{layers} {what}: {named(names)}; {remark}",) if names else ()


def _computes_in_float(seen: NodeView) -> bool:
    only_scales = isinstance(seen.operator, DynamicLayer) or seen.operator.has_levels_inside
    return not only_scales and any(
        tensor is not None and tensor.dtype is DType.float32 for tensor in (*seen.inputs, *seen.outputs)
    )


def _reason(choice: Choice, libraries: Sequence[str]) -> str:
    """Returns why the first kernel of a preferred library did not take the layer."""
    preferred = libraries[: libraries.index(choice.kernel.library)]
    refusals = (f"{name}: {reason}" for name, reason in choice.rejected if name.split()[0] in preferred)
    if choice.kernel.library == libraries[0] and len(libraries) > 1:
        return "few taps or outputs"
    return next(refusals, "no library has another kernel for it")


def named(names: list[str]) -> str:
    """Returns the first of these names, shortened, and how many more there are."""
    shown = ", ".join(name if len(name) <= LONGEST_NAME else f"{name[:LONGEST_NAME]}..." for name in names[:MOST_NAMED])
    return shown + (f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else "")
