# SPDX-License-Identifier: MIT
"""The options of the measurement on labelled samples: a part of the one table."""

from __future__ import annotations

from aidge_build.options.option import CMAKE, SCONS, Group, Option

ACCURACY = Group(
    "Accuracy",
    "accuracy",
    'env.AidgeAccuracy(app_or_model, "test.npz", ...)',
    "aidge_accuracy(kws LABELS test.npz ...)",
    (
        Option(
            "labels",
            "samples with class numbers (`labels`) or real values (`targets`), as docs/accuracy.md says",
            "file",
            metavar="F.npz",
            instead={SCONS: "the second argument"},
            required=True,
        ),
        Option(
            "float",
            "the model before quantization: measured, too, and compared with (with --quantize: the model itself)",
            "file",
            metavar="F.onnx",
        ),
        Option(
            "calibration",
            "the samples that quantization saw: those that are measured, too, are counted (with --quantize: its own)",
            "file",
            metavar="F.npz",
        ),
        Option(
            "task",
            "what the outputs are for; auto: docs/accuracy.md says how that is seen",
            values=("auto", "classes", "scores", "anomaly", "regression"),
            default="auto",
        ),
        Option("labelled-output", "the output that labels are about (default: the first)", metavar="NAME"),
        Option(
            "elf",
            "a linked program with the model: its own code is called, on boards that Unicorn emulates",
            "file",
            metavar="ELF",
            instead={CMAKE: "a target of your own that calls `aidge-build accuracy --elf`"},
        ),
        Option("samples", "only the first N samples", "number", metavar="N"),
        Option("min-top1", "fail when a smaller part of the answers is right, e.g. 0.97", "decimal", metavar="SHARE"),
        Option("max-loss", "fail when top-1 is further below that of --float, e.g. 0.005", "decimal", metavar="SHARE"),
        Option("min-auc", "fail when the area under the ROC curve is smaller", "decimal", metavar="AREA"),
        Option("max-mae", "fail when the mean absolute error of an output is larger", "decimal", metavar="ERROR"),
        Option("max-rmse", "fail when the root of an output's mean squared error is larger", "decimal", metavar="ERROR"),
        Option("min-r2", "fail when less of an output's variance is explained", "decimal", metavar="SHARE"),
    ),
)
LIMITS = ("min-top1", "max-loss", "min-auc", "max-mae", "max-rmse", "min-r2")
