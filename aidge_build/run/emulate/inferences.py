# SPDX-License-Identifier: MIT
"""The inferences that a firmware makes, from the calls that returned: an input that goes by rows is put together again."""

from __future__ import annotations

from dataclasses import replace

from aidge_build.base.return_codes import ReturnCode
from aidge_build.run.emulate.program import Entry, Program

_MOST_ENTRIES, _MOST_BYTES = 1000, 1 << 24  # that are kept


class Inferences:
    """`found` are the calls of N_run and N_begin; if rows are pushed, the calls of N_push_<input> that brought the last row, with
    the whole input, instead of the calls of N_begin. Calls that were refused are there, too. `asked` is how often N_begin was
    called during an inference: a loop of a firmware may do so until N_begin begins the next one."""

    def __init__(self, program: Program):
        self.found: list[Entry] = []
        self.asked = 0
        self._passed = program.passed
        self._rows = dict[int, bytes]()  # of each instance that has begun
        self._bytes = 0

    @property
    def is_full(self) -> bool:
        """Whether no further input is kept."""
        return self._bytes > _MOST_BYTES

    def add(self, entry: Entry) -> None:
        """Takes a call that returned."""
        passed = self._passed
        instance = entry.words[0] if passed.first else 0
        if entry.function == passed.begins and entry.status == ReturnCode.ORDER and (self.found or instance in self._rows):
            self.asked += 1
        elif entry.function == passed.pushes and entry.status == ReturnCode.MORE:
            pass  # rows of the output must leave first; then the same rows are pushed again
        elif passed.pushes and not entry.status and entry.function == passed.begins:
            self._rows[instance] = b""
        elif passed.pushes and not entry.status and entry.function == passed.pushes:
            rows = self._rows[instance] = self._rows.get(instance, b"") + b"".join(entry.inputs)
            if len(rows) == passed.inputs[0].size_bytes:
                self._keep(replace(entry, inputs=(rows,)))
        else:
            self._keep(entry)

    def _keep(self, entry: Entry) -> None:
        if len(self.found) < _MOST_ENTRIES:
            self.found.append(entry)
            self._bytes += sum(map(len, entry.inputs))
