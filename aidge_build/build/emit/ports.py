# SPDX-License-Identifier: MIT
"""The model's inputs and outputs as the firmware sees them: parameter names, macros, pointers' alignment."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import gcd

from aidge_build.base.naming import Namer
from aidge_build.build.emit.digest import digest_of, facts_of
from aidge_build.contract.node import WORD_BYTES
from aidge_build.graph.quantization import Quantization, per_tensor
from aidge_build.graph.tensor import Tensor
from aidge_build.plan.program import Program

MACRO_ENDINGS = ("", "_SIZE", "_BYTES", "_RANK", "_DIMS", "_SCALE", "_ZERO_POINT", "_NAMES", "_NAMES_SIZE")
_OTHER_MACROS = ("H", "ARENA_BYTES", "ARENA_ALIGNMENT", "PEAK_BYTES", "DEFINITIONS", "STATE_BYTES", "STATE_ALIGNMENT")
_ROW_MACROS = ("OK", "POINTER", "MORE", "ORDER", "INPUT_ROWS", "INPUT_ROW_BYTES", "OUTPUT_ROWS", "OUTPUT_ROW_BYTES")  # by rows
_STEP_MACROS = ("OK", "POINTER", "MORE", "ORDER", "MAX_STEP_INSTRUCTIONS", "STEPS")  # of models that run in steps
_RECORD_MACROS = ("RECORD_BYTES",)  # of models that keep the last inferences
_CODES = ("OK", "POINTER", "MORE", "ORDER", "WEIGHTS")  # of models whose functions return more than 0 and 1
_WEIGHTS_MACROS = (*_CODES, "WEIGHTS_ALIGNMENT")  # of models whose weights can be replaced
_LABEL_MACROS = ("LABELS", "LABELS_SIZE")  # of models that have them


@dataclass(frozen=True)
class Port:
    """A graph input or output: `parameter` is its name in the signature of N_run, `macro` the stem of its macros.

    `line` are the bytes of a line of the data cache where it lies in lines of its own, else 0; `word` are those of the words that
    kernels read where none may lie anywhere, else 1."""

    tensor: Tensor
    is_input: bool
    parameter: str
    macro: str
    line: int = 0
    word: int = 1

    @property
    def declaration(self) -> str:
        """The parameter with its type."""
        return f"{'const ' if self.is_input else ''}{self.tensor.dtype.c_type} *{self.parameter}"

    @property
    def alignment(self) -> int:
        """What N_run asks of the pointer: that of the element type, of words, or of a line of the data cache."""
        return max(self.tensor.dtype.size_bytes, self.line, self.word)

    @property
    def line_bytes(self) -> int:
        """The bytes of its lines of the data cache, where it has lines of its own."""
        return -(-self.tensor.size_bytes // self.line) * self.line if self.line else 0


def labels_of(program: Program) -> tuple[str, ...]:
    """The names of the classes: of the elements or columns of all outputs that have any; () where outputs have different ones."""
    tables = {program.view.tensor(name).names for name in program.view.handed_out} - {()}
    return tables.pop() if len(tables) == 1 else ()


def ports_of(program: Program) -> tuple[Port, ...]:
    """The inputs, then the outputs, in model order."""
    prefix, view = program.name.upper(), program.view
    words, reserved = _reserved(program)
    parameters, macros = Namer(taken=words), Namer(prefix, (f"{prefix}_{word}" for word in reserved))
    endings = (*MACRO_ENDINGS, *(("_DMA_BYTES",) if program.options.dma_line else ()))
    sides = (("input", view.given), ("output", view.handed_out))
    for side, names in sides:
        if len(names) == 1:  # the usual words first, so that no tensor of that name takes them
            parameters.take(side)
            macros.take(side, endings)
    progress, found = program.progress, []
    lines = {"input": progress.arriving, "output": progress.departing} if progress else {}
    for side, names in sides:
        line = 0 if lines.get(side) else program.options.dma_line  # rows come from anywhere and go there
        for name in names:
            alone = len(names) == 1
            parameter = side if alone else parameters.take(name)
            macro = f"{prefix}_{side}" if alone else macros.take(name, endings)
            found.append(Port(view.tensor(name), side == "input", parameter, macro.upper(), line, _word(program, name)))
    return tuple(found)


def _reserved(program: Program) -> tuple[list[str], list[str]]:
    """The parameters and the macros of a model that no input or output may be called."""
    cases: tuple[tuple[object, tuple[str, ...], tuple[str, ...]], ...] = (
        (True, (), _OTHER_MACROS),
        (labels_of(program), (), _LABEL_MACROS),
        (program.states.size_bytes, ("self", "state", "state_bytes"), ()),
        (program.progress, ("self", "at", "rows", "count", "steps", "to", "wanted", "gone", "came", "left"), _ROW_MACROS),
        (program.waiting, ("self", "at", "code", "steps"), _STEP_MACROS),
        (program.recording, (), _RECORD_MACROS),
        (program.options.dma_line, (), ("DMA_LINE",)),
        (program.options.replaces_weights, ("self", "weights", "weights_bytes"), _WEIGHTS_MACROS),
    )
    arenas = [f"{name}{part.ending}" for part in program.parts for name in ("arena", "arena_bytes")]
    words = [word for holds, parameters, _ in cases if holds for word in parameters]
    return [*arenas, *words], [macro for holds, _, macros in cases if holds for macro in macros]


def scale_words(tensor: Tensor) -> str:
    """Returns "scale 0.05, zero point 3", or "no scale"."""
    quantization = tensor.quantization
    if quantization is None or not quantization.per_tensor:
        return "no scale"
    return f"scale {quantization.scale:.9g}, zero point {quantization.zero_point}"


def quantization_in(words: str) -> Quantization | None:
    """The quantization that `scale_words` wrote at the end of these words; None for "no scale"."""
    found = re.search(r"scale (\S+), zero point (-?\d+)$", words)
    return per_tensor(float(found[1]), int(found[2])) if found else None


def data_digest(program: Program) -> str:
    """Returns the digest of what the bytes of inputs, outputs and states mean: types, shapes and orders, and scales and names of
    classes where the firmware sees them.

    Records and blocks of weights carry it. The size of the arena is not in it, so that a later version with a better plan reads
    records of firmware in the field, and makes blocks for it. The scales of states change with the weights.
    """

    def shape(name: str) -> list:
        tensor = program.view.tensor(name)
        return [tensor.dtype.name, list(tensor.dims), str(tensor.storage)]

    def meaning(name: str) -> list:
        tensor = program.view.tensor(name)
        return [*shape(name), scale_words(tensor), list(tensor.names)]

    view = program.view
    states = [[*shape(state.read), program.states.offsets[state.read]] for state in view.states]
    sides = [[meaning(name) for name in names] for names in (view.given, view.handed_out)]
    return digest_of(facts_of([program.name, program.options.record, sides, states]))


def _word(program: Program, name: str) -> int:
    """The bytes that the address of an input or output must be a multiple of where words lie at multiples of 4 alone. Rows come
    from anywhere in an array: kernels read words of them only where a row takes whole words."""
    if not program.is_aligned_only:
        return 1
    progress = program.progress
    by_rows = [line.row_bytes for line in (progress.arriving, progress.departing) if line] if progress else []
    return gcd(WORD_BYTES, *by_rows)
