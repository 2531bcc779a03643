# SPDX-License-Identifier: MIT
"""PlatformIO: models as source files. In platformio.ini, with the Python package aidge_build installed beside PlatformIO:

    [env:nucleo]
    extra_scripts = pre:aidge_models.py          ; or this folder as a library: lib_deps = symlink://...
    custom_aidge_models = models/kws.onnx        ; several: one a line
    custom_aidge_board = stm32f7                 ; without it, the flags of the platform name the core
    custom_aidge_optimize = size                 ; and every other option of docs/options.md; several values: one a line

Without custom_aidge_models this does nothing. The generated files are real nodes of PlatformIO's own SCons graph.
"""

import os

from SCons.Script import DefaultEnvironment, Import

import aidge_build
from aidge_build.options.table import MODEL, SCONS, SEVERAL

Import("env")
main = DefaultEnvironment()
models = [line.strip() for line in main.GetProjectOption("custom_aidge_models", "").splitlines() if line.strip()]

if models:
    options = {}
    for option in MODEL.options:
        lines = [line.strip() for line in main.GetProjectOption("custom_aidge_" + option.name_in(SCONS), "").splitlines()]
        values = [value for value in lines if value]
        if option.kind in ("file", "folders"):
            values = [os.path.join(main.subst("$PROJECT_DIR"), value) for value in values]
        if option.kind == "checkouts":
            values = {
                name: os.path.join(main.subst("$PROJECT_DIR"), path) for name, _, path in (v.partition("=") for v in values)
            }
        if values:
            options[option.name_in(SCONS)] = values if option.kind in SEVERAL else values[0]
    folder = os.path.join(main.subst("$BUILD_DIR"), "aidge")
    main.Tool("aidge", toolpath=[aidge_build.scons_toolpath()])
    read, where = [], []
    for model in models:
        path = main.File(os.path.join(main.subst("$PROJECT_DIR"), model))
        files = main.AidgeModel(os.path.splitext(os.path.basename(model))[0], path, out=folder, **options)
        objects = [main.Object(file) for file in files]
        main.Append(PIOBUILDFILES=objects)
        read.append("--plan=%s" % files.plan.get_abspath())
        read += ["--objects=%s" % node.get_abspath() for made in objects for node in made]
        where = ["--board=" + options["board"]] if "board" in options else []
        where += ["--board-path=" + path for path in options.get("board_path", [])]
    for scope in (env, main):  # noqa: F821
        scope.AppendUnique(CPPPATH=[folder])
    # PlatformIO makes the program's node later, and forgets actions that were added to its file before.
    main.Replace(
        LINKCOM=[main["LINKCOM"], main.AidgeAction("check", "--out=${TARGET}.check.json", *where, *read, "--", "$TARGET")]
    )
