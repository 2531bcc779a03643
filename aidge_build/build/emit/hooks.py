# SPDX-License-Identifier: MIT
"""N_before_input and N_after_output: what the firmware may do where others than the core touch inputs and outputs.

A hook has one name, no second one with the digest of the header: its ranges come with each call, so that a definition that was
compiled with another header gives no buffer of a wrong size, while one that is linked to another name would silently never run.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from aidge_build.build.emit.places import port_pointer
from aidge_build.build.emit.ports import Port
from aidge_build.build.emit.rows import arriving_port, departing_port
from aidge_build.plan.program import Program


@dataclass(frozen=True)
class Hook:
    """A function that the firmware may define; `calls` are the statements of N_run (by rows: of N_end)."""

    symbol: str
    parameters: tuple[str, str]
    comment: tuple[str, ...]
    calls: tuple[str, ...]

    @property
    def signature(self) -> str:
        """The C text between the parentheses."""
        return ", ".join(self.parameters)


@dataclass(frozen=True)
class Hooks:
    """Both, and the statements of N_push_<input> and N_pull_<output> where these go by rows."""

    before_input: Hook
    after_output: Hook
    before_rows: str = ""
    after_rows: str = ""

    @property
    def all(self) -> tuple[Hook, Hook]:
        """The hooks in the order in which they are called."""
        return self.before_input, self.after_output


def has_hooks(program: Program) -> bool:
    """Whether the options ask for them."""
    return program.options.dma != "off"


def hook_symbols(model: str) -> tuple[str, str]:
    """Returns the names of the hooks, in the order in which they are called."""
    return f"{model}_before_input", f"{model}_after_output"


def hooks_of(program: Program, ports: tuple[Port, ...]) -> Hooks | None:
    """Returns the hooks; None for a model without hooks."""
    if not has_hooks(program):
        return None
    before, after = hook_symbols(program.name)
    arriving, departing = arriving_port(program, ports), departing_port(program, ports)
    when = "`bytes` at `data` are an input, or rows of one" if arriving else "`bytes` at `data` are an input"
    return Hooks(
        Hook(
            before,
            ("const void *data", "uint32_t bytes"),
            (f"Called before the first read: {when}. If DMA wrote them, invalidate their lines of the data cache here.",),
            tuple(_calls(program, before, (port for port in ports if port.is_input and port is not arriving))),
        ),
        Hook(
            after,
            ("void *data", "uint32_t bytes"),
            (
                f"Called after the last write: `bytes` at `data` are an output{', or rows of one' if departing else ''}. "
                "If DMA reads them, clean their lines of the data cache here.",
            ),
            tuple(_calls(program, after, (port for port in ports if not port.is_input and port is not departing))),
        ),
        f"{before}(rows, (uint32_t)count * (uint32_t){arriving.macro}_ROW_BYTES);" if arriving else "",
        f"{after}(rows, (uint32_t)count * (uint32_t){departing.macro}_ROW_BYTES);" if departing else "",
    )


def _calls(program: Program, symbol: str, ports: Iterable[Port]) -> Iterable[str]:
    for port in ports:
        if port.tensor.size_bytes:
            yield f"{symbol}({port_pointer(program, port)}, {port.tensor.size_bytes}u);"
