/* SPDX-License-Identifier: 0BSD */
#include "kit/wide.h"
#include "target.h"
