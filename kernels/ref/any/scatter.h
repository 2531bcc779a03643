/* SPDX-License-Identifier: 0BSD */
#include <stdint.h>
#include <string.h>

/* Scattering is generated: one function for each type and reduction. */
