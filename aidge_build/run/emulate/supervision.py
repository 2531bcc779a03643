# SPDX-License-Identifier: MIT
"""A program that runs while somebody watches: it can be interrupted, may take so long, and says how far it is."""

from __future__ import annotations

import threading
from collections.abc import Callable

from aidge_build.base.terminal import telling
from aidge_build.run.emulate.program import End


def supervise(work: Callable[[], None], ask_to_stop: Callable[[], None], seconds: float, how_far: Callable[[], str]) -> End:
    """Does `work` in a thread of its own: INTERRUPT where the user stops it, SECONDS when so many have passed, else EXIT.

    No `seconds` are no limit. `work` returns soon after `ask_to_stop` is called. What it raises is raised here.
    """
    raised: list[BaseException] = []
    over = threading.Event()  # a thread whose join() was interrupted counts as ended in Python 3.11

    def guarded() -> None:
        try:
            work()
        except BaseException as error:  # whatever it is, it belongs to who asked for the work
            raised.append(error)
        finally:
            over.set()

    thread = threading.Thread(target=guarded, daemon=True)
    end = End.EXIT
    with telling(how_far):
        thread.start()
        try:
            if not over.wait(seconds or None):
                end = End.SECONDS
        except KeyboardInterrupt:
            end = End.INTERRUPT
        if end is not End.EXIT:
            ask_to_stop()
            over.wait()
    if raised:
        raise raised[0]
    return end
