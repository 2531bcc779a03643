# SPDX-License-Identifier: MIT
"""Board files from the descriptions of chips: CMSIS packs and devicetrees."""

from __future__ import annotations

import importlib.util
import tomllib
import tracemalloc
from pathlib import Path

import pytest

from aidge_build.base.errors import AidgeError
from aidge_build.measure.devices import board_text, file_stem, read_device
from tests.chips import PACK, TREE
from tests.command import aidge_build

needs_devicetree = pytest.mark.skipif(
    importlib.util.find_spec("devicetree") is None, reason="the package devicetree is not installed"
)


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    (tmp_path / "Maker.Chips_DFP.pdsc").write_text(PACK)
    return tmp_path / "Maker.Chips_DFP.pdsc"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "zephyr.dts").write_text(TREE)
    return tmp_path / "zephyr.dts"


def imported(path: Path, name: str = "") -> dict:
    return tomllib.loads(board_text(read_device(path, name), str(path)))


def refusal(path: Path, name: str = "") -> str:
    with pytest.raises(AidgeError) as caught:
        imported(path, name)
    assert caught.value.exit_code == 2 and "\n" not in str(caught.value)
    return str(caught.value)


def spans(board: dict) -> dict[str, tuple[int, str]]:
    return {name: (region["origin"], region["length"]) for name, region in board["regions"].items()}


def test_a_device_overrules_its_family_and_memories_that_follow_each_other_are_one(pack: Path) -> None:
    board = imported(pack, "CHIP407VG")
    assert (board["cpu"], board["fpu"], board["clock_hz"]) == ("cortex-m4", "auto", 168_000_000)
    assert spans(board) == {"IROM1": (0x08000000, "1024K"), "IRAM1": (0x20000000, "128K"), "IRAM2": (0x10000000, "64K")}
    assert (board["code"], board["data"], board["arena"]) == ("IROM1", "IRAM1", ["IRAM1", "IRAM2"])
    assert board["regions"]["IRAM2"]["dma"] is False and "dma" not in board["regions"]["IRAM1"]


def test_a_device_with_variants_is_one_of_them(pack: Path) -> None:
    assert spans(imported(pack, "chip401rc"))["IROM1"] == (0x08000000, "256K")
    board = imported(pack, "CHIP401RE")
    assert spans(board)["IROM1"] == (0x08000000, "512K") and "fpu" not in board
    assert "there is no device 'CHIP401' among its 7" in refusal(pack, "CHIP401") and "CHIP401RC, CHIP401RE" in refusal(
        pack, "CHIP401"
    )


def test_peripherals_boot_code_and_other_addresses_of_a_memory_are_no_regions(pack: Path) -> None:
    board = imported(pack, "CHIP0")
    assert spans(board) == {"FLASH_A": (0, "64K"), "SRAM": (0x20000000, "8K")}
    assert board["cpu"] == "cortex-m0plus" and board["stack_size"] == "1K" and board["libs"] == ["armv6m", "ref"]


def test_what_a_core_leaves_out_stands_behind_its_name(pack: Path) -> None:
    board = imported(pack, "CHIP33")
    assert board["cpu"] == "cortex-m33+nodsp" and board["features"] == ["thumb2"] and board["libs"] == ["armv7m", "ref"]


def test_of_several_cores_one_must_be_named_and_has_its_own_memories(pack: Path) -> None:
    assert "PAIR7 has 2 cores" in refusal(pack, "PAIR7") and "PAIR7:CM7, PAIR7:CM4" in refusal(pack, "PAIR7")
    assert "has no core 'CM0'" in refusal(pack, "PAIR7:CM0")
    seven, four, single = imported(pack, "PAIR7:CM7"), imported(pack, "PAIR7:CM4"), imported(pack, "CHIP7")
    assert [board["fpu"] for board in (seven, four, single)] == ["auto", "auto", "fpv5-sp-d16"]  # a Cortex-M7 alone has a choice
    assert (seven["cpu"], seven["clock_hz"], seven["dma_line"]) == ("cortex-m7", 480_000_000, 32)
    assert set(seven["regions"]) == {"FLASH", "AXI", "DTCM"} and set(four["regions"]) == {"FLASH", "AXI", "D2"}
    assert seven["arena"] == ["AXI", "DTCM"] and four["clock_hz"] == 240_000_000


@needs_devicetree
def test_a_devicetree_gives_core_memories_and_what_is_chosen(tree: Path) -> None:
    board = imported(tree)
    assert (board["title"], board["cpu"], board["fpu"], board["clock_hz"]) == (
        'Maker "One" board',
        "cortex-m4",
        "auto",
        64_000_000,
    )
    # The bus between shows its address 0 at 0x10000000; what is disabled is not there; what nobody chose comes last.
    assert spans(board) == {"FLASH0": (0x10000000, "1024K"), "SRAM0": (0x20000000, "256K"), "SPARE": (0x20040000, "64K")}
    assert (board["code"], board["data"], board["arena"]) == ("FLASH0", "SRAM0", ["SRAM0", "SPARE"])


@needs_devicetree
def test_a_serial_flash_is_where_its_controller_shows_it(tree: Path) -> None:
    controller = (
        "spi@402a8000 { #address-cells = <1>; #size-cells = <0>; reg = <0x402a8000 0x4000>, <0x60000000 0x800000>; "
        'flash0: nor@0 { compatible = "jedec,spi-nor"; reg = <0>; size = <0x2000000>; }; };'
    )
    start, end = TREE.index("controller@4001e000"), TREE.index("spare:")
    tree.write_text((TREE[:start] + controller + TREE[end:]).replace("ranges = <0x0 0x10000000 0x1000000>", "ranges"))
    assert spans(imported(tree))["FLASH0"] == (0x60000000, "4096K")
    tree.write_text(tree.read_text().replace("<0x60000000 0x800000>", "<0x60000000 0x200000>"))
    assert spans(imported(tree))["FLASH0"] == (0x60000000, "2048K")  # the window is smaller


_CORTEX = 'compatible = "arm,cortex-m4f"'


@needs_devicetree
@pytest.mark.parametrize(
    "cpu, core",
    [
        ('compatible = "maker,riscv", "riscv"; riscv,isa = "rv32imc_zicsr"', "rv32imc"),
        ('compatible = "sifive,e31", "riscv"; riscv,isa = "rv32imac_zicsr_zifencei"', "e31"),
        ('compatible = "sifive,e31", "riscv"; riscv,isa = "rv32im_zicsr"', "rv32im"),
        (
            'compatible = "maker,core", "riscv"; riscv,isa-base = "rv32i"; '
            'riscv,isa-extensions = "i", "m", "a", "f", "c", "zicsr", "zifencei"',
            "rv32imafc",
        ),
    ],
)
def test_a_riscv_core_of_a_devicetree_is_the_one_of_its_instructions(tree: Path, cpu: str, core: str) -> None:
    tree.write_text(TREE.replace(_CORTEX, cpu))
    board = imported(tree)
    assert (board["extends"], board["cpu"]) == ("riscv32", core) and "fpu" not in board
    assert board["libs"] == ["rv32", "ref"] and ("fpu" in board["features"]) == (core == "rv32imafc")
    assert spans(board)["FLASH0"] == (0x10000000, "1024K")


@needs_devicetree
def test_a_flash_that_states_offsets_alone_is_no_memory(tree: Path) -> None:
    tree.write_text(TREE.replace("maker,flash-controller", "espressif,esp32-flash-controller"))
    assert "has no flash of its own in this description" in refusal(tree)


@needs_devicetree
@pytest.mark.parametrize(
    "before, after, message",
    [
        ("arm,cortex-m4f", "arm,cortex-a53", "no Cortex-M and no RISC-V of 32 bits among its CPUs"),
        (_CORTEX, 'compatible = "maker,core"; riscv,isa = "rv32e"', "no core file has these instructions: rv32e"),
        (_CORTEX, 'compatible = "maker,core"; riscv,isa = "rv64imac"', "no RISC-V of 32 bits among its CPUs"),
        ("/dts-v1/;", '/dts-v1/;\n/include/ "soc.dtsi"', "it is only a part"),
        ("/dts-v1/;", "/dts-v1/;\n#include <soc.dtsi>", "it is only a part"),
        ("soc {", "soc {{", "not a devicetree"),
        ("reg = <0x20000000 0x40000>", "reg = <0x20000000>", "'reg' has 1 cells"),
    ],
)
def test_what_is_no_whole_devicetree_of_a_cortex_m_is_refused(tree: Path, before: str, after: str, message: str) -> None:
    tree.write_text(TREE.replace(before, after))
    assert message in refusal(tree)


_HUGE = "9999999999"


@needs_devicetree
@pytest.mark.parametrize(
    "value",
    [
        f"(1 << {_HUGE})",
        f"((1 == 1) << {_HUGE})",
        f"(1 / 1 << {_HUGE})",
        "(1 >> 0 << (1 << 40))",
        f'"(" 1 "<<" {_HUGE} ")"',  # which the package reads as the operators
        f"({'*'.join(['0xffffffffffffffff'] * 40_000)})",
        f"(0x{'f' * 400_000} / 3)",
        "(1 << -1)",
        "9" * 5_000,
        "089",
    ],
)
def test_an_expression_of_a_devicetree_has_64_bits_or_is_refused_before_it_takes_memory(tree: Path, value: str) -> None:
    tree.write_text(f"/dts-v1/; / {{ x = <{value}>; }};")
    tracemalloc.start()
    assert "a number has more than 64 bits" in refusal(tree)
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak_bytes < 16 << 20


@needs_devicetree
@pytest.mark.parametrize(
    "text, message",
    [
        ("/ " + "{ a " * 20_000, "nested too deep"),
        ("/ { x = <" + "(" * 20_000, "nested too deep"),
        ("/ { x = [" + "00" * 200_000 + "]; };", "more values, labels, nodes or references than any board"),
        ("/ { " + "".join(f"a{index}:" for index in range(11_000)) + " x; };", "more values, labels, nodes or references"),
        ("/ { " + "n {};" * 4_000 + "z: n {}; x = <" + "&z " * 4_000 + ">; };", "more values, labels, nodes or references"),
        (" " * (1 << 20), "the limit is 1,048,576"),
        ("/ { a {}; }; /delete-node/ &{/}; / { b {}; };", "it deletes its root"),
        ("/ { cpus { c { compatible = <1>; }; }; };", "expected property 'compatible'"),
        ('/ { cpus { c { compatible = "arm,cortex-m4"; status = <1>; }; }; };', "expected property 'status'"),
        ('/ { x = "\udcff"; };', "it is not UTF-8"),
    ],
)
def test_a_devicetree_that_would_take_long_or_has_other_types_is_refused(tree: Path, text: str, message: str) -> None:
    tree.write_bytes(f"/dts-v1/; {text}".encode(errors="surrogateescape"))
    said = refusal(tree)
    assert message in said and "recursion" not in said


@needs_devicetree
def test_expressions_of_a_devicetree_are_computed_as_ever(tree: Path) -> None:
    tree.write_text(TREE.replace("((1024) * 1024)", "((1 << 20) + (8 - 2 * 4) + (7 / 8) % 3 | (0x100000 >> (1 + 63)))"))
    assert spans(imported(tree))["FLASH0"] == (0x10000000, "1024K")


@pytest.mark.parametrize(
    "before, after, message",
    [
        ("<package ", "<!DOCTYPE a [<!ENTITY b 'cc'>]>\n<package ", "a document type is declared"),
        ("</package>", "", "not XML"),
        ('size="0x00100000"', 'size="large"', "'large' is no number"),
        ('size="0x00100000"', 'size="-4"', "'-4' is no number"),
        ("Cortex-M4", "Cortex-M99", "unknown core 'cortex-m99'"),
        ('Dcore="Cortex-M4"', "", "the pack does not name the core of device"),
        ('id="IRAM1"', 'id="IROM7"', "has no RAM"),
    ],
)
def test_a_pack_that_is_damaged_is_refused(pack: Path, before: str, after: str, message: str) -> None:
    text = PACK.replace(before, after)
    pack.write_text(text.replace('id="IRAM2"', 'id="IROM8"').replace('"rwx" start="0x2001C000"', '"rx" start="0x2001C000"'))
    assert message in refusal(pack, "CHIP407VG")


def test_another_kind_of_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "chip.svd").write_text("<device/>")
    assert "neither the description of a CMSIS pack nor a devicetree" in refusal(tmp_path / "chip.svd")


def test_names_of_a_hostile_pack_reach_the_file_as_text(pack: Path) -> None:
    pack.write_text(PACK.replace("CHIP33", "A&quot;&#10;x = 1&#9;&#x202E;B").replace("Flash-A", "&quot;]&#10;[regions.X"))
    names = [name for name in ('A"\nx = 1\t\u202eB', "CHIP0")]
    for name in names:
        board = imported(pack, name)
        assert "x" not in board and all(key.replace("_", "").isalnum() for key in board["regions"])
        assert "\u202e" not in board_text(read_device(pack, name), str(pack))
    assert file_stem(read_device(pack, names[0])) == "a-x-1-b"


def test_the_file_is_printed_or_written_and_never_over_another(pack: Path, tmp_path: Path) -> None:
    printed = aidge_build("boards", "--import", pack, "CHIP0")
    assert printed.exit_code == 0 and tomllib.loads(printed.stdout)["title"] == "CHIP0"
    written = aidge_build("boards", "--import", pack, "CHIP0", "--out", tmp_path / "mine")
    assert "Use it: --board chip0 --board-path" in written.stdout
    assert (tmp_path / "mine" / "chip0.toml").read_text() == printed.stdout
    again = aidge_build("boards", "--import", pack, "CHIP0", "--out", tmp_path / "mine")
    assert again.exit_code == 2 and "the file is there already" in again.stderr
    nowhere = aidge_build("boards", "--import", pack, "CHIP0", "--out", tmp_path / "mine" / "chip0.toml")
    assert nowhere.exit_code == 2 and "chip0.toml" in nowhere.stderr
    assert "add --import FILE" in aidge_build("boards", "--out", tmp_path).stderr
    assert "takes one device" in aidge_build("boards", "--import", pack, "CHIP0", "CHIP33").stderr
