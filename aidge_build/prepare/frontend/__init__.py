# SPDX-License-Identifier: MIT
"""The nodes before and after a network: audio features, images, decisions (docs/frontend.md).

from aidge_build import frontend

front = frontend.LogMel(rate=16000, window=480, hop=320, bands=40)
fixed = frontend.fixed_for(model, front)  # in integers, stored as the quantized model reads its input
features = fixed.features(pcm)            # in training: the bits of the firmware
file = frontend.with_audio(model, fixed)  # the model, with int16 samples as its input
"""

from __future__ import annotations

from aidge_build.prepare.frontend.audio import FixedLogMel, LogMel
from aidge_build.prepare.frontend.audio_nodes import audio_model, fixed_for, with_audio
from aidge_build.prepare.frontend.decision import with_decision
from aidge_build.prepare.frontend.image import Pixels, with_image
from aidge_build.prepare.frontend.mel import cosines, mel_filters, window

__all__ = [
    "FixedLogMel",
    "LogMel",
    "Pixels",
    "audio_model",
    "cosines",
    "fixed_for",
    "mel_filters",
    "window",
    "with_audio",
    "with_decision",
    "with_image",
]
