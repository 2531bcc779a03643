/* SPDX-License-Identifier: 0BSD */
#include "target.h"
