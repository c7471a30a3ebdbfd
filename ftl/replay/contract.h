/*
 * What a drive may contain after a power cut: NVMe's contract, in code.
 *
 * Each sector holds the last write that was made durable, or one that was
 * submitted later; and of a write inside one unit (AWUPF) all sectors, or none.
 * A write is durable when it has completed with FUA, when a flush that was
 * submitted after it had completed has completed itself, or, on a drive whose
 * cache does not forget (no cache, or enough energy), when it has completed.
 * Sectors are independent of each other otherwise.
 *
 * It knows the commands and nothing of the drive.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_CONTRACT_H
#define SCARP_CONTRACT_H

#include "scarp.h"

typedef struct ScarpContract ScarpContract;

typedef struct {
    uint64_t sectors;      /* of the drive */
    uint32_t unit_sectors; /* written whole or not at all, from multiples on */
    bool is_volatile;      /* completed is not durable yet */
    /* Deallocated sectors are zeroes, as durable as if they were written. */
    bool deallocates;
} ScarpTerms;

ScarpContract *scarp_contract_new(const ScarpTerms *terms);
ScarpContract *scarp_contract_copy(const ScarpContract *contract);
void scarp_contract_free(ScarpContract *contract);

/*
 * found[sector] is the id of the write that is there, and durable; 0: none.
 * Nothing else is known, and no id is in use.
 */
void scarp_contract_begin(ScarpContract *contract, const uint32_t *found);

/*
 * A command was submitted, then completed, in the order in which that happened;
 * id is the caller's for it, and not 0.  Reads may be told, and say nothing.
 */
void scarp_contract_submit(ScarpContract *contract, const ScarpCmd *cmd,
                           uint32_t id);
void scarp_contract_complete(ScarpContract *contract, uint32_t id,
                             int64_t complete_ns);

/*
 * Whether the sector has what that write put there; id 0: zeroes, or what was
 * there when the contract began.  More than one write may have put the same.
 */
typedef bool (*ScarpHolds)(void *opaque, uint64_t sector, uint32_t id);

/*
 * The power has failed.  NULL: what is found is permitted.  Else a story of one
 * sector for which it is not, in words; g_free() it.  The contract stays as it
 * was: scarp_contract_begin() for a drive that goes on.
 */
char *scarp_contract_judge(ScarpContract *contract, ScarpHolds holds,
                           void *opaque);

#endif /* SCARP_CONTRACT_H */
