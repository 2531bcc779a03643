# SPDX-License-Identifier: MIT
"""A library that was written for a system before this one, with what its files do not say: formats, language, memory."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import cast

from aidge_build.compat.export_lib import ExportLib
from aidge_build.compat.export_node_cpp import ExportNodeCpp
from aidge_build.contract.node import KernelClass
from aidge_build.contract.spec import ANY, DFormat, ImplSpec, IOSpec
from aidge_build.errors import AidgeError


def adopted(
    library: type[ExportLib],
    *,
    data_format: DFormat = ANY,
    language: str = "c++",
    memory_name: str = "",
    without: Collection[str] = (),
) -> type[ExportLib]:
    """The library as one of this system: an ExportLib with the same name, static files and kernels.

    Where a spec leaves the format open it becomes `data_format`, also for constants; `memory_name` is what its forward texts call
    the memory that they take their output from; `without` are types of operators whose kernels are left out.
    """
    unknown = sorted(set(without) - {entry.type for entry in library.registry})
    if unknown:
        raise AidgeError(f"{library.__name__} has no kernel for {unknown[0]}", where="without", code="LIBRARY")
    said = {"__doc__": library.__doc__, "__module__": library.__module__, "_name": library._name, "language": language}
    made = cast(type[ExportLib], type(library.__name__, (ExportLib,), {**said, "static_files": dict(library.static_files)}))
    made.generic_operators = dict(library.generic_operators)
    for entry in library.registry:
        if entry.type not in without:
            node_class = _adopted_class(entry.node_class, data_format, memory_name)
            made._add(replace(entry, spec=_adopted_spec(entry.spec, data_format), node_class=node_class))
    return made


def _adopted_spec(spec: ImplSpec, data_format: DFormat) -> ImplSpec:
    return replace(
        spec,
        inputs=tuple(_in_format(side, data_format) for side in spec.inputs),
        outputs=tuple(_in_format(side, data_format) for side in spec.outputs),
    )


def _in_format(side: IOSpec, data_format: DFormat) -> IOSpec:
    return replace(side, format=data_format) if side.format is ANY else side


def _adopted_class(node_class: KernelClass, data_format: DFormat, memory_name: str) -> KernelClass:
    if not issubclass(node_class, ExportNodeCpp):
        return node_class
    said = {"__module__": node_class.__module__, "__doc__": node_class.__doc__}
    return type(node_class.__name__, (node_class,), {**said, "parameter_format": data_format, "memory_name": memory_name})
