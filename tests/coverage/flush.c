/*
 * A profile is written when a program returns from main(); the hunt's children
 * leave by _exit(), as do those that die of a signal they handle.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "flush.h"

void __wrap__exit(int status)
{
    __llvm_profile_write_file();
    __real__exit(status);
}
