/*
 * The formats by their names.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "csv.h"
#include "formats.h"

#include <string.h>

#define FIVE(unit, place) \
    unit " device " place " 0 (write)|1 (read)"

/*
 * The formats in the order of sniffing. Formats that are recognised by more
 * features come first.
 */
static const TraceFormat formats[] = {
    { "fio2", "fio version 2 iolog; file read|write|trim|sync|datasync offset "
      "bytes, file wait us", trace_parse_fio2, TRACE_NO_HEAD, "fio version 2" },
    { "fio3", "fio version 3 iolog; us file read|write|trim|sync|datasync "
      "offset bytes", trace_parse_fio3, TRACE_NO_HEAD, "fio version 3" },
    { "vscsi", "vscsiStats' text: number,bytes,segments,command,sector,us",
      trace_parse_vscsi, 0, "#Vscsi Cmd Trace" },
    { "msr-header", "msr behind a line of its columns' names", trace_parse_msr,
      0, "Timestamp,Hostname," },
    { "etw", "text of Windows' event tracing; DiskRead|DiskWrite|DiskFlush,"
      "columns that its head names", trace_parse_etw, TRACE_NO_HEAD, NULL },
    { "systor17", "time s,response,R|W,LUN,offset,bytes; a header",
      trace_parse_systor17, 0, NULL },
    { "msr", "100 ns ticks,host,disk,Read|Write,offset,bytes,response"
      "[,stream[,deadline us]]", trace_parse_msr, 0, NULL },
    { "spc", "unit,sector,bytes,R|W,time s; UMass", trace_parse_spc, 0, NULL },
    { "alibaba", "volume,R|W,offset,bytes,time us", trace_parse_alibaba, 0,
      NULL },
    { "tencent", "time s,sector,sectors,0 (read)|1 (write),volume",
      trace_parse_tencent, TRACE_SECTORS, NULL },
    { "blkparse", "maj,min cpu seq time s pid action rwbs sector + sectors; "
      "blkparse:Q, :D, :I or :C says the action", trace_parse_blkparse,
      TRACE_NO_HEAD, NULL },
    { "fiu", "ns pid process sector sectors R|W major minor md5",
      trace_parse_fiu, TRACE_LEADING_GARBAGE, NULL },
    { "heimdall", FIVE("ms", "byte bytes"), trace_parse_heimdall, TRACE_DOTTED,
      NULL },
    { "mqsim", FIVE("ns", "sector sectors"), trace_parse_mqsim, TRACE_SECTORS,
      NULL },
    { "ssdsim", FIVE("ns", "sector sectors"), trace_parse_mqsim, TRACE_SECTORS,
      NULL },
    { "disksim", FIVE("ms", "sector sectors"), trace_parse_disksim,
      TRACE_SECTORS | TRACE_DOTTED, NULL },
};

const TraceFormat *trace_formats(size_t *n)
{
    *n = G_N_ELEMENTS(formats);
    return formats;
}

void trace_state_clear(TraceState *state)
{
    g_clear_pointer(&state->files, g_hash_table_unref);
}

char *trace_format_names(void)
{
    GString *names = g_string_new(NULL);

    for (size_t i = 0; i < G_N_ELEMENTS(formats); i++) {
        g_string_append_printf(names, "%s, ", formats[i].name);
    }
    g_string_append(names, "cmdlog, or " CSV_HELP);
    return g_string_free(names, false);
}

const TraceFormat *trace_format_find(const char *name, GError **error)
{
    g_autofree char *allowed = NULL;

    for (size_t i = 0; i < G_N_ELEMENTS(formats); i++) {
        if (!strcmp(formats[i].name, name)) {
            return &formats[i];
        }
    }
    allowed = trace_format_names();
    g_set_error(error, SCARP_ERROR, SCARP_ERROR_KEY,
                "--format=%s: unknown; allowed: %s", name, allowed);
    return NULL;
}

char *trace_formats_text(void)
{
    GString *text = g_string_new(NULL);

    for (size_t i = 0; i < G_N_ELEMENTS(formats); i++) {
        g_string_append_printf(text, "%s: %s\n", formats[i].name,
                               formats[i].help);
    }
    g_string_append(text, "cmdlog: --cmd-log's binary rows, the device's too; "
                    "replayed at the drive's own times\n"
                    "csv: " CSV_HELP "\n");
    return g_string_free(text, false);
}
