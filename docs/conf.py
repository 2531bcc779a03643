# SPDX-License-Identifier: MIT
"""The documentation site: `./sconsw docs` builds it from the Markdown of this checkout into build/site.

The checkout itself is the source folder, so that links between pages are the same here as where files are browsed.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT)]

from aidge_build.base.version import VERSION  # noqa: E402

project = "aidge_build"
author = copyright = "the authors of aidge_build"
version = release = VERSION
html_title = f"aidge_build {VERSION}"

extensions = ["myst_parser", "tools.docs.site"]
root_doc = "docs/index"
include_patterns = [
    "docs/**.md",
    "docs/**/*.md",
    "boards/README.md",
    "examples/*/README.md",
    "integrations/README.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "CHANGELOG.md",
]
exclude_patterns = [".*", "build", "tests", "kernels", "aidge_build"]
myst_heading_anchors = 4
myst_enable_extensions = ["deflist"]
myst_links_external_new_tab = False
suppress_warnings = [
    "misc.highlighting_failure",  # a line of text that stands for many is no code
    "myst.header",  # figures that are written by a verb begin with a heading of the third level
]
nitpicky = True
smartquotes = False  # of two hyphens it would make a dash, and of an option something that nobody can type

# Everything that a page needs lies beside it: no fonts, scripts or pictures of other machines.
html_theme = "furo"
html_static_path = ["static"]
html_css_files = ["site.css"]
templates_path = ["templates"]
html_context = json.loads(os.environ.get("AIDGE_DOCS_MENU", "{}"))  # the other versions of this site: tools/docs/versions.py
html_sidebars = {
    "**": [f"sidebar/{part}.html" for part in ("scroll-start", "brand", "versions", "search", "navigation", "scroll-end")]
}
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_permalinks_icon = "#"
highlight_language = "none"
