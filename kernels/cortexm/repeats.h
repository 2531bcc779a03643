/* SPDX-License-Identifier: 0BSD */
#include "ref/broadcast.h"

/* Tensors that repeat along an axis: the functions around rows are generated. */
