# SPDX-License-Identifier: MIT
"""The models that come with the tool: cards that are true of their files, and words that name them."""

from __future__ import annotations

import hashlib
import importlib
import re
from xml.etree import ElementTree

import numpy
import pytest

from aidge_build.base.zoo import entry, names, of_model, resolved
from tests.command import aidge_build
from tools.zoo import forest, page, picture
from tools.zoo.__main__ import check

LARGEST_BYTES = 300_000


@pytest.mark.parametrize("name", names())
def test_a_card_is_true_of_its_file_and_of_the_script_that_trains_it(name):
    one = entry(name)
    measured, content = one.card["measured"], one.model.read_bytes()
    assert measured["sha256"] == hashlib.sha256(content).hexdigest() and len(content) < LARGEST_BYTES
    assert one.card["data"].startswith("simulated" if one.card["simulated"] else "recorded")
    assert (one.folder.parents[2] / one.card["script"]).is_file()
    assert importlib.import_module(f"tools.zoo.{name}").SEED == measured["seed"]
    assert "labels" in (arrays := numpy.load(one.samples)) or "targets" in arrays


def test_a_word_of_a_command_names_a_model_or_its_samples():
    name = names()[0]
    assert resolved(f"zoo:{name}") == str(entry(name).model) and of_model(entry(name).model) == entry(name)
    assert resolved(f"--model=zoo:{name}") == f"--model={entry(name).model}"
    assert resolved(f"zoo:{name}/test.npz") == str(entry(name).samples)
    for word in ("--name", f"my-zoo:{name}", "digits.onnx"):
        assert resolved(word) == word


def test_a_name_that_is_none_is_refused_with_the_names():
    done = aidge_build("explain", f"zoo:{names()[0]}x")
    assert done.exit_code == 2 and done.stderr.count("\n") == 1
    assert f"did you mean '{names()[0]}'?" in done.stderr and ", ".join(names()) in done.stderr
    assert "has no 'weights.npz'" in aidge_build("explain", f"zoo:{names()[0]}/weights.npz").stderr


def test_the_list_has_a_line_for_each_and_says_which_data_are_simulated():
    lines = aidge_build("list", "zoo").stdout.splitlines()
    assert [line.split()[0] for line in lines[:-1]] == [f"zoo:{name}" for name in names()]
    assert all(("simulated data" in line) == entry(name).card["simulated"] for name, line in zip(names(), lines))
    assert "licence" in (card := aidge_build("list", "zoo", names()[0]).stdout) and entry(names()[0]).card["data"] in card


def test_the_card_is_found_by_the_word_of_the_list_and_names_the_samples_once():
    card = aidge_build("list", "zoo", f"zoo:{names()[0]}").stdout
    assert card == aidge_build("list", "zoo", names()[0]).stdout
    fields = [line.split("  ")[1] for line in card.splitlines()[1:]]
    assert len(set(fields)) == len(fields) and "test samples" in fields


def test_a_comparison_without_vectors_names_the_samples_that_come_with_the_model():
    assert f"Hint: --io-data zoo:{names()[0]}/test.npz, or" in aidge_build("verify", f"zoo:{names()[0]}").stderr


def test_a_stream_that_hands_out_a_class_number_is_judged_where_a_sound_ends():
    (stage,) = aidge_build("accuracy", "zoo:keyword", "--labels", "zoo:keyword/test.npz", "--json").json["stages"]
    assert (stage["top1"]["correct"], stage["top1"]["count"], stage["auc"]) == (3, 3, None)


def test_training_again_gives_the_digest_of_the_card_and_fewer_trees_another(monkeypatch, capsys):
    assert check("forest") and "as its card and its file" in capsys.readouterr().out
    monkeypatch.setattr(forest, "TREES", 1)
    assert not check("forest") and "differs" in capsys.readouterr().out


def test_the_picture_is_made_of_the_tables_of_the_page_and_hides_no_dot():
    text = page.PAGE.read_text(encoding="utf-8")
    for name, drawing in picture.pictures(text).items():
        stored = (page.PAGE.parent / "static" / name).read_text(encoding="utf-8")
        assert stored == drawing and name in text, "`python -m tools.zoo --page` writes it"
        places = re.findall(r'class="dot \w+" cx="([\d.]+)" cy="([\d.]+)"', drawing)
        assert len(places) == len(set(places)) == len(names()) * len(picture.BOARDS)
        root = ElementTree.fromstring(drawing)
        for said in root.iter("{http://www.w3.org/2000/svg}text"):  # by the width of a letter in pixels
            letter = {"title": 9, "small middle": 3.2}.get(said.get("class"), 6.3)
            assert float(said.get("x")) + letter * len(said.text) < float(root.get("width"))


def test_the_page_shows_the_cards_and_every_model_on_every_board():
    text = page.PAGE.read_text(encoding="utf-8")
    again = "`python -m tools.zoo --page` writes it"
    assert page.with_tables(text, {"models": page.models(), "cards": page.cards()}) == text, again
    for figure in page.FIGURES:
        table = text.partition(f"<!-- {figure}: begin")[2].partition("<!--")[0]
        rows = [row.split(" | ") for row in table.splitlines() if row.startswith("| ")]
        assert rows[0][2:] == [*names()[:-1], f"{names()[-1]} |"] and [row[0] for row in rows[1:]] == [
            f"| {name}" for name in page.BOARDS
        ]
