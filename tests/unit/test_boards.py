# SPDX-License-Identifier: MIT
"""Boards are values read from TOML; a user's board costs one file."""

from __future__ import annotations

import dataclasses

import pytest

from aidge_build.base.errors import AidgeError
from aidge_build.base.installed import board_folder
from aidge_build.boards import boards_like, list_boards, load_board
from aidge_build.boards.flash import Cache, Flash
from aidge_build.run.emulate import no_emulator
from aidge_build.run.toolchain import render_link_script
from tests.command import aidge_build
from tests.small_model import small_model

NAMES = tuple(sorted(path.stem for path in board_folder().glob("*.toml")))


# No emulator has these cores with these memories; the boards of Arm's FPGA images, QEMU's virt and fe310 stand in.
NOT_EMULATED = (
    "stm32n657",
    "apollo510",
    "psoce84",
    "ra8m1",
    "ch32v003",
    "ch32v006",
    "ch32v203",
    "ch32v307",
    "esp32c3",
    "esp32c6",
    "esp32h2",
    "esp32p4",
    "gd32vf103",
    "rp2350-riscv",
)


def write(folder, name, text):
    (folder / f"{name}.toml").write_text(text)
    return folder


def refusal(folder, name="mine") -> AidgeError:
    with pytest.raises(AidgeError) as caught:
        load_board(name, [folder])
    assert caught.value.exit_code == 2 and caught.value.code == "BOARD"
    return caught.value


def test_the_built_in_boards_are_listed():
    assert list_boards() == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_every_board_ends_its_libraries_in_ref_and_knows_how_it_runs(name):
    board = load_board(name)
    assert board.libs[-1] == "ref" and (board.emulator is not None or name in NOT_EMULATED)
    assert board.is_host == (name == "host") == (not board.regions)


def test_the_stm32f746_has_the_memories_of_its_reference_manual():
    board = load_board("stm32f7")
    assert [(region.name, region.origin, region.length_bytes, region.kind) for region in board.regions] == [
        ("FLASH", 0x08000000, 1 << 20, "flash"),
        ("DTCM", 0x20000000, 64 << 10, "ram"),
        ("SRAM1", 0x20010000, 240 << 10, "ram"),
        ("SRAM2", 0x2004C000, 16 << 10, "ram"),
        ("ITCM", 0, 16 << 10, "ram"),
    ]
    assert [region.name for region in board.arena_regions] == ["DTCM", "SRAM1", "SRAM2"]
    assert board.region("stack").name == "SRAM1" and board.region("constants").name == "FLASH"
    assert board.compiler_flags[:4] == ("-mcpu=cortex-m7", "-mthumb", "-mfpu=fpv5-sp-d16", "-mfloat-abi=hard")


def test_the_stm32h743_has_the_islands_of_its_reference_manual_and_switches_on_those_that_sleep_after_reset():
    board = load_board("stm32h743")
    enable = 0x580244DC  # RCC_AHB2ENR
    assert [(region.name, region.length_bytes >> 10, region.dma, region.clock) for region in board.arena_regions] == [
        ("DTCM", 128, False, None),
        ("AXI", 512, True, None),
        ("SRAM1", 128, True, (enable, 1 << 29)),
        ("SRAM2", 128, True, (enable, 1 << 30)),
        ("SRAM3", 32, True, (enable, 1 << 31)),
        ("SRAM4", 64, True, None),
    ]
    costs = [region.access_cost for region in board.arena_regions]
    assert costs == sorted(costs) and costs[0] < costs[1] < costs[2]
    assert "LONG(0x580244DC) LONG(0x40000000) /* SRAM2 */" in render_link_script(board)
    assert "LONG(0x580244DC)" not in render_link_script(load_board("stm32f7"))


def test_a_board_with_a_core_that_the_compiler_does_not_know_is_compiled_for_a_core_with_the_same_instructions():
    board = load_board("ra8m1")
    assert (board.cpu, board.compiler_flags[0]) == ("cortex-m85", "-mcpu=cortex-m55") and board.core.timing == "cortex-m85"
    assert board.core.runs >= load_board("apollo510").core.runs and "cortex-m55" in board.core.later_than


def test_a_misspelled_board_is_guessed():
    with pytest.raises(AidgeError) as caught:
        load_board("smt32f7")
    assert str(caught.value) == (
        "there is no board 'smt32f7'. Hint: did you mean 'stm32f7'? `aidge-build list boards` lists them; --board-path DIR names "
        "a folder with board files of your own"
    )


@pytest.mark.parametrize(
    ("word", "names"),
    [
        ("stm32f407", ["stm32f4"]),
        ("STM32F407VG", ["stm32f4"]),
        ("f407", ["stm32f4"]),
        ("pico", ["rp2040", "rp2350", "rp2350-riscv"]),
        ("nano 33", ["nrf52840"]),
        ("cortex-m55", ["mps3-an547"]),
        ("-", []),
        ("stm32f8", []),
    ],
)
def test_a_board_is_found_by_a_word_of_its_name_or_title(word, names):
    assert [board.name for board in boards_like(word)] == names


def test_a_chip_that_no_board_is_called_leads_to_the_board_that_has_it():
    with pytest.raises(AidgeError, match=r"did you mean 'stm32f4' \(STM32F407\)\? `aidge-build list boards`"):
        load_board("stm32f407vg")
    assert [board["name"] for board in aidge_build("list", "boards", "f407", "stm32f7", "--json").json["boards"]] == [
        "stm32f4",
        "stm32f7",
    ]


@pytest.mark.parametrize(
    "name, board",
    [
        ("STM32F407VG", "stm32f4"),
        ("stm32f746zg", "stm32f7"),
        ("nucleo-h743zi", "stm32h743"),
        ("NUCLEO_F401RE2", "stm32f401"),
        ("nucleo-l4r5zi", "stm32l4r5"),
        ("pico", "rp2040"),
        ("feather", "samd51"),
        ("rv32imc", "qemu_riscv32"),
        ("cortex-m55", "mps3-an547"),
    ],
)
def test_a_chip_that_the_title_of_a_board_names_is_that_board(name, board):
    with pytest.raises(AidgeError, match=f"did you mean '{board}'"):
        load_board(name)


@pytest.mark.parametrize(
    "name, board",
    [
        ("stm32f407", "stm32f4"),
        ("STM32F746", "stm32f7"),
        ("stm32f405", "netduinoplus2"),
        ("nrf51822", "microbit"),
        ("samd21g18a", "samd21"),
    ],
)
def test_the_chip_of_exactly_one_board_means_that_board(name, board, tmp_path):
    assert load_board(name) == load_board(board)
    with pytest.raises(AidgeError, match=r"did you mean '.*' .* or '.*'"):
        load_board(name, [write(tmp_path, "mine", f'extends = "{board}"')])


def test_a_build_says_which_board_a_chip_means(tmp_path):
    (tmp_path / "m.onnx").write_bytes(small_model())
    said = aidge_build("compile", tmp_path / "m.onnx", "--board", "stm32f407", "--out", tmp_path / "out")
    assert said.exit_code == 0 and "--board stm32f407: stm32f4 is the board with this chip (STM32F407)" in said.stdout, said


def test_a_board_name_is_never_a_path():
    with pytest.raises(AidgeError, match="there is no board"):
        load_board("bases/cortex-m7")


def test_a_users_board_that_extends_a_built_in_one_is_one_file(tmp_path):
    write(
        tmp_path,
        "node",
        'extends = "stm32f7"\ntitle = "Node"\narena = ["SDRAM", "DTCM"]\n'
        '[regions.SDRAM]\norigin = 0xC0000000\nlength = "8M"\nkind = "ram"\n',
    )
    board = load_board("node", [tmp_path])
    assert "node" in list_boards([tmp_path])
    assert [region.name for region in board.arena_regions] == ["SDRAM", "DTCM"]
    assert board.title == "Node" and len(board.regions) == 6 and board.cpu == "cortex-m7"
    assert ".bss.aidge_SDRAM" in render_link_script(board)


def test_a_users_board_may_extend_another_one_of_the_same_folder(tmp_path):
    write(write(tmp_path, "first", 'extends = "microbit"\ntitle = "First"\n'), "second", 'extends = "first"\nstack_size = 1024\n')
    board = load_board("second", [tmp_path])
    assert (board.title, board.stack_bytes) == ("First", 1024)


def test_everything_that_was_read_is_a_dependency(tmp_path):
    board = load_board("node", [write(tmp_path, "node", 'extends = "stm32f7"\n')])
    names = {path.replace("\\", "/").rsplit("/", 1)[-1] for path in board.files}
    assert {"node.toml", "stm32f7.toml", "cortex-m7.toml", "cortex-m.toml", "startup.c", "semihosting.h", "link.ld.j2"} <= names
    assert list(board.files) == sorted(board.files)


def test_a_board_is_a_value():
    assert load_board("stm32f4") == load_board("stm32f4")
    with pytest.raises(dataclasses.FrozenInstanceError):
        load_board("stm32f4").cpu = "cortex-m0"


def test_an_unknown_key_is_refused_with_file_and_key(tmp_path):
    error = refusal(write(tmp_path, "mine", 'extends = "stm32f7"\nstack_sise = 1\n'))
    assert error.where == str(tmp_path / "mine.toml") and error.what == "unknown key 'stack_sise'"
    assert "did you mean 'stack_size'" in error.hint


def test_an_unknown_key_of_a_region_is_refused_with_its_place(tmp_path):
    error = refusal(write(tmp_path, "mine", 'extends = "stm32f7"\n[regions.X]\norigin = 0\nsize = 1\nkind = "ram"\n'))
    assert error.where.endswith("mine.toml: regions.X") and "'size'" in error.what


def test_a_cycle_is_refused_and_printed(tmp_path):
    write(write(tmp_path, "mine", 'extends = "other"\n'), "other", 'extends = "mine"\n')
    assert refusal(tmp_path).what == "boards extend each other in a cycle: mine -> other -> mine"


@pytest.mark.parametrize(
    "text, fragment",
    [
        ("title = ", "not a TOML file"),
        ('extends = "nonsense"', "there is no board 'nonsense'"),
        ('extends = "stm32f7"\nstack_size = "4 kilo"', "not a size"),
        ('extends = "stm32f7"\nlibs = []', "key 'libs' is empty"),
        ('extends = "stm32f7"\narena = ["FLASH"]', "is flash and cannot hold"),
        ('extends = "stm32f7"\ndata = "SRAM9"', "'SRAM9' is not valid"),
        ('extends = "stm32f7"\nfeatures = ["gpu"]', "'gpu' is not valid"),
        ('extends = "stm32f7"\nstack_size = true', "wrong type"),
        ('extends = "stm32f7"\nsources = ["none.c"]', "no file 'none.c'"),
        ('extends = "stm32f7"\n[regions.DTCM]\norigin = 0x20000000\nlength = "65K"\nkind = "ram"', "overlap"),
        ('extends = "cortex-m4f"', "'code' is missing"),
    ],
)
def test_a_wrong_value_is_refused(tmp_path, text, fragment):
    assert fragment in refusal(write(tmp_path, "mine", text)).what


@pytest.mark.parametrize(
    "line, fragment",
    [
        ("access_cost = 0", "wants at least 1"),
        ("access_cost = true", "wrong type"),
        ("dma = 1", "wrong type"),
        ("clock = 3", "wrong type"),
        ("clock = { bits = 4 }", "a register's address and the bits"),
        ("clock = { register = 0x40000002, bits = 4 }", "a register's address and the bits"),
        ("clock = { register = 0x40000000, bit = 4 }", "unknown key 'bit'"),
        ('same_as = "DTCM2"', "'DTCM2' is not valid"),
        ('same_as = "X"', "'X' is not valid"),
        ('same_as = "DTCM"', "another length or kind than DTCM"),
    ],
)
def test_a_wrong_value_of_a_region_is_refused(tmp_path, line, fragment):
    region = f'[regions.X]\norigin = 0x60000000\nlength = "4K"\nkind = "ram"\n{line}\n'
    assert fragment in refusal(write(tmp_path, "mine", f'extends = "stm32f7"\n{region}')).what


def test_the_host_has_no_linker_script():
    with pytest.raises(AidgeError, match="no linker script"):
        render_link_script(load_board("host"))


def test_a_multiplier_takes_at_least_one_cycle(tmp_path):
    assert load_board("mine", [write(tmp_path, "mine", 'extends = "rp2040"\nmultiplier_cycles = 32\n')]).multiplier_cycles == 32
    assert "at least one cycle" in str(refusal(write(tmp_path, "mine", 'extends = "rp2040"\nmultiplier_cycles = 0\n')))


def test_boards_with_a_data_cache_say_how_long_its_lines_are_and_what_it_does_not_hold():
    lines = {name: load_board(name).dma_line for name in NAMES}
    assert lines.pop("esp32p4") == 64  # of the chip: other chips with this core have no cache
    assert lines == {name: load_board(name).core.cache_line for name in lines} and set(lines.values()) == {0, 32}
    for name in ("apollo510", "mimxrt1062", "psoce84", "ra8m1", "stm32f7", "stm32f767", "stm32h743", "stm32h7s3", "stm32n657"):
        assert {region.name for region in load_board(name).regions if not region.cached} == {"DTCM", "ITCM"}
    assert all(region.cached for region in load_board("mps2-an500").regions)


@pytest.mark.parametrize("line", [1, 2, 3, 33, 48, 512, -32])
def test_a_line_of_a_cache_is_a_power_of_two(tmp_path, line):
    write(tmp_path, "mine", f'extends = "stm32f7"\ndma_line = {line}\n')
    assert "a line of a cache has 4, 8, ... 256 bytes" in str(refusal(tmp_path))


def test_a_board_describes_how_its_flash_is_read(tmp_path):
    cache = "{ bytes = 1024, ways = 4, line = 16 }"
    write(tmp_path, "mine", f'extends = "nrf52840"\nflash = {{ line = 8, stall = 9, external = true, cache = {cache} }}\n')
    shared = Cache(1024, 4, 16)
    assert load_board("mine", [tmp_path]).flash == Flash(8, 9, False, shared, shared, True, True)
    write(tmp_path, "mine", f'extends = "nrf52840"\nflash = {{ line = 8, prefetch = true, data_cache = {cache} }}\n')
    assert load_board("mine", [tmp_path]).flash == Flash(8, None, True, None, shared, False, False)
    assert load_board("nrf52840").flash is None


@pytest.mark.parametrize(
    "keys, message",
    [
        ("flash = { prefetch = true }", "key 'flash.line': one read gives 2, 4, 8, ... bytes, got 0"),
        ("flash = { line = 12 }", "one read gives 2, 4, 8, ... bytes, got 12"),
        ("flash = { line = 8, stall = -1 }", "key 'flash.stall': no number of cycles: -1"),
        ("flash = { line = 8, cahce = { bytes = 8, ways = 1, line = 8 } }", "unknown key 'cahce'. Hint: did you mean 'cache'?"),
        ("flash = { line = 8, cache = { bytes = 100, ways = 2, line = 8 } }", "no whole number of sets of 2 lines of 8 bytes"),
        ("flash = { line = 8, cache = { bytes = 16, ways = 0, line = 8 } }", "key 'flash.cache'"),
        (
            "flash = { line = 8, cache = { bytes = 8, ways = 1, line = 8 }, code_cache = { bytes = 8, ways = 1, line = 8 } }",
            "one cache for code and data: it excludes 'code_cache' and 'data_cache'",
        ),
        ("nanojoules_per_cycle = -0.1", "key 'nanojoules_per_cycle': an energy is not negative, got -0.1"),
        ("nanojoules_per_cycle = inf", "an energy is not negative"),
    ],
)
def test_a_flash_or_an_energy_that_cannot_be_is_refused(tmp_path, keys, message):
    assert message in str(refusal(write(tmp_path, "mine", f'extends = "nrf52840"\n{keys}\n')))


@pytest.mark.parametrize("line", [0, 4, 64, 256])
def test_a_board_may_have_shorter_and_longer_lines_or_none(tmp_path, line):
    write(tmp_path, "mine", f'extends = "stm32f7"\ndma_line = {line}\n')
    assert load_board("mine", [tmp_path]).dma_line == line


@pytest.mark.parametrize("name, others", [("rp2350-riscv", "qemu_hazard3"), ("esp32c3", "qemu_riscv32"), ("ch32v006", "")])
def test_a_board_without_an_emulator_is_refused_with_the_emulated_ones_of_its_core(name, others):
    assert no_emulator(load_board(name)).hint.partition("with this core: ")[2] == others
