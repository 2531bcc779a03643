/* SPDX-License-Identifier: 0BSD */
#include "core/copies.h"
#include "strided.h"

/* Loops around runs, with their steps on both sides, all in elements. */
typedef struct {
    int32_t start; /* in the source */
    int32_t dims[4], source_steps[4], target_steps[4];
    int32_t run[3]; /* its length, its steps in the source and in the target */
} aidge_helium_moved;
