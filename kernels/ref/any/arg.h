/* SPDX-License-Identifier: 0BSD */
#include <stdint.h>

/* The searches along an axis are generated: one function for each element type. */
