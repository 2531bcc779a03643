/* SPDX-License-Identifier: 0BSD */
#include "target.h"
#include "kit/resample_lanes.h"
