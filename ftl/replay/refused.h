/*
 * The error line with which a program ends.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_REFUSED_H
#define SCARP_REFUSED_H

#include <glib.h>

/*
 * Prints one line on standard error, "program: message". The message may have
 * names and values of a foreign file: characters that would steer a terminal,
 * or begin another line, become U+FFFD.
 */
void print_error(const char *program, const GError *error);

#endif /* SCARP_REFUSED_H */
