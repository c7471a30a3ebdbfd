/*
 * Prints the error line with which a program ends.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "refused.h"

#include <stdbool.h>

#define REPLACEMENT 0xfffd

/*
 * True when a terminal shows `c` in the line. g_unichar_isprint() is true of
 * separators of lines and paragraphs, too.
 */
static bool shows(gunichar c)
{
    GUnicodeType type = g_unichar_type(c);

    return g_unichar_isprint(c) && type != G_UNICODE_LINE_SEPARATOR &&
           type != G_UNICODE_PARAGRAPH_SEPARATOR;
}

void print_error(const char *program, const GError *error)
{
    g_autofree char *valid = g_utf8_make_valid(error->message, -1);
    g_autoptr(GString) line = g_string_new(NULL);
    const char *at;

    for (at = valid; *at; at = g_utf8_next_char(at)) {
        gunichar c = g_utf8_get_char(at);

        g_string_append_unichar(line, shows(c) ? c : REPLACEMENT);
    }
    g_printerr("%s: %s\n", program, line->str);
}
