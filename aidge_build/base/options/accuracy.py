# SPDX-License-Identifier: MIT
"""The options of the measurement on labelled samples: a part of the one table."""

from __future__ import annotations

from aidge_build.base.options.option import CMAKE, SCONS, Group, Option

ACCURACY = Group(
    "Accuracy",
    "accuracy",
    'env.AidgeAccuracy(app_or_model, "test.npz", ...)',
    "aidge_accuracy(kws LABELS test.npz ...)",
    (
        Option(
            "labels",
            "samples with class numbers (`labels`) or real values (`targets`), as docs/accuracy.md says; without both: how often "
            "the answer is the answer of --float (default: the samples of --quantize)",
            "file",
            metavar="F.npz",
            instead={SCONS: "the second argument"},
        ),
        Option(
            "float",
            "model before quantization, to compare with (default: none; with --quantize the model itself)",
            "file",
            metavar="F.onnx",
        ),
        Option(
            "calibration",
            "samples that quantization saw: the output counts the measured samples, too (default: the samples of --quantize)",
            "file",
            metavar="F.npz",
        ),
        Option(
            "task",
            "meaning of the outputs; auto: decided by labels and shapes (docs/accuracy.md)",
            values=("auto", "classes", "decisions", "scores", "anomaly", "regression"),
            default="auto",
        ),
        Option("labelled-output", "output that the labels belong to (default: the first)", metavar="NAME"),
        Option(
            "elf",
            "linked program that contains the model: its own code is called, on RISC-V and on boards that Unicorn emulates "
            "(default: a program made for it)",
            "file",
            metavar="ELF",
            instead={CMAKE: "a target of your own that calls `aidge-build accuracy --elf`"},
        ),
        Option(
            "block",
            "block of new weights that the program of --elf binds: the accuracy that the model has there, with the scales that "
            "the firmware keeps (default: the weights in the program)",
            "file",
            metavar="FILE",
            instead={CMAKE: "a target of your own that calls `aidge-build accuracy --block`"},
        ),
        Option("samples", "number of samples, from the first on (default: all)", "number", metavar="N"),
        Option(
            "min-top1", "least share of right answers, e.g. 0.97; fails below it (default: no limit)", "decimal", metavar="SHARE"
        ),
        Option(
            "max-loss",
            "most top-1 that may be lost against --float, e.g. 0.005; fails above it (default: no limit)",
            "decimal",
            metavar="SHARE",
        ),
        Option("min-auc", "least area under the ROC curve; fails below it (default: no limit)", "decimal", metavar="AREA"),
        Option(
            "max-mae", "largest mean absolute error of an output; fails above it (default: no limit)", "decimal", metavar="ERROR"
        ),
        Option(
            "max-rmse",
            "largest root mean squared error of an output; fails above it (default: no limit)",
            "decimal",
            metavar="ERROR",
        ),
        Option(
            "min-r2", "least explained variance (R2) of an output; fails below it (default: no limit)", "decimal", metavar="SHARE"
        ),
    ),
)
LIMITS = ("min-top1", "max-loss", "min-auc", "max-mae", "max-rmse", "min-r2")
