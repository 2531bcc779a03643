/* SPDX-License-Identifier: 0BSD */
#include <stdint.h>
#include <string.h>

/* Splitting is generated: one function for each number of pieces. */
