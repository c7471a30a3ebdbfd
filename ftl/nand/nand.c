/*
 * The queues of flash commands at each die, and the records of dies.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "nand/internal.h"

bool scarp_nand_init(ScarpDrive *drive,
                     const ScarpConfig *config G_GNUC_UNUSED,
                     GError **error G_GNUC_UNUSED)
{
    ScarpNand *nand = &drive->nand;
    uint32_t n = drive->geo.n_dies;

    scarp_timing_init(drive);
    scarp_pool_init(&nand->pool, sizeof(ScarpFlashCmd) +
                                     (drive->geo.part_causes
                                          ? SCARP_CACHE_LINE : 0));
    nand->channel = g_new0(ScarpChannel, drive->desc.channels);
    for (uint32_t c = 0; c < drive->desc.channels; c++) {
        for (int w = 0; w < WAIT__COUNT; w++) {
            nand->channel[c].wait[w].head = SCARP_NONE;
        }
    }
    nand->die = scarp_table_zeroed(n * sizeof(ScarpDie));
    nand->kicked = g_new(uint32_t, n);
    for (uint32_t i = 0; i < n; i++) {
        scarp_clock_init(&nand->die[i].clock, drive->geo.part_causes);
    }
    nand->plane = scarp_table_zeroed(drive->geo.n_planes *
                                     sizeof(ScarpNandPlane));
    if (drive->desc.paired_pages == PAIRED_PAD) {
        nand->unpaired = g_new(ScarpFlashQueue, drive->geo.n_planes);
    }
    for (uint32_t p = 0; p < drive->geo.n_planes; p++) {
        for (int q = 0; q < QUEUE__COUNT; q++) {
            scarp_flash_queue_init(&nand->plane[p].queue[q]);
        }
        if (nand->unpaired) {
            scarp_flash_queue_init(&nand->unpaired[p]);
        }
    }
    return true;
}

/*
 * Frees the data that reads of the group have sensed but not delivered. Called
 * when the drive is freed.
 */
static void free_sensed(ScarpFlashCmd *group)
{
    for (; group; group = group->mate) {
        g_free(group->data);
    }
}

void scarp_nand_clear(ScarpDrive *drive)
{
    ScarpNand *nand = &drive->nand;

    for (uint32_t i = 0; nand->die && i < drive->geo.n_dies; i++) {
        free_sensed(nand->die[i].current);
        free_sensed(nand->die[i].ahead);
    }
    scarp_nand_observe(drive, false);
    scarp_table_free(nand->plane);
    g_free(nand->unpaired);
    g_free(nand->kicked);
    g_free(nand->relieved);
    scarp_table_free(nand->die);
    g_free(nand->channel);
    scarp_pool_clear(&nand->pool);
    scarp_timing_clear(drive);
}

ScarpFlashCmd *scarp_flash_copy(ScarpDrive *drive, const ScarpFlashCmd *cmd)
{
    ScarpFlashCmd *copy = scarp_flash_new(drive, cmd->kind, cmd->owner,
                                          cmd->origin);
    uint64_t seq = copy->seq;

    *copy = *cmd;
    if (drive->geo.part_causes) {
        *scarp_account_parts(&copy->account) =
            *scarp_account_parts(&cmd->account);
    }
    copy->seq = seq;
    copy->next = copy->mate = NULL;
    return copy;
}

static ScarpQueueKind queue_kind(const ScarpFlashCmd *cmd)
{
    if (scarp_flash_is_gc(cmd)) {
        return QUEUE_GC;
    }
    if (cmd->kind == SCARP_FLASH_READ) {
        return QUEUE_READS;
    }
    return cmd->owner == OWNER_MAP ? QUEUE_MAP : QUEUE_PROGRAMS;
}

void scarp_nand_enqueue(ScarpDrive *drive, ScarpFlashCmd *cmd)
{
    uint32_t index = scarp_plane_die(drive, cmd->plane);
    ScarpDie *die = &drive->nand.die[index];
    ScarpQueueKind kind = queue_kind(cmd);
    ScarpFlashQueue *queue = &drive->nand.plane[cmd->plane].queue[kind];

    die->queued[kind]++;
    if (kind == QUEUE_GC) {
        die->guests += cmd->guest;
    } else {
        scarp_account_wait(&cmd->account, &die->clock, scarp_time_ns(drive));
    }
    scarp_account_begin(&cmd->account, scarp_time_ns(drive));
    cmd->next = NULL;
    *queue->tail = cmd;
    queue->tail = &cmd->next;
    scarp_nand_kick(drive, index);
}

void scarp_nand_enqueue_by_age(ScarpDrive *drive, ScarpFlashCmd *cmd)
{
    ScarpFlashQueue *queue =
        &drive->nand.plane[cmd->plane].queue[queue_kind(cmd)];
    ScarpFlashCmd **link = &queue->head, **tail = queue->tail, *younger;

    while (*link && (*link)->seq < cmd->seq) {
        link = &(*link)->next;
    }
    younger = *link;
    if (!younger) {
        scarp_nand_enqueue(drive, cmd);
        return;
    }
    queue->tail = link;
    scarp_nand_enqueue(drive, cmd);
    cmd->next = younger;
    queue->tail = tail;
}

void scarp_nand_enqueue_moved(ScarpDrive *drive, ScarpFlashCmd *read)
{
    if (scarp_turn_may_pass_own(drive, PASS_RETRIES, &read->retries)) {
        scarp_nand_enqueue(drive, read);
    } else {
        scarp_mark(drive, moved_read_goes_first);
        scarp_nand_enqueue_by_age(drive, read);
    }
}

bool scarp_nand_note_relief(ScarpDrive *drive)
{
    bool begins = !drive->nand.relieved;

    if (begins) {
        drive->nand.relieved = g_new(uint32_t, drive->geo.n_dies);
    }
    return begins;
}

static ScarpFlashCmd *dequeue(ScarpDrive *drive, ScarpFlashQueue *queue,
                              ScarpFlashCmd **link, ScarpQueueKind kind)
{
    ScarpFlashCmd *cmd = *link;
    uint32_t index = scarp_plane_die(drive, cmd->plane);
    ScarpDie *die = &drive->nand.die[index];

    *link = cmd->next;
    if (!*link) {
        queue->tail = link;
    }
    die->queued[kind]--;
    if (kind == QUEUE_GC) {
        die->guests -= cmd->guest;
    }
    cmd->next = NULL;
    scarp_nand_relieved(drive, index);
    return cmd;
}

ScarpFlashCmd *scarp_nand_dequeue(ScarpDrive *drive, ScarpFlashQueue *queue,
                                  ScarpFlashCmd **link)
{
    return dequeue(drive, queue, link, queue_kind(*link));
}

ScarpFlashCmd *scarp_nand_take(ScarpDrive *drive, const ScarpFlashCmd *cmd,
                               ScarpQueueKind kind)
{
    ScarpFlashQueue *queue = scarp_nand_queue(drive, cmd->plane, kind);

    return dequeue(drive, queue, &queue->head, kind);
}

uint64_t scarp_nand_oldest(const ScarpDrive *drive, uint32_t die,
                           unsigned kinds)
{
    uint32_t first = scarp_die_plane(drive, die);
    uint64_t oldest = SCARP_NOBODY;

    for (uint32_t p = first; p < first + drive->desc.planes_per_die; p++) {
        for (int kind = 0; kind < QUEUE__COUNT; kind++) {
            const ScarpFlashCmd *head = scarp_nand_head(drive, p, kind);

            if (head && kinds >> kind & 1) {
                oldest = MIN(oldest, head->seq);
            }
        }
    }
    return oldest;
}

int64_t scarp_nand_busy_ns(const ScarpDrive *drive, uint32_t index,
                           int64_t one_ns)
{
    const ScarpDie *die = &drive->nand.die[index];

    if (!die->current) {
        return 0;
    }
    return die->phase == PHASE_ARRAY ? die->array_end_ns - scarp_time_ns(drive)
                                     : one_ns;
}

bool scarp_nand_erasing(const ScarpDrive *drive, uint32_t index,
                        int64_t *left_ns)
{
    const ScarpDie *die = &drive->nand.die[index];

    if (!die->current || die->current->kind != SCARP_FLASH_ERASE ||
        die->phase != PHASE_ARRAY) {
        return false;
    }
    *left_ns = die->array_end_ns - scarp_time_ns(drive);
    return true;
}

/* ---- Phases for observers --- ------------------------------------------- */

void scarp_nand_observe(ScarpDrive *drive, bool on)
{
    if (on && !drive->nand.seen) {
        drive->nand.seen = g_array_new(false, false, sizeof(ScarpSeenPhase));
    } else if (!on) {
        g_clear_pointer(&drive->nand.seen, g_array_unref);
    }
}

void scarp_see_phase(ScarpDrive *drive, const ScarpFlashCmd *group,
                     const ScarpFlashCmd *cmd, ScarpFlashPhase phase,
                     int64_t begin_ns, int64_t end_ns)
{
    ScarpSeenPhase seen = {
        .cmd = cmd, .begin_ns = begin_ns, .end_ns = end_ns, .phase = phase,
        .multiplane = group->mate != NULL,
    };

    g_array_append_val(drive->nand.seen, seen);
}

const ScarpFlashCmd *scarp_nand_phase(const ScarpDrive *drive, unsigned i,
                                      ScarpFlashOp *op)
{
    const ScarpSeenPhase *seen;
    const ScarpFlashCmd *cmd;
    uint32_t die;

    if (i >= drive->nand.seen->len) {
        return NULL;
    }
    seen = &g_array_index(drive->nand.seen, ScarpSeenPhase, i);
    cmd = seen->cmd;
    die = scarp_plane_die(drive, cmd->plane);
    *op = (ScarpFlashOp) {
        .begin_ns = seen->begin_ns, .end_ns = seen->end_ns, .die = die,
        .plane = cmd->plane, .channel = scarp_die_channel(drive, die),
        .block = scarp_ppn_block(drive, cmd->ppn),
        .page = scarp_ppn_page(drive, cmd->ppn),
        .kind = cmd->kind, .phase = seen->phase, .origin = cmd->origin,
        .multiplane = seen->multiplane,
    };
    return cmd;
}

void scarp_nand_forget_phases(ScarpDrive *drive)
{
    g_array_set_size(drive->nand.seen, 0);
}
