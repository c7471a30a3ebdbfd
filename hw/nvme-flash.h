/*
 * Scarp: NVMe flash device, as hw/nvme sees it
 *
 * A device without a bus that owns the flash engine. -device nvme-ns,flash=ID
 * puts namespaces on it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_NVME_FLASH_H
#define SCARP_NVME_FLASH_H

#define TYPE_NVME_FLASH "nvme-flash"
typedef struct NvmeFlash NvmeFlash;
typedef struct NvmeCtrl NvmeCtrl;
typedef struct NvmeNamespace NvmeNamespace;
typedef struct NvmeSmartLog NvmeSmartLog;
typedef struct NvmeSubsystem NvmeSubsystem;

enum {
    NVME_FLASH_LOG_STATS = 0xca,   /* log page: see ftl/scarp.h */
    NVME_FLASH_LOG_SCHEME = 0xcb,  /* log page: see flash-scheme.c */
    NVME_FLASH_ADM_CONTROL = 0xc0, /* admin opcode, without data */
    /*
     * Admin opcode, with data to the device: the scheme from the next GC
     * decision on, "NAME" or "NAME:KEY=VALUE,...", padded with zeroes. cdw10:
     * the data's length in dwords. Refused with Invalid Field;
     * NVME_FLASH_LOG_SCHEME then has the reason.
     */
    NVME_FLASH_ADM_SCHEME = 0xc1,
};

/*
 * A stamp: when a command came to a flash on the host's clock, what its model
 * wanted, and which command it was. hw/nvme only keeps it until the command is
 * posted.
 */
typedef struct {
    NvmeFlash *flash; /* NULL: the request is not timed */
    int64_t arrived_ns;
    int64_t submit_ns;
    int64_t complete_ns;
    uint32_t seq;
    uint8_t op;
} NvmeFlashStamp;

#define NVME_FLASH_SCHEME_DWORDS 256
#define NVME_FLASH_SCHEME_BYTES (4 * NVME_FLASH_SCHEME_DWORDS)

/* Values of cdw10 of NVME_FLASH_ADM_CONTROL. */
enum {
    NVME_FLASH_CONTROL_CPU_SPEED = 1, /* cdw11: icount shift, signed */
    NVME_FLASH_CONTROL_RESET_STATS = 2,
    /*
     * The power fails, and comes back at once. cdw11: after so many
     * microseconds, whatever happens until then. 0: now; the command never
     * ends.
     */
    NVME_FLASH_CONTROL_CUT_POWER = 3,
};

/*
 * Gives a namespace the next range of the flash (params.size bytes, or the
 * rest), and a block backend of that size that never sees data.
 */
bool nvme_flash_attach_ns(NvmeNamespace *ns, Error **errp);
/* Removes a namespace; its range of the flash, and the contents, stay. */
void nvme_flash_detach_ns(NvmeNamespace *ns);

/*
 * Fills the namespace's Identify data in its present format: how to write to
 * the flash without a read before it.
 */
void nvme_flash_identify(NvmeNamespace *ns);

/*
 * Fills the flash's part of the SMART log page: spare, wear, warnings, busy
 * time. For several flashes, one call each: the page has the worst.
 */
void nvme_flash_smart(NvmeFlash *flash, NvmeSmartLog *smart);
/*
 * Implemented by hw/nvme: tells the hosts of a critical warning, if they asked
 * for it. False: none has.
 */
bool nvme_subsys_smart_event(NvmeSubsystem *subsys, uint8_t event);

/*
 * Returns the FDP statistics log page of the endurance group on this flash:
 * bytes that the host has written, that flash was programmed with, and that
 * were erased.
 */
void nvme_flash_fdp_stats(NvmeFlash *flash, uint64_t *host, uint64_t *written,
                          uint64_t *erased);

/*
 * True for a flash whose power may fail (nand.power_cuts). Any other is always
 * ready, at rest, and said to be volatile, as QEMU says it of every drive.
 */
bool nvme_flash_loses_power(NvmeFlash *flash);
/* True when a power cut loses commands that have completed without a flush. */
bool nvme_flash_is_volatile(NvmeFlash *flash);
/* True when logical blocks of so many bytes are whole after a power cut. */
bool nvme_flash_takes_block(NvmeFlash *flash, uint32_t bytes);
/*
 * True when the flash has recovered. nvme_subsys_flash_changed() is called when
 * it has.
 */
bool nvme_flash_is_ready(NvmeFlash *flash);
/* Returns the longest recovery, in units of 500 ms, rounded up. */
uint32_t nvme_flash_ready_units(NvmeFlash *flash);
/*
 * A controller shuts down in an orderly way, and has flushed. False: the flash
 * comes to rest first, and nvme_subsys_flash_changed() tells when to ask again.
 */
bool nvme_flash_rest(NvmeFlash *flash, NvmeCtrl *n);
/* Called when a controller starts, or takes its shutdown back. */
void nvme_flash_wake(NvmeFlash *flash);

/* Implemented by hw/nvme: power fails and comes back, for every controller. */
void nvme_subsys_lose_power(NvmeSubsystem *subsys);
/* Implemented by hw/nvme: a state that controllers wait for may have come. */
void nvme_subsys_flash_changed(NvmeSubsystem *subsys);

/*
 * Fills at most size bytes of one of Scarp's log pages and returns its full
 * length; 0: Scarp has no such page, and the caller refuses it.
 */
size_t nvme_flash_log_page(NvmeFlash *flash, uint8_t lid, void *buf,
                           size_t size);

/*
 * Runs an NVME_FLASH_ADM_CONTROL command. False: the command or its argument is
 * unknown.
 */
bool nvme_flash_command(NvmeFlash *flash, uint32_t command, uint32_t argument);

/*
 * Runs NVME_FLASH_ADM_SCHEME. False: refused. Data of more than
 * NVME_FLASH_SCHEME_BYTES is not read, and may be NULL.
 */
bool nvme_flash_set_scheme(NvmeFlash *flash, const char *data, uint64_t bytes);

/*
 * True when the flash runs on the host's clock, not on QEMU's virtual one: its
 * commands then carry an NvmeFlashStamp.
 */
bool nvme_flash_timed(NvmeFlash *flash);
/* Returns the time of the clock of the stamps. */
int64_t nvme_flash_clock_ns(void);
/*
 * Sets the arrival of the commands that are submitted from here on. 0: the
 * entry has been started; a command that no entry starts arrives when it is
 * submitted.
 */
void nvme_flash_arrival(int64_t ns);
/*
 * All entries of a queue that could be have been started: runs the drives that
 * got commands from them.
 */
void nvme_flash_started(void);
/*
 * Called when a request has ended. Sets *stamp to the stamp of the flash
 * command that ended it; stamp->flash is NULL if none did.
 */
void nvme_flash_ended(NvmeFlashStamp *stamp);
/* Waits until the request's entry of the completion queue may be written. */
void nvme_flash_wait(const NvmeFlashStamp *stamp);
/* The request's entry of the completion queue has been written. */
void nvme_flash_posted(NvmeFlashStamp *stamp);

#endif /* SCARP_NVME_FLASH_H */
