/* SPDX-License-Identifier: 0BSD */
#include <arm_mve.h>
#include "helium.h"
