# SPDX-License-Identifier: MIT
"""The only place that reads: model, external data, board and libraries become the values of a CompileRequest."""

from __future__ import annotations

import argparse
import difflib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

from aidge_build.base.errors import AidgeError, needs_option
from aidge_build.base.installed import kernel_folder
from aidge_build.base.naming import NAME_TO_LOOK_AT as NAME_TO_LOOK_AT
from aidge_build.base.naming import check_model_name
from aidge_build.base.npz import LARGEST_VECTOR_BYTES, read_npz
from aidge_build.base.options import MODEL, QUANTIZATION, add_options, words_of
from aidge_build.base.reading import LARGEST_TEXT_BYTES, read_regular
from aidge_build.base.terminal import counting
from aidge_build.boards import Board, load_board
from aidge_build.boards.cores import SLOW_LONG_PRODUCTS, Core, load_core, with_overlaps
from aidge_build.build.layer_names import with_own_names
from aidge_build.build.option_values import (
    bindings,
    budget,
    checkouts,
    dma_line,
    fast_memory,
    features_of,
    is_aligned_only,
    max_step,
    monitor_samples,
    notices_of_core,
    of_chip,
    scheme_of,
    states,
    weights_version,
)
from aidge_build.build.request import CompileRequest
from aidge_build.contract.library import MANIFEST, Library, default_features, load_library, manifest_name
from aidge_build.operators import builtin_operators
from aidge_build.operators.base import Operator
from aidge_build.plan.constant_copies import require_alone
from aidge_build.plan.constant_regions import rooms_of
from aidge_build.plan.options import Options
from aidge_build.plan.schedule.recording import slots_of
from aidge_build.prepare.adaptation.adapt import NoKernel
from aidge_build.prepare.adaptation.cost import CostTable
from aidge_build.prepare.adaptation.match import Target, match
from aidge_build.prepare.adaptation.shipped import shipped_path, table_at
from aidge_build.prepare.quantization import Quantized, Scheme, quantized
from aidge_build.prove.timing.table import TimingTable, timing_of
from aidge_build.sources.formats import format_of
from aidge_build.sources.importing import files_beside, refuse_other_models
from aidge_build.sources.onnx_format import read_external

LARGEST_MODEL_BYTES = 256 << 20  # of a model, and of its external data together: a float32 network of 64 million weights
LARGEST_KERNEL_FILE_BYTES = 16 << 20
CONTRACT_NAMES = {"tflite": "double"}  # what users say for the name of a contract
UNNAMED_CONTRACT = "onnx"  # where the words of a request name none
USER_NAMES = {name: said for said, name in CONTRACT_NAMES.items()}
# The options that generated code depends on by their words alone.
CHOICES = tuple(option.argument for option in MODEL.options if option.values and option not in QUANTIZATION)


def add_model_arguments(parser: argparse.ArgumentParser) -> None:
    """The options that compile, plan, explain and verify share."""
    parser.add_argument("model", metavar="MODEL", help="the model's file: ONNX or TensorFlow Lite")
    add_options(parser, MODEL.options)


def load(arguments: argparse.Namespace, name: str) -> CompileRequest:
    """Reads everything that the command names. Nothing else is read later."""
    check_model_name(name)
    path = Path(arguments.model)
    model, external = read_model_file(path)
    board = load_board(arguments.board, arguments.board_path) if arguments.board else None
    core = board.core if board else load_core(arguments.cpu, arguments.board_path) if arguments.cpu else None
    folders = find_libraries(arguments.kernel_path)
    features = features_of(board, core, arguments)
    libraries, left_out, read = _libraries(arguments, folders, board, core, features)
    arguments = _with_contract(arguments, model)
    fast = fast_memory(arguments, board, partial(read_regular, limit=LARGEST_TEXT_BYTES))
    options = _options(arguments, board, core, rooms_of(arguments.constants_in, board, arguments) if fast is None else fast.rooms)
    table, table_files = _cost_table(arguments, features, options)
    timing, machine_files = _timing_table(board, core)
    usual, usual_files = monitor_samples(arguments, options, partial(read_regular, limit=LARGEST_VECTOR_BYTES, code="VECTORS"))
    dependencies = [
        str(path),
        *(str(path.parent / location) for location in sorted(external)),
        *read,
        *machine_files,
        *table_files,
        *([arguments.place] if fast else []),
        *usual_files,
    ]
    require_alone(arguments, board)
    request = CompileRequest(
        name=name,
        model=model,
        file_name=str(path),
        libraries=libraries,
        left_out=left_out,
        operators=operators_of(libraries),
        target=_target(arguments, board, core, with_overlaps(features, timing is not None and timing.overlaps), table),
        target_name=board.name if board else core.cpu if core else "any",
        board=board,
        core=core,
        timing=timing,
        external=external,
        bind=bindings(arguments.bind),
        signature=arguments.signature or "",
        state=states(arguments.state),
        options=replace(options, cost_table=str(table or ""), monitor_ranges=bool(usual)),
        fast=fast,
        monitor_samples=usual,
        dependencies=tuple(dict.fromkeys(dependencies)),
        words=tuple(word for word in words_of(arguments, MODEL.options) if word != f"--rounding={UNNAMED_CONTRACT}"),
        notices=tuple(_notices(arguments, board, core, table, libraries)),
    )
    return _quantized(request, arguments)


def _options(
    arguments: argparse.Namespace, board: Board | None, core: Core | None, rooms: tuple[tuple[str, int], ...]
) -> Options:
    """The options that generated code depends on; `rooms` come from --constants-in or --place."""
    return replace(
        Options(**{name: getattr(arguments, name) for name in CHOICES}),
        rounding=CONTRACT_NAMES.get(arguments.rounding, arguments.rounding),
        unaligned="off" if is_aligned_only(board, core, arguments) else "on",
        weights_version=weights_version(arguments),
        ram_budget=budget(arguments.ram_budget, arguments.memory_model),
        max_step=max_step(arguments),
        dma_line=dma_line(arguments, board, core),
        constants_in=rooms,
        record=slots_of(arguments.record, arguments.arena, arguments.input, arguments.max_step, arguments.output),
    )


def _target(
    arguments: argparse.Namespace, board: Board | None, core: Core | None, features: frozenset[str], table: CostTable | None
) -> Target:
    return Target(
        features | ({SLOW_LONG_PRODUCTS} if core and core.has_slow_long_products else set()),
        CONTRACT_NAMES.get(arguments.rounding, arguments.rounding),
        arguments.optimize,
        table,
        board.flash_wait_states or 0 if board else 0,
        arguments.update == "weights",
        board.loop_bytes if board else 0,
        arguments.pack_weights != "off" and arguments.update == "none",
    )


def _libraries(
    arguments: argparse.Namespace, folders: Mapping[str, Path], board: Board | None, core: Core | None, features: frozenset[str]
) -> tuple[tuple[Library, ...], tuple[Library, ...], list[str]]:
    """Returns the libraries that are named or made for the core, the others that are made for the core with all of its features,
    and the paths that were read."""
    unfit, looked_at = list[str](), list[str]()
    if arguments.lib or board:
        wanted = arguments.lib.split(",") if arguments.lib else list(board.libs)
    else:
        wanted = default_libraries(folders, features, core)
        possible = default_libraries(folders, core.possible_features, core) if core else []
        unfit = [name for name in possible if name not in wanted]
        manifests = [folder / MANIFEST for folder in folders.values()]
        looked_at = [*map(str, (*arguments.kernel_path, kernel_folder(), *manifests))]
    libraries, read = load_libraries(wanted, folders, checkouts(arguments.checkout))
    left_out, also_read = load_libraries(unfit, folders)
    return libraries, left_out, [*read, *also_read, *looked_at]


def _with_contract(arguments: argparse.Namespace, model: bytes) -> argparse.Namespace:
    """The arguments with a contract: the one of the file's format where they name none."""
    if arguments.rounding is not None:
        return arguments
    return argparse.Namespace(**{**vars(arguments), "rounding": format_of(model).rounding})


def _notices(
    arguments: argparse.Namespace, board: Board | None, core: Core | None, table: CostTable | None, libraries: Iterable[Library]
) -> Iterator[str]:
    yield from of_chip(board, arguments.board)
    yield from notices_of_core(core, arguments)
    if arguments.select == "cost" and table is None:
        yield "--select cost: layers by rows or in steps keep the kernels that libraries prefer"
    for library in libraries:
        names = sorted({name for operator in library.operators for name in operator.onnx_names} & builtin_operators().keys())
        if names:
            yield f"library {library.name} replaces the built-in {', '.join(names)}"


def _quantized(request: CompileRequest, arguments: argparse.Namespace) -> CompileRequest:
    """The request for the quantized model, where the user asks for that."""
    scheme = scheme_of(arguments)
    if arguments.quantize is None:
        for option in QUANTIZATION:
            if getattr(arguments, option.argument) not in (option.default, [], None):
                raise needs_option(option.name, "--quantize SAMPLES.npz")
        return request
    made = quantized_file(request, Path(arguments.quantize), replace(scheme, ports=getattr(arguments, "ports", ())))
    return replace(
        request,
        model=made.file,
        float_model=request.model,
        notices=(*request.notices, *made.notices),
        bind={},
        dependencies=(*request.dependencies, arguments.quantize),
    )


def quantized_file(request: CompileRequest, samples: Path, scheme: Scheme) -> Quantized:
    """The request's float model quantized by the samples of an NPZ file; notices say how near its outputs are. Layers of the
    scheme may have the names that tables print. Long work says on
    stderr how far it is."""
    arrays = read_npz(samples)
    try:
        scheme = replace(with_own_names(scheme, request, arrays), states=request.state)
        with counting("QUANT", is_kept=False) as progress:
            made = quantized(
                request.model,
                arrays,
                scheme,
                progress,
                name=request.file_name,
                operators=request.operators,
                bind=request.bind,
                external=request.external,
            )
        return replace(made, notices=(*made.notices, *made.verdicts(samples.name)))
    except AidgeError as error:
        raise error.within(str(samples)) if error.code == "CALIBRATION" else error


def library_that_helps(refused: NoKernel, kernel_path: Sequence[Path]) -> str:
    """The option that names a library with kernels for all the nodes that have none, too; "" where there is no such library."""
    folders = find_libraries(kernel_path)
    for name in sorted(set(folders) - set(refused.libraries)):
        try:
            (library, *_), _ = load_libraries([name], folders)
            if all(match(view, [library], refused.target).accepted for view in refused.nodes):
                return f"library {name} has kernels for it: --lib {','.join([*refused.libraries, name])}"
        except AidgeError:  # a library that nobody named is none of the user's troubles now
            continue
    return ""


def read_model_file(path: Path) -> tuple[bytes, dict[str, bytes]]:
    """Returns the bytes of a model's file, and the bytes of its external data by location."""
    model = read_regular(path, LARGEST_MODEL_BYTES, look_at=refuse_other_models)
    try:
        return model, read_external(path, files_beside(model, path.name))
    except AidgeError as error:
        raise error.within(str(path))


def operators_of(libraries: Iterable[Library]) -> dict[str, type[Operator]]:
    """Returns ONNX name -> operator: the built-in operators and the operators of the libraries."""
    own = {onnx_name: operator for library in libraries for operator in library.operators for onnx_name in operator.onnx_names}
    return {**builtin_operators(), **own}


def _cost_table(
    arguments: argparse.Namespace, features: frozenset[str], options: Options
) -> tuple[CostTable | None, tuple[str, ...]]:
    """The table that was named, or the one that comes with the tool, and its file. None where layers are computed by rows and the
    table compares kernels on whole ones."""
    if options.select != "cost":
        if arguments.cost_table is not None:
            raise AidgeError(
                "works only with --select cost", where="--cost-table", code="USAGE", hint="leave it out, or add --select cost"
            )
        return None, ()
    hint = "aidge-build tune MODEL --board B --out costs.toml measures one: --cost-table costs.toml"
    path = Path(arguments.cost_table) if arguments.cost_table else shipped_path(features, "--select cost", hint)
    table = table_at(path, features, arguments.optimize)
    return (None if table.quicker is not None and options.by_rows else table), (str(path),)


def _timing_table(board: Board | None, core: Core | None) -> tuple[TimingTable | None, tuple[str, ...]]:
    """The timing table of the core, and the files of the board, the core and the table."""
    machine, table = board or core, timing_of(core, board.multiplier_cycles if board else 1)
    return table, tuple(file for owner in (machine, table) if owner is not None for file in owner.files)


def find_libraries(folders: Iterable[Path]) -> dict[str, Path]:
    """Returns library folders by the name in library.toml: a user's folder hides a built-in library of the same name."""
    found: dict[str, Path] = {}
    for folder in (*folders, kernel_folder()):
        if not folder.is_dir():
            raise AidgeError("the kernel folder does not exist", where=str(folder), code="LIBRARY")
        candidates = [folder] if (folder / MANIFEST).is_file() else sorted(path.parent for path in folder.glob(f"*/{MANIFEST}"))
        if not candidates:
            raise AidgeError(
                "the kernel folder holds no library",
                where=str(folder),
                code="LIBRARY",
                hint=f"a file {MANIFEST} with the line 'name = \"mine\"' makes a folder a library",
            )
        for candidate in candidates:
            found.setdefault(_own_name(candidate), candidate)
    return found


def _own_name(folder: Path) -> str:
    """The name that a library gives itself; the folder's where that cannot be read, which loading it will complain about."""
    try:
        return manifest_name({MANIFEST: read_regular(folder / MANIFEST, LARGEST_KERNEL_FILE_BYTES)}, str(folder))
    except AidgeError:
        return folder.resolve().name


def _chosen_library(name: str, folders: Mapping[str, Path]) -> str:
    """Returns the name of the library with this name, or with a folder of this name."""
    if name in folders:
        return name
    for own, folder in folders.items():
        if folder.resolve().name == name:
            return own
    near = [f"did you mean {one}?" for one in difflib.get_close_matches(name, folders, 1)]
    hint = (*near, "`aidge-build list kernels` lists them; --kernel-path DIR names a folder of your own")[0]
    raise AidgeError(f"there is no library {name!r}", where="--lib", tried=sorted(folders), code="LIBRARY", hint=hint)


def default_libraries(folders: Mapping[str, Path], features: frozenset[str], core: Core | None = None) -> list[str]:
    """The libraries for a core that no board describes, or for any core (None).

    A library says in library.toml what it is made for (`default_for`). A library that needs more of the core's features comes
    earlier, libraries for every core come last: each takes the layers that the libraries before it do not know. Libraries without
    `default_for` are only taken if a user names them.
    """
    wanted = {
        name: default_features({MANIFEST: read_regular(folder / MANIFEST, LARGEST_KERNEL_FILE_BYTES)}, str(folder))
        for name, folder in folders.items()
    }
    able = {name: needs for name, needs in wanted.items() if needs is not None and needs <= features}
    return sorted(able, key=lambda name: -len(core.with_implied(able[name]) if core else able[name]))


def load_libraries(
    names: Sequence[str], folders: Mapping[str, Path], checkouts: Mapping[str, Path] | None = None
) -> tuple[tuple[Library, ...], list[str]]:
    """Returns the named libraries in this order, then the libraries that they need, and all paths that were read.

    A library that is only needed brings its files and no kernels. The paths are files, and folders, as a file may be added.
    """
    libraries, read = {}, []
    for name in (_chosen_library(name, folders) for name in names):
        libraries[name], paths = _load_library(name, folders, checkouts)
        read += paths
    waiting = [needed for library in libraries.values() for needed in library.needs]
    for needed in waiting:
        if needed not in libraries:
            library, paths = _load_library(_chosen_library(needed, folders), folders, None)
            libraries[needed] = replace(library, kernels=(), operators=())
            read += paths
            waiting += library.needs
    return tuple(libraries.values()), read


def _load_library(name: str, folders: Mapping[str, Path], checkouts: Mapping[str, Path] | None) -> tuple[Library, list[str]]:
    folder, outside = folders[name], list[Path]()
    library = _own_library(folder) if folder.parent == kernel_folder() else load_library(read_folder(folder), str(folder))
    places = [str(folder / path) for path in library.files]
    if library.checkout and checkouts is not None:
        place = checkouts.get(name) or checkouts.get(folder.resolve().name)
        if place is None:
            raise AidgeError(
                f"library {name} wraps kernels that are not part of it",
                where="--lib",
                code="LIBRARY",
                hint=f"add --checkout {name}=DIR with their source folder",
            )
        outside = sorted({path for pattern in library.checkout for path in place.glob(pattern)})
        sources = {f"checkout/{path.relative_to(place).as_posix()}": path for path in outside}
        read = {inside: read_regular(path, LARGEST_KERNEL_FILE_BYTES) for inside, path in sources.items()}
        library = load_library({**library.files, **read}, str(folder))
    return library, [*map(str, outside), *sorted({*places, *(os.path.dirname(place) or "." for place in places)})]


@cache
def _own_library(folder: Path) -> Library:
    return load_library(read_folder(folder), str(folder))  # it came with the tool: nothing changes it while the tool runs


def read_folder(folder: Path) -> dict[str, bytes]:
    """Every source file below a library's folder, by its relative path."""
    found = []
    for place, folders, names in os.walk(folder):
        folders[:] = filter(_is_source, folders)
        found += [Path(place, name) for name in filter(_is_source, names) if os.path.isfile(f"{place}/{name}")]
    return {path.relative_to(folder).as_posix(): read_regular(path, LARGEST_KERNEL_FILE_BYTES) for path in sorted(found)}


def _is_source(name: str) -> bool:
    return not name.startswith((".", "__pycache__"))
