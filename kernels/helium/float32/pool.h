/* SPDX-License-Identifier: 0BSD */
#include "../helium.h"
#include "kit/pool_float32.h"
