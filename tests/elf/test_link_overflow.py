# SPDX-License-Identifier: MIT
"""A link that fails for lack of memory is explained, whoever links: which memory, by how much, what is in it, what would help."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from aidge_build.base.errors import AidgeError
from aidge_build.base.installed import cmake_folder
from aidge_build.boards import load_board
from aidge_build.prove.elf.link_map import read_memories
from aidge_build.prove.elf.overflow import Overflow, read_overflows
from aidge_build.run.toolchain import build_program
from tests.command import aidge_build
from tests.programs import build, model, needs_cross_compiler
from tests.served import served

pytestmark = needs_cross_compiler
ROOT = Path(__file__).resolve().parents[2]
MAIN = "int main(void) {"
# Somebody's own linker script: EXTRA begins where RAM ends, and the heap is an empty section.
SCRIPT = """
MEMORY { ROM (rx) : ORIGIN = 0x08000000, LENGTH = 8K
  RAM (xrw) : ORIGIN = 0x20000000, LENGTH = 2K
  EXTRA (xrw) : ORIGIN = 0x20000800, LENGTH = 64K }
ENTRY(main)
SECTIONS { .text : { *(.text*) *(.rodata*) } > ROM
  .data : { *(.data*) } > RAM AT > ROM
  .bss : { *(.bss*) } > RAM
  ._user_heap_stack (NOLOAD) : { . += 512; } > RAM
  .other : { *(.other*) } > EXTRA }
"""
CODE = """
extern const char table[]; extern volatile char picture[]; volatile int n; volatile int initialised[20] = {1, 2};
__attribute__((section(".other"))) volatile int other = 4;
int main(void) { picture[n] = table[n]; n = picture[3] + initialised[n] + other; return 0; }
"""
FLAGS = ["-mcpu=cortex-m4", "-mthumb", "-O2", "-nostdlib"]


LTO = {"plain": (), "lto": ("-flto",)}


@pytest.fixture(scope="module")
def compiled(tmp_path_factory) -> dict[str, Path]:
    """The folders of a main and of an archive of large objects, compiled with and without link-time optimisation."""
    folders = {}
    for name, lto in LTO.items():
        folder = folders[name] = tmp_path_factory.mktemp(name)
        (folder / "main.c").write_text(CODE)
        (folder / "large.c").write_text("const char table[9000] = {1}; volatile char picture[2000];")
        subprocess.run(["arm-none-eabi-gcc", *FLAGS, *lto, "-c", "main.c", "large.c"], cwd=folder, check=True)
        subprocess.run(["arm-none-eabi-gcc-ar", "rcs", "large.a", "large.o"], cwd=folder, check=True)
    return folders


@pytest.fixture(params=LTO)
def link(request, compiled, tmp_path) -> list[str]:
    """The command that links a program whose large objects come from an archive."""
    (tmp_path / "app.ld").write_text(SCRIPT)
    return [
        "arm-none-eabi-gcc",
        *FLAGS,
        *LTO[request.param],
        str(compiled[request.param] / "main.o"),
        str(compiled[request.param] / "large.a"),
        "-T",
        str(tmp_path / "app.ld"),
        f"-Wl,-Map={tmp_path / 'app.map'}",
        "-o",
        str(tmp_path / "app.elf"),
    ]


def test_a_link_by_anybodys_script_is_explained_and_nothing_of_its_output_is_touched(link, tmp_path):
    (tmp_path / "app.map").write_text("mine")
    (tmp_path / "app.elf").write_text("mine")
    messages = subprocess.run([*link[:-1], tmp_path / "other"], capture_output=True, text=True).stderr
    (tmp_path / "app.map").write_text("mine")
    result = aidge_build("explain-link", "--json", "--", *link)
    assert result.exit_code == 1
    ram, rom = result.json["memories"]
    assert (ram["memory"], rom["memory"]) == ("RAM", "ROM")
    for memory in (ram, rom):
        assert f"region `{memory['memory']}' overflowed by {memory['missing_bytes']} bytes" in messages
        assert (
            memory["length_bytes"] + memory["missing_bytes"]
            >= sum(part["size_bytes"] for part in memory["purposes"])
            > memory["length_bytes"]
        )
    assert [(part["name"], part["size_bytes"]) for part in rom["largest"][:2]] == [
        ("table", 9000),
        ("initialised (initial value)", 80),
    ]
    assert [(part["name"], part["size_bytes"]) for part in ram["largest"][:3]] == [
        ("picture", 2000),
        ("._user_heap_stack", 512),
        ("initialised", 80),
    ]
    assert (
        ram["hints"][0] == "EXTRA has 65,532 B free"
        and "-Os" in rom["hints"]
        and any("--gc-sections" in hint for hint in rom["hints"])
    )
    assert (tmp_path / "app.map").read_text() == (tmp_path / "app.elf").read_text() == "mine"


def test_the_text_names_memory_bytes_objects_and_what_helps(link):
    lines = aidge_build("explain-link", "--", *link).stdout.splitlines()
    assert ": error LINK_OVERFLOW: memory RAM is too small by " in lines[0] and " B of 2,048 B" in lines[0]
    assert (
        lines[1].strip().startswith("largest:     picture 2,000 B, ._user_heap_stack 512 B, ")
        and "what helps:  EXTRA has" in lines[3]
    )


REST = "  .free (DSECT) : {{ begin = .; . = ORIGIN({0}) + LENGTH({0}); }} > {0} }}"
REST_OF_TWO_LINES = "  .free (DSECT) : {{ begin = .;\n. =\n ORIGIN({0}) + LENGTH({0}); }} > {0} }}"


# How a script is named and read has nothing to do with link-time optimisation.
SCRIPTS = [("plain", how, rest) for rest in (REST, REST_OF_TWO_LINES) for how in ("-T", "-Wl,-T,", "@", "@ in @")]


@pytest.mark.parametrize("link, how, rest", [*SCRIPTS, ("lto", "@ in @", REST_OF_TWO_LINES)], indirect=["link"])
def test_a_script_that_keeps_the_rest_of_a_memory_is_explained_though_the_linker_only_says_that_it_would_go_back(
    link, tmp_path, how, rest
):
    script = SCRIPT.replace("_user_heap_stack (NOLOAD)", "_user_heap_stack").rstrip().removesuffix("}")
    (tmp_path / "app.ld").write_text(script + rest.format("ROM"))
    words = [*link[: link.index("-T")], *link[link.index("-T") + 2 :]]
    words.insert(1, f"{how if how[0] == '-' else '-T'}{tmp_path / 'app.ld'}")
    if how[0] == "@":
        (tmp_path / "words").write_text(" ".join(map(shlex.quote, words[1:])))
        (tmp_path / "more").write_text(f"@{tmp_path / 'words'}")
        words = [words[0], f"@{tmp_path / ('more' if ' ' in how else 'words')}"]
    messages = subprocess.run(words, capture_output=True, text=True).stderr
    assert "cannot move location counter backwards" in messages and "overflowed" not in messages
    lines = aidge_build("explain-link", "--", *words).stdout
    assert f"{tmp_path / 'app.elf'}: error LINK_OVERFLOW: memory ROM is too small by " in lines and "table 9,000 B" in lines


def test_a_place_of_a_script_that_is_passed_is_no_want_of_memory(link, tmp_path):
    script = SCRIPT.replace("2K", "4K").replace("0x20000800", "0x20001000").replace("8K", "16K")
    (tmp_path / "app.ld").write_text(script.replace("*(.rodata*) }", "*(.rodata*) . = 16; }"))
    done = aidge_build("explain-link", "--", *link)
    assert done.exit_code == 1 and ": error LINK: " in done.stdout and "location counter backwards" in done.stdout
    assert "LINK_OVERFLOW" not in done.stdout


def test_a_launched_link_ends_as_the_linker_does(link, tmp_path, capfd):
    assert aidge_build("explain-link", "--launch", "--", *link).exit_code == 1
    assert "region `RAM' overflowed by" in capfd.readouterr().err
    (tmp_path / "app.ld").write_text(SCRIPT.replace("2K", "4K").replace("0x20000800", "0x20001000").replace("8K", "16K"))
    passed = aidge_build("explain-link", "--launch", "--", *link)
    assert (passed.exit_code, passed.stdout) == (0, "") and (tmp_path / "app.elf").exists()
    explained = aidge_build("explain-link", "--", *link)
    assert (explained.exit_code, explained.stdout) == (0, "the link does not fail\n")
    gone = aidge_build("explain-link", "--", *link, "gone.o")
    assert gone.exit_code == 1 and ": cannot find gone.o: No such file or directory\n" in gone.stdout


@pytest.mark.requirement("LINK")
def test_a_hook_never_fails_and_is_silent_where_memory_is_not_why(link, tmp_path):
    assert aidge_build("explain-link", "--hook", "--", *link).exit_code == 0
    undefined = [word for word in link if not word.endswith("large.a")]
    (tmp_path / "app.ld").write_text(SCRIPT.replace("2K", "4K").replace("0x20000800", "0x20001000"))
    silent = aidge_build("explain-link", "--hook", "--", *undefined)
    assert (silent.exit_code, silent.stdout) == (0, "")
    asked = aidge_build("explain-link", "--", *undefined)
    assert asked.exit_code == 1 and "LINK_UNDEFINED: nothing that is linked defines picture" in asked.stdout
    assert "or leave -nostdlib out\n" in asked.stdout
    missing = aidge_build("explain-link", "--launch", "--", "no-such-linker", "-o", "x")
    assert missing.exit_code == 2 and "no-such-linker: cannot be run" in missing.stderr


def test_names_that_the_c_library_leaves_to_firmware_or_start_up_files_define_get_their_own_remedies(tmp_path):
    (tmp_path / "main.c").write_text('#include <stdio.h>\nint main(void) { puts(stdin ? "a" : "b"); return 0; }')
    link = [
        "arm-none-eabi-gcc",
        *FLAGS[:3],
        str(tmp_path / "main.c"),
        "-o",
        str(tmp_path / "app.elf"),
        "-Wl,-u,__libc_init_array",
    ]
    said = aidge_build("explain", "--link", "--", *link).stdout
    assert re.search(
        r"the C library calls (_\w+, ){4}.*\n.*syscalls\.c.* or add --specs=nosys\.specs", said.replace(" and", ", and")
    )
    said = aidge_build("explain", "--link", "--", *link, "--specs=nosys.specs", "-nostartfiles").stdout
    assert "nothing that is linked defines _init (init.c)\n" in said and "or leave -nostartfiles out\n" in said


@pytest.mark.requirement("LINK_OVERFLOW")
def test_our_own_build_explains_it_too(tmp_path):
    code = model().replace(MAIN, f"static char picture[30000]; volatile int n;\n{MAIN} picture[n] = 1; n = picture[3];")
    with pytest.raises(AidgeError) as caught:
        build("microbit", code, tmp_path)
    text = str(caught.value)
    assert caught.value.code == "LINK_OVERFLOW" and "memory SRAM is too small by " in text and not (tmp_path / "app.elf").exists()
    assert "Largest in SRAM: picture 30,000 B, the stack 2,048 B, kws_arena 512 B" in text


def test_an_arena_that_was_planned_for_a_full_memory_of_a_board_goes_into_another_one_by_a_board_file(tmp_path):
    arena = {"symbol": "kws_arena", "size_bytes": 512, "alignment": 1, "region": "SRAM1", "memory": None}
    code = model(claim={"made_with": ["--board=stm32f4"], "arenas": [arena]})
    code = code.replace(MAIN, f"static char picture[120000]; volatile int n;\n{MAIN} picture[n] = 1; n = picture[3];")
    with pytest.raises(AidgeError) as caught:
        build("stm32f4", code, tmp_path)
    saved = "CCM has 65,536 B free: the arena of kws there saves 512 B of SRAM1: a board file with"
    assert f'{saved} `extends = "stm32f4"` and `arena = ["CCM"]`' in caught.value.hint


def test_an_overflow_of_flash_names_the_largest_constants(tmp_path):
    code = model().replace(MAIN, f"const char table[300000] = {{1}}; volatile int n;\n{MAIN} n = table[n];")
    with pytest.raises(AidgeError, match=r"memory FLASH is too small by .*Largest in FLASH: table 300,000 B, ") as caught:
        build("microbit", code, tmp_path)
    assert "-Os" in caught.value.hint


def test_the_arena_and_the_weights_of_a_model_are_called_so(tmp_path):
    board = tmp_path / "tiny.toml"
    board.write_text(
        'extends = "microbit"\nstack_size = "256"\n[regions.SRAM]\norigin = 0x20000000\nlength = "1K"\nkind = "ram"\n'
        '[regions.FLASH]\norigin = 0\nlength = "8K"\nkind = "flash"\n'
    )
    digits = ROOT / "examples" / "digits"
    compiled = aidge_build("compile", digits / "digits.onnx", "--name", "digits", "--out", tmp_path, "--board", "microbit")
    assert compiled.exit_code == 0
    sources = [digits / "main.c", digits / "test_images.c", tmp_path / "digits.c", tmp_path / "digits_weights.c"]
    with pytest.raises(AidgeError) as caught:
        build_program(
            load_board("tiny", [tmp_path]),
            sources,
            tmp_path / "app.elf",
            work_folder=tmp_path / "objects",
            include_folders=[tmp_path],
        )
    arena = json.loads((tmp_path / "digits.plan.json").read_text())["arena_bytes"]
    assert f"Largest in SRAM: digits_arena {arena:,} B, the stack 256 B" in str(caught.value)
    assert f"a smaller model: its arena is {arena:,} B (`aidge-build explain --plan MODEL --board=microbit" in caught.value.hint
    for word in (
        "--ram-budget BYTES (CMake RAM_BUDGET, SCons ram_budget=)",
        "--io arena (IO arena, io='arena')",
        "docs/howto-shrink.md",
    ):
        assert word in caught.value.hint


@pytest.mark.parametrize("optimize, flag", [("speed", "-O1"), ("size", "-O1"), ("speed", "-fno-inline")])
def test_a_flash_that_is_full_of_int8_weights_is_not_told_to_quantize_or_what_was_typed(tmp_path, optimize, flag):
    """Where nothing is inlined, the helpers of int8 kernels that compute in float are functions, too."""
    words = ("--name", "digits", "--out", tmp_path, "--cpu", "cortex-m0", "--optimize", optimize)
    assert aidge_build("compile", ROOT / "examples" / "digits" / "digits.onnx", *words).exit_code == 0
    code = '#include "digits.h"\nint main(void) { return digits_run(0, 0); }\n'
    command = link_words(tmp_path, code, SCRIPT.replace("LENGTH = 2K", "LENGTH = 16K").replace("0x20000800", "0x20010000"))
    sources = [str(tmp_path / name) for name in ("digits.c", "digits_weights.c")]
    command = [*(word for word in command if word != "-nostdlib"), *sources, "-nostartfiles", flag]
    command[command.index("-mcpu=cortex-m4")] = "-mcpu=cortex-m0"
    (rom,) = aidge_build("explain-link", "--json", "--", *command).json["memories"]
    hints = "; ".join(rom["hints"])
    assert "a smaller model: its weights are " in hints and "float32" not in hints
    assert ("--optimize size (CMake OPTIMIZE size, SCons optimize='size')" in hints) == (optimize == "speed")


def link_words(folder: Path, code: str, script: str) -> list[str]:
    (folder / "main.c").write_text(code)
    (folder / "app.ld").write_text(script)
    return ["arm-none-eabi-gcc", *FLAGS, str(folder / "main.c"), "-T", str(folder / "app.ld"), "-o", str(folder / "app.elf")]


# A boot loader has the first 4 KB of FLASH, and the maker's own one a ROM that no linker script fills.
BEHIND_A_BOOT_LOADER = """
MEMORY { FLASH (rx) : ORIGIN = 0x08000000, LENGTH = 8K
  SYSTEM (rx) : ORIGIN = 0x1FF00000, LENGTH = 128K
  SECOND (rx) : ORIGIN = 0x08100000, LENGTH = 128K
  RAM (xrw) : ORIGIN = 0x20000000, LENGTH = 2K }
ENTRY(main)
SECTIONS { .isr_vector 0x08001000 : { *(.isr_vector) } > FLASH
  .text : { *(.text*) *(.rodata*) } > FLASH
  .second : { *(.second*) } > SECOND
  .bss : { *(.bss*) } > RAM }
"""
LARGE_TABLE = """
const char table[6000] = {1}; volatile int n;
__attribute__((section(".isr_vector"), used)) const int vectors[4] = {1};
int main(void) { n = table[n]; return 0; }
"""


def test_a_hole_for_a_boot_loader_counts_and_a_rom_is_no_place_to_go(tmp_path):
    result = aidge_build("explain-link", "--json", "--", *link_words(tmp_path, LARGE_TABLE, BEHIND_A_BOOT_LOADER))
    (memory,) = result.json["memories"]
    assert [(part["name"], part["size_bytes"]) for part in memory["largest"][:2]] == [
        ("table", 6000),
        ("the hole before .isr_vector", 4096),
    ]
    purposes = {part["name"]: part["size_bytes"] for part in memory["purposes"]}
    assert purposes["holes"] == 4096
    whole = memory["length_bytes"] + memory["missing_bytes"]
    assert whole - 8 < sum(purposes.values()) <= whole
    assert not [hint for hint in memory["hints"] if "SYSTEM" in hint or "SECOND" in hint]


def test_a_second_flash_is_a_place_to_go_where_the_program_has_something_in_it(tmp_path):
    code = LARGE_TABLE + '__attribute__((section(".second"), used)) const int more = 5;'
    result = aidge_build("explain-link", "--json", "--", *link_words(tmp_path, code, BEHIND_A_BOOT_LOADER))
    hints = result.json["memories"][0]["hints"]
    assert "SECOND has 131,068 B free" in hints and not [hint for hint in hints if "SYSTEM" in hint]


def test_only_what_a_model_names_or_what_lies_in_its_object_is_its_code(tmp_path):
    """The user's own functions and variables may begin with the model's name."""
    users = (
        "volatile int kws_scores[12], kws_features[600];\n__attribute__((noinline)) int kws_best(int k) { return "
        "kws_scores[k] + kws_features[k]; }\n"
    )
    code = model().replace(MAIN, f"{users}{MAIN} kws_scores[1] = kws_best(3);")
    document = aidge_build("report", build("microbit", code, tmp_path), "--board", "microbit", "--json").json
    group_of = {
        item["name"]: group["name"] for region in document["regions"] for group in region["groups"] for item in group["items"]
    }
    assert {group_of[name] for name in ("kws_scores", "kws_features", "kws_best")} == {"other"}
    assert {group_of[name] for name in ("kws_run", "kws_conv", "kws_fc")} == {"layer code"}


@pytest.mark.parametrize(
    "text, expected",
    [
        (
            "ld: region `FLASH' overflowed by 38484 bytes\nld: region `RAM' overflowed by 1 byte\n",
            (Overflow("FLASH", 38484), Overflow("RAM", 1)),
        ),
        (
            "ld.lld: error: section '.data' will not fit in region 'RAM': overflowed by 4 bytes\n"
            "ld.lld: error: section '.bss' will not fit in region 'RAM': overflowed by 64 bytes\n",
            (Overflow("RAM", 64),),
        ),
        ("undefined reference to `main'", ()),
    ],
)
def test_the_messages_of_both_linkers_are_read(text, expected):
    assert read_overflows(text) == expected


def test_memories_without_attributes_are_known_by_their_names():
    table = (
        "\nMemory Configuration\n\nName             Origin             Length             Attributes\n"
        "IFLASH1          0x00400000         0x00080000\nSRAM_A           0x20000000         0x00004000\n"
        "CODE             0x10000000         0x00001000         xr\n*default*        0x00000000         0xffffffff\n"
        "\nLinker script and memory map\n\n.text 0x1 0x2\n"
    )
    assert [(memory.name, memory.origin, memory.length_bytes, memory.kind) for memory in read_memories(table)] == [
        ("IFLASH1", 0x400000, 0x80000, "flash"),
        ("SRAM_A", 0x20000000, 0x4000, "ram"),
        ("CODE", 0x10000000, 0x1000, "flash"),
    ]


@pytest.mark.parametrize("generator", ["Ninja", "Unix Makefiles"] if os.environ.get("AIDGE_STRESS") else ["Ninja"])
def test_a_project_of_cmake_gets_the_explanation_from_its_build(tmp_path, generator):
    for program in ("cmake", "ninja" if generator == "Ninja" else "make"):
        if shutil.which(program) is None:
            pytest.skip(f"needs {program}")
    (tmp_path / "app.ld").write_text(SCRIPT.replace("8K", "64K").replace("2K", "1K"))
    (tmp_path / "main.c").write_text(
        '#include "digits.h"\nint8_t in[DIGITS_INPUT_SIZE], out[DIGITS_OUTPUT_SIZE];\n'
        "int main(void) { return digits_run(in, out); }\n"
    )
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.20)\nproject(firmware LANGUAGES C)\nfind_package(aidge_build CONFIG REQUIRED)\n"
        f'aidge_add_model(digits MODEL "{ROOT}/examples/digits/digits.onnx" BOARD stm32f4)\nadd_executable(app main.c)\n'
        "target_link_libraries(app PRIVATE digits)\ntarget_link_options(app PRIVATE -nostartfiles -T "
        "${CMAKE_SOURCE_DIR}/app.ld)\n"
        "aidge_check_memory(app digits)\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    configured = subprocess.run(
        [
            "cmake",
            "-S",
            tmp_path,
            "-B",
            tmp_path / "b",
            "-G",
            generator,
            "-DCMAKE_SYSTEM_NAME=Generic",
            "-DCMAKE_C_COMPILER=arm-none-eabi-gcc",
            "-DCMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY",
            "-DCMAKE_C_FLAGS=-mcpu=cortex-m4 -mthumb -mfpu=fpv4-sp-d16 -mfloat-abi=hard -O2",
            f"-Daidge_build_DIR={cmake_folder()}",
            f"-DAIDGE_EXECUTABLE={';'.join(served('aidge_build'))}",
        ],
        capture_output=True,
        text=True,
        env=environment,
    )
    assert configured.returncode == 0, configured.stderr
    for _ in range(2):
        built = subprocess.run(
            ["cmake", "--build", tmp_path / "b"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment
        )
        assert built.returncode != 0
        assert (
            "app: error LINK_OVERFLOW: memory RAM is too small by " in built.stdout
            and "largest:     digits_arena " in built.stdout
        )
