# SPDX-License-Identifier: MIT
"""Runs a program that can be interrupted, has a time limit, and reports its progress."""

from __future__ import annotations

import threading
from collections.abc import Callable

from aidge_build.base.terminal import telling
from aidge_build.run.emulate.program import End

_LOOK = 1.0  # seconds between two looks at the progress


def supervise(
    work: Callable[[], object],
    ask_to_stop: Callable[[], None],
    seconds: float,
    how_far: Callable[[], str],
    is_stuck: Callable[[], bool] = lambda: False,
) -> End:
    """Calls `work` in a thread of its own. Returns INTERRUPT if the user stops it, SECONDS if the time is over, STUCK if
    `is_stuck`, which is called each second, says so, else EXIT.

    `seconds` 0 is no limit. `work` returns soon after `ask_to_stop` is called. An exception of `work` is raised here again.
    """
    raised: list[BaseException] = []
    over = threading.Event()  # Python 3.11 counts a thread as ended after an interrupt in join()

    def guarded() -> None:
        try:
            work()
        except BaseException as error:  # raised again for the caller, of any kind
            raised.append(error)
        finally:
            over.set()

    thread = threading.Thread(target=guarded, daemon=True)
    end = End.EXIT
    with telling(how_far):
        thread.start()
        try:
            end = _wait(over, seconds, is_stuck)
        except KeyboardInterrupt:
            end = End.INTERRUPT
        if end is not End.EXIT:
            ask_to_stop()
            over.wait()
    if raised:
        raise raised[0]
    return end


def _wait(over: threading.Event, seconds: float, is_stuck: Callable[[], bool]) -> End:
    waited = 0.0
    while not over.wait(min(_LOOK, seconds - waited) if seconds else _LOOK):
        waited += _LOOK
        if seconds and waited >= seconds:
            return End.SECONDS
        if is_stuck():
            return End.STUCK
    return End.EXIT
