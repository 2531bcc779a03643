/* SPDX-License-Identifier: 0BSD */

/* noipa: the compiler must not conclude from an empty-looking body which registers and memory the function uses. */
#if defined(__GNUC__) && (defined(__thumb__) || defined(__riscv)) && !defined(AIDGE_WITHOUT_ASSEMBLY)
#if defined(__clang__)
#define AIDGE_KIT_NAKED static __attribute__((naked, noinline))
#else
#define AIDGE_KIT_NAKED static __attribute__((naked, noinline, noclone, noipa))
#endif
#define AIDGE_KIT_PASSED __attribute__((unused))
#endif
