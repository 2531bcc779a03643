# SPDX-License-Identifier: MIT
"""The targets of packages: each folder next to this file that has `package.toml` and templates is one."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files

from aidge_build.base.errors import AidgeError
from aidge_build.base.reading import require_shape, toml_of

DESCRIPTION = "package.toml"
GUIDE = "docs/packages.md, section 'A target of your own', lists the keys, the templates and their values"
_COMMON = "common"  # templates of all targets
_SHAPE = {
    "title": str,
    "use": str,
    "tool?": str,
    "archive?": str,
    "top?": str,
    "sources?": str,
    "plan?": str,
    "hidden?": [str],
    "languages?": [str],
    "only?": dict,
    "files?": dict,
}


@dataclass(frozen=True)
class Target:
    """The parts of a package, by the keys of `package.toml`: docs/packages.md explains each."""

    name: str
    title: str
    use: str
    tool: str = ""
    archive: str = ""
    top: str = ""
    sources: str = ""
    plan: str = ""
    hidden: tuple[str, ...] = ()
    languages: tuple[str, ...] = ("c", "c++")
    only: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_experimental(self) -> bool:
        """Whether no tool of the ecosystem has taken such a package."""
        return not self.tool

    @property
    def read(self) -> Callable[[str], str | None]:
        """Gives the text of a template by its name: the target's own, or else the one of all targets."""
        return _reader(self.name)


def targets() -> tuple[str, ...]:
    """The names of all targets, sorted."""
    return tuple(sorted(_name_of(each.name) for each in files(__package__).iterdir() if each.joinpath(DESCRIPTION).is_file()))


@cache
def load_target(name: str) -> Target:
    """Returns the target of this name; AidgeError with the list if there is none."""
    known = targets()
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        raise AidgeError(
            f"there is no package for {name!r}",
            where="--for",
            tried=known,
            code="USAGE",
            hint=f"did you mean {near[0]!r}?" if near else "name one of these; plain is C for any build",
        )
    where = f"packages/{_folder_of(name)}/{DESCRIPTION}"
    values = toml_of(files(__package__).joinpath(_folder_of(name), DESCRIPTION).read_bytes(), where, "LIBRARY")
    require_shape(values, _SHAPE, where, "LIBRARY", GUIDE)
    lists = {key: tuple(values[key]) for key in ("hidden", "languages") if key in values}
    return Target(name, **{**values, **lists})


def _name_of(folder: str) -> str:
    return folder.replace("_", "-")


def _folder_of(name: str) -> str:
    return name.replace("-", "_")


@cache
def _reader(target: str) -> Callable[[str], str | None]:
    """Returns a reader of templates, one for each target, so that each template is parsed once."""

    def read(path: str) -> str | None:
        places = (files(__package__).joinpath(folder, f"{path}.j2") for folder in (_folder_of(target), _COMMON))
        return next((place.read_text(encoding="utf-8") for place in places if place.is_file()), None)

    return read
