/* SPDX-License-Identifier: 0BSD */
#include <math.h>
#include <stdint.h>
#include <string.h>
#include "shared/float_model.h"

/* The functions of forests are generated; how scores are transformed (post_transform of ai.onnx.ml) stands in other files. */
