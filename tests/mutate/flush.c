/*
 * gcov's counts are written when a program returns from main(); children of
 * tests leave by _exit(), by abort() or by a trap.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "flush.h"

static void end_by(int number)
{
    struct sigaction none = { .sa_handler = SIG_DFL };

    sigaction(number, &none, NULL);
    raise(number);
    syscall(SYS_exit_group, 127);
}

static void on_trap(int number)
{
    __gcov_dump();
    end_by(number);
}

static void __attribute__((constructor)) begin(void)
{
    struct sigaction action = { .sa_handler = on_trap, .sa_flags = SA_NODEFER };

    sigaction(SIGTRAP, &action, NULL);
}

void _exit(int status)
{
    __gcov_dump();
    syscall(SYS_exit_group, status);
    __builtin_unreachable();
}

void abort(void)
{
    sigset_t only;

    __gcov_dump();
    sigemptyset(&only);
    sigaddset(&only, SIGABRT);
    sigprocmask(SIG_UNBLOCK, &only, NULL);
    raise(SIGABRT); /* a program may handle it */
    end_by(SIGABRT);
    __builtin_unreachable();
}
