/*
 * What a program says when it ends with an error.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_REFUSED_H
#define SCARP_REFUSED_H

#include <glib.h>

/*
 * One line on standard error, "program: message".  Names and values of a
 * foreign file may be in the message: what would steer a terminal, or begin
 * another line, is shown as U+FFFD.
 */
void print_error(const char *program, const GError *error);

#endif /* SCARP_REFUSED_H */
