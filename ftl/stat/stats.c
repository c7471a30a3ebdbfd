/*
 * Statistics. The table fields[] names every counter of ScarpStats, in order.
 * The JSON text uses these names, and the log page this order.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "heat/ops.h"
#include "stat/ops.h"

#include <string.h>

static const char *const cause_names[SCARP_CAUSE__COUNT] = {
    "controller", "link", "host_queue", "buffer_full", "order",
    "die_host_read", "die_host_program", "die_gc_read", "die_gc_program",
    "die_erase", "die_gc_held", "no_space", "channel", "array", "transfer",
    "rmw", "mapping", "suspended", "die_suspend",
};
/* The causes from SCARP_CAUSE__COUNT on, of drives with part_causes. */
static const char *const part_names[PART__COUNT] = {
    "die_fold_read", "die_fold_program", "throttled",
};

static const ScarpStatField fields[] = {
    { "cmds_accepted", "commands", "commands taken from the host" },
    { "cmds_completed", "commands", "commands given back" },
    { "reads", "commands", "reads" },
    { "writes", "commands", "writes" },
    { "write_zeroes", "commands", "write zeroes" },
    { "deallocates", "commands", "ranges deallocated" },
    { "flushes", "commands", "flushes" },
    { "read_bytes", "bytes", "read by the host" },
    { "write_bytes", "bytes", "written by the host" },
    { "unmapped_read_units", "units", "reads of unmapped units" },
    { "deallocated_units", "units", "mapped units that became unmapped" },
    { "rmw_reads", "pages", "reads forced by partial writes" },
    { "host_written_units", "units", "written by the host" },
    { "host_page_reads", "pages", "read for the host" },
    { "host_page_programs", "pages", "programmed for the host" },
    { "gc_page_reads", "pages", "read by garbage collection" },
    { "gc_page_programs", "pages", "programmed by garbage collection" },
    { "erases", "blocks", "erased" },
    { "gc_runs", "blocks", "victims collected" },
    { "gc_moved_units", "units", "relocated by garbage collection" },
    { "gc_busy_ns", "ns", "plane time spent in garbage collection" },
    { "padded_units", "units", "programmed without data" },
    { "read_latency_sum_ns", "ns", "of all reads" },
    { "write_latency_sum_ns", "ns", "of all writes" },
    { "read_latency_max_ns", "ns", "of the slowest read" },
    { "write_latency_max_ns", "ns", "of the slowest write" },
    { "oob_checks", "pages", "reads whose stored LPN was compared" },
    { "oob_mismatches", "pages", "whose stored LPN differed: must be 0" },
    { "cause_controller_ns", "ns", "firmware" },
    { "cause_link_ns", "ns", "host link" },
    { "cause_host_queue_ns", "ns", "waiting for a device slot" },
    { "cause_buffer_full_ns", "ns", "write buffer full" },
    { "cause_order_ns", "ns", "waiting for another command" },
    { "cause_die_host_read_ns", "ns", "die busy with a host read" },
    { "cause_die_host_program_ns", "ns", "die busy with a host program" },
    { "cause_die_gc_read_ns", "ns", "die busy with a GC read" },
    { "cause_die_gc_program_ns", "ns", "die busy with a GC program" },
    { "cause_die_erase_ns", "ns", "die busy with an erase" },
    { "cause_die_gc_held_ns", "ns", "die held by GC" },
    { "cause_no_space_ns", "ns", "plane without free pages" },
    { "cause_channel_ns", "ns", "waiting for the channel" },
    { "cause_array_ns", "ns", "own array time" },
    { "cause_transfer_ns", "ns", "own command and data cycles" },
    { "cause_rmw_ns", "ns", "read before a partial write" },
    { "cause_mapping_ns", "ns", "fetching a part of the mapping" },
    { "cause_suspended_ns", "ns", "own program suspended for a read" },
    { "cause_die_suspend_ns", "ns", "die suspending an operation" },
    { "buffer_read_units", "units", "read from the write buffer" },
    { "buffer_coalesced_units", "units", "overwritten in the write buffer" },
    { "multiplane_groups", "commands", "flash commands of several planes" },
    { "suspends", "commands", "programs and erases suspended" },
    { "copybacks", "pages", "moved inside their plane by copyback" },
    { "premigrated_units", "units", "relocated ahead of a collection" },
    { "wear_runs", "blocks", "victims taken to level wear" },
    { "bad_blocks", "blocks", "set aside" },
    { "gc_window_ns", "ns", "plane time of dies while they collect" },
    { "gc_shared_ns", "ns", "of it, host commands on other planes" },
    { "gc_fallback_units", "units", "not placed where the scheme wanted" },
    { "parity_page_programs", "pages", "programmed with parity" },
    { "parity_page_reads", "pages", "read to make parity" },
    { "reconstructed_reads", "units", "read by way of parity" },
    { "reconstruction_page_reads", "pages", "read for them" },
    { "reconstruction_refusals", "units", "that met a collection and waited" },
    { "gc_forced_runs", "blocks", "victims collected out of turn" },
    { "record_writes", "units", "records of deallocations, changed" },
    { "switch_merges", "merges", "that only erased the old data block" },
    { "partial_merges", "merges", "that filled a log block up" },
    { "full_merges", "merges", "that copied into a free block" },
    { "map_hits", "units", "whose entry of the mapping was in RAM" },
    { "map_misses", "units", "whose entry was not" },
    { "map_evictions", "entries", "that left the RAM for others" },
    { "map_page_reads", "pages", "read to find entries, or to change them" },
    { "map_page_programs", "pages", "programmed with changed entries" },
    { "map_written_units", "units", "of the mapping in them" },
    { "map_ram_bytes", "bytes", "of controller RAM that the mapping needs" },
    { "missed_reads", "commands", "reads that ended after their deadlines" },
    { "missed_writes", "commands", "writes that did" },
    { "missed_others", "commands", "others that did" },
    { "unmeetable_deadlines", "commands",
      "whose deadline is shorter than a GC segment and an erase" },
    { "positive_activities", "commands", "dispatched with slack to spare" },
    { "neutral_activities", "commands", "dispatched with little slack" },
    { "negative_activities", "commands", "dispatched without any" },
    { "gc_segments", "pages", "moved in the slack of commands" },
    { "gc_redistributed_ns", "ns", "of GC in the slack of commands" },
    { "passed_to_next_round", "commands", "that had to wait for a collection" },
    { "aggregated_writes", "commands", "that joined the page of another" },
    { "power_cuts", "cuts", "after which the drive recovered" },
    { "cut_cmds", "commands", "under way in a power cut, and forgotten" },
    { "torn_pages", "pages", "cut short, which nobody can read" },
    { "saved_units", "units", "of the buffer, saved when power failed" },
    { "recovery_ns", "ns", "from power on until the drive was ready" },
    { "recovery_page_reads", "pages", "read for that" },
    { "recovery_page_programs", "pages", "copied for that" },
    { "backup_page_programs", "pages", "before others of the same cells" },
    { "pair_pad_pages", "pages", "without data, to fill cells" },
    { "checkpoints", "checkpoints", "of the mapping, that are whole" },
};
G_STATIC_ASSERT(G_N_ELEMENTS(fields) == SCARP_STAT_COUNT);

const char *scarp_cause_name(ScarpCause cause)
{
    return cause < SCARP_CAUSE__COUNT
               ? cause_names[cause] : part_names[cause - SCARP_CAUSE__COUNT];
}

unsigned scarp_drive_causes(const ScarpDrive *drive)
{
    return drive->geo.part_causes ? SCARP_CAUSE__ALL : SCARP_CAUSE__COUNT;
}

void scarp_cmd_causes(const ScarpCmd *cmd, int64_t cause_ns[SCARP_CAUSE__ALL])
{
    ScarpParts parts = scarp_cmd_parts(cmd);

    scarp_take_parts_out((uint64_t *)cause_ns,
                         (const uint64_t *)cmd->cause_ns, &parts);
}

const ScarpStatField *scarp_stat_field(unsigned index)
{
    return &fields[index];
}

const ScarpStats *scarp_stats(const ScarpDrive *drive)
{
    return &drive->stats;
}

const ScarpSlcStats *scarp_slc_stats(const ScarpDrive *drive)
{
    return drive->geo.slc_pages ? &drive->slc_stats : NULL;
}

const ScarpUnitStats *scarp_unit_stats(const ScarpDrive *drive)
{
    return scarp_has_units(&drive->desc) ? &drive->unit_stats : NULL;
}

/*
 * Sets the counters of the SLC cache to zero, but for slc_blocks, which is the
 * present number of its blocks with pages.
 */
static void slc_reset(ScarpDrive *drive)
{
    drive->slc_stats = (ScarpSlcStats) {
        .slc_blocks = drive->slc_stats.slc_blocks,
    };
}

static uint64_t programmed_pages(const ScarpStats *stats)
{
    return stats->host_page_programs + stats->gc_page_programs +
           stats->parity_page_programs + stats->map_page_programs +
           stats->pair_pad_pages +
           stats->recovery_page_programs + stats->backup_page_programs;
}

uint64_t scarp_media_written_bytes(const ScarpDrive *drive)
{
    return programmed_pages(&drive->stats) * drive->geo.units_per_page *
           drive->geo.unit_bytes;
}

uint64_t scarp_media_erased_bytes(const ScarpDrive *drive)
{
    return drive->stats.erases * drive->geo.units_per_block *
           drive->geo.unit_bytes;
}

void scarp_stats_reset(ScarpDrive *drive)
{
    uint64_t outstanding =
        drive->stats.cmds_accepted - drive->stats.cmds_completed;
    uint64_t mismatches = drive->stats.oob_mismatches;
    uint64_t bad_blocks = drive->stats.bad_blocks;
    uint64_t map_ram_bytes = drive->stats.map_ram_bytes;

    memset(&drive->stats, 0, sizeof(drive->stats));
    memset(&drive->stat.parts, 0, sizeof(drive->stat.parts));
    slc_reset(drive);
    memset(&drive->unit_stats, 0, sizeof(drive->unit_stats));
    drive->stats.map_ram_bytes = map_ram_bytes;
    drive->stats.cmds_accepted = outstanding;
    drive->stats.oob_mismatches = mismatches;
    drive->stats.bad_blocks = bad_blocks;
    drive->stat.first_counted_seq = scarp_seq_count(drive);
    drive->stat.counted_from_ns = scarp_time_ns(drive);
    scarp_latency_clear(drive);
    scarp_latency_init(drive);
}

void scarp_stat_forget(ScarpDrive *drive)
{
    uint64_t bad_blocks = drive->stats.bad_blocks;
    uint64_t map_ram_bytes = drive->stats.map_ram_bytes;

    memset(&drive->stats, 0, sizeof(drive->stats));
    memset(&drive->stat.parts, 0, sizeof(drive->stat.parts));
    slc_reset(drive);
    memset(&drive->unit_stats, 0, sizeof(drive->unit_stats));
    drive->stats.bad_blocks = bad_blocks;
    drive->stats.map_ram_bytes = map_ram_bytes;
}

void scarp_stat_hand_over(ScarpDrive *from, ScarpDrive *to)
{
    ScarpStat own = to->stat;
    uint64_t map_ram_bytes = to->stats.map_ram_bytes;

    to->stat = from->stat;
    from->stat = own;
    to->stats = from->stats;
    to->unit_stats = from->unit_stats;
    to->slc_stats = from->slc_stats;
    to->slc_stats.slc_blocks = 0; /* scarp_slc_recover() counts them again */
    to->stats.map_ram_bytes = map_ram_bytes;
}

bool scarp_stat_init(ScarpDrive *drive, const ScarpConfig *config G_GNUC_UNUSED,
                     GError **error G_GNUC_UNUSED)
{
    scarp_latency_init(drive);
    return true;
}

void scarp_stat_clear(ScarpDrive *drive)
{
    scarp_latency_clear(drive);
}

/* ---- Commands that have completed --------------------------------------- */

/* Adds the command's parts of causes to all sums of the drive. */
static void __attribute__((noinline)) add_parts(ScarpDrive *drive,
                                                const ScarpCmd *cmd,
                                                ScarpParts *bucket)
{
    ScarpParts parts = scarp_cmd_parts(cmd);

    for (int i = 0; i < PART__COUNT; i++) {
        drive->stat.parts.ns[i] += parts.ns[i];
        bucket->ns[i] += parts.ns[i];
    }
}

static void add_causes(ScarpDrive *drive, const ScarpCmd *cmd,
                       ScarpCauseSums *sums)
{
    uint64_t *all = drive->stats.cause_ns, *bucket = sums->cause_ns;
    /*
     * volatile keeps the compiler from loading two values with one instruction.
     * Such a load would stall if the second value has just been written,
     * because its store is not in the cache yet.
     */
    const volatile int64_t *cause_ns = cmd->cause_ns;

#pragma GCC unroll 32
    for (int i = 0; i < SCARP_CAUSE__COUNT; i++) {
        int64_t ns = cause_ns[i];

        all[i] += ns;
        bucket[i] += ns;
    }
    if (G_UNLIKELY(cmd->split)) {
        add_parts(drive, cmd, &sums->parts);
    }
}

void scarp_stat_deadline(ScarpDrive *drive, const ScarpCmd *cmd,
                         int64_t deadline_ns)
{
    if (cmd->complete_ns <= deadline_ns ||
        cmd->seq < drive->stat.first_counted_seq) {
        return;
    }
    switch (cmd->op) {
    case SCARP_OP_READ:
        drive->stats.missed_reads++;
        break;
    case SCARP_OP_WRITE:
        drive->stats.missed_writes++;
        break;
    default:
        drive->stats.missed_others++;
        break;
    }
}

void scarp_stat_completed(ScarpDrive *drive, const ScarpCmd *cmd)
{
    ScarpStats *stats = &drive->stats;
    uint64_t latency = cmd->complete_ns - cmd->submit_ns;

    stats->cmds_completed++;
    if (cmd->seq < drive->stat.first_counted_seq) {
        return;
    }
    if (cmd->complete_ns > cmd->deadline_ns) {
        scarp_stat_deadline(drive, cmd, cmd->deadline_ns);
    }
    if (cmd->op == SCARP_OP_READ) {
        stats->read_latency_sum_ns += latency;
        stats->read_latency_max_ns = MAX(stats->read_latency_max_ns, latency);
        add_causes(drive, cmd, scarp_latency_add(drive, cmd));
    } else if (cmd->op == SCARP_OP_WRITE) {
        stats->write_latency_sum_ns += latency;
        stats->write_latency_max_ns = MAX(stats->write_latency_max_ns, latency);
        add_causes(drive, cmd, scarp_latency_add(drive, cmd));
    } else {
        ScarpCauseSums no_bucket = { .parts = { { 0 } } };

        add_causes(drive, cmd, &no_bucket);
    }
}

/* ---- JSON and the log page ---------------------------------------------- */

/*
 * Adds the counters of ScarpStats. The causes are those of scarp_cmd_causes():
 * parts are taken out.
 */
static void fields_json(const ScarpDrive *drive, GString *json)
{
    uint64_t cause_ns[SCARP_CAUSE__ALL];
    uint64_t value[SCARP_STAT_COUNT];

    memcpy(value, &drive->stats, sizeof(value));
    scarp_take_parts_out(cause_ns, drive->stats.cause_ns, &drive->stat.parts);
    memcpy((char *)value + offsetof(ScarpStats, cause_ns), cause_ns,
           sizeof(drive->stats.cause_ns));
    for (unsigned i = 0; i < SCARP_STAT_COUNT; i++) {
        g_string_append_printf(json, ", \"%s\": %" G_GUINT64_FORMAT,
                               fields[i].name, value[i]);
    }
}

static void parts_json(const ScarpDrive *drive, GString *json)
{
    for (unsigned i = 0; i < PART__COUNT; i++) {
        if (i == PART_THROTTLED ? scarp_has_heat(drive)
                                : drive->geo.slc_pages != 0) {
            g_string_append_printf(json, ", \"cause_%s_ns\": %"
                                   G_GINT64_FORMAT, part_names[i],
                                   drive->stat.parts.ns[i]);
        }
    }
}

static void slc_json(const ScarpDrive *drive, GString *json)
{
    const ScarpSlcStats *s = &drive->slc_stats;

    g_string_append_printf(json, ", \"slc_page_programs\": %"
                           G_GUINT64_FORMAT ", \"direct_page_programs\": %"
                           G_GUINT64_FORMAT ", \"folded_units\": %"
                           G_GUINT64_FORMAT ", \"slc_erases\": %"
                           G_GUINT64_FORMAT ", \"slc_blocks\": %"
                           G_GUINT64_FORMAT, s->slc_page_programs,
                           s->direct_page_programs, s->folded_units,
                           s->slc_erases, s->slc_blocks);
}

static void units_json(const ScarpDrive *drive, GString *json)
{
    g_string_append_printf(json, ", \"closed_reclaim_units\": %"
                           G_GUINT64_FORMAT ", \"unwritten_pages\": %"
                           G_GUINT64_FORMAT,
                           drive->unit_stats.closed_reclaim_units,
                           drive->unit_stats.unwritten_pages);
}

char *scarp_stats_json(const ScarpDrive *drive)
{
    const ScarpStats *s = &drive->stats;
    GString *json = g_string_new("{\"schema\": \"scarp-stats-1\"");
    uint64_t host = s->host_page_programs;

    g_string_append_printf(json, ", \"scarp_version\": \"%s\""
                           ", \"scheme\": \"%s\", \"logical_bytes\": %"
                           G_GUINT64_FORMAT
                           ", \"raw_bytes\": %" G_GUINT64_FORMAT
                           ", \"write_amplification_milli\": %"
                           G_GUINT64_FORMAT, scarp_version(),
                           drive->scheme.name,
                           scarp_drive_logical_bytes(drive),
                           scarp_geometry_units(&drive->geo) *
                               drive->geo.unit_bytes,
                           host ? programmed_pages(s) * 1000 / host : 0);
    fields_json(drive, json);
    if (drive->geo.slc_pages) {
        slc_json(drive, json);
    }
    if (scarp_has_units(&drive->desc)) {
        units_json(drive, json);
    }
    scarp_heat_json(drive, json);
    parts_json(drive, json);
    scarp_latency_json(drive, json);
    g_string_append_c(json, '}');
    return g_string_free(json, false);
}
