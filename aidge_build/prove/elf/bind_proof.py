# SPDX-License-Identifier: MIT
"""The proof about a model with replaceable weights: the firmware binds weights, or no inference ever runs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence

from aidge_build.prove.elf.callers import Callers
from aidge_build.prove.elf.claim import Claim
from aidge_build.prove.elf.findings import ERROR, NOTE, Finding, some_of
from aidge_build.prove.elf.image import Image
from aidge_build.prove.elf.program_code import Code


def check_bind(
    image: Image, claims: Sequence[Claim], code: Callable[[], Code | None], executed: Collection[int] | None = None
) -> Iterator[Finding]:
    """Yields MEM07 for each model without bound weights: N_run returns N_WEIGHTS and computes nothing. The severity is error if
    this is proved, and note if the program may bind in a way that the check does not read, or calls no function of the model.

    `code()` returns the program's code, or None if no tool of this machine reads it; it is called only if N_bind is linked.
    `executed` are the addresses of all instructions that may run, where they are known without it.
    """
    for claim in claims:
        if claim.update is None:
            continue
        name, prefix = claim.model, claim.model.upper()
        runs = next((function for function in claim.computing if image.symbol(function)), f"{name}_run")
        call = f"{name}_bind({'' if claim.arenas else '&instance, '}{name}_weights, {name}_weights_bytes)"
        hint = f"before the first {runs}: if ({call} != {prefix}_OK) {{ ... }}, or bind the block that {name}_newer returns"
        caller, doubt = _never_bound(image, claim, code, executed)
        if doubt:
            text = f"model {name}: it is not proved that the program calls {name}_bind: {doubt}"
            yield Finding("MEM07", NOTE, text, hint)
        elif caller:
            text = f"model {name}: {caller} calls {name}_bind, so {runs} returns {prefix}_WEIGHTS (4) and computes nothing"
            yield Finding("MEM07", ERROR, text, hint)


def _never_bound(
    image: Image, claim: Claim, code: Callable[[], Code | None], executed: Collection[int] | None
) -> tuple[str, str]:
    """Returns a text for the callers of N_bind if none of them runs, and the reason to doubt that; ("", "") if weights are bound
    or the code is not read."""
    bind = image.symbol(f"{claim.model}_bind")
    if bind is None:
        linked = [symbol for symbol in map(image.symbol, claim.functions) if symbol]
        is_merged = any(symbol.is_local for symbol in linked)  # link-time optimisation may put N_bind into a caller
        if not linked or is_merged and image.symbol(_variable(claim)):
            return "", ""
        return "nothing", "link-time optimisation left no such function" if is_merged else ""
    read = code()
    if read is None:
        is_run = executed is None or any(bind.holds(address) for address in executed)
        return ("", "") if is_run else ("nothing", "no code that runs calls it, unless the compiler put it into a caller")
    callers = Callers(read)
    dead = callers.dead(bind.address)
    if dead is None:
        return "", ""
    return _named(read, dead), _doubt(image, claim, callers, bind.address, dead)


def _doubt(image: Image, claim: Claim, callers: Callers, bind: int, dead: frozenset[int]) -> str:
    """Returns why N_bind may be called although no caller is seen, or why no call is needed; "" if it is never called and should
    be."""
    computing = [symbol.address for symbol in map(image.symbol, (*claim.computing, *claim.layers)) if symbol]
    if all(callers.dead(address) is not None for address in computing):
        return "nothing in it calls a function that computes, either"
    if not callers.has_begin:
        return "it has neither a vector table nor an entry point, so other programs may call its functions"
    variable = image.symbol(_variable(claim))
    users = callers.users(variable.address) if variable else ()
    if any(user is not None and not callers.code.name(user).startswith(f"{claim.model}_") for user in users):
        return "link-time optimisation may have put it into a caller"
    return callers.may_compute(bind, dead, claim.weights)


def _variable(claim: Claim) -> str:
    """Returns the name of the variable for the bound weights; an instance has no such variable."""
    return f"{claim.model}_bound"


def _named(code: Code, dead: frozenset[int]) -> str:
    """Returns `nothing`, or `only code that nothing reaches (old_update, test)`."""
    names = sorted(map(code.name, dead))
    return f"only code that nothing reaches ({some_of(names)})" if names else "nothing"
