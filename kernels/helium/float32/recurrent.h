/* SPDX-License-Identifier: 0BSD */
#include "strip.h"
#include "kit/cells.h"
