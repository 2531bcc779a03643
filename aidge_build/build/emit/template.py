# SPDX-License-Identifier: MIT
"""The templates of the generated files, by name."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from aidge_build.base.render import render_parts
from aidge_build.base.version import VERSION

_TEMPLATES = files("aidge_build.base") / "templates"


@cache
def _text(name: str) -> str:
    return _TEMPLATES.joinpath(f"{name}.j2").read_text(encoding="utf-8")


def _place(name: str) -> str:
    return str(_TEMPLATES / f"{name}.j2")


def render_file(template: str, /, **values) -> str:
    """The text of a generated file; `template` is its name ("model.c"). `version` is the tool's."""
    return render_parts(_text, template, {"version": VERSION, **values}, _place)
