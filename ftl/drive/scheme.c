/*
 * Schemes. A scheme has one policy for each decision (axis) of the FTL, such as
 * which block GC takes as its victim. The user chooses policies by their names,
 * joined by '+', for example gc-par+random. The other axes get their default
 * policies.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "drive/internal.h"
#include "flow/ops.h"
#include "policies.h"

#include <string.h>

/*
 * All policies that a user may name. A policy that is not listed here is the
 * default of drives that can have no other (fallback()), or is brought along by
 * a listed policy (ScarpPolicy.brings). A new policy is added here and to
 * policies.h, and nowhere else in the core.
 */
static const ScarpPolicy *const policies[] = {
    &scarp_hil_noop.policy,
    &scarp_hil_deadline.policy,
    &scarp_hil_anticipatory.policy,
    &scarp_hil_flash_aware.policy,
    &scarp_hil_hios_1.policy,
    &scarp_hil_hios_2.policy,
    &scarp_alloc_static.policy,
    &scarp_alloc_dynamic.policy,
    &scarp_alloc_striped.policy,
    &scarp_victim_greedy.policy,
    &scarp_victim_fifo.policy,
    &scarp_victim_random.policy,
    &scarp_victim_d_choices.policy,
    &scarp_victim_cost_benefit.policy,
    &scarp_victim_read_match.policy,
    &scarp_pacing_blocking.policy,
    &scarp_pacing_ideal.policy,
    &scarp_pacing_preemptive.policy,
    &scarp_pacing_gftl.policy,
    &scarp_pacing_pagc.policy,
    &scarp_pacing_rotating.policy,
    &scarp_multiplane_none.policy,
    &scarp_multiplane_host.policy,
    &scarp_multiplane_gc_par.policy,
    &scarp_place_in_plane.policy,
    &scarp_place_copyback.policy,
    &scarp_place_in_channel.policy,
    &scarp_place_global.policy,
    &scarp_place_gc_z.policy,
    &scarp_place_paragc.policy,
    &scarp_ahead_none.policy,
    &scarp_ahead_background.policy,
    &scarp_ahead_pregc.policy,
    &scarp_redundancy_direct.policy,
    &scarp_redundancy_reconstruct.policy,
};

/* Presets: names that choose policies of several axes at once. */
static const struct {
    const char *name;
    const char *help;
    const ScarpPolicy *policy[AXIS__COUNT];
} presets[] = {
    { "baseline", "greedy, blocking, in-plane garbage collection", { NULL } },
    { "gc-vic", "GC-PAR, and victims that match the reads that wait",
      { [AXIS_MULTIPLANE] = &scarp_multiplane_gc_par.policy,
        [AXIS_VICTIM] = &scarp_victim_read_match.policy } },
    { "ttflash", "rotating collections by copyback, reads served by parity",
      { [AXIS_PACING] = &scarp_pacing_rotating.policy,
        [AXIS_PLACEMENT] = &scarp_place_copyback.policy,
        [AXIS_REDUNDANCY] = &scarp_redundancy_reconstruct.policy } },
};

static const char *const axis_names[AXIS__COUNT] = {
    "host queue", "write allocation", "victim", "pacing", "merging",
    "relocation placement", "ahead of GC", "redundancy",
};

static bool choose(const ScarpPolicy **chosen, const ScarpPolicy *policy,
                   const char *name, GError **error)
{
    const ScarpPolicy *before = chosen[policy->axis];

    if (before && before != policy) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_KEY,
                    "scheme=%s: '%s' and '%s' are both choices of one axis, "
                    "%s; only one is allowed", name, before->name,
                    policy->name, axis_names[policy->axis]);
        return false;
    }
    chosen[policy->axis] = policy;
    return !policy->brings || choose(chosen, policy->brings, name, error);
}

static void unknown_scheme(const char *term, GError **error)
{
    g_autoptr(GString) allowed = g_string_new(NULL);

    for (size_t i = 0; i < G_N_ELEMENTS(presets); i++) {
        g_string_append_printf(allowed, "%s, ", presets[i].name);
    }
    for (size_t i = 0; i < G_N_ELEMENTS(policies); i++) {
        g_string_append_printf(allowed, "%s%s", i ? ", " : "",
                               policies[i]->name);
    }
    g_set_error(error, SCARP_ERROR, SCARP_ERROR_KEY,
                "scheme=%s: unknown; allowed, joined by '+': %s", term,
                allowed->str);
}

static bool choose_term(const ScarpPolicy **chosen, const char *term,
                        const char *name, GError **error)
{
    for (size_t i = 0; i < G_N_ELEMENTS(presets); i++) {
        if (!strcmp(presets[i].name, term)) {
            for (int axis = 0; axis < AXIS__COUNT; axis++) {
                if (presets[i].policy[axis] &&
                    !choose(chosen, presets[i].policy[axis], name, error)) {
                    return false;
                }
            }
            return true;
        }
    }
    for (size_t i = 0; i < G_N_ELEMENTS(policies); i++) {
        if (!strcmp(policies[i]->name, term)) {
            return choose(chosen, policies[i], name, error);
        }
    }
    unknown_scheme(term, error);
    return false;
}

static bool set_param(ScarpScheme *scheme, const ScarpPolicy **chosen,
                      char *text, GError **error)
{
    g_autoptr(GString) allowed = g_string_new(NULL);
    char *equals = strchr(text, '=');

    if (!equals) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_KEY,
                    "params: '%s' must be key=value", text);
        return false;
    }
    *equals = '\0';
    for (int axis = 0; axis < AXIS__COUNT; axis++) {
        for (unsigned i = 0; i < chosen[axis]->n_params; i++) {
            const ScarpParam *param = &chosen[axis]->params[i];
            guint64 value;

            g_string_append_printf(allowed, " %s", param->name);
            if (strcmp(param->name, text)) {
                continue;
            }
            if (!g_ascii_string_to_unsigned(equals + 1, 10, param->min,
                                            param->max, &value, NULL)) {
                g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE,
                            "params: %s=%s: must be a whole number from %"
                            G_GUINT64_FORMAT " to %" G_GUINT64_FORMAT " (%s)",
                            text, equals + 1, param->min, param->max,
                            param->unit);
                return false;
            }
            scheme->param[axis][i] = value;
            scheme->given[axis] |= 1u << i;
            return true;
        }
    }
    g_set_error(error, SCARP_ERROR, SCARP_ERROR_KEY,
                "params: the scheme %s has no parameter '%s'; allowed are%s",
                scheme->name, text, allowed->len ? allowed->str : ": none");
    return false;
}

static const ScarpPolicy *const default_victim = &scarp_victim_greedy.policy;

static const ScarpPolicy *fallback(const ScarpDrive *drive, ScarpAxis axis)
{
    switch (axis) {
    case AXIS_HIL:
        return &scarp_hil_noop.policy;
    case AXIS_ALLOCATION:
        if (scarp_has_parity(drive)) {
            return &scarp_alloc_striped.policy;
        }
        if (scarp_has_units(&drive->desc)) {
            return &scarp_alloc_reclaim.policy;
        }
        return strcmp(drive->desc.allocation, "dynamic")
                   ? &scarp_alloc_static.policy : &scarp_alloc_dynamic.policy;
    case AXIS_VICTIM:
        return default_victim;
    case AXIS_PACING:
        return &scarp_pacing_blocking.policy;
    case AXIS_MULTIPLANE:
        return drive->desc.multiplane ? &scarp_multiplane_host.policy
                                   : &scarp_multiplane_none.policy;
    case AXIS_PLACEMENT:
        if (scarp_has_units(&drive->desc)) {
            return &scarp_place_in_group.policy;
        }
        return drive->desc.copyback ? &scarp_place_copyback.policy
                                 : &scarp_place_in_plane.policy;
    case AXIS_REDUNDANCY:
        return &scarp_redundancy_direct.policy;
    default:
        return drive->desc.background_free_blocks
                   ? &scarp_ahead_background.policy : &scarp_ahead_none.policy;
    }
}

/* ---- Needs of policies ------------------------------------------------- */

static bool has_planes(const ScarpDrive *drive,
                       const ScarpScheme *scheme G_GNUC_UNUSED)
{
    return drive->desc.planes_per_die > 1;
}

static bool has_channels(const ScarpDrive *drive,
                         const ScarpScheme *scheme G_GNUC_UNUSED)
{
    return drive->desc.channels > 1;
}

static bool has_order(const ScarpDrive *drive,
                      const ScarpScheme *scheme G_GNUC_UNUSED)
{
    return strcmp(drive->desc.allocation, "dynamic");
}

static bool takes_time(const ScarpDrive *drive G_GNUC_UNUSED,
                       const ScarpScheme *scheme)
{
    return !scheme->pacing->instant;
}

static bool joins_gc(const ScarpDrive *drive G_GNUC_UNUSED,
                     const ScarpScheme *scheme)
{
    return scheme->multiplane->joins_gc;
}

static bool has_parity(const ScarpDrive *drive,
                       const ScarpScheme *scheme G_GNUC_UNUSED)
{
    return scarp_has_parity(drive);
}

static bool has_no_parity(const ScarpDrive *drive,
                          const ScarpScheme *scheme G_GNUC_UNUSED)
{
    return !scarp_has_parity(drive);
}

static bool any_page(const ScarpDrive *drive,
                     const ScarpScheme *scheme G_GNUC_UNUSED)
{
    return !scarp_map_can(drive, MAP_PLACES_PAGES);
}

static bool is_early(const ScarpDrive *drive G_GNUC_UNUSED,
                     const ScarpScheme *scheme)
{
    return scheme->alloc->early;
}

static bool has_no_slc(const ScarpDrive *drive,
                       const ScarpScheme *scheme G_GNUC_UNUSED)
{
    return !scarp_has_slc(&drive->desc);
}

static bool has_no_units(const ScarpDrive *drive,
                         const ScarpScheme *scheme G_GNUC_UNUSED)
{
    return !scarp_has_units(&drive->desc);
}

static const struct {
    ScarpNeeds bit;
    const char *what;
    bool (*met)(const ScarpDrive *drive, const ScarpScheme *scheme);
} needs[] = {
    { NEEDS_PLANES, "dies of two or more planes (geometry.planes_per_die)",
      has_planes },
    { NEEDS_CHANNELS, "two or more channels (geometry.channels)",
      has_channels },
    { NEEDS_ORDER, "an order of c, w, d, p in ftl.allocation, not dynamic",
      has_order },
    { NEEDS_TIME, "collections that take time, and those of this pacing take "
      "none", takes_time },
    { NEEDS_JOINED, "merging that lets host commands join GC's (gc-par)",
      joins_gc },
    { NEEDS_PARITY, "a drive with parity (ftl.parity_width)", has_parity },
    { NEEDS_NO_PARITY, "a drive without parity, whose pages may change their "
      "dies (ftl.parity_width=0)", has_no_parity },
    { NEEDS_ANY_PAGE, "a mapping that lets a unit lie in any page "
      "(ftl.mapping=page or demand)", any_page },
    { NEEDS_EARLY, "write allocation by address, so that a write's planes are "
      "known before its data moves (static)", is_early },
    { NEEDS_NO_SLC, "a drive without an SLC cache (slc.static_blocks=0, "
      "slc.dynamic=0)", has_no_slc },
    { NEEDS_NO_UNITS, "blocks that are their own reclaim units "
      "(ftl.reclaim_planes=1)", has_no_units },
};

/*
 * Returns what a policy needs of a drive, as bits (NEEDS_…). A victim policy is
 * of no use if the mapping decides where each page goes, because such a mapping
 * frees blocks by merges. So each victim policy except the default needs a
 * mapping that may use any page.
 */
static uint32_t needs_of(const ScarpPolicy *policy)
{
    bool chooses = policy->axis == AXIS_VICTIM && policy != default_victim;

    return policy->needs | (chooses ? NEEDS_ANY_PAGE : 0);
}

/*
 * Checks that the drive meets the needs of a policy that the user has named.
 * Default policies need no check, because the description's own checks cover
 * them.
 */
static bool needs_met(const ScarpDrive *drive, const ScarpScheme *scheme,
                      const ScarpPolicy *asked, GError **error)
{
    for (size_t i = 0; asked && i < G_N_ELEMENTS(needs); i++) {
        if (needs_of(asked) & needs[i].bit && !needs[i].met(drive, scheme)) {
            g_set_error(error, SCARP_ERROR, SCARP_ERROR_KEY,
                        "scheme=%s: '%s' needs %s", scheme->name, asked->name,
                        needs[i].what);
            return false;
        }
    }
    return true;
}

/*
 * Checks the scheme of a drive with ftl.paired_pages=pad, where GC fills the
 * cells of its last copy with pads (pages without data). Policies that copy to
 * other planes, or to several planes in step, are refused, because those planes
 * would need pads, too.
 */
static bool may_pad(const ScarpDrive *drive, const ScarpScheme *scheme,
                    GError **error)
{
    const ScarpPolicy *against =
        scheme->place->plane ? &scheme->place->policy
        : scheme->multiplane->aligned ? &scheme->multiplane->policy : NULL;

    if (drive->desc.paired_pages != PAIRED_PAD || !against) {
        return true;
    }
    g_set_error(error, SCARP_ERROR, SCARP_ERROR_KEY,
                "scheme=%s: '%s' needs another ftl.paired_pages than pad, as "
                "its copies are written beside others'", scheme->name,
                against->name);
    return false;
}

#define POLICY_OPS(type, chosen_policy) \
    ((const type *)(const void *)((const char *)(chosen_policy) - \
                                  offsetof(type, policy)))

bool scarp_scheme_init(ScarpScheme *scheme, ScarpDrive *drive,
                       const char *name, const char *params, GError **error)
{
    const ScarpPolicy *chosen[AXIS__COUNT] = { NULL }, *asked[AXIS__COUNT];
    g_auto(GStrv) terms = g_strsplit(name ? name : "", "+", -1);
    g_auto(GStrv) items = g_strsplit(params ? params : "", ",", -1);
    bool ok = true;

    memset(scheme, 0, sizeof(*scheme));
    if (!*terms) {
        unknown_scheme("", error);
        return false;
    }
    for (char **term = terms; *term; term++) {
        if (!choose_term(chosen, *term, name, error)) {
            return false;
        }
    }
    scheme->name = g_strdup(name);
    memcpy(asked, chosen, sizeof(asked));
    for (int axis = 0; axis < AXIS__COUNT; axis++) {
        if (!chosen[axis]) {
            chosen[axis] = fallback(drive, axis);
        }
        scheme->param[axis] = g_new0(uint64_t, chosen[axis]->n_params + 1);
        for (unsigned i = 0; i < chosen[axis]->n_params; i++) {
            scheme->param[axis][i] = chosen[axis]->params[i].fallback;
        }
        scheme->state[axis] = g_malloc0(chosen[axis]->state_size + 1);
    }
    scheme->hil = POLICY_OPS(ScarpHilOps, chosen[AXIS_HIL]);
    scheme->alloc = POLICY_OPS(ScarpAllocOps, chosen[AXIS_ALLOCATION]);
    scheme->victim = POLICY_OPS(ScarpVictimOps, chosen[AXIS_VICTIM]);
    scheme->pacing = POLICY_OPS(ScarpPacingOps, chosen[AXIS_PACING]);
    scheme->multiplane = POLICY_OPS(ScarpMultiplaneOps,
                                    chosen[AXIS_MULTIPLANE]);
    scheme->place = POLICY_OPS(ScarpPlaceOps, chosen[AXIS_PLACEMENT]);
    scheme->ahead = POLICY_OPS(ScarpAheadOps, chosen[AXIS_AHEAD]);
    scheme->redundancy = POLICY_OPS(ScarpRedundancyOps,
                                    chosen[AXIS_REDUNDANCY]);
    for (char **item = items; ok && *item; item++) {
        ok = set_param(scheme, chosen, *item, error);
    }
    ok = ok && may_pad(drive, scheme, error);
    for (int axis = 0; ok && axis < AXIS__COUNT; axis++) {
        ok = needs_met(drive, scheme, asked[axis], error) &&
             (!chosen[axis]->init ||
              chosen[axis]->init(drive, scheme, error));
    }
    if (!ok) {
        scarp_scheme_clear(scheme, drive);
    }
    return ok;
}

void scarp_scheme_copy(ScarpScheme *scheme, ScarpDrive *drive,
                       const ScarpScheme *from)
{
    const ScarpPolicy *chosen[AXIS__COUNT];

    *scheme = *from;
    scheme->name = g_strdup(from->name);
    scarp_scheme_policies(scheme, chosen);
    for (int axis = 0; axis < AXIS__COUNT; axis++) {
        size_t n = chosen[axis]->n_params + 1;

        scheme->param[axis] = g_memdup2(from->param[axis],
                                        n * sizeof(uint64_t));
        scheme->state[axis] = g_malloc0(chosen[axis]->state_size + 1);
    }
    for (int axis = 0; axis < AXIS__COUNT; axis++) {
        bool ok = !chosen[axis]->init ||
                  chosen[axis]->init(drive, scheme, NULL);

        g_assert(ok); /* init() succeeded before, on an equal drive */
    }
}

void scarp_scheme_clear(ScarpScheme *scheme, ScarpDrive *drive)
{
    const ScarpPolicy *chosen[AXIS__COUNT];

    if (!scheme->name) {
        return;
    }
    scarp_scheme_policies(scheme, chosen);
    for (int axis = 0; axis < AXIS__COUNT; axis++) {
        if (chosen[axis]->clear) {
            chosen[axis]->clear(drive, scheme->state[axis]);
        }
        g_free(scheme->state[axis]);
        g_free(scheme->param[axis]);
    }
    g_free(scheme->name);
    memset(scheme, 0, sizeof(*scheme));
}

/* True when both schemes have the same policies with equal parameters. */
static bool equal_schemes(const ScarpScheme *a, const ScarpScheme *b)
{
    const ScarpPolicy *chosen[AXIS__COUNT], *others[AXIS__COUNT];

    scarp_scheme_policies(a, chosen);
    scarp_scheme_policies(b, others);
    for (int axis = 0; axis < AXIS__COUNT; axis++) {
        if (chosen[axis] != others[axis] ||
            memcmp(a->param[axis], b->param[axis],
                   chosen[axis]->n_params * sizeof(uint64_t))) {
            return false;
        }
    }
    return true;
}

/*
 * Makes the scheme for the running drive. Returns false, with *error set, if
 * there is no such scheme, or if a running drive cannot switch to it.
 */
static bool running_scheme(ScarpScheme *scheme, ScarpDrive *drive,
                           const char *name, const char *params,
                           GError **error)
{
    if (!scarp_scheme_init(scheme, drive, name, params, error)) {
        return false;
    }
    if (scheme->alloc->early == drive->scheme.alloc->early) {
        return true;
    }
    /*
     * With early allocation a buffered unit gets its plane when it arrives.
     * With late (dynamic) allocation it gets its plane only when its page is
     * programmed. Units that wait in a running drive cannot change from one
     * kind to the other.
     */
    g_set_error(error, SCARP_ERROR, SCARP_ERROR_KEY,
                "scheme=%s: a running drive keeps its kind of write "
                "allocation (%s)", name, drive->scheme.alloc->policy.name);
    scarp_scheme_clear(scheme, drive);
    return false;
}

bool scarp_drive_may_set_scheme(ScarpDrive *drive, const char *name,
                                const char *params, GError **error)
{
    ScarpScheme scheme;

    if (!running_scheme(&scheme, drive, name, params, error)) {
        return false;
    }
    scarp_scheme_clear(&scheme, drive);
    return true;
}

bool scarp_drive_set_scheme(ScarpDrive *drive, const char *name,
                            const char *params, GError **error)
{
    ScarpScheme scheme;

    if (!running_scheme(&scheme, drive, name, params, error)) {
        return false;
    }
    if (equal_schemes(&scheme, &drive->scheme)) {
        /* The policies keep their states; only the scheme's name may differ. */
        g_free(drive->scheme.name);
        drive->scheme.name = g_steal_pointer(&scheme.name);
        scheme.name = g_strdup(drive->scheme.name);
        scarp_scheme_clear(&scheme, drive);
        return true;
    }
    scarp_scheme_clear(&drive->scheme, drive);
    drive->scheme = scheme;
#ifdef SCARP_CHECKED
    scarp_hil_starves_anew(drive);
#endif
    /*
     * Collections may wait until the old pacing grants them work. The new
     * pacing would never grant it, so these collections go on now.
     */
    scarp_gc_release_due(drive);
    /*
     * Lets each die look for work now: the new policies may allow a command
     * that the old policies held back, and the next event may be far away.
     */
    for (uint32_t die = 0; die < drive->geo.n_dies; die++) {
        scarp_nand_kick(drive, die);
    }
    /* the old policy may have left slots free while commands waited */
    scarp_flow_dispatch(drive);
    scarp_flow_work(drive);
    return true;
}

/* Adds a line that says what the policy needs of a drive. */
static void add_needs(GString *text, const ScarpPolicy *policy)
{
    const char *before = "  needs ";

    for (size_t i = 0; i < G_N_ELEMENTS(needs); i++) {
        if (needs_of(policy) & needs[i].bit) {
            g_string_append_printf(text, "%s%s", before, needs[i].what);
            before = "; ";
        }
    }
    if (needs_of(policy)) {
        g_string_append_c(text, '\n');
    }
}

char *scarp_schemes_text(void)
{
    GString *text = g_string_new(NULL);

    for (size_t i = 0; i < G_N_ELEMENTS(presets); i++) {
        g_string_append_printf(text, "%s: %s", presets[i].name,
                               presets[i].help);
        for (int axis = 0; axis < AXIS__COUNT; axis++) {
            if (presets[i].policy[axis]) {
                g_string_append_printf(text, " [%s=%s]", axis_names[axis],
                                       presets[i].policy[axis]->name);
            }
        }
        g_string_append_c(text, '\n');
    }
    for (size_t i = 0; i < G_N_ELEMENTS(policies); i++) {
        const ScarpPolicy *policy = policies[i];

        g_string_append_printf(text, "%s: %s: %s (%s)\n", policy->name,
                               axis_names[policy->axis], policy->help,
                               policy->source);
        add_needs(text, policy);
        for (unsigned j = 0; j < policy->n_params; j++) {
            const ScarpParam *param = &policy->params[j];

            g_string_append_printf(text, "    %s=%" G_GUINT64_FORMAT
                                   " (%" G_GUINT64_FORMAT " to %"
                                   G_GUINT64_FORMAT " %s): %s\n", param->name,
                                   param->fallback, param->min, param->max,
                                   param->unit, param->help);
        }
    }
    return g_string_free(text, false);
}
