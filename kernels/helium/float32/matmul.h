/* SPDX-License-Identifier: 0BSD */
#include "core/helium.h"
#include "kit/product_float32.h"
