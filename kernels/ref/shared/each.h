/* SPDX-License-Identifier: 0BSD */
#include <math.h>
#include <stdint.h>

/* The loops over elements are generated: one function for each operator and types. */
