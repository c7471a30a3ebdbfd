/*
 * Scarp: admin commands that the drive carries out itself
 *
 * hw/nvme asks nvme_flash_admin() for commands and nvme_flash_get_log() for log
 * pages that it does not have itself. The files that serve them declare their
 * functions here.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_FLASH_ADMIN_H
#define SCARP_FLASH_ADMIN_H

#include "flash-int.h"

enum {
    FLASH_LOG_SELF_TEST = 0x06,
    FLASH_LOG_TELEMETRY_HOST = 0x07,
    FLASH_LOG_TELEMETRY_CTRL = 0x08,
    FLASH_LOG_EVENTS = 0x0d,
    FLASH_LOG_LBA_STATUS = 0x0e,
    FLASH_LOG_SANITIZE = 0x81,
};

typedef struct FlashSelfTest FlashSelfTest;

/* Results of a self-test, as log page 06h has them. */
typedef enum {
    SELF_TEST_PASSED = 0x0,
    SELF_TEST_ABORTED = 0x1,     /* by a Device Self-test command */
    SELF_TEST_RESET = 0x2,       /* by a reset of the controller */
    SELF_TEST_NS_REMOVED = 0x3,  /* a namespace was deleted */
    SELF_TEST_FORMATTED = 0x4,   /* by a Format */
    SELF_TEST_FAILED = 0x7,      /* a segment, which is named, failed */
    SELF_TEST_SANITIZED = 0x9,   /* by a Sanitize */
} FlashSelfTestResult;

/* State that the drive keeps for one controller. */
struct NvmeFlashCtrl {
    FlashSelfTest *test; /* the running test, and the results of earlier ones */
    char *captured;      /* text of the telemetry log, or NULL */
    GByteArray *context; /* the event log that the host reads, or NULL */
    int64_t started_ms;  /* virtual time when the controller was last enabled */
};

/*
 * Returns a log page with a copy of these bytes. The caller owns a reference to
 * each log page that a function of this header returns.
 */
GByteArray *flash_log_page(const void *page, size_t bytes);

/*
 * Returns the namespace that a command names by nsid. Returns NULL, and sets
 * *status to the status of the command, if n has no such namespace.
 */
NvmeNamespace *flash_admin_ns(NvmeCtrl *n, uint32_t nsid, uint16_t *status);

/* ---- flash-self-test.c --------------------------------------------------- */

FlashSelfTest *flash_self_test_new(NvmeCtrl *n);
void flash_self_test_free(FlashSelfTest *test);
/* Returns the minutes that an extended self-test of n's namespaces takes. */
uint16_t flash_self_test_minutes(NvmeCtrl *n);
uint16_t flash_self_test_command(FlashSelfTest *test, uint32_t nsid,
                                 uint8_t code);
/*
 * Ends a running test of ns with `result`. NULL stands for any namespace. Does
 * nothing if no such test runs.
 */
void flash_self_test_stop(FlashSelfTest *test, const NvmeNamespace *ns,
                          FlashSelfTestResult result);
/*
 * Called when the controller is reset or shut down: a short test ends, and an
 * extended one pauses until flash_self_test_resume().
 */
void flash_self_test_pause(FlashSelfTest *test);
void flash_self_test_resume(FlashSelfTest *test);
/* Returns log page 06h. */
GByteArray *flash_self_test_log(const FlashSelfTest *test);

/* ---- flash-lba-status.c -------------------------------------------------- */

/* Get LBA Status. */
uint16_t flash_lba_status_command(NvmeCtrl *n, NvmeRequest *req);
/* Returns log page 0Eh, which says that no block is unreadable. */
GByteArray *flash_lba_status_log(void);

/* ---- flash-sanitize.c ---------------------------------------------------- */

/*
 * Carries out a Sanitize command with this cdw10, and returns its status. Block
 * erase begins on nvme_flash_of_subsys(). Without such a flash the status of
 * block erase is Invalid Field.
 */
uint16_t flash_sanitize_command(NvmeCtrl *n, uint32_t cdw10);
/* Returns log page 81h. */
GByteArray *flash_sanitize_log(NvmeFlash *flash);

/* ---- flash-events.c ------------------------------------------------------ */

enum {
    FLASH_EVENTS_READ = 0,      /* read the context's copy of the log */
    FLASH_EVENTS_ESTABLISH = 1, /* copy the log into a context, and read */
    FLASH_EVENTS_RELEASE = 2,   /* free the context */
};

/* Types of persistent events. */
typedef enum {
    EVENT_TIMESTAMP = 0x03,
    EVENT_STARTED = 0x04,
    EVENT_NAMESPACE = 0x06,
    EVENT_FORMAT = 0x07,
    EVENT_FORMATTED = 0x08,
    EVENT_SANITIZE = 0x09,
    EVENT_SANITIZED = 0x0a,
    EVENT_TELEMETRY = 0x0c,
} FlashEvent;

/* Adds an event of the controller, with a copy of `data`. */
void flash_event(NvmeCtrl *n, FlashEvent type, const void *data,
                 uint16_t bytes);
/* Adds the event that the controller has started. */
void flash_event_started(NvmeCtrl *n);
/* Adds the event that the host has set the timestamp, which was `before`. */
void flash_event_timestamp(NvmeCtrl *n, uint64_t before);
/*
 * Adds the event that a host has created or deleted ns. `select` is
 * NVME_NS_MANAGEMENT_CREATE or NVME_NS_MANAGEMENT_DELETE.
 */
void flash_event_ns(NvmeCtrl *n, uint8_t select, NvmeNamespace *ns);
/* Add the events that a Format of ns begins, and that the Format ends. */
void flash_event_formats(NvmeCtrl *n, NvmeNamespace *ns, uint32_t cdw10);
void flash_event_formatted(NvmeCtrl *n, NvmeNamespace *ns, uint16_t status);
/*
 * Carries out an action on log page 0Dh, and returns the action's status. If
 * the action reads the page, *log is set to it, and the caller owns the
 * reference.
 */
uint16_t flash_events_log(NvmeCtrl *n, uint8_t action, GByteArray **log);
/* Frees the context from which the host reads the log, if there is one. */
void flash_events_release(NvmeCtrl *n);

/* ---- flash-telemetry.c --------------------------------------------------- */

/*
 * Returns log page 07h: with `capture` a new capture, otherwise the latest
 * capture that was kept. The host reads from byte `off` on. A new capture that
 * ends before byte `off` is not kept, as the read then fails.
 */
GByteArray *flash_telemetry_log(NvmeCtrl *n, bool capture, uint64_t off);
/* Returns log page 08h. */
GByteArray *flash_telemetry_of_controller(NvmeCtrl *n);
/* True when `len` bytes from byte `off` on are whole blocks of the log. */
bool flash_telemetry_in_blocks(uint64_t off, size_t len);

#endif /* SCARP_FLASH_ADMIN_H */
