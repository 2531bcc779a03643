# SPDX-License-Identifier: MIT
"""A neural-network model as a source file of the firmware.

Importing this package imports nothing else: the public names are loaded when they are first asked for.
"""

from __future__ import annotations

import importlib

# Public name -> the module that defines it.
_PUBLIC = {
    "AidgeError": "aidge_build.errors",
    "Call": "aidge_build.export.call",
    "CompileRequest": "aidge_build.request",
    "Constant": "aidge_build.export.call",
    "Demands": "aidge_build.backend.spec",
    "ExportLib": "aidge_build.export.export_lib",
    "ExportNode": "aidge_build.export.node",
    "ExportNodeCpp": "aidge_build.export.export_node_cpp",
    "GraphView": "aidge_build.graph.view",
    "HostBackend": "aidge_build.backend.host",
    "IOSpec": "aidge_build.backend.spec",
    "Impl": "aidge_build.backend.operator_impl",
    "ImplSpec": "aidge_build.backend.spec",
    "Input": "aidge_build.export.call",
    "Literal": "aidge_build.export.call",
    "Node": "aidge_build.graph.view",
    "OperatorImpl": "aidge_build.backend.operator_impl",
    "Output": "aidge_build.export.call",
    "Predicate": "aidge_build.backend.spec",
    "ProdConso": "aidge_build.backend.prod_conso",
    "Scratch": "aidge_build.export.call",
    "SequentialScheduler": "aidge_build.export_folder",
    "Struct": "aidge_build.export.call",
    "Tensor": "aidge_build.graph.tensor",
    "VERSION": "aidge_build.version",
    "adapt_to_backend": "aidge_build.backend.adapt",
    "compute_default_mem_info": "aidge_build.export_folder",
    "dformat": "aidge_build.backend.spec",
    "dtype": "aidge_build.graph.dtype",
    "find": "aidge_build.graph.pattern",
    "generate_main": "aidge_build.export_folder",
    "generate_main_compare": "aidge_build.export_folder",
    "generate_optimized_memory_info": "aidge_build.export_folder",
    "kernel": "aidge_build.export.node",
    "multiple_of": "aidge_build.backend.spec",
    "scheduler_export": "aidge_build.export_folder",
    "scons_toolpath": "aidge_build.installed",
}

__all__ = sorted(_PUBLIC)


def __getattr__(name: str):
    if name not in _PUBLIC:
        raise AttributeError(f"module 'aidge_build' has no attribute '{name}'")
    return getattr(importlib.import_module(_PUBLIC[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_PUBLIC})
