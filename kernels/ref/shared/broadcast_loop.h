/* SPDX-License-Identifier: 0BSD */
#include <string.h>
#include "kit/broadcast.h"

/* The loops over two tensors are generated: one function for each operator and type. */
