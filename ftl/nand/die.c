/*
 * Dies: the phases of a flash command, its multi-plane mates, the cache
 * register behind it, and what a die does while others wait.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "drive.h"

static bool is_host(const ScarpTx *tx)
{
    return tx->origin == SCARP_ORIGIN_HOST;
}

static int64_t transfer_ns(const ScarpDrive *drive, uint64_t bytes)
{
    if (bytes == drive->d.page_bytes) {
        return drive->page_transfer_ns;
    }
    return (bytes * 1000 + drive->d.channel_mts - 1) / drive->d.channel_mts;
}

/* ---- What the die does, and for how long ------------------------------ */

static void set_activity(ScarpDrive *drive, ScarpDie *die, DieActivity now)
{
    die->spent_ns[die->activity] += drive->now_ns - die->since_ns;
    die->since_ns = drive->now_ns;
    die->activity = now;
}

static void array_ends(ScarpDrive *drive, uint32_t index, TxKind kind,
                       int64_t end_ns)
{
    uint32_t source = scarp_die_source(drive, index);

    if (kind == TX_ERASE) {
        /* Rare, and so long that programs would end before it. */
        scarp_events_set(&drive->events, source, end_ns);
        return;
    }
    scarp_events_set_lane(&drive->events,
                          kind == TX_READ ? SCARP_LANE_READ
                                          : SCARP_LANE_PROGRAM,
                          source, end_ns);
}

static DieActivity activity_of(const ScarpTx *tx)
{
    switch (tx->kind) {
    case TX_READ:
        return is_host(tx) ? DIE_HOST_READ : DIE_GC_READ;
    case TX_ERASE:
        return DIE_ERASE;
    default:
        return is_host(tx) ? DIE_HOST_PROGRAM : DIE_GC_PROGRAM;
    }
}

G_STATIC_ASSERT(SCARP_CAUSE_DIE_HOST_READ + DIE_IDLE == SCARP_CAUSE_NO_SPACE);
G_STATIC_ASSERT(SCARP_CAUSE_CHANNEL + OWN_TRANSFER == SCARP_CAUSE_TRANSFER);

/*
 * What the die did since tx was queued is what it waited for.  What it has
 * done since since_ns is added to tx alone: several numbers that are loaded at
 * once, right after one of them was stored, wait for that store.
 */
void scarp_tx_account(ScarpDrive *drive, ScarpTx *tx)
{
    const ScarpDie *die = &drive->die[scarp_plane_die(drive, tx->plane)];

    for (int i = 0; i < DIE_ACTIVITY__COUNT; i++) {
        tx->waited_ns[i] += die->spent_ns[i];
    }
    tx->waited_ns[die->activity] += drive->now_ns - die->since_ns;
    tx->mark_ns = drive->now_ns;
}

int64_t scarp_tx_explain(const ScarpTx *tx, ScarpCmd *cmd)
{
    int64_t *waited_ns = &cmd->cause_ns[SCARP_CAUSE_DIE_HOST_READ];
    int64_t *own_ns = &cmd->cause_ns[SCARP_CAUSE_CHANNEL];
    int64_t sum = tx->waited_ns[DIE_SUSPEND] + tx->own_ns[OWN_SUSPENDED];

    cmd->cause_ns[SCARP_CAUSE_DIE_SUSPEND] += tx->waited_ns[DIE_SUSPEND];
    cmd->cause_ns[SCARP_CAUSE_SUSPENDED] += tx->own_ns[OWN_SUSPENDED];
    for (int i = 0; i < DIE_SUSPEND; i++) {
        waited_ns[i] += tx->waited_ns[i];
        sum += tx->waited_ns[i];
    }
    for (int i = 0; i < OWN_SUSPENDED; i++) {
        own_ns[i] += tx->own_ns[i];
        sum += tx->own_ns[i];
    }
    return sum;
}

static void account(ScarpTx *tx, OwnCause cause, int64_t until_ns)
{
    tx->own_ns[cause] += until_ns - tx->mark_ns;
    tx->mark_ns = until_ns;
}

static void rest(ScarpDrive *drive, uint32_t index)
{
    ScarpDie *die = &drive->die[index];
    bool held = die->gc_jobs &&
                drive->scheme.pacing->turn(drive, index) == TURN_HELD;

    set_activity(drive, die, held ? DIE_GC_HELD : DIE_IDLE);
}

/* ---- Starting --------------------------------------------------------- */

void scarp_tx_enqueue(ScarpDrive *drive, ScarpTx *tx)
{
    ScarpPlane *plane = &drive->plane[tx->plane];
    uint32_t index = scarp_plane_die(drive, tx->plane);
    ScarpDie *die = &drive->die[index];
    TxQueue *queue;

    if (!is_host(tx)) {
        queue = &plane->gc_queue;
        die->n_gc++;
    } else {
        if (tx->kind == TX_READ) {
            queue = &plane->reads;
            die->n_reads++;
        } else {
            queue = &plane->programs;
            die->n_programs++;
        }
        for (int i = 0; i < DIE_ACTIVITY__COUNT; i++) {
            tx->waited_ns[i] -= die->spent_ns[i];
        }
        tx->waited_ns[die->activity] -= drive->now_ns - die->since_ns;
    }
    tx->mark_ns = drive->now_ns;
    tx->next = NULL;
    *queue->tail = tx;
    queue->tail = &tx->next;
    scarp_die_kick(drive, index);
}

/* One that takes as long: the tables of times are not near. */
static uint32_t page_in_time(const ScarpDrive *drive, uint32_t ppn)
{
    return drive->pages_alike ? 0 : scarp_ppn_page(drive, ppn);
}

static int64_t array_ns(const ScarpDrive *drive, const ScarpTx *group)
{
    int64_t longest = 0;

    for (const ScarpTx *tx = group; tx; tx = tx->mate) {
        uint32_t page = page_in_time(drive, tx->ppn);
        int64_t ns;

        switch (tx->kind) {
        case TX_READ:
            ns = drive->read_ns_of[page];
            break;
        case TX_PROGRAM:
            ns = drive->program_ns_of[page];
            break;
        case TX_COPYBACK:
            ns = drive->read_ns_of[page_in_time(drive,
                                                tx->units->source_ppn)] +
                 drive->d.command_ns + drive->program_ns_of[page];
            break;
        default:
            ns = drive->d.erase_ns;
            break;
        }
        longest = MAX(longest, ns);
    }
    return longest;
}

/* Chosen, and with its mates: from now on they share their times. */
static void begin(ScarpDrive *drive, uint32_t index, ScarpTx *lead)
{
    if (!is_host(lead)) {
        lead->aligned = lead->kind == TX_PROGRAM &&
                        drive->scheme.merge->aligned &&
                        drive->scheme.merge->aligned(drive, lead);
        scarp_gc_tx_started(drive, lead);
    }
    if (drive->scheme.merge->may) {
        scarp_sched_join(drive, index, lead);
    }
    for (ScarpTx *tx = lead; tx; tx = tx->mate) {
        tx->begin_ns = tx->mark_ns = drive->now_ns;
    }
    drive->stats.multiplane_groups += lead->mate != NULL;
}

static void try_ahead(ScarpDrive *drive, uint32_t index)
{
    ScarpDie *die = &drive->die[index];
    ScarpTx *tx;

    if (!drive->d.cache || die->ahead || die->suspended ||
        !(die->n_reads + die->n_programs + die->n_gc)) {
        return;
    }
    if (die->current->kind == TX_READ) {
        tx = scarp_sched_pick(drive, index, PICK_READ);
    } else if (die->current->kind == TX_PROGRAM) {
        tx = scarp_sched_pick(drive, index, PICK_PROGRAM);
    } else {
        return;
    }
    if (tx) {
        begin(drive, index, tx);
        die->ahead = tx;
        die->ahead_ready_ns = SCARP_TIME_NEVER;
        scarp_channel_request(drive, index * 2 + 1);
    }
}

static void array_until(ScarpDrive *drive, uint32_t index, int64_t end_ns)
{
    ScarpDie *die = &drive->die[index];

    die->phase = PHASE_ARRAY;
    die->array_end_ns = end_ns;
    array_ends(drive, index, die->current->kind, end_ns);
    /* Reads that came before it could be suspended look once more. */
    if (die->n_reads && (drive->d.suspend_program || drive->d.suspend_erase)) {
        scarp_die_kick(drive, index);
    }
}

static void grant_command(ScarpDrive *drive, uint32_t index, bool ahead)
{
    ScarpDie *die = &drive->die[index];
    ScarpTx *group = ahead ? die->ahead : die->current;
    int64_t bus_end_ns = drive->now_ns;
    int64_t ns = array_ns(drive, group), end_ns;

    for (ScarpTx *tx = group; tx; tx = tx->mate) {
        int64_t begin_ns = bus_end_ns;

        bus_end_ns += drive->d.command_ns;
        if (tx->kind == TX_PROGRAM) {
            bus_end_ns += drive->page_transfer_ns;
        }
        if (drive->observer.flash_phase) {
            scarp_observe(drive, group, tx, SCARP_PHASE_IN, begin_ns,
                          bus_end_ns);
        }
    }
    drive->channel[scarp_die_channel(drive, index)].free_ns = bus_end_ns;
    end_ns = bus_end_ns + ns;
    for (ScarpTx *tx = group; tx; tx = tx->mate) {
        account(tx, OWN_CHANNEL, drive->now_ns);
        account(tx, OWN_TRANSFER, bus_end_ns);
        if (!ahead || tx->kind == TX_READ) {
            account(tx, OWN_ARRAY, end_ns);
        }
    }
    if (ahead) {
        die->ahead_ready_ns = group->kind == TX_READ ? end_ns : bus_end_ns;
        return;
    }
    die->array_begin_ns = bus_end_ns;
    array_until(drive, index, end_ns);
    if (group->kind == TX_PROGRAM) {
        try_ahead(drive, index);
    }
}

static void grant_out(ScarpDrive *drive, uint32_t index)
{
    ScarpDie *die = &drive->die[index];
    int64_t at_ns = drive->now_ns;

    for (ScarpTx *tx = die->current; tx; tx = tx->mate) {
        account(tx, OWN_CHANNEL, at_ns);
        at_ns += transfer_ns(drive, tx->bytes);
        account(tx, OWN_TRANSFER, at_ns);
        if (drive->observer.flash_phase) {
            scarp_observe(drive, die->current, tx, SCARP_PHASE_OUT,
                          at_ns - transfer_ns(drive, tx->bytes), at_ns);
        }
    }
    drive->channel[scarp_die_channel(drive, index)].free_ns = at_ns;
    die->phase = PHASE_OUT;
    scarp_events_set_lane(&drive->events, SCARP_LANE_OUT,
                          scarp_die_source(drive, index),
                          die->current->mark_ns);
}

void scarp_channel_granted(ScarpDrive *drive, uint32_t waiter)
{
    ScarpDie *die = &drive->die[waiter / 2];

    /* A waiter from behind may have become current meanwhile. */
    if (waiter % 2 && die->ahead) {
        grant_command(drive, waiter / 2, true);
    } else if (die->phase == PHASE_OUT_WAIT) {
        grant_out(drive, waiter / 2);
    } else {
        grant_command(drive, waiter / 2, false);
    }
}

/* The array time of current, up to until_ns. */
static void observe_array(ScarpDrive *drive, const ScarpDie *die,
                          int64_t until_ns)
{
    if (drive->observer.flash_phase && until_ns > die->array_begin_ns) {
        for (const ScarpTx *tx = die->current; tx; tx = tx->mate) {
            scarp_observe(drive, die->current, tx, SCARP_PHASE_ARRAY,
                          die->array_begin_ns, until_ns);
        }
    }
}

/* ---- Suspend and resume ----------------------------------------------- */

static bool may_suspend(const ScarpDrive *drive, const ScarpDie *die)
{
    const ScarpDescription *d = &drive->d;
    TxKind kind = die->current->kind;
    int64_t at_ns = MAX(drive->now_ns, die->array_begin_ns);

    return ((kind == TX_PROGRAM && d->suspend_program) ||
            (kind == TX_ERASE && d->suspend_erase)) &&
           die->phase == PHASE_ARRAY && die->n_reads && !die->ahead &&
           die->array_end_ns - at_ns >=
               (int64_t)MAX(d->suspend_min_ns, 1) &&
           die->suspends < d->suspend_limit;
}

static void suspend(ScarpDrive *drive, uint32_t index)
{
    ScarpDie *die = &drive->die[index];
    /* Not before the array has begun to work. */
    int64_t at_ns = MAX(drive->now_ns, die->array_begin_ns);

    observe_array(drive, die, at_ns);
    die->suspended = die->current;
    die->suspended_left_ns = die->array_end_ns - at_ns;
    die->current = NULL;
    die->suspends++;
    drive->stats.suspends++;
    for (ScarpTx *tx = die->suspended; tx; tx = tx->mate) {
        account(tx, OWN_ARRAY, at_ns);
    }
    set_activity(drive, die, DIE_SUSPEND);
    die->phase = PHASE_SUSPEND;
    scarp_events_set(&drive->events, scarp_die_source(drive, index),
                     at_ns + drive->d.suspend_ns);
}

static void resume(ScarpDrive *drive, uint32_t index)
{
    ScarpDie *die = &drive->die[index];

    die->current = die->suspended;
    die->suspended = NULL;
    die->array_begin_ns = drive->now_ns + drive->d.resume_ns;
    set_activity(drive, die, activity_of(die->current));
    for (ScarpTx *tx = die->current; tx; tx = tx->mate) {
        account(tx, OWN_SUSPENDED, die->array_begin_ns);
        account(tx, OWN_ARRAY,
                die->array_begin_ns + die->suspended_left_ns);
    }
    array_until(drive, index, die->array_begin_ns + die->suspended_left_ns);
}

void scarp_die_work(ScarpDrive *drive, uint32_t index)
{
    ScarpDie *die = &drive->die[index];
    ScarpTx *tx;

    if (die->current) {
        if (may_suspend(drive, die)) {
            suspend(drive, index);
        } else if (die->phase == PHASE_ARRAY &&
                   die->current->kind == TX_PROGRAM) {
            try_ahead(drive, index);
        }
        return;
    }
    if (die->phase == PHASE_SUSPEND) {
        return;
    }
    tx = scarp_sched_pick(drive, index, PICK_ANY);
    if (tx) {
        begin(drive, index, tx);
        die->current = tx;
        set_activity(drive, die, activity_of(tx));
        die->phase = PHASE_COMMAND;
        scarp_channel_request(drive, index * 2);
    } else if (die->suspended) {
        resume(drive, index);
    } else {
        rest(drive, index);
    }
}

/* ---- Ending ----------------------------------------------------------- */

static void end_tx(ScarpDrive *drive, ScarpTx *tx, uint32_t index)
{
    ScarpDie *die = &drive->die[index];

    if (drive->scheme.place->flash_done) {
        drive->scheme.place->flash_done(drive, tx);
    }
    tx->mate = NULL;
    if (!is_host(tx)) {
        scarp_gc_tx_done(drive, tx);
        return;
    }
    if (die->gc_begun && !drive->plane[tx->plane].gc.begun) {
        drive->stats.gc_shared_ns += drive->now_ns -
                                     MAX(tx->begin_ns, die->window_ns);
    }
    if (drive->scheme.pacing->host_done) {
        drive->scheme.pacing->host_done(drive, index, tx);
    }
    if (tx->kind == TX_READ) {
        scarp_read_done(drive, tx);
    } else {
        scarp_buffer_tx_done(drive, tx);
    }
}

static void sensed(ScarpDrive *drive, uint32_t index)
{
    observe_array(drive, &drive->die[index], drive->now_ns);
    /* The next command goes first, or the array would stand still. */
    try_ahead(drive, index);
    drive->die[index].phase = PHASE_OUT_WAIT;
    scarp_channel_request(drive, index * 2);
}

/* The command behind becomes the current one. */
static void promote(ScarpDrive *drive, uint32_t index)
{
    ScarpDie *die = &drive->die[index];
    ScarpTx *group = die->ahead;
    int64_t ready_ns = die->ahead_ready_ns;
    DieActivity before = die->activity;

    die->current = group;
    die->ahead = NULL;
    set_activity(drive, die, activity_of(group));
    if (ready_ns == SCARP_TIME_NEVER) {
        die->phase = PHASE_COMMAND;
        return;
    }
    if (ready_ns < drive->now_ns) {
        for (ScarpTx *tx = group; tx; tx = tx->mate) {
            tx->waited_ns[before] += drive->now_ns - tx->mark_ns;
            tx->mark_ns = drive->now_ns;
        }
    }
    if (group->kind == TX_READ) {
        die->array_begin_ns = ready_ns - array_ns(drive, group);
        if (ready_ns > drive->now_ns) {
            array_until(drive, index, ready_ns);
        } else {
            die->array_end_ns = ready_ns;
            sensed(drive, index);
        }
        return;
    }
    die->array_begin_ns = MAX(ready_ns, drive->now_ns);
    for (ScarpTx *tx = group; tx; tx = tx->mate) {
        account(tx, OWN_ARRAY,
                die->array_begin_ns + array_ns(drive, group));
    }
    array_until(drive, index, die->array_begin_ns + array_ns(drive, group));
    try_ahead(drive, index);
}

static void all_ended(ScarpDrive *drive, uint32_t index)
{
    ScarpDie *die = &drive->die[index];

    die->phase = PHASE_IDLE;
    if (die->ahead) {
        promote(drive, index);
    } else {
        scarp_die_kick(drive, index); /* it rests when there is no work */
    }
}

void scarp_die_event(ScarpDrive *drive, uint32_t index)
{
    ScarpDie *die = &drive->die[index];
    ScarpTx *tx = die->current, *mate;
    bool multiplane = tx && tx->mate;

    if (die->phase == PHASE_SUSPEND) {
        die->phase = PHASE_IDLE;
        scarp_die_kick(drive, index);
        return;
    }
    if (die->phase == PHASE_ARRAY && tx->kind == TX_READ) {
        sensed(drive, index);
        return;
    }
    if (die->phase == PHASE_OUT && multiplane) {
        die->current = tx->mate;
        scarp_events_set_lane(&drive->events, SCARP_LANE_OUT,
                              scarp_die_source(drive, index),
                              die->current->mark_ns);
        end_tx(drive, tx, index);
        return;
    }
    if (!die->suspended) {
        die->suspends = 0;
    }
    if (die->phase == PHASE_ARRAY) {
        observe_array(drive, die, drive->now_ns);
    }
    die->current = NULL;
    for (; tx; tx = mate) {
        mate = tx->mate;
        end_tx(drive, tx, index);
    }
    all_ended(drive, index);
}
