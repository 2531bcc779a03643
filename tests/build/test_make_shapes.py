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
    firmware.write("models/kws.onnx", MODEL + "check=bad\n")
    done = firmware.run("make")
    assert done.exit_code == 2 and "the arena is not the plan's" in done.output and not (firmware.folder / "app.elf").exists()


def test_a_compiler_that_writes_depfiles_beside_the_objects_leaves_what_the_generator_read(firmware):
    firmware.write("rules.mk", RULES)
    firmware.write("kernels/used.h", "int used_header;\n")
    firmware.write("Makefile", USER.replace("--board=host", "--board=host --kernel-path=kernels"))
    assert make(firmware) == ALL and (firmware.folder / "build/aidge/kws.d").exists()
    firmware.write("kernels/used.h", "int used_header_of_today;\n")
    assert make(firmware) == {"AIDGE", "CC kws.c", "LINK", "CHECK"} and make(firmware) == set()
