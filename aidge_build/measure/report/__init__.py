# SPDX-License-Identifier: MIT
"""The use of each byte of a program: one document, printed as a tree, drawn as a page, or compared with an older one."""

from __future__ import annotations

from aidge_build.measure.report.attribution import attribute
from aidge_build.measure.report.difference import render_difference
from aidge_build.measure.report.document import make_document
from aidge_build.measure.report.page import render_page
from aidge_build.measure.report.text import render_text

__all__ = ["attribute", "make_document", "render_difference", "render_page", "render_text"]
