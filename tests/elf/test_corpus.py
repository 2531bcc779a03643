# SPDX-License-Identifier: MIT
"""The corpus of seeded faults: what it holds all together."""

from __future__ import annotations

from aidge_build.prove.elf.findings import RULES
from tests.elf import test_arena_place, test_data_faults, test_seeded_faults

TABLES = (test_arena_place.FAULTS, test_data_faults.FAULTS, test_seeded_faults.FAULTS)
# Limits of figures rather than faults of a link; each is seeded by the tests of its figure.
OF_FIGURES = {"MEM06", "MEM08", "MEM10", "INS01", "INS02", "INS03", "CYC01", "NOTE"}
OF_DMA = {"DMA01", "DMA02", "DMA03", "DMA04"}  # tests/elf/test_dma_lines.py, tests/target/test_wrong_on_the_bench.py
OF_RUNS = {"RUN01", "RUN02", "RUN03", "RUN04", "RUN05", "RUN06"}  # tests/target/test_wrong_on_the_bench.py
OF_CODE = {"COD01", "COD02"}  # tests/elf/test_code_compared.py
OF_PLACES = {"MEM15", "STK03"}  # tests/elf/test_device_memory.py, test_stack_place.py


def test_the_corpus_has_more_than_forty_faults_and_each_code_among_them():
    names = [name for table in TABLES for name in table]
    seeded = {fault.code for table in TABLES for fault in table.values()}
    assert len(names) > 70
    assert seeded | OF_FIGURES | OF_CODE | OF_DMA | OF_RUNS | OF_PLACES == set(RULES) and not seeded & OF_FIGURES
