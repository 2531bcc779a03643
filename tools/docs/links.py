# SPDX-License-Identifier: MIT
"""Follows every link of a built site: each leads to a file and a place in it, and nothing is loaded from another machine."""

from __future__ import annotations

from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src", "object": "data"}


class Page(HTMLParser):
    """The links of a page, what it loads, and the places that a link can name."""

    def __init__(self, text: str):
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.places: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = {name: value or "" for name, value in attrs}
        self.places.update(known[name] for name in ("id", "name") if name in known)
        if tag == "a" and "href" in known:
            self.links.append(known["href"])
        if tag in LOADED and LOADED[tag] in known:
            self.loaded.append(known[LOADED[tag]])


def broken_links(site: Path) -> list[str]:
    """One line for each link of the site that leads nowhere, and for each file that a page would fetch from another machine."""

    @cache
    def page(file: Path) -> Page:
        return Page(file.read_text(encoding="utf-8"))

    findings = []
    for file in sorted(site.rglob("*.html")):
        name = file.relative_to(site)
        findings += [
            f"{name}: loads {link} from elsewhere" for link in page(file).loaded if urlsplit(link).scheme not in ("", "data")
        ]
        for link in [*page(file).links, *page(file).loaded]:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            if not target.is_file():
                findings.append(f"{name}: {link} leads to no file")
            elif parts.fragment and target.suffix == ".html" and unquote(parts.fragment) not in page(target).places:
                findings.append(f"{name}: {link} leads to no place of that page")
    return findings
