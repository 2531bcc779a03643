# SPDX-License-Identifier: MIT
"""The core's own counter of cycles, read while the core is halted: DWT CYCCNT, or SysTick if the core has none.

Sources: Armv7-M Architecture Reference Manual (DDI 0403), C1.6.5 DEMCR, C1.8.7 and C1.8.8 DWT_CTRL and DWT_CYCCNT, B3.3 SysTick;
Armv6-M (DDI 0419), B3.3. Neither counts while the core is halted.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import Protocol

from aidge_build.base.errors import AidgeError
from aidge_build.run.probe.target import Target

_DWT_CTRL, _CYCCNT, _DEMCR = 0xE0001000, 0xE0001004, 0xE000EDFC
_NO_CYCCNT, _CYCCNT_ENABLED, _TRACE_ENABLED = 1 << 25, 1, 1 << 24
_CYCCNT_TURN = 1 << 32
_SYST_CSR, _SYST_RVR, _SYST_CVR = 0xE000E010, 0xE000E014, 0xE000E018
_SYST_ENABLED, _SYST_CORE_CLOCK, _SYST_COUNTED = 1, 1 << 2, 1 << 16
_SYST_MOST = (1 << 24) - 1
_SMALL = ("v6-M", "v8-M.baseline")


class Counter(Protocol):
    """Counts the cycles of a stretch: `begin` right before the core runs, `elapsed` right after it halts."""

    name: str

    def begin(self) -> None:
        """A stretch begins."""

    def elapsed(self) -> int | None:
        """Returns the cycles of the stretch, including the overhead of halting; None if the counter overflowed."""

    def restore(self) -> None:
        """Leaves the counter as it was found."""


@dataclass(frozen=True)
class NoCounter:
    """The reason why a board's cycles cannot be counted."""

    reason: str


def counter_of(target: Target, architecture: str) -> Counter | NoCounter:
    """Switches the core's cycle counter on and returns it: CYCCNT wraps after 2^32 cycles, SysTick counts 2^24. `architecture` is
    the architecture of the program ("v7E-M"): the small architectures have no CYCCNT."""
    if target.is_emulated:
        return NoCounter("not measured: QEMU has no cycles")
    if architecture in _SMALL:
        return _system_timer(target)
    found = _CycleCounter(target)
    if found.counts:
        return found
    found.restore()
    return NoCounter("not measured: CYCCNT does not count on this board") if found.is_there else _system_timer(target)


class _CycleCounter:
    """CYCCNT: `is_there` if the core says that it has one, `counts` if its bits can be set."""

    name = "CYCCNT"

    def __init__(self, target: Target):
        self._target = target
        self._monitor, self._control = target.word(_DEMCR), 0
        target.set_word(_DEMCR, self._monitor | _TRACE_ENABLED)
        self._control = target.word(_DWT_CTRL)
        self.is_there = not self._control & _NO_CYCCNT
        if self.is_there:
            target.set_word(_DWT_CTRL, self._control | _CYCCNT_ENABLED)
        self.counts = self.is_there and bool(target.word(_DWT_CTRL) & _CYCCNT_ENABLED)
        self._start = 0

    def begin(self) -> None:
        self._start = self._target.word(_CYCCNT)

    def elapsed(self) -> int | None:
        return (self._target.word(_CYCCNT) - self._start) % _CYCCNT_TURN

    def restore(self) -> None:
        with contextlib.suppress(AidgeError):
            if self.is_there:
                self._target.set_word(_DWT_CTRL, self._control)
            self._target.set_word(_DEMCR, self._monitor)


def _system_timer(target: Target) -> Counter | NoCounter:
    if target.word(_SYST_CSR) & _SYST_ENABLED:
        return NoCounter("not measured: the core has no CYCCNT, and the firmware uses SysTick itself")
    return _SystemTimer(target)


class _SystemTimer:
    """SysTick, which counts down from 2^24 - 1 at the core's clock, without its interrupt."""

    name = "SysTick"

    def __init__(self, target: Target):
        self._target = target
        self._found = target.word(_SYST_RVR)

    def begin(self) -> None:
        self._target.set_word(_SYST_RVR, _SYST_MOST)
        self._target.set_word(_SYST_CVR, 0)  # any value clears the counter and its overflow flag
        self._target.set_word(_SYST_CSR, _SYST_ENABLED | _SYST_CORE_CLOCK)

    def elapsed(self) -> int | None:
        value, state = self._target.word(_SYST_CVR), self._target.word(_SYST_CSR)
        self._target.set_word(_SYST_CSR, 0)
        if not state & _SYST_ENABLED:
            return None  # the firmware took it meanwhile
        # The first cycle loads the start value; a value of 0 is the end of the first turn.
        return None if state & _SYST_COUNTED else _SYST_MOST - value + 1 if value else 0

    def restore(self) -> None:
        with contextlib.suppress(AidgeError):
            self._target.set_word(_SYST_CSR, 0)
            self._target.set_word(_SYST_RVR, self._found)
