# SPDX-License-Identifier: MIT
"""Makes the tables with which `aidge_build.plan.prediction` predicts instructions, and judges them.

    python -m tools.prediction tables BOARD [--parts NAME...] [--first COUNT] [--functions WORD...]
    python -m tools.prediction judge BOARD [--optimize speed] [--memory-model cascade] MODEL...
    python -m tools.prediction unseen FOLDER
    python -m tools.prediction keep TARGET.json BOARD FIRST COUNT
    python -m tools.prediction networks MODEL... --float MODEL... [--features FEATURES...]

`tables` builds the random networks of the board (corpora.py), runs each on the emulated core, fits, and writes
kernels/<library>/predicted/<features of the board's core>.toml; with `--parts` only these networks, with `--first` only so
many of each part, with `--functions` only functions whose names hold one of the words, and all others stay as they are.
`judge` prints the prediction of models beside what is measured: nothing is fitted to them. `unseen` writes eight networks that no
table was fitted to. `keep` stores some layers of networks of other seeds as vectors for tests/prediction. `networks` writes
boards/networks, cycles of instructions on each core and behind each flash, from the first `--first` seeds of each part, the
models and the unseen networks; errors are those of the models and the unseen networks, each predicted from the others. What the
emulator counted is kept in `--kept` FOLDER, by the content of the generated C.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from time import monotonic

from aidge_build.base.installed import board_folder, kernel_folder
from aidge_build.boards import load_board
from aidge_build.plan.prediction.networks import FOLDER as NETWORKS
from aidge_build.plan.prediction.quantities import family_of
from aidge_build.plan.prediction.table import FOLDER as PREDICTED
from tools.prediction.corpora import CORPORA, FOLDER, Part
from tools.prediction.cycles import REFERENCES, groups, networks_of
from tools.prediction.fit import by_family
from tools.prediction.graph import Graph
from tools.prediction.judge import judged
from tools.prediction.keep import write_kept
from tools.prediction.learn import write_networks
from tools.prediction.measure import Measuring, layers_of_parts
from tools.prediction.tables import merged, tables
from tools.prediction.unseen import UNSEEN

KEPT = Path("build") / "predicted"


def main(words: list[str]) -> int:
    """Measures, fits or judges; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.prediction", description=__doc__.splitlines()[0])
    verbs = parser.add_subparsers(required=True, metavar="VERB")
    asked = {name: verbs.add_parser(name) for name in ("tables", "judge", "unseen", "keep", "networks")}
    asked["keep"].add_argument("target", type=Path)
    for verb in (asked["tables"], asked["judge"], asked["keep"]):
        verb.add_argument("board", choices=sorted(CORPORA))
        verb.add_argument("--kept", type=Path, default=KEPT)
    asked["tables"].add_argument("--parts", nargs="+", default=[])
    asked["tables"].add_argument("--functions", nargs="+", default=[""])
    asked["tables"].add_argument("--first", type=int, metavar="COUNT")
    asked["judge"].add_argument("models", nargs="+", type=Path)
    asked["judge"].add_argument("--optimize", default="balanced")
    asked["judge"].add_argument("--memory-model", default="")
    asked["unseen"].add_argument("folder", type=Path)
    asked["networks"].add_argument("models", nargs="+", type=Path)
    asked["networks"].add_argument("--float", nargs="+", type=Path, default=[])
    asked["networks"].add_argument("--features", nargs="+", choices=sorted(REFERENCES), default=sorted(REFERENCES))
    asked["networks"].add_argument("--first", type=int, metavar="COUNT", default=16)
    asked["networks"].add_argument("--kept", type=Path, default=KEPT)
    asked["keep"].add_argument("first", type=int)
    asked["keep"].add_argument("count", type=int)
    for name, verb in (
        ("tables", write_tables),
        ("judge", judge),
        ("unseen", write_unseen),
        ("keep", keep),
        ("networks", networks),
    ):
        asked[name].set_defaults(run=verb)
    arguments = parser.parse_args(words)
    arguments.run(arguments)
    return 0


def write_tables(asked: argparse.Namespace) -> None:
    """Writes a table for each library that the layers are of."""
    begun, features = monotonic(), load_board(asked.board, [FOLDER]).features
    parts = [part for part in CORPORA[asked.board] if not asked.parts or part.name in asked.parts]
    parts = [replace(part, seeds=part.seeds[: asked.first]) for part in parts]
    rows = layers_of_parts(parts, Measuring(asked.board, asked.kept))
    wanted = [row for row in rows if any(word in family_of(row.described) for word in asked.functions)]
    for library, own in by_family(wanted, lambda described: described.library).items():
        path = kernel_folder() / library / PREDICTED / f"{'-'.join(sorted(features))}.toml"
        path.parent.mkdir(exist_ok=True)
        text = tables(own, features, asked.board)[library]
        partly = asked.parts or asked.functions != [""]
        text = merged(path.read_text(), text) if partly and path.exists() else text
        entries = text.count("[[cost]]")
        print(f"{library}: {entries} entries")
        if entries:
            path.write_text(text)
        else:  # of so few layers that nothing is fitted
            path.unlink(missing_ok=True)
    print(f"{len(rows)} layers, {monotonic() - begun:.0f} s")


def judge(asked: argparse.Namespace) -> None:
    """Prints a line for each model."""
    words = tuple(word for pair in zip(("--memory-model",), (asked.memory_model,)) if pair[1] for word in pair)
    for model in asked.models:
        print(judged(model, Measuring(asked.board, asked.kept, asked.optimize, words)), flush=True)


def write_unseen(asked: argparse.Namespace) -> None:
    """Writes the networks as NAME.onnx."""
    asked.folder.mkdir(parents=True, exist_ok=True)
    for build in UNSEEN:
        graph = Graph(0, True)
        build(graph)
        (asked.folder / f"{build.__name__}.onnx").write_bytes(graph.model().SerializeToString())


def networks(asked: argparse.Namespace) -> None:
    """Writes a file for each core, and judges by the models and the unseen networks."""
    with tempfile.TemporaryDirectory() as folder:
        write_unseen(argparse.Namespace(folder=Path(folder)))
        models = [*asked.models, *sorted(Path(folder).glob("*.onnx"))]
        found = {
            group: networks_of(group, [*models, *(asked.float if "fpu" in group[0] else ())], asked.first, asked.kept)
            for group in groups()
            if group[0] in asked.features
        }
    judged = {model.stem for model in (*models, *asked.float)}
    write_networks(board_folder() / NETWORKS, found, judged)


def keep(asked: argparse.Namespace) -> None:
    """Writes the vectors."""
    part = Part("kept", range(asked.first, asked.first + asked.count))
    rows = layers_of_parts([part], Measuring(asked.board, asked.kept))
    write_kept(asked.target, load_board(asked.board, [FOLDER]).features, rows)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
