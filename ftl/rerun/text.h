/*
 * Strings in JSON.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_RERUN_TEXT_H
#define SCARP_RERUN_TEXT_H

#include <stdio.h>

/*
 * Writes UTF-8 text as a JSON string with its quotes. Writes null if the text
 * is NULL.
 */
static inline void rerun_text(FILE *out, const char *text)
{
    if (!text) {
        fputs("null", out);
        return;
    }
    fputc('"', out);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\') {
            fputc('\\', out);
        }
        if ((unsigned char)*text < ' ') {
            fprintf(out, "\\u%04x", (unsigned char)*text);
        } else {
            fputc(*text, out);
        }
    }
    fputc('"', out);
}

#endif /* SCARP_RERUN_TEXT_H */
