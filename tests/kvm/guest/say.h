/*
 * Lines to the host, through QEMU's debug console.
 *
 * A line of a result is "NAME key=value key=value".  A line that begins with
 * "fail" is the guest's last one.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef BARE_SAY_H
#define BARE_SAY_H

#include "cpu.h"

void say(const char *text);
void say_number(const char *key, uint32_t value); /* " key=value" */
void say_end(void);                               /* ends the line */

/* "fail WHAT: FIRST SECOND", both in hexadecimal; the processor halts. */
void fail(const char *what, uint32_t first, uint32_t second)
    __attribute__((noreturn));

#endif /* BARE_SAY_H */
