# SPDX-License-Identifier: MIT
"""The report adds up at every level, whatever the build; its page opens in a browser; two reports can be compared."""

from __future__ import annotations

import itertools
import json
import os
import re
import subprocess
import xml.etree.ElementTree
from pathlib import Path

import numpy
import pytest

from aidge_build.base.errors import EXIT_BAD_INPUT
from aidge_build.boards import load_board
from aidge_build.measure.report import render_page
from aidge_build.measure.report.text import table_rows
from aidge_build.measure.report.treemap import Rectangle, squarify
from aidge_build.prove.elf import read_image, region_use
from tests.boards import EMULATED
from tests.command import aidge_build
from tests.docs.screens import browser
from tests.programs import CLAIM, EXAMPLES, build, build_example, model, needs_cross_compiler

pytestmark = needs_cross_compiler
DIGITS = Path(__file__).resolve().parents[2] / "examples" / "digits" / "digits.onnx"
TWO_DOUBLES = "\nvolatile double d; double twice(void) { return d * d; }\n"


def report(elf, board, *options) -> dict:
    result = aidge_build("report", elf, "--board", board, "--json", *options)
    assert result.exit_code == 0, result.stderr
    return result.json


def groups(document: dict, region: str) -> dict[str, int]:
    found = next(candidate for candidate in document["regions"] if candidate["name"] == region)
    return {group["name"]: group["size_bytes"] for group in found["groups"]}


def assert_adds_up(document: dict, elf, board) -> None:
    uses, _ = region_use(read_image(elf), load_board(board).regions)
    assert [region["used_bytes"] for region in document["regions"]] == [use.used_bytes for use in uses]
    for region in document["regions"]:
        sizes = {group["name"]: group["size_bytes"] for group in region["groups"]}
        assert sum(sizes.values()) == region["total_bytes"] == max(region["length_bytes"], region["used_bytes"])
        assert sum(sizes.values()) - sizes.get("free", 0) == region["used_bytes"]
        for group in region["groups"]:
            assert sum(item["size_bytes"] for item in group["items"]) == group["size_bytes"]
            assert all(item["size_bytes"] > 0 for item in group["items"])


@pytest.fixture(scope="module")
def digits(tmp_path_factory):
    """(ELF, plan, counts) of the digits model for the STM32F7."""
    folder = tmp_path_factory.mktemp("digits")
    numpy.savez(folder / "io.npz", x=numpy.zeros((1, 1, 1, 8, 8), numpy.int8))
    verified = aidge_build("verify", DIGITS, "--board", "stm32f7", "--io-data", folder / "io.npz", "--keep", folder)
    assert verified.exit_code == 0, verified.stderr
    elf = next(folder.glob("*.elf"))
    ran = aidge_build("run", elf, "--board", "stm32f7", "--folder", folder, "--json")
    (folder / "run.json").write_text(ran.stdout)
    return elf, next(folder.glob("*.plan.json")), folder / "run.json"


@pytest.mark.parametrize("flags", [(), ("-O0",), ("-Os", "-flto")], ids=["O2", "O0", "lto"])
@pytest.mark.parametrize("board", ["stm32f7", "microbit", "mps3-an547"])
def test_every_level_adds_up_and_equals_the_linkers_figures(tmp_path, board, flags):
    code = model(load_board(board).arena_regions[0].name).replace(
        "int main(void) {", "int initialised[30] = {1};\nint main(void) { twice(); initialised[1]++;"
    )
    elf = build(board, TWO_DOUBLES + code, tmp_path, flags=flags)
    document = report(elf, board)
    assert_adds_up(document, elf, board)
    assert groups(document, load_board(board).arena_regions[0].name)["arena"] == 512
    constants = groups(document, load_board(board).region("constants").name)
    assert constants["weights"] == 64 or "-flto" in flags
    if board != "mps3-an547":  # it has double arithmetic
        assert groups(document, load_board(board).region("code").name)["libc/libgcc"] > 100


def test_a_generated_model_adds_up_and_shows_its_layers(digits):
    elf, plan, counts = digits
    document = report(elf, "stm32f7", "--plan", plan, "--counts", counts)
    assert_adds_up(document, elf, "stm32f7")
    (found,) = document["models"]
    planned = json.loads(plan.read_text())
    assert [layer["symbol"] for layer in found["layers"]] == [layer["symbol"] for layer in planned["layers"]]
    assert sum(layer["macs"] for layer in found["layers"]) == planned["macs"]
    assert max(layer["live_bytes"] for layer in found["layers"]) == planned["peak_bytes"]
    weights = sum(layer["weights_bytes"] for layer in found["layers"]) + found["other_weights_bytes"]
    assert weights == groups(document, "FLASH")["weights"]
    assert all(layer["instructions"] > 0 for layer in found["layers"])
    assert len(found["buffers"]) == len(planned["buffers"])


EVERYWHERE = tuple(itertools.product(EXAMPLES, [name for name in EMULATED if name != "host"], ("-O0", "-O2", "-Os -flto")))
CASES = (
    EVERYWHERE
    if os.environ.get("AIDGE_STRESS")
    else [(example, board, flags) for example in EXAMPLES for board, flags in (("stm32f7", "-Os -flto"), ("mps3-an547", "-O0"))]
)


@pytest.mark.parametrize("example, name, flags", CASES, ids=lambda value: value.replace(" ", ""))
def test_the_report_of_an_example_adds_up_with_plan_and_counts(tmp_path, example, name, flags):
    elf = build_example(example, load_board(name), tmp_path, flags=tuple(flags.split()))
    plans = [word for plan in sorted(tmp_path.glob("*.plan.json")) for word in ("--plan", plan)]
    few = ("--inferences", 20)  # of 450
    ran = aidge_build("run", elf, "--board", name, "--folder", tmp_path, *few, "--out", tmp_path / "run.json", "--json")
    assert ran.exit_code == 0, ran.stdout
    document = report(elf, name, *plans, "--counts", tmp_path / "run.json")
    assert_adds_up(document, elf, name)
    assert not [
        item["name"]
        for region in document["regions"]
        for group in region["groups"]
        if group["name"] == "other"
        for item in group["items"]
        if item["section"] == ".text" and "without a name" in item["name"]
    ]
    sizes = {}
    for region in document["regions"]:
        for group in region["groups"]:
            sizes[group["name"]] = sizes.get(group["name"], 0) + group["size_bytes"]
    (found,) = document["models"]
    columns = {
        key: sum(row[key] or 0 for row in table_rows(found))
        for key in ("code_bytes", "weights_bytes", "instructions", "cycles_estimated")
    }
    assert columns["code_bytes"] == sizes["layer code"] + sizes.get("kernels", 0) and columns["weights_bytes"] == sizes["weights"]
    assert all((row[key] or 0) >= 0 for row in table_rows(found) for key in columns)
    if found["runs"]:  # link-time optimisation may have inlined the run function
        assert columns["instructions"] == pytest.approx(ran.json["run_instructions"] / found["runs"], abs=len(found["layers"]))
        assert columns["cycles_estimated"] == pytest.approx(
            (ran.json["run_cycles_estimated"] or 0) / found["runs"], abs=len(found["layers"])
        )


def test_several_names_of_the_same_bytes_count_once(tmp_path):
    code = '__attribute__((noinline, noclone)) int one(int x) { return x * 3; }\nint two(int x) __attribute__((alias("one")));\n'
    elf = build(
        "stm32f7", code + model("DTCM").replace("int main(void) {", "volatile int n;\nint main(void) { n = two(n);"), tmp_path
    )
    document = report(elf, "stm32f7")
    assert_adds_up(document, elf, "stm32f7")
    items = [item for region in document["regions"] for group in region["groups"] for item in group["items"]]
    assert [item["aliases"] for item in items if item["name"] == "one"] == [["two"]]


def test_an_overfull_memory_has_no_free_row(tmp_path):
    elf = build("stm32f7", model("DTCM"), tmp_path)
    result = aidge_build(
        "report", elf, "--region", "FLASH=0x08000000,256,flash", "--region", "RAM=0x20000000,0x50000,ram", "--json"
    )
    flash = result.json["regions"][0]
    assert flash["total_bytes"] == flash["used_bytes"] > 256
    assert "free" not in [group["name"] for group in flash["groups"]]


def test_the_tree_prints_sums_that_add_up(digits):
    printed = aidge_build("report", digits[0], "--board", "stm32f7", "--items", 2).stdout
    flash = printed.split("\nDTCM")[0].splitlines()
    sizes = [(len(line) - len(line.lstrip()), int(re.search(r" ([\d,]+)(?: +of|$)", line)[1].replace(",", ""))) for line in flash]
    assert sum(size for indent, size in sizes if indent == 2) == 1_048_576
    weights = [line.split()[0] for line in flash].index("weights")
    assert sum(size for indent, size in sizes[weights + 1 : weights + 4] if indent == 4) == sizes[weights][1]


def test_what_the_kernels_order_of_the_weights_costs_is_printed(digits):
    elf, plan, _ = digits
    printed = aidge_build("report", elf, "--board", "stm32f7", "--plan", plan).stdout
    own, order = re.search(r"\nweights: ([\d,]+) B in the model, and \+([\d,]+) B for the order", printed).groups()
    planned = json.loads(plan.read_text())
    assert int(own.replace(",", "")) == planned["model_constants_bytes"]
    assert int(own.replace(",", "")) + int(order.replace(",", "")) == planned["weights_bytes"]


def test_the_page_is_well_formed_escaped_and_needs_no_network(digits, tmp_path):
    elf, plan, counts = digits
    changed = json.loads(plan.read_text())
    changed["layers"][0]["name"] = "<script>alert('x')</script>"
    (tmp_path / "plan.json").write_text(json.dumps(changed))
    report(elf, "stm32f7", "--plan", tmp_path / "plan.json", "--counts", counts, "--html", tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "<script" not in page and "http" not in page and "&lt;script&gt;" in page
    drawings = re.findall(r"<svg.*?</svg>", page, re.DOTALL)
    assert len(drawings) >= 4
    for drawing in drawings:
        root = xml.etree.ElementTree.fromstring(drawing)
        width, height = map(float, root.get("viewBox").split()[2:])
        boxes = [[float(box.get(key)) for key in ("x", "y", "width", "height")] for box in root.iter("rect")]
        assert boxes and all(x >= 0 and y >= 0 and x + w <= width + 1 and y + h <= height + 1 for x, y, w, h in boxes)


def test_a_page_without_a_bound_says_why(tmp_path):
    code = model("DTCM").replace(
        "int main(void) {", "int one(void) { return 1; } int (*volatile f)(void) = one;\nint main(void) { f();"
    )
    report(build("stm32f7", code, tmp_path), "stm32f7", "--html", tmp_path / "report.html")
    assert "Stack: no bound, because of an indirect call at main" in (tmp_path / "report.html").read_text()


def test_a_bound_without_a_reserve_is_a_number_alone(digits):
    document = aidge_build("report", digits[0], "--board", "stm32f7", "--json").json
    assert re.search(r"Stack: at most [0-9,]+ of [0-9,]+\.", render_page(document, "app"))
    assert re.search(r"Stack: at most [0-9,]+\.", render_page({**document, "stack_reserved_bytes": None}, "app"))


def test_the_page_opens_in_a_browser(digits, tmp_path):
    report(digits[0], "stm32f7", "--plan", digits[1], "--html", tmp_path / "report.html")
    options = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        f"--user-data-dir={tmp_path / 'profile'}",
    ]
    done = subprocess.run(
        [browser(), *options, "--dump-dom", (tmp_path / "report.html").as_uri()], capture_output=True, text=True, timeout=120
    )
    assert done.stdout.count("<svg") == (tmp_path / "report.html").read_text().count("<svg") >= 4
    assert "digits" in done.stdout or "model" in done.stdout


def test_two_reports_are_compared_flash_and_ram_apart(tmp_path):
    old = build("stm32f7", model("DTCM"), tmp_path, name="old")
    more = model("DTCM", arena_bytes=640).replace("int main(void) {", "int extra[100] = {1};\nint main(void) { extra[1]++;")
    new = build("stm32f7", more, tmp_path, name="new")
    (tmp_path / "old.json").write_text(json.dumps(report(old, "stm32f7")))
    lines = aidge_build("report", new, "--board", "stm32f7", "--diff", tmp_path / "old.json").stdout.splitlines()
    rows = {cells[1]: cells[-2] for cells in ([cell.strip() for cell in line.split("|")] for line in lines) if len(cells) > 4}
    assert rows["**RAM**"] == "+528" and rows["DTCM"] == "+128" and rows["SRAM1"] == "+400"
    assert "ITCM" not in rows and "SRAM2" not in rows  # nothing is in them
    assert rows["`kws_arena` (arena)"] == "+128" and rows["`extra` (other)"] == "+400"
    assert int(rows["**Flash**"]) >= 400 and rows["`extra (initial value)` (other)"] == "+400"
    same = aidge_build("report", old, "--board", "stm32f7", "--diff", tmp_path / "old.json").stdout
    assert "| **Flash** |" in same and "`" not in same


def test_instructions_are_compared_where_both_reports_have_them(digits, tmp_path):
    elf, plan, counts = digits
    new = report(elf, "stm32f7", "--plan", plan, "--counts", counts)
    old = json.loads(json.dumps(new))
    (found,) = old["models"]
    total = sum(layer["instructions"] for layer in found["layers"]) + found["other_instructions"]
    found["layers"][1]["instructions"] += 1000
    found["other_instructions"] -= 7
    (tmp_path / "old.json").write_text(json.dumps(old))
    words = ("report", elf, "--board", "stm32f7", "--plan", plan, "--diff", tmp_path / "old.json")
    lines = aidge_build(*words, "--counts", counts).stdout.splitlines()
    name, symbol = found["model"], found["layers"][1]["symbol"]
    assert f"| instructions of `{name}` | {total + 993:,} | {total:,} | -993 |" in lines
    changed = lines[lines.index(f"| Instructions of `{name}` | before | after | change |") + 2 :]
    assert len(changed) == 2 and changed[0].startswith(f"| `{symbol}` ({name}) | ") and changed[0].endswith("| -1,000 |")
    assert changed[1].startswith("| `around the layers` | ") and changed[1].endswith("| +7 |")
    assert "nstructions" not in aidge_build(*words).stdout  # nobody counted the new one


def test_what_is_no_report_or_has_no_memories_is_refused(tmp_path):
    elf = build("stm32f7", model("DTCM"), tmp_path)
    (tmp_path / "other.json").write_text("{}")
    for words in (
        ["--board", "stm32f7", "--diff", tmp_path / "other.json"],
        ["--board", "stm32f7", "--plan", tmp_path / "none.json"],
        [],
    ):
        result = aidge_build("report", elf, *words)
        assert (
            result.exit_code == EXIT_BAD_INPUT
            and result.stderr.count("\n") == 1
            and "Hint" in result.stderr
            or "cannot read" in result.stderr
        )


def test_layers_that_are_not_linked_have_no_code_size(tmp_path):
    elf = build("stm32f7", model("DTCM", claim={"layers": [*CLAIM["layers"], "kws_gone"]}), tmp_path)
    assert [layer["code_bytes"] is None for layer in report(elf, "stm32f7")["models"][0]["layers"]] == [False, False, True]


@pytest.mark.parametrize("sizes", [[1], [100, 50, 50, 20, 3, 1], [10**6, 1], [5] * 40])
def test_the_areas_of_a_treemap_are_in_proportion_and_do_not_overlap(sizes):
    area = Rectangle(10.0, 20.0, 600.0, 400.0)
    boxes = squarify(sizes, area)
    for size, box in zip(sizes, boxes, strict=True):
        assert box.width * box.height == pytest.approx(size * 240_000 / sum(sizes))
        assert box.left >= 9.999 and box.top >= 19.999 and box.left + box.width <= 610.001 and box.top + box.height <= 420.001
    for index, one in enumerate(boxes):
        for two in boxes[index + 1 :]:
            across = min(one.left + one.width, two.left + two.width) - max(one.left, two.left)
            down = min(one.top + one.height, two.top + two.height) - max(one.top, two.top)
            assert across < 1e-6 or down < 1e-6


def test_the_page_and_the_text_show_the_accuracy(digits, tmp_path):
    figures = tmp_path / "figures.json"
    assert aidge_build("accuracy", DIGITS, "--labels", DIGITS.parent / "test_images.npz", "--out", figures).exit_code == 0
    words = ("report", digits[0], "--board", "stm32f7", "--accuracy", figures, "--html", tmp_path / "report.html")
    text, page = aidge_build(*words).stdout, (tmp_path / "report.html").read_text()
    for shown in (text, page):
        assert "top-1 98.9 % (445 of 450; 95 % interval 97.4 to 99.5 %)" in shown
    cells = re.findall(r"<td class=.number. style=.background:color-mix[^>]*>([0-9]*)</td>", page)
    assert len(cells) == 100 and sum(int(cell or 0) for cell in cells) == 450
    json.dump({**json.loads(figures.read_text()), "model": "<script>"}, figures.open("w"))
    aidge_build(*words)
    assert "<script>" not in (tmp_path / "report.html").read_text()


def test_the_page_shows_the_layers_beside_the_float_model(digits, tmp_path):
    layer = {"node": "<n>", "tensor": "t", "original": "o", "sqnr_db": 20.5, "own_sqnr_db": None}
    histogram = {"low": -1.0, "high": 1.0, "firmware": [2, 0], "float": [1, 1]}
    found = {"float_model": "f.onnx", "layers": [layer], "departs": None, "shown": "t", "histogram": histogram}
    path, page = tmp_path / "verify.json", tmp_path / "report.html"
    path.write_text(json.dumps({"beside_float": found}))
    report(digits[0], "stm32f7", "--layers", path, "--html", page)
    assert "exact / 20.5" in page.read_text() and "<n>" not in page.read_text()
    for wrong in ({**found, "histogram": {**histogram, "float": [1]}}, {**found, "layers": [{}]}):
        path.write_text(json.dumps({"beside_float": wrong}))
        done = aidge_build("report", digits[0], "--board", "stm32f7", "--layers", path)
        assert done.exit_code == EXIT_BAD_INPUT and done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "change", [{"stages": []}, {"task": 1}, {"limits": [{"name": "x"}]}, {"stages": [{"name": "m", "where": "h", "top1": {}}]}]
)
def test_figures_that_are_none_are_refused(digits, tmp_path, change):
    figures = {"model": "m", "task": "classes", "output": "y", "samples": 1, "calibration_samples": None, "limits": []}
    stage = {"name": "m", "where": "h", "top1": None, "confusion": [], "auc": None, "errors": {}, "mean_deviation": {}}
    given = {**figures, "stages": [stage], **change}
    given["stages"] = [{**stage, **one} for one in given["stages"]]
    (tmp_path / "figures.json").write_text(json.dumps(given))
    done = aidge_build("report", digits[0], "--board", "stm32f7", "--accuracy", tmp_path / "figures.json")
    assert done.exit_code == EXIT_BAD_INPUT and done.stderr.count("\n") == 1
