# SPDX-License-Identifier: MIT
"""Builds the site of a checkout with Sphinx."""

from __future__ import annotations

import io
import re
from pathlib import Path

from aidge_build.base.errors import MissingTool


def build_site(root: Path, out: Path, context: dict | None = None) -> list[str]:
    """Writes the pages of the checkout `root` as HTML into `out`; what Sphinx warns of, a line each.

    `context` holds values for the templates: the versions of the menu.
    """
    try:
        from sphinx.application import Sphinx
        from sphinx.util.docutils import docutils_namespace, patch_docutils
    except ImportError as error:
        raise MissingTool(
            f"the generator of the site: {error}", hint="./sconsw docs has it, and pip install '.[docs]'"
        ) from error
    said = io.StringIO()
    settings = str(root / "docs")
    with patch_docutils(settings), docutils_namespace():
        overrides = {"html_context": context or {}}
        Sphinx(str(root), settings, str(out), f"{out}.doctrees", "html", overrides, None, said, freshenv=True).build()
    text = re.sub(r"\x1b\[[0-9;]*m", "", said.getvalue())  # Sphinx colours what is no terminal, too
    return [line for line in text.splitlines() if line.strip()]
