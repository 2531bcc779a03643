# SPDX-License-Identifier: MIT
"""Flash and instructions of classic models, beside the C of emlearn and m2cgen for the same estimators.

`python -m tests.classic.peers make FOLDER` trains them and writes models, rows and the C of the others; it needs scikit-learn,
skl2onnx, emlearn and m2cgen in an environment of its own. `python -m tests.classic.peers measure FOLDER INCLUDE` builds all of
it for two boards, counts, and prints the table of docs/classic.md; INCLUDE is the folder with emlearn's headers.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy

from tests.classic.pipelines import OPSETS, SEED, training_data

ROWS = 5
BOARDS = {"mps2-an386": "M4", "rp2040": "M0+"}


def estimators() -> dict[str, tuple[Any, Any, Any]]:
    """(estimator, features, targets) by name."""
    from sklearn import linear_model, mixture, naive_bayes, neural_network, svm

    data = training_data()
    classes, real = (data["x"], data["y"]), (data["r"], data["t"])
    return {
        "linear regression": (linear_model.LinearRegression(), *real),
        "logistic regression": (linear_model.LogisticRegression(), *classes),
        "linear SVC": (svm.LinearSVC(random_state=SEED), *classes),
        "SVC, poly": (svm.SVC(kernel="poly"), *classes),
        "SVC, rbf": (svm.SVC(), *classes),
        "SVR, rbf": (svm.SVR(), real[0][:80], real[1][:80]),
        "Gaussian naive Bayes": (naive_bayes.GaussianNB(), *classes),
        "Gaussian mixture": (mixture.GaussianMixture(3, random_state=SEED), classes[0], None),
        "multi-layer perceptron, 16": (
            neural_network.MLPClassifier((16,), max_iter=300, random_state=SEED),
            *classes,
        ),
    }


def make(folder: Path) -> None:
    """Train, and write what is compared."""
    import emlearn
    import m2cgen
    from skl2onnx import to_onnx

    folder.mkdir(parents=True, exist_ok=True)
    for name, (estimator, x, y) in estimators().items():
        with numpy.errstate(all="ignore"):
            estimator.fit(x, y)
        stem = folder / re.sub(r"\W+", "_", name)
        numpy.save(stem.with_suffix(".npy"), x[:ROWS])
        maps = {id(estimator): {"zipmap": False}} if y is not None and hasattr(estimator, "predict_proba") else None
        stem.with_suffix(".onnx").write_bytes(to_onnx(estimator, x[:1], options=maps, target_opset=OPSETS).SerializeToString())
        try:
            Path(f"{stem}.m2cgen").write_text(m2cgen.export_to_c(estimator))
        except NotImplementedError:
            print(f"{name}: m2cgen has no C for it")
        try:
            method = "loadable" if "Bayes" in name else "inline"
            emlearn.convert(estimator, method=method).save(file=f"{stem}.emlearn", name="em")
        except ValueError:
            print(f"{name}: emlearn has no C for it")


def _rows(path: Path) -> str:
    rows = numpy.load(path)
    text = ",".join("{" + ",".join(f"{float(value):.9e}f" for value in row) + "}" for row in rows)
    return f"static const float rows[{rows.shape[0]}][{rows.shape[1]}] = {{{text}}};\nvolatile float sink;\n"


def _m2cgen(text: str, features: int) -> str:
    call = "score(in, out);" if "void score" in text else "out[0] = score(in);"
    return f"""{text}
static double in[{features}], out[16];
static void once(const float *x) {{ int i; for (i = 0; i < {features}; i++) in[i] = x[i]; {call} sink = (float)out[0]; }}"""


def _emlearn(text: str, features: int) -> str:
    if "em_predict_proba" in text:
        call = f"float score; (void)em_predict_proba(x, {features}, out, &score, out + 8); sink = out[8];"
    elif "em_regress" in text:
        call = f"(void)em_regress(x, {features}, out, 3); sink = out[0];"
    else:
        call = f"sink = (float)em_predict(x, {features});"
    return f"#include <stdint.h>\n{text}\nstatic float out[16];\nstatic void once(const float *x) {{ {call} }}"


def _ours(path: Path, board, folder: Path) -> tuple[str, list[Path]]:
    from aidge_build.base.output import write_sources
    from aidge_build.build.emit import emit
    from tests.compiled import program_of

    program = program_of(path.read_bytes(), path.name, board)
    write_sources(emit(program), folder)
    tensors = [program.view.tensor(name) for name in program.view.outputs]
    outputs = "".join(f"static {one.dtype.c_type} y{index}[{one.elements}];\n" for index, one in enumerate(tensors))
    names = ", ".join(f"y{index}" for index in range(len(tensors)))
    text = f'#include "net.h"\n{outputs}static void once(const float *x) {{ (void)net_run(x, {names}); }}'
    return text, [folder / "net.c", folder / "net_weights.c"]


def _measured(text: str, sources: list[Path], board, folder: Path, include: Path) -> tuple[int, float]:
    """(flash of the program, instructions of one row)."""
    from aidge_build.run.emulate import Counted, run_program
    from aidge_build.run.toolchain import build_program

    folder.mkdir(parents=True, exist_ok=True)
    main = folder / "main.c"
    main.write_text(f"""{text}
__attribute__((noinline, noclone)) void peer_run(const float *x) {{ once(x); }}
int main(void) {{ int i; for (i = 0; i < {ROWS}; i++) peer_run(rows[i]); return 0; }}
""")
    objects = folder / "objects"
    elf = build_program(board, [main, *sources], folder / "app.elf", work_folder=objects, include_folders=[folder, include])
    sizes = subprocess.run(["arm-none-eabi-size", elf], capture_output=True, text=True, check=True).stdout.splitlines()[1]
    found = run_program(elf, board, work_folder=folder, counted=Counted("peer_run")).instructions_per_run
    return sum(map(int, sizes.split()[:2])), found or 0


def measure(folder: Path, include: Path) -> None:
    """Build, count, print."""
    from aidge_build.boards import load_board

    print("| model | core | flash | emlearn | m2cgen | instructions | emlearn | m2cgen |")
    print("| --- | --- | --: | --: | --: | --: | --: | --: |")
    for path in sorted(folder.glob("*.onnx")):
        for name, core in BOARDS.items():
            board, rows = load_board(name), _rows(path.with_suffix(".npy"))
            features = numpy.load(path.with_suffix(".npy")).shape[1]
            work = folder / "build" / f"{path.stem}_{name}"
            empty, _ = _measured(f"{rows}static void once(const float *x) {{ sink = x[0]; }}", [], board, work / "empty", include)
            (work / "ours").mkdir(parents=True, exist_ok=True)
            text, sources = _ours(path, board, work / "ours")
            figures = [_measured(rows + text, sources, board, work / "ours", include)]
            for peer, wrapper in (("emlearn", _emlearn), ("m2cgen", _m2cgen)):
                code = path.with_suffix(f".{peer}")
                text = rows + wrapper(code.read_text(), features) if code.exists() else ""
                figures.append(_measured(text, [], board, work / peer, include) if text else (0, 0))
            flash = " | ".join(f"{size - empty:,}" if size else "-" for size, _ in figures)
            counts = " | ".join(f"{round(count):,}" if count else "-" for _, count in figures)
            print(f"| {path.stem.replace('_', ' ')} | {core} | {flash} | {counts} |", flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(Path(sys.argv[2]))
    else:
        measure(Path(sys.argv[2]).resolve(), Path(sys.argv[3]))
