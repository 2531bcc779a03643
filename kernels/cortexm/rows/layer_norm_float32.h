/* SPDX-License-Identifier: 0BSD */
#include "core/target.h"
#include "kit/layer_norm_float32.h"
