/*
 * The functions of nand (dies and channels) that other directories of ftl/ may
 * call.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_NAND_OPS_H
#define SCARP_NAND_OPS_H

#include "causes/ops.h"
#include "turns/ops.h"

bool scarp_nand_init(ScarpDrive *drive, const ScarpConfig *config,
                     GError **error);
void scarp_nand_clear(ScarpDrive *drive);

/* ---- Flash commands ----------------------------------------------------- */

/*
 * Makes a flash command. The owner (the directory of ftl/ that needs the
 * command) fills it in and queues it. When the command has ended, the owner is
 * called and frees it.
 */
static inline ScarpFlashCmd *scarp_flash_new(ScarpDrive *drive,
                                             ScarpFlashKind kind,
                                             ScarpOwner owner,
                                             ScarpOrigin origin)
{
    ScarpFlashCmd *cmd = scarp_pool_take(&drive->nand.pool);

    scarp_clear(cmd, offsetof(ScarpFlashCmd, account));
    /*
     * Only commands that a host command may wait for have an account of what
     * they spend their time on. Commands of GC and recovery need no account.
     */
    scarp_account_init(&cmd->account, owner < OWNER_GC,
                       drive->geo.part_causes);
    cmd->kind = kind;
    cmd->owner = owner;
    cmd->origin = origin;
    cmd->seq = scarp_next_seq(drive);
    return cmd;
}

static inline void scarp_flash_free(ScarpDrive *drive, ScarpFlashCmd *cmd)
{
    scarp_pool_give(&drive->nand.pool, cmd);
}

/* Sets the command's plane and page, and how many bytes cross the channel. */
static inline void scarp_flash_set_target(ScarpFlashCmd *cmd, uint32_t plane,
                                          uint32_t ppn, uint32_t bytes)
{
    cmd->plane = plane;
    cmd->ppn = ppn;
    cmd->bytes = bytes;
}

/*
 * Sets the object for which the owner makes the command. For OWNER_READ the
 * object is the host's command.
 */
static inline void scarp_flash_set_subject(ScarpFlashCmd *cmd, void *subject)
{
    cmd->subject = subject;
}

static inline void scarp_flash_set_units(ScarpFlashCmd *cmd, ScarpUnit *units,
                                         uint32_t n)
{
    cmd->units = units;
    cmd->n_units = n;
}

/* Sets the LPNs that a read expects at its page: `n` units from `lpn` on. */
static inline void scarp_flash_set_lpn(ScarpFlashCmd *cmd, uint32_t lpn,
                                       uint32_t n)
{
    cmd->lpn = lpn;
    cmd->n_units = n;
}

/* Extends a read by the unit that follows it in the same page. */
static inline void scarp_flash_extend(ScarpFlashCmd *cmd, uint32_t bytes)
{
    cmd->n_units++;
    cmd->bytes += bytes;
}

static inline void scarp_flash_set_data(ScarpFlashCmd *cmd, void *data)
{
    cmd->data = data;
}

static inline void scarp_flash_set_direct(ScarpFlashCmd *cmd)
{
    cmd->direct = true;
}

/*
 * Sets the page that a copyback senses. scarp_flash_set_ppn() sets the page
 * that it programs.
 */
static inline void scarp_flash_set_source(ScarpFlashCmd *cmd, uint32_t ppn)
{
    cmd->source_ppn = ppn;
}

static inline void scarp_flash_set_aligned(ScarpFlashCmd *cmd, bool aligned)
{
    cmd->aligned = aligned;
}

/*
 * Marks a GC program as a guest: its victim is on another die than its page, so
 * it belongs to no collection of the die that programs it.
 */
static inline void scarp_flash_set_guest(ScarpFlashCmd *cmd)
{
    cmd->guest = true;
}

/* Notes whether the plane keeps a free page for the command until it starts. */
static inline void scarp_flash_set_promised(ScarpFlashCmd *cmd, bool promised)
{
    cmd->promised = promised;
}

/*
 * Sets the page to be programmed, which is chosen only when the command starts.
 */
static inline void scarp_flash_set_ppn(ScarpFlashCmd *cmd, uint32_t ppn)
{
    cmd->ppn = ppn;
}

/*
 * Returns a copy of a read, for a part of its units. The copy is in no queue.
 */
ScarpFlashCmd *scarp_flash_copy(ScarpDrive *drive, const ScarpFlashCmd *cmd);

static inline ScarpFlashKind scarp_flash_kind(const ScarpFlashCmd *cmd)
{
    return cmd->kind;
}

static inline ScarpOwner scarp_flash_owner(const ScarpFlashCmd *cmd)
{
    return cmd->owner;
}

static inline bool scarp_flash_is_gc(const ScarpFlashCmd *cmd)
{
    return cmd->owner == OWNER_GC;
}

static inline ScarpOrigin scarp_flash_origin(const ScarpFlashCmd *cmd)
{
    return cmd->origin;
}

static inline void *scarp_flash_subject(const ScarpFlashCmd *cmd)
{
    return cmd->subject;
}

static inline ScarpUnit *scarp_flash_units(const ScarpFlashCmd *cmd)
{
    return cmd->units;
}

static inline void *scarp_flash_data(const ScarpFlashCmd *cmd)
{
    return cmd->data;
}

static inline uint64_t scarp_flash_seq(const ScarpFlashCmd *cmd)
{
    return cmd->seq;
}

static inline uint32_t scarp_flash_plane(const ScarpFlashCmd *cmd)
{
    return cmd->plane;
}

static inline uint32_t scarp_flash_ppn(const ScarpFlashCmd *cmd)
{
    return cmd->ppn;
}

static inline uint32_t scarp_flash_lpn(const ScarpFlashCmd *cmd)
{
    return cmd->lpn;
}

static inline uint32_t scarp_flash_n_units(const ScarpFlashCmd *cmd)
{
    return cmd->n_units;
}

static inline uint32_t scarp_flash_bytes(const ScarpFlashCmd *cmd)
{
    return cmd->bytes;
}

static inline bool scarp_flash_aligned(const ScarpFlashCmd *cmd)
{
    return cmd->aligned;
}

static inline bool scarp_flash_promised(const ScarpFlashCmd *cmd)
{
    return G_UNLIKELY(cmd->promised);
}

static inline bool scarp_flash_direct(const ScarpFlashCmd *cmd)
{
    return cmd->direct;
}

static inline int64_t scarp_flash_begin_ns(const ScarpFlashCmd *cmd)
{
    return cmd->begin_ns;
}

/* Returns the account of what the command waited for and spent its time on. */
static inline ScarpAccount *scarp_flash_account(ScarpFlashCmd *cmd)
{
    return &cmd->account;
}

/* Makes an empty list for flash commands that are in no queue of a plane. */
static inline void scarp_flash_queue_init(ScarpFlashQueue *queue)
{
    *queue = (ScarpFlashQueue) { .tail = &queue->head };
}

static inline void scarp_flash_push(ScarpFlashQueue *queue, ScarpFlashCmd *cmd)
{
    cmd->next = NULL;
    *queue->tail = cmd;
    queue->tail = &cmd->next;
}

/* Removes and returns the list's first command; NULL: the list is empty. */
static inline ScarpFlashCmd *scarp_flash_pop(ScarpFlashQueue *queue)
{
    ScarpFlashCmd *cmd = queue->head;

    if (cmd) {
        queue->head = cmd->next;
        queue->tail = queue->head ? queue->tail : &queue->head;
    }
    return cmd;
}

/* ---- Queues of a die ---- ----------------------------------------------- */

/* Lets the die look for work when the present event has been handled. */
static inline void scarp_nand_kick(ScarpDrive *drive, uint32_t die)
{
    ScarpNand *nand = &drive->nand;

    if (!nand->die[die].kicked) {
        uint32_t at = nand->first_kicked + nand->n_kicked++;

        nand->die[die].kicked = true;
        nand->kicked[at < drive->geo.n_dies ? at : at - drive->geo.n_dies] =
            die;
    }
}

static inline bool scarp_nand_any_kicked(const ScarpDrive *drive)
{
    return drive->nand.n_kicked;
}

/*
 * Takes the die that was kicked first off the list of kicked dies, and returns
 * it.
 */
static inline uint32_t scarp_nand_next_kicked(ScarpDrive *drive)
{
    ScarpNand *nand = &drive->nand;
    uint32_t die = nand->kicked[nand->first_kicked];

    nand->first_kicked = nand->first_kicked + 1 == drive->geo.n_dies
                             ? 0 : nand->first_kicked + 1;
    nand->n_kicked--;
    nand->die[die].kicked = false;
    return die;
}

/*
 * Lets nand note which dies may have less to do, or more free blocks, than
 * before. Write allocation then looks at these dies alone. Returns true if
 * nothing was noted until now, so that any die may have changed.
 */
bool scarp_nand_note_relief(ScarpDrive *drive);

/* Notes the die, if nand notes dies at all. */
static inline void scarp_nand_relieved(ScarpDrive *drive, uint32_t die)
{
    ScarpNand *nand = &drive->nand;

    if (G_UNLIKELY(nand->relieved) && !nand->die[die].relieved) {
        nand->die[die].relieved = true;
        nand->relieved[nand->n_relieved++] = die;
    }
}

/*
 * Takes a die off the list of relieved dies, and returns the die. SCARP_NONE:
 * the list is empty.
 */
static inline uint32_t scarp_nand_next_relieved(ScarpDrive *drive)
{
    ScarpNand *nand = &drive->nand;
    uint32_t die;

    if (!nand->n_relieved) {
        return SCARP_NONE;
    }
    die = nand->relieved[--nand->n_relieved];
    nand->die[die].relieved = false;
    return die;
}

/* Puts the command into its plane's queue and kicks the die. */
void scarp_nand_enqueue(ScarpDrive *drive, ScarpFlashCmd *cmd);
/*
 * Puts a command that has waited in another queue into its plane's queue,
 * before all younger commands, and kicks the die.
 */
void scarp_nand_enqueue_by_age(ScarpDrive *drive, ScarpFlashCmd *cmd);
/*
 * Queues a read again, because GC moved its page while it waited. The read goes
 * to the end of its new queue. When it has been moved as often as the limit
 * allows (PASS_RETRIES), it goes before all younger commands instead.
 */
void scarp_nand_enqueue_moved(ScarpDrive *drive, ScarpFlashCmd *read);

static inline ScarpFlashQueue *scarp_nand_queue(ScarpDrive *drive,
                                                uint32_t plane,
                                                ScarpQueueKind kind)
{
    return &drive->nand.plane[plane].queue[kind];
}

/*
 * Returns the first command of a plane's queue, or NULL. That is the oldest
 * command, unless GC moved the page of an older read: such a read was queued
 * again at the end, behind younger commands.
 */
static inline const ScarpFlashCmd *scarp_nand_head(const ScarpDrive *drive,
                                                   uint32_t plane,
                                                   ScarpQueueKind kind)
{
    return drive->nand.plane[plane].queue[kind].head;
}

/* Returns the command behind cmd in its queue or list, or NULL. */
static inline const ScarpFlashCmd *scarp_flash_next(const ScarpFlashCmd *cmd)
{
    return cmd->next;
}

/* Returns the command behind cmd in the caller's list, and cuts the link. */
static inline ScarpFlashCmd *scarp_flash_unlink_next(ScarpFlashCmd *cmd)
{
    ScarpFlashCmd *next = cmd->next;

    cmd->next = NULL;
    return next;
}

/* ---- Programs that wait for the rest of their cells --------------------- */

void scarp_nand_await_pair(ScarpDrive *drive, ScarpFlashCmd *program);
/*
 * Returns the plane's oldest program that waits until the other pages of its
 * cells are programmed, or NULL. With ftl.paired_pages=pad a program counts as
 * ended only then. scarp_flash_next() leads from it to younger programs that
 * wait.
 */
static inline const ScarpFlashCmd *scarp_nand_unpaired(const ScarpDrive *drive,
                                                       uint32_t plane)
{
    return drive->nand.unpaired ? drive->nand.unpaired[plane].head : NULL;
}
/*
 * Takes out the plane's programs in this block that wait for the rest of their
 * cells (ftl.paired_pages=pad). Returns them as a list, the oldest first.
 */
ScarpFlashCmd *scarp_nand_take_unpaired(ScarpDrive *drive, uint32_t plane,
                                        uint32_t block);

/*
 * Return the link to a queue's first command, and to the command behind cmd.
 * Walks that take commands out of a queue go along these links.
 */
static inline ScarpFlashCmd **scarp_nand_first_link(ScarpFlashQueue *queue)
{
    return &queue->head;
}

static inline ScarpFlashCmd **scarp_flash_next_link(ScarpFlashCmd *cmd)
{
    return &cmd->next;
}

/*
 * Takes the command at *link out of the queue. The caller must start it, or
 * queue it again.
 */
ScarpFlashCmd *scarp_nand_dequeue(ScarpDrive *drive, ScarpFlashQueue *queue,
                                  ScarpFlashCmd **link);
/*
 * The kinds of queues with commands that the host waits for: reads, programs of
 * the host's data, and programs of translation units.
 */
#define SCARP_HOST_QUEUES \
    (1u << QUEUE_READS | 1u << QUEUE_PROGRAMS | 1u << QUEUE_MAP)

/*
 * Takes cmd out of its plane's queue of that kind. cmd must be the first
 * command of the queue.
 */
ScarpFlashCmd *scarp_nand_take(ScarpDrive *drive, const ScarpFlashCmd *cmd,
                               ScarpQueueKind kind);
/*
 * Returns the sequence number of the oldest command that waits at the die;
 * SCARP_NOBODY: none waits. Looks at the first command of each queue whose bit,
 * 1 << ScarpQueueKind, is in `kinds`.
 */
uint64_t scarp_nand_oldest(const ScarpDrive *drive, uint32_t die,
                           unsigned kinds);

/*
 * Returns how many commands wait in the die's queues of this kind, all planes
 * together.
 */
static inline uint32_t scarp_nand_queued(const ScarpDrive *drive, uint32_t die,
                                         ScarpQueueKind kind)
{
    return drive->nand.die[die].queued[kind];
}

/*
 * True when a program waits at the die that belongs to no collection of the
 * die: a program of host data, of translation units, or of another die's
 * collection (a guest).
 */
static inline bool scarp_nand_programs_wait(const ScarpDrive *drive,
                                            uint32_t die)
{
    return drive->nand.die[die].queued[QUEUE_PROGRAMS] +
           drive->nand.die[die].queued[QUEUE_MAP] +
           drive->nand.die[die].guests;
}

static inline bool scarp_nand_guests_wait(const ScarpDrive *drive, uint32_t die)
{
    return drive->nand.die[die].guests;
}

/* Returns how many commands wait at the die, plus 1 if a command runs. */
static inline uint32_t scarp_nand_load(const ScarpDrive *drive, uint32_t index)
{
    const ScarpDie *die = &drive->nand.die[index];

    return die->queued[QUEUE_READS] + die->queued[QUEUE_PROGRAMS] +
           die->queued[QUEUE_GC] + die->queued[QUEUE_MAP] + !!die->current;
}

/* True when no command of the die runs, waits or is suspended. */
static inline bool scarp_nand_at_rest(const ScarpDrive *drive, uint32_t die)
{
    return !scarp_nand_load(drive, die) && !drive->nand.die[die].suspended;
}

/* gc calls this when the die begins or ends to collect. */
static inline void scarp_nand_set_collecting(ScarpDrive *drive, uint32_t die,
                                             bool collecting)
{
    drive->nand.die[die].collecting = collecting;
    scarp_nand_relieved(drive, die);
}

static inline bool scarp_nand_collecting(const ScarpDrive *drive, uint32_t die)
{
    return drive->nand.die[die].collecting;
}

/*
 * Returns the remaining array time of the current command. Before and after the
 * array time it returns one_ns; without a current command, 0.
 */
int64_t scarp_nand_busy_ns(const ScarpDrive *drive, uint32_t die,
                           int64_t one_ns);
/* True while the die erases a block; *left_ns is then the time left. */
bool scarp_nand_erasing(const ScarpDrive *drive, uint32_t die,
                        int64_t *left_ns);

/* ---- Times: nand/timing.c ----------------------------------------------- */

bool scarp_timing_init(ScarpDrive *drive);
void scarp_timing_clear(ScarpDrive *drive);

static inline int64_t scarp_nand_read_ns(const ScarpDrive *drive,
                                         uint32_t page)
{
    return drive->nand.read_ns_of[page];
}

static inline int64_t scarp_nand_program_ns(const ScarpDrive *drive,
                                            uint32_t page)
{
    return drive->nand.program_ns_of[page];
}

/* True when all pages have equal array times. */
static inline bool scarp_nand_pages_alike(const ScarpDrive *drive)
{
    return drive->nand.pages_alike;
}

static inline int64_t scarp_nand_page_transfer_ns(const ScarpDrive *drive)
{
    return drive->nand.page_transfer_ns;
}

/* Returns the time of a transfer of `bytes` bytes on a channel. */
static inline int64_t scarp_nand_transfer_ns(const ScarpDrive *drive,
                                             uint64_t bytes)
{
    if (bytes == drive->desc.page_bytes) {
        return drive->nand.page_transfer_ns;
    }
    return (bytes * 1000 + drive->desc.channel_mts - 1) /
           drive->desc.channel_mts;
}

/* Returns how long an idle die takes to move a page inside its plane. */
static inline int64_t scarp_nand_move_ns(const ScarpDrive *drive,
                                         bool copyback)
{
    int64_t ns = drive->nand.read_ns_of[0] + drive->nand.program_ns_of[0] +
                 2 * (int64_t)drive->desc.command_ns;

    return copyback ? ns : ns + 2 * drive->nand.page_transfer_ns;
}

/* ---- For flow: a die's life --------------------------------------------- */

/* Answers of scarp_nand_look(): what a kicked die can do. */
typedef enum {
    LOOK_BUSY,   /* nothing now */
    LOOK_BEHIND, /* a command may be loaded behind the running one */
    LOOK_NEXT,   /* a command may begin; only a read if one is suspended */
} ScarpLook;

/*
 * Returns what the die can do now. If a read waits and is allowed to suspend
 * the running program or erase, this function does so first.
 */
ScarpLook scarp_nand_look(ScarpDrive *drive, uint32_t die);
/* True while a command runs at the die. A suspended command does not run. */
static inline bool scarp_nand_runs(const ScarpDrive *drive, uint32_t die)
{
    return drive->nand.die[die].current;
}
/* Returns the command that is suspended so that reads go first, or NULL. */
static inline const ScarpFlashCmd *scarp_nand_suspended(const ScarpDrive *drive,
                                                        uint32_t die)
{
    return drive->nand.die[die].suspended;
}
/*
 * True when a command should be loaded behind the current one (nand.cache):
 * commands wait, none is loaded yet, and none is suspended.
 */
static inline bool scarp_nand_wants_behind(const ScarpDrive *drive,
                                           uint32_t index)
{
    const ScarpDie *die = &drive->nand.die[index];

    return drive->desc.cache && !die->ahead && !die->suspended &&
           die->queued[QUEUE_READS] + die->queued[QUEUE_PROGRAMS] +
               die->queued[QUEUE_GC] + die->queued[QUEUE_MAP];
}
/* Returns the kind of the current command. The die must have one. */
static inline ScarpFlashKind scarp_nand_current_kind(const ScarpDrive *drive,
                                                     uint32_t die)
{
    return drive->nand.die[die].current->kind;
}

/*
 * Adds `mate` to `group`, so that they run as one multi-plane command. The
 * group must not have begun.
 */
static inline void scarp_flash_join(ScarpFlashCmd *group, ScarpFlashCmd *mate)
{
    while (group->mate) {
        group = group->mate;
    }
    group->mate = mate;
}

/*
 * Called when a command leaves its queue: notes in the command's account what
 * the die did while the command waited.
 */
static inline void scarp_flash_waited(ScarpDrive *drive, ScarpFlashCmd *cmd)
{
    scarp_account_waited(
        &cmd->account,
        &drive->nand.die[scarp_plane_die(drive, cmd->plane)].clock,
        scarp_time_ns(drive));
}

/* Begins all commands of the group, which run together. */
void scarp_nand_begin(ScarpDrive *drive, ScarpFlashCmd *group);
/*
 * Makes `group`, which has begun, the die's current command. Returns true if
 * the group is a program that got the channel at once. A further program may
 * then be loaded behind it (nand.cache).
 */
bool scarp_nand_run(ScarpDrive *drive, uint32_t die, ScarpFlashCmd *group);
/*
 * Sends `group`, which has begun, to the die while the current command runs
 * (nand.cache): the data of a program is loaded, or a read is sensed.
 */
void scarp_nand_run_behind(ScarpDrive *drive, uint32_t die,
                           ScarpFlashCmd *group);
/*
 * Resumes the suspended program or erase. Called when the die has nothing else
 * to run.
 */
void scarp_nand_resume(ScarpDrive *drive, uint32_t die);
/*
 * Called when the die has nothing to run. `held` tells that commands do wait,
 * because a collection has the die to itself. These commands count the
 * collection as the cause of their wait.
 */
void scarp_nand_rest(ScarpDrive *drive, uint32_t die, bool held);

typedef enum {
    NAND_NOTHING,
    NAND_BEHIND,    /* a further command may be loaded behind the current one */
    /*
     * a read is sensed; flow loads a further command, then calls
     * scarp_nand_output()
     */
    NAND_SENSED,
    NAND_ONE_ENDED, /* a command of a group ended; its mates are still to end */
    NAND_ALL_ENDED, /* the group ended; flow then calls scarp_nand_after() */
} ScarpNandStep;

/*
 * Handles the event of a die: a phase of its current command ends. With
 * NAND_ONE_ENDED and NAND_ALL_ENDED, *ended is the first command that has
 * ended, and scarp_flash_unlink_mate() leads to its mates.
 */
ScarpNandStep scarp_nand_event(ScarpDrive *drive, uint32_t die,
                               ScarpFlashCmd **ended);
/*
 * Returns the command behind cmd in a group that has ended, and cuts the link.
 */
static inline ScarpFlashCmd *scarp_flash_unlink_mate(ScarpFlashCmd *cmd)
{
    ScarpFlashCmd *mate = cmd->mate;

    cmd->mate = NULL;
    return mate;
}
/*
 * Called when the ended commands have been handled. The command that was loaded
 * behind them (nand.cache) becomes the current one. Without such a command the
 * die looks for work. Returns the die's next step.
 */
ScarpNandStep scarp_nand_after(ScarpDrive *drive, uint32_t die);
/* Asks for the channel, to transfer the data that the current read sensed. */
void scarp_nand_output(ScarpDrive *drive, uint32_t die);
/*
 * Called when a channel has become free: the next waiter gets the channel.
 * Returns true if that waiter is a program. *die is then its die, and a further
 * program may be loaded behind it (nand.cache).
 */
bool scarp_channel_event(ScarpDrive *drive, uint32_t channel, uint32_t *die);

/* ---- A power cut: nand/cut.c -------------------------------------------- */

/*
 * Called when power fails. Adds the die's programs and erases that have begun
 * to two lists: to `working` if their array has begun to change cells,
 * otherwise to `loaded`.
 */
void scarp_nand_cut(const ScarpDrive *drive, uint32_t die, GPtrArray *working,
                    GPtrArray *loaded);

/* ---- For flow: phases for observers ------------------------------------- */

/*
 * Lets nand remember the phases (transfer, array time) of flash commands for
 * observers such as the timeline. With `on` false, nand stops.
 */
void scarp_nand_observe(ScarpDrive *drive, bool on);

static inline bool scarp_nand_seen(const ScarpDrive *drive)
{
    return drive->nand.seen && drive->nand.seen->len;
}

/*
 * Returns the command of the i-th remembered phase, and describes the phase in
 * *op. NULL: fewer phases are remembered.
 */
const ScarpFlashCmd *scarp_nand_phase(const ScarpDrive *drive, unsigned i,
                                      ScarpFlashOp *op);
void scarp_nand_forget_phases(ScarpDrive *drive);

#endif /* SCARP_NAND_OPS_H */
