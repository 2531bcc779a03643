# SPDX-License-Identifier: MIT
"""The claim of one model in the ELF, and how it is read. Any tool may have written the note, so each field is validated."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from aidge_build.prove.elf.claimed_call import ClaimedArgument, ClaimedCall


@dataclass(frozen=True)
class ClaimedArena:
    """An array that holds the arena, a part of it, the state, or something else that is kept between calls: its symbol, bytes,
    alignment, and the planned region.

    `word` names what the array keeps, such as "rows": the progress of an inference by rows. `region` is "" if none was planned,
    or if the claim does not say it; `memory` is (origin, bytes) of the region.
    """

    symbol: str
    size_bytes: int
    region: str = ""
    alignment: int = 1
    memory: tuple[int, int] | None = None
    word: str = ""


@dataclass(frozen=True)
class ClaimedPort:
    """An input or output in an array of the arena, `offset_bytes` from its start; `label` is what a finding calls it."""

    label: str
    symbol: str
    offset_bytes: int
    size_bytes: int


@dataclass(frozen=True)
class ClaimedConstant:
    """An array of weights or of other constants: its symbol, bytes and alignment, and the SHA-256 of its bytes.

    `region` is the memory that the plan gives this array, "" if the array is stored with the other constants; `memory` is
    (origin, bytes) of the region."""

    symbol: str
    size_bytes: int
    alignment: int
    sha256: str
    region: str = ""
    memory: tuple[int, int] | None = None


@dataclass(frozen=True)
class ClaimedCode:
    """Functions that the plan gives a memory: the memory's name, its (origin, bytes), the bytes of it that the functions may
    take, and their symbols."""

    region: str
    memory: tuple[int, int]
    room_bytes: int
    functions: tuple[str, ...]


@dataclass(frozen=True)
class ClaimedUpdate:
    """The claim that weights can be replaced: the digest that N_bind compares, the version of the weights in the program, the
    inputs and outputs in words, and for each layer the kernel and the digest of its code."""

    layout: str
    version: int
    ports: tuple[str, ...]
    layers: tuple[tuple[str, str], ...]
    data: str = ""  # the digest of what inputs, outputs and states mean


@dataclass(frozen=True)
class Claim:
    """The claim of one model. `from_note` is False if only the absolute symbol survived: then only the arena's bytes are known,
    unless `from_plan` names the file of a plan, which also holds the claim.

    `dma_line` are the bytes of a line of the data cache, 0 where inputs and outputs have no lines of their own; `hooks` are the
    functions of the firmware that are called, `ports` the inputs and outputs that have lines in the arena. `arenas` are empty
    where the caller owns the arena. `cpu` is gcc's -mcpu name of what the code was generated for, "host", or "" for any core.
    `unaligned`: words may be read and written at any address. `interface` and `code` are the digests of the header and of the
    code file that the constants were generated with. `functions` are the functions that the firmware calls. `is_contradicted`:
    another claim of the model says otherwise. `passed` is what N_run gets, None where the claim does not say it. `features` are
    the features of the core that kernels were chosen for, `made_with` the options of the command except for paths; None if the
    claim does not say them. `max_step` are the instructions that each of the `step_count` steps of an inference may take, 0 where
    it runs in one piece.
    """

    model: str
    arena_bytes: int
    arenas: tuple[ClaimedArena, ...]
    from_note: bool
    model_sha256: str = ""
    cpu: str = ""
    unaligned: bool = True
    interface: str = ""
    code: str = ""
    state: ClaimedArena | None = None
    kept: tuple[ClaimedArena, ...] = ()
    constants: tuple[ClaimedConstant, ...] = ()
    weights_bytes: int = 0
    functions: tuple[str, ...] = ()
    layers: tuple[str, ...] = ()
    code_in: tuple[ClaimedCode, ...] = ()
    peak_bytes: int = 0
    is_contradicted: bool = False
    from_plan: str = ""
    dma_line: int = 0
    hooks: tuple[str, ...] = ()
    copy_hooks: tuple[str, ...] = ()  # functions that start to copy constants, and wait for them
    ports: tuple[ClaimedPort, ...] = ()
    update: ClaimedUpdate | None = None
    max_step: int = 0
    step_count: int = 0
    features: tuple[str, ...] | None = None
    made_with: tuple[str, ...] | None = None
    passed: ClaimedCall | None = None
    tool: str = ""  # the version of aidge-build that made it, if the claim says it

    @property
    def buffers(self) -> tuple[str, ...]:
        """The symbols of the arrays that the model writes: the arena, the state, and other arrays that it keeps between calls."""
        kept = [part.symbol for part in (self.state, *self.kept) if part is not None]
        return (*(part.symbol for part in self.arenas), *kept)

    @property
    def computing(self) -> tuple[str, ...]:
        """The functions that compute; the firmware calls some of them: N_run, or N_push_<input>, N_pull_<output> or N_step, and
        N_end."""
        by_rows = (f"{self.model}_push_", f"{self.model}_pull_")
        pieces = [name for name in self.functions if name.startswith(by_rows) or self.max_step and name == self.step_symbol]
        return (f"{self.model}_run", *pieces, *([f"{self.model}_end"] if pieces else []))

    @property
    def step_symbol(self) -> str:
        """The function that computes a step."""
        return f"{self.model}_step" if self.max_step else ""

    @property
    def weights(self) -> tuple[str, ...]:
        """The symbols of the constants."""
        return tuple(constant.symbol for constant in self.constants)


_T = TypeVar("_T")
_MOST_BYTES = 1 << 32  # of the address space
_SYMBOL = re.compile(r"[A-Za-z_]\w{0,127}", re.ASCII)
_FUNCTION = re.compile(r"[A-Za-z_]\w{0,400}", re.ASCII)
_CORE = re.compile(r"[a-z0-9][a-z0-9.+-]{0,63}|")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_LABEL = re.compile(r"(?:input|output) \d{1,4}")
_WORD = re.compile(r"[a-z]{1,16}")
_LONGEST_TEXT = 400
_TOOL = re.compile(r"\w[\w.+-]{0,31}", re.ASCII)
_DIGEST = re.compile(r"[0-9a-f]{12}|")


def _gaps_bytes(arenas: tuple[ClaimedArena, ...]) -> int:
    """Returns the largest sum of alignment gaps between the parts of an arena, in bytes: each part begins at a multiple of its
    alignment."""
    return sum(part.alignment - 1 for part in arenas[1:])


def claim_from(fields: Any, is_64_bit: bool = False) -> Claim:
    """Returns the claim in a note's JSON, for a program with pointers of 64 bits or 32. ValueError names the field that is wrong
    or contradicts another one."""
    read = _Fields(fields)
    claim = Claim(
        model=read.text("model", _SYMBOL),
        arena_bytes=read.count("arena_bytes"),
        arenas=read.several("arenas", _arena),
        from_note=True,
        model_sha256=read.text("model_sha256", _SHA256),
        cpu=read.text("cpu", _CORE),
        unaligned=read.truth("unaligned") if "unaligned" in read.fields else True,
        interface=read.text("interface", _DIGEST),
        code=read.text("code", _DIGEST),
        state=None if read.get("state") is None else _arena(read.get("state")),
        kept=read.several("kept", lambda fields: _kept(fields, is_64_bit)),
        constants=read.several("weights", _constant),
        weights_bytes=read.count("weights_bytes"),
        functions=read.several("functions", _symbol),
        layers=read.several("layers", _symbol),
        code_in=read.several("code_in", _code) if "code_in" in read.fields else (),
        peak_bytes=read.count("peak_bytes"),
        **_of_dma(read),
        copy_hooks=_Fields(read.get("copies")).several("hooks", _symbol) if "copies" in read.fields else (),
        update=_update(read.get("update")) if "update" in read.fields else None,
        max_step=_of_steps(read, "max_step"),
        step_count=_of_steps(read, "count"),
        features=read.several("features", _text) if "features" in read.fields else None,
        made_with=_made_with(read),
        passed=_passed_by(read),
        tool=read.text("tool", _TOOL) if "tool" in read.fields else "",
    )
    if claim.arenas and not 0 <= claim.arena_bytes - sum(part.size_bytes for part in claim.arenas) <= _gaps_bytes(claim.arenas):
        raise ValueError("the parts of its arena are not the whole")
    if sum(constant.size_bytes for constant in claim.constants) != claim.weights_bytes:
        raise ValueError("its arrays of weights are not the whole")
    if len({*claim.buffers, *claim.weights}) != len(claim.buffers) + len(claim.weights):
        raise ValueError("it names an array twice")
    return claim


def _of_dma(claim: _Fields) -> dict[str, Any]:
    """Returns the claim's fields about DMA; {} for a model without hooks for DMA."""
    if "dma" not in claim.fields:
        return {}
    read = _Fields(claim.get("dma"))
    line = read.count("line_bytes")
    ports = read.several("ports", _port)
    if line & (line - 1) or (ports and not line):
        raise ValueError(f"line_bytes is {line}")
    return {"dma_line": line, "hooks": read.several("hooks", _symbol), "ports": ports}


def _port(fields: Any) -> ClaimedPort:
    read = _Fields(fields)
    return ClaimedPort(
        read.text("label", _LABEL), read.text("symbol", _SYMBOL), read.count("offset_bytes"), read.count("size_bytes")
    )


def _arena(fields: Any) -> ClaimedArena:
    read = _Fields(fields)
    region = "" if read.get("region") is None else read.text("region", _SYMBOL)
    memory = None if read.get("memory") is None else _Fields(read.get("memory"))
    place = (memory.count("origin"), memory.count("length_bytes")) if memory else None
    return ClaimedArena(read.text("symbol", _SYMBOL), read.count("size_bytes"), region, read.alignment(), place)


def _kept(fields: Any, is_64_bit: bool) -> ClaimedArena:
    found, read = _arena(fields), _Fields(fields)
    found = replace(found, word=read.text("word", _WORD))
    return replace(found, size_bytes=read.count("size_bytes_64")) if is_64_bit else found


def _of_steps(claim: _Fields, name: str) -> int:
    """Returns a number about the steps of an inference; 0 if it runs in one piece."""
    return _Fields(claim.get("steps")).count(name) if "steps" in claim.fields else 0


def _update(fields: Any) -> ClaimedUpdate:
    read = _Fields(fields)
    layers = read.several("layers", lambda layer: (_text(_Fields(layer).get("kernel")), _Fields(layer).text("code", _DIGEST)))
    data = read.text("data", _DIGEST) if "data" in read.fields else ""
    return ClaimedUpdate(read.text("layout", _DIGEST), read.count("version"), read.several("ports", _text), layers, data)


def _made_with(claim: _Fields) -> tuple[str, ...] | None:
    """Returns the options that made the model. A program with replaceable weights has them among the fields that new weights
    need."""
    read = claim if "made_with" in claim.fields else _Fields(claim.fields.get("update", {}))
    return read.several("made_with", _text) if "made_with" in read.fields else None


def _passed_by(claim: _Fields) -> ClaimedCall | None:
    """Returns what the firmware passes. A model that keeps something between calls gets an instance, which has the arena."""
    word = next((word for word in ("calls", "passed") if word in claim.fields), "")
    if not word:
        return None
    name, functions = claim.text("model", _SYMBOL), claim.several("functions", _symbol)
    begins, push = f"{name}_begin", f"{name}_push_"
    pushes = next((function for function in functions if function.startswith(push)), "")
    first = "instance" if f"{name}_init" in functions else "" if word == "calls" or begins in functions else "arena"
    read = _Fields(claim.get(word))
    inputs, outputs = read.several("inputs", _passed), read.several("outputs", _passed)
    if pushes and [bool(port.row_bytes) for port in inputs] != [True]:
        raise ValueError("the rows of its input have no length")
    return ClaimedCall(inputs, outputs, first, f"{name}_run", begins if begins in functions else "", pushes)


def _passed(fields: Any) -> ClaimedArgument:
    read = _Fields(fields)
    symbol = "" if read.get("symbol") == "" else read.text("symbol", _SYMBOL)
    kind, scale = (_text(read.get(name)) for name in ("type", "scale"))
    size, offset = read.count("size_bytes"), read.count("offset_bytes")
    row = read.count("row_bytes") if "row_bytes" in read.fields else 0
    return ClaimedArgument(read.text("name", _SYMBOL), kind, scale, size, symbol, offset, row)


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value.isprintable() or not 0 < len(value) <= _LONGEST_TEXT:
        raise ValueError(f"a text is {value!r:.40}")
    return value


def _constant(fields: Any) -> ClaimedConstant:
    read = _Fields(fields)
    found = ClaimedConstant(
        read.text("symbol", _SYMBOL), read.count("size_bytes"), read.alignment(), read.text("sha256", _SHA256)
    )
    if "region" not in read.fields:
        return found
    return replace(found, region=read.text("region", _SYMBOL), memory=_memory(read))


def _code(fields: Any) -> ClaimedCode:
    read = _Fields(fields)
    return ClaimedCode(
        read.text("region", _SYMBOL), _memory(read), read.count("room_bytes"), read.several("functions", _function)
    )


def _memory(read: _Fields) -> tuple[int, int]:
    memory = _Fields(read.get("memory"))
    return memory.count("origin"), memory.count("length_bytes")


def _function(value: Any) -> str:
    return _Fields({"a function": value}).text("a function", _FUNCTION)


def _symbol(value: Any) -> str:
    return _Fields({"a symbol": value}).text("a symbol", _SYMBOL)


class _Fields:
    """The fields of a JSON object, each looked at before it is taken."""

    def __init__(self, fields: Any):
        if not isinstance(fields, Mapping):
            raise ValueError(f"{fields!r:.40} is no object")
        self.fields = fields

    def get(self, name: str) -> Any:
        """Returns the field as it is in the note."""
        if name not in self.fields:
            raise ValueError(f"{name} is missing")
        return self.fields[name]

    def text(self, name: str, pattern: re.Pattern) -> str:
        """Returns a text that matches the pattern, so that it holds no control characters for a terminal."""
        value = self.get(name)
        if not isinstance(value, str) or not pattern.fullmatch(value):
            raise ValueError(f"{name} is {value!r:.40}")
        return value

    def count(self, name: str) -> int:
        """Returns a number of bytes, or an address."""
        value = self.get(name)
        if type(value) is not int or not 0 <= value <= _MOST_BYTES:
            raise ValueError(f"{name} is {value!r:.40}")
        return value

    def truth(self, name: str) -> bool:
        """Returns a field that is true or false."""
        value = self.get(name)
        if type(value) is not bool:
            raise ValueError(f"{name} is {value!r:.40}")
        return value

    def alignment(self) -> int:
        """Returns the alignment in bytes, a power of two."""
        value = self.count("alignment")
        if not value or value & (value - 1):
            raise ValueError(f"alignment is {value}")
        return value

    def several(self, name: str, read: Callable[[Any], _T]) -> tuple[_T, ...]:
        """Returns a list; `read` converts each element."""
        value = self.get(name)
        if not isinstance(value, list):
            raise ValueError(f"{name} is {value!r:.40}")
        return tuple(map(read, value))
