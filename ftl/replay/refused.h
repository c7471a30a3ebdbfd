/*
 * The error line with which a program ends.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_REFUSED_H
#define SCARP_REFUSED_H

#include <glib.h>

/*
 * Prints "program: message" as one line on standard error. The message may have
 * names and values from a file that somebody else made. So characters that
 * would steer a terminal, or begin another line, become U+FFFD.
 */
void print_error(const char *program, const GError *error);

#endif /* SCARP_REFUSED_H */
