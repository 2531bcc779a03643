# SPDX-License-Identifier: MIT
"""A header that is not that of the linked model does not link, whatever builds; the right one costs nothing and is not seen."""

from __future__ import annotations

import dataclasses
import itertools
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from aidge_build.base.errors import AidgeError
from aidge_build.base.installed import cmake_folder, scons_toolpath
from aidge_build.base.output import write_sources
from aidge_build.boards import Region, load_board
from aidge_build.build.emit import emit, template
from aidge_build.measure.report.attribution import attribute
from aidge_build.plan.options import Options
from aidge_build.prove.elf import read_claims, read_image
from aidge_build.prove.elf.undefined import Undefined, read_cross_references, read_undefined
from aidge_build.run.toolchain import build_program
from tests.command import aidge_build
from tests.emitted import chain
from tests.served import served

ARM = ["-mcpu=cortex-m4", "-mthumb", "-ffunction-sections", "-fdata-sections"]
BARE = ["-nostartfiles", "-Wl,--gc-sections,-e,main"]
STRICT = [
    "-Wall",
    "-Wextra",
    "-Wpedantic",
    "-Wundef",
    "-Wredundant-decls",
    "-Wmissing-declarations",
    "-Wunused-macros",
    "-Werror",
]
ROOT = Path(__file__).resolve().parents[2]
# Compiler and its flags, and those of the link.
BUILDS = {
    "gcc": (["gcc", "-std=c99", "-pedantic", *STRICT], []),
    "gcc-lto": (["gcc", "-O2", "-flto"], []),
    "g++": (["g++", "-x", "c++", "-O1", *STRICT], []),
    "clang": (["clang", "-std=c99", *STRICT], []),
    "no-aliases": (["gcc", "-std=c99", *STRICT, "-U__ELF__"], []),
    "no-aliases-c++": (["g++", "-x", "c++", *STRICT, "-U__ELF__"], []),
    "arm": (["arm-none-eabi-gcc", *ARM, "-Os", *STRICT], BARE),
    "arm-lto": (["arm-none-eabi-gcc", *ARM, "-O2", "-flto"], BARE),
}
OPTIONS = {"pointers": Options(), "arena": Options(io="arena")}
# Ends with 0 where the model answers as it must; a macro that quotes the name, as shells of an RTOS do, gets the plain one.
MAIN = {
    "pointers": """
#include "toy.h"
#define EXPORT_(function) #function
#define EXPORT(function) EXPORT_(function)
static const char name[] = EXPORT(toy_run);
static int8_t input[TOY_INPUT_SIZE], output[TOY_OUTPUT_SIZE];
static int (*const table[])(const int8_t *, int8_t *) = {toy_run};
int main(void)
{
    input[1] = 3;
    return table[0](input, output) != 0 || output[TOY_OUTPUT_SIZE - 2] != 5 || name[3] != '_';
}
""",
    "arena": """
#include "toy.h"
static int8_t *volatile input = TOY_INPUT;
int main(void)
{
    input[1] = 3;
    return toy_run() != 0 || TOY_OUTPUT[TOY_OUTPUT_SIZE - 2] != 5;
}
""",
}


def run(command: list, folder: Path) -> subprocess.CompletedProcess:
    if shutil.which(command[0]) is None:
        pytest.skip(f"needs {command[0]}")
    return subprocess.run([str(word) for word in command], cwd=folder, capture_output=True, text=True)


def compile_file(build: str, source: str, target: str, folder: Path, *flags: str) -> str:
    done = run([*BUILDS[build][0], *flags, "-c", source, "-o", target], folder)
    assert done.returncode == 0, done.stderr
    return target


def model(folder: Path, count: int = 6, **changes) -> str:
    """Writes the model, of so many inputs, and returns the digest of its header."""
    write_sources(emit(chain(count=count, **changes)), folder)
    return re.search(r"toy_run_([0-9a-f]{12})", (folder / "toy.h").read_text())[1]


def link(build: str, objects: list[str], folder: Path) -> subprocess.CompletedProcess:
    """Links, the language given by -x no more in force."""
    compiler = [word for word in BUILDS[build][0] if word not in ("-x", "c++")]
    return run([*compiler, *objects, *BUILDS[build][1], "-o", "app"], folder)


def objects_of(build: str, io: str, folder: Path, include: str) -> list[str]:
    """The model in folder `mine`, and a main that includes the header of `include`."""
    (folder / "main.c").write_text(MAIN[io])
    exit_code = "void _exit(int code);\nvoid _exit(int code) { (void)code; for (;;) { } }\n"
    (folder / "exit.c").write_text(f'#ifdef __cplusplus\nextern "C" {{\n#endif\n{exit_code}#ifdef __cplusplus\n}}\n#endif\n')
    sources = {"toy.o": "mine/toy.c", "weights.o": "mine/toy_weights.c"} | ({"exit.o": "exit.c"} if "arm" in build else {})
    made = [compile_file(build, source, target, folder) for target, source in sources.items()]
    return [*made, compile_file(build, "main.c", "main.o", folder, "-I", include)]


# The arena's program refers to the function, too.
ALL_BUILDS = [*itertools.product(BUILDS, OPTIONS)]
SAMPLE = [(build, io) for build, io in ALL_BUILDS if (io == "arena") == (build not in ("gcc", "no-aliases"))]


@pytest.mark.requirement("G11")
@pytest.mark.parametrize("build, io", ALL_BUILDS if os.environ.get("AIDGE_STRESS") else SAMPLE)
def test_the_right_header_links_and_a_foreign_one_of_the_same_name_does_not(tmp_path, build, io):
    model(tmp_path / "mine", options=OPTIONS[io])
    foreign = model(tmp_path / "foreign", 12, options=OPTIONS[io])
    objects = objects_of(build, io, tmp_path, "mine")
    linked = link(build, objects, tmp_path)
    assert linked.returncode == 0, linked.stderr
    if "arm" not in build:
        assert subprocess.run([tmp_path / "app"]).returncode == 0
    compile_file(build, "main.c", "main.o", tmp_path, "-I", "foreign")
    refused = link(build, objects, tmp_path)
    symbol = f"toy_{'arena' if io == 'arena' else 'run'}_{foreign}"
    assert refused.returncode != 0 and f"undefined reference to `{symbol}'" in refused.stderr


@pytest.mark.requirement("G11")
def test_the_header_of_yesterday_does_not_link_and_does_not_fit_todays_code(tmp_path):
    yesterday = model(tmp_path / "mine")
    objects = objects_of("gcc", "pointers", tmp_path, "mine")
    stale = (tmp_path / "mine" / "toy.h").read_bytes()
    model(tmp_path / "mine", 8)
    compile_file("gcc", "mine/toy.c", "toy.o", tmp_path)
    assert f"undefined reference to `toy_run_{yesterday}'" in link("gcc", objects, tmp_path).stderr
    (tmp_path / "mine" / "toy.h").write_bytes(stale)
    assert "toy.h does not belong to this file" in run(["gcc", "-c", "mine/toy.c"], tmp_path).stderr


def test_an_object_of_another_version_links_with_code_that_declares_and_promises_the_same(tmp_path, monkeypatch):
    """An upgrade changes comments; buffers that may no longer overlap are another promise, though no declaration says it."""
    model(tmp_path / "mine")
    monkeypatch.setattr(template, "VERSION", "9.8.7")
    model(tmp_path / "later")
    assert (tmp_path / "mine/toy.h").read_bytes() != (tmp_path / "later/toy.h").read_bytes()
    objects = objects_of("gcc", "pointers", tmp_path, "later")
    assert link("gcc", objects, tmp_path).returncode == 0 and subprocess.run([tmp_path / "app"]).returncode == 0
    program = chain()
    last = dataclasses.replace(program.layers[1], inputs=(*program.layers[1].inputs, program.view.tensor("x")))
    write_sources(emit(dataclasses.replace(program, layers=(program.layers[0], last))), tmp_path / "apart")
    compile_file("gcc", "main.c", "main.o", tmp_path, "-I", "apart")
    assert "undefined reference to `toy_run_" in link("gcc", objects, tmp_path).stderr


def test_code_behind_its_own_header_in_one_translation_unit_is_refused_in_words(tmp_path):
    model(tmp_path)
    refused = run(["gcc", "-include", "toy.h", "-c", "toy.c"], tmp_path)
    assert refused.returncode != 0 and "compile this file by itself: toy.h has been included before it" in refused.stderr


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_a_declaration_by_hand_links_to_the_plain_name_at_the_same_address(tmp_path, compiler):
    model(tmp_path)
    (tmp_path / "hand.c").write_text(
        "extern int toy_run(const signed char *, signed char *);\nvoid *by_hand = (void *)toy_run;\n"
    )
    (tmp_path / "both.c").write_text(
        "#include <stdint.h>\nint toy_run(const int8_t *, int8_t *);\nstatic int early(int8_t *x) { return toy_run(x, x); }\n"
        '#include "toy.h"\nextern void *by_hand;\n'
        "int main(void) { return early(0) != 1 || toy_run(0, 0) != 1 || by_hand != (void *)toy_run; }\n"
    )
    built = run([compiler, "-Wall", "-Werror", "hand.c", "both.c", "toy.c", "toy_weights.c", "-o", "app"], tmp_path)
    assert built.returncode == 0, built.stderr
    assert subprocess.run([tmp_path / "app"]).returncode == 0


def test_two_models_in_one_program_and_one_model_in_two_programs(tmp_path):
    for name, count in (("kws", 6), ("vad", 9)):
        write_sources(emit(chain(name, count=count)), tmp_path)
    main = '#include "vad.h"\n{}int main(void) {{ static int8_t x[9], y[9]; return vad_run(x, y){}; }}\n'
    (tmp_path / "both.c").write_text(main.format('#include "kws.h"\n', " + kws_run(x, y)"))
    (tmp_path / "one.c").write_text(main.format("", ""))
    vad, kws = ["vad.c", "vad_weights.c"], ["kws.c", "kws_weights.c"]
    for files in (["both.c", *vad, *kws], ["one.c", *vad]):
        built = run(["gcc", *files, "-o", "app"], tmp_path)
        assert built.returncode == 0, built.stderr
        assert subprocess.run([tmp_path / "app"]).returncode == 0


@pytest.mark.parametrize("io", OPTIONS)
@pytest.mark.parametrize("flags", ["-O0", "-O2", "-Os"] if os.environ.get("AIDGE_STRESS") else ["-Os"])
def test_the_second_names_add_no_byte_and_change_no_instruction(tmp_path, flags, io):
    model(tmp_path, options=OPTIONS[io])
    text = (tmp_path / "toy.c").read_text()
    plain, count = re.subn(r"(?m)^(int toy_run|extern uint8_t toy_arena)_[0-9a-f]{12}.*(ALIAS|alias)\(.*;$", "", text)
    assert count == len(re.findall("pragma redefine", (tmp_path / "toy.h").read_text()))
    (tmp_path / "plain.c").write_text(plain)
    found = []
    for name in ("toy", "plain"):
        compile_file("arm", f"{name}.c", f"{name}.o", tmp_path, flags, "-Wno-unused-macros")
        with open(tmp_path / f"{name}.o", "rb") as file:
            sections = [section for section in ELFFile(file).iter_sections() if section["sh_flags"] & 2]
            found.append([(one.name, one["sh_size"], one["sh_addralign"], one["sh_type"], one.data()) for one in sections])
    assert found[0] == found[1] and ".text.toy_run" in [section[0] for section in found[0]]


@pytest.mark.parametrize("build", ["arm", "arm-lto"])
def test_reports_and_checks_know_a_function_and_an_arena_by_one_name(tmp_path, build):
    digest = model(tmp_path / "mine", options=OPTIONS["arena"])
    assert link(build, objects_of(build, "arena", tmp_path, "mine"), tmp_path).returncode == 0
    with open(tmp_path / "app", "rb") as file:
        names = [symbol.name for symbol in ELFFile(file).get_section_by_name(".symtab").iter_symbols()]
    assert {f"toy_run_{digest}", f"toy_arena_{digest}", "toy_run", "toy_arena"} <= set(names)
    image = read_image(tmp_path / "app")
    assert not [symbol for symbol in image.symbols if digest in symbol.linked_name]
    assert {image.symbol("toy_run").kind, image.symbol("toy_arena").kind} == {"function", "object"}
    everything = Region("ALL", 0, 1 << 20, "ram", ())
    items = [item for group in attribute(image, read_claims(image), [everything])[0].groups for item in group.items]
    shown = {item.name: item for item in items}
    assert shown["toy_run"].aliases == shown["toy_arena"].aliases == () and "toy_run_" not in " ".join(shown)


def test_a_function_of_the_users_that_ends_like_a_second_name_stays(tmp_path):
    (tmp_path / "main.c").write_text(
        "int hash_0123456789ab(int n); int hash_0123456789ab(int n) { return n; }\n"
        "int hash(int n); int hash(int n) { return n + 1; }\nint main(void) { return hash(1) + hash_0123456789ab(-2); }\n"
    )
    built = run(["arm-none-eabi-gcc", *ARM[:2], *BARE[:1], "-Wl,-e,main", "main.c", "-o", "app"], tmp_path)
    assert built.returncode == 0, built.stderr
    assert read_image(tmp_path / "app").symbol("hash_0123456789ab") is not None


def test_a_target_whose_linker_puts_a_prefix_before_cs_names_is_safe_too(tmp_path):
    digest = model(tmp_path)
    (tmp_path / "main.c").write_text(MAIN["pointers"])
    for source in ("toy.c", "main.c"):
        done = run(["gcc", "-fleading-underscore", "-c", source], tmp_path)
        assert done.returncode == 0, done.stderr
    with open(tmp_path / "toy.o", "rb") as toy, open(tmp_path / "main.o", "rb") as main:
        symbols = [
            {symbol.name for symbol in ELFFile(file).get_section_by_name(".symtab").iter_symbols()} for file in (toy, main)
        ]
    assert {f"_toy_run_{digest}", "_toy_run"} <= symbols[0] and f"_toy_run_{digest}" in symbols[1]


@pytest.fixture(params=["archive", "lto", "arm", *(["objects", "dwarf-4"] if os.environ.get("AIDGE_STRESS") else [])])
def mixed(request, tmp_path, monkeypatch) -> list[str]:
    """The command of a link: main.c saw another toy.h than that of the toy.c that is linked."""
    flags = {"lto": ["-flto", "-O1"], "dwarf-4": ["-gdwarf-4"]}.get(request.param, [])
    compiler = ["arm-none-eabi-gcc", *ARM] if request.param == "arm" else ["gcc", *flags]
    model(tmp_path / "mine")
    model(tmp_path / "foreign", 12)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "main.c").write_text(MAIN["pointers"])
    done = run([*compiler, "-g", "-Iforeign", "-c", "main.c", "mine/toy.c", "mine/toy_weights.c"], tmp_path)
    assert done.returncode == 0, done.stderr
    model_objects = ["toy.o", "toy_weights.o"]
    if request.param == "archive":
        assert run(["ar", "rcs", "libtoy.a", *model_objects], tmp_path).returncode == 0
        model_objects = ["-L.", "-ltoy"]
    return [*compiler, *(BARE if request.param == "arm" else []), "main.o", *model_objects, "-o", "app"]


@pytest.mark.parametrize("build", [".", "build"])
def test_without_debug_information_headers_near_the_link_are_found_by_their_digests(tmp_path, monkeypatch, build):
    model(tmp_path / "mine")
    model(tmp_path / "foreign", 12)
    (tmp_path / "build").mkdir()
    monkeypatch.chdir(tmp_path / build)
    place = os.path.relpath(tmp_path)
    (tmp_path / "main.c").write_text(MAIN["pointers"])
    sources = [f"{place}/main.c", f"{place}/mine/toy.c", f"{place}/mine/toy_weights.c"]
    assert run(["gcc", f"-I{place}/foreign", "-c", *sources], tmp_path / build).returncode == 0
    line = aidge_build("explain-link", "--hook", "--", "gcc", "main.o", "toy.o", "toy_weights.o", "-o", "app").stdout
    foreign, mine = (os.path.normpath(f"{place}/{name}/toy.h") for name in ("foreign", "mine"))
    assert (
        f"or of another model called toy ({foreign})\n" in line and f"let {mine} be the only toy.h in the include folders" in line
    )


def digests(folder: Path) -> list[str]:
    return [re.search(r"HEADER_(\w+)", (folder / name / "toy.h").read_text())[1] for name in ("foreign", "mine")]


def test_a_link_with_a_foreign_header_says_whose_header_whose_code_and_what_to_do(mixed, tmp_path):
    foreign, mine = digests(tmp_path)
    lines = aidge_build("explain-link", "--hook", "--", *mixed).stdout.splitlines()
    code = "./libtoy.a(toy.o)" if "-ltoy" in mixed else "toy.o"
    assert lines == [
        f"app: error LINK_HEADER: main.c includes foreign/toy.h (digest {foreign}), but the toy.c that is linked ({code}) "
        f"belongs to mine/toy.h (digest {mine}): the first header is out of date, or of another model called toy",
        "       what helps:  let mine/toy.h be the only toy.h in the include folders (-I) of main.c, and compile it again",
    ]
    assert not (tmp_path / "app").exists()


def test_the_explanation_as_data_and_by_exit_code(tmp_path, monkeypatch):
    model(tmp_path / "foreign", 12)
    model(tmp_path / "mine")
    objects = objects_of("gcc", "pointers", tmp_path, "foreign")
    monkeypatch.chdir(tmp_path)
    result = aidge_build("explain-link", "--json", "--", "gcc", *objects)
    assert result.exit_code == 1 and result.json["memories"] == []
    (header,) = result.json["headers"]
    foreign, mine = digests(tmp_path)
    found = {"header": "foreign/toy.h", "code_header": "mine/toy.h"}  # by their digests: there is no debug information
    assert header == {"model": "toy", "users": ["main.c"], "digest": foreign, "code": ["toy.o"], "code_digest": mine, **found}


def test_a_model_that_is_not_linked_and_a_stand_in_without_the_header_are_said_to_be(tmp_path, monkeypatch):
    digest = model(tmp_path / "mine")
    objects_of("gcc", "pointers", tmp_path, "mine")
    monkeypatch.chdir(tmp_path)
    alone = aidge_build("explain-link", "--", "gcc", "main.o").stdout
    assert f"main.c includes a toy.h (digest {digest}), but no code of the model toy is linked\n" in alone
    assert "what helps:  link the toy.c and toy_weights.c in the folder of that header\n" in alone
    (tmp_path / "fake.c").write_text("int toy_run(const void *x, void *y) { return x == y; }\n")
    assert run(["gcc", "-c", "fake.c"], tmp_path).returncode == 0
    fake = aidge_build("explain-link", "--", "gcc", "main.o", "fake.o").stdout
    assert "what is linked as toy (fake.o) was compiled without any toy.h\n" in fake


def test_the_code_in_an_archive_before_its_users_is_said_to_come_too_early(tmp_path, monkeypatch):
    model(tmp_path / "mine")
    objects = objects_of("gcc", "pointers", tmp_path, "mine")
    monkeypatch.chdir(tmp_path)
    assert run(["ar", "rcs", "libtoy.a", *(name for name in objects if "main" not in name)], tmp_path).returncode == 0
    early = aidge_build("explain-link", "--", "gcc", "libtoy.a", "main.o", "-o", "app").stdout
    assert (
        "app: error LINK_LIBRARY: main.c uses the model toy, and its code (libtoy.a(toy.o)) comes earlier in the link\n" in early
    )
    assert "what helps:  put the archive after the objects that use it" in early and "LINK_HEADER" not in early
    assert run(["gcc", "main.o", "libtoy.a", "-o", "app"], tmp_path).returncode == 0


@pytest.mark.requirement("LINK_HEADER")
def test_our_own_build_explains_a_foreign_header(tmp_path):
    model(tmp_path / "mine")
    model(tmp_path / "foreign", 12)
    (tmp_path / "main.c").write_text(MAIN["pointers"])
    sources = [tmp_path / "main.c", tmp_path / "mine" / "toy.c", tmp_path / "mine" / "toy_weights.c"]
    with pytest.raises(AidgeError, match="app: main.c includes .*: the first header is out of date") as caught:
        folders = {"work_folder": tmp_path / "work", "include_folders": [tmp_path / "foreign"]}
        build_program(load_board("host"), sources, tmp_path / "app", **folders)
    assert caught.value.code == "LINK_HEADER" and "be the only toy.h" in caught.value.hint


def test_undefined_symbols_are_read_from_the_messages_of_both_linkers():
    gnu = (
        "/usr/bin/ld: main.o: in function `main':\n/a b/main.c:7: undefined reference to `kws_run_0123456789ab'\n"
        "arm-none-eabi-ld: b.c:(.text.f+0x4): undefined reference to `kws_run_0123456789ab'\n"
        "/usr/bin/ld: main.o:(.data.rel+0x0): undefined reference to `kws_run_0123456789ab'\ncollect2: error: ld returned 1\n"
    )
    llvm = (
        "ld.lld: error: undefined symbol: kws_run_0123456789ab\n>>> referenced by main.c:7 (/src/main.c:7)\n"
        ">>>               main.o:(main)\n>>> referenced by b.o:(.text.f+0x4)\n\nld.lld: error: undefined symbol: other\n"
    )
    assert read_undefined(gnu) == (Undefined("kws_run_0123456789ab", ("/a b/main.c", "b.c")),)
    assert read_undefined(llvm) == (Undefined("kws_run_0123456789ab", ("main.c", "b.o")), Undefined("other", ()))


def test_cross_references_name_the_files_of_a_symbol():
    table = (
        "\nCross Reference Table\n\nSymbol                                            File\n"
        "kws_run                                           /tmp/x.ltrans0.ltrans.o\n"
        "                                                  lib.a(kws.o) (symbol from plugin)\n"
        "main                                              main.o\n"
    )
    assert read_cross_references("...\n" + table) == {
        "kws_run": ("/tmp/x.ltrans0.ltrans.o", "lib.a(kws.o)"),
        "main": ("main.o",),
    }


DIGITS_MAIN = """
#include "digits.h"
static int8_t input[DIGITS_INPUT_SIZE], output[DIGITS_OUTPUT_SIZE];
int main(void) { return digits_run(input, output); }
"""
CMAKELISTS = f"""
cmake_minimum_required(VERSION 3.20)
project(firmware LANGUAGES C)
include_directories(foreign)
find_package(aidge_build CONFIG REQUIRED)
aidge_add_model(digits MODEL {ROOT}/examples/digits/digits.onnx)
add_executable(app main.c)
target_link_libraries(app PRIVATE digits)
aidge_check_memory(app digits)
"""
MAKEFILE = f"""
CPPFLAGS = -Iforeign
app: main.o
include {ROOT}/integrations/make/aidge.mk
$(eval $(call aidge_model,digits,{ROOT}/examples/digits/digits.onnx,--board=host))
app: $(AIDGE_OBJECTS)
\t$(AIDGE) explain-link --launch -- $(CC) -o $@ $^ -lm
main.o: $(AIDGE_HEADERS)
"""


SCONSTRUCT = f"""
env = Environment(tools=['gcc', 'gnulink'], CPPPATH=['foreign'], LIBS=['m'])
env['AIDGE_BUILD'] = TOOL
env.Tool('aidge', toolpath=[{scons_toolpath()!r}])
env.Program('app', ['main.c', env.AidgeModel('digits', {str(ROOT / "examples/digits/digits.onnx")!r}, out='out')])
"""


@pytest.mark.parametrize("system", ["scons", "cmake", "make"])
def test_builds_of_scons_cmake_and_make_find_a_foreign_header(tmp_path, system):
    """A folder with the header of another model called digits comes first in the include path."""
    if " " in str(ROOT):
        pytest.skip("make cannot read paths with spaces")
    write_sources(emit(chain("digits", count=12)), tmp_path / "foreign")
    (tmp_path / "main.c").write_text(DIGITS_MAIN)
    (tmp_path / "CMakeLists.txt").write_text(CMAKELISTS)
    (tmp_path / "Makefile").write_text(MAKEFILE)
    tool = served("aidge_build")
    (tmp_path / "SConstruct").write_text(SCONSTRUCT.replace("TOOL", repr(tool)))
    if system == "cmake":
        settings = [f"-Daidge_build_DIR={cmake_folder()}", f"-DAIDGE_EXECUTABLE={';'.join(tool)}", "-DCMAKE_C_COMPILER_WORKS=1"]
        configured = run(["cmake", "-S", ".", "-B", "b", *settings], tmp_path)
        assert configured.returncode == 0, configured.stdout + configured.stderr
    build = {
        "scons": [sys.executable, "-m", "SCons", "-Q"],
        "cmake": ["cmake", "--build", "b"],
        "make": ["make", f"AIDGE={' '.join(tool)}"],
    }
    refused = run(build[system], tmp_path)
    assert refused.returncode != 0
    assert re.search(r"app: error LINK_HEADER: main\.c includes a digits\.h .* but the digits\.c that is linked", refused.stdout)
