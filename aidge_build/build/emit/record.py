# SPDX-License-Identifier: MIT
"""N_record as C: the array, and the statements of N_run before the first layer and after the last layer."""

from __future__ import annotations

from dataclasses import dataclass

from aidge_build.build.emit.places import LAYER_STATE, RUN_STATE, port_pointer
from aidge_build.build.emit.ports import Port, data_digest
from aidge_build.plan.program import Program
from aidge_build.plan.schedule.recording import BEGAN, BEGUN, ENDED, FIRST_SLOT, NEXT, SLOT_HEAD, words_of


@dataclass(frozen=True)
class Copy:
    """`size_bytes` from what the function calls `source` to this word of the slot."""

    word: int
    source: str
    size_bytes: int


@dataclass(frozen=True)
class Side:
    """One of the two functions: its name, parameters and copies, the arguments of N_run, and which words of the slot it sums."""

    symbol: str
    parameters: tuple[str, ...]
    arguments: tuple[str, ...]
    copies: tuple[Copy, ...]
    first_word: int
    words: int

    @property
    def call(self) -> str:
        """The statement of N_run."""
        return f"{self.symbol}({', '.join(self.arguments)});"


@dataclass(frozen=True)
class RecordText:
    """The values for the templates. The array: `symbol`, `size` (C text) and `c_type`."""

    symbol: str
    size: str
    head: tuple[str, ...]
    slots: int
    slot_words: int
    begin: Side
    end: Side
    c_type: str = "uint32_t"
    next: int = NEXT
    began: int = BEGAN
    first_slot: int = FIRST_SLOT
    begun: int = BEGUN
    ended: int = ENDED


def record_symbol(model: str) -> str:
    """The array's name."""
    return f"{model}_record"


def record_functions(model: str) -> tuple[str, str]:
    """Returns the functions that N_run calls before the first layer and after the last layer."""
    return f"{model}_record_begin", f"{model}_record_end"


def record_text(program: Program, ports: tuple[Port, ...]) -> RecordText | None:
    """Returns the values for the templates; None for a model without a record."""
    recording = program.recording
    if recording is None:
        return None
    begin, end = record_functions(program.name)
    inputs = [port for port in ports if port.is_input]
    outputs = [port for port in ports if not port.is_input]
    state = [(f"const uint8_t *{LAYER_STATE}", RUN_STATE, LAYER_STATE, recording.state)] if recording.state else []
    read = [*state, *(_copied(program, "from", number, port) for number, port in enumerate(inputs))]
    written = [_copied(program, "from", number, port) for number, port in enumerate(outputs)]
    return RecordText(
        record_symbol(program.name),
        f"{program.name.upper()}_RECORD_BYTES / 4",
        tuple(f"0x{word:08x}u" for word in recording.head(data_digest(program))),
        recording.slots,
        recording.slot_words,
        _side(begin, read, SLOT_HEAD),
        _side(end, written, SLOT_HEAD + recording.read_words),
    )


def _copied(program: Program, stem: str, number: int, port: Port) -> tuple[str, str, str, int]:
    name = f"{stem}_{number}"
    return f"const void *{name}", port_pointer(program, port), name, port.tensor.size_bytes


def _side(symbol: str, given: list[tuple[str, str, str, int]], first_word: int) -> Side:
    copies, word = [], first_word
    given = [one for one in given if one[-1]]
    for _, _, name, size_bytes in given:
        copies.append(Copy(word, name, size_bytes))
        word += words_of(size_bytes)
    return Side(
        symbol,
        tuple(declaration for declaration, *_ in given),
        tuple(argument for _, argument, *_ in given),
        tuple(copies),
        first_word,
        word - first_word,
    )
