/* SPDX-License-Identifier: 0BSD */
#include "core/target.h"
#include "kit/product_float32.h"
