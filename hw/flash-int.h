/*
 * Scarp: what the files of the NVMe flash device share
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
 * 18 years: so late a guest can make the virtual clock, by sleeping.  The rest
 * of the engine's time is for what it has begun by then.
 */
#define FLASH_TIME_LAST (SCARP_TIME_LAST / 2)

typedef struct FlashCmd FlashCmd;
typedef struct FlashRealtime FlashRealtime;
typedef QTAILQ_HEAD(FlashCmdList, FlashCmd) FlashCmdList;

typedef struct {
    BlockAIOCB common;
    NvmeFlash *flash;
    FlashCmd *cmd;       /* NULL: it has ended */
    bool untold;         /* without its owner: the guest was gone */
} FlashAIOCB;

struct FlashCmd {
    ScarpCmd cmd;
    FlashAIOCB *acb;     /* NULL: cancelled */
    QEMUSGList *qsg;     /* of hw/nvme: only while acb is set */
    QEMUIOVector *iov;
    uint64_t *held;      /* NvmeNsIo's, until it begins */
    void *buffer;
    size_t buffer_bytes;
    uint64_t rest_bytes; /* to deallocate, or to zero, after this piece */
    int64_t arrived_ns;  /* in the drive's time */
    bool has_data;
    bool has_room;       /* it is counted in flash->room_used */
    bool leftover;       /* it is in flash->leftovers, with its */
    IntervalTreeNode range;
    FlashCmdList blocked; /* wait for this leftover to end */
    FlashCmdList *list;  /* that it is in: inside, or where it waits */
    QTAILQ_ENTRY(FlashCmd) entry;
    FlashCmd *next_free;
};

struct NvmeFlash {
    DeviceState parent_obj;

    ScarpDrive *drive;
    FlashPort *port;
    FlashLog *log;
    ScarpObserver observer;
    QEMUTimer *timer;       /* runs the engine on the virtual clock, or */
    FlashRealtime *realtime; /* a thread does, on the host's */
    FlashCmd *free_cmds;    /* with their bounce buffers */
    uint64_t buffer_bytes;  /* of all bounce buffers, there and in use */
    FlashCmdList inside;    /* commands that the engine has, or a ring */
    FlashCmdList waiting;   /* commands that found the ring full */
    FlashCmdList for_room;  /* commands that wait for memory */
    uint64_t room_used;     /* of ROOM_BYTES, by commands that have begun, */
                            /* and by what they have read and hw/nvme holds */
    IntervalTreeRoot leftovers; /* cancelled, and may still change data */
    uint64_t in_flight;     /* commands that have not ended */
    int64_t deadline_ns[SCARP_ACCESS__COUNT]; /* after arrival; 0: none */
    int64_t busy_from_ns;   /* since when, if there are any */
    uint64_t busy_ns;       /* time in which there were, before that */
    GSList *namespaces;     /* on it, last first */
    GSList *spare_warned;   /* subsystems whose hosts know that it is little */
    uint64_t ns_bytes;      /* given to namespaces so far */
    const NvmeEnduranceGroup *endgrp; /* the last one's, to be compared */
    bool fdp;               /* it has FDP: all namespaces are of it */
    uint64_t fdp_host, fdp_written, fdp_erased; /* before the last reset */
    bool stopped;           /* the guest is gone */
    bool over;              /* the drive's time is */
    char *running;          /* the scheme, as it was asked for */
    char *refusal;          /* why the last switch was refused, or NULL */
    int64_t switched_ns;
    uint32_t switches_accepted;
    uint32_t switches_refused;
    Notifier shutdown;
    VMChangeStateEntry *state;
    bool ready;             /* it has recovered from its last power cut */
    bool wants_rest;        /* a shutdown waits for that: */
    bool settles;           /* it comes to rest, and nothing came meanwhile */
    bool rests;             /* it has, and nothing came since */
    QEMUTimer *rest_timer;  /* when that is so */
    QEMUTimer *cut_timer;   /* a power cut that the guest asks for just now */
    QEMUTimer *later_timer; /* and one that it has asked for */
    uint64_t power_cycles;
    uint64_t unsafe_shutdowns;

    char *description;
    char *image;
    char *scheme;
    char *params;
    char *overrides;
    char *clock;
    char *age_pattern;
    char *cmd_log;
    char *gc_log;
    char *data_log;
    char *progress;
    char *trace;
    char *lateness_log;
    uint64_t trace_from_ns;
    uint64_t trace_for_ns;
    uint64_t spin_ns;
    uint64_t lateness_bound_ns;
    int32_t cpu;            /* of the host, for the thread; -1: any */
    uint32_t priority;      /* the thread's, in real time; 0: as others */
    uint64_t seed;
    uint64_t age_seed;
    uint32_t age;
    uint32_t age_overwrite;
    bool virtual_queues;
};

#define NVME_FLASH(obj) OBJECT_CHECK(NvmeFlash, (obj), TYPE_NVME_FLASH)

extern const NvmeNsOps nvme_flash_ns_ops;

void nvme_flash_timer_cb(void *opaque);

/* The engine's clock. */
int64_t nvme_flash_now_ns(NvmeFlash *flash);

/*
 * Around calls into the engine other than through its port, for as long as a
 * thread owns it.
 */
void nvme_flash_lock(NvmeFlash *flash);
void nvme_flash_unlock(NvmeFlash *flash);

/* flash-admit.c */
void flash_admit_init(NvmeFlash *flash);
/* A new command, or a piece of one: the engine gets it as soon as it may. */
void flash_admit(NvmeFlash *flash, FlashCmd *cmd);
/* Its owner has gone.  True if the engine does not have it: it is over. */
bool flash_admit_cancelled(NvmeFlash *flash, FlashCmd *cmd);
/* The engine has ended it.  Its owner is told after this. */
void flash_admit_ended(NvmeFlash *flash, FlashCmd *cmd);
/* What waits for room begins, as far as there is some. */
void flash_admit_for_room(NvmeFlash *flash);
/* NvmeNsOps.release */
void flash_admit_release(NvmeFlash *flash, uint64_t *held);
/* What found the ring full goes there, as far as there is place. */
void flash_admit_waiting(NvmeFlash *flash);
/* The engine has forgotten it, as its power failed.  Nobody waits for it. */
void flash_admit_forget(NvmeFlash *flash, FlashCmd *cmd);

/* flash-command.c: its buffer and, of a write, the data in it. */
void flash_cmd_begin(NvmeFlash *flash, FlashCmd *cmd);

/* The engine is to run soon, whatever it has to do. */
void flash_run_soon(NvmeFlash *flash);

/*
 * nvme-flash.c: has the clock come to FLASH_TIME_LAST?  Then the engine has ended
 * what it had, and each command fails.
 */
bool flash_time_is_over(NvmeFlash *flash);

/* Its power failed, and all owners have gone: commands go as well. */
void flash_cmds_forget(NvmeFlash *flash);

/* flash-power.c */
void flash_power_init(NvmeFlash *flash);
/* The guest is gone: what was to come does not. */
void flash_power_stop(NvmeFlash *flash);
void flash_power_clear(NvmeFlash *flash);
/* False, and *errp set: no host could wait for it to be ready. */
bool flash_power_check(NvmeFlash *flash, Error **errp);
/* After a run of the engine: what hosts wait for may have come. */
void flash_power_look(NvmeFlash *flash);
bool flash_power_cut(NvmeFlash *flash, Error **errp);
/* From within a command of the guest.  False: refused. */
bool flash_power_cut_in(NvmeFlash *flash, uint32_t us);
void flash_power_smart(NvmeFlash *flash, NvmeSmartLog *smart);

/* flash-scheme.c */
char *flash_scheme_text(const char *scheme, const char *params);
bool flash_scheme_switch(NvmeFlash *flash, const char *text, Error **errp);
size_t flash_scheme_page(NvmeFlash *flash, void *buf, size_t size);

/* flash-health.c */
void flash_health_look(NvmeFlash *flash);
/* Whose Identify data may have been made since the namespaces came. */
void flash_health_say_firmware(NvmeFlash *flash);

/* flash-fdp.c */
bool flash_fdp_attach(NvmeNamespace *ns, Error **errp);
void flash_fdp_keep(NvmeFlash *flash);

/* flash-realtime.c */
FlashRealtime *flash_realtime_start(NvmeFlash *flash, Error **errp);
/*
 * From here on the caller owns the engine, until the machine runs again.  It
 * runs the engine with the lock: the thread may yet look for memory.
 */
void flash_realtime_pause(FlashRealtime *rt);
/* Ditto, for ever.  It lets go of the big lock until the thread has ended. */
void flash_realtime_stop(FlashRealtime *rt);
void flash_realtime_free(FlashRealtime *rt);
void flash_realtime_kick(FlashRealtime *rt);
/* nvme_flash_completed() is to be called soon, whatever has completed. */
void flash_realtime_look(FlashRealtime *rt);
/* A command is in the ring.  The engine runs once its queue has been read. */
void flash_realtime_submitted(FlashRealtime *rt);
void flash_realtime_lock(FlashRealtime *rt);
void flash_realtime_unlock(FlashRealtime *rt);
int64_t flash_realtime_now_ns(FlashRealtime *rt);
bool flash_realtime_flush(FlashRealtime *rt, Error **errp);
void flash_realtime_reset_stats(FlashRealtime *rt);
/* Our numbers after those of the engine; returns the page's full length. */
size_t flash_realtime_page(FlashRealtime *rt, void *page, size_t used,
                           size_t size);
/* The engine's object with ours in it; frees the engine's. */
char *flash_realtime_json(FlashRealtime *rt, char *engine);
/* When the NVMe command arrived that is being started. */
int64_t flash_realtime_arrival_ns(FlashRealtime *rt);
/*
 * Around the end of a command, which may be that of a request.  The engine may
 * be some microseconds ahead of the clock.  So a command may end before its
 * time, but what ends with it is told no earlier.
 */
void flash_realtime_ending(FlashRealtime *rt, const ScarpCmd *cmd,
                           int64_t arrived_ns);
void flash_realtime_ended(FlashRealtime *rt);
void nvme_flash_completed(void *opaque);

/*
 * Let the engine finish what it has, whatever the time, without telling the
 * guest.  False if it does not come to an end.
 */
bool nvme_flash_drain(NvmeFlash *flash);
void nvme_flash_free_cmds(NvmeFlash *flash);

#endif /* SCARP_FLASH_INT_H */
