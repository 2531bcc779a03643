# SPDX-License-Identifier: MIT
"""The check of a program: a part of the one table."""

from __future__ import annotations

from aidge_build.base.options.option import TARGET, Group, Option

BOARD_PATH = Option(
    "board-path",
    "folder with your own board files (you trust their data and C) (default: the boards of this tool)",
    "folders",
    metavar="DIR",
    topic=TARGET,
)
CHECK = Group(
    "The check of a program",
    "check; report takes the memories",
    "env.AidgeCheck(app, ...)",
    "aidge_check_memory(app kws ...)",
    (
        Option(
            "board",
            "board with the memories that the program is checked against (default: the memories of the linker map)",
            metavar="B",
            alternatives="memories",
        ),
        Option(
            "region",
            "memory, instead of a board; normal: the MPU makes it Normal memory, whatever its address (default: the memories "
            "of the linker map)",
            "pairs",
            metavar="NAME=ORIGIN,LENGTH[,ram|flash][,normal]",
            scons="regions",
            cmake="REGIONS",
            alternatives="memories",
        ),
        Option(
            "map",
            "linker map (GNU ld), which names the memories (default: the map next to the program, if there is one)",
            "file",
            metavar="F.map",
            alternatives="memories",
        ),
        BOARD_PATH,
        Option(
            "shares",
            "models that never run at the same time: their arenas may share bytes (default: no arena shares any)",
            "list",
            metavar="A+B,C+D",
        ),
        Option(
            "weights-in",
            "memories besides flash that may hold weights, because start-up code copies them there (default: none)",
            "list",
            metavar="RAM,ITCM",
        ),
        Option(
            "dma-arrays",
            "arrays that DMA reads or writes (inputs of --io caller): their cache lines must hold no other bytes (default: none)",
            "list",
            metavar="A,B",
        ),
        Option(
            "task-stacks",
            "tasks of an operating system, each with the array that is its stack: the check fails if the task may use more "
            "(Cortex-M; default: none)",
            "list",
            metavar="TASK=ARRAY,...",
        ),
        Option(
            "max-step-unproved",
            "severity of a step without a bound for all inputs (INS03): an error, or a warning",
            values=("error", "warning"),
            default="error",
        ),
        Option(
            "quiet",
            "codes of warnings and notes (docs/proof.md) not to print, e.g. STK02; errors are always printed (default: print "
            "all)",
            "list",
            metavar="CODE,CODE",
        ),
    ),
)
