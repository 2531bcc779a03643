/* SPDX-License-Identifier: 0BSD */
#include "dense.h"

/* A row of pairs of pixels; assembly reads the fields in this order. The last pair of an odd number of pixels overlaps the pair
 * before. */
typedef struct {
    int32_t pairs;
    int32_t second_input, second_output;  /* bytes from the first pixel of a pair to the second */
    int32_t back_input, back_output;      /* bytes that the last pair goes back */
    int32_t output_step;                  /* bytes from pair to pair, less those that the groups have advanced */
    int32_t input_step;                   /* bytes from pair to pair */
    int32_t stream_bytes;
} aidge_cortexm_run;
