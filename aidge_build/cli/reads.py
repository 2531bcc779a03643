# SPDX-License-Identifier: MIT
"""The bytes that the layers of an inference read from each memory, and the stalls of these reads, as text and as JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from aidge_build.base.naming import counted
from aidge_build.base.terminal import table
from aidge_build.boards import Board
from aidge_build.prove.timing.reads import Reads
from aidge_build.run.emulate import RunResult

_SHOWN = 8  # rows
_Sums = dict[tuple[str, ...], list[float | None]]
_TITLES = ("node", "memory", "code", "data", "stalls for code", "for data")


def read_lines(result: RunResult, titles: Mapping[str, str]) -> list[str]:
    """Returns a table of an inference: bytes of executed instructions and of loaded data by layer and memory, the most stalls
    first; [] if nobody counted them, "-" where nobody described the flash. `titles` are the names of the layers' symbols."""
    if not result.reads or not result.runs:
        return []
    rows = _sorted(_sums(result.reads, result.runs, lambda one: (one.layer, one.memory)))
    texts = [(titles.get(layer, "outside of nodes"), memory, *_texts(numbers)) for (layer, memory), numbers in rows[:_SHOWN]]
    rest = [_sum(column) for column in zip(*(numbers for _, numbers in rows[_SHOWN:]), strict=True)]
    if rest:
        texts.append((counted(len(rows) - _SHOWN, "other"), "", *_texts(rest)))
    for (memory,), numbers in _sorted(_sums(result.reads, result.runs, lambda one: (one.memory,))):
        texts.append(("all", memory, *_texts(numbers)))
    return table(texts, _TITLES, numbers=range(2, 6))


def hot_bytes(result: RunResult | None, layer: str) -> int | None:
    """Returns the bytes of code that the layer executes more than once in an inference; None if nobody counted them."""
    own = [one.hot_bytes for one in result.reads if one.layer == layer] if result else []
    return sum(own) if own else None


def cache_line(board: Board) -> list[str]:
    """Returns a line that compares with the bytes of hot code: the cache between the core and its flash; [] without one."""
    cache = board.flash.code_cache if board.flash and board.stall_cycles else None
    if cache is None:
        return []
    shares = " and constants" if board.flash and board.flash.is_shared else ""
    return [
        f"hot code: bytes that an inference executes more than once; the cache of the flash holds {cache.size_bytes:,} B of code"
        f"{shares}, --place moves code to a faster memory (docs/howto-fast-memory.md)"
    ]


def layer_read_data(result: RunResult | None, layer: str) -> list[dict]:
    """The same of one layer in an inference, for each memory."""
    if result is None or not result.runs:
        return []
    own = [one for one in result.reads if one.layer == layer]
    words = ("code_bytes", "data_bytes", "code_stalls", "data_stalls")
    rows = _sorted(_sums(own, result.runs, lambda one: (one.memory,)))
    return [{"memory": memory, **dict(zip(words, numbers, strict=True))} for (memory,), numbers in rows]


def _sums(reads: Sequence[Reads], runs: int, key: Callable[[Reads], tuple[str, ...]]) -> _Sums:
    """Bytes of code and of data, stalls for code and for data, by key: the mean of all runs."""
    groups: dict[tuple[str, ...], list[tuple[float | None, ...]]] = {}
    for one in reads:
        groups.setdefault(key(one), []).append((one.code_bytes, one.data_bytes, one.code_stalls, one.data_stalls))
    sums = {name: [_sum(column) for column in zip(*rows, strict=True)] for name, rows in groups.items()}
    return {name: [None if number is None else round(number / runs) for number in total] for name, total in sums.items()}


def _sum(numbers: Sequence[float | None]) -> float | None:
    """None where one is not known."""
    known = [number for number in numbers if number is not None]
    return sum(known) if len(known) == len(numbers) else None


def _sorted(sums: _Sums) -> list[tuple[tuple[str, ...], list[float | None]]]:
    return sorted(sums.items(), key=lambda row: (-sum(filter(None, row[1][2:])), -sum(filter(None, row[1][:2])), row[0]))


def _texts(numbers: Sequence[float | None]) -> list[str]:
    units = (" B", " B", "", "")
    return ["-" if number is None else f"{number:,}{unit}" if number else "" for number, unit in zip(numbers, units, strict=True)]
