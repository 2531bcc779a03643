# SPDX-License-Identifier: MIT
"""The verb `quantize`: from a float model and samples of its inputs to a quantized ONNX file."""

from __future__ import annotations

import argparse
from pathlib import Path

from aidge_build.base.options import MODEL, QUANTIZATION, add_options, also_called, options_named
from aidge_build.base.output import write_files
from aidge_build.build.inputs import (
    NAME_TO_LOOK_AT,
    bindings,
    find_libraries,
    load_libraries,
    operators_of,
    quantized_file,
    read_model_file,
    scheme_of,
)
from aidge_build.build.request import CompileRequest
from aidge_build.cli.outcome import Outcome
from aidge_build.prepare.adaptation.match import Target

EXAMPLES = (("quantize float.onnx --quantize samples.npz --out int8.onnx", "from samples of its inputs"),)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", help="ONNX file of the float model")
    parser.add_argument(
        "--quantize",
        required=True,
        metavar="F.npz",
        help="samples of the inputs, as compile --quantize reads them: `x`, or an array for each input; samples come first",
    )
    also_called(parser, "--quantize", "--calibration")
    parser.add_argument("--out", required=True, metavar="FILE", help="ONNX file of the quantized model")
    add_options(parser, (*options_named(MODEL, "bind", "lib", "kernel-path"), *QUANTIZATION[1:]))


def run(arguments: argparse.Namespace) -> Outcome:
    path, out = Path(arguments.model), Path(arguments.out)
    model, external = read_model_file(path)
    wanted = arguments.lib.split(",") if arguments.lib else []
    libraries, _ = load_libraries(wanted, find_libraries(arguments.kernel_path))
    request = CompileRequest(
        name=NAME_TO_LOOK_AT,
        model=model,
        file_name=str(path),
        libraries=libraries,
        operators=operators_of(libraries),
        target=Target(),
        target_name="any",
        bind=bindings(arguments.bind),
        external=external,
    )
    made = quantized_file(request, Path(arguments.quantize), scheme_of(arguments))
    write_files({out: made.file})
    notices = [f"{path.name}: {notice}" for notice in made.notices]
    float_bytes = len(model) + sum(map(len, external.values()))
    line = f"{out}: {len(made.file):,} B, the float model has {float_bytes:,} B"
    if len(made.file) > float_bytes:
        line += "; the ONNX file is larger, because it names a scale and a zero point for each tensor: weights in flash are int8"
    return Outcome(
        [*notices, line],
        {
            "file": str(out),
            "bytes": len(made.file),
            "float_bytes": float_bytes,
            "notices": list(made.notices),
            "outputs": {name: str(found) for name, found in made.outputs.items()},
        },
    )
