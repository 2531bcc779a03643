# SPDX-License-Identifier: MIT
"""Packages as folders, whatever their ecosystems import."""

from __future__ import annotations

import zipfile
from pathlib import Path

from tests.command import aidge_build


def packaged(target: str, file: Path, out: Path, *words) -> Path:
    """The folder of a package; archives are unpacked as a user would."""
    result = aidge_build("package", file, "--for", target, "--out", out, "--json", *words)
    assert result.exit_code == 0, result.stderr
    made = Path(result.json["package"])
    if made.is_dir():
        return made
    with zipfile.ZipFile(made) as archive:
        archive.extractall(out / "unpacked")
        tops = {name.partition("/")[0] for name in archive.namelist()}
    return out / "unpacked" / (tops.pop() if len(tops) == 1 else "")
