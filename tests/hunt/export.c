/*
 * A scenario for the replayer.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "export.h"

#include <string.h>

#define EVENTS_FIRST (1u << 30)
#define FUA (1u << 31)

G_STATIC_ASSERT(sizeof(LogRow) == 48);

void export_row(Log *log, const ScarpCmd *cmd)
{
    bool due = cmd->deadline_ns != SCARP_TIME_NEVER;

    if (log->n == MOST_LOGGED) {
        log->all = false;
        return;
    }
    log->row[log->n] = (LogRow) {
        .submit_ns = cmd->submit_ns, .complete_ns = cmd->submit_ns,
        .offset_bytes = cmd->offset_bytes, .length_bytes = cmd->length_bytes,
        .op = cmd->op, .stream = cmd->stream, .nsid = 1,
        .order = log->n | EVENTS_FIRST | (cmd->fua ? FUA : 0),
        .deadline_ns = due ? cmd->deadline_ns - cmd->submit_ns : 0,
    };
    log->n++;
}

void export_change(Log *log, int64_t time_ns, const char *scheme,
                   const char *params)
{
    LogChange change = { .time_ns = time_ns, .next_command = log->n };

    params = params ? params : "";
    if (log->n_changes == MOST_CHANGES ||
        g_strlcpy(change.scheme, scheme, sizeof(change.scheme)) >=
            sizeof(change.scheme) ||
        g_strlcpy(change.params, params, sizeof(change.params)) >=
            sizeof(change.params)) {
        log->all = false;
        return;
    }
    log->change[log->n_changes++] = change;
}

/* The log of changes (docs/logs.md). */
static char *changes(const Log *log)
{
    GString *text = g_string_new("time_ns,next_command,change,scheme,params\n");

    for (guint i = 0; i < log->n_changes; i++) {
        const LogChange *change = &log->change[i];
        g_autofree char *params = g_strdelimit(g_strdup(change->params), ",",
                                               ';');

        g_string_append_printf(text, "%" G_GINT64_FORMAT ",%u,scheme,%s,%s\n",
                               change->time_ns, change->next_command,
                               change->scheme, params);
    }
    return g_string_free(text, false);
}

/* The base description with the scenario's keys. */
static char *description(const Scenario *s)
{
    g_autoptr(GKeyFile) file = g_key_file_new();

    g_key_file_load_from_data(file, scenario_base, -1, G_KEY_FILE_NONE, NULL);
    for (guint i = 0; i < s->keys->len; i++) {
        g_auto(GStrv) half = g_strsplit(s->keys->pdata[i], "=", 2);
        g_auto(GStrv) name = g_strsplit(half[0], ".", 2);

        g_key_file_set_value(file, name[0], name[1], half[1]);
    }
    return g_key_file_to_data(file, NULL, NULL);
}

char *export_files(const Scenario *s, const Log *log, const char *base,
                   GError **error)
{
    struct {
        char magic[8];
        uint32_t row_bytes, causes;
        uint64_t version, reserved;
    } header = { "SCARPCM1", sizeof(LogRow), 0, 3, 0 };
    g_autofree char *text = description(s);
    g_autofree char *ini = g_strdup_printf("%s.ini", base);
    g_autofree char *bin = g_strdup_printf("%s.bin", base);
    g_autofree char *csv = g_strdup_printf("%s.csv", base);
    g_autofree char *switches = changes(log);
    g_autoptr(GString) rows = g_string_new_len((char *)&header,
                                               sizeof(header));
    GString *command = g_string_new(NULL);

    g_string_append_len(rows, (const char *)log->row, log->n * sizeof(LogRow));
    if (!g_file_set_contents(ini, text, -1, error) ||
        !g_file_set_contents(bin, rows->str, rows->len, error) ||
        (log->n_changes && !g_file_set_contents(csv, switches, -1, error))) {
        g_string_free(command, true);
        return NULL;
    }
    g_string_append_printf(command, "-d %s -s %s", ini, s->scheme);
    if (s->params) {
        g_string_append_printf(command, " -p %s", s->params);
    }
    g_string_append_printf(command, " --seed %" G_GUINT64_FORMAT " --age %u "
                           "--age-pattern %s --age-seed %" G_GUINT64_FORMAT,
                           s->seed, s->age_permille,
                           s->random_age ? "random" : "sequential",
                           s->age_seed);
    if (s->overwrite_permille != UINT32_MAX) {
        g_string_append_printf(command, " --age-overwrite %u",
                               s->overwrite_permille);
    }
    if (log->n_changes) {
        g_string_append_printf(command, " --changes %s", csv);
    }
    g_string_append_printf(command, " %s%s", bin,
                           log->all ? "" : "   # up to the first step that "
                                           "is no command");
    return g_string_free(command, false);
}
