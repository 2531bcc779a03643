# SPDX-License-Identifier: MIT
"""Runs verbs of the command line in this process, and reads what they print."""

from __future__ import annotations

import contextlib
import io
import json
from dataclasses import dataclass

from aidge_build.cli import main


@dataclass(frozen=True)
class Result:
    """Exit code and both streams; `json` is the object that --json printed."""

    exit_code: int
    stdout: str
    stderr: str

    @property
    def json(self) -> dict:
        return json.loads(self.stdout)


def aidge_build(*words) -> Result:
    """`aidge-build words...`"""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main([str(word) for word in words])
    return Result(code, out.getvalue(), err.getvalue())
