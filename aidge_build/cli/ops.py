# SPDX-License-Identifier: MIT
"""The verb `ops`: the operators, where they run and with which types; with a name, the manual page of one."""

from __future__ import annotations

import argparse
import difflib
import inspect
from collections.abc import Iterable, Sequence
from pathlib import Path

from aidge_build.base.errors import EXIT_CHECK_FAILED, AidgeError
from aidge_build.base.naming import counted
from aidge_build.base.options import MODEL, add_options, options_named
from aidge_build.build.inputs import find_libraries, load_libraries
from aidge_build.cli.operator_manual import PAGE_HEAD, manual
from aidge_build.cli.outcome import Outcome
from aidge_build.contract.library import Library
from aidge_build.graph.dtype import DType
from aidge_build.operators import builtin_operators
from aidge_build.operators.base import Operator
from aidge_build.prepare.net import OPSET
from aidge_build.prepare.training.check import findings
from aidge_build.sources.onnx_format import signature_of

EXAMPLES = (
    ("list operators", "all operators"),
    ("list operators Conv", "the manual of one"),
)

_SHORT = {"float": "f", "uint": "u", "int": "i"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "operator",
        nargs="?",
        metavar="NAME",
        help="operator to print the manual of, by ONNX name or type (default: a table of all)",
    )
    add_options(parser, options_named(MODEL, "kernel-path"))
    parser.add_argument(
        "--check",
        action="store_true",
        help="try the samples of the operator, or of all: shape, type, numeric gradient (default: print)",
    )
    parser.add_argument(
        "--markdown", action="store_true", help="print the manual pages of all operators, docs/operators.md (default: the table)"
    )


def run(arguments: argparse.Namespace) -> Outcome:
    operators, libraries = _known(arguments.kernel_path)
    chosen = _chosen(arguments.operator, operators) if arguments.operator else sorted(operators)
    if arguments.check:
        return _checked([operators[name] for name in chosen])
    if arguments.operator:
        pages = {name: manual(name, operators[name], _backends(name, operators[name], libraries)) for name in chosen}
        rows = [_row(name, operators[name], libraries) | {"manual": pages[name]} for name in chosen]
        return Outcome("\n".join(pages.values()).split("\n"), {"operators": rows})
    if arguments.markdown:
        return Outcome(operator_page(arguments.kernel_path).split("\n"))
    rows = [_row(name, operator, libraries) for name, operator in sorted(operators.items())]
    return Outcome([line for row in rows for line in _lines(row)], {"operators": rows})


def operator_page(kernel_path: Sequence[Path] = ()) -> str:
    """Returns the manual pages of all operators in Markdown, docs/operators.md without its last line break."""
    operators, libraries = _known(kernel_path)
    manuals = [manual(name, operator, _backends(name, operator, libraries)) for name, operator in sorted(operators.items())]
    return "\n".join([PAGE_HEAD, *manuals]).rstrip()


def _known(kernel_path: Sequence[Path]) -> tuple[dict[str, type[Operator]], tuple[Library, ...]]:
    """Returns the operators of the package and of all libraries by ONNX name, and the libraries."""
    folders = find_libraries(kernel_path)
    libraries, _ = load_libraries(sorted(folders), folders)
    operators = dict(builtin_operators())
    for library in libraries:
        operators |= {onnx_name: operator for operator in library.operators for onnx_name in operator.onnx_names}
    return operators, libraries


def _checked(operators: Sequence[type[Operator]]) -> Outcome:
    """Returns the findings about the samples of these operators; exit code 1 if anything is wrong."""
    chosen = list(dict.fromkeys(operators))
    found = {operator.__name__: findings(operator) for operator in chosen}
    wrong = [line for lines in found.values() for line in lines]
    samples = sum(len(operator.samples()) for operator in chosen)
    trained = sum(operator.has_backward() for operator in chosen)
    text = (
        f"{counted(len(chosen), 'operator')}, {counted(samples, 'sample')}, {trained} with gradients: "
        f"{counted(len(wrong), 'finding')}"
    )
    data = {"checked": [{"type": name, "findings": list(lines)} for name, lines in found.items()]}
    return Outcome([*wrong, text], data, EXIT_CHECK_FAILED if wrong else 0)


def _chosen(wanted: str, operators: dict[str, type[Operator]]) -> list[str]:
    """The ONNX names that are meant: by name, by name without domain, or by our type."""
    found = [
        name for name, operator in sorted(operators.items()) if wanted in (name, name.rpartition("::")[2], operator.__name__)
    ]
    if not found:
        near = difflib.get_close_matches(wanted, operators, n=3, cutoff=0.5)
        hint = f"did you mean {', '.join(near)}?" if near else "'aidge-build list operators' lists them"
        raise AidgeError(f"no operator is called {wanted!r}", code="OPERATOR", hint=hint)
    return found


def _row(onnx_name: str, operator: type[Operator], libraries: Sequence[Library]) -> dict:
    types = _backends(onnx_name, operator, libraries)
    return {
        "onnx": onnx_name,
        "type": operator.__name__,
        "backends": list(types),
        "dtypes": types,
        "backward": operator.has_backward(),
        "summary": inspect.getdoc(operator).splitlines()[0],
    }


def _backends(onnx_name: str, operator: type[Operator], libraries: Sequence[Library]) -> dict[str, list[str]]:
    """For each backend that runs the operator, the types of its data: what the standard allows in numpy, else what kernels
    want."""
    rules = signature_of(onnx_name, OPSET)
    allowed = rules.inputs[0].dtypes if rules is not None and rules.inputs else (DType.any,)
    found = {"cpu": [dtype.name for dtype in allowed]}
    for library in libraries:
        kernels = [
            kernel for kernel in library.kernels if kernel.type in operator.kinds() or _belongs(kernel.type, operator.__name__)
        ]
        if kernels:
            found[library.name] = _ordered(kernel.spec.inputs[0].dtype for kernel in kernels)
    return found


def _ordered(dtypes: Iterable[DType]) -> list[str]:
    names = {"any" if dtype.is_wildcard else dtype.name for dtype in dtypes}
    return [dtype.name for dtype in DType if dtype.name in names]


def _belongs(kernel_type: str, family: str) -> bool:
    """Whether a kernel's operator type (Conv2D, ConvDepthWise1D) is one of the operator class (Conv)."""
    rest = kernel_type[len(family) :].removeprefix("DepthWise")
    return kernel_type == family or (kernel_type.startswith(family) and rest in ("1D", "2D", "3D"))


def _lines(row: dict) -> tuple[str, str]:
    where = "; ".join(f"{backend} {' '.join(map(_short, dtypes))}" for backend, dtypes in row["dtypes"].items())
    return f"{row['onnx']:<28} {row['type']:<24} {'backward' if row['backward'] else '-':<9} {where}", f"    {row['summary']}"


def _short(dtype: str) -> str:
    """float32 as f32: types of three letters keep a row on a line."""
    return next((short + dtype.removeprefix(long) for long, short in _SHORT.items() if dtype.startswith(long)), dtype)
