# SPDX-License-Identifier: MIT
"""What the tests of the adapters share: a run of somebody's build in a project, and the steps of it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.build.checkout import ROOT
from tests.build.conftest import Project

FOLDER = ROOT / "integrations"
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}
STRICT = "-Wall -Wextra -Werror -Wstrict-prototypes -std=gnu11"
FIRST = {"AIDGE kws.c", "CC main.o", "CC kws.o", "CC kws_weights.o", "LINK app.elf"}


def run(project: Project, *words: str) -> str:
    done = subprocess.run(
        words, cwd=project.folder, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def scons(project: Project) -> set[str]:
    output = run(project, sys.executable, "-m", "SCons", "-Q")
    return {
        f"{verb} {Path(target).name}" for verb, target in re.findall(r"^(AIDGE|CC|LINK) +(?:.* -> )?(.*)$", output, re.MULTILINE)
    }
