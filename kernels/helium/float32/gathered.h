/* SPDX-License-Identifier: 0BSD */
#include "strip.h"

/* Rows of values, each of which becomes a row of outputs; what the assembly knows, in this order. Steps in bytes. */
typedef struct {
    int32_t rows;
    int32_t input_step, output_step; /* to the next row */
    int32_t next;                    /* from the end of an output row to the begin of the one four rows on */
    int32_t groups, turns;           /* of outputs, and the turns of the loop over a row's values */
    int32_t more_groups, more_turns; /* the same of smaller groups behind them */
} aidge_helium_gathered_float32;
