# SPDX-License-Identifier: MIT
"""The page of a sweep: what is in the file, and what its filters, its picture and its table do in a browser."""

from __future__ import annotations

import html
import json
import re
import subprocess
from dataclasses import replace
from pathlib import Path

from aidge_build.measure.sweep.page import sweep_page
from aidge_build.measure.sweep.rows import Row
from aidge_build.measure.sweep.summary import counted, lines
from tests.docs.screens import browser


def row(model: str, board: str, ram: int | None, flash: int | None, share: float | None = None, **more: str) -> Row:
    words = {"options": "default", "task": "one", "words": "", "state": "fits", "reason": "", **more}
    return Row(model, board, **words, ram_bytes=ram, flash_bytes=flash, accuracy=share, measure="AUC")


ROWS = [
    row("a", "b1", 1000, 9000, 0.9),
    row("a", "b2", 1000, 9000, 0.9),  # as good as the first
    row("a", "b3", 1100, 9000, 0.9),  # not better in anything than the first
    row("b", "b1", 3000, 5000, 0.9),
    row("c", "b1", 5000, 9500, 0.97),
    row("d", "b1", 6000, 9600, None),  # nobody knows how good it is
    row("e", "b1", None, None, None, state="refused", reason="no </script> kernel"),
    row("f", "b1", 100, 100, 0.5, state="too small", reason="RAM is too small"),
    row("g", "b1", 4000, 9400, 0.1, task="two"),  # worse than the first, but of another task
]
STEPS = """
const results = [];
const set = (name, value) => {
  const field = document.getElementById("filters").elements[name];
  if (field.type === "checkbox") field.checked = value; else field.value = value;
  field.dispatchEvent(new Event("input", { bubbles: true }));
};
const named = (lines) =>
  [...document.querySelectorAll(lines)].map(({ children }) => children[0].textContent + children[2].textContent);
const look = () => results.push({
  rows: named("#points tbody tr"),
  front: named("#points tr.front"),
  large: document.querySelectorAll("#picture circle.front").length,
  circles: document.querySelectorAll("#picture circle").length,
  chosen: document.getElementById("chosen").textContent,
});
look();
set("model", "a"); look();
set("model", ""); set("accuracy", "0.95"); look();
set("accuracy", ""); set("ram_bytes", "1050"); look();
set("ram_bytes", ""); set("front", true); look();
set("front", false); set("state", "refused"); look();
set("state", ""); document.querySelectorAll("#points th")[4].click(); look();
document.querySelectorAll("#points th")[4].click(); look();
document.querySelectorAll("#picture circle")[0].dispatchEvent(new Event("click")); look();
const out = document.createElement("pre");
out.id = "results"; out.textContent = JSON.stringify(results);
document.body.append(out);
"""


def test_the_page_holds_every_row_and_no_text_of_it_is_markup():
    page = sweep_page([row("</script><b>\x1b[2J\u202e", "b", 1, 2, reason="<!-- x \x7f"), *ROWS])
    assert page.count("</script>") == 2 and "<b>" not in page and "http" not in page.replace("http://www.w3.org/2000/svg", "")
    assert not [character for character in page if not character.isprintable() and character != "\n"]
    data = json.loads(re.search(r'id="data">(.*)</script>', page)[1])
    assert len(data["rows"]) == 1 + len(ROWS) and data["rows"][0][0] == "</script><b>\\x1b[2J\\u202e"
    assert "<h1>Sweep: 8 models, 4 boards, 1 option set</h1>" in page


def test_a_terminal_gets_a_line_for_each_model_and_set():
    found = lines(ROWS)
    assert [line.split()[0] for line in found] == ["model", "a", "b", "c", "d", "e", "f", "g"]
    assert found[1].split()[2:] == ["3", "of", "3", "1,000", "to", "1,100", "9,000", "not", "known", "AUC", "0.9000"]
    assert found[5].split()[2:] == ["0", "of", "1"]
    assert counted(ROWS) == "9 points: 7 fit, 1 too large for the board, 1 refused"


def test_figures_end_below_each_other():
    small = replace(row("a", "x", 100, 10, 0.5), instructions=1000, options="one")
    large = replace(row("a", "x", 1_000_000, 1000, 0.5), instructions=1_000_000_000, options="two")
    assert lines([large, small]) == [
        "model  options  boards        RAM  flash   instructions    accuracy",
        "a      one      1 of 1        100     10          1,000  AUC 0.5000",
        "a      two      1 of 1  1,000,000  1,000  1,000,000,000  AUC 0.5000",
    ]


def test_filters_front_and_order_do_what_they_say_in_a_browser(tmp_path: Path):
    page = tmp_path / "page.html"
    page.write_text(sweep_page(ROWS).replace("</body>", f"<script>{STEPS}</script></body>"))
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-component-update"]
    words = [browser(), *options, "--disable-background-networking", f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom"]
    done = subprocess.run([*words, page.as_uri()], capture_output=True, text=True, timeout=120)
    found = re.search(r'<pre id="results">(.*?)</pre>', done.stdout, re.DOTALL)
    assert found, done.stderr
    first, of_a, exact, small, front, refused, rising, falling, picked = json.loads(html.unescape(found[1]))
    everything = ["ab1", "ab2", "ab3", "bb1", "cb1", "db1", "eb1", "fb1", "gb1"]
    best = ["ab1", "ab2", "bb1", "cb1", "db1", "gb1"]
    assert first["rows"] == everything and first["front"] == best
    assert (first["large"], first["circles"]) == (4, 5)  # equal points are one; those without an accuracy are not drawn
    assert first["chosen"] == "9 of 9 points are shown, 7 of them fit, 6 are the front."
    assert of_a["rows"] == ["ab1", "ab2", "ab3"] and of_a["front"] == ["ab1", "ab2"]
    assert exact["rows"] == ["cb1"] and small["rows"] == ["ab1", "ab2", "fb1"]
    assert front["rows"] == best and refused["rows"] == ["eb1"] and refused["circles"] == 0
    assert rising["rows"] == ["fb1", "ab1", "ab2", "ab3", "bb1", "gb1", "cb1", "db1", "eb1"]  # what is not known comes last
    assert falling["rows"] == ["db1", "cb1", "gb1", "bb1", "ab3", "ab1", "ab2", "fb1", "eb1"]
    assert picked["rows"][0] == "ab3"  # the small points are drawn first
