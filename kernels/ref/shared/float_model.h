/* SPDX-License-Identifier: 0BSD */

/* Rounding by addition, infinities as bounds and NaN tests mean nothing under -ffast-math. */
#if defined(__FAST_MATH__)
#error "float kernels need IEEE arithmetic: compile this file without -ffast-math"
#endif
