# SPDX-License-Identifier: MIT
"""Inference in steps: the functions N_begin, N_step, N_end and N_cancel, and what the model remembers between them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from aidge_build.build.emit.cascades import CascadeText
from aidge_build.build.emit.hooks import Hooks
from aidge_build.build.emit.layers import LayerText, Trace
from aidge_build.build.emit.monitor import counting_steps, ending_calls
from aidge_build.build.emit.places import RUN_ARENA, RUN_STATE, RUN_WEIGHTS
from aidge_build.build.emit.ports import Port
from aidge_build.build.emit.replaced import bound_of
from aidge_build.build.emit.rows import pointer_to, progress_type
from aidge_build.plan.program import Program


@dataclass(frozen=True)
class StepsText:
    """The values for the template. `fields` are the declarations of N_progress, `told` the pointers from N_begin that cases use,
    as (declaration, name); `locals` are the memories that cases use, as (declaration, C text); `cases` are the lines of each
    layer's step, `counted` the statements with which the monitor ends an inference, `begun` the hooks that N_begin calls."""

    type: str
    symbol: str
    at: str  # C text: its address
    fields: tuple[str, ...]
    told: tuple[tuple[str, str], ...]
    locals: tuple[tuple[str, str], ...]
    cases: tuple[tuple[str, ...], ...]
    counted: tuple[str, ...]
    begun: tuple[str, ...] = ()
    begun_locals: tuple[tuple[str, str], ...] = ()


def progress_symbol(program: Program) -> str:
    """The C name of the struct that the model owns."""
    return f"{program.name}_steps"


def owns_steps(program: Program) -> bool:
    """Whether the generated code defines it."""
    return program.options.arena == "static" and program.waiting is not None


def step_fields(program: Program, ports: tuple[Port, ...]) -> tuple[str, ...]:
    """The struct's fields as `Waiting` counts them."""
    waiting = program.waiting
    assert waiting is not None
    given = ports if program.options.io == "caller" else ()
    return (
        *(port.declaration for port in given),
        *(f"uint32_t at_{number}" for number in range(waiting.cursors)),
        "uint16_t layer",
        "uint16_t step",
    )


def steps_text(
    program: Program,
    ports: tuple[Port, ...],
    steps: Sequence[LayerText | CascadeText],
    arenas: Sequence[tuple[str, str]],
    hooks: Hooks | None,
) -> StepsText | None:
    """Returns the values for the template; None for a model without steps. `steps` are N_run's calls in order, `arenas` the
    arrays as (ending, symbol)."""
    if program.waiting is None:
        return None
    given = ports if program.options.io == "caller" else ()
    cases, counted = _cases(program, ports, steps), ending_calls(program, ports)
    begun = hooks.before_input.calls if hooks else ()
    if hooks is not None:
        cases[-1] = (*cases[-1], *hooks.after_output.calls)
    used, known = _words([*counted, *(line for case in cases for line in case)]), _memories(program, arenas)
    return StepsText(
        progress_type(program),
        progress_symbol(program),
        f"&{progress_symbol(program)}" if owns_steps(program) else "&self->progress",
        step_fields(program, ports),
        tuple((pointer_to(port), port.parameter) for port in given if port.parameter in used),
        tuple((_declared(name), text) for name, text in known if name in used),
        tuple(cases),
        counted,
        begun,
        tuple((_declared(name), text) for name, text in known if name in _words(begun)),
    )


def _cases(program: Program, ports: tuple[Port, ...], steps: Sequence[LayerText | CascadeText]) -> list[tuple[str, ...]]:
    """The lines of each step. All stores are one step, in which the monitor counts the answers, too, so that an inference that is
    left has changed nothing."""
    count = len(steps) - len(program.stores)
    layers, stores = steps[:count], tuple(line for step in steps[count:] for line in _case(program, step))
    last = [stores] if program.stores or program.monitoring else []
    return [*counting_steps(program, ports), *(tuple(_case(program, step)) for step in layers), *last]


def _memories(program: Program, arenas: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """The local names of memories, and what they are in C."""
    owned = owns_steps(program)
    known = [(f"{RUN_ARENA}{ending}", symbol if owned else "self->arena") for ending, symbol in arenas]
    known += [(RUN_STATE, f"{program.name}_state" if owned else "self->state")] if program.memory.states.size_bytes else []
    return [*known, *([(RUN_WEIGHTS, bound_of(program))] if program.options.replaces_weights else [])]


def _declared(name: str) -> str:
    return f"{'const ' if name == RUN_WEIGHTS else ''}uint8_t *const {name}"


def _words(lines: Iterable[str]) -> set[str]:
    """The C names in these lines."""
    return set(re.findall(r"[A-Za-z_]\w*", " ".join(lines)))


def _case(program: Program, step: LayerText | CascadeText) -> list[str]:
    if isinstance(step, CascadeText):
        return [f"if ({step.symbol}({', '.join(('at', *step.passed))}) != 0) {{", "    return 2;", "}"]
    return [f"{step.symbol}({', '.join(step.passed)});", *(line for trace in step.traces for line in _trace(trace))]


def _trace(trace: Trace) -> list[str]:
    if trace.rows == 1:
        return [f"aidge_trace({trace.index}, {trace.pointer}, {trace.size_bytes}u);"]
    row = f"(const uint8_t *)(const void *)({trace.pointer}) + row * {trace.stride_bytes}u"
    return [
        "{",
        "    uint32_t row;",
        f"    for (row = 0; row < {trace.rows}u; row++) {{",
        f"        aidge_trace({trace.index}, {row}, {trace.size_bytes}u);",
        "    }",
        "}",
    ]
