# SPDX-License-Identifier: MIT
"""Where long work is: one line that is written over on a terminal, a line each where the output is kept."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

Item = TypeVar("Item")


def with_progress(verb: str, work: Sequence[Item], title: Callable[[Item], str]) -> Iterator[Item]:
    """The items, one by one, each announced as `VERB   3/12  title` on stderr."""
    is_terminal = sys.stderr.isatty()
    for index, item in enumerate(work, 1):
        text = f"{verb:6} {index:{len(str(len(work)))}}/{len(work)}  {title(item)}"
        print(f"\033[K{text}" if is_terminal else text, end="\r" if is_terminal else "\n", file=sys.stderr, flush=True)
        yield item
    if is_terminal:
        print("\033[K", end="", file=sys.stderr, flush=True)
