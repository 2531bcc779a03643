# SPDX-License-Identifier: MIT
"""Flash and instructions of five forests, beside the C of emlearn and m2cgen for the same estimators.

`python -m tests.classic.forest_peers make FOLDER` trains them on public data sets and writes models, rows and the others' C; it
needs scikit-learn, skl2onnx, onnxmltools, lightgbm, emlearn and m2cgen in an environment of its own.
`python -m tests.classic.forest_peers measure FOLDER INCLUDE` builds all of it for two boards, counts, and prints the table of
docs/classic.md; INCLUDE is the folder with emlearn's headers.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy

ROWS = 40
SEED = 0
OPSETS = {"": 17, "ai.onnx.ml": 3}
BOARDS = {"mps2-an386": "M4", "rp2040": "M0+"}
FORMS = {"size": "ours, smallest", "balanced": "ours, balanced"}
# The arrays of doubles that m2cgen keeps on the stack want more of it than boards give.
STACK_BYTES = 1 << 16


def forests() -> dict[str, tuple[Any, Any, Any]]:
    """(estimator, features, targets) by name."""
    import lightgbm
    from sklearn import datasets, ensemble

    digits, cancer, wine = (
        load(return_X_y=True) for load in (datasets.load_digits, datasets.load_breast_cancer, datasets.load_wine)
    )
    friedman = datasets.make_friedman1(1500, 10, noise=0.5, random_state=SEED)
    return {
        "random forest, digits": (ensemble.RandomForestClassifier(50, max_depth=8, random_state=SEED), *digits),
        "random forest, cancer": (ensemble.RandomForestClassifier(100, random_state=SEED), *cancer),
        "extra trees, wine": (ensemble.ExtraTreesClassifier(100, random_state=SEED), *wine),
        "random forest, Friedman 1": (ensemble.RandomForestRegressor(20, max_depth=8, random_state=SEED), *friedman),
        "LightGBM, cancer": (lightgbm.LGBMClassifier(n_estimators=60, num_leaves=15, random_state=SEED, verbose=-1), *cancer),
    }


def _model(estimator: Any, rows: numpy.ndarray) -> bytes:
    if "LGBM" in type(estimator).__name__:
        from onnxmltools import convert_lightgbm
        from onnxmltools.convert.common.data_types import FloatTensorType

        types = [("X", FloatTensorType([1, rows.shape[1]]))]
        return convert_lightgbm(estimator, initial_types=types, target_opset=15, zipmap=False).SerializeToString()
    from skl2onnx import to_onnx

    options = {id(estimator): {"zipmap": False}} if hasattr(estimator, "predict_proba") else None
    return to_onnx(estimator, rows[:1], options=options, target_opset=OPSETS).SerializeToString()


def make(folder: Path) -> None:
    """Train, and write what is compared."""
    import emlearn
    import m2cgen

    folder.mkdir(parents=True, exist_ok=True)
    for name, (estimator, x, y) in forests().items():
        rows = x.astype(numpy.float32)
        estimator.fit(rows[ROWS:], y[ROWS:])
        stem = folder / re.sub(r"\W+", "_", name)
        numpy.save(stem.with_suffix(".npy"), rows[:ROWS])
        stem.with_suffix(".onnx").write_bytes(_model(estimator, rows))
        Path(f"{stem}.m2cgen").write_text(m2cgen.export_to_c(estimator))
        try:
            # Of leaves that hold several classes emlearn keeps the largest only, unless it is told to keep 8 bits of each.
            bits = {"leaf_bits": 8} if "digits" in name else {}
            emlearn.convert(estimator, method="inline", dtype="float", **bits).save(file=f"{stem}.emlearn", name="em")
        except ValueError:
            print(f"{name}: emlearn has no C for it")


@dataclass(frozen=True)
class Candidate:
    """C to measure: a text with a function `once(x)`, and sources beside it. `real` is the type of the features that it takes."""

    text: str
    sources: tuple[Path, ...] = ()
    real: str = "float"


def _ours(path: Path, board: Any, folder: Path, objective: str) -> Candidate:
    words = ["--board", board.name, "--optimize", objective, "--out", str(folder), "--name", "net"]
    subprocess.run([sys.executable, "-m", "aidge_build", "compile", str(path), *words], check=True, capture_output=True)
    header = (folder / "net.h").read_text()
    given = re.search(r"\bnet_run\((.*?)\);", header, re.DOTALL)
    assert given is not None
    outputs = [one.split()[0] for one in given[1].split(",")[1:]]
    arrays = "".join(f"static {kind} y{place}[16];\n" for place, kind in enumerate(outputs))
    names = "".join(f", y{place}" for place in range(len(outputs)))
    text = f'#include "net.h"\n{arrays}static void once(const float *x) {{ (void)net_run(x{names}); }}'
    return Candidate(text, (folder / "net.c", folder / "net_weights.c"))


def _emlearn(text: str, features: int) -> Candidate:
    call = f"sink = (float)em_predict(x, {features});"
    return Candidate(f"#include <stdint.h>\n{text}\nstatic void once(const float *x) {{ {call} }}")


def _m2cgen(text: str, features: int) -> Candidate:
    call = "score((double *)x, out);" if "void score" in text else "out[0] = score((double *)x);"
    return Candidate(
        f"{text}\nstatic double out[16];\nstatic void once(const double *x) {{ {call} sink = (float)out[0]; }}", (), "double"
    )


PEERS: Mapping[str, Callable[[str, int], Candidate]] = {"emlearn": _emlearn, "m2cgen": _m2cgen}


def _program(one: Candidate, rows: numpy.ndarray) -> str:
    suffix = "f" if one.real == "float" else ""
    table = ",\n".join("{" + ",".join(f"{float(value):.9e}{suffix}" for value in row) + "}" for row in rows)
    return f"""volatile float sink;
static const {one.real} rows[{rows.shape[0]}][{rows.shape[1]}] = {{{table}}};
{one.text}
__attribute__((noinline, noclone)) void peer_run(const {one.real} *x) {{ once(x); }}
int main(void) {{ int i; for (i = 0; i < {len(rows)}; i++) peer_run(rows[i]); return 0; }}
"""


def _measured(one: Candidate, rows: numpy.ndarray, board: Any, folder: Path, include: Path) -> tuple[int, float]:
    """(flash of the program, instructions of one row)."""
    from aidge_build.run.emulate import Counted, run_program
    from aidge_build.run.toolchain import build_program

    folder.mkdir(parents=True, exist_ok=True)
    main = folder / "main.c"
    main.write_text(_program(one, rows))
    elf = build_program(
        board, [main, *one.sources], folder / "app.elf", work_folder=folder / "objects", include_folders=[folder, include]
    )
    sizes = subprocess.run(["arm-none-eabi-size", elf], capture_output=True, text=True, check=True).stdout.splitlines()[1]
    found = run_program(elf, board, work_folder=folder, counted=Counted("peer_run")).instructions_per_run
    return sum(map(int, sizes.split()[:2])), found or 0


def _figures(path: Path, board: Any, include: Path) -> list[str]:
    """Flash beyond an empty program, and instructions, of each candidate."""
    rows, work = numpy.load(path.with_suffix(".npy")), path.parent / "build" / f"{path.stem}_{board.name}"
    candidates = {}
    for objective in FORMS:
        (work / objective).mkdir(parents=True, exist_ok=True)
        candidates[objective] = _ours(path, board, work / objective, objective)
    for peer, wrapped in PEERS.items():
        code = path.with_suffix(f".{peer}")
        if code.exists():
            candidates[peer] = wrapped(code.read_text(), rows.shape[1])
    cells = []
    for name in (*FORMS, *PEERS):
        if name not in candidates:
            cells += ["-", "-"]
            continue
        one = candidates[name]
        nothing = replace(one, text=f"static void once(const {one.real} *x) {{ sink = (float)x[0]; }}", sources=())
        empty, _ = _measured(nothing, rows, board, work / "empty", include)
        flash, count = _measured(one, rows, board, work / name, include)
        cells += [f"{flash - empty:,}", f"{round(count):,}"]
    return cells


def measure(folder: Path, include: Path) -> None:
    """Build, count, print."""
    from aidge_build.boards import load_board

    names = [*FORMS.values(), *PEERS]
    print("| forest | core | " + " | ".join(f"{name}: flash | instructions" for name in names) + " |")
    print("| --- | --- |" + " --: |" * (2 * len(names)))
    for path in sorted(folder.glob("*.onnx")):
        for name, core in BOARDS.items():
            board = replace(load_board(name), stack_bytes=STACK_BYTES)
            print(f"| {path.stem.replace('_', ' ')} | {core} | " + " | ".join(_figures(path, board, include)) + " |", flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(Path(sys.argv[2]))
    else:
        measure(Path(sys.argv[2]).resolve(), Path(sys.argv[3]))
