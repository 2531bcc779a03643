# SPDX-License-Identifier: MIT
"""The site of each release next to the site of the checkout: tag `v1.2.3` is built into versions/1.2.3, each menu names all."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from tools.docs.build import build_site


def build_versions(root: Path, out: Path, current: str) -> list[str]:
    """Writes the site of the checkout into `out`, of each release into a folder of it; what Sphinx warns of, a line each.

    `current` is the version of the checkout: its own tag is not built again.
    """
    released = [version for version in releases(root) if version != current]
    versions = [(current, ""), *((version, f"versions/{version}/") for version in released)]
    warnings = build_site(root, out, {"versions": versions, "shown": current, "above": ""})
    for version in released:
        warnings += [f"{version}: {line}" for line in build_release(root, out / "versions" / version, version, versions)]
    return warnings


def releases(root: Path) -> list[str]:
    """The versions that have a tag, the newest first; none outside of a clone."""
    done = subprocess.run(["git", "tag", "--list", "v*"], cwd=root, capture_output=True, text=True, check=False)
    found = [tag[1:] for tag in done.stdout.split() if re.fullmatch(r"v\d+(\.\d+)+", tag)]
    return sorted(found, key=lambda version: [int(part) for part in version.split(".")], reverse=True)


def build_release(root: Path, out: Path, version: str, versions: list[tuple[str, str]]) -> list[str]:
    """Builds the pages of a tag by its own settings, in a process of its own: its modules have the names of ours."""
    with tempfile.TemporaryDirectory() as made:
        tree = Path(made)
        words = ["git", "clone", "-q", "--depth=1", f"--branch=v{version}", root.resolve().as_uri(), str(tree)]
        subprocess.run(words, check=True, capture_output=True)
        menu = json.dumps({"versions": versions, "shown": version, "above": "../../"})
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "sphinx",
                "-q",
                "-E",
                "-d",
                str(tree / "doctrees"),
                "-c",
                str(tree / "docs"),
                str(tree),
                str(out),
            ],
            cwd=tree,
            env={**os.environ, "PYTHONPATH": str(tree), "AIDGE_DOCS_MENU": menu, "NO_COLOR": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
    return [line for line in done.stderr.splitlines() if line.strip()]
