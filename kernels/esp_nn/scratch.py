# SPDX-License-Identifier: MIT
"""The bytes of scratch that ESP-NN 1.2.3 asks for on an ESP32-S3; its C functions for other chips ask for none.

The functions take the fields of `aidge_kit_window2d` and return what `esp_nn_get_conv_scratch_size_esp32s3` and
`esp_nn_get_depthwise_conv_scratch_size_esp32s3` return. The glue asks these again: a release that wants more gets C.
"""

from __future__ import annotations

from collections.abc import Mapping

VECTOR = 16
MARGIN = 64  # of a convolution: alignment, and reads before and after
FULL_IMAGE, FULL_HALFWORDS = 40 * 1024, 48 * 1024  # beyond, depthwise layers are computed row by row


def _up(number: int, multiple: int) -> int:
    return -(-number // multiple) * multiple


def _beyond(s: Mapping[str, int]) -> tuple[int, int]:
    """Returns the width and height that windows may read beyond the image."""
    width, height = (
        s[f"out_{axis}"] * s[f"stride_{axis}"] + s[f"kernel_{axis}"] - 1 - s[f"in_{axis}"] for axis in ("width", "height")
    )
    return width, height


def _image(s: Mapping[str, int], wider: int, higher: int) -> int:
    return (s["in_width"] + wider) * (s["in_height"] + higher)


def copies_windows(s: Mapping[str, int]) -> bool:
    """Whether a convolution copies each window, tap by tap, because a row of it has fewer bytes than a vector."""
    row = s["kernel_width"] * s["in_channels"]
    return row < VECTOR <= row * s["kernel_height"]


def convolution_bytes(s: Mapping[str, int]) -> int:
    """Returns the bytes for a convolution."""
    channels, outputs, pixels = s["in_channels"], s["out_channels"], s["in_width"] * s["in_height"]
    rows, row = s["kernel_height"], s["kernel_width"] * s["in_channels"]
    has_pads = s["pad_left"] or s["pad_top"]
    if s["kernel_width"] == rows == s["stride_width"] == s["stride_height"] == 1 and not has_pads:
        wide = _up(channels, 8)
        copied = pixels * wide if channels % 8 else 0
        return copied + wide * outputs + (16 * wide if pixels >= 8 else 0) + MARGIN
    if copies_windows(s):
        window = _up(row * rows, VECTOR)
        return 4 * outputs + (outputs + 1) * window + 2 * VECTOR + MARGIN
    wider, higher = (max(0, more) for more in _beyond(s))
    image = _image(s, 2 * s["pad_left"], 2 * s["pad_top"]) * channels if has_pads else 0
    image += _image(s, wider, higher) * channels if wider or higher else 0
    weights = (s["kernel_width"] * _up(channels, VECTOR) + _up(row, VECTOR)) * rows * outputs
    return image + weights + 4 * outputs + MARGIN


def depthwise_bytes(s: Mapping[str, int]) -> int:
    """Returns the bytes for a depthwise convolution."""
    channels, each = s["in_channels"], s["out_channels"] // s["in_channels"]
    weights = s["kernel_width"] * s["kernel_height"] * s["out_channels"]
    halfwords = 2 * (weights + s["in_width"] * s["in_height"] * channels)
    if each == 1 and channels % 8 == 0:
        return _of_eights(s, weights, halfwords)
    if each == 1 and channels > 3:
        return _of_padded_channels(s)
    return halfwords + 32 if each % 4 == 0 else 32


def _of_eights(s: Mapping[str, int], weights: int, halfwords: int) -> int:
    channels = s["in_channels"]
    if s["kernel_width"] != 3 or s["kernel_height"] != 3:
        row = 2 * s["in_width"] * s["kernel_height"] * channels
        return (halfwords if halfwords <= FULL_HALFWORDS else 2 * weights + row) + 32
    left, top = 2 * s["pad_left"], 2 * s["pad_top"]
    wider, higher = _beyond(s)
    if channels % VECTOR == 0:
        wider, higher = (left, top) if left or top else (wider, higher)
        image = _image(s, wider, higher) * channels if wider or higher else 0
        rows = (s["in_width"] + wider) * 3 * channels
        return weights + (image if image <= FULL_IMAGE else rows) + 16
    if channels < 12:
        return halfwords + 32
    image = _image(s, left + max(0, wider), top + max(0, higher))
    return (9 + image + s["out_width"] * s["out_height"]) * _up(channels, VECTOR) + 64


def _of_padded_channels(s: Mapping[str, int]) -> int:
    wide = _up(s["in_channels"], 8)
    reached = _up(2 * s["kernel_width"] * s["kernel_height"] * wide, VECTOR)
    reached = _up(reached + 2 * s["in_width"] * s["in_height"] * wide, VECTOR)
    reached = _up(reached + s["out_width"] * s["out_height"] * wide, VECTOR)
    return reached + 3 * 4 * wide + 16
