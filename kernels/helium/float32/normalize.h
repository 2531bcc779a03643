/* SPDX-License-Identifier: 0BSD */
#include "core/helium.h"
#include "kit/layer_norm_float32.h"

/* Batches of groups of values that have one mean and one deviation, in `runs` runs of `length` with a scale and a bias each. */
typedef struct {
    int32_t batches, groups, runs, length;
} aidge_helium_groups_float32;
