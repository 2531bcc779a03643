# SPDX-License-Identifier: MIT
"""A neural-network model as a source file of the firmware.

Importing this package imports nothing else: the public names are loaded when they are first asked for.
"""

from __future__ import annotations

import importlib
import sys

# Entries of the package; any other name of a module is of 0.1 or 0.2.
_ROOMS = "__main__ base boards build cli compat contract data graph measure operators plan prepare prove run sources".split()
# Entries of rooms in 0.2 that are elsewhere now.
_INSIDE = ("aidge_build.sources.importers", "aidge_build.sources.tflite_format")


class _OldNames:
    """Finds modules under the names that they had in 0.1 and 0.2 (importlib)."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> object:
        if not name.startswith("aidge_build.") or (name.split(".")[1] in _ROOMS and not name.startswith(_INSIDE)):
            return None
        return importlib.import_module("aidge_build.base.moved").spec_of(name)


sys.meta_path.insert(0, _OldNames)  # type: ignore[arg-type]  # before the path's: a module must not be loaded twice, under two names

# Public name -> the module that defines it.
_PUBLIC = {
    "AidgeError": "aidge_build.base.errors",
    "Call": "aidge_build.contract.call",
    "CompileRequest": "aidge_build.build.request",
    "Constant": "aidge_build.contract.call",
    "Demands": "aidge_build.contract.spec",
    "ExportLib": "aidge_build.compat.export_lib",
    "ExportNode": "aidge_build.compat.export_node",
    "ExportNodeCpp": "aidge_build.compat.export_node_cpp",
    "GraphView": "aidge_build.graph.view",
    "HostBackend": "aidge_build.compat.host",
    "IOSpec": "aidge_build.contract.spec",
    "Impl": "aidge_build.compat.operator_impl",
    "ImplSpec": "aidge_build.contract.spec",
    "Input": "aidge_build.contract.call",
    "KernelNode": "aidge_build.contract.node",
    "Literal": "aidge_build.contract.call",
    "Node": "aidge_build.graph.view",
    "OperatorImpl": "aidge_build.compat.operator_impl",
    "Output": "aidge_build.contract.call",
    "Predicate": "aidge_build.contract.spec",
    "ProdConso": "aidge_build.compat.prod_conso",
    "Scratch": "aidge_build.contract.call",
    "SequentialScheduler": "aidge_build.compat.scheduler",
    "Struct": "aidge_build.contract.call",
    "Tensor": "aidge_build.graph.tensor",
    "VERSION": "aidge_build.base.version",
    "adapt_to_backend": "aidge_build.prepare.adaptation.adapt",
    "compare_serial": "aidge_build.compat.serial_line",
    "compute_default_mem_info": "aidge_build.compat.mem_info",
    "dformat": "aidge_build.contract.spec",
    "dtype": "aidge_build.graph.dtype",
    "find": "aidge_build.graph.pattern",
    "generate_main": "aidge_build.compat.export_main",
    "generate_main_compare": "aidge_build.compat.export_main",
    "generate_optimized_memory_info": "aidge_build.compat.mem_info",
    "kernel": "aidge_build.contract.node",
    "load_onnx": "aidge_build.compat.load_onnx",
    "multiple_of": "aidge_build.contract.spec",
    "scheduler_export": "aidge_build.compat.export_folder",
    "serial_lines": "aidge_build.compat.serial_line",
    "scons_toolpath": "aidge_build.base.installed",
}

__all__ = sorted(_PUBLIC)


def __getattr__(name: str):
    if name not in _PUBLIC:
        raise AttributeError(f"module 'aidge_build' has no attribute '{name}'")
    return getattr(importlib.import_module(_PUBLIC[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_PUBLIC})
