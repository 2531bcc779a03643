# SPDX-License-Identifier: MIT
"""Modules and names of the inherited system that its export libraries import, and that have no counterpart here.

A library registers more than kernels while it is imported: targets, composers of projects, runners, benchmarks. Their names are
there, so that it loads. A base may be subclassed, a registrar takes what it is given and forgets it, and a function that is
called is refused by name: nothing happens in silence.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any, NoReturn

from aidge_build.base.errors import AidgeError

# Each module has classes that may be named, subclassed and made; decorators that take what is registered; functions. A name that
# begins with "_" belongs to another package of the inherited system (aidge_deploy, not aidge_core).
_BASES = {
    "": ("MemorizeProdConso", "PopProdConso", "StackProdConso"),
    "_backend_cpu": (),
    "_deploy": (),
    "export_utils": ("ExportApplication", "ExportArtifact", "TargetExport"),
    "export_utils.config": ("BenchmarkConfig", "CliConfigurable", "ExportConfig", "StaticAnalysisProfile", "ValidationConfig"),
    "export_utils.deploy_utils": ("ExportMetadata",),
    "export_utils.export": ("ExportContext",),
    "hw_model": ("Device",),
    "hw_model.processing_elements": ("CortexM",),
}
_REGISTRARS = {
    "export_utils": (
        *("register_export_preprocessor", "register_project_composer", "register_target_export"),
        "register_target_export_strategy",
    )
}
_FUNCTIONS = {
    "": ("adapt_fc_params_format", "fuse_to_metaops", "remove_flatten"),
    "_deploy.benchmark_api": ("build_results_from_uart_log",),
    "export_utils": (
        *("compile_export", "copy_folder", "ensure_bsp_package", "export", "generate_input_file", "get_target_export"),
        *("generate_main_display_output_cpp", "generate_main_inference_time_cpp", "graph_evaluator", "load_export_artifact"),
    ),
    "export_utils.benchmark_api": ("run_firmware_session_api",),
    "export_utils.code_generation": ("value_to_c_literal",),
    "export_utils.deploy_utils": ("collect_deploy_metadata",),
    "export_utils.export": ("finalize_export", "prepare_export", "write_export"),
    "export_utils.export_utils": ("compile_export",),
    "export_utils.heterogeneous_partition": ("find_single_transfer_split", "partition_sequential_graph"),
    "export_utils.log_parser": ("parse_inference_time_from_log", "parse_output_tensors_from_log"),
    "hw_model": ("get_target_by_name",),
}
_DELIVERED = {"", "export_utils", "export_utils.code_generation", "hw_model"}  # modules that have more than placeholders


def placeholder_names(module: str) -> dict[str, Any]:
    """The names of a module of the inherited system ("" for its root, "export_utils.config") that have no counterpart here."""
    found: dict[str, Any] = {name: type(name, (), {"__init__": _taken, "__doc__": _SAID}) for name in _BASES.get(module, ())}
    found |= dict.fromkeys(_REGISTRARS.get(module, ()), _registrar)
    return found | {name: _refused(f"{module}.{name}".lstrip(".")) for name in _FUNCTIONS.get(module, ())}


def placeholder_modules() -> dict[str, ModuleType]:
    """Returns the modules without any counterpart here, by name, each after the module that holds it."""
    known = sorted({*_BASES, *_FUNCTIONS} - _DELIVERED)
    made = {name: ModuleType(f"{__package__}.{name}", _SAID) for name in known}
    for name, module in made.items():
        vars(module).update(placeholder_names(name))
    return made


_SAID = "A name of the inherited system: it can be named, and does nothing here."


def _taken(self: object, *values: Any, **named: Any) -> None:
    """A constructor that takes what it is given."""


def _registrar(*registered: Any, **named: Any) -> Any:
    """Returns the object that is registered, or a decorator that returns its argument."""
    return registered[0] if len(registered) == 1 and not isinstance(registered[0], str | type) else lambda found: found


def _refused(name: str) -> Any:
    def call(*values: Any, **named: Any) -> NoReturn:
        raise AidgeError(
            f"{name} is a part of the inherited system that this one does not have",
            code="REGISTRY",
            hint="scheduler_export writes the folder; aidge-build compiles, runs and measures it",
        )

    call.__name__ = call.__qualname__ = name.rpartition(".")[2]
    return call
