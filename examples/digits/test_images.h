/* SPDX-License-Identifier: CC-BY-4.0 */
/* Written by test_images.py. Do not edit.
 * From "Optical Recognition of Handwritten Digits" by E. Alpaydin and C. Kaynak, UCI Machine Learning Repository,
 * doi:10.24432/C50P49, CC BY 4.0, as scikit-learn distributes it; a selection of 450 images, values unchanged. */

#ifndef TEST_IMAGES_H
#define TEST_IMAGES_H

#include <stdint.h>

#define TEST_IMAGES 450
#define TEST_IMAGE_PIXELS 64

/* Row by row from the top, 0 (paper) to 16 (ink). */
extern const uint8_t test_images[TEST_IMAGES][TEST_IMAGE_PIXELS];

/* The digit, 0 to 9, that each image shows. */
extern const uint8_t test_labels[TEST_IMAGES];

#endif
