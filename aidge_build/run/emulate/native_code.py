# SPDX-License-Identifier: MIT
"""Compiles the C parts of this package (block hook, QEMU plug-in) at first use and keeps them in a cache of the user."""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path

from aidge_build.base.errors import AidgeError
from aidge_build.run.toolchain.build import build_shared_library
from aidge_build.run.toolchain.compiler import find_host_compiler

_SOURCES = Path(__file__).parent


def shared_library(name: str, fallback_folder: Path) -> Path | None:
    """Returns the shared library made of `name`.c; None if this machine has no usable C compiler.

    The library is kept in the user's cache folder under the hash of its source, or in `fallback_folder` if that is not writable.
    """
    compiler = find_host_compiler()
    if compiler is None:
        return None
    source = _SOURCES / f"{name}.c"
    parts = [source, *sorted(_SOURCES.glob("*.h"))]
    digest = hashlib.sha256(b"".join(part.read_bytes() for part in parts) + compiler.c.encode()).hexdigest()[:16]
    for folder in (_cache_folder(), fallback_folder):
        library = folder / f"{name}-{digest}.so"
        if library.is_file():
            return library
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=folder) as temporary:
                built = build_shared_library(compiler, source, Path(temporary) / library.name, _SOURCES)
                os.replace(built, library)
            return library
        except OSError:
            continue
        except AidgeError:
            return None
    return None


def _cache_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "aidge-build"
