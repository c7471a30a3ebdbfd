/*
 * NVMe's contract for power cuts, checked command by command.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "replay/contract.h"

#include <string.h>

#define NEVER UINT64_MAX
#define NONE UINT32_MAX

/*
 * A command of the host. `begins` and `ends` are the numbers of its submission
 * and of its completion: all submissions and completions are counted together,
 * in the order in which they happen.
 */
typedef struct {
    ScarpOp op;
    bool fua;
    bool durable; /* durable at its end: FUA, or no volatile cache */
    int64_t submit_ns, complete_ns; /* complete_ns: -1 while under way */
    /* sectors that the command writes: `first` to `end` - 1 */
    uint64_t first, end;
    uint64_t begins, ends;
} Command;

/* A version of a sector's contents, which a command wrote. */
typedef struct {
    uint32_t id;      /* the write's id; 0: zeroes at the beginning */
    uint32_t command; /* its command; NONE: older than the contract */
    uint32_t next;
} Version;

struct ScarpContract {
    ScarpTerms terms;
    uint32_t *head;    /* [sector]: its newest version */
    uint32_t *left;    /* [sector]: versions to come before the next prune() */
    GArray *versions;  /* Version */
    uint32_t spare;    /* the first unused element of `versions` */
    GArray *commands;  /* of Command; each may have written many versions */
    GHashTable *told;  /* by id: index in `commands`, plus 1 */
    uint64_t now;
    uint64_t flushed;  /* commands that ended before this number are durable */
    uint32_t flush_id; /* the flush that set `flushed` */
};

#define VERSION(contract, i) g_array_index((contract)->versions, Version, i)
#define COMMAND(contract, i) g_array_index((contract)->commands, Command, i)

static void add(ScarpContract *contract, uint64_t sector, Version version)
{
    uint32_t i = contract->spare;

    version.next = contract->head[sector];
    if (i == NONE) {
        i = contract->versions->len;
        g_array_append_val(contract->versions, version);
    } else {
        contract->spare = VERSION(contract, i).next;
        VERSION(contract, i) = version;
    }
    contract->head[sector] = i;
}

ScarpContract *scarp_contract_new(const ScarpTerms *terms)
{
    ScarpContract *contract = g_new0(ScarpContract, 1);

    contract->terms = *terms;
    contract->head = g_new(uint32_t, terms->sectors);
    memset(contract->head, 0xff, terms->sectors * sizeof(uint32_t));
    contract->left = g_new0(uint32_t, terms->sectors);
    contract->versions = g_array_new(false, false, sizeof(Version));
    contract->spare = NONE;
    contract->commands = g_array_new(false, false, sizeof(Command));
    contract->told = g_hash_table_new(NULL, NULL);
    contract->now = 1;
    for (uint64_t sector = 0; sector < terms->sectors; sector++) {
        add(contract, sector, (Version) { .command = NONE });
    }
    return contract;
}

ScarpContract *scarp_contract_copy(const ScarpContract *contract)
{
    ScarpContract *copy = g_memdup2(contract, sizeof(*contract));
    GHashTableIter iter;
    gpointer id, place;

    copy->head = g_memdup2(contract->head,
                           contract->terms.sectors * sizeof(uint32_t));
    copy->left = g_memdup2(contract->left,
                           contract->terms.sectors * sizeof(uint32_t));
    copy->versions = g_array_copy(contract->versions);
    copy->commands = g_array_copy(contract->commands);
    copy->told = g_hash_table_new(NULL, NULL);
    g_hash_table_iter_init(&iter, contract->told);
    while (g_hash_table_iter_next(&iter, &id, &place)) {
        g_hash_table_insert(copy->told, id, place);
    }
    return copy;
}

void scarp_contract_free(ScarpContract *contract)
{
    if (contract) {
        g_free(contract->head);
        g_free(contract->left);
        g_array_unref(contract->versions);
        g_array_unref(contract->commands);
        g_hash_table_unref(contract->told);
        g_free(contract);
    }
}

void scarp_contract_begin(ScarpContract *contract, const uint32_t *found)
{
    g_array_set_size(contract->versions, 0);
    g_array_set_size(contract->commands, 0);
    contract->spare = NONE;
    g_hash_table_remove_all(contract->told);
    contract->now = 1;
    contract->flushed = 0;
    for (uint64_t sector = 0; sector < contract->terms.sectors; sector++) {
        contract->head[sector] = NONE;
        contract->left[sector] = 0;
        add(contract, sector, (Version) { .id = found[sector],
                                          .command = NONE });
    }
}

/* ---- Commands ----------------------------------------------------------- */

static Command *told_of(const ScarpContract *contract, uint32_t id)
{
    uint32_t place = GPOINTER_TO_UINT(
        g_hash_table_lookup(contract->told, GUINT_TO_POINTER(id)));

    return place ? &COMMAND(contract, place - 1) : NULL;
}

/*
 * Returns the command that wrote this version of a sector's contents. NULL: the
 * sector had these contents when the contract began.
 */
static const Command *command_of(const ScarpContract *contract,
                                 const Version *version)
{
    return version->command == NONE ? NULL
                                    : &COMMAND(contract, version->command);
}

static uint64_t begins(const ScarpContract *contract, const Version *version)
{
    const Command *command = command_of(contract, version);

    return command ? command->begins : 0;
}

/*
 * Sets *first and *end to the range of sectors that cmd writes. A deallocation
 * changes only whole units.
 */
static void range_of(const ScarpContract *contract, const ScarpCmd *cmd,
                     uint64_t *first, uint64_t *end)
{
    uint64_t unit = contract->terms.unit_sectors;

    *first = cmd->offset_bytes / SCARP_SECTOR_BYTES;
    *end = *first + cmd->length_bytes / SCARP_SECTOR_BYTES;
    if (cmd->op == SCARP_OP_DEALLOCATE) {
        *first = (*first + unit - 1) / unit * unit;
        *end = MAX(*end / unit * unit, *first);
    }
    if (cmd->op == SCARP_OP_READ || cmd->op == SCARP_OP_FLUSH ||
        (cmd->op == SCARP_OP_DEALLOCATE && !contract->terms.deallocates)) {
        *end = *first;
    }
}

/* True when the command that wrote the version had ended before `moment`. */
static bool is_over(const ScarpContract *contract, const Version *version,
                    uint64_t moment)
{
    const Command *command = command_of(contract, version);

    return (command ? command->ends : 0) < moment;
}

static bool is_durable(const ScarpContract *contract, const Version *version)
{
    const Command *command = command_of(contract, version);

    return !command || (command->ends != NEVER &&
                        (command->durable || command->ends < contract->flushed));
}

/*
 * Returns the moment at which the command that wrote the newest durable version
 * of the sector began.
 */
static uint64_t durable_since(const ScarpContract *contract, uint64_t sector)
{
    uint64_t latest = 0;

    for (uint32_t i = contract->head[sector]; i != NONE;
         i = VERSION(contract, i).next) {
        if (is_durable(contract, &VERSION(contract, i))) {
            latest = MAX(latest, begins(contract, &VERSION(contract, i)));
        }
    }
    return latest;
}

/*
 * Drops versions that are older than a durable one. The next prune comes when
 * the sector has twice as many versions as this prune leaves. So on average the
 * cost of pruning is constant for each write, however many writes are under
 * way.
 */
static void prune(ScarpContract *contract, uint64_t sector)
{
    uint64_t latest = durable_since(contract, sector);

    contract->left[sector] = 0;
    for (uint32_t *at = &contract->head[sector]; *at != NONE;) {
        uint32_t i = *at;

        if (is_over(contract, &VERSION(contract, i), latest)) {
            *at = VERSION(contract, i).next;
            VERSION(contract, i).next = contract->spare;
            contract->spare = i;
        } else {
            at = &VERSION(contract, i).next;
            contract->left[sector]++;
        }
    }
}

void scarp_contract_submit(ScarpContract *contract, const ScarpCmd *cmd,
                           uint32_t id)
{
    uint32_t place = contract->commands->len;
    Command command = {
        .op = cmd->op, .fua = cmd->fua, .complete_ns = -1,
        .durable = cmd->fua || !contract->terms.is_volatile,
        .submit_ns = cmd->submit_ns, .begins = ++contract->now, .ends = NEVER,
    };

    range_of(contract, cmd, &command.first, &command.end);
    g_array_append_val(contract->commands, command);
    g_hash_table_replace(contract->told, GUINT_TO_POINTER(id),
                         GUINT_TO_POINTER(place + 1));
    for (uint64_t sector = command.first; sector < command.end; sector++) {
        if (!contract->left[sector]--) {
            prune(contract, sector);
        }
        add(contract, sector, (Version) { .id = id, .command = place });
    }
}

void scarp_contract_complete(ScarpContract *contract, uint32_t id,
                             int64_t complete_ns)
{
    Command *told = told_of(contract, id);

    contract->now++;
    if (!told) {
        return; /* this command was submitted before a power cut */
    }
    told->complete_ns = complete_ns;
    told->ends = contract->now;
    if (told->op == SCARP_OP_FLUSH && told->begins > contract->flushed) {
        contract->flushed = told->begins;
        contract->flush_id = id;
    }
}

/* ---- Judging ------------------------------------------------------------ */

typedef struct {
    const ScarpContract *contract;
    ScarpHolds holds;
    void *opaque;
} Judge;

/* True when the contents of the version are zeroes. */
static bool is_zeroes(const ScarpContract *contract, const Version *version)
{
    const Command *command = command_of(contract, version);

    return command ? command->op != SCARP_OP_WRITE : !version->id;
}

static bool shows(const Judge *judge, uint64_t sector, const Version *version)
{
    return judge->holds(judge->opaque, sector,
                        is_zeroes(judge->contract, version) ? 0 : version->id);
}

/*
 * True when the sector shows a version that was written by a command which had
 * not ended at `moment`.
 */
static bool shows_since(const Judge *judge, uint64_t sector, uint64_t moment)
{
    const ScarpContract *contract = judge->contract;

    for (uint32_t i = contract->head[sector]; i != NONE;
         i = VERSION(contract, i).next) {
        if (!is_over(contract, &VERSION(contract, i), moment) &&
            shows(judge, sector, &VERSION(contract, i))) {
            return true;
        }
    }
    return false;
}

/*
 * Adds a flush to `story`, the text about a fault: of all completed flushes the
 * flush that was submitted last. An earlier flush may have made the write
 * durable already.
 */
static void tell_flush(const ScarpContract *contract, GString *story)
{
    const Command *flush = told_of(contract, contract->flush_id);

    g_string_append_printf(story, ", and durable by flush %u, submitted at %"
                           G_GINT64_FORMAT " ns, completed at %"
                           G_GINT64_FORMAT " ns", contract->flush_id,
                           flush->submit_ns, flush->complete_ns);
}

static void tell_version(const ScarpContract *contract, GString *story,
                         const Version *version)
{
    const Command *told = command_of(contract, version);
    static const char *const names[SCARP_OP__COUNT] = {
        [SCARP_OP_WRITE] = "write", [SCARP_OP_WRITE_ZEROES] = "write zeroes",
        [SCARP_OP_DEALLOCATE] = "deallocate",
    };

    if (!told) {
        g_string_append(story, "\n  what was there before");
        return;
    }
    g_string_append_printf(story, "\n  %s %u of sectors %" G_GUINT64_FORMAT
                           " to %" G_GUINT64_FORMAT "%s, submitted at %"
                           G_GINT64_FORMAT " ns", names[told->op], version->id,
                           told->first, told->end - 1,
                           told->fua ? " with FUA" : "", told->submit_ns);
    if (told->ends == NEVER) {
        g_string_append(story, ", under way when the power failed");
        return;
    }
    g_string_append_printf(story, ", completed at %" G_GINT64_FORMAT " ns",
                           told->complete_ns);
    if (told->durable) {
        g_string_append_printf(story, ", and durable by that%s",
                               told->fua ? "" : " (the cache is not volatile)");
    } else if (is_durable(contract, version)) {
        tell_flush(contract, story);
    } else {
        g_string_append(story, ", not flushed");
    }
}

static char *tell_sector(const Judge *judge, uint64_t sector)
{
    const ScarpContract *contract = judge->contract;
    GString *story = g_string_new(NULL);
    bool any = false;

    g_string_append_printf(story, "sector %" G_GUINT64_FORMAT " has ", sector);
    for (uint32_t i = contract->head[sector]; i != NONE && !any;
         i = VERSION(contract, i).next) {
        any = shows(judge, sector, &VERSION(contract, i));
        if (any) {
            g_string_append_printf(story, "what was there before write %u",
                                   VERSION(contract, contract->head[sector])
                                       .id);
        }
    }
    if (!any) {
        g_string_append(story, judge->holds(judge->opaque, sector, 0)
                        ? "zeroes, or what was there at first"
                        : "what none of its last writes has put there");
    }
    g_string_append(story, "; its writes, the newest first, back to the last "
                    "one that is durable:");
    for (uint32_t i = contract->head[sector]; i != NONE;
         i = VERSION(contract, i).next) {
        tell_version(contract, story, &VERSION(contract, i));
    }
    return g_string_free(story, false);
}

/*
 * True for a write of two sectors or more inside one unit: the drive must do
 * all of it, or nothing.
 */
static bool is_atomic(const ScarpContract *contract, const Command *told)
{
    uint64_t n = contract->terms.unit_sectors;

    return told && told->end - told->first > 1 &&
           told->first / n == (told->end - 1) / n;
}

/*
 * True when the sector shows the contents of a permitted version other than
 * `version`. The sector then need not show `version`.
 */
static bool shows_other(const Judge *judge, uint64_t sector,
                        const Version *version)
{
    const ScarpContract *contract = judge->contract;
    uint64_t since = durable_since(contract, sector);

    for (uint32_t i = contract->head[sector]; i != NONE;
         i = VERSION(contract, i).next) {
        if (&VERSION(contract, i) != version &&
            !is_over(contract, &VERSION(contract, i), since) &&
            shows(judge, sector, &VERSION(contract, i))) {
            return true;
        }
    }
    return false;
}

/*
 * Returns a text about the fault if the sector shows this version, and another
 * sector of the same atomic write shows an older version. Returns NULL if there
 * is no such fault.
 */
static char *shorn(const Judge *judge, uint64_t sector, const Version *version)
{
    const Command *told = command_of(judge->contract, version);

    if (is_zeroes(judge->contract, version) ||
        !is_atomic(judge->contract, told) ||
        !shows(judge, sector, version) ||
        shows_other(judge, sector, version)) {
        return NULL;
    }
    for (uint64_t other = told->first; other < told->end; other++) {
        if (!shows_since(judge, other, told->begins)) {
            return g_strdup_printf(
                "sector %" G_GUINT64_FORMAT " has write %u, of sectors %"
                G_GUINT64_FORMAT " to %" G_GUINT64_FORMAT " in one unit, and "
                "sector %" G_GUINT64_FORMAT " what was there before: it is "
                "shorn", sector, version->id, told->first, told->end - 1,
                other);
        }
    }
    return NULL;
}

static char *judge_sector(const Judge *judge, uint64_t sector)
{
    const ScarpContract *contract = judge->contract;
    char *story = NULL;

    if (!shows_since(judge, sector, durable_since(contract, sector))) {
        return tell_sector(judge, sector);
    }
    for (uint32_t i = contract->head[sector]; i != NONE && !story;
         i = VERSION(contract, i).next) {
        story = shorn(judge, sector, &VERSION(contract, i));
    }
    return story;
}

char *scarp_contract_judge(ScarpContract *contract, ScarpHolds holds,
                           void *opaque)
{
    Judge judge = { contract, holds, opaque };
    char *story = NULL;

    for (uint64_t sector = 0; sector < contract->terms.sectors && !story;
         sector++) {
        prune(contract, sector);
        story = judge_sector(&judge, sector);
    }
    return story;
}
