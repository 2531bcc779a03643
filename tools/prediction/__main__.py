# SPDX-License-Identifier: MIT
"""Makes the tables with which `aidge_build.prediction` predicts instructions.

    python -m tools.prediction measure FILE.jsonl BOARD int8|float32 FIRST COUNT [rare] [alternatives]
    python -m tools.prediction models FILE.jsonl BOARD MODEL...
    python -m tools.prediction fit BOARD FILE.jsonl...
    python -m tools.prediction keep TARGET.json BOARD FILE.jsonl...

`measure` builds the random networks of COUNT seeds from FIRST on, runs each on the emulated board, and appends a line for each
of their layers; with `alternatives` for every kernel that accepts a layer. `models` does so for model files (to judge by; nothing
is fitted to them). `fit` writes kernels/<library>/predicted/<features of the board's core>.toml from such files. `keep` stores
some layers of networks that were not fitted (other seeds) as vectors for tests/prediction.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from aidge_build.boards import load_board
from aidge_build.installed import kernel_folder
from aidge_build.prediction.table import FOLDER
from tools.prediction.keep import write_kept
from tools.prediction.measure import measure_networks, read_rows, write_rows
from tools.prediction.tables import tables


def main(words: list[str]) -> int:
    """Measures or fits; the exit code."""
    verb, *names = words
    if verb == "fit":
        board, *files = names
        fit(board, [row for name in files for row in read_rows(Path(name))])
    elif verb == "keep":
        target, board, *files = names
        write_kept(Path(target), load_board(board).features, [row for name in files for row in read_rows(Path(name))])
    elif verb == "measure":
        target, board, data, first, count, *kind = names
        rare = "rare" if "rare" in kind else ""
        measure_networks(Path(target), board, int(first), int(count), data == "int8", rare, "alternatives" in kind)
    else:
        target, board, *models = names
        write_rows(Path(target), board, [Path(model) for model in models])
    return 0


def fit(board: str, rows: list) -> None:
    """Writes a table for each library that the rows are of."""
    features = load_board(board).features
    for library, text in tables(rows, features, board).items():
        folder = kernel_folder() / library / FOLDER
        folder.mkdir(exist_ok=True)
        (folder / f"{'-'.join(sorted(features))}.toml").write_text(text)
        print(json.dumps({"library": library, "functions": text.count("[[cost]]")}))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
