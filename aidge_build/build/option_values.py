# SPDX-License-Identifier: MIT
"""The values of options that are more than a word: sizes, numbers, pairs, and how a model is quantized."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from aidge_build.base.errors import AidgeError, needs_option
from aidge_build.boards import Board
from aidge_build.boards.cores import ALIGNED_ONLY, FPU, NO_ASSEMBLY, NO_FPU, WIDE_POINTERS, Core
from aidge_build.boards.instruction_sets import unknown_extensions
from aidge_build.boards.reader import size_of
from aidge_build.build.emit.blob import LARGEST_VERSION
from aidge_build.plan.constant_regions import require_places, rooms_of
from aidge_build.plan.fast_memory import AUTO, FastMemory, read_fast_memory
from aidge_build.plan.options import Options
from aidge_build.prepare.quantization import Scheme
from aidge_build.sources.dims import Bound


def weights_version(arguments: argparse.Namespace) -> int:
    """The number of --weights-version; 0 where nobody gave one."""
    version = arguments.weights_version
    if version is not None and arguments.update != "weights":
        raise needs_option("weights-version", "--update weights")
    if version is not None and not 0 <= version <= LARGEST_VERSION:
        raise AidgeError(f"is a number from 0 to {LARGEST_VERSION}", where="--weights-version", code="USAGE", hint="1, 2, 3...")
    return version or 0


def monitor_samples(
    arguments: argparse.Namespace, options: Options, read: Callable[[Path], bytes]
) -> tuple[bytes, tuple[str, ...]]:
    """The content of the file with usual inputs for --monitor on, and its path; both empty without a file."""
    if options.monitor == "off" and arguments.monitor_samples is not None:
        raise needs_option("monitor-samples", "--monitor on")
    path = arguments.monitor_samples or arguments.quantize if options.monitor == "on" else None
    return (read(Path(path)), (str(path),)) if path else (b"", ())


def budget(text: str | None, memory_model: str) -> int:
    """The bytes of --ram-budget; 0 where nobody gave one."""
    if text and memory_model == "plain":
        raise AidgeError(
            "a budget needs tensors that overlap, which --memory-model plain forbids",
            where="--ram-budget",
            code="USAGE",
            hint="leave out --ram-budget or --memory-model",
        )
    size = size_of(text) if text else 0
    if size is None or text and not size:
        raise AidgeError(f"'{text}' is not a size in bytes", where="--ram-budget", code="USAGE", hint="20480, 20K or 1M")
    return size


def dma_line(arguments: argparse.Namespace, board: Board | None, core: Core | None) -> int:
    """The bytes of a line of the data cache where --dma on asks for lines; 0 where the core has no cache."""
    if arguments.dma != "on":
        return 0
    if core is None:
        raise AidgeError(
            "the core decides whether there is a data cache, and none is named",
            where="--dma on",
            hint="add --board B or --cpu CORE",
            code="USAGE",
        )
    return board.dma_line if board else core.cache_line


def max_step(arguments: argparse.Namespace) -> int:
    """The instructions of --max-step; 0 where nobody gave one."""
    if arguments.max_step is None:
        return 0
    if arguments.max_step < 1:
        raise AidgeError(f"a step of {arguments.max_step} instructions computes nothing", where="--max-step", code="USAGE")
    for side, function, verb in (("input", "N_push", "push"), ("output", "N_pull", "pull")):
        if getattr(arguments, side) == "rows":
            raise AidgeError(
                f"--max-step bounds the steps of an inference, and with --{side} rows {function} computes all that its rows "
                "allow",
                where="--max-step",
                code="USAGE",
                hint=f"{verb} few rows at a time, or take --{side} whole",
            )
    return arguments.max_step


def scheme_of(arguments: argparse.Namespace) -> Scheme:
    """Returns the quantization scheme that the options give."""
    try:
        percentile = float(arguments.percentile)
    except ValueError:
        raise AidgeError(f"wants a number, got {arguments.percentile!r}", where="--percentile", code="USAGE") from None
    types = {}
    for text in arguments.layer_types:
        layer, _, kind = text.rpartition("=")
        if not layer:
            raise AidgeError(f"wants LAYER=TYPE, got {text!r}", where="--layer-types", code="USAGE")
        types[layer] = kind
    return Scheme(
        activations=arguments.activations,
        calibration=arguments.ranges,
        equalize=arguments.equalize == "on",
        correct_bias=arguments.correct_bias == "on",
        round_weights=arguments.round_weights == "on",
        layers=types,
        io_type=arguments.io_type,
        io_layout=arguments.io_layout,
        percentile=percentile,
        least_sqnr=Scheme.least_sqnr if arguments.least_sqnr is None else arguments.least_sqnr,
    )


def bindings(texts: Sequence[str]) -> dict[str, Bound]:
    """The numbers of symbolic dims and the values of inputs, from words NAME=VALUE or NAME=VALUE,VALUE."""
    bound: dict[str, Bound] = {}
    for text in texts:
        name, _, value = text.rpartition("=")
        items = [_bound_number(item) for item in value.split(",")]
        numbers = tuple(item for item in items if item is not None)
        if not name or len(numbers) < len(items):
            raise AidgeError(f"wants NAME=NUMBER or NAME=NUMBER,NUMBER, got {text!r}", where="--bind", code="USAGE")
        bound[name] = numbers if len(numbers) > 1 else numbers[0]
    return bound


def states(texts: Sequence[str]) -> dict[str, str]:
    """The inputs of states by the outputs that are their next values, from words OUTPUT=INPUT; "" for a name alone."""
    found: dict[str, str] = {}
    for text in texts:
        output, equals, source = text.partition("=")
        if not output or (equals and not source) or output in found:
            raise AidgeError(f"wants OUTPUT=INPUT, INPUT or auto, each once, got {text!r}", where="--state", code="USAGE")
        found[output] = source
    return found


def _bound_number(text: str) -> int | float | bool | None:
    """The number that a word writes; None where it writes none."""
    if text in ("true", "false"):
        return text == "true"
    try:
        return int(text) if text.lstrip("-").isdecimal() else float(text)
    except ValueError:
        return None


def is_aligned_only(board: Board | None, core: Core | None, arguments: argparse.Namespace) -> bool:
    """Whether words must be at multiples of 4: by the option, or by the last flag of the board and of the command about it."""
    if core is None or core.unaligned is None:
        return False
    flags = [*(board.compiler_flags if board else ()), *getattr(arguments, "flag", ())]
    said = [flag for flag in flags if flag in (core.unaligned.off, core.unaligned.on)]
    return arguments.unaligned == "off" or said[-1:] == [core.unaligned.off]


def of_chip(board: Board | None, name: str | None) -> tuple[str, ...]:
    """Returns a notice about a board that was named by its chip; () for a board that has the name itself."""
    return (f"--board {name}: {board.name} is the board with this chip ({board.title})",) if board and board.name != name else ()


def notices_of_core(core: Core | None, arguments: argparse.Namespace) -> Iterator[str]:
    """Yields notices about --cpu: extensions that are in no list, and a core for which no library but the portable one is made,
    unless --lib names one."""
    if core is None or not arguments.cpu:
        return
    name = arguments.cpu.partition("+")[0]
    if unknown := unknown_extensions(name) if core.name != name else []:
        yield f"--cpu {arguments.cpu}: no kernel uses {', '.join(unknown)}: no ratified extension of RISC-V has this name"
    if core.is_portable or not (core.is_native or core.possible_features or arguments.lib):
        yield f"--cpu {arguments.cpu}: portable C: there are no optimised kernels for this core"


def features_of(board: Board | None, core: Core | None, arguments: argparse.Namespace) -> frozenset[str]:
    """Returns the core's features that kernels may use, and the restrictions that they must keep."""
    restrictions = {
        NO_ASSEMBLY: arguments.assembly == "off",
        WIDE_POINTERS: core is not None and core.pointer_bytes > 4,
        ALIGNED_ONLY: is_aligned_only(board, core, arguments),
    }
    return _of_machine(board, core, arguments.fpu) | {name for name, holds in restrictions.items() if holds}


def _of_machine(board: Board | None, core: Core | None, fpu: str | None) -> frozenset[str]:
    if board is None:
        return core.features_with(fpu or "") if core else frozenset()
    if fpu and fpu != NO_FPU:
        raise needs_option("fpu", "--cpu CORE (a board has its own FPU)")
    return board.features - {FPU} if fpu else board.features


def checkouts(texts: Sequence[str]) -> dict[str, Path]:
    """The folder of each library of --checkout."""
    found = {}
    for text in texts:
        library, _, folder = text.partition("=")
        if not folder or not Path(folder).is_dir():
            raise AidgeError(f"wants LIB=DIR with a folder that exists, got {text!r}", where="--checkout", code="USAGE")
        found[library] = Path(folder)
    return found


def require_place_alone(arguments: argparse.Namespace) -> None:
    """Refuses options that --place excludes (USAGE)."""
    if arguments.constants_in:
        raise AidgeError("--place decides it", where="--constants-in", code="USAGE", hint="leave one of them out")
    if arguments.kernels == "shared":
        raise AidgeError(
            "a shared kernel has one place for all models", where="--place", code="USAGE", hint="leave out --kernels shared"
        )


def fast_memory(arguments: argparse.Namespace, board: Board | None, read: Callable[[Path], bytes]) -> FastMemory | None:
    """The file of --place, for memories of the board; None without the option."""
    if arguments.place is None:
        return None
    if arguments.place == AUTO:
        raise AidgeError(
            "only `explain` measures and chooses: a build reads the file that it writes",
            where=f"--place {AUTO}",
            code="USAGE",
            hint="aidge-build explain MODEL --board B --place auto --within MEMORY=BYTES --out place.toml",
        )
    require_place_alone(arguments)
    where = f"--place {arguments.place}"
    fast = read_fast_memory(read(Path(arguments.place)), arguments.place)
    rooms = rooms_of([f"{name}={size}" for name, size in fast.rooms], board, arguments, where)
    require_places(fast, board.regions if board else (), where)
    return replace(fast, rooms=rooms)
