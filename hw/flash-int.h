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
 * The last moment of the engine's time at which commands may begin: 18 years. A
 * guest can reach it, because it advances the virtual clock when it sleeps. The
 * engine's time after this moment is left for commands that began before it.
 */
#define FLASH_TIME_LAST (SCARP_TIME_LAST / 2)
/* The default of properties that are times: the user has given none. */
#define FLASH_NS_UNSET UINT64_MAX

typedef struct FlashCmd FlashCmd;
typedef struct FlashRealtime FlashRealtime;
typedef QTAILQ_HEAD(FlashCmdList, FlashCmd) FlashCmdList;

typedef struct {
    BlockAIOCB common;
    NvmeFlash *flash;
    FlashCmd *cmd;       /* NULL: the command has ended */
    bool untold;         /* the command ended without a report to its owner */
} FlashAIOCB;

struct FlashCmd {
    ScarpCmd cmd;
    FlashAIOCB *acb;     /* NULL: the command was cancelled */
    QEMUSGList *qsg;     /* hw/nvme's; valid only while acb is set */
    QEMUIOVector *iov;
    uint64_t *held;      /* hw/nvme's count (NvmeNsIo); NULL once cmd began */
    void *buffer;
    size_t buffer_bytes;
    uint64_t rest_bytes; /* bytes to deallocate or zero after this piece */
    int64_t arrived_ns;  /* arrival, or begin after a wait; drive's time */
    bool has_data;
    bool counted;        /* the write of a Copy, whose read still uses room */
    bool has_room;       /* the command is counted in admit.room_used */
    bool leftover;       /* the command is cancelled, and in admit.leftovers */
    IntervalTreeNode range;
    FlashCmdList blocked; /* commands that wait for this leftover's end */
    /* the list of FlashAdmission, or of a leftover, that has this command */
    FlashCmdList *list;
    QTAILQ_ENTRY(FlashCmd) entry;
    FlashCmd *next_free;
};

/*
 * The guest's commands between hw/nvme and the engine; flash-admit.c uses this
 * record.
 */
typedef struct {
    FlashCmd *free;         /* unused records, and their bounce buffers */
    uint64_t buffer_bytes;  /* sum of all bounce buffers, used and unused */
    FlashCmdList inside;    /* commands in the engine or in a ring */
    /* commands that found the ring full, the guest gone, or the time over */
    FlashCmdList waiting;
    FlashCmdList for_room;  /* commands that wait for memory */
    /*
     * bytes of ROOM_BYTES that commands use which have begun, and that data
     * uses which hw/nvme keeps after a read
     */
    uint64_t room_used;
    /* cancelled commands that may still change data */
    IntervalTreeRoot leftovers;
    uint64_t in_flight;     /* commands that have not ended */
} FlashAdmission;

/*
 * The drive's power, its recovery and its shutdown; flash-power.c uses this
 * record.
 */
typedef struct {
    bool ready;             /* the drive recovered from its last power cut */
    bool wants_rest;        /* a shutdown waits until the drive rests */
    /* the engine was shut down, and no command came since */
    bool settles;
    bool rests;             /* rest_timer fired, and no command came since */
    QEMUTimer *rest_timer;  /* fires when the drive's shutdown is complete */
    QEMUTimer *cut_timer;   /* a power cut, due at once */
    QEMUTimer *later_timer; /* a power cut that is due later */
    uint64_t cycles;
    uint64_t unsafe_shutdowns;
} FlashPower;

/* The present Sanitize and the latest one; flash-sanitize.c uses the record. */
typedef struct {
    bool runs;              /* a Sanitize waits for its erases, or erases */
    bool erases;            /* the Sanitize that runs has begun its erases */
    bool done;              /* a Sanitize has been completed */
    bool erased;            /* no write since the latest Sanitize, or ever */
    uint16_t asker;         /* number of the controller that got the command */
    uint32_t cdw10;         /* of the latest command */
    /* blocks to erase when the erases began, or when a power cut came last */
    uint32_t total;
} FlashSanitize;

/*
 * The scheme of the command line, and the switches to other schemes;
 * flash-scheme.c uses this record.
 */
typedef struct {
    char *name;             /* the property "scheme" of the command line */
    char *params;           /* the property "params" of the command line */
    char *switch_to;        /* scheme of the switch at an instant, or NULL */
    uint64_t switch_at_ns;  /* instant of the switch; FLASH_NS_UNSET: none */
    QEMUTimer *switch_timer; /* makes the switch; NULL: there is none */
    char *running;          /* the running scheme, as the user named it */
    char *refusal;          /* why the last switch was refused, or NULL */
    int64_t switched_ns;
    uint32_t accepted;      /* number of switches that were made */
    uint32_t refused;       /* number of switches that were refused */
} FlashScheme;

/* Logs of a run, and the names of their files; flash-log.c writes them. */
typedef struct {
    FlashLog *log;
    char *commands;
    char *collections;
    char *data;
    char *changes;
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
    QEMUTimer *timer;       /* runs the engine on QEMU's virtual clock */
    FlashRealtime *realtime; /* runs the engine on the host's clock, or NULL */
    FlashAdmission admit;
    FlashPower power;
    FlashSanitize sanitize;
    FlashScheme scheme;
    FlashLogs logs;
    /* time from a command's arrival to its deadline; 0: no deadline */
    int64_t deadline_ns[SCARP_ACCESS__COUNT];
    int64_t busy_from_ns;   /* when admit.in_flight last left 0 */
    uint64_t busy_ns;       /* sum of the busy times that have ended */
    GSList *namespaces;     /* namespaces on the flash, the last one first */
    GSList *subsystems;     /* subsystems that have or had a namespace on it */
    GSList *spare_warned;   /* subsystems that were warned of little spare */
    uint32_t millikelvin;   /* as controllers were told; 0: no group heat */
    /* endurance group of the last namespace, for comparison */
    const NvmeEnduranceGroup *endgrp;
    bool fdp;               /* FDP is on: all namespaces are in endgrp */
    uint64_t fdp_host, fdp_written, fdp_erased; /* bytes before last reset */
    bool stopped;           /* the guest is gone */
    bool over;              /* FLASH_TIME_LAST has come */
    Notifier shutdown;
    VMChangeStateEntry *state;

    /* The properties below are in no other record. */
    char *description;
    char *image;
    char *overrides;
    char *clock;
    char *age_pattern;
    uint64_t spin_ns;
    uint64_t lateness_bound_ns;
    int32_t cpu;            /* core of the host for the thread; -1: any */
    uint32_t priority;      /* the thread's real-time priority; 0: none */
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
 * Takes, and gives back, the lock of the thread that runs the engine. A caller
 * needs the lock for a call into the engine that does not go through the port.
 * On the virtual clock there is no thread, and these functions do nothing.
 */
void nvme_flash_lock(NvmeFlash *flash);
void nvme_flash_unlock(NvmeFlash *flash);

/* ---- Functions of flash-admit.c ------------------------------------------ */
void flash_admit_init(NvmeFlash *flash);
/*
 * Takes a new command, or a piece of a command: the engine gets it as soon as
 * possible.
 */
void flash_admit(NvmeFlash *flash, FlashCmd *cmd);
/*
 * Cancels cmd, whose owner has gone. Returns true if the engine has not got cmd
 * yet, so that cmd is over. Otherwise the engine carries cmd out to its end,
 * unseen.
 */
bool flash_admit_cancelled(NvmeFlash *flash, FlashCmd *cmd);
/* Called when the engine has ended cmd, before the owner of cmd is told. */
void flash_admit_ended(NvmeFlash *flash, FlashCmd *cmd);
/* Begins commands that wait for room (ROOM_BYTES), as long as there is room. */
void flash_admit_for_room(NvmeFlash *flash);
/* Implements NvmeNsOps.release: hw/nvme has freed data of *held bytes. */
void flash_admit_release(NvmeFlash *flash, uint64_t *held);
/*
 * Pushes the commands that found the ring full, until the ring is full again.
 */
void flash_admit_waiting(NvmeFlash *flash);
/*
 * Forgets cmd after a power cut: the engine has forgotten cmd, and nobody waits
 * for its end.
 */
void flash_admit_forget(NvmeFlash *flash, FlashCmd *cmd);

/*
 * Gives cmd a buffer and, if cmd is a write, copies its data there
 * (flash-command.c).
 */
void flash_cmd_begin(NvmeFlash *flash, FlashCmd *cmd);

/* Makes the engine run soon, whether or not an event or a command is due. */
void flash_run_soon(NvmeFlash *flash);

/*
 * True when the clock has come to FLASH_TIME_LAST (nvme-flash.c). The next run
 * of the engine then ends all commands that began, and each new command fails.
 */
bool flash_time_is_over(NvmeFlash *flash);

/*
 * True once the guest's end was requested (nvme-flash.c). The drive then makes
 * no further step of its own. Until the main loop obeys the request, the
 * virtual clock goes on as far as the host lets it, so such steps would differ
 * from run to run.
 */
bool flash_guest_ends(const NvmeFlash *flash);

/*
 * Forgets all commands after a power cut: the owners of the commands have gone.
 */
void flash_cmds_forget(NvmeFlash *flash);

/* ---- Functions of flash-power.c ------------------------------------------ */
void flash_power_init(NvmeFlash *flash);
/*
 * Drops pending power cuts, and the pending end of a shutdown, as the guest is
 * gone.
 */
void flash_power_stop(NvmeFlash *flash);
void flash_power_clear(NvmeFlash *flash);
/*
 * Returns false, with *errp set, if the drive's longest recovery takes more
 * time than NVMe lets a controller announce (CRTO).
 */
bool flash_power_check(NvmeFlash *flash, Error **errp);
/*
 * Called after a run of the engine. Tells hw/nvme if the drive has recovered,
 * or has come to rest, and a controller waits for that.
 */
void flash_power_look(NvmeFlash *flash);
/*
 * Cuts the power now. Returns false, with *errp set, if the drive is shut down,
 * if its time is over, or if its power cannot fail.
 */
bool flash_power_cut(NvmeFlash *flash, Error **errp);
/*
 * Cuts the power after `us` microseconds, at the request of a command of the
 * guest. 0: as soon as QEMU has returned from that command. Returns false if
 * the drive refuses.
 */
bool flash_power_cut_in(NvmeFlash *flash, uint32_t us);
void flash_power_smart(NvmeFlash *flash, NvmeSmartLog *smart);

/* ---- Functions of flash-sanitize.c --------------------------------------- */
/*
 * Called after a run of the engine, with the states that it has come to: a
 * Sanitize that waits for one of them goes on.
 */
void flash_sanitize_look(NvmeFlash *flash, unsigned reached);
/*
 * Called when the power was cut. A Sanitize that erases goes on erasing. A
 * Sanitize that has not begun its erases begins them after the recovery.
 */
void flash_sanitize_cut(NvmeFlash *flash);

/* ---- Functions of flash-scheme.c ----------------------------------------- */
/*
 * Returns "SCHEME:PARAMS", or "SCHEME" if params is NULL. The caller frees the
 * text.
 */
char *flash_scheme_text(const char *scheme, const char *params);
/*
 * Switches to the scheme that `text` names, from the next GC decision on.
 * Returns false, with *errp set, if the drive refuses the scheme.
 */
bool flash_scheme_switch(NvmeFlash *flash, const char *text, Error **errp);
/*
 * Fills at most `size` bytes of buf with vendor log page 0xCB. Returns the
 * page's full length.
 */
size_t flash_scheme_page(NvmeFlash *flash, void *buf, size_t size);
/*
 * Checks the properties of the switch at an instant, once the drive is made.
 * Returns false, with *errp set, if these properties are not allowed, or if the
 * drive would refuse the switch.
 */
bool flash_scheme_check(NvmeFlash *flash, bool realtime, Error **errp);
/*
 * Starts the timer of the switch at an instant, if the user asked for such a
 * switch.
 */
void flash_scheme_init(NvmeFlash *flash);
/* Drops a switch that is yet to come, as the guest is gone. */
void flash_scheme_stop(NvmeFlash *flash);
void flash_scheme_clear(NvmeFlash *flash);

/* ---- Functions of flash-health.c ----------------------------------------- */
void flash_health_look(NvmeFlash *flash);
/*
 * Sets the firmware revision of all controllers again: a controller may have
 * been made after the namespaces.
 */
void flash_health_say_firmware(NvmeFlash *flash);
/*
 * Sets the controller's temperature, and the temperature thresholds of its
 * Identify Controller.
 */
void flash_health_ctrl_started(NvmeCtrl *n);

/* ---- Functions of flash-namespaces.c ------------------------------------- */
/* Returns the bytes of the flash that no namespace has. */
uint64_t flash_ns_left(const NvmeFlash *flash);
/*
 * Gives ns a range of `bytes` bytes, which are whole mapping units. Returns
 * false if the flash has no free piece of that length.
 */
bool flash_ns_add(NvmeNamespace *ns, uint64_t bytes);
/* True when a host may create and delete the namespaces of n's subsystem. */
bool flash_ns_managed(NvmeCtrl *n);

/* ---- Functions of flash-fdp.c -------------------------------------------- */
/*
 * Checks the endurance group of ns against the flash. Returns false, with *errp
 * set, if the flash cannot have its FDP configuration.
 */
bool flash_fdp_attach(NvmeNamespace *ns, Error **errp);
/* Called before the statistics are reset, because FDP's numbers never are. */
void flash_fdp_keep(NvmeFlash *flash);
/*
 * Returns a bit for each reclaim unit handle whose reclaim unit has pages and
 * is not full: a power cut closes it. 0 without FDP, or without reclaim units
 * of several planes.
 */
uint32_t flash_fdp_open_handles(NvmeFlash *flash);

/* ---- Functions of flash-realtime.c --------------------------------------- */
/*
 * Starts the thread, which is paused until the machine runs. Returns NULL, with
 * *errp set, if the lateness log cannot be made or the host has no thread left.
 */
FlashRealtime *flash_realtime_start(NvmeFlash *flash, Error **errp);
/*
 * Pauses the thread. Until the machine runs again, only the caller runs the
 * engine. The caller takes nvme_flash_lock() to run the engine, as the thread
 * may still be in flash_port_stock().
 */
void flash_realtime_pause(FlashRealtime *rt);
/*
 * Stops the thread for ever. Gives up QEMU's big lock while it waits for the
 * thread's end, because the thread may wait for the big lock.
 */
void flash_realtime_stop(FlashRealtime *rt);
void flash_realtime_free(FlashRealtime *rt);
/* Wakes the thread (flash_thread_kick()). */
void flash_realtime_kick(FlashRealtime *rt);
/*
 * Schedules a call of nvme_flash_completed(), even if no command has completed:
 * commands that wait for room can then begin.
 */
void flash_realtime_look(FlashRealtime *rt);
/*
 * Called after a command of the guest was pushed into the submission ring.
 * While hw/nvme reads a submission queue, the engine runs only when the whole
 * queue has been read (nvme_flash_started()). Otherwise the thread is woken
 * now.
 */
void flash_realtime_submitted(FlashRealtime *rt);
void flash_realtime_lock(FlashRealtime *rt);
void flash_realtime_unlock(FlashRealtime *rt);
/* Returns the drive's time. */
int64_t flash_realtime_now_ns(FlashRealtime *rt);
/* Writes the lateness log. Returns false, with *errp set, if rows were lost. */
bool flash_realtime_flush(FlashRealtime *rt, Error **errp);
void flash_realtime_reset_stats(FlashRealtime *rt);
/*
 * Appends the numbers of real time (flash-lateness.h) to the engine's log page,
 * which has `used` bytes. Returns the length of the whole page.
 */
size_t flash_realtime_page(FlashRealtime *rt, void *page, size_t used,
                           size_t size);
/*
 * Returns `engine`, a JSON object, with an object "realtime" added; frees
 * `engine`.
 */
char *flash_realtime_json(FlashRealtime *rt, char *engine);
/* Returns the arrival time of the NVMe command that hw/nvme is starting. */
int64_t flash_realtime_arrival_ns(FlashRealtime *rt);
/*
 * flash_realtime_ending() is called before the owner of cmd is told that cmd
 * has ended, and flash_realtime_ended() after that. In between, an NVMe request
 * may end, and hw/nvme takes the request's stamp from cmd. The engine may be
 * some microseconds ahead of the clock, so cmd may have ended early; the guest
 * is told no earlier than cmd->complete_ns.
 */
void flash_realtime_ending(FlashRealtime *rt, const ScarpCmd *cmd,
                           int64_t arrived_ns);
void flash_realtime_ended(FlashRealtime *rt);
/*
 * Reports completed commands of the flash `opaque` to their owners. Called with
 * QEMU's big lock, on the host's clock only.
 */
void nvme_flash_completed(void *opaque);

/*
 * Lets the engine finish all its commands at once, whatever the clock says,
 * without a report to the guest. Returns false if some commands never end.
 */
bool nvme_flash_drain(NvmeFlash *flash);
void nvme_flash_free_cmds(NvmeFlash *flash);

#endif /* SCARP_FLASH_INT_H */
