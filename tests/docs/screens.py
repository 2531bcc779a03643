# SPDX-License-Identifier: MIT
"""How pages look in the window of a browser: how wide they are, and what is on the first screen."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

SIZES = {1280: 1024, 360: 800}  # width -> height of the windows that are looked into
# What a forge does with a README: a column, tables and code that scroll in their place, pictures that shrink.
FORGE = """<!doctype html><meta charset="utf-8"><base href="%s/"><style>
body { margin: 0; font: 16px/1.5 sans-serif } article { max-width: 900px; margin: 0 auto; padding: 16px; overflow-wrap: anywhere }
pre, table { display: block; max-width: 100%%; overflow: auto }
pre { padding: 16px; margin: 0 0 16px; font: 13.6px/1.45 monospace }
h1, p { margin: 0 0 16px } h1 { font-size: 32px; line-height: 1.25 } img { max-width: 100%% }</style><article>%s</article>"""
WATCH = """
const found = {};
const frames = [...document.querySelectorAll("iframe")];
const place = (page, pattern) => {
  const all = [...page.querySelectorAll("pre, .cast img, picture img")];
  const one = all.find((node) => pattern.test(node.textContent + " " + (node.getAttribute("src") || "")));
  return one ? [one.getBoundingClientRect().top, one.getBoundingClientRect().bottom].map(Math.round) : null;
};
window.onload = () => {
  for (const frame of frames) {
    const page = frame.contentDocument;
    found[frame.name] = {
      width: page.documentElement.scrollWidth,
      install: place(page, /pip install/), output: place(page, /CHECK  build|first-run.svg/), picture: place(page, /results.svg/),
    };
  }
  document.body.innerHTML = '<pre id="results"></pre>';
  document.getElementById("results").textContent = JSON.stringify(found);
};
"""


def browser() -> str:
    """The Chromium of this machine; the test is skipped where there is none."""
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if found is None:
        pytest.skip("no Chromium on this machine")
    return found


def as_on_a_forge(readme: Path) -> str:
    """The README as a page."""
    return FORGE % (readme.parent.as_uri(), MarkdownIt("commonmark").enable("table").render(readme.read_text()))


def look(pages: dict[str, Path], folder: Path) -> dict[str, dict]:
    """What the browser says of each page in each window: "name 360" -> its width, and where things begin and end, in pixels."""
    frames = "".join(
        f'<iframe name="{name} {width}" src="{page.as_uri()}" style="border:0;width:{width}px;height:{height}px"></iframe>'
        for name, page in pages.items()
        for width, height in SIZES.items()
    )
    window = folder / "window.html"
    window.write_text(f"<!doctype html><body>{frames}<script>{WATCH}</script></body>")
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-component-update"]
    words = [browser(), *options, "--disable-background-networking", "--allow-file-access-from-files", "--hide-scrollbars"]
    done = subprocess.run(
        [*words, f"--user-data-dir={folder / 'profile'}", "--dump-dom", window.as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    found = re.search(r'<pre id="results">(.*?)</pre>', done.stdout, re.DOTALL)
    assert found, done.stderr
    return json.loads(html.unescape(found[1]))
