/*
 * The functions of core (time, events, addresses) that other directories of
 * ftl/ may call.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_CORE_OPS_H
#define SCARP_CORE_OPS_H

#include "core/mark.h"
#include "core/memory.h"
#include "random.h"
#include "core/visit.h"
#include "drive.h"

/* ---- Time and order ---------------------------------------------------- */

static inline int64_t scarp_time_ns(const ScarpDrive *drive)
{
    return drive->core.now_ns;
}

/*
 * Moves the clock on to time_ns. No event may be pending for an earlier time.
 */
static inline void scarp_time_set(ScarpDrive *drive, int64_t time_ns)
{
    drive->core.now_ns = time_ns;
}

/*
 * Returns how long the drive lived before its clock began: 0, unless the drive
 * comes from an image.
 */
static inline int64_t scarp_past_ns(const ScarpDrive *drive)
{
    return drive->core.past_ns;
}

/* Returns the drive's age: the time since it was new. */
static inline int64_t scarp_life_ns(const ScarpDrive *drive)
{
    return drive->core.past_ns + drive->core.now_ns;
}

/*
 * Returns the next sequence number. NVMe commands, flash commands and units are
 * numbered by one counter, so the lower of two numbers is always the older.
 */
static inline uint64_t scarp_next_seq(ScarpDrive *drive)
{
    return drive->core.next_seq++;
}

/*
 * Makes `seq` the next sequence number, unless the next one is higher already.
 */
static inline void scarp_seq_at_least(ScarpDrive *drive, uint64_t seq)
{
    drive->core.next_seq = MAX(drive->core.next_seq, seq);
}

/*
 * Returns the next sequence number without taking it. All numbers that were
 * given out are lower.
 */
static inline uint64_t scarp_seq_count(const ScarpDrive *drive)
{
    return drive->core.next_seq;
}

static inline uint64_t scarp_seed(const ScarpDrive *drive)
{
    return drive->core.seed;
}

/* Returns the next number of the random generator that policies share. */
static inline uint64_t scarp_policy_random(ScarpDrive *drive)
{
    return scarp_random(&drive->core.random);
}

static inline uint32_t scarp_policy_random_below(ScarpDrive *drive, uint64_t n)
{
    return scarp_random_below(&drive->core.random, n);
}

/*
 * Called when an invariant of the engine (a law) turns out to be broken. From
 * now on every command of the drive fails.
 */
static inline void scarp_law_broken(ScarpDrive *drive)
{
    drive->core.broken = true;
}

/*
 * Sets *error to "what where: is …, should be …" for a broken law (an
 * invariant), and returns false (core/law.c).
 */
bool scarp_law_differs(GError **error, const char *what, uint64_t where,
                       uint64_t is, uint64_t should);

static inline bool scarp_is_broken(const ScarpDrive *drive)
{
    return drive->core.broken;
}

/*
 * Returns the number of NVMe commands that were dispatched and have not ended.
 * hil keeps the count.
 */
static inline uint32_t scarp_in_device(const ScarpDrive *drive)
{
    return drive->core.in_device;
}

static inline void scarp_in_device_change(ScarpDrive *drive, int change)
{
    drive->core.in_device += change;
}

/*
 * Returns a drive of which only `desc`, `geo` and `store_data` are set. The
 * caller frees it with g_free().
 */
ScarpDrive *scarp_core_new(const ScarpDescription *desc,
                           const ScarpConfig *config);
bool scarp_core_init(ScarpDrive *drive, const ScarpConfig *config,
                     GError **error);
void scarp_core_clear(ScarpDrive *drive);
/*
 * Sets core's state to the values of an image. The image's state of the random
 * generator, `random`, is used only if the drive has the image's seed: with
 * another seed the user wants other random numbers.
 */
void scarp_core_load(ScarpDrive *drive, uint64_t life_ns, uint64_t next_seq,
                     uint64_t seed, uint64_t random);
/*
 * Called at a power cut, and at a Sanitize: copies the time, the sequence
 * numbers, the state of the random generator and the marks from the old drive
 * to the new drive that gets its flash. A broken drive stays broken.
 */
void scarp_core_hand_over(const ScarpDrive *from, ScarpDrive *to);
#ifdef SCARP_CHECKED
/*
 * Called once for each event. True if all invariants of the engine (laws) are
 * to be checked after this event.
 */
bool scarp_core_laws_due(ScarpDrive *drive);
#endif
/*
 * Returns the state of the policies' random generator, so that an image can
 * save it.
 */
uint64_t scarp_policy_random_state(const ScarpDrive *drive);

/* ---- Addresses ---------------------------------------------------------- */

static inline uint32_t scarp_bytes_lpn(const ScarpDrive *drive,
                                       uint64_t offset_bytes)
{
    return offset_bytes >> drive->geo.unit_shift;
}

static inline uint32_t scarp_ppn_block(const ScarpDrive *drive, uint32_t ppn)
{
    return scarp_divide(ppn, drive->geo.by_units_per_block);
}

static inline uint32_t scarp_block_ppn(const ScarpDrive *drive, uint32_t block)
{
    return block * drive->geo.units_per_block;
}

static inline uint32_t scarp_ppn_plane(const ScarpDrive *drive, uint32_t ppn)
{
    return scarp_divide(ppn, drive->geo.by_units_per_plane);
}

static inline uint32_t scarp_block_plane(const ScarpDrive *drive,
                                         uint32_t block)
{
    return scarp_divide(block, drive->geo.by_blocks_per_plane);
}

static inline uint32_t scarp_plane_die(const ScarpDrive *drive, uint32_t plane)
{
    return scarp_divide(plane, drive->geo.by_planes_per_die);
}

static inline uint32_t scarp_die_channel(const ScarpDrive *drive, uint32_t die)
{
    return scarp_divide(die, drive->geo.by_dies_per_channel);
}

/*
 * Returns the offset of ppn's page in its block. Commands of several planes can
 * run together only if their pages have the same offset.
 */
static inline uint32_t scarp_ppn_page(const ScarpDrive *drive, uint32_t ppn)
{
    return (ppn - scarp_block_ppn(drive, scarp_ppn_block(drive, ppn))) >>
           drive->geo.page_shift;
}

/*
 * Returns the first of the die's desc.planes_per_die planes, which have
 * consecutive numbers.
 */
static inline uint32_t scarp_die_plane(const ScarpDrive *drive, uint32_t die)
{
    return die * (uint32_t)drive->desc.planes_per_die;
}

/* ---- Events ------------------------------------------------------------- */

/*
 * Numbers of the sources of events: first the channels, then the dies, then a
 * timer for each axis of a scheme (each kind of policy). Stages of a host
 * command are near sources, which have numbers of their own.
 */
static inline uint32_t scarp_channel_source(uint32_t channel)
{
    return channel;
}

static inline uint32_t scarp_die_source(const ScarpDrive *drive, uint32_t die)
{
    return drive->desc.channels + die;
}

static inline uint32_t scarp_timer_source(const ScarpDrive *drive,
                                          ScarpAxis axis)
{
    return drive->desc.channels + drive->geo.n_dies + axis;
}

/*
 * Returns the source of the event that ends a hold. While a hold lasts, no
 * collection begins by itself.
 */
static inline uint32_t scarp_hold_source(const ScarpDrive *drive)
{
    return scarp_timer_source(drive, AXIS__COUNT);
}

/*
 * Returns the source of the event at which idle dies fold blocks of the SLC
 * cache. Only drives with an SLC cache have this source.
 */
static inline uint32_t scarp_fold_source(const ScarpDrive *drive)
{
    return scarp_hold_source(drive) + 1;
}

/*
 * Sets the time of the source's event, and replaces the event that the source
 * has. SCARP_TIME_NEVER removes the source's event.
 */
static inline void scarp_event_set(ScarpDrive *drive, uint32_t source,
                                   int64_t time_ns)
{
    scarp_events_set(&drive->core.events, source, time_ns);
}

/*
 * Sets the time of the source's event, and puts the event into a lane
 * (core/event.h): a list of events that mostly come in the order in which they
 * are set.
 */
static inline void scarp_event_set_lane(ScarpDrive *drive, uint32_t lane,
                                        uint32_t source, int64_t time_ns)
{
    scarp_events_set_lane(&drive->core.events, lane, source, time_ns);
}

static inline void scarp_event_set_near(ScarpDrive *drive, uint32_t near,
                                        int64_t time_ns)
{
    scarp_events_set_near(&drive->core.events, near, time_ns);
}

static inline int64_t scarp_event_next_ns(const ScarpDrive *drive)
{
    return scarp_events_next_ns(&drive->core.events);
}

/*
 * True when an event is due at time_ns or before. time_ns must not be
 * SCARP_TIME_NEVER.
 */
static inline bool scarp_event_until(const ScarpDrive *drive, int64_t time_ns)
{
    return scarp_events_until(&drive->core.events, time_ns);
}

/*
 * Takes the next event, which must exist, and sets the clock to its time.
 * Returns true if *source is a near source (a stage of host commands), and
 * false if *source is a channel, a die or a timer.
 */
static inline bool scarp_event_take(ScarpDrive *drive, uint32_t *source)
{
    ScarpEvents *events = &drive->core.events;
    uint32_t head;

    drive->core.now_ns = scarp_events_least(events) / SCARP_HEAD__COUNT;
    head = scarp_events_take(events);
    if (head < SCARP_EVENTS_LANES) {
        *source = scarp_events_lane_taken(events, head);
        return false;
    }
    if (head < SCARP_HEAD_TREE) {
        *source = head - SCARP_HEAD_NEAR;
        return true;
    }
    *source = scarp_events_tree_taken(events);
    return false;
}

/*
 * Sets the timer of a scheme's axis. The policy on this axis is called once, at
 * time_ns.
 */
static inline void scarp_timer_set(ScarpDrive *drive, ScarpAxis axis,
                                   int64_t time_ns)
{
    scarp_event_set(drive, scarp_timer_source(drive, axis), time_ns);
}

#endif /* SCARP_CORE_OPS_H */
