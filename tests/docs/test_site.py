# SPDX-License-Identifier: MIT
"""The documentation site builds without a warning, needs no other machine, and none of its links leads nowhere."""

from __future__ import annotations

import itertools
import re
import subprocess
from pathlib import Path

import pytest

from tests.docs import screens
from tools.docs.build import build_site
from tools.docs.links import broken_links
from tools.docs.versions import build_versions, releases

OLD = "versions/0.0.10"
ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")  # between MyST and Sphinx


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> tuple[Path, list[str]]:
    out = tmp_path_factory.mktemp("site") / "html"
    return out, build_site(ROOT, out)


def test_the_site_builds_without_a_warning_and_every_link_leads_somewhere(site):
    folder, warnings = site
    assert warnings == [] and broken_links(folder) == []


def test_every_page_of_docs_is_in_the_menu_once(site):
    folder, _ = site
    links = re.findall(
        r'class="toctree-l1(?: [\w-]+)*"><a class="[^"]*" href="([^"]+)"', (folder / "docs" / "index.html").read_text()
    )
    pages = {page.relative_to(ROOT / "docs").with_suffix(".html").as_posix() for page in (ROOT / "docs").rglob("*.md")}
    assert pages - {"index.html"} <= set(links) and len(links) == len(set(links))


def test_no_page_is_wider_than_its_window_and_the_first_screen_shows_install_output_and_picture(site, tmp_path):
    readme = tmp_path / "README.html"
    readme.write_text(screens.as_on_a_forge(ROOT / "README.md"))
    pages = {name: site[0] / "docs" / f"{name}.html" for name in ("index", "benchmarks", "comparison")}
    seen = screens.look({"README": readme, **{name: page for name, page in pages.items() if page.exists()}}, tmp_path)
    assert len(seen) >= 6 and [name for name, page in seen.items() if page["width"] > int(name.split()[1])] == []
    for name, (width, height) in itertools.product(("README", "index"), screens.SIZES.items()):
        install, output, picture = (seen[f"{name} {width}"][thing] for thing in ("install", "output", "picture"))
        # In a small window the picture begins there.
        assert install[0] <= output[0] < picture[0] < height and (width == 360 or picture[1] < height), (name, width)


def test_a_link_to_a_folder_leads_to_its_readme(site):
    folder, _ = site
    assert 'href="../examples/keyword/README.html"' in (folder / "docs" / "frontend.html").read_text()


def test_a_link_that_is_called_by_its_file_has_the_title_of_the_page_or_section(site):
    text = (site[0] / "docs" / "reference-verbs.html").read_text()
    assert re.search(r'href="options.html"><span class="[^"]*">Options</span>', text) and ">options.md<" not in text


def checkout(folder: Path, **pages: str) -> Path:
    """A checkout with the settings of the site and these pages."""
    (folder / "docs").mkdir(parents=True)
    (folder / "docs" / "conf.py").write_text((ROOT / "docs" / "conf.py").read_text())
    for name in ("docs/static", "docs/templates", "aidge_build", "tools"):
        (folder / name).symlink_to(ROOT / name)
    for name, text in pages.items():
        (folder / "docs" / f"{name}.md").write_text(text)
    return folder


def test_a_page_that_no_menu_names_is_listed_and_a_link_that_leads_nowhere_is_a_warning(tmp_path):
    root = checkout(tmp_path, index="# First\n", other="# Other\n[no page](none.md) [no place](index.md#none)\n")
    warnings = build_site(root, tmp_path / "out")
    assert len(warnings) == 2 and "'none.md'" in warnings[0] and "'none'" in warnings[1], warnings
    assert 'href="other.html"' in (tmp_path / "out" / "docs" / "index.html").read_text()


def test_every_released_version_of_the_site_is_built_and_each_menu_leads_to_all(tmp_path):
    root, out = checkout(tmp_path / "checkout", index="# First\n"), tmp_path / "out"
    git = ["git", "-c", "user.name=A", "-c", "user.email=a@example.com"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "first"], ["tag", "v0.0.10"]):
        subprocess.run([*git, *words], cwd=root, check=True)
    assert build_versions(root, out, "0.0.11") == [] and broken_links(out) == []
    shown = [re.findall(r'<a href="([^"]+)">([\d.]+)</a>', (out / place / "docs/index.html").read_text()) for place in (".", OLD)]
    assert shown == [[("../versions/0.0.10/docs/index.html", "0.0.10")], [("../../../docs/index.html", "0.0.11")]]
    for tag in ("v0.0.9", "vague", "v1.0-rc1"):
        subprocess.run([*git, "tag", tag], cwd=root, check=True)
    assert releases(root) == ["0.0.10", "0.0.9"]


def test_links_of_html_are_followed_to_files_and_places(tmp_path):
    (tmp_path / "a.html").write_text(
        '<a href="b.html#here">1</a><a href="b.html#gone">2</a><a href="c.html">3</a><p id="top"><a href="#top">'
    )
    (tmp_path / "b.html").write_text(
        '<h1 id="here"></h1><script src="https://elsewhere/x.js"></script><a href="https://elsewhere/">x</a>'
    )
    assert broken_links(tmp_path) == [
        "a.html: b.html#gone leads to no place of that page",
        "a.html: c.html leads to no file",
        "b.html: loads https://elsewhere/x.js from elsewhere",
    ]
