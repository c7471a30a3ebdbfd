/*
 * What libFuzzer, or driver.c in its place, calls.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

static inline void fuzz_abort(int signal)
{
    (void)signal;
    abort();
}

/* g_error() ends in a trap, after which libFuzzer would keep no input. */
__attribute__((constructor)) static void fuzz_traps_abort(void)
{
    signal(SIGTRAP, fuzz_abort);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif /* FUZZ_H */
