# SPDX-License-Identifier: MIT
"""Runs a program of the host."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

from aidge_build.base.errors import AidgeError
from aidge_build.run.emulate.program import Program, RunResult


def run_natively(program: Program) -> RunResult:
    """The exit code and the output; a host has no deterministic instruction count."""
    executable = Path(program.image.path).resolve()
    try:
        result = subprocess.run(
            program.arguments,
            executable=executable,
            cwd=program.work_folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
        )
    except OSError as error:
        raise AidgeError(f"cannot be run: {error.strerror}", where=str(executable), code="RUN") from error
    if result.returncode < 0:
        raise program.failure(f"the program was ended by signal {signal.Signals(-result.returncode).name}")
    return RunResult(result.returncode, result.stdout, None, None, None, program.layer_counts((), []), None, "native")
