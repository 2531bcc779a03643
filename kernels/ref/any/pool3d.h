/* SPDX-License-Identifier: 0BSD */
#include <math.h>
#include "float32/clamp_float32.h"
#include "window3d.h"

/* Pools over up to 3 axes are generated: one function for each kind and type. */
