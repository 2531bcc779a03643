/* SPDX-License-Identifier: 0BSD */
/* gcc with -U__GNUC__ and this header in front stands in for the compilers of IAR and Arm (armcc): it knows their keywords, and
 * refuses whatever generated code would ask of GNU C without asking which compiler it has. The C library's headers come first:
 * they are their compiler's own. */
#include <arm_acle.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#define __ICCARM__ 1
#define __IAR_SYSTEMS_ICC__ 9
#define __CC_ARM 1
#define __ARMCC_VERSION 5060960
#define __root
#define __no_init
#define __noreturn
#define __ramfunc
#define __weak
#define __packed
#define __forceinline inline
#define __align(bytes) _Alignas(bytes)

#pragma GCC poison __attribute__ __attribute __asm__ __asm asm __extension__ __typeof__ typeof __inline__
#pragma GCC poison __builtin_expect __builtin_unreachable __builtin_clz __builtin_memcpy __builtin_assume_aligned
