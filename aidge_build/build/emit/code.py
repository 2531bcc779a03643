# SPDX-License-Identifier: MIT
"""N.c: the kernels that the model calls, its layers in order, and N_run."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

from aidge_build.base.naming import code_symbol
from aidge_build.build.emit.cascades import Called, CascadeText, cascades_of, run_steps
from aidge_build.build.emit.claim import c_string
from aidge_build.build.emit.copies import copy_hooks_of, is_copied
from aidge_build.build.emit.digest import code_of_text, digest_of
from aidge_build.build.emit.expansions import expansions_of
from aidge_build.build.emit.fast_code import in_sections, layer_sections, memories_of_functions
from aidge_build.build.emit.functions import functions_of, has_instances
from aidge_build.build.emit.header import arenas_of, owns_arena, public_arenas
from aidge_build.build.emit.hooks import hooks_of
from aidge_build.build.emit.integrity import Part, digest_array, integrity_text, parts_of
from aidge_build.build.emit.kernels import KernelFile, kernel_text
from aidge_build.build.emit.layers import LayerText
from aidge_build.build.emit.monitor import monitor_text
from aidge_build.build.emit.overlaps import overlap_checks
from aidge_build.build.emit.places import RUN_ARENA, RUN_STATE, RUN_WEIGHTS
from aidge_build.build.emit.ports import Port
from aidge_build.build.emit.record import RecordText, record_text
from aidge_build.build.emit.replaced import bound_of, replaced_text
from aidge_build.build.emit.rows import WaitingCascade, owns_progress, ports_by_rows, rows_text, told
from aidge_build.build.emit.shared import share_kernels
from aidge_build.build.emit.state import state_text
from aidge_build.build.emit.steps import owns_steps, steps_text
from aidge_build.build.emit.template import render_file
from aidge_build.build.emit.unused import without_unused
from aidge_build.build.emit.update import layout_digest
from aidge_build.plan.constant_arrays import Array, Arrays
from aidge_build.plan.program import Program


@dataclass(frozen=True)
class UsedKernels:
    """The C of the libraries that the layers reach: parts of files, and functions that kernels generated."""

    system_includes: tuple[str, ...]
    files: tuple[KernelFile, ...]
    functions: tuple[str, ...]
    shared: tuple[tuple[str, str], ...] = ()  # names of functions that models share, and their linker symbols

    @property
    def texts(self) -> tuple[str, ...]:
        """All of it, in the order in which it is printed."""
        return (*(file.text for file in self.files), *self.functions)


def used_kernels(program: Program, layers: tuple[LayerText, ...]) -> UsedKernels:
    """Returns the files and generated functions, without unused parts."""
    wanted, functions = dict[tuple[str, str], None](), dict[str, None]()
    for layer in program.layers:
        for call in layer.calls:
            wanted |= dict.fromkeys([(layer.kernel.library, source) for source in call.sources])
            functions |= dict.fromkeys(call.texts)
    kernels = kernel_text(program.library_files, wanted)
    called = set(re.findall(r"[A-Za-z_]\w*", " ".join([text for layer in layers for text in layer.written])))
    left = without_unused([*(file.text for file in kernels.files), *functions], called)
    left = in_sections(left, dict(program.fast.functions) if program.fast else {})
    left, shared = share_kernels(left) if program.options.kernels == "shared" else (left, ())
    kept = tuple(replace(file, text=text) for file, text in zip(kernels.files, left, strict=False) if text)
    return UsedKernels(kernels.system_includes, kept, tuple(text for text in left[len(kernels.files) :] if text), shared)


@dataclass(frozen=True)
class Code:
    """N.c, and the digest of its code, comments left out, which its last lines say."""

    text: str
    digest: str
    layout: str  # what blocks of weights must have been made for
    parts: tuple[Part, ...] = ()  # the constants that N_verify_constants checks


def code_of(
    program: Program,
    ports: tuple[Port, ...],
    arrays: Arrays,
    layers: tuple[LayerText, ...],
    kernels: UsedKernels,
    header_digest: str,
) -> Code:
    """The code file. Nothing in it depends on the values of weights, scales or zero points, but for the digest of the header,
    which states the scales of inputs and outputs: where that changes, this file is compiled again in any case.

    The claim is next to the constants and names the digest of the code that they are for: constants of another model link if
    its arrays happen to have the same names, and the digest finds them.
    """
    layout, cascades = "", cascades_of(program, ports, layers)
    if program.options.replaces_weights:  # N_bind compares it
        layout = layout_digest(program, kernels.texts, cascades, arrays)
    parts = parts_of(program, arrays, layers, cascades, kernels.texts)
    text = _text(program, ports, arrays, layers, cascades, kernels, parts, (header_digest, layout))
    digest = digest_of(code_of_text(text))
    if program.options.assembly == "off":
        return Code(text, "", layout, parts)  # nothing says it
    symbol = code_symbol(program.name, digest)
    lines = (
        "/* Which code this is: `aidge-build check` compares it with what the constants were generated for. Costs no byte. */",
        "#if defined(__GNUC__) && defined(__ELF__)",
        f"__asm__({c_string(f'.globl {symbol}')}",
        f"        {c_string(f'.set {symbol}, 1')});",
        "#endif",
    )
    return Code(text + "\n".join(lines) + "\n", digest, layout, parts)


def _text(
    program: Program,
    ports: tuple[Port, ...],
    arrays: Arrays,
    layers: tuple[LayerText, ...],
    cascades: tuple[CascadeText, ...],
    kernels: UsedKernels,
    parts: tuple[Part, ...],
    digests: tuple[str, str],
) -> str:
    """Returns N.c but for its last lines; `digests` are the digest of the header, and the layout of blocks of weights."""
    header_digest, layout = digests
    before, steps = run_steps(program, layers, cascades)
    record, hooks = record_text(program, ports), hooks_of(program, ports)
    monitor = monitor_text(program, ports, has_instances(program))
    first = (*(hooks.before_input.calls if hooks else ()), *(monitor.before if monitor else ()))
    prepared = [*(text for step in before for text in _handed_on(step)), *first]
    called: Called = (*layers, *cascades)
    handed_on = " ".join(text for layer in called for text in _handed_on(layer))
    return render_file(
        "model.c",
        name=program.name,
        prefix=program.name.upper(),
        digest=header_digest,
        includes=_includes(program, kernels, record),
        **_machine(program),
        **_arenas(program, record),
        **_functions(program, ports),
        arrays=[*_arrays_of_code(program, arrays), *digest_array(program, parts)],
        integrity=integrity_text(program, parts),
        ended=f"{program.name}_integrity_guard({'self' if has_instances(program) else ''})"
        if program.options.has_canary
        else "0",
        replaced=replaced_text(program, arrays, layout),
        shared=kernels.shared,
        kernels=kernels.files,
        texts=kernels.functions,
        expansions=expansions_of(program),
        layers=layers,
        sections=layer_sections(program),
        moves_code=bool(memories_of_functions(program)),
        cascades=cascades,
        shifts=any(cascade.shifted_bytes for cascade in program.schedule.cascades),
        before=before,
        steps=steps,
        passes_arena=RUN_ARENA in handed_on,
        passes_state=RUN_STATE in handed_on or bool(record and program.memory.states.size_bytes),
        passes_weights=RUN_WEIGHTS in handed_on,
        state=state_text(program, arrays),
        rows=rows_text(program, ports, prepared, _waiting(program, cascades)),
        owns_progress=owns_progress(program),
        hooks=hooks,
        copy_hooks=copy_hooks_of(program),
        stepping=steps_text(program, ports, steps, [(arena.ending, arena.symbol) for arena in arenas_of(program)], hooks),
        owns_steps=owns_steps(program),
        record=record,
        monitor=monitor,
    )


def _arrays_of_code(program: Program, arrays: Arrays) -> list[Array]:
    """Returns the arrays that the code names; a block of weights is named by the firmware."""
    return [array for array in arrays.all if not program.options.replaces_weights or array is arrays.initial_state]


def _includes(program: Program, kernels: UsedKernels, record: RecordText | None) -> list[str]:
    copies = any(is_copied(layer) for layer in program.layers)
    uses_memory_functions = (
        program.memory.states.size_bytes or program.schedule.cascades or record or program.monitoring or copies
    )
    return sorted({"<stdint.h>", *kernels.system_includes, *(("<string.h>",) if uses_memory_functions else ())})


def _machine(program: Program) -> dict[str, Any]:
    """The parts of the template about the core and the compiler."""
    takes_assembly = program.options.assembly == "on"
    return {
        "conditions": program.target.conditions,
        "has_floats": _has_floats(program),
        "has_trace": program.options.trace,
        "takes_assembly": takes_assembly,
        "assembly_layers": [layer.symbol for layer in program.layers if layer.kernel.assembly == "needed"],
        "unaligned": program.target.unaligned,
        "aligned_only": program.is_aligned_only,
        "unaligned_layers": program.unaligned_layers if program.target.unaligned and takes_assembly else (),
    }


def _arenas(program: Program, record: RecordText | None) -> dict[str, Any]:
    """The parts of the template about the arena's arrays, and about the arrays that have a second name."""
    return {
        "owns_arena": owns_arena(program),
        "caller_arena": program.options.arena == "caller",
        "arena_alignment": program.memory.alignment,
        "arena_size": program.memory.arena.peak_bytes,
        "arenas": arenas_of(program),
        "public_arenas": public_arenas(program),
        "public_arrays": (*public_arenas(program), *((record,) if record else ())),
    }


def _functions(program: Program, ports: tuple[Port, ...]) -> dict[str, Any]:
    """The parts of the template about the functions that the firmware calls, None for one that the model has not; and their
    checks."""
    functions = functions_of(program, ports)
    named = {function.symbol.removeprefix(f"{program.name}_"): function for function in functions}
    run_checks = _run_checks(program, ports)
    return {
        "functions": functions,
        "has_instances": has_instances(program),
        "run": named["run"],
        "whole": named["end" if program.progress else "run"],
        "pushing": next((each for name, each in named.items() if name.startswith("push_")), None),
        "pulling": next((each for name, each in named.items() if name.startswith("pull_")), None),
        **{name: named.get(name) for name in ("begin", "step", "bind", "newer")},
        "verify": named.get("verify_constants"),
        "checks": _pointer_checks(program, ()) if program.progress else run_checks,
        "run_checks": run_checks,
        "begin_checks": _pointer_checks(program, told(program, ports)),
    }


def _waiting(program: Program, cascades: tuple[CascadeText, ...]) -> list[WaitingCascade]:
    waiting = [text for text in cascades if text.first]
    return [
        WaitingCascade(text.symbol, text.endings, bound_of(program) if RUN_WEIGHTS in text.passed else "") for text in waiting
    ]


def _handed_on(layer: LayerText | CascadeText) -> tuple[str, ...]:
    """Returns the arguments that N_run passes to a layer or a cascade, and the pointers that it traces after the call."""
    return (*layer.passed, *(trace.pointer for trace in layer.traces))


def _has_floats(program: Program) -> bool:
    """Whether a layer computes with float tensors (float constants of an integer layer do not count)."""
    return any(
        tensor is not None and tensor.dtype.is_float and not tensor.is_constant
        for layer in program.layers
        for tensor in (*layer.inputs, *layer.outputs)
    )


def _pointer_checks(program: Program, ports: tuple[Port, ...]) -> list[str]:
    by_rows = ports_by_rows(program, ports)
    checked = ports if program.options.io == "caller" else tuple(port for port in ports if port in by_rows)
    pointers = [(port.parameter, port.alignment) for port in checked]
    if has_instances(program):
        kept = ["!self->arena"] if program.progress or program.waiting and program.memory.arena.peak_bytes else []
        kept += ["!self->state"] if program.memory.states.size_bytes else []
        return ["!self", *kept, *(_bad_pointer(name, alignment) for name, alignment in pointers)]
    if program.options.arena == "caller" and program.memory.arena.peak_bytes > 0:
        pointers.insert(0, ("arena", program.memory.alignment))
    return [_bad_pointer(name, alignment) for name, alignment in pointers]


def _run_checks(program: Program, ports: tuple[Port, ...]) -> list[str]:
    arena = "self->arena" if has_instances(program) else "arena" if program.options.arena == "caller" else ""
    return _pointer_checks(program, ports) + overlap_checks(program, ports, arena)


def _bad_pointer(name: str, alignment: int) -> str:
    return f"!{name}" + (f" || (uintptr_t){name} % {alignment}u != 0u" if alignment > 1 else "")
