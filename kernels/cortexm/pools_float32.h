/* SPDX-License-Identifier: 0BSD */
#include "target.h"
#include "kit/pool_float32.h"
