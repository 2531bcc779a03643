# SPDX-License-Identifier: MIT
"""PlatformIO: models as source files. In platformio.ini, with the Python package aidge_build installed beside PlatformIO:

    [env:nucleo]
    extra_scripts = pre:aidge_models.py          ; or this folder as a library: lib_deps = symlink://...
    custom_aidge_models = models/kws.onnx        ; several: one a line
    custom_aidge_board = stm32f7                 ; without it, the flags of the platform name the core

Without custom_aidge_models this does nothing. The generated files are real nodes of PlatformIO's own SCons graph.
"""

import os

from SCons.Script import DefaultEnvironment, Import

import aidge_build

Import("env")
main = DefaultEnvironment()
models = [line.strip() for line in main.GetProjectOption("custom_aidge_models", "").splitlines() if line.strip()]

if models:
    board = main.GetProjectOption("custom_aidge_board", "") or None
    folder = os.path.join(main.subst("$BUILD_DIR"), "aidge")
    main.Tool("aidge", toolpath=[aidge_build.scons_toolpath()])
    plans, where = [], []
    for model in models:
        path = main.File(os.path.join(main.subst("$PROJECT_DIR"), model))
        files = main.AidgeModel(os.path.splitext(os.path.basename(model))[0], path, board=board, out=folder)
        main.Append(PIOBUILDFILES=[main.Object(file) for file in files])
        plans.append("--plan=%s" % files.plan.get_abspath())
        where = ["--board=" + board] if board else []
    for scope in (env, main):  # noqa: F821
        scope.AppendUnique(CPPPATH=[folder])
    # PlatformIO makes the program's node later, and forgets actions that were added to its file before.
    main.Replace(
        LINKCOM=[main["LINKCOM"], main.AidgeAction("check", "--out=${TARGET}.check.json", *where, *plans, "--", "$TARGET")]
    )
