# SPDX-License-Identifier: MIT
"""A damaged input that ends in a fault, made as small as it can be while it ends in the same fault."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import onnx

MOST_TRIALS = 400


def smaller_bytes(data: bytes, fails: Callable[[bytes], bool]) -> bytes:
    """Without every run of bytes, of halves down to single ones, that the fault does not need."""
    return b"".join(_fewer([data[at : at + 1] for at in range(len(data))], lambda parts: fails(b"".join(parts))))


def smaller_model(data: bytes, fails: Callable[[bytes], bool]) -> bytes:
    """An ONNX file without the nodes, constants, shapes, outputs, inputs and imports that the fault does not need."""
    try:
        model = onnx.ModelProto.FromString(data)
    except Exception:  # of protobuf, which has many
        return smaller_bytes(data, fails)
    if not fails(model.SerializeToString()):
        return data
    graph = model.graph
    for field in (
        graph.node,
        graph.initializer,
        graph.value_info,
        graph.output,
        graph.input,
        model.functions,
        model.opset_import,
    ):
        _leave_out(model, field, fails)
    for node in graph.node:
        _leave_out(model, node.attribute, fails)
    return model.SerializeToString()


def _leave_out(model: onnx.ModelProto, field, fails: Callable[[bytes], bool]) -> None:
    """Leaves elements of a repeated field of the model out."""

    def put(parts: Sequence) -> bytes:
        del field[:]
        field.extend(parts)
        return model.SerializeToString()

    elements = [type(element).FromString(element.SerializeToString()) for element in field]
    put(_fewer(elements, lambda parts: fails(put(parts))))


def _fewer(parts: list, fails: Callable[[list], bool]) -> list:
    """Delta debugging: runs of parts are left out, half of them at first, single ones at last."""
    size, trials = max(1, len(parts) // 2), 0
    while parts and trials < MOST_TRIALS:
        at, before = 0, len(parts)
        while at < len(parts) and trials < MOST_TRIALS:
            left, trials = parts[:at] + parts[at + size :], trials + 1
            if fails(left):
                parts = left
            else:
                at += size
        if size == 1 and len(parts) == before:
            break
        size = max(1, size // 2)
    return parts
