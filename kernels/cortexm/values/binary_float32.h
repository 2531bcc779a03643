/* SPDX-License-Identifier: 0BSD */
#include "kit/broadcast.h"
#include "core/target.h"

/* Sums, differences, products and quotients of float32: run by run, with the functions of one run. */
