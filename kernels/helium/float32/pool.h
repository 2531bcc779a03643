/* SPDX-License-Identifier: 0BSD */
#include "core/helium.h"
#include "kit/pool_float32.h"
