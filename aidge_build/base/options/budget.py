# SPDX-License-Identifier: MIT
"""The limits of a program and of an inference: a part of the one table."""

from __future__ import annotations

from aidge_build.base.options.option import CMAKE, Group, Option

BUDGET = Group(
    "Budgets",
    "check; --max-instructions, --max-cycles and --max-ms of run",
    "env.AidgeBudget(app, ...)",
    "aidge_check_memory(app kws ...)",
    (
        Option(
            "max-stack",
            "limit of the stack: the check fails above it, or when no bound can be proved (default: no limit)",
            "number",
            metavar="BYTES",
        ),
        Option(
            "max-flash",
            "limit of all flash memories together: the check fails above it (default: no limit)",
            "number",
            metavar="BYTES",
        ),
        Option(
            "max-instructions",
            "limit of an inference: the run fails above it (default: no limit)",
            "number",
            metavar="N",
            instead={CMAKE: "a target of your own that calls `aidge-build run --max-instructions`"},
        ),
        Option(
            "max-cycles",
            "limit of the cycles of an inference, the stated error of their estimate included: the run fails above it, or when "
            "the error is not known (default: no limit)",
            "number",
            metavar="N",
            instead={CMAKE: "a target of your own that calls `aidge-build run --max-cycles`"},
        ),
        Option(
            "max-ms",
            "the same in milliseconds at the clock of the board (default: no limit)",
            "decimal",
            metavar="MS",
            instead={CMAKE: "a target of your own that calls `aidge-build run --max-ms`"},
        ),
    ),
)
