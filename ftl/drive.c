/*
 * A drive: made, run, freed.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "drive.h"

#include <unistd.h>

G_DEFINE_QUARK(scarp-error-quark, scarp_error)

static void store_free(ScarpDrive *drive)
{
    for (uint32_t b = 0; b < drive->n_blocks; b++) {
        if (drive->block_rest[b].data) {
            for (uint32_t i = 0; i < drive->units_per_block; i++) {
                g_free(drive->block_rest[b].data[i]);
            }
            g_free(drive->block_rest[b].data);
        }
    }
    for (ScarpUnit *unit = drive->dirty_head; unit; unit = unit->newer) {
        g_free(unit->data);
    }
    g_ptr_array_free(drive->free_data, true);
}

void scarp_drive_free(ScarpDrive *drive)
{
    for (uint32_t p = 0; p < drive->n_planes; p++) {
        g_free(drive->plane[p].bucket_filled);
    }
    store_free(drive);
    scarp_scheme_clear(&drive->scheme, drive);
    scarp_parity_free(drive);
    scarp_latency_clear(drive);
    scarp_events_clear(&drive->events);
    g_ptr_array_free(drive->tx_chunks, true);
    g_ptr_array_free(drive->chunks, true);
    g_free(drive->read_ns_of);
    g_free(drive->program_ns_of);
    g_free(drive->channel);
    scarp_table_free(drive->die);
    g_free(drive->kicked);
    scarp_table_free(drive->plane);
    scarp_table_free(drive->blocks);
    scarp_table_free(drive->link);
    scarp_table_free(drive->block_rest);
    scarp_table_free(drive->buckets);
    g_free(drive->hash);
    g_free(drive->packer);
    scarp_table_free(drive->l2p);
    scarp_table_free(drive->p2l);
    g_free(drive->version);
    g_free(drive);
}

static void *new_zeroed(uint64_t bytes)
{
    void *table = scarp_table_new(bytes);

    g_assert(table); /* small beside those of the mapping */
    return memset(table, 0, bytes);
}

static uint32_t *new_table(uint64_t n, GError **error)
{
    uint32_t *table = scarp_table_new(n * sizeof(uint32_t));

    if (!table) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_GEOMETRY,
                    "geometry.blocks_per_plane: no memory for a mapping of %"
                    G_GUINT64_FORMAT " units; fewer are allowed", n);
        return NULL;
    }
    for (uint64_t i = 0; i < n; i++) {
        table[i] = SCARP_NONE;
    }
    return table;
}

/* The write buffer, and at least what a full queue has in flight. */
static uint32_t hash_size(const ScarpDrive *drive)
{
    uint64_t units = MAX(drive->buffer_units, 4096);
    uint32_t n = 4096;

    while (n < units && n < 1u << 24) {
        n *= 2;
    }
    return n;
}

static void init_resources(ScarpDrive *drive)
{
    const ScarpDescription *d = &drive->d;

    G_STATIC_ASSERT(STAGE__COUNT == SCARP_EVENTS_NEAR);
    scarp_events_init(&drive->events, scarp_timer_source(drive) + 1);
    drive->channel = g_new0(ScarpChannel, d->channels);
    for (uint32_t c = 0; c < d->channels; c++) {
        drive->channel[c].wait_head = SCARP_NONE;
    }
    drive->die = new_zeroed(drive->n_dies * sizeof(ScarpDie));
    drive->kicked = g_new(uint32_t, drive->n_dies);
    for (uint32_t i = 0; i < drive->n_dies; i++) {
        drive->die[i].activity = DIE_IDLE;
    }
    drive->blocks = new_zeroed((uint64_t)drive->n_blocks *
                               drive->block_record_bytes);
    drive->link = new_zeroed((uint64_t)drive->n_blocks * sizeof(BlockLink));
    drive->block_rest = new_zeroed((uint64_t)drive->n_blocks *
                                   sizeof(BlockRest));
    drive->plane = new_zeroed(drive->n_planes * sizeof(ScarpPlane));
    for (uint32_t p = 0; p < drive->n_planes; p++) {
        ScarpPlane *plane = &drive->plane[p];

        plane->reads.tail = &plane->reads.head;
        plane->programs.tail = &plane->programs.head;
        plane->gc.plane = p;
        plane->gc_queue.tail = &plane->gc_queue.head;
    }
}

/* With the bits of its units: whole lines of the cache, or half of one. */
static uint32_t block_record_bytes(const ScarpDrive *drive)
{
    uint32_t bytes = sizeof(ScarpBlock) + scarp_valid_bytes(drive);
    uint32_t line = bytes <= SCARP_CACHE_LINE / 2 ? SCARP_CACHE_LINE / 2
                                                  : SCARP_CACHE_LINE;

    return (bytes + line - 1) / line * line;
}

static void init_sizes(ScarpDrive *drive)
{
    const ScarpDescription *d = &drive->d;

    drive->unit_bytes = d->unit_bytes ? d->unit_bytes : d->page_bytes;
    drive->units_per_page = d->page_bytes / drive->unit_bytes;
    drive->units_per_block = drive->units_per_page * d->pages_per_block;
    drive->units_per_plane = drive->units_per_block * d->blocks_per_plane;
    drive->n_dies = d->channels * d->chips_per_channel * d->dies_per_chip;
    drive->n_planes = drive->n_dies * d->planes_per_die;
    drive->n_blocks = drive->n_planes * d->blocks_per_plane;
    drive->block_record_bytes = block_record_bytes(drive);
    drive->unit_shift = __builtin_ctz(drive->unit_bytes);
    drive->page_shift = __builtin_ctz(drive->units_per_page);
    drive->by_units_per_block = scarp_divisor(drive->units_per_block);
    drive->by_units_per_plane = scarp_divisor(drive->units_per_plane);
    drive->by_blocks_per_plane = scarp_divisor(d->blocks_per_plane);
    drive->by_planes_per_die = scarp_divisor(d->planes_per_die);
    drive->by_dies_per_channel = scarp_divisor(d->chips_per_channel *
                                               d->dies_per_chip);
    drive->by_planes = scarp_divisor(drive->n_planes);
    /* The same number for each plane, so that striping fills them evenly. */
    drive->mapped_units = d->blocks_per_plane * d->pages_per_block * 1000 /
                           (1000 + d->over_provisioning_permille) *
                           drive->n_planes * drive->units_per_page;
    drive->logical_units = drive->mapped_units;
    if (d->parity_width) {
        drive->logical_units -= drive->mapped_units / d->parity_width;
    }
    drive->buffer_units = d->buffer_bytes / drive->unit_bytes;
    drive->hash_mask = hash_size(drive) - 1;
}

/*
 * A host that overcommits gives any address space, and kills who fills it: ask
 * how much there is before.
 */
static bool memory_suffices(const ScarpDrive *drive, GError **error)
{
    uint64_t physical = (uint64_t)sysconf(_SC_PHYS_PAGES) *
                        (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t units = (uint64_t)drive->units_per_plane * drive->n_planes;
    uint64_t needed = 4 * ((uint64_t)drive->mapped_units + units) +
                      (uint64_t)drive->n_blocks *
                          (drive->block_record_bytes + sizeof(BlockLink) +
                           sizeof(BlockRest)) +
                      (drive->d.recovery ? 8 * units : 0);

    if (needed < physical) {
        return true;
    }
    g_set_error(error, SCARP_ERROR, SCARP_ERROR_GEOMETRY,
                "geometry.blocks_per_plane=%" G_GUINT64_FORMAT
                ": the mapping of %" G_GUINT64_FORMAT " units needs %"
                G_GUINT64_FORMAT " MiB; this host has %" G_GUINT64_FORMAT
                " MiB, so fewer blocks, or larger units, are allowed",
                drive->d.blocks_per_plane, units, needed >> 20, physical >> 20);
    return false;
}

static bool describe(ScarpDescription *d, const ScarpConfig *config,
                     ScarpImage *image, GError **error)
{
    g_autofree char *text = NULL;

    if (image) {
        /* Read even when it is not asked for: the whole file must be whole. */
        text = scarp_image_description(image, error);
        if (!text) {
            return false;
        }
    }
    return config->description_path || !image
               ? scarp_description_load(d, config->description_path,
                                        config->overrides, error)
               : scarp_description_parse(d, text, config->image_path,
                                         config->overrides, error);
}

/* The tables of a new drive, or the image's. */
static bool init_tables(ScarpDrive *drive, ScarpImage *image, GError **error)
{
    uint64_t units = (uint64_t)drive->units_per_plane * drive->n_planes;

    drive->hash = g_new0(ScarpUnit *, drive->hash_mask + 1);
    drive->packer = g_new0(ScarpPacker, (drive->n_planes + 1) *
                                            (uint32_t)drive->d.streams);
    drive->version = drive->d.recovery ? g_new0(uint64_t, units) : NULL;
    drive->l2p = new_table(drive->mapped_units, error);
    drive->p2l = drive->l2p ? new_table(units, error) : NULL;
    return drive->p2l && (image ? scarp_image_load(image, drive, error)
                                : scarp_blocks_set_bad(drive, error));
}

static ScarpDrive *drive_new(const ScarpConfig *config, ScarpImage *image,
                             GError **error)
{
    ScarpDescription d;
    ScarpDrive *drive;

    if (!describe(&d, config, image, error)) {
        return NULL;
    }
    drive = g_new0(ScarpDrive, 1);
    drive->d = d;
    drive->seed = config->seed;
    drive->random = config->seed * 2 + 1;
    drive->store_data = config->store_data;
    init_sizes(drive);
    if ((image && !scarp_image_fits(image, drive, error)) ||
        !memory_suffices(drive, error)) {
        g_free(drive);
        return NULL;
    }
    scarp_timing_init(drive);
    scarp_latency_init(drive);
    init_resources(drive);
    scarp_blocks_init(drive);
    drive->tx_chunks = g_ptr_array_new_with_free_func(scarp_table_free);
    drive->chunks = g_ptr_array_new_with_free_func(g_free);
    drive->free_data = g_ptr_array_new_with_free_func(g_free);
    if (!scarp_parity_init(drive, error) ||
        !init_tables(drive, image, error) ||
        !scarp_scheme_init(&drive->scheme, drive, config->scheme,
                           config->params, error) ||
        (image && !scarp_image_load_scheme(image, drive, error))) {
        scarp_drive_free(drive);
        return NULL;
    }
    return drive;
}

ScarpDrive *scarp_drive_new(const ScarpConfig *config, GError **error)
{
    ScarpImage *image = NULL;
    ScarpDrive *drive;

    if (config->image_path) {
        image = scarp_image_open(config->image_path, error);
        if (!image) {
            return NULL;
        }
    }
    drive = drive_new(config, image, error);
    scarp_image_close(image);
    return drive;
}

uint64_t scarp_drive_logical_bytes(const ScarpDrive *drive)
{
    return (uint64_t)drive->logical_units * drive->unit_bytes;
}

uint32_t scarp_drive_unit_bytes(const ScarpDrive *drive)
{
    return drive->unit_bytes;
}

const char *scarp_drive_scheme(const ScarpDrive *drive)
{
    return drive->scheme.name;
}

int64_t scarp_now_ns(const ScarpDrive *drive)
{
    return drive->now_ns;
}

int64_t scarp_next_event_ns(const ScarpDrive *drive)
{
    return scarp_events_next_ns(&drive->events);
}

/* Dies that something happened to look for work, in the order it happened. */
void scarp_work(ScarpDrive *drive)
{
    while (drive->n_kicked) {
        uint32_t die = drive->kicked[drive->first_kicked];

        drive->first_kicked = drive->first_kicked + 1 == drive->n_dies
                                  ? 0 : drive->first_kicked + 1;
        drive->n_kicked--;
        drive->die[die].kicked = false;
        scarp_die_work(drive, die);
    }
}

static void run_source(ScarpDrive *drive, uint32_t source)
{
    if (source < drive->d.channels) {
        scarp_channel_event(drive, source);
    } else if (source < scarp_timer_source(drive)) {
        scarp_die_event(drive, source - drive->d.channels);
    } else {
        scarp_timer_event(drive);
    }
}

static inline void run_next(ScarpDrive *drive)
{
    ScarpEvents *events = &drive->events;
    uint32_t head;

    drive->now_ns = scarp_events_next_ns(events);
    head = scarp_events_take(events);
    if (head < SCARP_EVENTS_LANES) {
        run_source(drive, scarp_events_lane_taken(events, head));
    } else if (head < SCARP_HEAD_TREE) {
        scarp_stage_event(drive, head - SCARP_HEAD_NEAR);
    } else {
        run_source(drive, scarp_events_tree_taken(events));
    }
    if (drive->n_kicked) {
        scarp_work(drive);
    }
#ifdef SCARP_CHECKED
    {
        g_autoptr(GError) error = NULL;

        if (!scarp_check(drive, &error)) {
            g_error("at %" G_GINT64_FORMAT " ns: %s", drive->now_ns,
                    error->message);
        }
    }
#endif
}

void scarp_run(ScarpDrive *drive, int64_t now_ns)
{
    g_assert(now_ns <= SCARP_TIME_LAST);
    while (scarp_events_until(&drive->events, now_ns)) {
        run_next(drive);
    }
    drive->now_ns = MAX(drive->now_ns, now_ns);
}

bool scarp_run_until_done(ScarpDrive *drive, int64_t limit_ns)
{
    limit_ns = MIN(limit_ns, SCARP_TIME_LAST);
    while (!drive->done.head && scarp_events_until(&drive->events, limit_ns)) {
        run_next(drive);
        /* All of one time, as scarp_run() would. */
        while (drive->done.head &&
               scarp_events_until(&drive->events, drive->now_ns)) {
            run_next(drive);
        }
    }
    return drive->done.head;
}

ScarpCmd *scarp_reap(ScarpDrive *drive)
{
    return scarp_cmd_pop(&drive->done);
}

bool scarp_is_mapped(const ScarpDrive *drive, uint64_t offset_bytes,
                     uint64_t length_bytes)
{
    uint64_t end = offset_bytes + length_bytes;

    for (uint64_t lpn = offset_bytes / drive->unit_bytes;
         lpn * drive->unit_bytes < end; lpn++) {
        if (drive->l2p[lpn] == SCARP_NONE && !scarp_buffer_find(drive, lpn)) {
            return false;
        }
    }
    return true;
}

void scarp_set_observer(ScarpDrive *drive, const ScarpObserver *observer)
{
    drive->observer = *observer;
}

bool scarp_quiescent(const ScarpDrive *drive, GError **error)
{
    const ScarpStats *stats = &drive->stats;
    uint32_t busy = 0;

    for (uint32_t i = 0; i < drive->n_dies; i++) {
        const ScarpDie *die = &drive->die[i];

        busy += die->current || die->suspended || die->n_reads ||
                die->n_programs || die->n_gc;
    }
    if (stats->cmds_accepted == stats->cmds_completed && !busy) {
        return true;
    }
    g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE,
                "accepted %" G_GUINT64_FORMAT " commands, completed %"
                G_GUINT64_FORMAT ", %u dies busy", stats->cmds_accepted,
                stats->cmds_completed, busy);
    return false;
}

static void run_all(ScarpDrive *drive)
{
    scarp_work(drive); /* the caller changed something between events */
    while (scarp_events_next_ns(&drive->events) != SCARP_TIME_NEVER) {
        scarp_run(drive, scarp_events_next_ns(&drive->events));
    }
}

static bool collects(const ScarpDrive *drive)
{
    for (uint32_t p = 0; p < drive->n_planes; p++) {
        if (drive->plane[p].gc.running) {
            return true;
        }
    }
    return false;
}

static bool parity_rests(const ScarpDrive *drive)
{
    return !drive->parity || scarp_parity_at_rest(drive);
}

bool scarp_drain(ScarpDrive *drive, GError **error)
{
    run_all(drive);
    /*
     * Twice: the first may leave a page open that the second fills, and what
     * it writes changes parities.
     */
    for (int i = 0; i < 2 && (drive->dirty_head || collects(drive) ||
                              !parity_rests(drive)); i++) {
        scarp_buffer_drain(drive, UINT64_MAX);
        if (drive->parity) {
            scarp_parity_drain(drive);
        }
        for (uint32_t p = 0; p < drive->n_planes; p++) {
            if (drive->plane[p].gc.running) {
                scarp_gc_allow(drive, &drive->plane[p].gc, UINT32_MAX);
            }
        }
        run_all(drive);
    }
    return scarp_at_rest(drive, error);
}

bool scarp_at_rest(const ScarpDrive *drive, GError **error)
{
    if (!scarp_quiescent(drive, error)) {
        return false;
    }
    if (!drive->dirty_head && !collects(drive) && !drive->n_kicked &&
        parity_rests(drive) &&
        scarp_events_next_ns(&drive->events) == SCARP_TIME_NEVER) {
        return true;
    }
    g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE,
                "the drive is not at rest: %s", drive->dirty_head
                    ? "its write buffer is not empty"
                    : !parity_rests(drive) ? "parity is not written"
                    : "it collects, or has work to do");
    return false;
}
