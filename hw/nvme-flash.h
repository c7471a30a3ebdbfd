/*
 * Scarp: NVMe flash device, as hw/nvme sees it
 *
 * TYPE_NVME_FLASH is a device without a bus, and owns the flash engine. -device
 * nvme-ns,flash=ID makes a namespace on the device.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_NVME_FLASH_H
#define SCARP_NVME_FLASH_H

#define TYPE_NVME_FLASH "nvme-flash"
typedef struct NvmeFlash NvmeFlash;
typedef struct NvmeCtrl NvmeCtrl;
typedef struct NvmeFlashCtrl NvmeFlashCtrl;
typedef struct NvmeFlashEvents NvmeFlashEvents;
typedef struct NvmeIdNs NvmeIdNs;
typedef struct NvmeNamespace NvmeNamespace;
typedef struct NvmeRequest NvmeRequest;
typedef struct NvmeSmartLog NvmeSmartLog;
typedef struct NvmeSubsystem NvmeSubsystem;

enum {
    NVME_FLASH_LOG_STATS = 0xca,   /* log page: see ftl/scarp.h */
    NVME_FLASH_LOG_SCHEME = 0xcb,  /* log page: see flash-scheme.c */
    NVME_FLASH_ADM_CONTROL = 0xc0, /* admin opcode, without data */
    /*
     * Admin opcode, with data to the device. The data names the scheme for the
     * drive's GC decisions from the next one on: "NAME" or
     * "NAME:KEY=VALUE,...", padded with zeroes. cdw10 is the data's length in
     * dwords. If the drive refuses the scheme, the command ends with Invalid
     * Field, and NVME_FLASH_LOG_SCHEME has the reason.
     */
    NVME_FLASH_ADM_SCHEME = 0xc1,
};

/*
 * The stamp of a command to a flash on the host's clock: when the command
 * arrived, when the engine began and ended it, and which command it is. The
 * times are in the drive's time (nvme_flash_clock_ns()). hw/nvme keeps the
 * stamp until it has posted the command's completion.
 */
typedef struct {
    NvmeFlash *flash; /* NULL: the request has no stamp */
    int64_t arrived_ns;
    int64_t submit_ns;
    int64_t complete_ns;
    uint32_t seq;     /* ScarpCmd.seq */
    uint8_t op;       /* ScarpOp */
} NvmeFlashStamp;

#define NVME_FLASH_SCHEME_DWORDS 256
#define NVME_FLASH_SCHEME_BYTES (4 * NVME_FLASH_SCHEME_DWORDS)

/* Values of cdw10 of NVME_FLASH_ADM_CONTROL. */
enum {
    NVME_FLASH_CONTROL_CPU_SPEED = 1, /* cdw11: icount shift, signed */
    NVME_FLASH_CONTROL_RESET_STATS = 2,
    /*
     * Cuts the power, which comes back at once. cdw11 is the number of
     * microseconds from now until the cut. With 0 the cut comes at once, and
     * the command itself never completes.
     */
    NVME_FLASH_CONTROL_CUT_POWER = 3,
};

/*
 * Gives ns a range of the flash (params.size bytes, or all that is left), and a
 * block backend of that size, through which no data passes.
 */
bool nvme_flash_attach_ns(NvmeNamespace *ns, Error **errp);
/* Removes ns. Another namespace may get its range, which keeps its contents. */
void nvme_flash_detach_ns(NvmeNamespace *ns);
/*
 * Returns the flash that is the whole drive of the subsystem. All namespaces of
 * the subsystem are on this flash, and no other subsystem has, or ever had, a
 * namespace on it. The flash is still returned when its last namespace is gone.
 * Returns NULL if the subsystem has no such flash.
 */
NvmeFlash *nvme_flash_of_subsys(NvmeSubsystem *subsys);

/*
 * Namespace Management (flash-namespaces.c), which nvme_flash_ctrl_started()
 * announces. hw/nvme carries out a deletion: it calls nvme_flash_ns_leaves()
 * when the deletion begins, and nvme_flash_ns_deleted() when it ends.
 */
void nvme_flash_ns_leaves(NvmeNamespace *ns);
void nvme_flash_ns_deleted(NvmeCtrl *n, NvmeNamespace *ns);
/*
 * Creates a namespace as asked, attached to no controller, and sets *nsid.
 * Returns the status of the command.
 */
uint16_t nvme_flash_create_ns(NvmeCtrl *n, uint8_t csi, const NvmeIdNs *asked,
                              uint32_t *nsid);
/* Sets TNVMCAP and UNVMCAP of Identify Controller. */
void nvme_flash_say_capacity(NvmeCtrl *n);
/*
 * Fills the fields of Identify Namespace that all namespaces have in common
 * that a host may create.
 */
void nvme_flash_identify_common(NvmeCtrl *n, NvmeIdNs *id);

/*
 * Fills the Identify data of ns for its present LBA format. Its field NPWG
 * tells hosts the size of writes for which the drive need not read first.
 */
void nvme_flash_identify(NvmeNamespace *ns);

/*
 * Fills the flash's part of the SMART log page: spare, wear, warnings, busy
 * time, power cycles, unsafe shutdowns and the times in heat. A caller with
 * several flashes calls this function for each flash. The page then has the
 * worst of their values.
 */
void nvme_flash_smart(NvmeFlash *flash, NvmeSmartLog *smart);
/*
 * Sets n->temperature to the present temperature of the controller's warmest
 * flash. If no flash of the controller has the group heat, n->temperature stays
 * as it is.
 */
void nvme_flash_temperature(NvmeCtrl *n);
/*
 * Implemented by hw/nvme: tells the subsystem's hosts of a critical warning.
 * Returns false if no host has asked for such events.
 */
bool nvme_subsys_smart_event(NvmeSubsystem *subsys, uint8_t event);

/*
 * Sets the numbers of the FDP statistics log page for the endurance group on
 * this flash: bytes that the host has written, bytes that were programmed, and
 * bytes that were erased.
 */
void nvme_flash_fdp_stats(NvmeFlash *flash, uint64_t *host, uint64_t *written,
                          uint64_t *erased);

/*
 * True for a flash with reclaim units of several planes (ftl.reclaim_planes
 * above 1), to which the three functions below belong. A handle is one of the
 * endurance group, not a namespace's placement handle.
 *
 * nvme_flash_isolates() is true for handles whose data collections mix with no
 * other's (ftl.isolated_streams). nvme_flash_unit_left() returns how many bytes
 * the host can still write with the handle before its reclaim unit is full.
 * nvme_flash_close_units() closes that unit, and returns false if it was empty.
 */
bool nvme_flash_has_units(NvmeFlash *flash);
bool nvme_flash_isolates(NvmeFlash *flash, uint16_t handle);
uint64_t nvme_flash_unit_left(NvmeFlash *flash, uint16_t handle);
bool nvme_flash_close_units(NvmeFlash *flash, uint16_t handle);

/*
 * True for a flash whose power may fail (nand.power_cuts). A flash whose power
 * cannot fail is always ready and at rest. Such a flash is announced as
 * volatile, as QEMU announces every drive.
 */
bool nvme_flash_loses_power(NvmeFlash *flash);
/* True when a power cut loses commands that have completed without a flush. */
bool nvme_flash_is_volatile(NvmeFlash *flash);
/* True when a power cut tears no logical block of `bytes` bytes. */
bool nvme_flash_takes_block(NvmeFlash *flash, uint32_t bytes);
/*
 * True when the flash is ready: its recovery is over. When a recovery ends,
 * nvme_subsys_flash_changed() is called.
 */
bool nvme_flash_is_ready(NvmeFlash *flash);
/* Returns the longest time of a recovery, in units of 500 ms, rounded up. */
uint32_t nvme_flash_ready_units(NvmeFlash *flash);
/*
 * Called when controller n shuts down in an orderly way, after its flush.
 * Returns true if the flash rests, so that the shutdown is complete. Returns
 * false if the flash has work to do. nvme_subsys_flash_changed() then tells
 * when to call this function again.
 */
bool nvme_flash_rest(NvmeFlash *flash, NvmeCtrl *n);
/*
 * Called when a controller starts, or takes back its shutdown: the flash rests
 * no longer.
 */
void nvme_flash_wake(NvmeFlash *flash);

/*
 * Implemented by hw/nvme: logs that a power cut has closed the reclaim units of
 * these handles of the subsystem's endurance group (a bit each), if the host
 * has asked for such events. Called before nvme_subsys_lose_power().
 */
void nvme_subsys_units_closed(NvmeSubsystem *subsys, uint32_t handles);
/*
 * Implemented by hw/nvme: every controller of subsys loses its power, which
 * comes back at once.
 */
void nvme_subsys_lose_power(NvmeSubsystem *subsys);
/*
 * Implemented by hw/nvme. The flash may have become ready, or have come to
 * rest, and controllers that wait for this ask again.
 */
void nvme_subsys_flash_changed(NvmeSubsystem *subsys);

/*
 * Fills at most `size` bytes of buf with the log page `lid`, and returns the
 * page's full length. Returns 0 if Scarp has no such page.
 */
size_t nvme_flash_log_page(NvmeFlash *flash, uint8_t lid, void *buf,
                           size_t size);

/*
 * Runs an NVME_FLASH_ADM_CONTROL command. Returns false if the command or its
 * argument is unknown.
 */
bool nvme_flash_command(NvmeFlash *flash, uint32_t command, uint32_t argument);

/*
 * Carries out NVME_FLASH_ADM_SCHEME with `bytes` bytes of data. Returns false
 * if the drive refuses the scheme. If `bytes` is more than
 * NVME_FLASH_SCHEME_BYTES, `data` is not read and may be NULL.
 */
bool nvme_flash_set_scheme(NvmeFlash *flash, const char *data, uint64_t bytes);

/*
 * Admin commands and log pages that the drive serves itself (flash-admin.c).
 * hw/nvme calls these functions when a controller has started, when it is reset
 * or shut down, and when it is gone. n->drive has the state that they keep for
 * the controller.
 */
void nvme_flash_ctrl_started(NvmeCtrl *n);
void nvme_flash_ctrl_stopped(NvmeCtrl *n);
void nvme_flash_ctrl_gone(NvmeCtrl *n);
/* Called when the host takes back the shutdown of an enabled controller. */
void nvme_flash_ctrl_goes_on(NvmeCtrl *n);
/*
 * Called when a Format of ns begins, at the request of n, and when it ends with
 * the given status.
 */
void nvme_flash_formats(NvmeCtrl *n, NvmeNamespace *ns, uint32_t cdw10);
void nvme_flash_formatted(NvmeCtrl *n, NvmeNamespace *ns, uint16_t status);
/*
 * Called when the host has set the controller's timestamp. `before` is the
 * earlier timestamp, as Get Features returns it.
 */
void nvme_flash_timestamp_set(NvmeCtrl *n, uint64_t before);
/*
 * Carries out an admin command whose support nvme_flash_ctrl_started() has
 * announced, and returns its status.
 */
uint16_t nvme_flash_admin(NvmeCtrl *n, NvmeRequest *req);
/*
 * Sends `len` bytes at most of log page lid, from byte `off` on. Returns
 * Invalid Field for a page that the drive does not have.
 */
uint16_t nvme_flash_get_log(NvmeCtrl *n, NvmeRequest *req, uint8_t lid,
                            uint64_t off, size_t len);

/* True for an admin command that is allowed while a Sanitize runs. */
bool nvme_sanitize_allows(uint8_t opcode, uint32_t cdw10);

/* True when controllers are to serve their queues on the virtual clock. */
bool nvme_flash_virtual_queues(NvmeFlash *flash);
/*
 * True when the flash runs on the host's clock, not on QEMU's virtual clock.
 * Its commands then carry an NvmeFlashStamp.
 */
bool nvme_flash_timed(NvmeFlash *flash);
/*
 * Returns the host's time without the time for which the machine was stopped,
 * in nanoseconds. A drive's time is this time minus the time at which the
 * drive's time was 0.
 */
int64_t nvme_flash_clock_ns(void);
/*
 * Sets the arrival time of each command that is submitted from now on, as
 * nvme_flash_clock_ns() returns it. hw/nvme sets this time before it starts a
 * submission-queue entry, and sets 0 afterwards. 0 stands for a command that
 * the device itself makes: such a command arrives when it is submitted.
 */
void nvme_flash_arrival(int64_t ns);
/*
 * Runs the drives that got commands from the submission queue which hw/nvme has
 * read. hw/nvme calls this function when it can start no further entry of that
 * queue.
 */
void nvme_flash_started(void);
/*
 * Called when an NVMe request has ended. Sets *stamp to the stamp of the flash
 * command that ended the request, or stamp->flash to NULL if no flash command
 * did.
 */
void nvme_flash_ended(NvmeFlashStamp *stamp);
/*
 * Waits until the drive's time has reached stamp->complete_ns. Only then may
 * the request's entry of the completion queue be written.
 */
void nvme_flash_wait(const NvmeFlashStamp *stamp);
/*
 * Called when the request's entry of the completion queue has been written:
 * adds the lateness of the stamp to the statistics, and clears the stamp.
 */
void nvme_flash_posted(NvmeFlashStamp *stamp);

#endif /* SCARP_NVME_FLASH_H */
