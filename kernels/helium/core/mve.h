/* SPDX-License-Identifier: 0BSD */
#include "helium.h"

#if AIDGE_HELIUM_ASSEMBLY
#include <arm_mve.h>
#endif
