/*
 * Formats with blanks between columns: formats of simulators, and FIU's.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "fields.h"
#include "formats.h"

/* Columns: ns pid process sector sectors R|W major minor md5 */
TraceVerdict trace_parse_fiu(TraceState *state G_GNUC_UNUSED, char *text,
                             TraceRecord *r)
{
    char *f[FIELDS_MAX];

    if (split(text, " \t", true, f, FIELDS_MAX) < 8 || strchr(f[0], '.') ||
        !decimal(f[0], 1, &r->time_ns) || !sectors(f[3], f[4], r) ||
        !direction(f[5], r) || f[5][1] || !major_minor(f[6], f[7], r)) {
        return TRACE_BAD;
    }
    return TRACE_RECORD;
}

/*
 * Parses a line of five columns into f[]. Sets the time, the device and the
 * operation (0|1) of *r.
 */
static bool five(char *text, char **f, int64_t scale, TraceRecord *r)
{
    return split(text, " \t", true, f, FIELDS_MAX) == 5 &&
           decimal(f[0], scale, &r->time_ns) && device(f[1], r) &&
           flag(f[4], '0', '1', r);
}

/* Columns: ns device sector sectors 0|1 */
TraceVerdict trace_parse_mqsim(TraceState *state G_GNUC_UNUSED, char *text,
                               TraceRecord *r)
{
    char *f[FIELDS_MAX];

    return five(text, f, 1, r) && !strchr(f[0], '.') && sectors(f[2], f[3], r)
               ? TRACE_RECORD : TRACE_BAD;
}

/* Columns: ms device sector sectors 0|1 */
TraceVerdict trace_parse_disksim(TraceState *state G_GNUC_UNUSED, char *text,
                                 TraceRecord *r)
{
    char *f[FIELDS_MAX];

    return five(text, f, 1000000, r) && sectors(f[2], f[3], r) ? TRACE_RECORD
                                                               : TRACE_BAD;
}

/* Columns: ms device byte bytes 0|1 */
TraceVerdict trace_parse_heimdall(TraceState *state G_GNUC_UNUSED, char *text,
                                  TraceRecord *r)
{
    char *f[FIELDS_MAX];

    return five(text, f, 1000000, r) && bytes(f[2], f[3], r) &&
                   r->length_bytes % SCARP_SECTOR_BYTES == 0
               ? TRACE_RECORD : TRACE_BAD;
}
