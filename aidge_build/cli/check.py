# SPDX-License-Identifier: MIT
"""`aidge-build check`: proves that a linked program uses the memory that the plans promise."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from aidge_build.base.errors import EXIT_CHECK_FAILED, AidgeError
from aidge_build.base.naming import counted
from aidge_build.base.options import BUDGET, CHECK, add_options, options_named
from aidge_build.base.options.wording import as_typed
from aidge_build.base.output import write_files
from aidge_build.boards import Board, Region, load_board
from aidge_build.boards.cores import Core
from aidge_build.cli.given_plans import read_plan
from aidge_build.cli.kept_check import keep, kept, key_of
from aidge_build.cli.linked import (
    Memories,
    add_agreed_arguments,
    add_memory_arguments,
    add_objects_argument,
    cache_line_of,
    code_of,
    core_of,
    memories,
    stack_of,
)
from aidge_build.cli.longest import bound_data, bound_findings, bound_lines, step_bounds
from aidge_build.cli.outcome import Outcome
from aidge_build.prove.elf import Claim, Image, RegionUse, StackBound, StackUse, read_claims, read_image, region_use
from aidge_build.prove.elf.arena_proof import check_reach
from aidge_build.prove.elf.argument_addresses import argument_addresses
from aidge_build.prove.elf.bind_proof import check_bind
from aidge_build.prove.elf.cache_maintenance import check_maintenance
from aidge_build.prove.elf.code_proof import CodeProof, check_code
from aidge_build.prove.elf.concurrent_calls import check_concurrent
from aidge_build.prove.elf.contents import check_contents, rest_of
from aidge_build.prove.elf.copies import copies_in_map, copies_of_sources
from aidge_build.prove.elf.debug_info import defined_at
from aidge_build.prove.elf.device_proof import check_device
from aidge_build.prove.elf.dma_proof import check_dma
from aidge_build.prove.elf.findings import ERROR, RULES, Finding, in_order, lines_of
from aidge_build.prove.elf.image import Section
from aidge_build.prove.elf.link_map import UNDECLARED_HINT, undeclared_fact
from aidge_build.prove.elf.machine_proof import check_board
from aidge_build.prove.elf.objects import read_names, read_object
from aidge_build.prove.elf.planned_claims import with_planned
from aidge_build.prove.elf.proof import Plan, check_image, is_linked, keeps_plan, measure
from aidge_build.prove.elf.sarif import sarif_log
from aidge_build.prove.elf.script_proof import check_script
from aidge_build.prove.elf.stack_place import LEAST_BYTES, check_stack_place
from aidge_build.prove.elf.stack_proof import check_stack, way
from aidge_build.prove.elf.task_stacks import TaskStack, check_tasks, task_stacks
from aidge_build.prove.elf.waivers import Waivers, read_waivers
from aidge_build.prove.longest import StepsBound

EXAMPLES = (
    ("check app.elf --board stm32f7", "memory as planned, weights as generated, a bound of the stack"),
    ("check app.elf --region FLASH=0x08000000,0x100000,flash --region RAM=0x20000000,0x20000,ram", "without a board file"),
    ("check app.elf --board stm32f7 --max-stack 2048 --quiet STK02", "a budget, and a warning less"),
    ("check app.elf --board stm32f7 --sarif check.sarif", "for GitHub's code scanning, and for editors"),
)

COMMON = (
    "board",
    "region",
    "map",
    "plan",
    "shares",
    "weights-in",
    "dma-arrays",
    "objects",
    "max-stack",
    "max-flash",
    "task-stacks",
    "quiet",
    "out",
    "sarif",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("elf", type=Path, nargs="?", metavar="ELF", help="linked program")
    add_memory_arguments(parser)
    parser.add_argument(
        "--plan",
        action="append",
        default=[],
        type=Path,
        metavar="FILE",
        help="plan of a model in the program (repeat; default: the claims in the program)",
    )
    add_agreed_arguments(parser)
    add_objects_argument(parser)
    add_options(
        parser,
        (*options_named(BUDGET, "max-stack", "max-flash"), *options_named(CHECK, "task-stacks", "max-step-unproved", "quiet")),
    )
    parser.add_argument("--out", type=Path, metavar="FILE", help="file for the result as JSON, too (default: none)")
    parser.add_argument(
        "--sarif", type=Path, metavar="FILE", help="file for the findings as SARIF 2.1.0, for CI and editors (default: none)"
    )


def run(arguments: argparse.Namespace) -> Outcome:
    elf, objects = _program_and_objects(arguments)
    key = key_of(arguments, elf, objects) if arguments.out else ""
    outcome = kept(arguments.out, key, elf) or keep(arguments.out, key, elf, _checked(arguments, elf, objects))
    if arguments.sarif:
        write_files({arguments.sarif: sarif_log(elf, outcome.data["findings"], _quiet(arguments))})
    return outcome


_NO_STACK = StackUse(StackBound(None, ()), {}, StackBound(None, ()), None)  # where nothing is known of it


@dataclass(frozen=True)
class _Program:
    """A linked program as it was read: claims and which of them are `linked`, the memories that are known and their use, the code
    compared with its objects, and the bounds of stack and steps. `homeless` are sections outside of all memories."""

    image: Image
    plans: Sequence[Plan]
    claims: tuple[Claim, ...]
    linked: tuple[Claim, ...]
    code: CodeProof
    board: Board | None
    known: Memories
    waivers: Waivers
    uses: tuple[RegionUse, ...]
    homeless: Sequence[Section]
    core: Core | None
    stack: StackUse | None
    tasks: tuple[TaskStack, ...]
    bounds: tuple[StepsBound, ...]


def _read(arguments: argparse.Namespace, elf: Path, objects: list[Path]) -> _Program:
    image = read_image(elf)
    plans = [read_plan(path, image.has_64_bits) for path in arguments.plan]
    claims = with_planned(image, read_claims(image), {plan.file: plan.claim for plan in plans if plan.claim})
    linked = tuple(claim for claim in claims if is_linked(image, claim))
    compared = [read_object(path) for path in objects] if linked or not claims else []
    code = check_code(image, read_names(elf) if compared else {}, compared, linked)
    board = load_board(arguments.board, arguments.board_path) if arguments.board else None
    known = memories(arguments, image)
    waivers = read_waivers(arguments.shares, arguments.weights_in, claims, [region.name for region in known.regions])
    uses, homeless = region_use(image, known.regions)
    core = core_of(arguments, image)
    stack = stack_of(elf, image, linked, core, required=arguments.max_stack is not None)
    bounds = step_bounds(elf, image, linked, core)
    named = arguments.task_stacks.split(",") if arguments.task_stacks else []
    tasks = task_stacks(image, code_of(elf, image, core) if named else None, named)
    return _Program(image, plans, claims, linked, code, board, known, waivers, uses, homeless, core, stack, tasks, bounds)


def _findings(arguments: argparse.Namespace, read: _Program) -> Iterator[Finding]:
    image, claims, linked, regions, folders = read.image, read.claims, read.linked, read.known.regions, arguments.board_path
    text = cache(lambda: code_of(Path(image.path), image, read.core))
    named = arguments.dma_arrays.split(",") if arguments.dma_arrays else []
    homeless = read.homeless if read.known.are_all else ()
    yield from check_image(image, claims, read.plans, read.uses, homeless, read.waivers, folders, read.code)
    yield from _check_declared(read)
    yield from check_script(read.known.link_map, image, linked)
    if read.board:
        yield from check_board(image, claims, read.board, folders)
    yield from _check_reach(image, claims, read.stack, regions)
    yield from check_contents(image, read.uses, arguments.max_flash)
    yield from check_dma(image, linked, named, cache_line_of(arguments), regions)
    yield from check_maintenance(image, named, regions, text)
    yield from check_concurrent(image, linked)
    yield from check_device(image, linked, named, regions, lambda: argument_addresses(text(), claims), folders)
    yield from check_bind(image, linked, text, read.stack.executed if read.stack else None)
    yield from read.code.findings
    if read.stack:
        yield from check_stack(read.stack, arguments.max_stack)
    yield from check_tasks(read.tasks)
    yield from bound_findings(read.bounds, arguments.max_step_unproved)


def _explained(
    findings: Iterator[Finding], arguments: argparse.Namespace, read: _Program, objects: list[Path]
) -> Iterator[Finding]:
    """Yields the findings. One finding replaces all differences of a model if the linked copy is not the given one."""
    found = [*findings]
    models = {finding.differing for finding in found if finding.severity == ERROR}
    claims, elf = [claim for claim in read.linked if claim.model in models], Path(read.image.path)
    defined = defined_at(elf, {name for claim in claims for name in (*claim.functions, *claim.weights)})
    sources = {name: path for name, (path, _) in defined.items()}
    generated = {plan.model: path.parent for plan, path in zip(read.plans, arguments.plan, strict=True)}
    copies = {one.model: one for one in copies_of_sources(claims, sources, generated)}
    copies |= {one.model: one for one in copies_in_map(read.known.link_map, claims, elf.parent, objects, sources)}
    yield from (Finding("MEM04", ERROR, one.fact, one.hint) for one in copies.values())
    yield from (finding for finding in found if finding.severity != ERROR or finding.differing not in copies)


def _check_declared(read: _Program) -> Iterator[Finding]:
    """Sections in a memory that the linker made up: it begins at 0, and is no memory of any chip."""
    placed = ", ".join(dict.fromkeys(f"{one.name} ({one.size_bytes:,} B at 0x{one.address:08x})" for one in read.homeless))
    if read.known.undeclared and placed:
        known = ", ".join(region.name for region in read.known.regions) or "none"
        what = f"{undeclared_fact(read.known.undeclared)}: {placed}. Declared: {known}"
        yield Finding("MEM01", ERROR, what, UNDECLARED_HINT)


def _checked(arguments: argparse.Namespace, elf: Path, objects: list[Path]) -> Outcome:
    read = _read(arguments, elf, objects)
    findings = in_order(_explained(_findings(arguments, read), arguments, read, objects))
    failed = any(finding.severity == ERROR for finding in findings)
    data = _as_json(read, findings) | {"memories_of": read.known.source, "code": _code_as_json(read.code)}
    data |= {"steps": bound_data(read.bounds)}
    tasks = [one.line for one in read.tasks if one.bound.bytes is not None]
    bounds = [*_stack_text(read.stack, arguments.max_stack), *tasks, *bound_lines(read.bounds, {})]
    lines = _lines(read, bounds, _shown(findings, _quiet(arguments)))
    if not read.known.regions and not (read.core and read.core.is_native):
        how = f"link with -Wl,-Map={elf.stem}.map, into the folder of the program, or name --board or --region"
        if read.known.silent_map:
            how = f"{read.known.silent_map} names none, as its linker script has no MEMORY: name --board or --region"
        lines.append(f"{elf}: memories not known: {as_typed(how)}")
    return Outcome(lines, data, EXIT_CHECK_FAILED if failed else 0)


def _check_reach(image: Image, claims: tuple[Claim, ...], stack: StackUse | None, regions: Sequence[Region]) -> Iterator[Finding]:
    """Yields findings about the start of the stack, and how far down it grows; without a bound only about the start."""
    if stack is None or not stack.is_read:
        return
    most = LEAST_BYTES if stack.most_bytes is None else stack.most_bytes
    yield from check_reach(image, claims, stack.begin, most)
    if stack.begin is not None:
        limit = None if stack.reserved_by else stack.reserved_bytes
        named = {name for claim in claims for name in (*claim.buffers, *claim.weights)}
        yield from check_stack_place(image, stack.begin, min(most, limit or most), regions, named)


def _program_and_objects(arguments: argparse.Namespace) -> tuple[Path, list[Path]]:
    """`--objects A.o B.o ELF` names the program last, too."""
    if arguments.elf is not None:
        return arguments.elf, arguments.objects
    if len(arguments.objects) < 2:
        raise AidgeError(
            "the following arguments are required: ELF", where="check", hint="aidge-build check --help", code="USAGE"
        )
    return arguments.objects[-1], arguments.objects[:-1]


def _code_as_json(code: CodeProof) -> dict:
    return {
        "objects": list(code.objects),
        "functions": code.functions,
        "constants": code.constants,
        "size_bytes": code.size_bytes,
        "not_compared": list(code.not_compared),
    }


def _code_text(code: CodeProof) -> Iterator[str]:
    """`code = kws.o, kws_weights.o   12 functions, 9 constants, 5,120 B`."""
    if code.objects and not code.findings:
        yield (
            f"code = {', '.join(code.objects)}   {counted(code.functions, 'function')}, {counted(code.constants, 'constant')}, "
            f"{code.size_bytes:,} B"
        )
    yield from (f"code not compared: {reason}" for reason in code.not_compared)


def _quiet(arguments: argparse.Namespace) -> list[str]:
    return arguments.quiet.split(",") if arguments.quiet else []


def _shown(findings: tuple[Finding, ...], quiet: list[str]) -> tuple[Finding, ...]:
    """Without the warnings and notes of these codes; the JSON has them all the same."""
    unknown = sorted(set(quiet) - set(RULES))
    if unknown:
        raise AidgeError(f"there is no finding {unknown[0]!r}", where="--quiet", tried=sorted(RULES), code="USAGE")
    return tuple(finding for finding in findings if finding.severity == ERROR or finding.code not in quiet)


def _as_json(read: _Program, findings: tuple[Finding, ...]) -> dict:
    stack = read.stack or _NO_STACK
    models = [
        {
            "model": claim.model,
            "model_sha256": claim.model_sha256,
            "arena_bytes": measure(read.image, claim),
            "planned_bytes": claim.arena_bytes,
            "stack_bound_bytes": deepest.bytes,
            "stack_refused": deepest.reason,
        }
        for claim in read.claims
        for deepest in (_deepest([stack.runs[name] for name in claim.computing if name in stack.runs]),)
    ]
    return {
        "findings": [
            {"code": finding.code, "severity": finding.severity, "text": finding.text, "hint": finding.hint}
            for finding in findings
        ],
        "regions": [
            {"name": use.region.name, "used_bytes": use.used_bytes, "length_bytes": use.region.length_bytes} for use in read.uses
        ],
        "models": models,
        "arena_bytes": sum(model["arena_bytes"] or 0 for model in models),
        "planned_bytes": sum(model["planned_bytes"] for model in models),
        "stack_bound_bytes": stack.program.bytes,
        "stack_path": list(stack.program.path),
        "stack_path_bytes": list(stack.program.held_bytes),
        "stack_refused": stack.program.reason,
        "stack_interrupt_bytes": stack.interrupt.bytes,
        "stack_interrupt_tables": list(stack.tables),
        "stack_interrupt_unseen": list(stack.unseen),
        "stack_reserved_bytes": stack.reserved_bytes,
    }


def _deepest(bounds: Sequence[StackBound]) -> StackBound:
    """The bound of all of them: none where one has none."""
    refused = next((bound for bound in bounds if bound.bytes is None), StackBound(None, ()))
    known = [bound for bound in bounds if bound.bytes is not None]
    return max(known, key=lambda bound: bound.bytes or 0) if known and len(known) == len(bounds) else refused


def _lines(read: _Program, bounds: list[str], findings: tuple[Finding, ...]) -> list[str]:
    image, claims, uses = read.image, read.claims, read.uses
    kept = [claim.model for claim in claims if keeps_plan(image, claim, claims, uses, read.waivers)]
    lines, elf = [], image.path
    for claim in claims:
        if not claim.arenas:
            lines.append(f"{elf}: arena {claim.model}   {claim.arena_bytes:,} B, supplied by the caller")
        elif claim.model in kept:
            state = f", state {claim.state.size_bytes:,} B" if claim.state else ""
            state += "".join(f", {part.word} {part.size_bytes:,} B" for part in claim.kept)
            lines.append(f"{elf}: arena {claim.model}   {claim.arena_bytes:,} B{state} = plan")
    lines += [f"       {_region_line(image, use)}" for use in uses if use.is_shown]
    lines += [f"       {line}" for line in _code_text(read.code)]
    lines += [f"       {line}" for line in bounds]
    typed = [replace(finding, special_hint=as_typed(finding.hint)) for finding in findings]
    return lines + (lines_of(typed, elf) if claims else [finding.line(elf) for finding in typed])


def _region_line(image: Image, use: RegionUse) -> str:
    share = 100 * use.used_bytes / use.region.length_bytes
    rest = rest_of(image, use)
    filled = f"   with {rest.name}, {rest.size_bytes:,} B that were left" if rest else ""
    return f"{use.region.name:8} {use.used_bytes:>10,} / {use.region.length_bytes:>10,} B {share:5.1f} %{filled}"


def _stack_text(stack: StackUse | None, budget_bytes: int | None) -> list[str]:
    """`stack <= 312 B of 4,096 B   main 24 > kws_run 40 > kws_conv_3 248`; without this bound the bounds of the models."""
    if stack is None:
        return []
    if stack.program.bytes is None:
        return [
            f"stack {name} <= {bound.bytes:,} B   {way(bound)}"
            for name, bound in sorted(stack.runs.items())
            if bound.bytes is not None
        ]
    reserved = f" of {stack.reserved_bytes:,} B" if stack.reserved_bytes else ""
    interrupt = f" (+ {stack.interrupt.bytes:,} B for an interrupt{_tables(stack)})" if stack.interrupt.bytes else ""
    by = f", reserved by {stack.reserved_by}" if stack.reserved_by else ""
    if not reserved and budget_bytes is None:
        by = as_typed(", compared with nothing: --max-stack N")
    return [f"stack <= {stack.program.bytes:,} B{reserved}{interrupt}{by}   {way(stack.program)}"]


def _tables(stack: StackUse) -> str:
    """Nothing where all handlers are seen."""
    seen = " and ".join(f"0x{address:08x}" for address in stack.tables)
    return f" by the vector table at {seen}, others are not seen" if stack.unseen else ""
