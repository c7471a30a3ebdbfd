/*
 * The log of the places where flash served commands.
 *
 * A command is in the table under_way from its submission to its completion.
 * The program of a buffered write begins after the write's completion, so it
 * finds no command in the table. A program that begins at the moment of the
 * completion still finds the command, but ends later, so that flashlog_end()
 * does not log it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "cmdlog.h"
#include "flashlog.h"

#include <string.h>

G_STATIC_ASSERT(sizeof(FlashLogRow) == 16);

static const FlashLogRow nowhere = { UINT32_MAX, UINT32_MAX, UINT32_MAX,
                                     UINT32_MAX };

typedef struct {
    uint64_t seq;
    int64_t end_ns; /* end of the flash command that ended last */
    FlashLogRow row;
} Served;

struct FlashLog {
    FILE *file;
    GHashTable *under_way; /* commands that have not ended, by seq */
};

FlashLog *flashlog_new(FILE *file)
{
    CmdLogHeader header = {
        .row_bytes = sizeof(FlashLogRow), .version = FLASHLOG_VERSION,
    };
    FlashLog *log = g_new(FlashLog, 1);

    memcpy(header.magic, FLASHLOG_MAGIC, sizeof(header.magic));
    fwrite(&header, sizeof(header), 1, file);
    log->file = file;
    log->under_way = g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL,
                                           g_free);
    return log;
}

void flashlog_free(FlashLog *log)
{
    if (log) {
        g_hash_table_destroy(log->under_way);
        g_free(log);
    }
}

void flashlog_begin(FlashLog *log, const ScarpCmd *cmd)
{
    Served *served = g_new(Served, 1);

    served->seq = cmd->seq;
    served->end_ns = -1;
    served->row = nowhere;
    g_hash_table_insert(log->under_way, &served->seq, served);
}

void flashlog_phase(FlashLog *log, const ScarpFlashOp *op)
{
    for (uint32_t i = 0; i < op->n_cmds; i++) {
        Served *served = g_hash_table_lookup(log->under_way, &op->cmd_seqs[i]);

        if (served && op->end_ns >= served->end_ns) {
            served->end_ns = op->end_ns;
            served->row = (FlashLogRow) {
                op->die, op->plane, op->block, op->page,
            };
        }
    }
}

void flashlog_end(FlashLog *log, const ScarpCmd *cmd)
{
    Served *served = g_hash_table_lookup(log->under_way, &cmd->seq);

    g_assert(served);
    fwrite(served->end_ns <= cmd->complete_ns ? &served->row : &nowhere,
           sizeof(served->row), 1, log->file);
    g_hash_table_remove(log->under_way, &cmd->seq);
}
