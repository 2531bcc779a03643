# SPDX-License-Identifier: MIT
"""The errors that a user sees: where, what, what was tried, and a hint."""

from __future__ import annotations

import os
import sys
import unicodedata
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, NoReturn

EXIT_CHECK_FAILED = 1
EXIT_BAD_INPUT = 2
EXIT_MISSING = 3
EXIT_OUR_FAULT = 70  # EX_SOFTWARE of sysexits.h


_CHECKED = "onnx.checker.check_model(model, full_check=True) says where a file contradicts itself; export the model again"
_OUR_FAULT = "this is a fault of aidge-build: report it with the files that show it"
_LIBRARY = "docs/kit.md describes a library; the fault is in its files, or in their names"
_EXPORT_API = "docs/export-api.md describes each call of the export API"
# The hint of an error code, for errors that are raised without a hint.
HINTS = {
    "BENCH": "docs/benchmarks.md describes the measurements",
    "BIND": "--bind NAME=NUMBER gives the size of a symbolic dimension, or the constant value of an input",
    "BOARD": "the files in boards/ are examples of every key",
    "CALIBRATION": "docs/quantization.md describes calibration data",
    "CALIBRATIONS": "aidge-build bench --calibrate writes such a file; docs/probes.md describes it",
    "COMPILE": "read the compiler's own message; aidge-build doctor lists the tools that were found",
    "COST": "aidge-build tune MODEL --board B --out FILE measures and writes such a table",
    "DIMS": "the shapes must follow the rules of ONNX; export the model with static shapes",
    "ELF": "name the program that the linker wrote for the target",
    "EXTERNAL": "save the model again: onnx.save_model(model, file, save_as_external_data=True)",
    "FLASH": "aidge-build check ELF prints the details",
    "FOLD": "make it smaller, or compute it before the model is exported",
    "FRONTEND": "docs/frontend.md lists the parameters, and their combinations",
    "GRAPH": _CHECKED,
    "INPUT": "check the files that the command names",
    "KERNEL": "aidge-build list kernels prints the accepted layers; name another with --lib, or write a kernel (docs/kit.md)",
    "LIBRARY": _LIBRARY,
    "LINK": "run the link command by itself, and read its message",
    "LINK_HEADER": "generate the model again and compile everything that includes its header",
    "LINK_OVERFLOW": "docs/howto-shrink.md lists what needs less RAM and flash; aidge-build report ELF shows where the bytes are",
    "MODEL": _CHECKED,
    "MODEL_FILE": "name the file that the exporter wrote, and check that it was copied whole",
    "NOTE": "link the program again with what this version generates",
    "OPERATOR": "onnx.ai/onnx/operators defines the operator; aidge-build list operators NAME describes what is supported",
    "PATTERN": "docs/kit.md describes patterns",
    "PLAN02": _OUR_FAULT,
    "PLAN03": _OUR_FAULT,
    "PLAN04": "a smaller model, a board with more flash, or int8 instead of float32",
    "PLAN_FILE": "name a plan or problem that aidge-build explain --plan describes",
    "PROBE": "docs/probes.md lists the requirements on a debug probe, its server and the board",
    "QUANTIZATION": "scales are positive finite numbers, with one zero point each; quantize the model again",
    "RANGE": "choose scales that are closer to each other, or smaller sums",
    "REGISTRY": _EXPORT_API,
    "REPORT": "aidge-build report --help names the verb that writes each file",
    "ROUNDING": "--rounding onnx computes it; docs/tflite.md lists what the contract of TensorFlow Lite covers",
    "RUN": "run it with --folder DIR and look at what it reads and writes there; is it linked for this board?",
    "SBOM": "name the N.plan.json that `compile` wrote, in the folder with its other files, or generate the model again",
    "SCHEMA": _CHECKED,
    "STATE": "use --state OUTPUT=INPUT with the same dims and type (docs/c-api.md)",
    "SEMIHOSTING": "link the program with --specs=rdimon.specs, or for another board",
    "SERIAL": "docs/howto-serial.md lists the requirements on the firmware and on the line",
    "SPEC": "docs/kit.md describes specs",
    "TEMPLATE": "docs/export-api.md lists the names that a template gets",
    "TENSOR": _CHECKED,
    "TOOLCHAIN": "aidge-build doctor lists what this machine lacks",
    "TRAINING": "docs/kit.md describes training",
    "TYPE": "cast it to a type that is supported before the model is exported",
    "TEXT": "docs/classic.md describes the words of a model that can be numbers in firmware",
    "TUNE": "docs/tune.md describes the measurements",
    "USAGE": "aidge-build VERB --help lists the words of a verb",
    "VECTORS": "numpy.savez(file, x=inputs, y=outputs) writes such a file: one array for each, the vectors first",
    "VERSION": "export the model for a version in that range",
    "WRITE": "choose another folder with --out",
}


class AidgeError(Exception):
    """A refusal with a reason; prints as one line, and ends the command with `exit_code`.

    `where` names the file, node and operator; `what` the fact; `tried` the alternatives that were rejected;
    `hint` the next step (by default the hint of its `code`); `code` is a stable identifier for scripts (`IMPORT`, `PLAN01`, ...).
    """

    exit_code = EXIT_BAD_INPUT

    def __init__(self, what: str, *, where: str = "", tried: Sequence[str] = (), hint: str = "", code: str = "INPUT"):
        super().__init__(what)
        self.what = what
        self.where = where
        self.tried = tuple(tried)
        self.hint = hint or HINTS.get(code, "")
        self.code = code

    def within(self, where: str) -> AidgeError:
        """The same error, seen from further outside: `where` is put in front."""
        if not self.where.startswith(where):
            self.where = f"{where}: {self.where}" if self.where else where
        return self

    def __str__(self) -> str:
        text = f"{self.where}: {self.what}" if self.where else self.what
        if self.tried:
            text = f"{text.rstrip('.')}. Tried: {'; '.join(self.tried)}"
        return f"{printable(text.rstrip('.'))}. Hint: {printable(self.hint)}" if self.hint else printable(text)

    def as_json(self) -> dict:
        """The error object of `--json`."""
        return {
            "code": self.code,
            "where": printable(self.where),
            "what": printable(self.what),
            "tried": [printable(text) for text in self.tried],
            "hint": printable(self.hint),
        }


class CheckFailed(AidgeError):
    """Something that was built does not keep its promise (exit code 1)."""

    exit_code = EXIT_CHECK_FAILED


class MissingTool(AidgeError):
    """A program or package that this machine lacks (exit code 3)."""

    exit_code = EXIT_MISSING


class InternalError(AidgeError):
    """An internal error: a fault of aidge_build itself (exit code 70)."""

    exit_code = EXIT_OUR_FAULT


def needs_option(option: str, needed: str) -> AidgeError:
    """Returns the error for `--option` without `needed`, the words that the user must type, such as "--replay DUMP"."""
    words = needed.split(" ")[0]
    return AidgeError(
        f"works only with {words}", where=f"--{option.replace('_', '-')}", code="USAGE", hint=f"leave it out, or add {needed}"
    )


def internal_error(error: BaseException) -> InternalError:
    """Returns the InternalError for an exception that should not have happened."""
    refused = InternalError(
        f"{failure(error)}; that is a fault of aidge-build, whatever is in your files",
        where=": ".join(["internal error", *getattr(error, "__notes__", ())]),
        hint="report it to whom you have aidge-build from, with the command, its files, and what AIDGE_DEBUG=1 shows",
        code="INTERNAL",
    )
    refused.__cause__ = error
    return refused


Words = str | Callable[[], str]  # most are never shown: a function makes the text of a node only when it is shown


def _said(words: Words) -> str:
    return words if isinstance(words, str) else words()


class located:
    """Adds the place to each AidgeError that is raised inside, and as a note to any other exception, such as one that a user's
    operator raises. It is a class because that is fast: every node passes a dozen times."""

    def __init__(self, where: Words):
        self._where = where

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if isinstance(error, AidgeError):
            error.within(_said(self._where))
        elif isinstance(error, Exception):
            error.add_note(f"at {_said(self._where)}")


class plugged_in:
    """Runs code of a plug-in, which may raise anything: any other exception becomes an AidgeError with `what` as its subject.
    Every AidgeError gets the place `inside`, if that is given.

    A plug-in that ends the program (`sys.exit`, `os._exit`) is refused like one that fails: with exit code 0 a build would go on
    with the files of the last time. Only the user's interrupt passes, and then says what was interrupted: it may never end.
    `os._exit` is an exception meanwhile, but in processes that the code inside forks.
    """

    def __init__(self, what: Words, where: str = "", code: str = "LIBRARY", inside: Words = ""):
        self._what, self._where, self._code, self._inside = what, where, code, inside

    def __enter__(self) -> None:
        self._leave, self._process = os._exit, os.getpid()
        os._exit = _SYSTEM._exit = self._refuse  # type: ignore[assignment]

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        os._exit = _SYSTEM._exit = self._leave
        if error is None:
            return
        if isinstance(error, AidgeError):
            error.within(_said(self._inside))
        elif isinstance(error, KeyboardInterrupt):
            error.args = error.args or (f"{_said(self._what)}{_place(error)}",)
        elif isinstance(error, Exception | SystemExit):
            is_ours = isinstance(error, ImportError) and (error.name or "").startswith("aidge_build")
            hint = "docs/stability.md says which names stay" if is_ours else "AIDGE_DEBUG=1 shows the traceback"
            what = f"{_said(self._what)} {failure(error)}"
            raise AidgeError(what, where=self._where, code=self._code, hint=hint).within(_said(self._inside)) from error

    def _refuse(self, status: int) -> NoReturn:
        if os.getpid() != self._process:
            self._leave(status)
        raise SystemExit(status)


_SYSTEM: Any = sys.modules[os.name]  # posix or nt, where `os` has the function from


def failure(error: BaseException) -> str:
    """Returns an exception's text and the line of the file that raised it: "raised ValueError: no (mine.py, line 3)"."""
    if isinstance(error, SystemExit):
        return f"ended the program with {error.code!r}{_place(error)}"
    text = str(error)
    return f"raised {type(error).__name__}{': ' if text else ''}{text}{_place(error)}"


def _place(error: BaseException) -> str:
    last = error.__traceback__
    while last is not None and last.tb_next is not None and last.tb_next.tb_frame.f_code.co_filename != __file__:
        last = last.tb_next
    return "" if last is None else f" ({os.path.basename(last.tb_frame.f_code.co_filename)}, line {last.tb_lineno})"


def printable(text: str, limit: int | None = 4000) -> str:
    """`text` on one line, safe for a terminal: control and formatting characters are escaped, long text is cut."""
    if limit is not None and len(text) > limit:
        text = f"{text[:limit]}... ({len(text)} characters)"
    return (
        "".join(
            character
            if unicodedata.category(character)[0] != "C"
            else character.encode("unicode_escape", "surrogatepass").decode()
            for character in text
        )
        .replace("\u2028", "\\u2028")
        .replace("\u2029", "\\u2029")
    )
