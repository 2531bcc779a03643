# SPDX-License-Identifier: MIT
"""The verb `package`: a model as what a user of an ecosystem imports."""

from __future__ import annotations

import argparse
from pathlib import Path

from aidge_build.base.errors import AidgeError
from aidge_build.base.machine import CROSS_COMPILER
from aidge_build.base.naming import counted
from aidge_build.base.npz import read_npz
from aidge_build.base.options import FILES, add_options
from aidge_build.base.output import remove_file, write_files
from aidge_build.base.reading import fits, json_of
from aidge_build.build.inputs import add_model_arguments, load
from aidge_build.cli.outcome import Outcome
from aidge_build.measure.bench.image import make_image
from aidge_build.measure.packages import Package, Publication, load_target, make_package, targets
from aidge_build.measure.packages.archive import names_in
from aidge_build.measure.packages.making import list_path
from aidge_build.measure.packages.target import Target

EXAMPLES = (
    ("package kws.onnx --for arduino --cpu cortex-m4 --out packages", "a library for the Arduino IDE"),
    ("package kws.onnx --for plain --cpu cortex-m0plus --out packages", "C that any build takes"),
    ("package kws.onnx --for bench-image --board rp2040 --out images", "a program that measures the model on your board"),
)
COMMON = ("name", "for", "release", "author", "url", "io-data", "board", "cpu", "io", "ram-budget", "optimize", "quantize")
ANY_CORE = "generic"
IMAGE = "bench-image"
_LIST = {"target": str, "model": str, "files": [str]}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_model_arguments(parser)
    add_options(parser, FILES)
    known = [load_target(name) for name in targets()]
    experimental = [target.name for target in known if target.is_experimental]
    about = "; ".join(f"{target.name}: {target.title}" for target in known)
    about += f"; {IMAGE}: a program for --board that prints its cycles on the serial port (docs/howto-measure.md)"
    parser.add_argument(
        "--for",
        dest="target",
        required=True,
        metavar="TARGET",
        type=lambda word: word if word == IMAGE else load_target(word).name,
        choices=(*targets(), IMAGE),
        help="ecosystem that imports the package: "
        + about
        + (f" (experimental, not yet tried in a build of that ecosystem: {', '.join(experimental)})" if experimental else ""),
    )
    unnamed = Publication()
    parser.add_argument(
        "--release",
        default=unnamed.release,
        metavar="A.B.C",
        help=f"version of the package (default: {unnamed.release})",
    )
    parser.add_argument(
        "--author",
        default=unnamed.author,
        metavar="NAME",
        help="publisher of the package, perhaps with <mail@address> (default: none)",
    )
    parser.add_argument("--url", default=unnamed.url, help="page of the package, for manifests that want one (default: none)")
    parser.add_argument(
        "--io-data", metavar="F.npz", help="inputs of the self-test, x or x_<input> (default: seeded ones, which need no flash)"
    )


def run(arguments: argparse.Namespace) -> Outcome:
    if arguments.target == IMAGE:
        return _image(arguments)
    target = load_target(arguments.target)
    if not arguments.board and not arguments.cpu:
        arguments.cpu = ANY_CORE  # whoever imports it compiles for a core that nobody has named
    publication = Publication(arguments.release, arguments.author, arguments.url)
    request = load(arguments, arguments.name or Path(arguments.model).stem)
    vectors = read_npz(Path(arguments.io_data)) if arguments.io_data else None
    try:
        package = make_package(request, target, publication, vectors)
    except AidgeError as error:
        raise error.within(arguments.io_data) if error.code == "VECTORS" and arguments.io_data else error
    folder = Path(arguments.out)
    place = folder / package.name
    outdated = _replaced(place, package, target, request.name)
    base = folder if package.is_archive else place
    write_files({base / path: data for path, data in sorted(package.files.items())})
    for path in outdated:
        remove_file(place / path)
    notices = [
        f"{Path(request.file_name).name}: {notice}" for notice in (*package.manifest.get("notices", ()), *package.conversions)
    ]
    size = sum(map(len, package.files.values()))
    what = f"{size:,} B" if package.is_archive else f"{counted(len(package.files), 'file')}"
    experimental = " (experimental)" if target.is_experimental else ""
    done = f"{place}: {target.title}{experimental}, {what}, arena {package.manifest['arena_bytes']:,} B. Now: {target.use}"
    return Outcome(
        [*notices, done],
        {
            "package": str(place),
            "target": target.name,
            "experimental": target.is_experimental,
            "files": sorted(package.files),
            "arena_bytes": package.manifest["arena_bytes"],
        },
    )


def _image(arguments: argparse.Namespace) -> Outcome:
    """Writes the files of a bench image, which are called after the model and the board."""
    unnamed = Publication()
    given = {key: getattr(arguments, key) for key in ("release", "author", "url", "io_data")}
    known = {"release": unnamed.release, "author": unnamed.author, "url": unnamed.url, "io_data": None}
    if wrong := next((key for key in given if given[key] != known[key]), ""):
        option = f"--{wrong.replace('_', '-')}"
        raise AidgeError(
            f"a {IMAGE} is no package, and makes its inputs itself", where=option, hint=f"leave out {option}", code="USAGE"
        )
    request = load(arguments, arguments.name or Path(arguments.model).stem)
    made = make_image(request, f"{CROSS_COMPILER.name} {CROSS_COMPILER.version()}")
    board = made.board
    paths = {ending: Path(arguments.out) / f"{request.name}_{board.name}{ending}" for ending in made.files}
    write_files({paths[ending]: data for ending, data in made.files.items()})
    first, *others = [str(paths[ending]) for ending in (".uf2", ".bin", ".hex") if ending in paths]
    lines = [
        f"{first}: a bench image for {board.title}, {made.flash_bytes:,} B of flash{''.join(f'; {other}' for other in others)}",
        f"Now: copy the file that your board takes to its drive; it prints on {made.port}, {board.serial.baud} baud, and "
        "aidge-build bench --calibrate --serial PORT reads it",
    ]
    data = {"files": sorted(map(str, paths.values())), "board": board.name, "port": made.port, "flash_bytes": made.flash_bytes}
    return Outcome(lines, data)


def _replaced(place: Path, package: Package, target: Target, model: str) -> list[str]:
    """The files of an older package of this model for this target that the new one has not; anything else is refused."""
    if package.is_archive:
        inside = {path.rpartition("/")[2] for path in _archived(place)}
        if place.exists() and not {Path(list_path(target, model)).name, f"{model}.h"} <= inside:
            raise _something_else(place)
        return []
    if not place.exists():
        return []
    if not place.is_dir():
        raise _something_else(place)
    if not any(place.iterdir()):
        return []
    try:
        data = (place / list_path(target, model)).read_bytes()
        old = json_of(data, str(place), "WRITE", "name another folder")
    except (OSError, AidgeError):
        raise _something_else(place) from None
    if not fits(old, _LIST) or (old["target"], old["model"]) != (target.name, model):
        raise _something_else(place)
    return [path for path in old["files"] if path not in package.files and _is_inside(path) and (place / path).is_file()]


def _archived(place: Path) -> frozenset[str]:
    try:
        return names_in(place.read_bytes())
    except OSError:
        return frozenset()


def _is_inside(path: str) -> bool:
    """Whether the path is inside of the package: the list of files is data, too, and nothing outside may be removed."""
    return not Path(path).is_absolute() and ".." not in Path(path).parts


def _something_else(place: Path) -> AidgeError:
    return AidgeError(
        "exists already, and is not such a package of this model",
        where=str(place),
        code="WRITE",
        hint="name another folder with --out, or remove it",
    )
