/* SPDX-License-Identifier: 0BSD */
#include "kit/mean.h"
#include "pixel_sums.h"

