# SPDX-License-Identifier: MIT
"""The figures as one HTML file that needs nothing else: per core a bar for each model, per model a bar for each layer."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files

from aidge_build.base.render import escaped, render
from aidge_build.boards.cores import find_core
from aidge_build.measure.bench.figures import ANY, Figures, LayerFigures
from aidge_build.measure.bench.peers import Peers
from aidge_build.prove.calibrations import validation_of

_TITLES = {"int8": "int8", "float": "float32", ANY: "models"}
_COLOURS = 5  # of libraries, in the style sheet


def render_page(figures: Sequence[Figures], peers: Peers, compiler: str) -> str:
    """The page; every text that comes from a model or a library is escaped."""
    libraries = sorted({layer.library for entry in figures for layer in entry.layers})
    colours = {name: index % _COLOURS for index, name in enumerate(libraries)}
    boards = list(dict.fromkeys(entry.board for entry in figures))
    return render(
        files(__package__).joinpath("page.html.j2").read_text(),
        compiler=escaped(compiler),
        libraries=[{"name": escaped(name), "colour": colour} for name, colour in colours.items()],
        cores=[_core([entry for entry in figures if entry.board == board], peers, colours) for board in boards],
    )


def _core(figures: Sequence[Figures], peers: Peers, colours: dict[str, int]) -> dict:
    said = validation_of(find_core(figures[0].cpu.partition("+")[0]))
    groups = [(title, [entry for entry in figures if entry.data == data]) for data, title in _TITLES.items()]
    return {
        "cpu": escaped(f"{figures[0].core.replace('cortex-m', 'Cortex-M')}, {figures[0].board}"),
        "cycles": escaped(said or "not estimated: no numbers for this core"),
        "groups": [
            {
                "title": title,
                "overview": _overview(chosen, peers),
                "is_compared": any(peers.instruction_ratio(entry) for entry in chosen),
                "models": [_model(entry, peers, colours) for entry in chosen],
            }
            for title, chosen in groups
            if chosen
        ],
    }


def _overview(figures: Sequence[Figures], peers: Peers) -> list[dict]:
    """Ours and the other's bar of each model: the longer one fills the row, as models differ by a factor of fifty."""
    rows = []
    for entry in figures:
        ratio = peers.instruction_ratio(entry)
        longest = max(1.0, ratio or 1.0)
        rows.append(
            {
                "name": escaped(entry.model),
                "instructions": _number(entry.instructions),
                "per_mac": f"{entry.per_mac:.2f}",
                "ours": f"{100 / longest:.2f}",
                "other": f"{100 * ratio / longest:.2f}" if ratio else "",
                "ratio": f"{ratio:.2f}" if ratio else "",
                "other_name": "CMSIS-NN" if entry.data == "int8" else "onnx2c",
                "other_number": _number(round(ratio * entry.instructions)) if ratio else "",
            }
        )
    return rows


def _model(entry: Figures, peers: Peers, colours: dict[str, int]) -> dict:
    most = max((layer.instructions for layer in entry.layers), default=1) or 1
    most_per_mac = max((layer.per_mac or 0.0 for layer in entry.layers), default=0.0) or 1.0
    return {
        "name": escaped(entry.model),
        "data": _TITLES[entry.data],
        "facts": _facts(entry, peers),
        "layers": [_layer(index, layer, entry, colours, most, most_per_mac) for index, layer in enumerate(entry.layers, 1)],
    }


def _facts(entry: Figures, peers: Peers) -> list[dict]:
    """Returns the facts above the layers: name, number, the other system's number."""
    found = [
        ("estimated ms", entry.milliseconds, None),
        ("estimated cycles", entry.cycles, peers.published_cycles(entry)),
        ("instructions", entry.instructions, peers.counted("instructions", entry)),
        ("MACs executed", entry.macs_executed, entry.macs if entry.macs != entry.macs_executed else None),
        ("arena as linked", entry.arena_bytes, peers.counted("arena_bytes", entry)),
        ("with inputs, outputs", entry.linked_bytes, None),
        ("peak RAM", entry.peak_bytes, None),
        ("stack bound", entry.stack_bytes, None),
        ("code", entry.code_bytes, None),
        ("weights", entry.weights_bytes, None),
        ("whole image", entry.flash_bytes, peers.counted("flash_bytes_total", entry)),
        ("start-up", entry.start_up_instructions, peers.counted("start_up_instructions", entry)),
    ]
    return [
        {"name": name, "number": _number(number), "other": _number(other) if other is not None else ""}
        for name, number, other in found
        if number is not None
    ]


def _layer(index: int, layer: LayerFigures, entry: Figures, colours: dict[str, int], most: int, most_per_mac: float) -> dict:
    return {
        "index": index,
        "name": escaped(layer.name),
        "operator": escaped(layer.operator),
        "kernel": escaped(layer.kernel),
        "library": escaped(layer.library),
        "colour": colours[layer.library],
        "instructions": _number(layer.instructions),
        "width": f"{100 * layer.instructions / most:.2f}",
        "share": f"{100 * layer.instructions / max(1, entry.instructions):.1f}",
        "macs": _number(layer.macs),
        "per_mac": f"{layer.per_mac:.2f}" if layer.macs else "",
        "per_mac_width": f"{100 * (layer.per_mac or 0.0) / most_per_mac:.2f}",
        "block": escaped(layer.facts.get("block", "")),
        "epilogue": escaped(layer.facts.get("epilogue", "")),
    }


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.2f}" if isinstance(value, float) else f"{value:,}"
