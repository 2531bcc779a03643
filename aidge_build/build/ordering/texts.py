# SPDX-License-Identifier: MIT
"""C text of kernels in assembly, with the instructions of its straight code in the best order."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from aidge_build.build.ordering.alignment import aligned_text
from aidge_build.build.ordering.lines import Moved, moved_instruction, text_of
from aidge_build.build.ordering.pairs import Line, best_lines
from aidge_build.contract.call import Call
from aidge_build.contract.thumb.instruction import Instruction, instruction_of_text
from aidge_build.contract.thumb.statements import divided, joined
from aidge_build.plan.program import BandCalls, Layer
from aidge_build.prove.timing.table import TimingTable

_LABEL = re.compile(r' {8}"(\d+):\\n".*')
_BACK = re.compile(r"(?:b[a-z]{0,2}(?:\.[nw])?|le lr,) (\d+)b")
_NEAR = re.compile(r'"    (cbn?z|tbb|adr|ldr[^"\[]*, =|b\w*\.n) ')  # what reaches only bytes nearby
_FEWEST = 3  # lines that are worth a look
_KEPT = 1 << 12  # texts

_Run = list[tuple[str, Moved]]  # lines of straight code, and their instructions


def ordered_layers(layers: Sequence[Layer], table: TimingTable) -> list[Layer]:
    """Returns the layers with calls whose functions in assembly take the fewest cycles by the table."""
    return [replace(layer, call=_call(layer.call, table), bands=_bands(layer.bands, table)) for layer in layers]


def _call(call: Call, table: TimingTable) -> Call:
    return replace(call, texts=tuple(best_text(text, table) for text in call.texts)) if call.texts else call


def _bands(bands: BandCalls | None, table: TimingTable) -> BandCalls | None:
    return None if bands is None else replace(bands, calls=tuple(_call(call, table) for call in bands.calls))


def best_text(text: str, table: TimingTable) -> str:
    """Returns the C text of a function as the core executes it in the fewest cycles: lines in the best order, loops aligned."""
    ordered = ordered_text(joined(text), table)
    return divided(aligned_text(ordered) if table.wide_run and may_grow(text) else ordered)


def may_grow(text: str) -> bool:
    """Whether no instruction of the function reaches only bytes nearby."""
    return not _NEAR.search(text)


@lru_cache(_KEPT)
def ordered_text(text: str, table: TimingTable) -> str:
    """Returns the C text of a function with the same lines between the same labels and jumps, in the best order. On some cores
    two lines may replace one."""
    if "__asm__" not in text:
        return text
    known: dict[tuple[tuple[Moved, ...], Instruction | None], list[Line]] = {}
    found: list[str] = []
    run: _Run = []
    label, grows = "", may_grow(text)
    for line in text.split("\n"):
        said = text_of(line)
        moved = moved_instruction(said) if said else None
        if moved is not None:
            run.append((line, moved))
            continue
        instructions = tuple(moved for _, moved in run)
        key = instructions, _jump(label, said)
        if len(run) >= _FEWEST and key not in known:
            known[key] = best_lines(table, *key, grows)
        lines = known.get(key) or [(number, "") for number in range(len(run))]
        found += [_line(run[number][0], text) for number, text in lines]
        found.append(line)
        run = []
        at = _LABEL.fullmatch(line)
        label = at[1] if at else ""
    return "\n".join(found)


def _line(line: str, said: str) -> str:
    """Returns the line of a C string, or one that says something else instead."""
    return line.replace(text_of(line), said, 1) if said else line


def _jump(label: str, said: str) -> Instruction | None:
    """Returns the branch that a line says, if it leads back to the label, as if the label were address 0."""
    back = _BACK.fullmatch(said)
    jump = instruction_of_text(said) if back and back[1] == label else None
    return None if jump is None else jump._replace(address=4, operands=(*jump.operands[:-1], "0"))
