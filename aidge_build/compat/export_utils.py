# SPDX-License-Identifier: MIT
"""`aidge_core.export_utils` as libraries of the inherited style import it."""

from __future__ import annotations

import aidge_build.compat.code_generation as code_generation
import aidge_build.compat.data_conversion as data_conversion
from aidge_build.compat.code_generation import copy_file, generate_file, generate_str
from aidge_build.compat.data_conversion import aidge2c
from aidge_build.compat.export_folder import scheduler_export
from aidge_build.compat.export_lib import ExportLib
from aidge_build.compat.export_main import generate_main, generate_main_compare
from aidge_build.compat.export_node import ExportNode
from aidge_build.compat.export_node_cpp import ExportNodeCpp
from aidge_build.compat.handles import InheritedTensor, get_node_from_metaop
from aidge_build.compat.placeholders import placeholder_names

__all__ = [
    "ExportLib",
    "ExportNode",
    "ExportNodeCpp",
    "aidge2c",
    "code_generation",
    "copy_file",
    "data_conversion",
    "generate_file",
    "generate_main_compare_cpp",
    "generate_main_cpp",
    "generate_str",
    "get_chan",
    "get_height",
    "get_node_from_metaop",
    "get_width",
    "scheduler_export",
]

generate_main_cpp = generate_main
generate_main_compare_cpp = generate_main_compare
globals().update(placeholder_names("export_utils"))


def get_chan(tensor: InheritedTensor) -> int:
    """The number of channels, whatever the storage order."""
    return tensor.chan_height_width[0]


def get_height(tensor: InheritedTensor) -> int:
    """The number of rows; 1 for a tensor without."""
    return tensor.chan_height_width[1]


def get_width(tensor: InheritedTensor) -> int:
    """The number of columns; 1 for a tensor without."""
    return tensor.chan_height_width[2]
