/* SPDX-License-Identifier: 0BSD */
#include "kit/broadcast.h"

/* Tensors that repeat along an axis: the functions around rows are generated. */
