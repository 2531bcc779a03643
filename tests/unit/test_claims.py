# SPDX-License-Identifier: MIT
"""A claim is somebody's bytes: each field is looked at, and what is agreed upon holds for what is named alone. No compiler."""

from __future__ import annotations

import itertools
import json
import random
from types import SimpleNamespace

import pytest

from aidge_build.base.errors import AidgeError
from aidge_build.base.version import CLAIM_VERSION
from aidge_build.build.emit.claim import claim_of
from aidge_build.plan.constant_arrays import arrays_of
from aidge_build.prove.elf.claim import Claim, ClaimedConstant, claim_from
from aidge_build.prove.elf.claimed_call import ClaimedArgument
from aidge_build.prove.elf.claims import read_claims
from aidge_build.prove.elf.occupants import Span
from aidge_build.prove.elf.waivers import Waivers, read_waivers
from tests.emitted import chain
from tests.programs import CLAIM, arena, constant


def noted(*claims: dict | bytes, version: int = CLAIM_VERSION) -> SimpleNamespace:
    """A program with these notes, and nothing else."""
    texts = [claim if isinstance(claim, bytes) else json.dumps(claim).encode() for claim in claims]
    notes = tuple(version.to_bytes(2, "little") + len(text).to_bytes(4, "little") + text for text in texts)
    return SimpleNamespace(machine="ARM", has_64_bits=False, notes=notes, symbols=(), path="app.elf")


def test_what_is_emitted_is_read_again():
    program = chain(region="SRAM1")
    fields = claim_of(program, ["toy_run"], arrays_of(program).all, "0123456789ab", "ba9876543210")
    (claim,) = read_claims(noted(fields))
    assert (claim.interface, claim.code, claim.cpu, claim.is_contradicted) == ("0123456789ab", "ba9876543210", "", False)
    assert claim.weights == ("toy_first_weights", "toy_first_bias") and claim.weights_bytes == 30
    assert claim.constants[1] == ClaimedConstant("toy_first_bias", 24, 4, fields["weights"][1]["sha256"])
    assert claim.buffers == ("toy_arena",) and claim.arenas[0].region == "SRAM1" and claim.functions == ("toy_run",)
    assert (claim.peak_bytes, claim.arena_bytes, claim.state) == (38, 30, None)


def state(**changes) -> dict:
    return {"symbol": "kws_state", "size_bytes": 3, "alignment": 1, "region": None, "memory": None} | changes


WRONG = {
    "model": ["", "a b", "1a", "kws\x1b[31m", "x" * 129, 5, None, ["kws"], "kws\n"],
    "model_sha256": ["ab", "AB" * 32, "ab" * 32 + "0", None],
    "cpu": ["Cortex", " ", None, "x" * 65, ["cortex-m4"]],
    "interface": ["0123456789a", "0123456789abc", "0123456789aB", None],
    "code": ["0123456789a", 12],
    "arena_bytes": [-1, 2**32 + 1, 512.0, True, "512", None, 511],
    "peak_bytes": [-1, 1e400, float("nan")],
    "state": [5, {}, *(state(symbol=symbol) for symbol in ("", "a-b", 3, "kws_arena", "kws_fc_weights")), state(size_bytes=-1)],
    "kept": [None, {}, 5, [5], [state()]],
    "weights_bytes": [63, 65, None],
    "weights": [{}, "kws", None, [5], [{}], [constant(), constant()], [{**constant(), "sha256": "ab"}]]
    + [[{**constant(), "size_bytes": size}] for size in (-1, "64", None)]
    + [[{**constant(), "alignment": alignment}] for alignment in (0, 3, -4, None, 2**33)],
    "arenas": [{}, [5], [{}], "x", arena(symbol="a b")["arenas"], arena(size_bytes=511)["arenas"], arena(region="a b")["arenas"]]
    + [arena(memory=memory)["arenas"] for memory in (5, {}, {"origin": 0}, {"origin": -1, "length_bytes": 5})]
    + [arena(alignment=6)["arenas"]],
    "functions": ["kws_run", [5], ["a\u202eb"], [[]]],
    "layers": [None, ["a b"], [{}]],
}


@pytest.mark.parametrize("field", WRONG)
def test_each_field_of_a_claim_is_looked_at(field):
    for value in WRONG[field]:
        with pytest.raises(ValueError) as caught:
            claim_from({**CLAIM, field: value})
        assert str(caught.value).isprintable() and len(str(caught.value)) < 120, value
    without = {name: value for name, value in CLAIM.items() if name != field}
    with pytest.raises(ValueError, match=f"^{field} is missing$"):
        claim_from(without)


@pytest.mark.requirement("NOTE")
def test_the_refusal_names_field_and_value():
    for changes, words in (
        ({"arena_bytes": 511}, "the parts of its arena are not the whole"),
        ({"weights_bytes": 63}, "its arrays of weights are not the whole"),
        ({"state": state(symbol="kws_arena")}, "it names an array twice"),
        ({"weights": 5}, "weights is 5"),
        ({"weights": [{**constant(), "alignment": 3}]}, "alignment is 3"),
    ):
        with pytest.raises(AidgeError) as caught:
            read_claims(noted({**CLAIM, **changes}))
        assert caught.value.code == "NOTE" and caught.value.what == f"the claim of a model is damaged ({words})"


def test_limits_of_a_claim_belong_to_it():
    for size in (0, 2**32):
        read = claim_from({**CLAIM, **arena(size_bytes=size, alignment=4096, memory={"origin": 0, "length_bytes": size})})
        assert (read.arena_bytes, read.arenas[0].memory) == (size, (0, size))
    assert claim_from({**CLAIM, "arenas": [], "arena_bytes": 7}).arena_bytes == 7
    assert claim_from({**CLAIM, "model": "x" * 128, "cpu": "c" * 64}).cpu == "c" * 64
    assert claim_from({**CLAIM, "state": state()}).buffers == ("kws_arena", "kws_state")


def progress(**changes) -> dict:
    return state(symbol="kws_rows", size_bytes=12, alignment=4) | {"size_bytes_64": 24, "word": "rows"} | changes


@pytest.mark.parametrize("size, is_whole", [(37, False), (38, True), (40, True), (53, True), (54, False)])
def test_the_parts_of_an_arena_are_the_whole_with_less_than_an_alignment_between_them(size, is_whole):
    (part,) = CLAIM["arenas"]
    parts = [{**part, "symbol": "kws_arena_ram", "size_bytes": 30, "alignment": 8}, {**part, "size_bytes": 8, "alignment": 16}]
    fields = {**CLAIM, "arenas": parts, "arena_bytes": size}
    if is_whole:
        assert claim_from(fields).arena_bytes == size
        return
    with pytest.raises(ValueError, match="the parts of its arena are not the whole"):
        claim_from(fields)


def test_what_waits_for_rows_has_the_size_of_the_programs_pointers():
    claim = {**CLAIM, "kept": [progress()]}
    for is_64_bit, size in ((False, 12), (True, 24)):
        read = claim_from(claim, is_64_bit)
        (kept,) = read.kept
        assert (kept.symbol, kept.size_bytes, kept.alignment, kept.word) == ("kws_rows", size, 4, "rows")
        assert read.buffers == ("kws_arena", "kws_rows")
    for machine, size in (("ARM", 12), ("X86_64", 24), ("AARCH64", 24)):
        image = SimpleNamespace(**{**vars(noted(claim)), "machine": machine, "has_64_bits": machine != "ARM"})
        assert read_claims(image)[0].kept[0].size_bytes == size
    assert claim_from(CLAIM).kept == ()
    wrong = [5, None, {}, progress(symbol="kws_arena"), progress(symbol="a b"), progress(size_bytes=-1)]
    for value in [*wrong, progress(alignment=3), progress(word=""), progress(word="a b"), progress(word="a" * 17)]:
        with pytest.raises(ValueError):
            claim_from({**CLAIM, "kept": [value]})
    for value in (-1, None):
        with pytest.raises(ValueError, match="^size_bytes_64 is "):
            claim_from({**CLAIM, "kept": [progress(size_bytes_64=value)]}, True)


def update(**changes) -> dict:
    layer = {"kernel": "ref conv2d_int8", "code": "0123456789ab"}
    made = {"layout": "ba9876543210", "version": 7, "made_with": ["--board=stm32f4"], "ports": ["input x"], "layers": [layer]}
    return made | changes


def test_what_is_said_of_weights_that_can_be_replaced_is_looked_at():
    found = claim_from({**CLAIM, "update": update()}).update
    assert (found.layout, found.version, found.ports) == ("ba9876543210", 7, ("input x",))
    for fields in ({"update": update()}, {"made_with": ["--board=stm32f4"]}):
        assert claim_from({**CLAIM, **fields}).made_with == ("--board=stm32f4",)
    assert claim_from(CLAIM).made_with is None
    assert found.layers == (("ref conv2d_int8", "0123456789ab"),) and claim_from(CLAIM).update is None
    assert claim_from({**CLAIM, "update": update(ports=["p" * 400], version=2**32)}).update.ports == ("p" * 400,)
    texts = [5, "", "a\n", "p" * 401, "a\u202eb", None]
    layer = update()["layers"][0]
    wrong = [{"layout": value} for value in (5, "xyz", "0123456789aB", None)] + [
        {"version": value} for value in (-1, 2**32 + 1, "7")
    ]
    wrong += [{name: value} for name in ("made_with", "ports") for value in (5, None, *([text] for text in texts))]
    wrong += [{"layers": [{**layer, "kernel": text}]} for text in texts] + [
        {"layers": [{**layer, "code": "xyz"}]},
        {"layers": [5]},
    ]
    for changes in wrong:
        with pytest.raises(ValueError):
            claim_from({**CLAIM, "update": update(**changes)})
    for name in update().keys() - {"made_with"}:
        with pytest.raises(ValueError, match=f"^{name} is missing$"):
            claim_from({**CLAIM, "update": {key: value for key, value in update().items() if key != name}})


def test_the_functions_that_compute_are_the_run_and_by_rows_push_and_end():
    names = ["kws_run", "kws_begin", "kws_push_input", "kws_end", "kws_cancel"]
    assert claim_from({**CLAIM, "functions": names}).computing == ("kws_run", "kws_push_input", "kws_end")
    assert claim_from({**CLAIM, "functions": ["kws_run", "kws_end"]}).computing == ("kws_run",)


@pytest.mark.parametrize("text", [b"", b"[]", b"5", b"{", b"[" * 20_000, b"\xff\xfe", b'{"model": 1e999}', b"9" * 5_000])
def test_a_damaged_note_is_one_line(text):
    with pytest.raises(AidgeError) as caught:
        read_claims(noted(text))
    assert caught.value.code == "NOTE" and str(caught.value).isprintable() and len(str(caught.value)) < 200


def test_what_is_said_of_calls_and_of_the_tool_is_looked_at():
    given = {"name": "input", "type": "int8 [1, 8] NC", "scale": "no scale", "size_bytes": 8, "symbol": "", "offset_bytes": 0}
    taken = {**given, "name": "output", "symbol": "kws_arena", "offset_bytes": 4}
    found = claim_from({**CLAIM, "calls": {"inputs": [given], "outputs": [taken]}, "tool": "0.2.0"})
    assert found.tool == "0.2.0" and found.passed is not None
    assert found.passed.inputs == (ClaimedArgument("input", "int8 [1, 8] NC", "no scale", 8),)
    assert found.passed.outputs == (ClaimedArgument("output", "int8 [1, 8] NC", "no scale", 8, "kws_arena", 4),)
    wrong = [
        {name: value} for name, values in (("name", ("", "a b", 5)), ("type", ("", 5)), ("scale", ("\n",))) for value in values
    ]
    wrong += [{"size_bytes": -1}, {"size_bytes": "8"}, {"symbol": "a b"}, {"symbol": None}, {"offset_bytes": None}]
    for change in wrong:
        with pytest.raises(ValueError):
            claim_from({**CLAIM, "calls": {"inputs": [{**given, **change}], "outputs": []}})
    for calls in (5, {}, {"inputs": []}, {"inputs": [5], "outputs": []}):
        with pytest.raises(ValueError):
            claim_from({**CLAIM, "calls": calls})
    for tool in ("", " 1", "0.2.0; rm", "1" * 33, 5):
        with pytest.raises(ValueError):
            claim_from({**CLAIM, "tool": tool})
    assert claim_from({name: value for name, value in CLAIM.items() if name != "tool"}).tool == ""


def test_a_note_that_is_cut_off_is_damaged_and_none_of_another_version():
    image = noted(CLAIM)
    for length in (0, 1, 5, 6, 7, 100, len(image.notes[0]) - 1):
        with pytest.raises(AidgeError, match="is damaged"):
            read_claims(SimpleNamespace(**{**vars(image), "notes": (image.notes[0][:length],)}))
    padded = SimpleNamespace(**{**vars(image), "notes": (image.notes[0] + b"\0\0\1",)})
    assert read_claims(padded) == read_claims(image)
    for version in (0, 1, 2, 6, 65_535):
        with pytest.raises(AidgeError, match=f"its claim has version {version}, this one reads 3 to 5"):
            read_claims(noted(CLAIM, version=version))


def test_a_claim_of_an_older_version_is_read_in_the_shape_of_today():
    """Version 3 had no state yet, version 4 nothing else that is kept between calls."""
    (today,) = read_claims(noted(CLAIM))
    for version, later in ((4, ("kept",)), (3, ("kept", "state"))):
        older = {name: value for name, value in CLAIM.items() if name not in later}
        assert read_claims(noted(older, version=version)) == (today,)
        for wrong in ([], "x", {**older, "arena_bytes": 500}):
            with pytest.raises(AidgeError, match="is damaged"):
                read_claims(noted(json.dumps(wrong).encode(), version=version))


def test_one_claim_twice_is_one_and_two_different_ones_contradict_each_other():
    other = {**CLAIM, "model": "vww"}
    found = read_claims(noted(CLAIM, other, CLAIM))
    assert [(claim.model, claim.is_contradicted) for claim in found] == [("kws", False), ("vww", False)]
    found = read_claims(noted(CLAIM, other, {**CLAIM, "peak_bytes": 1}))
    assert [(claim.model, claim.is_contradicted, claim.peak_bytes) for claim in found] == [
        ("kws", True, 512),
        ("vww", False, 512),
    ]


CLAIMS = [Claim(name, 0, (), True) for name in ("kws", "vww", "ad")]


def test_models_share_with_those_of_their_groups_alone():
    found = read_waivers("kws+vww,vww+ad", "DTCM", CLAIMS, ["DTCM", "FLASH"])
    assert found == Waivers((frozenset({"kws", "vww"}), frozenset({"vww", "ad"})), frozenset({"DTCM"}))
    assert found.shares_with("kws") == {"vww"} and found.shares_with("vww") == {"kws", "ad"} and not found.shares_with("ic")
    assert read_waivers(None, None, CLAIMS, []) == Waivers()


@pytest.mark.parametrize(
    "shares, weights_in, text",
    [
        ("kws+zoo+ic", None, "--shares: the program holds no model 'ic'. Tried: ad; kws; vww. Hint: join the models"),
        ("kws", None, "--shares: 'kws' alone shares nothing"),
        ("kws+vww,ad", None, "--shares: 'ad' alone shares nothing"),
        ("kws+kws", None, "--shares: 'kws' alone shares nothing"),
        ("kws+", None, "--shares: the program holds no model ''"),
        (None, "DTCM,OTHER,ITCM", "--weights-in: there is no memory 'ITCM'. Tried: DTCM. Hint: name the board, or each --region"),
        (None, "a\x1b", "--weights-in: there is no memory"),
    ],
)
def test_what_is_agreed_upon_must_be_there(shares, weights_in, text):
    with pytest.raises(AidgeError) as caught:
        read_waivers(shares, weights_in, CLAIMS, ["DTCM"])
    assert caught.value.code == "USAGE" and str(caught.value).startswith(text) and str(caught.value).isprintable()


def test_what_is_left_of_a_span_is_what_is_in_none_of_the_others():
    draw = random.Random(5)
    for _ in range(300):
        begin, *edges = (draw.randrange(12) for _ in range(7))
        whole = Span(begin, begin + draw.randrange(1, 12))
        others = [Span(min(pair), max(pair)) for pair in zip(edges[::2], edges[1::2], strict=True)]
        left = whole.without(others)
        cut = {at for other in others for at in range(other.begin, other.end)}
        assert [at for span in left for at in range(span.begin, span.end)] == [
            at for at in range(whole.begin, whole.end) if at not in cut
        ]
        assert all(span.begin < span.end for span in left)
    for first, second in itertools.product([(0, 4), (4, 8), (3, 5), (0, 8)], repeat=2):
        assert Span(*first).meets(*second) == bool(set(range(*first)) & set(range(*second)))
    assert str(Span(16, 32)) == "0x00000010 to 0x0000001f"


PORT = {"label": "input 0", "symbol": "kws_arena", "offset_bytes": 64, "size_bytes": 400}


def test_what_dma_may_touch_is_read_from_a_claim_that_says_something_of_it():
    without = claim_from(CLAIM)
    assert (without.dma_line, without.hooks, without.ports) == (0, (), ())
    read = claim_from({**CLAIM, "dma": {"line_bytes": 32, "hooks": ["kws_before_input"], "ports": [PORT]}})
    assert (read.dma_line, read.hooks) == (32, ("kws_before_input",))
    assert [(port.label, port.symbol, port.offset_bytes, port.size_bytes) for port in read.ports] == [
        ("input 0", "kws_arena", 64, 400)
    ]
    assert claim_from({**CLAIM, "dma": {"line_bytes": 0, "hooks": [], "ports": []}}).dma_line == 0


@pytest.mark.parametrize(
    "wrong",
    [
        5,
        {},
        {"line_bytes": 33, "hooks": [], "ports": []},
        {"line_bytes": 0, "hooks": [], "ports": [PORT]},
        {"line_bytes": 32, "hooks": ["a b"], "ports": []},
        {"line_bytes": 32, "hooks": [], "ports": [{**PORT, "label": "\x1b[2J"}]},
        {"line_bytes": 32, "hooks": [], "ports": [{**PORT, "offset_bytes": -1}]},
    ],
)
def test_what_a_claim_says_of_dma_is_looked_at(wrong):
    with pytest.raises(ValueError):
        claim_from({**CLAIM, "dma": wrong})


def test_the_hooks_that_copy_constants_are_read_from_a_claim_that_names_them():
    assert claim_from(CLAIM).copy_hooks == ()
    assert claim_from({**CLAIM, "copies": {"hooks": ["kws_copy_start", "kws_copy_wait"]}}).copy_hooks == (
        "kws_copy_start",
        "kws_copy_wait",
    )
    for wrong in (5, {}, {"hooks": ["a b"]}):
        with pytest.raises(ValueError):
            claim_from({**CLAIM, "copies": wrong})


def test_a_memory_of_its_own_is_read_from_what_a_claim_says_of_an_array():
    assert (claim_from(CLAIM).constants[0].region, claim_from(CLAIM).constants[0].memory) == ("", None)
    placed = {**CLAIM["weights"][0], "region": "DTCM", "memory": {"origin": 0x20000000, "length_bytes": 65536}}
    found = claim_from({**CLAIM, "weights": [placed]}).constants[0]
    assert (found.region, found.memory, found.size_bytes) == ("DTCM", (0x20000000, 65536), 64)
    for wrong in ({"region": "D TCM"}, {"memory": None}, {"memory": {"origin": 5}}, {"region": None}):
        with pytest.raises(ValueError):
            claim_from({**CLAIM, "weights": [{**placed, **wrong}]})
