/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "say.h"

#define CONSOLE 0xe9 /* the port of isa-debugcon that the host names */

void say(const char *text)
{
    for (; *text; text++) {
        out8(CONSOLE, *text);
    }
}

void say_number(const char *key, uint32_t value)
{
    char digits[12];
    int at = sizeof(digits) - 1;

    digits[at] = '\0';
    do {
        digits[--at] = '0' + value % 10;
        value /= 10;
    } while (value);
    say(" ");
    say(key);
    say("=");
    say(digits + at);
}

void say_end(void)
{
    say("\n");
}

static void say_hex(uint32_t value)
{
    char digits[] = " 0x00000000";

    for (int at = 10; at > 2; at--, value >>= 4) {
        digits[at] = "0123456789abcdef"[value & 15];
    }
    say(digits);
}

void fail(const char *what, uint32_t first, uint32_t second)
{
    say("fail ");
    say(what);
    say(":");
    say_hex(first);
    say_hex(second);
    say_end();
    for (;;) {
        __asm__ volatile("cli; hlt");
    }
}
