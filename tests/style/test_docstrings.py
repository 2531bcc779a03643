# SPDX-License-Identifier: MIT
"""What is public says what it is: modules, classes, functions, methods and properties of the package."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from functools import cached_property
from types import FunctionType, ModuleType

import aidge_build

# Each verb has these two, which `aidge_build.cli` describes once; the verb's own text is its summary.
OF_VERBS = {"add_arguments", "run"}


def modules():
    for found in pkgutil.walk_packages(aidge_build.__path__, "aidge_build."):
        if not found.name.endswith("__main__"):
            yield importlib.import_module(found.name)


def members(owner: type):
    """(name, what holds the docstring) of the public methods and properties that the class itself defines."""
    for name, value in vars(owner).items():
        held = value.__func__ if isinstance(value, (classmethod, staticmethod)) else value
        is_borrowed = isinstance(held, FunctionType) and held.__name__ != name  # a function that stands in an attribute
        if not name.startswith("_") and isinstance(held, (FunctionType, property, cached_property)) and not is_borrowed:
            yield name, held


def says(owner: type, name: str) -> bool:
    """Whether the class or one of its bases, whose meaning an override keeps, has a docstring for this member."""
    found = (dict(members(base)).get(name) for base in owner.__mro__)
    return any(held is not None and held.__doc__ for held in found)


def silent(module: ModuleType):
    if not module.__doc__:
        yield module.__name__
    for name, value in vars(module).items():
        if name.startswith("_") or getattr(value, "__module__", None) != module.__name__:
            continue
        is_of_verb = module.__name__.startswith("aidge_build.cli.") and name in OF_VERBS
        if isinstance(value, FunctionType) and not value.__doc__ and not is_of_verb:
            yield f"{module.__name__}.{name}"
        if inspect.isclass(value):
            # dataclass writes a signature where there is no text
            if not inspect.getdoc(value) or (value.__doc__ or "").startswith(f"{value.__name__}("):
                yield f"{module.__name__}.{name}"
            yield from (f"{module.__name__}.{name}.{one}" for one, _ in members(value) if not says(value, one))


def test_everything_public_has_a_docstring_of_its_own_or_of_what_it_overrides():
    assert [name for module in modules() for name in silent(module)] == []


def test_what_says_nothing_is_found():
    module = ModuleType("aidge_build.invented", "A module.")
    source = "class A:\n '''A.'''\n def f(self): pass\nclass B(A):\n def f(self): pass\n def g(self): '''g.'''\ndef h(): pass"
    exec(source, vars(module))
    for value in (module.A, module.B, module.h):
        value.__module__ = module.__name__
    assert [name.removeprefix("aidge_build.invented.") for name in silent(module)] == ["A.f", "B.f", "h"]
