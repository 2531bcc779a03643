/* SPDX-License-Identifier: 0BSD */
#include "target.h"
#include "kit/layer_norm_float32.h"
