# SPDX-License-Identifier: MIT
"""A flash as a value: how the core reads it, from the table `flash` of a board file."""

from __future__ import annotations

from dataclasses import dataclass

from aidge_build.base.errors import AidgeError
from aidge_build.base.settings import CODE, check_keys

_KEYS = {"line": int, "stall": int, "prefetch": bool, "external": bool, "cache": dict, "code_cache": dict, "data_cache": dict}
_CACHE_KEYS = {"bytes": int, "ways": int, "line": int}


@dataclass(frozen=True)
class Cache:
    """A cache of `size_bytes`, in sets of `ways` lines."""

    size_bytes: int
    ways: int
    line_bytes: int

    @property
    def sets(self) -> int:
        """The number of sets of lines."""
        return self.size_bytes // (self.ways * self.line_bytes)


@dataclass(frozen=True)
class Flash:
    """How the core reads the board's flash.

    It reads `line_bytes` at once, with caches for code and data or None, which are one cache if `is_shared`. A line that no cache
    holds costs `stall_cycles` (None: the wait states). `prefetches`: the next line of code is read ahead; `is_external`: on a
    serial bus, so that times are also stated without the cache.
    """

    line_bytes: int
    stall_cycles: int | None
    prefetches: bool
    code_cache: Cache | None
    data_cache: Cache | None
    is_shared: bool
    is_external: bool

    @property
    def switches(self) -> str:
        """The switches that firmware may leave off: "caches and prefetch", or one of them, or ""."""
        has_cache = bool(self.code_cache or self.data_cache)
        return " and ".join(what for what, is_there in (("caches", has_cache), ("prefetch", self.prefetches)) if is_there)


def flash_of(table: dict | None, where: str) -> Flash | None:
    """The flash that the table describes; None without a table. Raises AidgeError (BOARD) for a wrong key or value."""
    if table is None:
        return None
    check_keys(table, _KEYS, f"{where}: flash")
    line = table.get("line", 0)
    if line < 2 or line & (line - 1):
        raise AidgeError(
            f"key 'flash.line': one read gives 2, 4, 8, ... bytes, got {line}",
            where=where,
            hint="flash = { line = 16, prefetch = true }",
            code=CODE,
        )
    stall = table.get("stall")
    if stall is not None and stall < 0:
        raise AidgeError(f"key 'flash.stall': no number of cycles: {stall}", where=where, hint="0 or more", code=CODE)
    one, code, data = (_cache(key, table.get(key), where) for key in ("cache", "code_cache", "data_cache"))
    if one and (code or data):
        raise AidgeError(
            "key 'flash.cache' is one cache for code and data: it excludes 'code_cache' and 'data_cache'",
            where=where,
            hint="leave one of them out",
            code=CODE,
        )
    return Flash(
        line, stall, table.get("prefetch", False), one or code, one or data, one is not None, table.get("external", False)
    )


def _cache(key: str, table: dict | None, where: str) -> Cache | None:
    if table is None:
        return None
    check_keys(table, _CACHE_KEYS, f"{where}: flash.{key}")
    size, ways, line = (table.get(name, 0) for name in _CACHE_KEYS)
    if min(size, ways, line) < 1 or size % (ways * line):
        raise AidgeError(
            f"key 'flash.{key}': {size} bytes are no whole number of sets of {ways} lines of {line} bytes",
            where=where,
            hint=f"{key} = {{ bytes = 1024, ways = 64, line = 16 }}",
            code=CODE,
        )
    return Cache(size, ways, line)
