/* SPDX-License-Identifier: 0BSD */
#include "columns_int16.h"
