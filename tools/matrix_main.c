/* SPDX-License-Identifier: MIT */
/* The firmware of one cell of `./sconsw matrix`: it holds a model, so that the linked program shows what the model costs. */
#include MATRIX_HEADER

/* Volatile, so that the linker cannot leave the model out. */
void (*volatile matrix_keeps)(void) = (void (*)(void))MATRIX_RUN;

int main(void)
{
    return matrix_keeps == 0;
}
