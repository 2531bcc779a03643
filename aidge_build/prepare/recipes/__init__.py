# SPDX-License-Identifier: MIT
"""Recipes: rewrites that keep the outputs of a graph, one file per recipe. `simplify` applies them in this order."""

from __future__ import annotations

from aidge_build.base.debug import show
from aidge_build.graph.view import GraphView
from aidge_build.prepare.recipes.average_axes import average_axes
from aidge_build.prepare.recipes.byte_reals import byte_reals
from aidge_build.prepare.recipes.cast_once import cast_once
from aidge_build.prepare.recipes.check import checked
from aidge_build.prepare.recipes.clamp_levels import clamp_levels
from aidge_build.prepare.recipes.clip_stored import clip_stored
from aidge_build.prepare.recipes.compare_stored import compare_stored
from aidge_build.prepare.recipes.connect_windows import connect_windows
from aidge_build.prepare.recipes.convolve_transposed import convolve_transposed
from aidge_build.prepare.recipes.cut_first import cut_first
from aidge_build.prepare.recipes.dead_channels import dead_channels
from aidge_build.prepare.recipes.dequantize_constants import dequantize_constants
from aidge_build.prepare.recipes.expand_qlinear import expand_qlinear
from aidge_build.prepare.recipes.fill_undefined import fill_undefined
from aidge_build.prepare.recipes.flatten_products import flatten_products
from aidge_build.prepare.recipes.fold_quantize import fold_quantize
from aidge_build.prepare.recipes.fuse_activations import fuse_activations
from aidge_build.prepare.recipes.fuse_batch_norm import fuse_batch_norm
from aidge_build.prepare.recipes.fuse_dynamic import fuse_dynamic
from aidge_build.prepare.recipes.fuse_fully_connected import fuse_fully_connected
from aidge_build.prepare.recipes.fuse_pad import fuse_pad
from aidge_build.prepare.recipes.fuse_scalings import fuse_scalings
from aidge_build.prepare.recipes.group_operands import group_operands
from aidge_build.prepare.recipes.keep_levels import keep_levels
from aidge_build.prepare.recipes.mask_once import mask_once
from aidge_build.prepare.recipes.move_views import move_views
from aidge_build.prepare.recipes.name_curves import name_curves
from aidge_build.prepare.recipes.name_fake_quantization import name_fake_quantization
from aidge_build.prepare.recipes.name_levels import name_levels
from aidge_build.prepare.recipes.name_root_mean_squares import name_root_mean_squares
from aidge_build.prepare.recipes.normalize_channels import normalize_channels
from aidge_build.prepare.recipes.normalize_stored import normalize_stored
from aidge_build.prepare.recipes.pad_reals import pad_reals
from aidge_build.prepare.recipes.quantize_constants import quantize_constants
from aidge_build.prepare.recipes.quantize_islands import quantize_islands
from aidge_build.prepare.recipes.quantize_once import quantize_once
from aidge_build.prepare.recipes.read_stored import read_stored
from aidge_build.prepare.recipes.recipe import Recipe
from aidge_build.prepare.recipes.remove_identities import remove_identities
from aidge_build.prepare.recipes.repeated_heads import repeated_heads
from aidge_build.prepare.recipes.replace_blocks import replace_blocks
from aidge_build.prepare.recipes.rescale_stored import rescale_stored
from aidge_build.prepare.recipes.restate import restate
from aidge_build.prepare.recipes.scale_queries import scale_queries
from aidge_build.prepare.recipes.scale_sums import scale_sums
from aidge_build.prepare.recipes.search_stored import search_stored
from aidge_build.prepare.recipes.signed_tensors import signed_tensors
from aidge_build.prepare.recipes.split_transposed import split_transposed
from aidge_build.prepare.recipes.square_powers import square_powers
from aidge_build.prepare.recipes.staircases import staircases
from aidge_build.prepare.recipes.tabulate import tabulate
from aidge_build.prepare.recipes.under_contract import under_contract

RECIPES: tuple[Recipe, ...] = (
    cut_first,
    cast_once,
    remove_identities,
    mask_once,
    fill_undefined,
    name_root_mean_squares,
    scale_queries,
    repeated_heads,
    name_fake_quantization,
    group_operands,
    compare_stored,
    quantize_once,
    fuse_dynamic,
    fold_quantize,
    expand_qlinear,
    dead_channels,
    clip_stored,
    byte_reals,
    quantize_constants,
    restate,
    pad_reals,
    move_views,
    flatten_products,
    move_views,
    convolve_transposed,
    fuse_pad,
    fuse_fully_connected,
    fuse_batch_norm,
    fuse_scalings,
    fuse_batch_norm,
    fuse_activations,
    split_transposed,
    keep_levels,
    name_levels,
    quantize_islands,
    normalize_channels,
    normalize_stored,
    fuse_pad,
    average_axes,
    read_stored,
    fuse_activations,
    rescale_stored,
    signed_tensors,
    search_stored,
    clamp_levels,
    scale_sums,
    dequantize_constants,
    square_powers,
    replace_blocks,
    connect_windows,
    staircases,
    tabulate,
    name_curves,
)


def simplify(view: GraphView, rounding: str = "onnx") -> GraphView:
    """Returns the graph after all recipes; each is checked (`check.checked`), and sees tensors of this numerical contract."""
    view = under_contract(view, rounding)
    for recipe in RECIPES:
        rewritten = checked(recipe, view)
        view = view if rewritten is view else under_contract(rewritten, rounding)
        show(2, f"after {recipe.name}", view)
    return view
