/*
 * Sniffing: finding the format of a trace by its first lines.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "formats.h"

#include <stdio.h>
#include <string.h>

/*
 * If no format fits all lines, the best format is still chosen when it fits at
 * least this many requests before the first damaged line.
 */
#define ENOUGH 10
/* The mean interval shows the unit of time only from this many requests on. */
#define JUDGED 8
/*
 * Times with a smaller mean interval are in ms: in ns there would be more than
 * 1,000,000 requests a second.
 */
#define SHORTEST_NS 1000
/*
 * Times with a greater mean interval are not in ms: there would be less than
 * one request a minute.
 */
#define LONGEST_MS 60000
/*
 * If the longest request of a trace has at least this length, lengths are
 * probably in bytes: in sectors it would be 2 MiB.
 */
#define LARGE 4096
/*
 * If the longest request of a trace has at least this length, lengths are
 * certainly in bytes: in sectors it would be 32 MiB, which no block layer asks
 * for.
 */
#define TOO_LARGE 65536

/* Findings about the lines, when they are read as lines of one format. */
typedef struct {
    const TraceFormat *format;
    uint32_t good;          /* requests before a line of another format */
    bool fits;              /* every line is of the format */
    bool dots;              /* the line of a request has a decimal point */
    int64_t first_ns, last_ns;
    uint64_t longest_bytes; /* the longest request */
    uint64_t odd_sectors;   /* offsets or lengths that are not whole sectors */
} Look;

char trace_action_of(char **lines)
{
    static const char letters[] = "QDIC";
    bool found[G_N_ELEMENTS(letters)] = { false };

    for (char **line = lines; *line; line++) {
        char major_minor[16], action[4];

        if (sscanf(*line, " %15[0-9,] %*u %*u %*[0-9.] %*u %3s", major_minor,
                   action) == 2 && !action[1] && strchr(letters, action[0])) {
            found[strchr(letters, action[0]) - letters] = true;
        }
    }
    for (size_t i = 0; letters[i]; i++) {
        if (found[i]) {
            return letters[i];
        }
    }
    return 'D';
}

bool trace_is_remark(const char *text)
{
    return *text == '#' || *text == ';' || *text == '%' ||
           g_str_has_prefix(text, "//");
}

bool trace_is_head(const char *text)
{
    bool begins = true;

    for (; *text; text++) {
        if (begins && (g_ascii_isdigit(*text) || *text == '.' ||
                       *text == '+' || *text == '-')) {
            return false;
        }
        begins = strchr(" \t,;|\"", *text) != NULL;
    }
    return true;
}

/* Reads a line into *look. Returns false if the line is not of the format. */
static bool look_at(Look *look, TraceState *state, const char *line)
{
    g_autofree char *copy = g_strdup(line);
    TraceRecord record = { 0 };
    uint64_t unit = look->format->traits & TRACE_SECTORS ? SCARP_SECTOR_BYTES
                                                         : 1;

    switch (look->format->parse(state, copy, &record)) {
    case TRACE_RECORD:
        look->last_ns = record.time_ns;
        look->first_ns = look->good++ ? look->first_ns : record.time_ns;
        look->dots |= strchr(line, '.') != NULL;
        look->longest_bytes = MAX(look->longest_bytes,
                                  record.length_bytes / unit);
        look->odd_sectors +=
            record.length_bytes / unit % SCARP_SECTOR_BYTES ||
            record.offset_bytes / unit % SCARP_SECTOR_BYTES;
        state->has_second = false;
        return true;
    case TRACE_BAD:
        return !look->good &&
               (look->format->traits & TRACE_LEADING_GARBAGE ||
                (!(look->format->traits & TRACE_NO_HEAD) &&
                 trace_is_head(line)));
    default:
        return true;
    }
}

static Look look(const TraceFormat *format, char **lines, char action)
{
    Look look = { .format = format, .fits = true };
    TraceState state = { .action = action };

    if (format->begins && !g_str_has_prefix(lines[0], format->begins)) {
        look.fits = false;
        return look;
    }
    for (char **line = lines; *line && look.fits; line++) {
        g_autofree char *text = g_strstrip(g_strdup(*line));

        look.fits = !*text || trace_is_remark(text) ||
                    look_at(&look, &state, text);
    }
    if (look.fits && !look.good) {
        look.fits = format->begins || state.etw[0].time || state.etw[1].time;
    }
    if (format->traits & TRACE_DOTTED && !look.dots) {
        /*
         * A format in ms whose times have no decimal point is rare. It fits
         * only if its mean interval is plausible.
         */
        look.fits = look.fits && look.good >= JUDGED &&
                    (look.last_ns - look.first_ns) / 1000000 / look.good <
                        LONGEST_MS;
    }
    trace_state_clear(&state);
    return look;
}

static Look *of(GArray *looks, const char *name)
{
    for (guint i = 0; i < looks->len; i++) {
        Look *look = &g_array_index(looks, Look, i);

        if (!strcmp(look->format->name, name)) {
            return look;
        }
    }
    return NULL;
}

/*
 * Chooses among the formats that fit. Five columns of numbers may be of several
 * formats. Lengths show whether they are in sectors or in bytes, and the mean
 * interval shows whether times are in milliseconds or in nanoseconds.
 */
static const Look *choose(GArray *looks)
{
    Look *first = &g_array_index(looks, Look, 0);
    Look *heimdall = of(looks, "heimdall"), *mqsim = of(looks, "mqsim");
    Look *disksim = of(looks, "disksim");
    Look *ms = heimdall && !heimdall->odd_sectors &&
                       heimdall->longest_bytes >= LARGE
                   ? heimdall : disksim ? disksim : heimdall;

    if (first != heimdall && first != mqsim) {
        return first;
    }
    if (!mqsim) {
        return ms;
    }
    return ms && mqsim->good >= JUDGED &&
                   (mqsim->last_ns - mqsim->first_ns) / mqsim->good <
                       SHORTEST_NS
               ? ms : mqsim;
}

/* True when `other` fits as well as `chosen`, and would give other requests. */
static bool rivals(const Look *chosen, const Look *other)
{
    if (chosen->format->parse == other->format->parse ||
        chosen->format->begins) {
        return false;
    }
    /*
     * If `other` counts in bytes, it is a rival only if all its values are
     * multiples of a sector. If `chosen` counts in bytes, and its lengths would
     * be too large as numbers of sectors, `other` is no rival.
     */
    if (!strcmp(other->format->name, "heimdall")) {
        return !other->odd_sectors;
    }
    return strcmp(chosen->format->name, "heimdall") ||
           chosen->longest_bytes < TOO_LARGE;
}

/* Chooses a format in spite of a damaged line, which the replay will report. */
static bool nearly(GArray *all, TraceGuess *guess)
{
    const Look *most = NULL;

    for (guint i = 0; i < all->len; i++) {
        const Look *look = &g_array_index(all, Look, i);

        if (look->good >= ENOUGH && (!most || look->good > most->good)) {
            most = look;
        }
    }
    if (most) {
        *guess = (TraceGuess) { .format = most->format,
                                .records = most->good };
    }
    return most;
}

bool trace_format_sniff(char **lines, const char *path, TraceGuess *guess,
                        GError **error)
{
    g_autoptr(GArray) all = g_array_new(false, false, sizeof(Look));
    g_autoptr(GArray) looks = g_array_new(false, false, sizeof(Look));
    g_autoptr(GString) also = g_string_new(NULL);
    g_autofree char *allowed = NULL;
    char action = trace_action_of(lines);
    const TraceFormat *formats;
    const Look *chosen;
    size_t n;

    formats = trace_formats(&n);
    for (size_t i = 0; i < n; i++) {
        Look found = look(&formats[i], lines, action);

        g_array_append_val(all, found);
        if (found.fits) {
            g_array_append_val(looks, found);
        }
    }
    if (!looks->len && nearly(all, guess)) {
        return true;
    }
    if (!looks->len) {
        allowed = trace_format_names();
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_FILE,
                    "%s: of no format that is known; --format names one: %s",
                    path, allowed);
        return false;
    }
    chosen = choose(looks);
    for (guint i = 0; i < looks->len; i++) {
        const Look *other = &g_array_index(looks, Look, i);

        if (rivals(chosen, other)) {
            g_string_append_printf(also, "%s%s", also->len ? ", " : "",
                                   other->format->name);
        }
    }
    *guess = (TraceGuess) { .format = chosen->format, .records = chosen->good };
    guess->also = also->len ? g_strdup(also->str) : NULL;
    return true;
}
