# SPDX-License-Identifier: MIT
"""What Sphinx does for this site beyond its own: links to folders lead to their README, links that are called by a file get the
title of its page, no page is left out of the menu, pictures in HTML are found, and the site begins at index.html."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath
from posixpath import join, normpath

from docutils import nodes
from sphinx.addnodes import pending_xref

FIRST_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>aidge_build</title>
<meta http-equiv="refresh" content="0; url=docs/index.html"></head>
<body><a href="docs/index.html">aidge_build</a></body></html>
"""
REST = "\n```{toctree}\n:hidden:\n:caption: More\n\n%s\n```\n"


def setup(app) -> dict:
    app.connect("source-read", list_the_rest)
    app.connect("source-read", find_pictures)
    app.connect("doctree-read", lead_folders_to_readme)
    app.connect("doctree-read", name_pages_by_title)
    app.connect("build-finished", write_first_page)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def list_the_rest(app, docname: str, source: list[str]) -> None:
    """Pages that the menu of the first page does not name are listed at its end, so that a new page is found at once."""
    if docname != app.config.root_doc:
        return
    folder = str(PurePosixPath(docname).parent)
    menus = re.findall(r"^```\{toctree\}\n(.*?)^```", source[0], re.MULTILINE | re.DOTALL)
    named = {normpath(join("/", folder, line)).lstrip("/") for menu in menus for line in menu.split() if not line.startswith(":")}
    rest = [
        name
        for name in sorted(app.env.found_docs - named - {docname})
        if not any(PurePosixPath(name).match(pattern) for pattern in named)
    ]
    if rest:
        source[0] += REST % "\n".join(f"/{name}" for name in rest)


def find_pictures(app, docname: str, source: list[str]) -> None:
    """Pictures that a page of docs/ names in HTML lie where Sphinx puts them, not where the checkout has them."""
    source[0] = re.sub(r'(\s(?:src|srcset)=")static/', r"\1../_static/", source[0])


def lead_folders_to_readme(app, doctree: nodes.document) -> None:
    """A link to a folder of the checkout leads to its README where that is a page; other folders are named without a link."""
    for node in list(doctree.findall(pending_xref)):
        target = normpath(PurePosixPath(node.get("refdoc", "")).parent / node["reftarget"])
        page = f"{target}/README"
        if node["reftype"] == "myst" and page in app.env.found_docs:
            node["refdomain"], node["reftarget"], node["reftargetid"] = "doc", page, None
        elif node["reftype"] == "myst" and (Path(app.srcdir) / target).is_dir():
            node.replace_self(nodes.inline("", "", *(child.deepcopy() for child in node.children)))


def name_pages_by_title(app, doctree: nodes.document) -> None:
    """What a checkout calls kit.md, this site calls by the title of the page or of the section."""
    for node in doctree.findall(pending_xref):
        if re.fullmatch(r"[\w./-]+\.md", node.astext()):
            node["refexplicit"] = False


def write_first_page(app, exception) -> None:
    if exception is None:
        (Path(app.outdir) / "index.html").write_text(FIRST_PAGE)
