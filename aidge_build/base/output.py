# SPDX-License-Identifier: MIT
"""The one place that writes and removes generated files: only where their content differs, and never half of one."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from aidge_build.base.errors import AidgeError
from aidge_build.base.naming import counted
from aidge_build.base.reading import LARGEST_TEXT_BYTES, fits, json_of, read_regular
from aidge_build.base.source_files import Sources


def write_sources(
    sources: Sources,
    folder: Path,
    *,
    depfile: Path | None = None,
    stamp: Path | None = None,
    dependencies: Iterable[Path | str] = (),
) -> tuple[str, ...]:
    """Writes the files that differ; returns lines that say why code changed although the model's layers did not.

    `depfile` gets the `dependencies` in Make syntax, with `stamp` or else the files as the target; `stamp` is always touched.
    AidgeError (code WRITE) names the file that cannot be written; then no new content is in the folder.
    """
    manifest_name = next((name for name in sources.files if name.endswith(".plan.json")), "")
    explained: tuple[str, ...] = ()
    if manifest_name and _content(folder / _code_file(sources.manifest)) != sources.files[_code_file(sources.manifest)]:
        explained = describe_change(_manifest_in(folder / manifest_name), sources.manifest)
    contents = {folder / name: data for name, data in sources.files.items()}
    if depfile is not None:
        contents[depfile] = depfile_text([stamp] if stamp is not None else list(contents), dependencies).encode()
    write_files(contents)
    if stamp is not None:
        _touch(stamp)
    return explained


def compare_sources(sources: Sources, folder: Path) -> dict[str, bool]:
    """Returns the names of the files in `folder` that differ from `sources`, and whether each is there at all."""
    contents = {name: (_content(folder / name), data) for name, data in sources.files.items()}
    return {name: there is not None for name, (there, data) in contents.items() if there != data}


def depfile_text(targets: Iterable[Path | str], dependencies: Iterable[Path | str]) -> str:
    """One rule in the syntax that make, ninja and SCons read."""
    wanted = " \\\n ".join(_make_path(path) for path in sorted({os.fspath(path) for path in dependencies}))
    return f"{' '.join(_make_path(os.fspath(path)) for path in targets)}: {wanted}\n"


def _make_path(path: str) -> str:
    if "\n" in path or "\r" in path:
        raise AidgeError("a depfile cannot hold a path with a line break", where=path, code="WRITE")
    for character in "# ":
        path = path.replace(character, "\\" + character)
    return path.replace("$", "$$")


def write_files(contents: Mapping[Path, bytes]) -> None:
    """Writes the files that differ: all contents into temporary files first, then every file into its place."""
    contents = {path: data for path, data in contents.items() if _content(path) != data}
    written: list[tuple[Path, Path]] = []
    path = Path()
    try:
        for path, data in contents.items():
            if path.exists() and not path.is_file():  # a new file would take the name of a device or pipe from it
                raise OSError(None, "is a folder" if path.is_dir() else "is no regular file")
            path.parent.mkdir(parents=True, exist_ok=True)
            temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
            written.append((temporary, path))
            with open(temporary, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
        for temporary, path in written:
            os.replace(temporary, path)
    except OSError as error:
        raise _refusal(path, error) from error
    finally:
        for temporary, _ in written:
            # A file system that takes no file (read-only) cannot remove it either: the first refusal is the true one.
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)


def remove_file(path: Path) -> None:
    """Removes a file that must not stay, if it is there; AidgeError (code WRITE) if the file system does not allow it."""
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise _refusal(path, error, "removed") from error


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes() if path.is_file() else None  # a device or pipe may have no end
    except OSError:  # whatever the reason is, writing will meet it again and say it
        return None


def _touch(path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "wb"):
            pass
        os.utime(path)
    except OSError as error:
        raise _refusal(path, error) from error


def _refusal(path: Path, error: OSError, done: str = "written") -> AidgeError:
    return AidgeError(
        f"cannot be {done}: {error.strerror or error}", where=str(path), code="WRITE", hint="check space, permissions and --out"
    )


_OLD: dict = {"files": {}, "layers": [{"inputs?": [{}], "outputs?": [{}]}]}  # what is looked at in it


def _manifest_in(path: Path) -> dict:
    """The manifest of the last time, {} when there is none that can be read."""
    try:
        manifest = json_of(read_regular(path, LARGEST_TEXT_BYTES), str(path), "WRITE", "")
    except AidgeError:
        return {}
    return manifest if fits(manifest, _OLD) else {}


MOST_LINES = 4  # of one explanation
LONGEST_NAME = 60  # of a layer in it


def describe_change(old: dict, new: dict) -> tuple[str, ...]:
    """Returns why the code file changed although the layers are the same: a line per layer, such as
    "kws.c changed: layer Conv_3: kernel changed (a -> b)". Nothing when the layers differ, too: that is no surprise."""
    code = _code_file(new)
    if old.get("files", {}).get(code) in (None, new["files"][code]) or _topology(old) != _topology(new):
        return ()
    lines = []
    pairs = list(zip(old["layers"], new["layers"], strict=True))
    if any(before.get("channels_removed") != after["channels_removed"] for before, after in pairs):
        count = sum(before.get("code_sha256") != after["code_sha256"] for before, after in pairs)
        return (f"code of {counted(count, 'layer')} changed with the weights (constant channels); update='weights' avoids that",)
    for before, after in pairs:
        reason = _reason(before, after)
        if reason:
            lines.append(f"{code} changed: layer {after['name'][:LONGEST_NAME]}: {reason}")
    if len(lines) > MOST_LINES:
        lines[MOST_LINES - 1 :] = [
            f"{code} changed: {len(lines) - MOST_LINES + 1} more layers (see their notes in {new['model']}.plan.json)"
        ]
    return tuple(lines) or (f"{code} changed: the text of kernels, arena or options",)


def _code_file(manifest: dict) -> str:
    return next(name for name in (f"{manifest['model']}.cpp", f"{manifest['model']}.c") if name in manifest["files"])


def _topology(manifest: dict) -> list[tuple]:
    return [(layer.get("name"), layer.get("op")) for layer in manifest.get("layers", [])]


def _reason(before: dict, after: dict) -> str:
    """The first difference that explains a changed layer function."""
    if before.get("code_sha256") == after["code_sha256"]:
        return ""
    for key, word in (("kernel", "kernel"), ("library", "library"), ("note", "proof")):
        if before.get(key) != after[key]:
            return f"{word} changed ({before.get(key) or 'none'} -> {after[key] or 'none'})"
    for key, word in (("dims", "shape"), ("format", "format"), ("dtype", "type"), ("place", "memory")):
        if _field(before, key) != _field(after, key):
            return f"{word} changed"
    return "arguments changed"


def _field(layer: dict, key: str) -> list:
    return [tensor.get(key) for side in ("inputs", "outputs") for tensor in layer.get(side, [])]
