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
static void __attribute__((constructor)) fuzz_traps_abort(void)
{
    struct sigaction action = { .sa_handler = fuzz_abort };

    sigaction(SIGTRAP, &action, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif /* FUZZ_H */
