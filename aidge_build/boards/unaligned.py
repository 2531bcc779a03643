# SPDX-License-Identifier: MIT
"""Words at addresses that are no multiples of 4: which cores read and write them, and where not."""

from __future__ import annotations

import re
from dataclasses import dataclass

from aidge_build.base.errors import AidgeError
from aidge_build.base.settings import CODE, check_keys

_RANGE = re.compile(r"(0x[0-9a-fA-F]{1,8})-(0x[0-9a-fA-F]{1,8})")
_KEYS = {"off": str, "on": str, "lacking": str, "there": str, "device": list}


@dataclass(frozen=True)
class UnalignedAccess:
    """A core that reads and writes words at any address: the compiler's flags without and with that, the conditions by which C
    sees that the compiler lacks it and has it, and the (first, last) addresses of Device ranges, in which it is a fault."""

    off: str
    on: str
    lacking: str
    there: str
    device: tuple[tuple[int, int], ...]


def unaligned_access(table: object, where: str) -> UnalignedAccess:
    """Returns the value of the table `unaligned` of a core's file; AidgeError for a key that is missing or wrong."""
    check_keys(table, _KEYS, where)
    assert isinstance(table, dict)
    for key in _KEYS:
        if key not in table:
            raise AidgeError(f"key '{key}' is missing", where=where, code=CODE, hint="cores/bases/unaligned.toml has all of them")
    ranges = [_RANGE.fullmatch(text) for text in table["device"]]
    if not all(ranges):
        raise AidgeError(
            "key 'device': the first and the last address of each range are expected",
            where=where,
            code=CODE,
            hint='device = ["0x40000000-0x5FFFFFFF"]',
        )
    device = tuple((int(found[1], 16), int(found[2], 16)) for found in ranges if found)
    return UnalignedAccess(**{**table, "device": device})
