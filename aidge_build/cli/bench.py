# SPDX-License-Identifier: MIT
"""The verb `bench`: instructions, memory and flash of a folder of models on emulated boards, beside other figures."""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

from aidge_build.boards import Board, load_board
from aidge_build.cli.outcome import Outcome
from aidge_build.compile import build_program
from aidge_build.errors import AidgeError, MissingTool
from aidge_build.inputs import NAME_TO_LOOK_AT, add_model_arguments, load
from aidge_build.machine import CROSS_COMPILER
from aidge_build.verify.compare import compare
from aidge_build.verify.firmware import execute
from aidge_build.verify.vectors import model_inputs, read_npz, reference_outputs

SUMMARY = "instructions and bytes of a folder of models on emulated boards"
MODEL_ENDING, DATA_ENDING = "_int8_qdq.onnx", "_io.npz"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="DIR", help=f"holds NAME{MODEL_ENDING} and NAME{DATA_ENDING}")
    parser.add_argument("--boards", default="mps2-an386", metavar="A,B", help="emulated boards (default: mps2-an386)")
    parser.add_argument("--reference", default="y_ort_qdq", metavar="KEY", help="the references in the NPZ files")
    parser.add_argument("--peers", metavar="F.json", help="figures of other systems: instructions, arena, flash")
    parser.add_argument("--out", metavar="F.json", help="record the figures there")
    parser.add_argument("--check", metavar="F.json", help="fail when an instruction count is above the recorded one")


def run(arguments: argparse.Namespace) -> Outcome:
    folder = Path(arguments.folder)
    names = sorted(path.name.removesuffix(MODEL_ENDING) for path in folder.glob(f"*{MODEL_ENDING}"))
    if not names:
        raise AidgeError(f"holds no NAME{MODEL_ENDING}", where=str(folder), code="BENCH")
    boards = [load_board(name, []) for name in arguments.boards.split(",")]
    recorded = json.loads(Path(arguments.check).read_text()) if arguments.check else None
    compiler = f"{CROSS_COMPILER.name} {CROSS_COMPILER.version()}"
    if recorded and recorded["compiler"] != compiler:
        raise MissingTool(f"the figures were recorded with {recorded['compiler']}, this is {compiler}: they cannot be compared",
                          where=arguments.check, hint="record new ones with --out", code="BENCH")
    results = [_measure(folder, name, board, arguments.reference) for name in names for board in boards]
    data = {"compiler": compiler, "results": results}
    if arguments.out:
        Path(arguments.out).write_text(json.dumps(data, indent=1, sort_keys=True) + "\n")
    peers = json.loads(Path(arguments.peers).read_text())["tflm_cmsis_nn"] if arguments.peers else {}
    lines = [_HEAD, *(_line(result, peers) for result in results)]
    worse = _worse(results, recorded["results"]) if recorded else []
    wrong = [f"{result['model']} on {result['board']}: {result['differing_values']} values differ" for result in results
             if result["differing_values"]]
    return Outcome("\n".join([*lines, *worse, *wrong]), data, 1 if worse or wrong else 0)


def _measure(folder: Path, name: str, board: Board, reference: str) -> dict:
    parser = argparse.ArgumentParser()
    add_model_arguments(parser)
    program = build_program(load(parser.parse_args([str(folder / f"{name}{MODEL_ENDING}"), "--board", board.name]),
                                 NAME_TO_LOOK_AT))
    arrays = read_npz(folder / f"{name}{DATA_ENDING}")
    vectors = model_inputs(arrays, program.view)
    count = len(next(iter(vectors.values())))
    wanted = reference_outputs(arrays, reference, program.view, count)
    with tempfile.TemporaryDirectory() as temporary:
        execution = execute(program, board, vectors, Path(temporary))
    macs = sum(layer.macs for layer in program.layers)
    instructions = round(execution.result.run_instructions / count)
    return {
        "model": name, "board": board.name, "cpu": board.cpu, "instructions": instructions, "macs": macs,
        "differing_values": sum(compare(output, execution.outputs[output], wanted[output]).differing_values
                                for output in program.view.outputs),
        "peak_bytes": program.peak.peak_bytes, "arena_bytes": program.arena.peak_bytes,
        "code_bytes": execution.code_bytes, "weights_bytes": execution.weights_bytes,
    }


_HEAD = ("| model | core | instructions | per MAC | CMSIS-NN | ratio | RAM with inputs and outputs | its arena | code "
         "| constants |\n"
         "|---|---|---|---|---|---|---|---|---|---|")


def _line(result: dict, peers: dict) -> str:
    other = peers.get("instructions", {}).get(_peer_core(result["cpu"]), {}).get(result["model"])
    arena = peers.get("arena_bytes", {}).get(_peer_core(result["cpu"]), {}).get(result["model"])
    figures = (result["model"], result["cpu"], f"{result['instructions']:,}",
               f"{result['instructions'] / max(1, result['macs']):.2f}",
               f"{other:,}" if other else "-", f"{other / result['instructions']:.2f}" if other else "-",
               f"{result['peak_bytes']:,}",
               f"{arena:,}" if arena else "-", f"{result['code_bytes']:,}", f"{result['weights_bytes']:,}")
    return f"| {' | '.join(figures)} |"


def _peer_core(cpu: str) -> str:
    """The core on which the other systems were counted: code for M4, M7 and M33 is the same."""
    return "cortex-m4" if cpu in ("cortex-m7", "cortex-m33") else cpu


def _worse(results: list[dict], recorded: list[dict]) -> list[str]:
    before = {(entry["model"], entry["board"]): entry["instructions"] for entry in recorded}
    return [f"{entry['model']} on {entry['board']}: {entry['instructions']:,} instructions, recorded {before[key]:,}"
            for entry in results if (key := (entry["model"], entry["board"])) in before and entry["instructions"] > before[key]]
