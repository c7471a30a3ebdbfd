/*
 * What holds for every command, and for their sums.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "laws.h"
#include "fail.h"

bool fail(GError **error, const char *format, ...)
{
    va_list arguments;
    g_autofree char *text = NULL;

    va_start(arguments, format);
    text = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    g_set_error_literal(error, SCARP_ERROR, SCARP_ERROR_VALUE, text);
    return false;
}

bool laws_command(const ScarpCmd *cmd, int64_t submit_ns, int64_t last_ns,
                  int64_t now_ns, GError **error)
{
    int64_t cause_ns[SCARP_CAUSE__ALL], sum = 0;

    scarp_cmd_causes(cmd, cause_ns);
    for (int i = 0; i < SCARP_CAUSE__ALL; i++) {
        if (cause_ns[i] < 0) {
            return fail(error, "cause %s of a command is %" G_GINT64_FORMAT
                        " ns", scarp_cause_name(i), cause_ns[i]);
        }
        sum += cause_ns[i];
    }
    if (cmd->submit_ns != submit_ns) {
        return fail(error, "a command's submission has moved");
    }
    if (sum != cmd->complete_ns - cmd->submit_ns) {
        return fail(error, "causes sum to %" G_GINT64_FORMAT " ns of %"
                    G_GINT64_FORMAT, sum, cmd->complete_ns - cmd->submit_ns);
    }
    if (cmd->complete_ns < last_ns || cmd->complete_ns > now_ns) {
        return fail(error, "completions are not in the order of time");
    }
    return cmd->status == SCARP_STATUS_OK ||
           fail(error, "a command failed: status %d", cmd->status);
}

void laws_count(Own *own, const ScarpCmd *cmd)
{
    own->accepted++;
    own->by_op[cmd->op]++;
    own->read_bytes += cmd->op == SCARP_OP_READ ? cmd->length_bytes : 0;
    own->write_bytes += cmd->op == SCARP_OP_WRITE ? cmd->length_bytes : 0;
}

bool laws_sums(const Own *own, const ScarpStats *stats, GError **error)
{
    const struct {
        const char *name;
        uint64_t is, should;
    } sum[] = {
        { "cmds_accepted", stats->cmds_accepted, own->accepted },
        { "cmds_completed", stats->cmds_completed, own->completed },
        { "reads", stats->reads, own->by_op[SCARP_OP_READ] },
        { "writes", stats->writes, own->by_op[SCARP_OP_WRITE] },
        { "write_zeroes", stats->write_zeroes,
          own->by_op[SCARP_OP_WRITE_ZEROES] },
        { "deallocates", stats->deallocates,
          own->by_op[SCARP_OP_DEALLOCATE] },
        { "flushes", stats->flushes, own->by_op[SCARP_OP_FLUSH] },
        { "read_bytes", stats->read_bytes, own->read_bytes },
        { "write_bytes", stats->write_bytes, own->write_bytes },
        { "oob_mismatches", stats->oob_mismatches, 0 },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(sum); i++) {
        if (sum[i].is != sum[i].should) {
            return fail(error, "statistics: %s is %" G_GUINT64_FORMAT
                        ", should be %" G_GUINT64_FORMAT, sum[i].name,
                        sum[i].is, sum[i].should);
        }
    }
    return true;
}

bool laws_slc(const ScarpSlcStats *slc, const ScarpStats *stats, GError **error)
{
    uint64_t programs = slc ? slc->slc_page_programs + slc->direct_page_programs
                            : stats->host_page_programs;

    if (programs != stats->host_page_programs) {
        return fail(error, "statistics: %" G_GUINT64_FORMAT " pages went to "
                    "the SLC cache or past it, should be %" G_GUINT64_FORMAT,
                    programs, stats->host_page_programs);
    }
    if (slc && (slc->folded_units > stats->gc_moved_units ||
                slc->slc_erases > stats->erases)) {
        return fail(error, "statistics: more of the SLC cache than of all");
    }
    return true;
}

bool laws_times(const Own *own, const ScarpStats *stats, uint64_t planes,
                int64_t now_ns, GError **error)
{
    uint64_t ns = now_ns - own->since_ns;
    const struct {
        const char *name;
        uint64_t is; /* of a plane */
    } time[] = {
        { "gc_busy_ns", stats->gc_busy_ns / planes },
        { "gc_window_ns", stats->gc_window_ns / planes },
        { "recovery_ns", stats->recovery_ns },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(time); i++) {
        if (time[i].is > ns) {
            return fail(error, "statistics: %s is %" G_GUINT64_FORMAT
                        " ns of a plane, %" G_GUINT64_FORMAT " ns after they "
                        "began", time[i].name, time[i].is, ns);
        }
    }
    return true;
}
