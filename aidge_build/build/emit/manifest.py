# SPDX-License-Identifier: MIT
"""N.plan.json: what was generated, and why, as data."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from json.encoder import encode_basestring_ascii
from types import NoneType

from aidge_build.base.version import VERSION
from aidge_build.build.emit.copies import is_copied
from aidge_build.build.emit.fast_code import memories_of_functions
from aidge_build.build.emit.layers import LayerText
from aidge_build.build.emit.places import Places
from aidge_build.build.emit.ports import Port
from aidge_build.graph.tensor import Tensor
from aidge_build.graph.view import State
from aidge_build.plan.cascade.cascade import Cascade, Line
from aidge_build.plan.cascade.messages import instructions_of
from aidge_build.plan.cascade.progress import Progress
from aidge_build.plan.cascade.waiting import Waiting
from aidge_build.plan.constant_arrays import Arrays
from aidge_build.plan.memory.buffer import Buffer
from aidge_build.plan.memory.plan import MemoryPlan
from aidge_build.plan.monitoring import Monitoring
from aidge_build.plan.program import Layer, Program
from aidge_build.plan.schedule.recording import WORD, Recording

SCHEMA = 1
ARENA = "arena"  # the region's name when no board is known


def manifest_text(manifest: dict) -> bytes:
    """The manifest as the file holds it."""
    return f"{_json(manifest)}\n".encode("ascii")


def _json(value: object, margin: str = "\n") -> str:
    """Returns the text of json.dumps with indent=1 and sort_keys=True, in a quarter of its time: large plans are mostly this."""
    inner = f"{margin} "
    if isinstance(value, dict):
        entries = []
        for key, label in _labels(value) if len(value) > _FEW else _labels_of_few(tuple(value)):
            item = value[key]
            leaf = _LEAVES.get(type(item))
            entries.append(label + (leaf(item) if leaf is not None else _json(item, inner)))
        return f"{{{inner}{f',{inner}'.join(entries)}{margin}}}" if entries else "{}"
    if isinstance(value, list | tuple):
        items = [leaf(item) if (leaf := _LEAVES.get(type(item))) is not None else _json(item, inner) for item in value]
        return f"[{inner}{f',{inner}'.join(items)}{margin}]" if value else "[]"
    return json.dumps(value)


def _labels(keys: Iterable[str]) -> list[tuple[str, str]]:
    """Returns the sorted keys, each with the text before its value."""
    return [(key, f"{encode_basestring_ascii(key)}: ") for key in sorted(keys)]


_FEW = 64  # keys: all layers have the same keys
_labels_of_few = lru_cache(_labels)


_LEAVES: dict[type, Callable[..., str]] = {
    str: encode_basestring_ascii,
    int: int.__repr__,
    bool: {True: "true", False: "false"}.__getitem__,
    NoneType: {None: "null"}.__getitem__,
}


def manifest_of(
    program: Program,
    ports: tuple[Port, ...],
    places: Places,
    arrays: Arrays,
    layers: tuple[LayerText, ...],
    files: Mapping[str, bytes],
    weights_bytes: int,
) -> dict:
    """Returns the manifest; `weights_bytes` are the bytes of the arrays as printed. `buffers` are the buffers of the arena as
    linked, `peak_buffers` the buffers that make `peak_bytes`, inputs and outputs included."""
    return {
        "schema": SCHEMA,
        "tool": VERSION,
        "model": program.name,
        "model_sha256": program.model_sha256,
        "target": program.target.name,
        "options": dataclasses.asdict(program.options),
        "notices": list(program.notices),
        "inputs": [_port(program, port, places) for port in ports if port.is_input],
        "outputs": [_port(program, port, places) for port in ports if not port.is_input],
        "layers": [
            _layer(layer, text, places, arrays.digest(index))
            for index, (layer, text) in enumerate(zip(program.layers, layers, strict=True))
        ],
        "symbols": _symbols(program, ports, arrays),
        "files": {name: hashlib.sha256(data).hexdigest() for name, data in files.items()},
        "macs": program.model_macs,
        "macs_executed": sum(layer.macs for layer in program.layers),
        "weights_bytes": weights_bytes,
        "model_constants_bytes": program.constants_bytes,
        **({"constants_in": _constants_in(program, arrays)} if program.options.constants_in else {}),
        **({"copied_constants": _copied(program)} if program.options.copy_constants != "off" else {}),
        **({"packed_constants": packed} if (packed := packed_constants(program)) else {}),
        **_memory(program),
        "cascades": [_cascade(cascade) for cascade in program.schedule.cascades if not cascade.is_cut],
        **({"steps": _steps(program, program.waiting)} if program.waiting else {}),
        "peak_bytes_of_whole_tensors": program.memory.whole_peak_bytes or program.memory.peak.peak_bytes,
    }


def _symbols(program: Program, ports: tuple[Port, ...], arrays: Arrays) -> dict:
    """The C name of each node and of each tensor that has one."""
    constants = {} if program.options.replaces_weights else arrays.of_tensor
    tensors = {port.tensor.name: _port_symbol(program, port) for port in ports}
    return {
        "nodes": {layer.node.name: layer.symbol for layer in program.layers},
        "tensors": {**tensors, **{name: array.symbol for name, array in constants.items()}},
    }


def _steps(program: Program, waiting: Waiting) -> dict:
    """Returns how an inference in steps is cut, and the bytes of RAM, in addition to the arena, kept between two steps."""
    return {
        "max_step": program.options.max_step,
        "count": program.step_count,
        "progress_bytes": waiting.size_bytes(program.target.pointer_bytes),
        "cut_layers": [
            {"name": cascade.nodes[0], "bands": len(cascade.steps), "rows_of_a_band": cascade.rows_of[cascade.nodes[0]]}
            for cascade in program.schedule.cascades
            if cascade.is_cut
        ],
    }


def _constants_in(program: Program, arrays: Arrays) -> list[dict]:
    """The constants that --constants-in or --place brought into each memory, by layer, and the functions that --place did."""
    found, moved = [], memories_of_functions(program)
    for name, room in program.options.constants_in:
        inside = {array.symbol: len(array.data) for array in arrays.all if array.region == name}
        layers = [
            layer.node.name
            for layer, read in zip(program.layers, arrays.of_layer, strict=True)
            if any(array.symbol in inside for array in read.values())
        ]
        functions = [function for function, memory in moved.items() if memory == name]
        entry = {"region": name, "room_bytes": room, "size_bytes": sum(inside.values()), "layers": layers}
        found.append({**entry, **({"functions": functions} if functions else {})})
    return found


def _copied(program: Program) -> list[dict]:
    """Returns the layers with constants copied into the arena, the layer before which each copy begins, and the access cost that
    it saves."""
    return [
        {
            "layer": layer.node.name,
            "from_layer": program.layers[layer.copied.copy.first].node.name,
            "size_bytes": sum(array.size_bytes for array in layer.copied.copy.arrays),
            "saved_cost": layer.copied.copy.saved,
        }
        for layer in program.layers
        if layer.copied and is_copied(layer)
    ]


def packed_constants(program: Program) -> list[dict]:
    """Returns the layers with packed constants: the bytes that they take in flash, and the bytes that they are expanded to."""
    found = []
    for layer in program.layers:
        arrays = [array for array in layer.copied.copy.arrays if array.packed] if layer.copied else []
        if arrays:
            flash_bytes = sum(len(array.packed.words) for array in arrays if array.packed)
            size_bytes = sum(array.size_bytes for array in arrays)
            kinds = sorted({array.packed.kind for array in arrays if array.packed})
            found.append({"layer": layer.node.name, "kinds": kinds, "flash_bytes": flash_bytes, "size_bytes": size_bytes})
    return found


def _cascade(cascade: Cascade) -> dict:
    """Returns a cascade; proofs hold for this cascade, not for others, which may need fewer bytes or instructions."""
    return {
        "layers": [{"name": name, "rows_of_a_band": cascade.rows_of[name]} for name in cascade.nodes],
        "lines": [
            {"tensor": line.tensor, "rows": line.rows, "height": line.height, "size_bytes": line.size_bytes}
            for line in cascade.lines.values()
        ],
        "steps": len(cascade.steps),
        "moved_bytes": cascade.shifted_bytes,
        "instructions_more_estimated": instructions_of([cascade]),
    }


def _memory(program: Program) -> dict:
    memory, peak = program.memory, program.memory.peak
    return {
        "peak_bytes": peak.peak_bytes,
        "lower_bound_bytes": peak.lower_bound_bytes,
        "bound_node": _node_at(program, peak.bound_step),
        **_order(program),
        "offsets_proved_optimal": peak.offsets_proved_optimal,
        "format_copies_bytes": program.format_copies_bytes,
        "formats_proved_optimal": program.formats_proved,
        "scratch_bytes": max((p.buffer.size_bytes for p in memory.arena.placements if p.buffer.kind == "scratch"), default=0),
        "state_bytes": memory.states.bytes_of(program.options.arena),
        **({"rows": _rows(program, program.progress)} if program.progress else {}),
        **({"record": _record(program.recording)} if program.recording else {}),
        **({"monitor": _monitor(program.monitoring)} if program.monitoring else {}),
        "states": [_state(program, state) for state in program.view.states],
        "io_bytes": memory.io_bytes,
        "arena_bytes": memory.arena.peak_bytes,
        "arena_alignment": memory.alignment,
        "regions": [
            {"name": part.region or ARENA, "used_bytes": part.size_bytes, "lower_bound_bytes": part.plan.lower_bound_bytes}
            for part in memory.parts
        ],
        # in access cost, the parts taken together
        "regions_proved_optimal": memory.split_proved if memory.split else None,
        "order": [layer.node.name for layer in program.layers],
        "buffers": _buffers(program, memory.arena),
        "peak_buffers": _buffers(program, peak) if peak is memory.arena else _buffers(program, peak, together=True),
    }


def _state(program: Program, state: State) -> dict:
    tensor = program.view.tensor(state.read)
    return {
        "input": state.read,
        "output": state.written,
        "dims": list(tensor.dims),
        "dtype": tensor.dtype.name,
        "format": str(tensor.storage),
        "offset_bytes": program.memory.states.offsets[state.read],
        "size_bytes": tensor.size_bytes,
    }


def _rows(program: Program, progress: Progress) -> dict:
    """Returns the input and the output by rows, and the bytes of RAM, in addition to the arena, kept between two calls."""
    found: dict = {}
    if progress.arriving is not None:
        found |= {"input": program.view.given[0], **_side(progress.arriving)}
    if progress.departing is not None:
        found |= {"output": program.view.handed_out[0]}
        found |= {f"output_{key}": value for key, value in _side(progress.departing).items()}
    return {**found, "progress_bytes": progress.size_bytes(program.target.pointer_bytes)}


def _side(line: Line) -> dict[str, int]:
    return {"rows": line.height, "row_bytes": line.row_bytes, "kept_rows": line.rows}


def _record(recording: Recording) -> dict:
    """Returns the slots that record the last inferences, and their bytes of RAM, in addition to the arena."""
    return {"slots": recording.slots, "slot_bytes": WORD * recording.slot_words, "size_bytes": recording.size_bytes}


def _monitor(monitoring: Monitoring) -> dict:
    """Returns what the monitor counts, and its bytes of RAM, in addition to the arena."""
    return {
        "size_bytes": monitoring.size_bytes,
        "dump_bytes": monitoring.dump_bytes,
        "inputs": [{"name": one.name, "samples": one.seen.samples if one.seen else 0} for one in monitoring.inputs],
        "outputs": [{"name": one.name, "kind": one.kind} for one in monitoring.outputs],
        "histograms": [{"of": one.of, "what": one.what, "bins": one.bins} for one in monitoring.histograms],
    }


def _order(program: Program) -> dict:
    """The peak of live bytes in this order, and how small it could be in any; unknown for a program without a search."""
    order = program.schedule.order
    if order is None:
        return {"order_peak_bytes": None, "order_lower_bound_bytes": None, "order_proved_optimal": False, "order_states": 0}
    return {
        "order_peak_bytes": order.peak_bytes,
        "order_lower_bound_bytes": order.lower_bound_bytes,
        "order_proved_optimal": order.proved_optimal,
        "order_states": order.states,
    }


def _node_at(program: Program, step: int) -> str | None:
    return program.layers[step].node.name if 0 <= step < len(program.layers) else None


def _buffers(program: Program, plan: MemoryPlan, *, together: bool = False) -> list[dict]:
    """Returns the buffers, with offsets from the start of their part; `together`: one region, for a plan that is not linked."""
    found = []
    for placement in plan.placements:
        part = program.memory.parts[0] if together else program.memory.part_at(placement.offset_bytes)
        found.append(
            {
                "name": placement.buffer.name,
                "kind": placement.buffer.kind,
                "region": part.region or ARENA,
                "offset_bytes": placement.offset_bytes - part.start_bytes,
                "size_bytes": placement.buffer.size_bytes,
                "first": placement.buffer.first,
                "last": placement.buffer.last,
                **_windows(placement.buffer),
            }
        )
    return found


def _windows(buffer: Buffer) -> dict:
    """Returns which bytes of a buffer are live when; empty if all bytes are live all the time."""
    if not buffer.windows:
        return {}
    names = ("first", "last", "low_bytes", "high_bytes")
    return {"windows": [{name: getattr(window, name) for name in names} for window in buffer.windows]}


def _port_symbol(program: Program, port: Port) -> str:
    return port.parameter if program.options.io == "caller" else port.macro


def _port(program: Program, port: Port, places: Places) -> dict:
    quantization = port.tensor.quantization
    known = quantization is not None and quantization.per_tensor
    return {
        "name": port.tensor.name,
        "symbol": _port_symbol(program, port),
        "macro": port.macro,
        "dims": list(port.tensor.dims),
        "dtype": port.tensor.dtype.name,
        "format": str(port.tensor.storage),
        "place": places.described(port.tensor, program.layers[0]),
        "size_bytes": port.tensor.size_bytes,
        "alignment": port.alignment,
        "scale": float(quantization.scale) if known else None,
        "zero_point": quantization.zero_point if known else None,
    }


def _layer(layer: Layer, text: LayerText, places: Places, constants_sha256: str) -> dict:
    return {
        "name": layer.node.name,
        "symbol": layer.symbol,
        "op": layer.node.type,
        "origin": list(layer.node.origin),
        "kernel": layer.kernel.name,
        "library": layer.kernel.library,
        "function": layer.call.function,
        "rule": layer.rule,
        "rejected": [{"kernel": kernel, "reason": reason} for kernel, reason in layer.rejected],
        "note": layer.call.note,
        "facts": dict(sorted(layer.call.facts.items())),
        "macs": layer.macs,
        "constants_sha256": constants_sha256,
        "code_sha256": text.digest(),
        "scratch_offset_bytes": layer.scratch_offset_bytes,
        "channels_removed": channels_removed(layer.inputs, layer.outputs),
        "inputs": [
            _tensor(tensor, layer, places)
            for tensor in layer.inputs
            if tensor is not None and tensor.name in places.program.memory.places
        ],
        "outputs": [_tensor(tensor, layer, places) for tensor in layer.outputs],
    }


def channels_removed(inputs: Sequence[Tensor | None], outputs: Sequence[Tensor]) -> dict[str, int]:
    """Returns how many channels of the model a layer neither reads nor computes."""
    return {
        "inputs": sum(tensor.removed_channels for tensor in inputs if tensor is not None),
        "outputs": sum(tensor.removed_channels for tensor in outputs),
    }


def _tensor(tensor: Tensor, layer: Layer, places: Places) -> dict:
    constant = places.program.memory.places[tensor.name].kind == "constant"
    quantization = tensor.quantization
    is_scaled = quantization is not None and quantization.per_tensor
    return {
        "name": tensor.name,
        "dtype": tensor.dtype.name,
        "dims": list(tensor.dims),
        "format": str(tensor.storage),
        "place": "flash" if constant else places.described(tensor, layer),
        **({"scale": float(quantization.scale), "zero_point": quantization.zero_point} if is_scaled else {}),
    }
