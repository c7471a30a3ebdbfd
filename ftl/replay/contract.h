/*
 * NVMe's contract: what a drive may contain after a power cut.
 *
 * Each sector holds the last write that was made durable, or one that was
 * submitted later; and of a write inside one unit (AWUPF) all sectors, or none.
 * A write is durable when it has completed with FUA, when a flush that was
 * submitted after it had completed has itself completed, or, on a drive whose
 * cache does not forget (no cache, or enough energy), when it has completed.
 * Otherwise sectors are independent of each other.
 *
 * The contract knows the commands and nothing of the drive.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_CONTRACT_H
#define SCARP_CONTRACT_H

#include "scarp.h"

typedef struct ScarpContract ScarpContract;

typedef struct {
    uint64_t sectors;      /* of the drive */
    uint32_t unit_sectors; /* aligned group that is written as a whole */
    bool is_volatile;      /* completed does not mean durable */
    /* Deallocated sectors are zeroes, as durable as if they were written. */
    bool deallocates;
} ScarpTerms;

ScarpContract *scarp_contract_new(const ScarpTerms *terms);
ScarpContract *scarp_contract_copy(const ScarpContract *contract);
void scarp_contract_free(ScarpContract *contract);

/*
 * Starts the contract anew: found[sector] is the id of the write that is there,
 * and durable; 0: none. No other id is in use.
 */
void scarp_contract_begin(ScarpContract *contract, const uint32_t *found);

/*
 * Reports a submission, and a completion, in the order in which they happen;
 * the caller chooses id, which must not be 0. Reads may be reported, and have
 * no effect.
 */
void scarp_contract_submit(ScarpContract *contract, const ScarpCmd *cmd,
                           uint32_t id);
void scarp_contract_complete(ScarpContract *contract, uint32_t id,
                             int64_t complete_ns);

/*
 * True when the sector has the contents that write id put there; id 0: zeroes,
 * or the contents when the contract began. Several writes may have put the
 * same.
 */
typedef bool (*ScarpHolds)(void *opaque, uint64_t sector, uint32_t id);

/*
 * Judges the sectors after a power cut. NULL: all are permitted. Otherwise the
 * story of one that is not; free it with g_free(). The contract does not
 * change: scarp_contract_begin() restarts it for a drive that goes on.
 */
char *scarp_contract_judge(ScarpContract *contract, ScarpHolds holds,
                           void *opaque);

#endif /* SCARP_CONTRACT_H */
