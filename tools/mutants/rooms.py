# SPDX-License-Identifier: MIT
"""Which tests guard which room. A test listed here is run on a mutant when it comes by the statement that was changed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

PACKAGE = "aidge_build"
OF_ALL = ("tests/unit/test_values.py",)


@dataclass(frozen=True)
class Room:
    """A folder of the package and the test files that guard it, as patterns below the root."""

    name: str
    tests: tuple[str, ...]

    def sources(self, root: Path) -> list[str]:
        return [path.relative_to(root).as_posix() for path in sorted((root / PACKAGE).glob(f"*/{self.name}/*.py"))]

    def test_files(self, root: Path) -> list[str]:
        found = {path.relative_to(root).as_posix() for pattern in self.tests for path in root.glob(pattern)}
        return sorted(found | set(OF_ALL))


ROOMS = (
    Room(
        "cascade",
        (
            "tests/unit/test_cascades.py",
            "tests/unit/test_cascade_*.py",
            "tests/unit/test_bands.py",
            "tests/unit/test_pieces.py",
            "tests/target/test_steps.py",
            "tests/target/test_cascaded_programs.py",
            "tests/target/test_row_by_row.py",
            "tests/target/test_output_rows.py",
            "tests/unit/test_arriving_rows.py",
        ),
    ),
    Room(
        "adaptation",
        (
            "tests/unit/test_adapt*.py",
            "tests/unit/test_api_export.py",
            "tests/unit/test_api_specs.py",
            "tests/unit/test_cost_table.py",
            "tests/unit/test_fewest_bytes.py",
            "tests/unit/test_smaller_kernels.py",
            "tests/unit/test_graph_check.py",
            "tests/unit/test_inherited_names.py",
            "tests/unit/test_keep_levels.py",
            "tests/unit/test_layer_notices.py",
            "tests/unit/test_kernel_conditions.py",
            "tests/unit/test_kernels_see_the_core.py",
            "tests/unit/test_mixed_precision.py",
            "tests/unit/test_normalize*.py",
            "tests/unit/test_faster_kernels.py",
            "tests/unit/test_rounding_any.py",
            "tests/unit/test_schedule.py",
            "tests/unit/test_seed_lines.py",
            "tests/unit/test_cost_of_flags.py",
            "tests/unit/test_slow*.py",
            "tests/unit/test_spec_order.py",
            "tests/unit/test_states.py",
            "tests/unit/test_tune_table.py",
            "tests/unit/test_unaligned.py",
            "tests/unit/test_undefined.py",
            "tests/unit/test_without_assembly.py",
            "tests/kernels/test_channel_lines.py",
            "tests/kernels/test_ref_residual.py",
            "tests/target/test_explain.py",
            "tests/target/test_stored_otherwise.py",
            "tests/target/test_tried_kernels.py",
            "tests/target/test_widened_operators.py",
        ),
    ),
    Room(
        "arithmetic",
        (
            "tests/unit/test_arithmetic_*.py",
            "tests/unit/test_operator_softmax.py",
            "tests/unit/test_undefined.py",
            "tests/unit/test_word_forms.py",
            "tests/exactness/test_tflite.py",
            "tests/exactness/test_tflite_random.py",
            "tests/kernels/test_resize*.py",
            "tests/kernels/test_ref_requantize.py",
            "tests/kernels/test_log_mel.py",
            "tests/kernels/test_cortexm_linear.py",
            "tests/kernels/test_cortexm_elementwise.py",
            "tests/golden/test_constants.py",
        ),
    ),
    Room(
        "elf",
        (
            "tests/unit/test_machine_proof.py",
            "tests/elf/test_*.py",
            "tests/golden/test_frames.py",
            "tests/golden/test_findings.py",
            "tests/golden/test_instructions.py",
            "tests/unit/test_claims.py",
            "tests/unit/test_elf_*.py",
            "tests/unit/test_finding_codes.py",
            "tests/target/test_cycles.py",
            "tests/unit/test_estimate_errors.py",
            "tests/target/test_flash.py",
            "tests/target/test_input_rows.py",
            "tests/target/test_dma_cache.py",
        ),
    ),
    Room(
        "emit",
        (
            "tests/unit/test_claims.py",
            "tests/unit/test_emit*.py",
            "tests/unit/test_flash_room.py",
            "tests/unit/test_long_names.py",
            "tests/unit/test_naming.py",
            "tests/unit/test_output.py",
            "tests/unit/test_replaceable_weights.py",
            "tests/unit/test_shared_kernels.py",
            "tests/unit/test_states.py",
            "tests/unit/test_unused.py",
            "tests/elf/test_bound_weights.py",
            "tests/elf/test_type_safe_link.py",
            "tests/elf/test_weights_of_models.py",
            "tests/golden/test_generated_text.py",
            "tests/target/test_arena_poison.py",
            "tests/target/test_constant_copies.py",
            "tests/target/test_dma_plan.py",
            "tests/target/test_emit_compiled.py",
            "tests/target/test_hooks.py",
            "tests/target/test_output_rows.py",
            "tests/target/test_place.py",
            "tests/target/test_planes.py",
            "tests/target/test_replaced_weights.py",
            "tests/target/test_row_by_row.py",
            "tests/target/test_state.py",
            "tests/target/test_steps.py",
        ),
    ),
    Room("fit", ("tests/unit/test_fit_[cqt]*.py", "tests/target/test_fit_*.py")),
    Room(
        "longest",
        (
            "tests/unit/test_longest_*.py",
            "tests/target/test_longest_measured.py",
            "tests/target/test_longest_riscv_ways.py",
            "tests/target/test_steps.py",
            "tests/target/test_step_lengths.py",
        ),
    ),
    Room(
        "memory",
        (
            "tests/unit/test_memory_*.py",
            "tests/unit/test_knapsack.py",
            "tests/unit/test_large_graphs.py",
            "tests/golden/test_plans.py",
            "tests/golden/test_solver_model.py",
            "tests/unit/test_plan_command.py",
            "tests/target/test_several_regions.py",
        ),
    ),
    Room("prediction", ("tests/prediction/test_*.py", "tests/unit/test_estimate_errors.py")),
    Room("probe", ("tests/probe/test_*.py",)),
    Room(
        "recipes",
        (
            "tests/unit/test_recipes*.py",
            "tests/unit/test_byte_reals.py",
            "tests/unit/test_clip_stored.py",
            "tests/unit/test_compare_stored.py",
            "tests/unit/test_constant_channels.py",
            "tests/unit/test_dead_channels.py",
            "tests/unit/test_fit_bias.py",
            "tests/unit/test_graph_check.py",
            "tests/unit/test_keep_levels.py",
            "tests/unit/test_move_views.py",
            "tests/unit/test_moved_constants.py",
            "tests/unit/test_name_*.py",
            "tests/unit/test_normalize*.py",
            "tests/unit/test_plain_bytes.py",
            "tests/unit/test_read_stored.py",
            "tests/unit/test_restate.py",
            "tests/unit/test_scale_sums.py",
            "tests/unit/test_scaled_layer.py",
            "tests/unit/test_search_stored.py",
            "tests/unit/test_signed_tensors.py",
            "tests/unit/test_split_*.py",
            "tests/unit/test_staircases.py",
            "tests/unit/test_stated_reals.py",
            "tests/unit/test_states.py",
            "tests/unit/test_stored_ends.py",
            "tests/unit/test_tabulate.py",
            "tests/unit/test_tflite_importer.py",
            "tests/unit/test_undefined.py",
            "tests/golden/test_recipe_texts.py",
            "tests/exactness/test_tflite_random.py",
            "tests/exactness/test_tflite.py",
            "tests/target/test_dynamic_quantization.py",
            "tests/operators/test_qlinear.py",
            "tests/target/test_quantized_dialects.py",
        ),
    ),
    Room(
        "schedule",
        (
            "tests/unit/test_schedule*.py",
            "tests/unit/test_large_graphs.py",
            "tests/unit/test_memory_random.py",
            "tests/unit/test_memory_replay.py",
            "tests/unit/test_memory_windows.py",
            "tests/unit/test_moved_constants.py",
            "tests/unit/test_plan_command.py",
            "tests/unit/test_states.py",
            "tests/unit/test_dump.py",
            "tests/golden/test_orders.py",
            "tests/golden/test_generated_text.py",
            "tests/target/test_constant_copies.py",
            "tests/target/test_joint_tensors.py",
            "tests/target/test_record.py",
            "tests/target/test_same_tensors.py",
            "tests/target/test_state.py",
        ),
    ),
    Room("sweep", ("tests/unit/test_sweep_*.py", "tests/target/test_sweep*.py")),
    Room("tune", ("tests/unit/test_tune_*.py", "tests/target/test_tune.py")),
    Room(
        "verify",
        (
            "tests/unit/test_verify_*.py",
            "tests/unit/test_dump.py",
            "tests/target/test_record.py",
            "tests/golden/test_verify_program.py",
            "tests/target/test_emulation.py",
            "tests/target/test_wild_models.py",
            "tests/errors/test_command_line.py",
            "tests/unit/test_tflite_importer.py",
        ),
    ),
)
