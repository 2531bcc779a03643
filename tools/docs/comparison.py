# SPDX-License-Identifier: MIT
"""The page that compares aidge_build with other tools. Facts about other tools come from `comparison.toml` and `peers.toml`, each
with its source and date; figures of aidge_build come from the files that its measurements and tests write."""

from __future__ import annotations

import dataclasses
import json
import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from aidge_build.boards.cores import find_core
from aidge_build.prove.calibrations import known_calibrations, stated_error
from aidge_build.prove.timing.deviation import deviation_of, measured_deviation
from tools.docs.markdown import cell
from tools.docs.results import megahertz, millions_between, three_digits

ROOT = Path(__file__).resolve().parents[2]
OURS = "aidge_build"
KINDS = {"measured": "measured on a board", "vendor": "vendor's figure", "estimate": "estimated"}
MODELS = {
    "ic_resnet8": "image classification, ResNet8",
    "kws_dscnn": "keyword spotting, DS-CNN",
    "vww_mobilenet025": "visual wake words, MobileNetV1-0.25",
    "ad_toycar": "anomaly detection",
    "sww_dscnn1d": "streaming wake word",
}
WORDS = {"y": "yes", "p": "in part", "n": "no", "?": "?"}
INTRODUCTION = """\
# Comparison with other tools

`tools/docs/comparison.py` writes this page. `tools/docs/comparison.toml` and `tools/docs/peers.toml` hold the facts about
other tools, each with its source and date. Figures of aidge_build are read from the files that its tests
and measurements write. If a fact is wrong, please report it with a source.

## Other tools are ahead

| subject | other tools | aidge_build | source | date |
|---|---|---|---|---|
"""
ABOUT_TIME = """\
Time at the clock of the board, and millions of cycles (M); int8. Compare figures inside one column only: a measured figure
holds everything that the chip does. An estimate holds the core and, on a board with a clock, the stalls of its flash. Brackets
hold the estimate with the stated error of the core, if a chip was measured with such code; stalls have no stated error. The
estimates of aidge_build are for the default build, where no option is named.
{cortex_m4}
Instructions, RAM and flash of TensorFlow Lite Micro with CMSIS-NN, counted in the same way: [benchmarks.md](benchmarks.md).
"""
ABOUT_BOUNDS = """\
No board ran code of aidge_build. Measured results of other tools contain wait states of flash and other kernels, so they bound
the estimates without wait states from above: a higher estimate would be wrong, or of slower code. Millions of cycles, beside the
fastest result, in the default build. With the stalls of the same board, too, each estimate is below the result of X-CUBE-AI.
"""
STALLS = {"cortex-m4": "stm32l4r5", "cortex-m33": "stm32u575"}  # boards here that others measured
BOUNDED = ("cortex-m4", "cortex-m7", "cortex-m33", "cortex-m85")  # the one tool on a Cortex-M0+ has other layers in one model
_PER_UNIT = {"cycles": 1e-6, "M cycles": 1.0}  # millions


@dataclass(frozen=True)
class Figure:
    """Cycles of one inference in millions, who computes it on which core, and where that was read; `kind` is a key of KINDS;
    `between` are the ends of an estimate of ours with its stated error."""

    model: str
    tool: str
    core: str
    millions: float
    kind: str
    source: str
    date: str
    board: str = ""
    note: str = ""
    between: tuple[float, ...] = ()

    @property
    def shown(self) -> str:
        """Time at the clock of the board where it is known, cycles, and who computes it."""
        clock = megahertz(self.board)
        unit, per_million = ("ms", 1e3 / clock) if clock else ("M", 1.0)
        ends = " to ".join(three_digits(end * per_million) for end in self.between)
        first = f"{three_digits(self.millions * per_million)} {unit}{f' ({ends})' if ends else ''}"
        cycles = f" at {clock:g} MHz, {three_digits(self.millions)} M" if clock else ""
        where = f" on {self.board.partition(' ')[0]}" if clock else ", without wait states"
        return f"{first}{cycles} ({self.tool}{where if self.is_own else ''}{', *' if self.note else ''})"

    @property
    def is_own(self) -> bool:
        """Whether this project computes it."""
        return self.tool.startswith(OURS)


def read(name: str) -> dict:
    """A file of pinned data, beside this one."""
    return tomllib.loads((Path(__file__).parent / name).read_text(encoding="utf-8"))


def pinned_figures() -> list[Figure]:
    """The cycles of both files, in their order; other quantities are for other pages."""
    entries = [entry for name in ("peers.toml", "comparison.toml") for entry in read(name).get("figure", ())]
    return [
        Figure(
            *(entry[key] for key in ("model", "tool", "core")),
            entry["value"] * _PER_UNIT[entry["unit"]],
            *(entry[key] for key in ("kind", "source", "date")),
            entry.get("board", ""),
            entry.get("note", ""),
            millions_between(_with_error(entry)) if entry["tool"].startswith(OURS) else (),
        )
        for entry in entries
        if entry["quantity"] == "cycles"
    ]


def _with_error(entry: dict) -> dict:
    """A pinned estimate of ours with the keys of docs/benchmarks.json."""
    core = find_core(entry["core"])
    error = measured_deviation(core, core.features)
    return {
        "cycles": entry["value"],
        "stall_cycles": entry.get("stalls", 0),
        "cycles_error": dataclasses.asdict(error) if error else None,
    }


def recorded() -> list[dict]:
    """The rows of docs/benchmarks.json."""
    return json.loads((ROOT / "docs" / "benchmarks.json").read_text(encoding="utf-8"))["results"]


def own_figures() -> list[Figure]:
    """The estimates of docs/benchmarks.json: int8, cores with an FPU where there are both."""
    return [
        Figure(
            *(row["model"], OURS, row["cpu"], row["cycles"] / 1e6, "estimate", "docs/benchmarks.json", "this version"),
            f"{row['board']} at {row['clock_hz'] / 1e6:g} MHz" if row["clock_hz"] else f"{row['board']}, emulated",
            between=millions_between(row),
        )
        for row in recorded()
        if row["data"] == "int8" and row["cycles"] and not row["board"].endswith("-nofpu")
    ]


def own_words(figures: Sequence[Figure]) -> dict[str, str]:
    """The values of the words in {} of comparison.toml."""
    text = {name: (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8") for name in ("kit", "conformance")}
    passed, every = _numbers(r"([\d,]+) of ([\d,]+) node tests run", text["kit"])
    mcu, mcu_passed = _numbers(r"\*\*(\d+) cases: (\d+) pass", text["conformance"])

    def cycles(model: str, tool: str, board: str) -> str:
        (found,) = (each for each in figures if (each.model, each.tool) == (model, tool) and each.board.startswith(board))
        return f"{found.millions:.2f}"

    return {
        "nodes_passed": f"{passed:,}",
        "nodes": f"{every:,}",
        "nodes_percent": f"{100 * passed / every:.0f}",
        "mcu_passed": f"{mcu_passed:,}",
        "mcu": f"{mcu:,}",
        "vww": cycles("vww_mobilenet025", OURS, "stm32u575"),
        "vww_all": cycles("vww_mobilenet025 with all channels", OURS, "stm32u575"),
        "st_vww": cycles("vww_mobilenet025", "X-CUBE-AI 10.2", "NUCLEO-U575ZI"),
        "l4_ad": cycles("ad_toycar", OURS, "stm32l4r5"),
        "plumerai_ad": cycles("ad_toycar", "Plumerai 2023.05", "NUCLEO-L4R5ZI"),
        "boards_measured": str(len(known_calibrations()) or "none"),
    }


def _numbers(pattern: str, text: str) -> list[int]:
    found = re.search(pattern, text, re.DOTALL)
    assert found, f"no page says '{pattern}'"
    return [int(number.replace(",", "")) for number in found.groups()]


def comparison_page() -> Iterator[str]:
    data, figures = read("comparison.toml"), [*pinned_figures(), *own_figures()]
    yield from INTRODUCTION.splitlines()
    words = own_words(figures)
    for row in data["ahead"]:
        texts = (row["subject"], *(row[key].format_map(words) for key in ("others", "us")), row["source"], row["date"])
        yield f"| {' | '.join(map(cell, texts))} |"
    yield from ("", "## Time of one inference", "", *_times(figures))
    yield from ("", "## Measured results above our estimates", "", *_bounds(figures))
    yield from ("", "## Capabilities", "", *_capabilities(data))
    yield from ("", "## Sources of the times", "", *_sources(figures))


def _with_a_clock(figures: Sequence[Figure]) -> list[Figure]:
    """Without own figures of boards that have no clock, where the core has a figure of a board with one."""
    timed = {figure.core for figure in figures if figure.is_own and megahertz(figure.board)}
    return [each for each in figures if not each.is_own or megahertz(each.board) or each.core not in timed]


def _times(figures: Sequence[Figure]) -> Iterator[str]:
    yield from ABOUT_TIME.format(cortex_m4=_error_of_estimates("cortex-m4")).splitlines()
    yield from ("", f"| model | core | {' | '.join(KINDS.values())} |", "|---|---|---|---|---|")
    figures = _with_a_clock(figures)
    places = list(dict.fromkeys((figure.model, figure.core) for figure in figures))
    models = [*MODELS, *(model for model, _ in places if model not in MODELS)]
    for model, core in sorted(places, key=lambda place: (models.index(place[0]), _rank(place[1]))):
        here = [figure for figure in figures if (figure.model, figure.core) == (model, core)]
        columns = ["; ".join(figure.shown for figure in here if figure.kind == kind) or "-" for kind in KINDS]
        yield f"| {cell(_title(model))} | {_core(core)} | {' | '.join(map(cell, columns))} |"
    yield ""
    yield from (f"\\* {note}" for note in dict.fromkeys(figure.note for figure in figures if figure.note))


def bounded_estimates(figures: Sequence[Figure]) -> list[tuple[Figure, Figure]]:
    """(estimate of aidge_build without wait states, fastest measured result of another tool) for the same model and core."""
    found = []
    for own in figures:
        measured = [each for each in figures if (each.model, each.core, each.kind) == (own.model, own.core, "measured")]
        if own.tool == OURS and not megahertz(own.board) and own.core in BOUNDED and measured:
            found.append((own, min(measured, key=lambda figure: figure.millions)))
    return sorted(found, key=lambda pair: (_rank(pair[0].core), list(MODELS).index(pair[0].model)))


def _bounds(figures: Sequence[Figure]) -> Iterator[str]:
    yield from (*ABOUT_BOUNDS.splitlines(), "")
    yield "| core | model | estimated | share of measured | measured | with the stalls of the board |"
    yield "|---|---|---|---|---|---|"
    for own, bound in bounded_estimates(figures):
        board = f"{STALLS.get(own.core)} "
        stalled = [each for each in figures if (each.model, each.tool) == (own.model, OURS) and each.board.startswith(board)]
        shown = f"{stalled[0].millions:#.3g}" if stalled else "-"
        share = f"{100 * own.millions / bound.millions:.0f} %"
        fastest = cell(f"{bound.millions:#.3g} ({bound.tool}{', *' if bound.note else ''})")
        cells = (_core(own.core), MODELS[own.model], f"{own.millions:#.3g}", share, fastest, shown)
        yield f"| {' | '.join(cells)} |"


def _error_of_estimates(core: str) -> str:
    """How far the estimates for a core are from published counts, and what boards said, in two sentences."""
    found = deviation_of(find_core(core))
    lowest, highest, mean = (f"{100 * share:.1f} %" for share in (-found.lowest, found.highest, found.mean))
    compared = f"For a {_core(core)} we compared them with the published counts of {found.counts} other programs"
    boards = stated_error(core, known_calibrations())
    return f"{compared}: {lowest} too low to {highest} too high, {mean} on average.\nNeural networks: {boards}."


def _title(model: str) -> str:
    name, _, rest = model.partition(" ")
    return f"{MODELS[name]} {rest}".rstrip() if name in MODELS else model


def _rank(core: str) -> int:
    """Cores of Arm by their number, all others behind them."""
    number = re.match(r"cortex-m(\d+)", core)
    return int(number[1]) if number else 1000


def _core(name: str) -> str:
    return name.replace("cortex-m0plus", "Cortex-M0+").replace("cortex-m", "Cortex-M")


def _capabilities(data: dict) -> Iterator[str]:
    names = [tool["name"] for tool in data["tool"]]
    yield "`yes` works, `in part` works for some of it, `no` does not, `?` nothing was found or tried."
    yield from ("", f"| capability | aidge_build | {' | '.join(names)} |", f"|---|---|{'---|' * len(names)}")
    for row in data["capability"]:
        us = f"[{WORDS[row['us']]}]({row['page']})" if "page" in row else WORDS[row["us"]]
        cells = [WORDS[word] for _, word in zip(names, row["cells"].split(), strict=True)]
        yield f"| {cell(row['name'])} | {us} | {' | '.join(cells)} |"
    yield from ("", "| tool | what was read or run | date |", "|---|---|---|")
    yield from (f"| {tool['name']} | {cell(tool['read'])} | {tool['date']} |" for tool in data["tool"])


def _sources(figures: Sequence[Figure]) -> Iterator[str]:
    yield from ("| tool | core, board | kind | source | date |", "|---|---|---|---|---|")
    rows = dict.fromkeys(
        (each.tool, f"{_core(each.core)}, {each.board}".rstrip(", "), KINDS[each.kind], each.source, each.date)
        for each in figures
    )
    yield from (f"| {' | '.join(map(cell, row))} |" for row in rows)
