# SPDX-License-Identifier: MIT
"""The container has what `doctor` lists for builds; `.ci/fresh --container` runs its lines in a fresh Debian."""

from __future__ import annotations

import json
import re
from pathlib import Path

from aidge_build.base import machine

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / ".devcontainer"
BEYOND = ["ca-certificates", "git", "python3", "python3-venv"]  # what a Debian image lacks to begin with
TOOLS = (*machine.TOOLS, machine.MAKE, machine.CMAKE, machine.NINJA)


def test_the_packages_of_the_container_are_those_of_the_table_of_doctor():
    (line,) = re.findall(
        r"^RUN apt-get update .*--no-install-recommends (.*)$", (FOLDER / "Dockerfile").read_text(), re.MULTILINE
    )
    assert line.split() == BEYOND + [package for tool in TOOLS for package in tool.packages]


def test_each_line_of_the_container_is_one_that_fresh_can_run():
    text = (FOLDER / "Dockerfile").read_text()
    lines = [line.partition(" ")[0] for line in text.splitlines() if line and not line.startswith("#")]
    assert set(lines) == {"FROM", "RUN", "COPY", "ENV", "WORKDIR"} and "\\\n" not in text
    assert "COPY . /opt/aidge_build\n" in text and "requirements-user.lock" in text
    assert "cp -r . /opt/aidge_build" in (ROOT / ".ci" / "fresh").read_text()


def test_the_development_container_is_built_from_the_same_file():
    build = json.loads((FOLDER / "devcontainer.json").read_text())["build"]
    assert (FOLDER / build["dockerfile"]).is_file() and (FOLDER / build["context"]).resolve() == ROOT
