# SPDX-License-Identifier: MIT
"""Text from a template: the only importer of jinja2."""

from __future__ import annotations

import contextlib
import html
from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from aidge_build.base.errors import AidgeError, printable
from aidge_build.base.kept_code import kept_code

if TYPE_CHECKING:  # most commands that could write a page write none, and jinja2 is a tenth of a second
    import jinja2

_OURS: dict[str, Any] = {"trim_blocks": True, "lstrip_blocks": True}


@cache
def _environment(is_foreign: bool = False) -> jinja2.Environment:
    """Returns the environment. Block tags leave no line, except in foreign templates; a missing name is an error, never an empty
    string."""
    import jinja2

    return jinja2.Environment(
        undefined=jinja2.StrictUndefined, keep_trailing_newline=True, autoescape=False, **({} if is_foreign else _OURS)
    )


def escaped(text: str) -> str:
    """`text` on a page: neither markup nor, for whoever shows the file on a terminal, control sequences."""
    return html.escape(printable(text, None))


def render(template_text: str, **values) -> str:
    """The text of `template_text` with `values` filled in; an unknown name or a broken template is an AidgeError (TEMPLATE)."""
    with _named_errors():
        return _parsed(template_text).render(**values)


@cache
def _parsed(template_text: str) -> jinja2.Template:
    """The template, which takes longer to parse than to fill in."""
    return _environment().from_string(template_text)


def render_parts(
    read: Callable[[str], str | None], name: str, values: Mapping[str, object], place: Callable[[str], str] | None = None
) -> str:
    """Returns the text of the template `name`, which may include others; `read` gives the same text for a name each time, None if
    there is none. With `place`, which names the file of a template, later processes reuse the parsed one. Errors as `render`."""
    with _named_errors():
        return _reading(read, place).get_template(name).render(**values)


@cache
def _reading(read: Callable[[str], str | None], place: Callable[[str], str] | None) -> jinja2.Environment:
    """An environment that keeps what it has parsed: a template takes longer to parse than to fill in."""
    import jinja2

    class Kept(jinja2.FunctionLoader):
        def load(self, environment, name, globals=None):
            text = self.get_source(environment, name)[0]
            content = f"{jinja2.__version__} {_OURS} {name}\0{text}".encode()
            code = kept_code(place(name), content, lambda: environment.compile(text, name))
            return environment.template_class.from_code(environment, code, globals or {})

    return _environment().overlay(loader=Kept(read) if place else jinja2.FunctionLoader(read))


def render_from(read: Callable[[str], str | None], name: str, values: Mapping[str, object]) -> str:
    """The text of a library's template `name`, which may include others; `read` gives their texts, None where there is none.

    Whitespace is Jinja's own default, as in the systems that such templates were written for: a block tag leaves an empty line.
    """
    import jinja2

    with _named_errors():
        return _environment(is_foreign=True).overlay(loader=jinja2.FunctionLoader(read)).get_template(name).render(**values)


def names_in(read: Callable[[str], str | None], name: str) -> set[str]:
    """Returns the names that a library's template `name` and its included templates expect from outside. Errors as `render`."""
    from jinja2 import meta

    found, waiting, seen = set[str](), [name], set[str]()
    with _named_errors():
        while waiting:
            part = waiting.pop()
            text = None if part in seen else read(part)
            seen.add(part)
            if text is not None:
                tree = _environment(is_foreign=True).parse(text)
                found |= meta.find_undeclared_variables(tree)
                waiting += [other for other in meta.find_referenced_templates(tree) if other]
    return found


@contextlib.contextmanager
def _named_errors():
    import jinja2

    try:
        yield
    except jinja2.TemplateNotFound as error:
        raise AidgeError(f"the template includes '{error.name}', which is not there", code="TEMPLATE") from error
    except jinja2.TemplateSyntaxError as error:
        raise AidgeError(f"line {error.lineno} of the template: {error.message}", code="TEMPLATE") from error
    except jinja2.UndefinedError as error:
        raise AidgeError(f"the template uses a name that it is not given: {error.message}", code="TEMPLATE") from error
