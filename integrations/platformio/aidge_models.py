# SPDX-License-Identifier: MIT
"""PlatformIO: models as source files. In platformio.ini, with the Python package aidge_build installed beside PlatformIO:

    [env:nucleo]
    extra_scripts = pre:aidge_models.py          ; or this folder as a library: lib_deps = symlink://...
    custom_aidge_models = models/kws.onnx        ; several: one a line
    custom_aidge_board = stm32f7                 ; without it (and custom_aidge_cpu) the flags of the platform name the core
    custom_aidge_optimize = size                 ; and every other option of docs/options.md; several values: one a line

A `pre:` script runs before the platform sets its flags: the core is then the `cpu` of PlatformIO's own board, without its FPU
(custom_aidge_fpu = auto adds it), or the `march` and `mabi` of a board with RISC-V. Without custom_aidge_models this does
nothing. The generated files are real nodes of PlatformIO's own SCons graph.
"""

import os
import sys

from SCons.Script import DefaultEnvironment, Import

FLAGS = ("CCFLAGS", "CFLAGS", "ASFLAGS", "LINKFLAGS", "BUILD_FLAGS", "SRC_BUILD_FLAGS")
BOARD_KEYS = ("cpu", "march", "mabi")  # of the core, in PlatformIO's description of a board

Import("env")
main = DefaultEnvironment()


def lines_of(option):
    """What the project says for an option, line by line."""
    return [line.strip() for line in main.GetProjectOption("custom_aidge_" + option, "").splitlines() if line.strip()]


def refuse(what):
    """One line, and no build."""
    sys.stdout.flush()
    sys.stderr.write(f"aidge_models.py: {what}\n")
    sys.exit(3)


def core():
    """The core where no flag says it yet: that of PlatformIO's board. A microcontroller without one is no host."""
    flags = " ".join(str(main.get(name, "")) for name in FLAGS)
    if main.get("PIOPLATFORM") == "native" or "-mcpu=" in flags or "-march=rv" in flags:
        return {}
    cpu, march, abi = (str(main.BoardConfig().get(f"build.{key}", "")) if "BOARD" in main else "" for key in BOARD_KEYS)
    if march.startswith("rv"):
        return {"cpu": f"{march}+{abi}" if abi else march}
    if not cpu.startswith("cortex-m"):
        refuse(
            f"the board {main.get('BOARD', '')!r} names no core: write custom_aidge_cpu = cortex-m4 (or rv32imc, generic), "
            "or custom_aidge_board"
        )
    return {"cpu": cpu}


def map_flag(target, source, env, for_signature):
    """The check reads the memories in the linker's map; a platform that asks for one does so later."""
    return "" if for_signature or not target or "-Map" in env.subst("$LINKFLAGS") else "-Wl,-Map=%s.map" % target[0]


def options_of(table):
    """The options of a model, as AidgeModel takes them."""
    options = {}
    for option in table.MODEL.options:
        name = option.name_in(table.SCONS)
        values = lines_of(name)
        if option.kind in ("file", "folders"):
            values = [os.path.join(main.subst("$PROJECT_DIR"), value) for value in values]
        if option.kind == "checkouts":
            values = {
                name: os.path.join(main.subst("$PROJECT_DIR"), path) for name, _, path in (v.partition("=") for v in values)
            }
        if values:
            options[name] = values if option.several else values[0]
    return options if "board" in options or "cpu" in options else {**core(), **options}


def add(models):
    """The models among the objects of the firmware, their headers for all that is compiled, and the check behind the link."""
    try:
        import aidge_build
        from aidge_build.base.options import table
    except ImportError:
        refuse(f"the Python of PlatformIO lacks the package aidge_build: {sys.executable} -m pip install aidge_build")
    options = options_of(table)
    folder = os.path.join(main.subst("$BUILD_DIR"), "aidge")
    main.Tool("aidge", toolpath=[aidge_build.scons_toolpath()])
    read, where = [], []
    for model in models:
        path = main.fs.File(os.path.join(main.subst("$PROJECT_DIR"), model))  # whatever is in its name
        files = main.AidgeModel(os.path.splitext(os.path.basename(model))[0], path, out=folder, **options)
        objects = [main.Object(file) for file in files]
        main.Append(PIOBUILDFILES=objects)
        read.append("--plan=%s" % files.plan.get_abspath())
        read += ["--objects=%s" % node.get_abspath() for made in objects for node in made]
        where = ["--board=" + options["board"]] if "board" in options else []
        where += ["--board-path=" + path for path in options.get("board_path", [])]
    read, where = ([word.replace("$", "$$") for word in words] for words in (read, where))
    for scope in (env, main):  # noqa: F821
        scope.AppendUnique(CPPPATH=[folder])
    main.Replace(AIDGE_MAP="" if where or main.get("PIOPLATFORM") == "native" else map_flag)
    # PlatformIO makes the program's node later, and forgets actions that were added to its file before.
    main.Replace(
        LINKCOM=[
            main["LINKCOM"] + " $( $AIDGE_MAP $)",
            main.AidgeAction("check", "--out=${TARGET}.check.json", *where, *read, "--", "$TARGET"),
        ]
    )


if lines_of("models"):
    add(lines_of("models"))
