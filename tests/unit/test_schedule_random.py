# SPDX-License-Identifier: MIT
"""Schedules of random graphs against the definitions, which this file states again, tensor by tensor and byte by byte."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cache
from itertools import permutations
from random import Random
from types import MappingProxyType, SimpleNamespace

import numpy
import pytest

from aidge_build.boards.cores import ALIGNED_ONLY
from aidge_build.contract.spec import Demands
from aidge_build.graph.dtype import DType
from aidge_build.graph.format import channels_last, row_major
from aidge_build.graph.tensor import Tensor
from aidge_build.graph.view import GraphView, Node, State, graph_view
from aidge_build.operators.rearrange import Concat, Split
from aidge_build.plan.schedule.joint import Joined, Joining, Part, candidates, compatible
from aidge_build.plan.schedule.schedule import Schedule, buffers_of, make_schedule
from aidge_build.plan.schedule.stores import READY_BYTES, StateMemory, stores_of, without_stores
from aidge_build.prepare.adaptation.assignment import Assignment, Choice

ANY, VIEW = SimpleNamespace(type="Any", views=False), SimpleNamespace(type="Flatten", views=True)
SEEDS = range(200)


@dataclass(frozen=True)
class Case:
    """A graph whose every node but the views runs, with random demands."""

    assignment: Assignment
    wanted: dict[str, Demands]

    def demands(self, node: Node) -> Demands:
        return self.wanted[node.name]


def random_case(seed: int, count: int = 7) -> Case:
    """A graph of `count` nodes: functions of one and two tensors, with one and two results, views, joins and splits."""
    random = Random(seed)
    dtype = random.choice((DType.int8, DType.int8, DType.int16, DType.float32))
    form = random.choice((row_major, channels_last, channels_last))
    tensors, nodes, known = {}, [], []

    def add(dims: tuple[int, ...], **changes) -> str:
        name = f"t{len(tensors)}"
        order = form(3) if random.random() < 0.97 else row_major(3)
        tensors[name] = replace(Tensor(name, dims, dtype, format=order), **changes)
        known.append(name)
        return name

    def like(name: str, axis: int) -> list[str]:
        dims = tensors[name].dims
        return [one for one in known if all(tensors[one].dims[k] == dims[k] for k in range(3) if k != axis)]

    dims = random.choice(((1, 4, 2), (1, 4, 1), (2, 2, 4), (1, 8, 3), (1, 1, 4)))
    inputs = [add(dims) for _ in range(random.randint(1, 2))]
    constant = add(dims, data=numpy.zeros(dims, dtype.numpy)) if random.random() < 0.3 else ""
    for index in range(count):
        kind = random.choice(("one", "two", "pair", "grow", "view", "concat", "concat", "concat", "split", "split"))
        source, axis = random.choice((known[-1], *known[-4:])), random.choice((1, 1, 2, 0))
        size = tensors[source].dims[axis]
        if kind == "view" and source != constant:
            operator, read, made = VIEW, [source], [tensors[source].dims]
        elif kind == "concat":
            read = [random.choice(like(source, axis)[-4:]) for _ in range(random.randint(1, 3))]
            if random.random() < 0.7:  # of tensors that nobody else reads
                read = [add(tensors[name].dims) for name in read]
                nodes += [Node(f"m{index}_{name}", ANY, (source,), (name,)) for name in read]
            joined = list(tensors[source].dims)
            joined[axis] = sum(tensors[name].dims[axis] for name in read)
            operator, made = Concat(axis - random.choice((0, 3))), [tuple(joined)]
        elif kind == "split" and size > 1:
            first, parts = random.randint(1, size - 1), list(tensors[source].dims)
            sizes = (first, size - first)
            operator, read, made = Split(axis, sizes), [source], [(*parts[:axis], one, *parts[axis + 1 :]) for one in sizes]
        else:
            operator, read = ANY, [source, *([random.choice(known)] if kind == "two" else [])]
            grown = (dims[0], random.randint(1, 8), dims[2]) if kind == "grow" else tensors[source].dims
            made = [grown] * (2 if kind == "pair" else 1)
        nodes.append(Node(f"n{index}", operator, tuple(read), tuple([add(one) for one in made])))
    outputs, states = [], []
    for index, source in enumerate((known[-1], random.choice(known[-6:]))):
        outputs.append(add((1, 0, 3) if random.random() < 0.05 else tensors[source].dims))
        nodes.append(Node(f"o{index}", ANY, (source,), (outputs[-1],)))
        if random.random() < 0.2:
            outputs.append(add(tensors[outputs.pop()].dims))
            nodes.append(Node(f"v{index}", VIEW, (known[-2],), (known[-1],)))
    if random.random() < 0.4:
        read, source = inputs[-1], random.choice([name for name in known if tensors[name].dims == dims])
        written = add(dims, format=random.choice((row_major(3), channels_last(3))))
        nodes.append(Node("store", ANY, (source,), (written,)))
        start = numpy.full(dims, random.randint(0, 1), dtype.numpy)
        outputs, states = [*outputs, written], [State(read, written, start)]
    view = graph_view("net", nodes, tensors, inputs, outputs, states)
    choices = {node.name: Choice(None if node.operator is VIEW else "kernel", "") for node in view.nodes}
    features = frozenset({ALIGNED_ONLY} if random.random() < 0.3 else ())
    return Case(Assignment(view, choices, features=features), {node.name: _random_demands(random, node) for node in nodes})


def _random_demands(random: Random, node: Node) -> Demands:
    positions = range(len(node.inputs))
    return Demands(
        random.choice((0, 0, 4, 10)),
        random.choice((1, 4, 8)),
        tuple(position for position in positions if random.random() < 0.4),
        tuple((position, random.randint(0, 30)) for position in positions if random.random() < 0.4),
        random.random() < 0.8,
    )


class Facts:
    """The meaning of a case with some nodes left out: which bytes each tensor is, and which must be kept."""

    def __init__(self, case: Case, joined: list[Joining], reuse: str, io_outside: bool):
        self.case, self.view, self.joined, self.reuse = case, case.assignment.view, joined, reuse
        view, out = self.view, {joining.node for joining in joined}
        self.stores = [view.producer(state.written) for state in view.states]
        self.nodes = [node for node in view.nodes if node.operator is not VIEW and node.name not in out]
        self.left_out = [node for node in view.nodes if node.name in out]
        self.named = {self._root(name): name for name in view.outputs}
        self.states = {name for state in view.states for name in (state.read, state.written)}
        ports = {self.home(name) for name in (*view.inputs, *view.outputs)}
        self.pieces = {self.home(name) for node in self.left_out for name in (node.inputs + node.outputs)}
        self.alone = (ports if io_outside else self.states) | self.pieces

    def _root(self, name: str) -> str:
        node = self.view.producer(name)
        return self._root(node.inputs[0]) if node is not None and node.operator is VIEW else name

    def home(self, name: str) -> str:
        """The tensor that names the bytes."""
        return self.named.get(self._root(name), self._root(name))

    def parts_of(self, node: Node) -> tuple[tuple[str, ...], str]:
        return (node.inputs, node.outputs[0]) if isinstance(node.operator, Concat) else (node.outputs, node.inputs[0])

    def atoms(self, name: str) -> set[str]:
        """The buffers that layers write and that make up this tensor."""
        for node in self.left_out:
            parts, whole = self.parts_of(node)
            if isinstance(node.operator, Concat) and self.home(name) == self.home(whole):
                return set().union(*map(self.atoms, parts))
            if isinstance(node.operator, Split) and self.home(name) in map(self.home, parts):
                return self.atoms(whole)
        return {self.home(name)}

    def whole(self, name: str) -> tuple[str, numpy.ndarray]:
        """The outermost tensor with these bytes, and the address of each stored element within it."""
        for node in self.left_out:
            parts, joint = self.parts_of(node)
            for position, part in enumerate(parts):
                if self.home(part) == self.home(name):
                    outer, places = self.whole(joint)
                    tensor, axis = self.view.tensor(joint), node.operator.axis % 3
                    first = sum(self.view.tensor(one).dims[axis] for one in parts[:position])
                    chosen = tensor.from_stored(places).take(range(first, first + self.view.tensor(part).dims[axis]), axis)
                    return outer, self.view.tensor(part).to_stored(chosen).ravel()
        tensor = self.view.tensor(self.home(name))
        return tensor.name, numpy.arange(tensor.elements) * tensor.dtype.size_bytes

    def reads(self, node: Node) -> set[str]:
        return {atom for name in node.inputs if not self.view.tensor(name).is_constant for atom in self.atoms(name)}

    def size(self, atom: str) -> int:
        return 0 if atom in self.states else self.view.tensor(atom).size_bytes

    def shares(self, node: Node) -> dict[str, int | None]:
        """Inputs that output 0 may overwrite: in place (None), or by beginning so many bytes earlier."""
        wanted, leads = self.case.wanted[node.name], dict(self.case.wanted[node.name].overlap)
        found, target = {}, self.home(node.outputs[0])
        for buffer in dict.fromkeys(self.home(name) for name in node.inputs if not self.view.tensor(name).is_constant):
            places = [place for place, name in enumerate(node.inputs) if name in self.view.tensors and self.home(name) == buffer]
            if self.reuse == "plain" or {buffer, target} & self.alone:
                continue
            if set(places) <= set(wanted.in_place):
                found[buffer] = None
            elif set(places) <= set(leads):
                found[buffer] = max(leads[place] for place in places)
        return found

    def legal(self, order: list[Node]) -> bool:
        """Whether every layer runs after the layers that it reads, stores last."""
        written = {atom for name in self.view.inputs for atom in self.atoms(name)}
        for node in order:
            if not self.reads(node) <= written:
                return False
            written |= {atom for name in node.outputs for atom in self.atoms(name)}
        return True

    def peak(self, order: list[Node]) -> int:
        """The most bytes that live at once; the copies of states run after the last layer of an order."""
        source = {store.outputs[0]: store.inputs[0] for store in self.stores_left(order)}
        kept = {atom for name in self.view.outputs for atom in self.atoms(source.get(name, name))}
        order = [node for node in order if node not in self.stores]
        kept |= {name for name in self.view.inputs if not any(name in self.reads(node) for node in order)}
        live = {atom for name in self.view.inputs for atom in self.atoms(name)}
        highest = sum(map(self.size, live))
        for index, node in enumerate(order):
            needed = kept.union(*map(self.reads, order[index + 1 :]))
            live |= {atom for name in node.outputs for atom in self.atoms(name)}
            out = self.size(self.home(node.outputs[0]))
            saved = [
                max(0, min(self.size(buffer), out - (lead or 0)))
                for buffer, lead in self.shares(node).items()
                if buffer not in needed
            ]
            scratch = self.case.wanted[node.name].scratch_bytes
            highest = max(highest, sum(map(self.size, live)) - max(saved, default=0) + scratch)
            live &= needed
        return highest

    def stores_left(self, order: list[Node]) -> list[Node]:
        return [store for store in self.stores if store in order]

    def span(self, atom: str, steps: tuple[Node, ...]) -> tuple[int, int]:
        written = {name for node in steps for name in node.outputs}
        makers = [index for index, node in enumerate(steps) if atom in {one for name in node.outputs for one in self.atoms(name)}]
        users = [index for index, node in enumerate(steps) if atom in self.reads(node)]
        given = any(atom in self.atoms(name) for name in self.view.inputs)
        end = max(1, len(steps))
        kept = any(atom in self.atoms(name) for name in self.view.outputs) or not makers and not users
        assert given or written
        return 0 if given else min(makers), end if kept else 1 + max(users + makers)


def joinings(case: Case, random: Random) -> list[Joining]:
    """Some of the candidates that fit each other."""
    taken = []
    for joining in candidates(case.assignment, case.demands, buffers_of(case.assignment)):
        if compatible(taken, joining) and random.random() < 0.8:
            taken.append(joining)
    return taken


def cases():
    for seed in SEEDS:
        random, case = Random(-seed), random_case(seed)
        joined, io_outside = joinings(case, random) if seed % 3 else [], seed % 2 == 0
        reuse = "plain" if seed % 7 == 0 and not joined else "shared"
        result = make_schedule(case.assignment, case.demands, reuse, io_outside=io_outside, joined=joined)
        yield case, Facts(case, joined, reuse, io_outside), result


@cache
def found() -> list[tuple[Case, Facts, Schedule]]:
    return list(cases())


def test_every_layer_runs_once_after_its_sources_and_copies_of_states_run_last():
    for _, facts, result in found():
        assert sorted(result.steps, key=facts.nodes.index) == facts.nodes and facts.legal(result.steps)
        assert list(result.steps[len(result.steps) - len(facts.stores) :]) == facts.stores


def test_no_order_has_a_smaller_peak_than_the_one_that_is_chosen_and_reported():
    for _, facts, result in found():
        assert result.order.peak_bytes == facts.peak(result.steps)
        if len(facts.nodes) <= 6:
            orders = [order for order in permutations(facts.nodes) if facts.legal(order)]
            assert result.order.peak_bytes == result.order.lower_bound_bytes == min(map(facts.peak, orders))


def test_an_output_overwrites_the_largest_input_that_its_kernel_allows_and_nobody_needs():
    for _, facts, result in found():
        chain, in_place, overlaps = {}, {}, []
        for step, node in enumerate(result.steps):
            dying = {
                buffer: lead
                for buffer, lead in facts.shares(node).items()
                if facts.span(buffer, result.steps)[1] == step + 1 and buffer not in map(facts.home, facts.view.outputs)
            }
            target, direct = facts.home(node.outputs[0]), [buffer for buffer, lead in dying.items() if lead is None]
            if direct:
                in_place[node.name] = max(direct, key=lambda buffer: facts.view.tensor(buffer).size_bytes)
                chain[target] = in_place[node.name]
            else:
                overlaps += [(target, buffer, lead) for buffer, lead in dying.items()]

        def first(name: str, chain=chain) -> str:
            return first(chain[name]) if name in chain else name

        assert result.in_place == in_place
        assert [(one.lower, one.upper, one.lead_bytes) for one in result.overlaps] == [
            (first(lower), first(upper), lead) for lower, upper, lead in overlaps
        ]
        names = [name for name, tensor in facts.view.tensors.items() if not tensor.is_constant]
        assert result.buffer_of == {name: first(facts.whole(name)[0]) for name in names}


def test_a_buffer_is_live_in_the_bytes_of_the_tensors_that_are_needed_in_that_step():
    for case, facts, result in found():
        ports = {result.buffer_of[name] for name in (*facts.view.inputs, *facts.view.outputs)}
        tensors = {facts.home(name) for name, tensor in facts.view.tensors.items() if not tensor.is_constant}
        expected: dict[str, list[str]] = {}
        for name in tensors:
            expected.setdefault(result.buffer_of[name], []).append(name)
        expected = {name: members for name, members in expected.items() if not facts.states & set(members)}
        buffers = {buffer.name: buffer for buffer in result.buffers if buffer.kind != "scratch"}
        assert buffers.keys() == expected.keys()
        for name, buffer in buffers.items():
            item = facts.view.tensor(name).dtype.size_bytes
            assert (buffer.alignment, buffer.kind) == (max(4, item), "io" if name in ports else "activation")
            assert buffer.size_bytes == max(1, *(facts.view.tensor(one).size_bytes for one in expected[name]))
            pieces = {atom for one in expected[name] for atom in facts.atoms(one)}
            spans = {atom: facts.span(atom, result.steps) for atom in pieces}
            assert (buffer.first, buffer.last) == (min(one for one, _ in spans.values()), max(one for _, one in spans.values()))
            windows = [(window.low_bytes, window.high_bytes) for window in buffer.windows]
            assert all(one != other for one, other in zip(windows, windows[1:], strict=False))
            for step in range(buffer.first, buffer.last):
                live = [atom for atom, (begin, end) in spans.items() if begin <= step < end]
                places = numpy.concatenate([facts.whole(atom)[1] for atom in live])
                assert buffer.live_bytes(step) == ((places.min(), places.max() + item) if places.size else (0, 1))
        for step, node in enumerate(result.steps):
            wanted = case.wanted[node.name]
            scratch = [one for one in result.buffers if one.name == result.scratch_of.get(node.name)]
            assert [(one.size_bytes, one.alignment, one.first, one.last, one.kind) for one in scratch] == (
                [(wanted.scratch_bytes, wanted.scratch_alignment, step, step + 1, "scratch")] if wanted.scratch_bytes else []
            )


def test_a_part_is_exactly_the_bytes_of_its_elements_in_the_joint_tensor():
    shapes = set()
    for _, facts, result in found():
        inside = {
            name
            for name, tensor in facts.view.tensors.items()
            if not tensor.is_constant and facts.whole(name)[0] != facts.home(name)
        }
        assert result.parts.keys() == inside
        for name, part in result.parts.items():
            whole, places = facts.whole(name)
            row = numpy.arange(0, part.size_bytes // part.rows, facts.view.tensor(name).dtype.size_bytes)
            assert part.whole == whole and part.size_bytes == facts.view.tensor(name).size_bytes
            assert [part.offset_bytes + part.stride_bytes * index + byte for index in range(part.rows) for byte in row] == list(
                places
            )
            assert part.reach == (places.min(), places.max() + facts.view.tensor(name).dtype.size_bytes)
            shapes.add((part.rows > 1, whole == facts.home(name)))
    assert len(shapes) >= 2


def test_windows_of_a_joint_tensor_reach_from_its_lowest_to_its_highest_live_byte_and_change_as_rarely_as_these():
    merged = 0
    for seed in range(60):
        random, at = Random(seed), 0
        places, spans = {}, {}
        for name in "abcd":
            rows, row_bytes = random.choice(((1, 4), (2, 2), (1, 8)))
            places[name] = Part("w", at, rows * row_bytes, rows, row_bytes + 3)
            at += (row_bytes + 3) * rows
            first = random.randint(0, 3)
            spans[name] = first, first + random.randint(3, 6)  # all live in step 3
        windows = Joined(places, {"w": tuple(places)}).windows("w", spans)
        assert (windows[0].first, windows[-1].last) == (
            min(one for one, _ in spans.values()),
            max(one for _, one in spans.values()),
        )
        for window in windows:
            for step in range(window.first, window.last):
                live = [places[name].reach for name, (begin, end) in spans.items() if begin <= step < end]
                assert (window.low_bytes, window.high_bytes) == (min(one for one, _ in live), max(one for _, one in live))
        reaches = [(window.low_bytes, window.high_bytes) for window in windows]
        assert all(one != other for one, other in zip(reaches, reaches[1:], strict=False))
        assert all(one.last == other.first for one, other in zip(windows, windows[1:], strict=False))
        merged += len(windows) < len({edge for span in spans.values() for edge in span}) - 1
    assert merged > 10


def test_joins_that_may_be_left_out_are_the_ones_whose_parts_have_places_of_their_own_and_kernels_that_reach_them():
    for seed in SEEDS:
        case = random_case(seed)
        facts, view = Facts(case, [], "shared", True), case.assignment.view
        ports, expected = {facts.home(name) for name in (*view.inputs, *view.outputs)}, []
        for node in [node for node in view.nodes if isinstance(node.operator, Concat | Split)]:
            parts, whole = facts.parts_of(node)
            joint, tensors = view.tensor(whole), [view.tensor(name) for name in parts]
            axes = joint.storage.order
            before = math.prod(joint.dims[axis] for axis in axes[: axes.index(node.operator.axis % 3)])
            is_alike = all(not one.is_constant and one.storage == joint.storage for one in (joint, *tensors))
            in_rows = before > 1
            writers = [view.producer(name) for name in parts]
            leaves_gaps = isinstance(node.operator, Concat) and all(
                writer is not None
                and writer.operator is not VIEW
                and len(writer.outputs) == 1
                and [reader for reader in view.nodes if name in reader.inputs] == [node]
                and case.wanted[writer.name].output_stride
                for name, writer in zip(parts, writers, strict=True)
            )
            step = max(joint.dtype.size_bytes, 1 if in_rows and ALIGNED_ONLY not in case.assignment.features else 4)
            sizes = [tensor.size_bytes // before for tensor in tensors]
            firsts = [sum(sizes[:position]) for position in range(len(sizes))] + ([sum(sizes)] if in_rows else [])
            homes = list(map(facts.home, parts))
            if (
                is_alike
                and len(set(homes)) == len(homes)
                and not ports & {*homes, facts.home(whole)}
                and (not in_rows or axes[-1] == node.operator.axis % 3 and leaves_gaps)
                and not any(first % step for first in firsts)
            ):
                expected.append(
                    (-sum(tensor.size_bytes for tensor in tensors), len(expected), node.name, set(homes), facts.home(whole))
                )
        found = candidates(case.assignment, case.demands, buffers_of(case.assignment))
        assert [(one.node, set(one.parts), one.whole) for one in found] == [
            entry[2:] for entry in sorted(expected, key=lambda e: e[:2])
        ]
        for count, more in enumerate(found):
            taken, fits = found[:count], compatible(found[:count], more)
            inside = {name: part for one in taken for name, part in one.parts.items()}
            around = [inside[more.whole]] if more.whole in inside else []
            around += [part for part in inside.values() if part.whole in more.parts]
            in_rows = any(part.rows > 1 for part in (*around, *more.parts.values()))
            assert fits == (not inside.keys() & more.parts.keys() and not (around and in_rows))


def test_a_known_order_is_kept_and_the_order_of_a_similar_schedule_where_it_is_as_good():
    kept = 0
    for case, facts, result in found():
        options = {"io_outside": result.parts.keys() != set(), "joined": result.joined}
        again = make_schedule(case.assignment, case.demands, "shared", known=result.order, **options)
        assert again.order is result.order and again.steps == result.steps
        alone = Facts(case, [], "shared", options["io_outside"])
        like = make_schedule(case.assignment, case.demands, "shared", io_outside=options["io_outside"])
        joint = make_schedule(case.assignment, case.demands, "shared", like=like, **options)
        facts = Facts(case, list(result.joined), "shared", options["io_outside"])
        same = [node for node in like.steps if node in facts.nodes]
        assert facts.legal(joint.steps) and joint.order.peak_bytes == facts.peak(joint.steps)
        if facts.peak(same) <= alone.peak(like.steps):
            assert list(joint.steps) == same
            kept += 1
    assert kept > 20


def test_a_next_value_is_computed_in_the_state_if_no_legal_order_reads_the_old_value_later():
    taken = []
    for seed in SEEDS:
        case = random_case(seed)
        facts, view = Facts(case, [], "shared", False), case.assignment.view
        for state, store in zip(view.states, facts.stores, strict=True):
            source, home, old = view.tensor(store.inputs[0]), facts.home(store.inputs[0]), facts.home(state.read)
            writer = view.producer(home)
            ports = {facts.home(name) for name in (*view.inputs, *view.outputs)}
            is_able = not source.is_constant and writer is not None and home not in ports
            elements = numpy.arange(source.elements).reshape(source.dims)
            stored = [list(one.to_stored(elements).ravel()) for one in (source, view.tensor(state.written))]
            is_able = is_able and stored[0] == stored[1] and view.tensor(home).size_bytes == source.size_bytes
            readers = [node for node in facts.nodes if old in facts.reads(node)]
            for reader in readers if is_able else []:
                places = {place for place, name in enumerate(reader.inputs) if facts.home(name) == old}
                in_place = places <= set(case.wanted[reader.name].in_place) and facts.home(reader.outputs[0]) == home
                is_able = is_able and (in_place if reader is writer else not runs_without(facts, writer, reader))
            left = without_stores(case.assignment, case.demands, buffers_of(case.assignment))
            assert stores_of(left) == (() if is_able else (store,))
            assert left.choices[store.name].rule == ("computed in the state's bytes" if is_able else "")
            taken.append(is_able)
    assert 4 < sum(taken) < len(taken) - 4


def runs_without(facts: Facts, writer: Node, reader: Node) -> bool:
    """Whether there is an order in which the writer runs and the reader has not run yet."""
    written, count = {facts.home(name) for name in facts.view.inputs}, -1
    while count < len(written):
        count = len(written)
        for node in facts.nodes:
            if node is not reader and facts.reads(node) <= written:
                written |= set(map(facts.home, node.outputs))
    return facts.home(writer.outputs[0]) in written


@pytest.mark.parametrize("seed", range(8))
def test_states_follow_each_other_each_at_the_next_address_that_its_type_allows(seed):
    random = Random(seed)
    tensors, states = {}, []
    for index in range(4):
        dtype, dims = random.choice((DType.int8, DType.float32, DType.int64)), (1, random.randint(0, 9))
        for name in (f"s{index}", f"n{index}"):
            tensors[name] = Tensor(name, dims, dtype)
        values = numpy.zeros(dims, dtype.numpy)
        values[:, 2:3] = seed == index + 1
        states.append(State(f"s{index}", f"n{index}", values))
    reads, writes = [state.read for state in states], [state.written for state in states]
    memory = StateMemory.of(GraphView("net", (), MappingProxyType(tensors), tuple(reads), tuple(writes), tuple(states)))
    end = 0
    for state in states:
        tensor = tensors[state.read]
        first = next(place for place in range(end, end + 9) if place % 4 == place % tensor.dtype.size_bytes == 0)
        assert memory.offsets[state.read] == memory.offsets[state.written] == first
        end = first + max(1, tensor.size_bytes)
    assert memory.size_bytes % 4 == 0 and 0 <= memory.size_bytes - end < 4
    assert memory.needs_start == any(state.initial.any() for state in states)
    extra = READY_BYTES if memory.needs_start else 0
    assert (
        READY_BYTES == 4
        and memory.bytes_of("static") == memory.size_bytes + extra
        and memory.bytes_of("caller") == memory.size_bytes
    )
