# SPDX-License-Identifier: MIT
"""Measures what onnxruntime gives for the cases, and writes it down: `.venv/bin/python -m tests.exactness.measure`.

It writes onnxruntime.json beside this file and the tables of docs/arithmetic.md, needs onnxruntime on x86-64 and the models
beside the checkout, and takes a minute or two. The tests read only the file: of onnxruntime without optimisations a digest of
its values and those that differ from ours, with their places; of onnxruntime with all optimisations counts.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Sequence

import numpy
import onnxruntime

from tests.exactness import network_cases
from tests.exactness.operator_cases import CASES
from tests.exactness.record import FILE, Differences, digest
from tests.exactness.tables import PAGE, updated
from tests.shared import MODELS, int8_model

OFF, ALL = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL, onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL


def session(model: bytes, level) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level, options.log_severity_level, options.intra_op_num_threads = level, 4, 1
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def theirs(of: onnxruntime.InferenceSession, values: Sequence[numpy.ndarray]) -> numpy.ndarray:
    feed = {entry.name: value.reshape(_dims(entry)) for entry, value in zip(of.get_inputs(), values, strict=True)}
    return of.run(None, feed)[0].reshape(-1)


def _dims(entry) -> list[int]:
    """A symbolic batch is 1."""
    return [size if isinstance(size, int) else 1 for size in entry.shape]


def counted(ours: numpy.ndarray, off: numpy.ndarray, full: numpy.ndarray) -> dict[str, int]:
    """Values that differ: from onnxruntime without and with optimisations, between these two, and from both where these agree."""
    return {
        "values": off.size,
        "off": int((ours != off).sum()),
        "most": int(numpy.abs(ours.astype(int) - off.astype(int)).max()),
        "all": int((ours != full).sum()),
        "off_all": int((off != full).sum()),
        "both": int(((ours != off) & (off == full)).sum()),
    }


def of_operator(name: str) -> dict:
    case, rows = CASES[name], []
    for quantizations in case.quantizations(name):
        model, values = case.model(quantizations), case.values(name, quantizations)
        rows.append((case.ours(name, quantizations), *(theirs(session(model, level), values) for level in (OFF, ALL))))
    ours, off, full = (numpy.concatenate(column) for column in zip(*rows, strict=True))
    return counted(ours, off, full) | {"digest": digest(off), "differences": Differences.between(ours, off).text}


def of_network(model: str, kind: str) -> dict:
    data, run = int8_model(model).read_bytes(), network_cases.run_of(model)
    sessions, rows, vectors = [session(data, level) for level in (OFF, ALL)], [], []
    for x in network_cases.inputs(model, kind):
        rows.append((run(x), *(theirs(one, [x]) for one in sessions)))
        vectors.append([digest(rows[-1][1]), Differences.between(*rows[-1][:2]).text])
    return counted(*(numpy.concatenate(column) for column in zip(*rows, strict=True))) | {"vectors": vectors}


def main() -> None:
    record = {
        "onnxruntime": onnxruntime.__version__,
        "machine": platform.machine(),
        "operators": {name: of_operator(name) for name in CASES},
        "networks": {model: {kind: of_network(model, kind) for kind in network_cases.KINDS} for model in MODELS},
    }
    FILE.write_text(json.dumps(record, indent=1) + "\n")
    PAGE.write_text(updated(PAGE.read_text(), record))


if __name__ == "__main__":
    main()
