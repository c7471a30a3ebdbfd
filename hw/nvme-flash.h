/*
 * Scarp: NVMe flash device, as hw/nvme sees it
 *
 * A device without a bus that owns the flash engine.  Namespaces are put on
 * it with -device nvme-ns,flash=ID.
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
     * decision on, "NAME" or "NAME:KEY=VALUE,...", padded with zeroes.
     * cdw10: the data's length in dwords.  Refused with Invalid Field; why
     * is in NVME_FLASH_LOG_SCHEME.
     */
    NVME_FLASH_ADM_SCHEME = 0xc1,
};

/*
 * When a command came to a flash on the host's clock, what its model wanted,
 * and which it was.  hw/nvme only keeps it until the command is posted.
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

/* cdw10 of NVME_FLASH_ADM_CONTROL */
enum {
    NVME_FLASH_CONTROL_CPU_SPEED = 1, /* cdw11: icount shift, signed */
    NVME_FLASH_CONTROL_RESET_STATS = 2,
    /*
     * The power fails, and comes back at once.  cdw11: in so many microseconds,
     * whatever happens until then.  0: now; the command never ends.
     */
    NVME_FLASH_CONTROL_CUT_POWER = 3,
};

/*
 * Give a namespace the next range of the flash (params.size bytes, or what
 * is left), and a block backend of that size that never sees data.
 */
bool nvme_flash_attach_ns(NvmeNamespace *ns, Error **errp);
/* It goes; its range of the flash, and what is there, stays. */
void nvme_flash_detach_ns(NvmeNamespace *ns);

/*
 * What Identify says of a namespace in its present format: how to write to the
 * flash without a read before it.
 */
void nvme_flash_identify(NvmeNamespace *ns);

/*
 * What only the flash knows of the SMART log page: spare, wear, warnings, busy
 * time.  For several flashes, one call each: the page says the worst.
 */
void nvme_flash_smart(NvmeFlash *flash, NvmeSmartLog *smart);
/*
 * hw/nvme's: tell the hosts of a critical warning, if they asked for it.  False:
 * none has.
 */
bool nvme_subsys_smart_event(NvmeSubsystem *subsys, uint8_t event);

/*
 * The FDP statistics log page of the endurance group on this flash: bytes that
 * the host has written, that flash was programmed with, and that were erased.
 */
void nvme_flash_fdp_stats(NvmeFlash *flash, uint64_t *host, uint64_t *written,
                          uint64_t *erased);

/*
 * Of a flash whose power may fail (nand.power_cuts).  Any other is always
 * ready, at rest, and said to be volatile, as QEMU says it of every drive.
 */
bool nvme_flash_loses_power(NvmeFlash *flash);
/* What has completed, and was not flushed, is lost then. */
bool nvme_flash_is_volatile(NvmeFlash *flash);
/* Logical blocks of so many bytes are whole after a cut. */
bool nvme_flash_takes_block(NvmeFlash *flash, uint32_t bytes);
/* It has recovered.  When it has, nvme_subsys_flash_changed() is called. */
bool nvme_flash_is_ready(NvmeFlash *flash);
/* How long that takes at most, in units of 500 ms, rounded up. */
uint32_t nvme_flash_ready_units(NvmeFlash *flash);
/*
 * The controller shuts down in an orderly way, and has flushed.  False: the
 * flash is to come to rest first, and nvme_subsys_flash_changed() says when to
 * ask again.
 */
bool nvme_flash_rest(NvmeFlash *flash, NvmeCtrl *n);
/* A controller starts, or the one that asked has thought better of it. */
void nvme_flash_wake(NvmeFlash *flash);

/* hw/nvme's: power fails and is there again, for every controller. */
void nvme_subsys_lose_power(NvmeSubsystem *subsys);
/* hw/nvme's: what controllers wait for may have come. */
void nvme_subsys_flash_changed(NvmeSubsystem *subsys);

/* Fill at most size bytes of one of our pages and return its full length. */
size_t nvme_flash_log_page(NvmeFlash *flash, uint8_t lid, void *buf,
                           size_t size);

/* False if the command or its argument is not known. */
bool nvme_flash_command(NvmeFlash *flash, uint32_t command, uint32_t argument);

/*
 * NVME_FLASH_ADM_SCHEME.  False if refused.  Data of more than
 * NVME_FLASH_SCHEME_BYTES is not looked at, and may be NULL.
 */
bool nvme_flash_set_scheme(NvmeFlash *flash, const char *data, uint64_t bytes);

/* Are the flash's commands to be stamped?  They are on the host's clock. */
bool nvme_flash_timed(NvmeFlash *flash);
/* The clock of the stamps. */
int64_t nvme_flash_clock_ns(void);
/*
 * Commands that are submitted from here on arrived at that time.  0: the entry
 * has been started; a command that no entry starts arrives when it is submitted.
 */
void nvme_flash_arrival(int64_t ns);
/*
 * A queue's entries have been started, as far as they can be: run the drives
 * that got commands from them.
 */
void nvme_flash_started(void);
/*
 * A request has ended.  Sets the stamp of the flash command whose end ended it;
 * stamp->flash is NULL if there was none.
 */
void nvme_flash_ended(NvmeFlashStamp *stamp);
/* Its entry of the completion queue may be written: returns no earlier. */
void nvme_flash_wait(const NvmeFlashStamp *stamp);
/* Its entry of the completion queue has been written. */
void nvme_flash_posted(NvmeFlashStamp *stamp);

#endif /* SCARP_NVME_FLASH_H */
