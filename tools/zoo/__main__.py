# SPDX-License-Identifier: MIT
"""Trains models of the zoo again.

python -m tools.zoo                    all: writes model, test samples and card of each
python -m tools.zoo gesture ecg        some
python -m tools.zoo gesture --check    writes nothing; exit 1 unless the file and the card have the digest that training gives
python -m tools.zoo --page             writes docs/zoo.md from the cards, and its table by a sweep over boards
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from pathlib import Path
from types import ModuleType

import numpy

from aidge_build.base.installed import zoo_folder
from aidge_build.base.zoo import entry, names
from tools.zoo.card import digest, trained_as, with_measured
from tools.zoo.made import Arrays
from tools.zoo.measure import measured


def module_named(name: str) -> ModuleType:
    """The module that trains the model of this name: SEED, made() and held_out()."""
    return importlib.import_module(f"tools.zoo.{name}")


def check(name: str) -> bool:
    """Trains again, and prints whether the digest is the same."""
    model = module_named(name).made().model
    same = trained_as(entry(name), model)
    print(f"{name}: {digest(model)} {'as its card and its file' if same else 'differs from its card or its file'}", flush=True)
    return same


def write(name: str) -> None:
    """Trains, measures, and writes the files of an entry; files that belong to another example are compared alone."""
    folder, module = zoo_folder() / name, module_named(name)
    begun = sum(os.times()[:4])  # of scripts that it calls, too
    made = module.made()
    seconds, arrays = sum(os.times()[:4]) - begun, module.held_out()
    card = folder / "card.toml"
    text = card.read_text(encoding="utf-8")
    (folder / _named(text, "model", f"{name}.onnx")).write_bytes(made.model)
    if not _named(text, "test", ""):
        _write_samples(folder / "test.npz", arrays, getattr(module, "STORED", None))
    found = measured(name, made, arrays)
    card.write_text(with_measured(text, name, made.model, module.SEED, seconds, found), encoding="utf-8")
    print(f"{name}: {len(made.model):,} B, {found.figure} {found.values}, {found.instructions:,} instructions, {seconds:.0f} s")


def _named(text: str, key: str, default: str) -> str:
    """The file that a card names, before its table `measured` is there."""
    rows = (line.split(" = ", 1) for line in text.splitlines() if line.startswith(f"{key} = "))
    return next((value.strip('"') for _, value in rows), default)


def _write_samples(path: Path, arrays: Arrays, count: int | None) -> None:
    """The first samples, all of them for None."""
    samples = len(arrays["x"])
    numpy.savez_compressed(
        path,
        **{key: values[:count] if len(values.shape) and len(values) == samples else values for key, values in arrays.items()},
    )


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tools.zoo", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="models (default: all)")
    parser.add_argument("--check", action="store_true", help="train again and compare digests; write nothing")
    parser.add_argument("--page", action="store_true", help="write docs/zoo.md; train nothing")
    arguments = parser.parse_args(words)
    chosen = arguments.names or names()
    if arguments.page:
        from tools.zoo.page import write_page

        write_page()
        return 0
    if arguments.check:
        return 0 if all([check(name) for name in chosen]) else 1
    for name in chosen:
        write(name)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
