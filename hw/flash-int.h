/*
 * Scarp: declarations that the files of the NVMe flash device share
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_FLASH_INT_H
#define SCARP_FLASH_INT_H

#include "hw/qdev-core.h"
#include "block/aio.h"
#include "qemu/interval-tree.h"
#include "qemu/notify.h"
#include "qemu/queue.h"
#include "qemu/timer.h"
#include "../../nvme.h"
#include "flash-log.h"
#include "flash-port.h"

/*
 * 18 years: a guest can advance the virtual clock to this by sleeping. The rest
 * of the engine's time is for commands that have begun by then.
 */
#define FLASH_TIME_LAST (SCARP_TIME_LAST / 2)

typedef struct FlashCmd FlashCmd;
typedef struct FlashRealtime FlashRealtime;
typedef QTAILQ_HEAD(FlashCmdList, FlashCmd) FlashCmdList;

typedef struct {
    BlockAIOCB common;
    NvmeFlash *flash;
    FlashCmd *cmd;       /* NULL: the command has ended */
    bool untold;         /* ended without telling its owner: no guest */
} FlashAIOCB;

struct FlashCmd {
    ScarpCmd cmd;
    FlashAIOCB *acb;     /* NULL: cancelled */
    QEMUSGList *qsg;     /* hw/nvme's: valid only while acb is set */
    QEMUIOVector *iov;
    uint64_t *held;      /* NvmeNsIo's, until the command begins */
    void *buffer;
    size_t buffer_bytes;
    uint64_t rest_bytes; /* to deallocate or zero after this piece */
    int64_t arrived_ns;  /* in the drive's time */
    bool has_data;
    bool has_room;       /* the command counts in flash->admit.room_used */
    bool leftover;       /* it is in flash->admit.leftovers, by range */
    IntervalTreeNode range;
    FlashCmdList blocked; /* commands that wait for this leftover */
    FlashCmdList *list;  /* the list that it is in: inside, or waiting */
    QTAILQ_ENTRY(FlashCmd) entry;
    FlashCmd *next_free;
};

/* Commands of the guest between hw/nvme and the engine: flash-admit.c */
typedef struct {
    FlashCmd *free;         /* unused, with their bounce buffers */
    uint64_t buffer_bytes;  /* of all bounce buffers, used and unused */
    FlashCmdList inside;    /* commands that the engine or a ring has */
    FlashCmdList waiting;   /* commands that found the ring full */
    FlashCmdList for_room;  /* commands that wait for memory */
    uint64_t room_used;     /* of ROOM_BYTES, by begun commands and */
                            /* by read data that hw/nvme keeps */
    IntervalTreeRoot leftovers; /* cancelled ones that may still change data */
    uint64_t in_flight;     /* commands that have not ended */
} FlashAdmission;

/* The drive's power, its recovery and its rest: flash-power.c */
typedef struct {
    bool ready;             /* the drive recovered from its last power cut */
    bool wants_rest;        /* a shutdown waits until the drive rests */
    bool settles;           /* it comes to rest, and no command came */
    bool rests;             /* it has come to rest, and no command came */
    QEMUTimer *rest_timer;  /* fires when it rests */
    QEMUTimer *cut_timer;   /* a power cut, due at once */
    QEMUTimer *later_timer; /* a power cut that is due later */
    uint64_t cycles;
    uint64_t unsafe_shutdowns;
} FlashPower;

/* The scheme of the command line, and its switches: flash-scheme.c */
typedef struct {
    char *name;             /* of the command line */
    char *params;           /* of the command line */
    char *running;          /* the scheme, as asked for */
    char *refusal;          /* why the last switch was refused, or NULL */
    int64_t switched_ns;
    uint32_t accepted;      /* switches */
    uint32_t refused;       /* switches */
} FlashScheme;

/* Logs of a run, and the names of their files: flash-log.c */
typedef struct {
    FlashLog *log;
    char *commands;
    char *collections;
    char *data;
    char *progress;
    char *trace;
    char *lateness;
    uint64_t trace_from_ns;
    uint64_t trace_for_ns;
} FlashLogs;

struct NvmeFlash {
    DeviceState parent_obj;

    ScarpDrive *drive;
    FlashPort *port;
    ScarpObserver observer;
    QEMUTimer *timer;       /* runs the engine on the virtual clock; or */
    FlashRealtime *realtime; /* a thread does, on the host's */
    FlashAdmission admit;
    FlashPower power;
    FlashScheme scheme;
    FlashLogs logs;
    int64_t deadline_ns[SCARP_ACCESS__COUNT]; /* from arrival on; 0: none */
    int64_t busy_from_ns;   /* when in_flight became more than 0 */
    uint64_t busy_ns;       /* busy time before that */
    GSList *namespaces;     /* on the flash, last first */
    GSList *spare_warned;   /* subsystems warned of little spare */
    uint64_t ns_bytes;      /* given to namespaces so far */
    const NvmeEnduranceGroup *endgrp; /* the last namespace's, for comparison */
    bool fdp;               /* endgrp has FDP: all namespaces belong to it */
    uint64_t fdp_host, fdp_written, fdp_erased; /* sums before the last reset */
    bool stopped;           /* the guest is gone */
    bool over;              /* FLASH_TIME_LAST has come */
    Notifier shutdown;
    VMChangeStateEntry *state;

    /* Properties that have no record of their own: */
    char *description;
    char *image;
    char *overrides;
    char *clock;
    char *age_pattern;
    uint64_t spin_ns;
    uint64_t lateness_bound_ns;
    int32_t cpu;            /* core of the host for the thread; -1: any */
    uint32_t priority;      /* the thread's real-time one; 0: none */
    uint64_t seed;
    uint64_t age_seed;
    uint32_t age;
    uint32_t age_overwrite;
    bool virtual_queues;
};

#define NVME_FLASH(obj) OBJECT_CHECK(NvmeFlash, (obj), TYPE_NVME_FLASH)

extern const NvmeNsOps nvme_flash_ns_ops;

void nvme_flash_timer_cb(void *opaque);

/* Returns the engine's time. */
int64_t nvme_flash_now_ns(NvmeFlash *flash);

/*
 * Brackets calls into the engine other than through its port, as long as a
 * thread owns it.
 */
void nvme_flash_lock(NvmeFlash *flash);
void nvme_flash_unlock(NvmeFlash *flash);

/* Functions of flash-admit.c. */
void flash_admit_init(NvmeFlash *flash);
/*
 * Takes a new command, or a piece of one: the engine gets it as soon as
 * possible.
 */
void flash_admit(NvmeFlash *flash, FlashCmd *cmd);
/*
 * The command's owner has gone. True: the engine does not have it, so it is
 * over.
 */
bool flash_admit_cancelled(NvmeFlash *flash, FlashCmd *cmd);
/* The engine has ended the command, whose owner is told afterwards. */
void flash_admit_ended(NvmeFlash *flash, FlashCmd *cmd);
/* Begins commands that wait for room, as far as there is room. */
void flash_admit_for_room(NvmeFlash *flash);
/* NvmeNsOps.release. */
void flash_admit_release(NvmeFlash *flash, uint64_t *held);
/* Pushes commands that found the ring full, as far as it has places. */
void flash_admit_waiting(NvmeFlash *flash);
/*
 * Forgets a command that the engine forgot at a power cut; nobody waits for it.
 */
void flash_admit_forget(NvmeFlash *flash, FlashCmd *cmd);

/*
 * flash-command.c: gives the command a buffer and, for a write, the data in it.
 */
void flash_cmd_begin(NvmeFlash *flash, FlashCmd *cmd);

/* Makes the engine run soon, whatever it has to do. */
void flash_run_soon(NvmeFlash *flash);

/*
 * nvme-flash.c: true when the clock has come to FLASH_TIME_LAST: the engine has
 * ended all commands, and each new one fails.
 */
bool flash_time_is_over(NvmeFlash *flash);

/* Forgets all commands after a power cut: their owners have gone. */
void flash_cmds_forget(NvmeFlash *flash);

/* Functions of flash-power.c. */
void flash_power_init(NvmeFlash *flash);
/* The guest is gone: drops pending power cuts. */
void flash_power_stop(NvmeFlash *flash);
void flash_power_clear(NvmeFlash *flash);
/* False, and *errp set: recovery might take longer than a host could wait. */
bool flash_power_check(NvmeFlash *flash, Error **errp);
/* Called after a run of the engine: tells hosts of what they wait for. */
void flash_power_look(NvmeFlash *flash);
bool flash_power_cut(NvmeFlash *flash, Error **errp);
/* Cuts the power from within a command of the guest. False: refused. */
bool flash_power_cut_in(NvmeFlash *flash, uint32_t us);
void flash_power_smart(NvmeFlash *flash, NvmeSmartLog *smart);

/* Functions of flash-scheme.c. */
char *flash_scheme_text(const char *scheme, const char *params);
bool flash_scheme_switch(NvmeFlash *flash, const char *text, Error **errp);
size_t flash_scheme_page(NvmeFlash *flash, void *buf, size_t size);

/* Functions of flash-health.c. */
void flash_health_look(NvmeFlash *flash);
/*
 * Sets the firmware revision again, as controllers may have come after the
 * namespaces.
 */
void flash_health_say_firmware(NvmeFlash *flash);

/* Functions of flash-fdp.c. */
bool flash_fdp_attach(NvmeNamespace *ns, Error **errp);
void flash_fdp_keep(NvmeFlash *flash);

/* Functions of flash-realtime.c. */
FlashRealtime *flash_realtime_start(NvmeFlash *flash, Error **errp);
/*
 * Pauses the thread: the caller owns the engine until the machine runs again,
 * and runs it with the lock, as the thread may yet stock memory.
 */
void flash_realtime_pause(FlashRealtime *rt);
/*
 * Stops the thread for ever. Releases the big lock until the thread has ended.
 */
void flash_realtime_stop(FlashRealtime *rt);
void flash_realtime_free(FlashRealtime *rt);
void flash_realtime_kick(FlashRealtime *rt);
/* Makes a call of nvme_flash_completed() due soon, whatever has completed. */
void flash_realtime_look(FlashRealtime *rt);
/*
 * A command is in the ring. The engine runs once the command's queue has been
 * read.
 */
void flash_realtime_submitted(FlashRealtime *rt);
void flash_realtime_lock(FlashRealtime *rt);
void flash_realtime_unlock(FlashRealtime *rt);
int64_t flash_realtime_now_ns(FlashRealtime *rt);
bool flash_realtime_flush(FlashRealtime *rt, Error **errp);
void flash_realtime_reset_stats(FlashRealtime *rt);
/*
 * Appends real time's numbers to the engine's; returns the page's full length.
 */
size_t flash_realtime_page(FlashRealtime *rt, void *page, size_t used,
                           size_t size);
/* Returns the engine's object with real time's in it; frees the engine's. */
char *flash_realtime_json(FlashRealtime *rt, char *engine);
/* Returns when the NVMe command arrived that is being started. */
int64_t flash_realtime_arrival_ns(FlashRealtime *rt);
/*
 * Brackets the end of a command, which may end a request. The engine may be
 * some microseconds ahead of the clock, so a command may end before its time,
 * but its end is told no earlier.
 */
void flash_realtime_ending(FlashRealtime *rt, const ScarpCmd *cmd,
                           int64_t arrived_ns);
void flash_realtime_ended(FlashRealtime *rt);
void nvme_flash_completed(void *opaque);

/*
 * Lets the engine finish its commands, whatever the time, without telling the
 * guest. False: they never end.
 */
bool nvme_flash_drain(NvmeFlash *flash);
void nvme_flash_free_cmds(NvmeFlash *flash);

#endif /* SCARP_FLASH_INT_H */
