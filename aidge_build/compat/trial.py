# SPDX-License-Identifier: MIT
"""Kernels of libraries that cannot be changed, tried before they are taken: a kernel that is wrong for a layer does not get it.

No condition finds a fault that a template does not show: a sum of floats in an integer, an index that leaves an array, height and
width that are exchanged. So the model is compiled for this machine with the compiler's checks of addresses and undefined
behaviour, run on random inputs, and compared layer by layer with the numpy backend, each layer on the inputs that it had.
"""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

from aidge_build.base.errors import AidgeError
from aidge_build.boards import load_board
from aidge_build.build.compile import bands_of, demands_of, make_program
from aidge_build.build.inputs import default_libraries, find_libraries
from aidge_build.build.request import CompileRequest
from aidge_build.compat.libraries import libraries_of
from aidge_build.contract.library import Library
from aidge_build.graph.view import GraphView
from aidge_build.plan.options import Options
from aidge_build.plan.planning import Planning
from aidge_build.plan.program import Program
from aidge_build.prepare.adaptation.adapt import adapt_to_backend
from aidge_build.prepare.adaptation.assignment import Assignment
from aidge_build.prepare.adaptation.match import Target, title
from aidge_build.run.verify.compare import compare
from aidge_build.run.verify.firmware import execute
from aidge_build.run.verify.layers import meanings
from aidge_build.run.verify.vectors import Vectors, random_vectors

_CHECKS = ("-O0", "-fexceptions", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
_MOST_TRIALS = 8
_ENDED, _NOT_COMPILED = "ended", "not compiled"
Entry = tuple[str, str]  # a node's name, and the title of its kernel


def after_trial(view: GraphView, libraries: Sequence[Library], names: Collection[str], target: Target) -> Target:
    """The target under which the libraries of these names get only layers that their kernels compute right on this machine.

    Code that this machine cannot compile (assembly or headers of another core, no compiler) is not tried, and taken as it is.
    """
    own = {library.name for library in libraries}
    # The libraries for every core: where a kernel fails and nothing else computes its layer.
    portable = libraries_of(default_libraries(find_libraries([]), frozenset()))
    known = (*libraries, *(library for library in portable if library.name not in own))
    for _ in range(_MOST_TRIALS):
        assignment = adapt_to_backend(view, known, target)
        tried = frozenset(
            (node, title(choice.kernel))
            for node, choice in assignment.choices.items()
            if choice.kernel is not None and choice.kernel.library in names
        )
        wrong = _wrong(view, known, assignment, tried, target) if tried else frozenset()
        if not wrong:
            break
        target = replace(target, failed=target.failed | wrong)
    return target


def _wrong(
    view: GraphView, libraries: tuple[Library, ...], assignment: Assignment, tried: frozenset[Entry], target: Target
) -> frozenset[Entry]:
    """Returns the tried kernels that are wrong, each at its node. If the whole program gives no results, each kernel is tried
    without the others."""
    found = _differing(assignment, libraries, target)
    kernels = sorted({kernel for _, kernel in tried})
    if isinstance(found, frozenset):
        return found & tried
    if len(kernels) == 1:
        return tried if found == _ENDED else frozenset()
    wrong = frozenset[Entry]()
    for kernel in kernels:
        own = frozenset(entry for entry in tried if entry[1] == kernel)
        alone = replace(target, failed=target.failed | (tried - own))
        assignment = adapt_to_backend(view, libraries, alone)
        taken = frozenset((node, title(one.kernel)) for node, one in assignment.choices.items() if one.kernel is not None) & own
        wrong |= _wrong(view, libraries, assignment, taken, alone) if taken else frozenset()
    return wrong


def _differing(assignment: Assignment, libraries: tuple[Library, ...], target: Target) -> frozenset[Entry] | str:
    """Returns the layers with outputs that differ from the numpy backend's, from equal inputs; a word if there are no outputs."""
    request = CompileRequest("trial", b"", "trial", libraries, {}, target, "host")
    planning = Planning(assignment, cache(partial(demands_of, assignment)), Options(), bands_of(request))
    program = make_program(request, *planning.on(None), ())
    vectors = random_vectors(program.view, 1, seed=0)
    with tempfile.TemporaryDirectory() as folder:
        try:
            trace = execute(program, load_board("host"), vectors, Path(folder), trace=True, flags=_CHECKS).trace
        except AidgeError as error:
            return _ENDED if error.code == "RUN" else _NOT_COMPILED
    return _differing_layers(program, meanings(program.view, vectors, trace), trace)


def _differing_layers(program: Program, meant: Vectors, trace: Vectors) -> frozenset[Entry]:
    return frozenset(
        (layer.node.name, title(layer.kernel))
        for layer in program.layers
        for tensor in layer.outputs
        if not compare(tensor.name, trace[tensor.name], meant[tensor.name]).within
    )
