# SPDX-License-Identifier: MIT
"""The contents of files that a report reads: plans, counts, an older report (shapes of `reading.require_shape`)."""

from __future__ import annotations

from types import NoneType

_NUMBER = (int, NoneType)
_WINDOW = {"first": int, "last": int, "low_bytes": int, "high_bytes": int}
_LIFE = {"offset_bytes": int, "size_bytes": int, "first": int, "last": int, "windows?": [_WINDOW]}
PLAN = {
    "model": str,
    "lower_bound_bytes?": _NUMBER,
    "layers": [{"symbol": str, "name?": str, "op?": str, "kernel?": str, "library?": str, "macs?": _NUMBER}],
    "peak_buffers?": [_LIFE],
    "buffers?": [{"name": str, "kind": str, "region": str, **_LIFE}],
}
COUNTS = {
    "models?": [str],
    "runs?": _NUMBER,
    "run_instructions?": _NUMBER,
    "run_cycles_estimated?": _NUMBER,
    "milliseconds?": (int, float, NoneType),
    "cycles_validation?": str,
    "cycles_measured?": {"per_inference": _NUMBER, "counter": str},
    "layers": [
        {
            "name": str,
            "instructions?": _NUMBER,
            "cycles_estimated?": _NUMBER,
            "cycles_measured?": _NUMBER,
            "code_stalls?": _NUMBER,
            "data_stalls?": _NUMBER,
        }
    ],
}
TOP1 = {"correct": int, "count": int, "share": (int, float), "low": (int, float), "high": (int, float)}
ERRORS = {"mean_error": (int, float), "mae": (int, float), "rmse": (int, float), "r2": (int, float, NoneType)}
ACCURACY = {
    "model": str,
    "task": str,
    "output": str,
    "samples": int,
    "calibration_samples": _NUMBER,
    "stages": [
        {
            "name": str,
            "where": str,
            "top1": (dict, NoneType),
            "confusion": [[int]],
            "auc": (int, float, NoneType),
            "errors": {},
            "mean_deviation": {},
        }
    ],
    "limits": [{"name": str, "limit": (int, float), "reached": (int, float), "kept": bool}],
}
_RATIO = (int, float, NoneType)
BESIDE_FLOAT = {
    "beside_float": {
        "float_model": str,
        "layers": [{"node": str, "tensor": str, "original": str, "sqnr_db": _RATIO, "own_sqnr_db": _RATIO}],
        "departs": (str, NoneType),
        "shown": (str, NoneType),
        "histogram": {"low": (int, float), "high": (int, float), "firmware": [int], "float": [int]},
    }
}
REPORT = {
    "schema": int,
    "stack_bound_bytes?": _NUMBER,
    "models?": [
        {"model": str, "other_instructions?": _NUMBER, "layers": [{"symbol": str, "instructions?": _NUMBER}]},
    ],
    "regions": [
        {"name": str, "kind": str, "used_bytes": int, "groups": [{"name": str, "items": [{"name": str, "size_bytes": int}]}]}
    ],
}
