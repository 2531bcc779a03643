/* SPDX-License-Identifier: 0BSD */
#include "fc_float32.h"
#include "recurrent.h"
