# SPDX-License-Identifier: MIT
"""A library that was written for a system before this one, with what its files do not say: formats, language, memory."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import cast

from aidge_build.base.errors import AidgeError
from aidge_build.compat.export_lib import ExportLib
from aidge_build.compat.export_node import derived
from aidge_build.compat.export_node_cpp import ExportNodeCpp
from aidge_build.contract.node import KernelClass
from aidge_build.contract.spec import ANY, DFormat


def adopted(
    library: type[ExportLib],
    *,
    data_format: DFormat = ANY,
    language: str = "c++",
    memory_name: str = "",
    without: Collection[str] = (),
    tried: bool = True,
) -> type[ExportLib]:
    """The library as one of this system: an ExportLib with the same name, static files and kernels.

    `data_format` is the order that its kernels take where their specs leave it open, also for constants (default: as the library
    shows); `memory_name` is what its forward texts call the memory that they take their output from (default: as the texts show);
    `without` names operator types: their kernels are left out. `scheduler_export` compiles and runs the kernels on this machine
    before it takes them, and leaves layers that they compute wrong to the next library, unless `tried` is False.
    """
    unknown = sorted(set(without) - {entry.type for entry in library.registry})
    if unknown:
        raise AidgeError(f"{library.__name__} has no kernel for {unknown[0]}", where="without", code="LIBRARY")
    said: dict[str, object] = {"__doc__": library.__doc__, "__module__": library.__module__}
    said |= {"_name": library._name, "language": language}
    said |= {
        "static_files": dict(library.static_files),
        "_default_dformat": library.storage_order() if data_format is ANY else DFormat(data_format),
    }
    made = cast(type[ExportLib], type(library.__name__, (ExportLib,), said))
    made.tried = tried
    made.generic_operators, made.notices = dict(library.generic_operators), list(library.notices)
    for entry in library.registry:
        if entry.type not in without:
            made._add(replace(entry, node_class=_adopted_class(entry.node_class, memory_name)))
    return made


def _adopted_class(node_class: KernelClass, memory_name: str) -> KernelClass:
    if not memory_name or not issubclass(node_class, ExportNodeCpp):
        return node_class
    return derived(node_class, {"memory_name": memory_name})
