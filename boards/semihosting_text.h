/* SPDX-License-Identifier: 0BSD */
/* The part of semihosting.h that is the same on a board and on the host: numbers and words. */
#include "semihosting.h"

void semihosting_write_integer(int32_t value)
{
    char text[12];
    int at = 11;
    uint32_t magnitude = value < 0 ? 0u - (uint32_t)value : (uint32_t)value;
    text[at] = '\0';
    do {
        text[--at] = (char)('0' + magnitude % 10u);
        magnitude /= 10u;
    } while (magnitude != 0u);
    if (value < 0) {
        text[--at] = '-';
    }
    semihosting_write0(text + at);
}

void semihosting_write_hexadecimal(uint32_t value)
{
    char text[9];
    for (int digit = 0; digit < 8; digit++) {
        text[digit] = "0123456789abcdef"[(value >> (28 - 4 * digit)) & 15u];
    }
    text[8] = '\0';
    semihosting_write0(text);
}

int semihosting_argument(int index, char *word, uint32_t size)
{
    char line[256];
    const char *from = line;
    uint32_t length = 0;
    if (semihosting_command_line(line, sizeof line) != 0) {
        return -1;
    }
    for (; index > 0; index--) {
        while ((*from != ' ') && (*from != '\0')) {
            from++;
        }
        if (*from == '\0') {
            return -1;
        }
        from++;
    }
    while ((from[length] != ' ') && (from[length] != '\0')) {
        if (length + 1u >= size) {
            return -1;
        }
        word[length] = from[length];
        length++;
    }
    word[length] = '\0';
    return (int)length;
}
