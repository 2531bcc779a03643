/* SPDX-License-Identifier: 0BSD */
#include "copies.h"
#include "kit/runs.h"
