# SPDX-License-Identifier: MIT
"""Temporary SCons projects, and what scons did in them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from aidge_build import scons_toolpath
from tests.served import scons

STUB = Path(__file__).parent / "stub_generator.py"
MODEL = "topology=A\nweights=1\n"
LINK_THAT_DIES = (
    '#!/bin/sh\nif [ -f "kill the build" ]; then rm "kill the build"; printf half > "$2"; kill -9 0; fi\nexec cc "$@"\n'
)
MAIN = '#include "kws.h"\nint main(void) { return kws_run() == 1 ? 0 : 1; }\n'

# What a firmware's SConstruct looks like; `lines` of a test come last.
SCONSTRUCT = """\
DefaultEnvironment(tools=[]); env = Environment(tools=['gcc', 'gnulink'], ENV={{'PATH': {path!r}}}, {settings}
                  CCCOMSTR='CC $TARGET', LINKCOMSTR='LINK $TARGET')
env.Tool('aidge', toolpath=[{toolpath!r}])
{lines}
"""


@dataclass(frozen=True)
class Run:
    """The outcome of one scons command."""

    exit_code: int
    output: str

    @property
    def steps(self) -> list[str]:
        """The commands that ran, in order: `AIDGE kws.c`, `CC main.o`, `LINK app.elf`, `CHECK app.elf`."""
        found = re.findall(r"^(AIDGE|ACCURACY|CC|LINK|CHECK) +(?:.* -> )?(.*)$", self.output, re.MULTILINE)
        return [f"{verb} {Path(target).name}" for verb, target in found]


@dataclass(frozen=True)
class Project:
    """A folder with a SConstruct."""

    folder: Path

    def write(self, name: str, text: str | bytes) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def sconstruct(self, lines: str, settings: str | None = None, name: str = "SConstruct") -> None:
        settings = f"AIDGE_BUILD=[{sys.executable!r}, {str(STUB)!r}]," if settings is None else settings
        self.write(name, SCONSTRUCT.format(path=os.environ["PATH"], settings=settings, toolpath=scons_toolpath(), lines=lines))

    def scons(self, *arguments: str, env: dict | None = None) -> Run:
        return Run(*scons(self.folder, *arguments, env=env))

    def run(self, *command: str, env: dict | None = None) -> Run:
        done = subprocess.run(
            command, cwd=self.folder, env=env, text=True, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        return Run(done.returncode, done.stdout)

    def killed(self, *command: str, folder: str = ".") -> None:
        """A command that its link or its check in `folder` kills with all that it has started (LINK_THAT_DIES, the stub)."""
        self.write(f"{folder}/kill the build", "")
        done = subprocess.run(command, cwd=self.folder, start_new_session=True, check=False, capture_output=True)
        assert done.returncode < 0 and not (self.folder / folder / "kill the build").exists()

    def build(self, *arguments: str) -> list[str]:
        """The steps of a run that must succeed."""
        run = self.scons(*arguments)
        assert run.exit_code == 0, run.output
        return run.steps

    def read(self, name: str) -> str:
        return (self.folder / name).read_text()


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A firmware with one model, at a path with a space and letters beyond ASCII."""
    if shutil.which("cc") is None:
        pytest.skip("needs a native C compiler (cc)")
    made = Project(tmp_path / "pröject of mine")
    made.write("main.c", MAIN)
    made.write("kws.onnx", MODEL)
    made.sconstruct("kws = env.AidgeModel('kws', 'kws.onnx')\napp = env.Program('app.elf', ['main.c', kws])\n")
    return made


@pytest.fixture
def firmware(tmp_path: Path) -> Project:
    """Files of somebody's firmware, at a path that make can hold, without a build script."""
    if shutil.which("cc") is None:
        pytest.skip("needs a native C compiler (cc)")
    made = Project(tmp_path / "firmware")
    made.write("main.c", MAIN)
    made.write("models/kws.onnx", MODEL)
    return made


@pytest.fixture
def command() -> None:
    """The command that this repository's SConstruct finds; it is there after any ./sconsw."""
    if not (Path(sys.executable).parent / "aidge-build").exists():
        pytest.skip(f"aidge-build is not beside {sys.executable}: run the tests with ./sconsw test")
