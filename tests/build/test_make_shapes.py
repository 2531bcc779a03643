# SPDX-License-Identifier: MIT
"""Makefiles of firmware that is not ours: the shapes that an adapter for GNU make must live with, in texts of our own."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path

import pytest

from tests.build.checkout import ROOT
from tests.build.conftest import MODEL, STUB, Project

pytestmark = pytest.mark.skipif(
    shutil.which("make") is None or " " in str(ROOT), reason="needs make, and a checkout at a path without spaces: make cannot"
)
INCLUDE = f"""\
AIDGE = {sys.executable} {STUB}
include {ROOT}/integrations/make/aidge.mk
$(eval $(call aidge_model,kws,models/kws.onnx,--board=host))
"""
NOTHING = "make: Nothing to be done for 'all'.\n"


def make(project: Project, *words: str) -> set[str]:
    """The steps of a run that must succeed."""
    done = project.run("make", *words)
    assert done.exit_code == 0, done.output
    steps = {"AIDGE"} if " compile --out" in done.output else set()
    steps |= {"CHECK"} if " check " in done.output else set()
    steps |= {f"CC {Path(name).name}" for name in re.findall(r" -c .*?(\w+\.c)\b", done.output)}
    return steps | ({"LINK"} if re.search(r" -o \S*app\.elf", done.output) else set())


def checked_objects(project: Project, elf: str) -> list[str]:
    return json.loads(project.read(f"{elf}.check.json"))["options"]["--objects"]


ALL = {"AIDGE", "CC main.c", "CC kws.c", "CC kws_weights.c", "LINK", "CHECK"}


def test_the_goal_of_a_plain_make_is_the_first_target_of_the_makefile_wherever_the_include_stands(firmware):
    rules = "all: app.elf\napp.elf: main.o $(AIDGE_OBJECTS)\n\t$(CC) -o $@ $^\n\t$(AIDGE_CHECK)\nmain.o: $(AIDGE_HEADERS)\n"
    firmware.write("Makefile", INCLUDE + "$(eval $(call aidge_check,other.elf))\n" + rules)
    assert make(firmware) == ALL
    assert firmware.run("make").output == NOTHING  # the depfile, which is read now, has targets, too
    firmware.write("Makefile", ".DEFAULT_GOAL := main.o\n" + INCLUDE + rules)
    assert firmware.run("make").output == "make: 'main.o' is up to date.\n"


def test_flags_without_unaligned_access_that_are_set_before_the_model_reach_the_generator(firmware):
    rules = "all: app.elf\napp.elf: main.o $(AIDGE_OBJECTS)\n\t$(CC) -o $@ $^\nmain.o: $(AIDGE_HEADERS)\n"
    for flags, expected in (("-O1", False), ("-O1 -mno-unaligned-access", True)):
        firmware.write("Makefile", f"CFLAGS := {flags}\n{INCLUDE}{rules}")
        assert ("--unaligned=off" in firmware.run("make", "-n").output) is expected


# Objects have a folder of their own, and depfiles; the implicit rule is cancelled, CPPFLAGS are not used, VPATH finds sources.
OBJECT_FOLDER = """\
OUT := ./output
CFLAGS += -Wall -MMD -MP $(INCLUDES)
SOURCES += ./main.c
%(lines)s
OBJECTS = $(addprefix $(OUT)/,$(notdir $(SOURCES:%%.c=%%.o)))
all: $(OUT)/app.elf
%%.o: %%.c
$(OUT)/%%.o: %%.c Makefile
	$(CC) $(CFLAGS) -c $< -o $@
$(OUT)/app.elf: $(OBJECTS) Makefile
	$(CC) $(CFLAGS) $(OBJECTS) -o $@
	$(AIDGE_CHECK)
include $(wildcard $(OUT)/*.d)
$(OBJECTS): $(AIDGE_HEADERS)
"""
IN_LISTS = INCLUDE + "SOURCES += $(AIDGE_SOURCES)\nVPATH += $(AIDGE_OUT)\nINCLUDES += $(AIDGE_INCLUDE)\n"


@pytest.mark.parametrize("folder", ["build/aidge", "./output"])
def test_models_in_the_list_of_sources_are_compiled_by_the_rules_of_the_makefile(firmware, folder):
    (firmware.folder / "output").mkdir()
    firmware.write("Makefile", OBJECT_FOLDER % {"lines": f"AIDGE_OUT = {folder}\n" + IN_LISTS})
    assert make(firmware) == ALL and firmware.run("make").output == NOTHING
    assert checked_objects(firmware, "output/app.elf") == ["output/kws.o", "output/kws_weights.o"]
    firmware.write("models/kws.onnx", "topology=A\nweights=2\n")
    assert make(firmware) == {"AIDGE", "CC kws_weights.c", "LINK", "CHECK"} and make(firmware) == set()


def test_a_makefile_without_a_rule_for_the_objects_names_a_command_that_compiles(firmware):
    (firmware.folder / "output").mkdir()
    lines = "AIDGE_COMPILE = $(CC) $(CFLAGS)\nINCLUDES += $(AIDGE_INCLUDE)\n" + INCLUDE
    text = OBJECT_FOLDER.replace("$(OBJECTS) -o", "$(OBJECTS) $(AIDGE_OBJECTS) -o").replace(
        "$(OBJECTS) M", "$(OBJECTS) $(AIDGE_OBJECTS) M"
    )
    firmware.write("Makefile", text % {"lines": lines})
    assert make(firmware) == ALL and firmware.run("make").output == NOTHING
    assert checked_objects(firmware, "output/app.elf") == ["build/aidge/kws.o", "build/aidge/kws_weights.o"]


# The rules are in a file that is included; -MD writes a depfile beside each object, and a pattern links.
RULES = """\
all: elf
elf: $(BINARY).elf
%.elf %.map: $(OBJS)
	$(CC) -Wl,-Map=$(*).map $(OBJS) -o $(*).elf
%.o: %.c
	$(CC) -MD $(CPPFLAGS) -o $(*).o -c $(*).c
-include $(OBJS:.o=.d)
"""
USER = f"""\
BINARY = app
OBJS += main.o
{INCLUDE}OBJS += $(AIDGE_OBJECTS)
$(eval $(call aidge_check,app.elf))
include rules.mk
main.o: $(AIDGE_HEADERS)
all: $(AIDGE_CHECKS)
"""


def test_a_program_that_the_rule_of_an_included_file_links_is_checked(firmware):
    firmware.write("rules.mk", RULES)
    firmware.write("Makefile", USER + "AIDGE_CHECK_OPTIONS = --quiet=STK02 --max-stack=99\n")
    assert make(firmware) == ALL and firmware.run("make").output == NOTHING
    options = json.loads(firmware.read("app.elf.check.json"))["options"]
    assert options["--quiet"] == ["STK02"] and options["--max-stack"] == ["99"]
    assert checked_objects(firmware, "app.elf") == ["build/aidge/kws.o", "build/aidge/kws_weights.o"]
    firmware.write("models/kws.onnx", "topology=A\nweights=2\n")
    assert make(firmware) == {"AIDGE", "CC kws_weights.c", "LINK", "CHECK"} and make(firmware) == set()


# Rules for images, of somebody's file: `all` names them before the check.
IMAGES = """\
all: app.bin app.hex
app.elf: $(OBJS)
	$(CC) $(CPPFLAGS) -o $@ $^
%.bin: %.elf
	cp $< $@
%.hex: %.elf
	cp $< $@
objects/%.o: %.c
	@mkdir -p objects
	$(CC) $(CPPFLAGS) -o $@ -c $<
"""


@pytest.mark.parametrize("words", ["app.elf", "app.elf,$(OBJS)", "app.elf,$(OBJS),app.bin app.hex other.img"])
def test_a_program_that_fails_leaves_neither_itself_nor_an_image(firmware, words):
    user = USER.replace("call aidge_check,app.elf", f"call aidge_check,{words}").replace("include rules.mk", "include images.mk")
    firmware.write("images.mk", IMAGES)
    firmware.write("Makefile", user + "%.o: %.c\n\t$(CC) $(CPPFLAGS) -o $@ -c $<\n")
    images = [firmware.folder / name for name in ("app.elf", "app.bin", "app.hex")]
    assert make(firmware, "-j4") == ALL and all(image.exists() for image in images)
    assert make(firmware) == set()
    firmware.write("models/kws.onnx", MODEL + "check=bad\n")
    for jobs in ("-j1", "-j4"):
        done = firmware.run("make", jobs)
        assert done.exit_code == 2 and "the arena is not the plan's" in done.output and "cp app.elf" not in done.output
        assert not any(image.exists() for image in images)
    firmware.write("models/kws.onnx", MODEL)
    assert "CHECK" in make(firmware, "-j4") and all(image.exists() for image in images)


@pytest.mark.parametrize("folder", ["objects/", "objects/build/aidge/", ""])
def test_the_objects_that_a_check_is_told_are_compared_wherever_they_lie(firmware, folder):
    objects = f"OBJS = main.o {folder}kws.o {folder}kws_weights.o\n"
    firmware.write(
        "Makefile",
        f"{INCLUDE}{objects}$(eval $(call aidge_check,app.elf,$(OBJS)))\nall: app.elf $(AIDGE_CHECKS)\nmain.o: $(AIDGE_HEADERS)\n"
        f"{folder}%.o: $(AIDGE_OUT)/%.c\n\t@mkdir -p ./{folder}\n\t$(CC) $(CPPFLAGS) -o $@ -c $<\n"
        "app.elf: $(OBJS)\n\t$(CC) -o $@ $^\n",
    )
    assert make(firmware) == ALL
    assert checked_objects(firmware, "app.elf") == [f"{folder}kws.o", f"{folder}kws_weights.o"]


def test_a_list_of_folders_and_headers_in_order_alone(firmware):
    """Such a makefile puts -I before each folder itself, and knows from depfiles who includes the header."""
    (firmware.folder / "output").mkdir()
    lines = IN_LISTS.replace(
        "INCLUDES += $(AIDGE_INCLUDE)", "INCDIR += $(AIDGE_INCLUDE_DIRS)\nINCLUDES = $(addprefix -I,$(INCDIR))"
    )
    firmware.write("other.c", "int other;\n")
    text = OBJECT_FOLDER.replace("SOURCES += ./main.c", "SOURCES += ./main.c other.c")
    firmware.write("Makefile", (text % {"lines": lines}).replace("$(OBJECTS): $(AIDGE", "$(OBJECTS): | $(AIDGE"))
    assert make(firmware) == ALL | {"CC other.c"}
    firmware.write("models/kws.onnx", MODEL + "size=2\n")
    assert make(firmware) == {"AIDGE", "CC main.c", "CC kws.c", "LINK", "CHECK"} and make(firmware) == set()


# Kbuild: a script that every folder shares reads the folder's Kbuild, with $(obj) and $(srctree); objects are listed in obj-y.
KBUILD = """\
__build: $(obj)/built-in.o
include $(srctree)/$(obj)/Kbuild
objects := $(addprefix $(obj)/,$(obj-y))
$(obj)/%.o: $(srctree)/$(obj)/%.c
	$(CC) $(ccflags-y) -c -o $@ $<
$(obj)/%.o: $(obj)/%.c
	$(CC) $(ccflags-y) -c -o $@ $<
$(obj)/built-in.o: $(objects)
	$(LD) -r -o $@ $^
"""
FOLDER_OF_KBUILD = f"""\
AIDGE = {sys.executable} {STUB}
AIDGE_OUT := $(obj)
include {ROOT}/integrations/make/aidge.mk
$(eval $(call aidge_model,kws,$(srctree)/models/kws.onnx,--board=host))
obj-y += main.o $(notdir $(AIDGE_OBJECTS))
ccflags-y += $(AIDGE_INCLUDE)
$(obj)/main.o: $(AIDGE_HEADERS)
"""


def test_a_folder_of_a_kbuild_lists_the_model_among_its_objects(firmware):
    firmware.write("src/build.mk", KBUILD)
    firmware.write("src/app/Kbuild", FOLDER_OF_KBUILD)
    firmware.write("src/app/main.c", firmware.read("main.c"))
    firmware.write("src/models/kws.onnx", MODEL)
    (firmware.folder / "app").mkdir()
    words = ("-f", "src/build.mk", "obj=app", "srctree=src")
    assert make(firmware, *words) == ALL - {"LINK", "CHECK"} and make(firmware, *words) == set()
    assert not list((firmware.folder / "src/app").glob("kws*"))
    firmware.write("src/models/kws.onnx", "topology=A\nweights=2\n")
    assert make(firmware, *words) == {"AIDGE", "CC kws_weights.c"}


def test_clean_removes_everything_that_a_model_and_its_check_have_written(firmware):
    lines = "clean:\n\trm -f app.elf main.o $(AIDGE_CLEAN)\n"
    rules = "app.elf: main.o $(AIDGE_OBJECTS)\n\t$(CC) -o $@ $^\n\t$(AIDGE_CHECK)\nmain.o: $(AIDGE_HEADERS)\n"
    others = "app.elf: main.o $(AIDGE_OBJECTS)\n\t$(CC) -o $@ $^\nmain.o: $(AIDGE_HEADERS)\n"
    second = "$(eval $(call aidge_check,app.elf))\nall: $(AIDGE_CHECKS)\n"
    before = {path for path in firmware.folder.rglob("*") if path.is_file()}
    for text in (INCLUDE + "all: app.elf\n" + rules, INCLUDE + "all: app.elf\n" + others + second):
        firmware.write("Makefile", text + lines)
        assert make(firmware) == ALL
        firmware.run("make", "clean")
        assert {path for path in firmware.folder.rglob("*") if path.is_file()} == before | {firmware.folder / "Makefile"}


def test_a_missing_command_is_said_with_what_to_install(firmware):
    firmware.write("Makefile", "all: build/aidge/kws.o\n" + INCLUDE.replace(f"{sys.executable} {STUB}", "/nowhere/aidge-build"))
    done = firmware.run("make")
    assert (
        done.exit_code == 2 and "there is no command /nowhere/aidge-build: install the Python package aidge_build" in done.output
    )


def test_a_compiler_that_writes_depfiles_beside_the_objects_leaves_what_the_generator_read(firmware):
    firmware.write("rules.mk", RULES)
    firmware.write("kernels/used.h", "int used_header;\n")
    firmware.write("Makefile", USER.replace("--board=host", "--board=host --kernel-path=kernels"))
    assert make(firmware) == ALL and (firmware.folder / "build/aidge/kws.d").exists()
    firmware.write("kernels/used.h", "int used_header_of_today;\n")
    assert make(firmware) == {"AIDGE", "CC kws.c", "LINK", "CHECK"} and make(firmware) == set()


@pytest.mark.parametrize(
    "target, flags, says", [("cpu=cortex-m4", "-O2 -O0", True), ("cpu=cortex-m4", "-O0 -Os", False), ("board=host", "-O0", False)]
)
def test_one_line_says_that_models_for_a_microcontroller_are_not_optimized(firmware, target, flags, says):
    rules = "all: app.elf\napp.elf: main.o $(AIDGE_OBJECTS)\n\t$(CC) -o $@ $^\n\t$(AIDGE_CHECK)\nmain.o: $(AIDGE_HEADERS)\n"
    firmware.write("Makefile", f"CFLAGS = {flags}\n" + INCLUDE.replace("board=host", target) + rules)
    done = firmware.run("make")
    assert done.exit_code == 0 and ("\napp.elf: models are compiled with -O0, which costs instructions" in done.output) is says
    assert ("several times the stack: append -O2 or -Os to CFLAGS\n" in done.output) is says
