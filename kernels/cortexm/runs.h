/* SPDX-License-Identifier: 0BSD */
#include "copies.h"
#include "ref/runs.h"
