/* SPDX-License-Identifier: 0BSD */
#include "core/target.h"
#include "kit/pool_float32.h"
