# SPDX-License-Identifier: MIT
"""The report as data: everything that is printed, drawn or compared comes from this one document."""

from __future__ import annotations

from collections.abc import Sequence

from aidge_build.measure.report.attribution import Memory
from aidge_build.prove.elf import Claim, Image, StackUse

SCHEMA = 1


def make_document(
    image: Image,
    claims: Sequence[Claim],
    memories: Sequence[Memory],
    plans: Sequence[dict],
    run: dict | None,
    stack: StackUse | None,
) -> dict:
    """Returns the report. `plans` are plan files as parsed, `run` is the output of `run --json`; both may be missing: then their
    columns are None."""
    by_model = {plan["model"]: plan for plan in plans}
    # With several models nobody knows which model a kernel or a table belongs to.
    sizes = _group_sizes(memories) if len(claims) == 1 else {}
    return {
        "schema": SCHEMA,
        "regions": [_region(memory) for memory in memories],
        "models": [_model(image, claim, by_model.get(claim.model), run, sizes) for claim in claims],
        "stack_bound_bytes": stack.program.bytes if stack else None,
        "stack_reserved_bytes": stack.reserved_bytes if stack else None,
        "stack_refused": stack.program.reason if stack else "",
    }


def _group_sizes(memories: Sequence[Memory]) -> dict[str, int]:
    """The bytes of each group in all memories."""
    sizes: dict[str, int] = {"kernels": 0, "layer code": 0}
    for group in (group for memory in memories for group in memory.groups):
        sizes[group.name] = sizes.get(group.name, 0) + group.size_bytes
    return sizes


def _region(memory: Memory) -> dict:
    region = memory.region
    return {
        "name": region.name,
        "kind": region.kind,
        "origin": region.origin,
        "length_bytes": region.length_bytes,
        "used_bytes": memory.used_bytes,
        "total_bytes": memory.total_bytes,
        "groups": [
            {
                "name": group.name,
                "size_bytes": group.size_bytes,
                "items": [
                    {"name": item.name, "size_bytes": item.size_bytes, "section": item.section, "aliases": list(item.aliases)}
                    for item in group.items
                ],
            }
            for group in memory.groups
        ],
    }


def _model(image: Image, claim: Claim, plan: dict | None, run: dict | None, sizes: dict[str, int]) -> dict:
    planned = {layer["symbol"]: layer for layer in plan["layers"]} if plan else {}
    names = list(planned) or list(claim.layers)
    measured = run if run and run.get("models") == [claim.model] else {}
    counts = {layer["name"]: layer for layer in measured.get("layers", ())}
    peaks = _live_bytes(plan) if plan else {}
    weights = _weights_by_layer(image, claim, names)
    runs = measured.get("runs")
    layers = [
        _layer(image, name, planned.get(name, {}), weights[name], peaks.get(index), counts.get(name, {}), runs)
        for index, name in enumerate(names)
    ]
    return {
        "model": claim.model,
        "model_sha256": claim.model_sha256,
        "arena_bytes": claim.arena_bytes,
        "peak_bytes": claim.peak_bytes,
        "weights_bytes": claim.weights_bytes,
        "model_constants_bytes": plan.get("model_constants_bytes") if plan else None,
        "runs": runs,
        "milliseconds": measured.get("milliseconds"),
        "cycles_validation": measured.get("cycles_validation", ""),
        "lower_bound_bytes": plan.get("lower_bound_bytes") if plan else None,
        "layers": layers,
        "kernel_bytes": sizes.get("kernels"),
        "other_weights_bytes": _linked_weights(image, claim) - sum(weights.values()),
        "other_code_bytes": sizes["layer code"] - _code_bytes(image, names) if sizes else None,
        "other_instructions": _rest(measured.get("run_instructions"), runs, layers, "instructions"),
        "other_cycles_estimated": _rest(measured.get("run_cycles_estimated"), runs, layers, "cycles_estimated"),
        "other_cycles_measured": _rest(measured.get("cycles_measured", {}).get("per_inference"), 1, layers, "cycles_measured"),
        "buffers": _buffers(plan) if plan else [],
    }


def _layer(
    image: Image, name: str, planned: dict, weights_bytes: int, live_bytes: int | None, counts: dict, runs: int | None
) -> dict:
    symbol = image.symbol(name)
    return {
        "symbol": name,
        "node": planned.get("name", ""),
        "operator": planned.get("op", ""),
        "kernel": planned.get("kernel", ""),
        "library": planned.get("library", ""),
        "macs": planned.get("macs"),
        "code_bytes": symbol.size_bytes if symbol else None,
        "weights_bytes": weights_bytes,
        "live_bytes": live_bytes,
        "instructions": _mean(counts.get("instructions"), runs),
        "cycles_estimated": _mean(counts.get("cycles_estimated"), runs),
        "code_stalls": _mean(counts.get("code_stalls"), runs),
        "data_stalls": _mean(counts.get("data_stalls"), runs),
        "cycles_measured": counts.get("cycles_measured"),
    }


def _mean(number: int | None, runs: int | None) -> int | None:
    return round(number / runs) if number is not None and runs else None


def _rest(whole: int | None, runs: int | None, layers: Sequence[dict], key: str) -> int | None:
    """Returns the part of an inference before its first layer, so that the column adds up to the whole inference."""
    mean, counted = _mean(whole, runs), [layer[key] for layer in layers if layer[key] is not None]
    return max(mean - sum(counted), 0) if mean is not None and counted else None


def _code_bytes(image: Image, layers: Sequence[str]) -> int:
    """Returns the bytes of the layers' functions; functions that the linker merged count once."""
    return sum({symbol.address: symbol.size_bytes for symbol in filter(None, map(image.symbol, layers))}.values())


def _linked_weights(image: Image, claim: Claim) -> int:
    """The bytes of all constants that are in the program; merged ones count once."""
    symbols = filter(None, map(image.symbol, claim.weights))
    return sum({symbol.address: symbol.size_bytes for symbol in symbols}.values())


def _weights_by_layer(image: Image, claim: Claim, layers: Sequence[str]) -> dict[str, int]:
    """Constants are named after their layer: `kws_conv_1_weights` belongs to `kws_conv_1`; of long names the begin is cut off."""
    sizes, counted = {name: 0 for name in layers}, set()
    for constant in claim.weights:
        symbol = image.symbol(constant)
        owner = max(layers, key=lambda layer: _common_length(claim.model, constant, layer), default=None)
        if symbol is not None and symbol.address not in counted and owner and _common_length(claim.model, constant, owner):
            sizes[owner] += symbol.size_bytes
            counted.add(symbol.address)
    return sizes


def _common_length(model: str, constant: str, layer: str) -> int:
    """Returns the length of the longest end of the layer's name that the constant's name begins with."""
    tail, stem = constant.removeprefix(f"{model}_"), layer.removeprefix(f"{model}_")
    return next((len(stem) - start for start in range(len(stem)) if tail.startswith(f"{stem[start:]}_")), 0)


def _live_bytes(plan: dict) -> dict[int, int]:
    """Returns the bytes in use while each step runs; an output that overlaps its input shares bytes with it."""
    buffers = plan.get("peak_buffers", ())
    return {
        step: _covered_bytes(
            [
                (buffer["offset_bytes"] + window["low_bytes"], buffer["offset_bytes"] + window["high_bytes"])
                for buffer in buffers
                for window in _windows(buffer)
                if window["first"] <= step < window["last"]
            ]
        )
        for step in range(len(plan["layers"]))
    }


def _windows(buffer: dict) -> list[dict]:
    """Returns which bytes of the buffer are live at which steps."""
    whole = {"first": buffer["first"], "last": buffer["last"], "low_bytes": 0, "high_bytes": buffer["size_bytes"]}
    return buffer.get("windows") or [whole]


def _covered_bytes(spans: list[tuple[int, int]]) -> int:
    """Returns how many bytes are in at least one of the spans."""
    covered = position = 0
    for begin, end in sorted(spans):
        covered += max(end - max(begin, position), 0)
        position = max(position, end)
    return covered


def _buffers(plan: dict) -> list[dict]:
    keys = ("name", "kind", "region", "offset_bytes", "size_bytes", "first", "last")
    return [{**{key: buffer[key] for key in keys}, "windows": _windows(buffer)} for buffer in plan.get("buffers", ())]
