/* SPDX-License-Identifier: 0BSD */
#include "../helium.h"
#include "kit/product_float32.h"
