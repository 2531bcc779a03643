/* SPDX-License-Identifier: 0BSD */
/* semihosting.h on the host: the same calls, served by the C library. */
#include "semihosting_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_FILES = 16 };

static FILE *files[MOST_FILES];
static int argument_count;
static char **arguments;

/* The C library hands main's arguments to constructors (glibc, macOS): so a program's main needs none. */
__attribute__((constructor)) static void keep_arguments(int count, char **values)
{
    argument_count = count;
    arguments = values;
}

void semihosting_write0(const char *text)
{
    fputs(text, stdout);
}

void semihosting_exit(int code)
{
    exit(code);
}

int semihosting_command_line(char *line, uint32_t size)
{
    size_t used = 0;
    for (int index = 0; index < argument_count; index++) {
        size_t length = strlen(arguments[index]);
        if (used + length + 1 > size)
            return -1;
        (void)memcpy(line + used, arguments[index], length);
        used += length + 1;
        line[used - 1] = index + 1 < argument_count ? ' ' : 0;
    }
    return argument_count > 0 ? 0 : -1;
}

int semihosting_open(const char *path, int mode)
{
    for (int handle = 0; handle < MOST_FILES; handle++) {
        if (files[handle] == NULL) {
            files[handle] = fopen(path, mode == SEMIHOSTING_WRITE ? "wb" : "rb");
            return files[handle] == NULL ? -1 : handle + 1;
        }
    }
    return -1;
}

static FILE *file_of(int handle)
{
    return handle > 0 && handle <= MOST_FILES ? files[handle - 1] : NULL;
}

uint32_t semihosting_read(int handle, void *data, uint32_t size)
{
    FILE *file = file_of(handle);
    return file == NULL ? size : size - (uint32_t)fread(data, 1, size, file);
}

uint32_t semihosting_write(int handle, const void *data, uint32_t size)
{
    FILE *file = file_of(handle);
    return file == NULL ? size : size - (uint32_t)fwrite(data, 1, size, file);
}

int32_t semihosting_length(int handle)
{
    FILE *file = file_of(handle);
    long here, length;
    if (file == NULL)
        return -1;
    here = ftell(file);
    if (here < 0 || fseek(file, 0, SEEK_END) != 0)
        return -1;
    length = ftell(file);
    return fseek(file, here, SEEK_SET) == 0 ? (int32_t)length : -1;
}

int semihosting_close(int handle)
{
    FILE *file = file_of(handle);
    if (file == NULL)
        return -1;
    files[handle - 1] = NULL;
    return fclose(file);
}
