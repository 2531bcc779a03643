/* SPDX-License-Identifier: 0BSD */
#include "core/copies.h"
#include "kit/runs.h"
