/*
 * Traces that are tables with the user's own columns. The user's description
 * names the meaning and the unit of each column, and the words for operations.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "csv.h"
#include "fields.h"

#include <string.h>

#define MAX_COLUMN 64
#define MAX_HEADER 1000
#define MAX_UNIT_BYTES (1 << 20)

typedef enum {
    COLUMN_TIME, COLUMN_OP, COLUMN_OFFSET, COLUMN_LENGTH, COLUMN_DEVICE,
    COLUMN_STREAM, COLUMN__COUNT,
} Column;

static const char *const column_names[] = {
    "time", "op", "offset", "length", "device", "stream",
};

G_STATIC_ASSERT(G_N_ELEMENTS(column_names) == COLUMN__COUNT);

typedef struct {
    const char *name;
    int64_t value;
} Word;

static const Word time_units[] = {
    { "s", 1000000000 }, { "ms", 1000000 }, { "us", 1000 }, { "ns", 1 },
    { "100ns", 100 },
};
static const Word byte_units[] = {
    { "bytes", 1 }, { "sectors", SCARP_SECTOR_BYTES }, { "KiB", 1024 },
};
static const Word separators[] = {
    { "comma", ',' }, { "semicolon", ';' }, { "tab", '\t' }, { "space", ' ' },
    { "bar", '|' },
};
/*
 * Keys that give the words for operations. Without such a key, the first letter
 * of a word names the operation.
 */
static const Word op_keys[] = {
    { "read", SCARP_OP_READ }, { "write", SCARP_OP_WRITE },
    { "trim", SCARP_OP_DEALLOCATE }, { "flush", SCARP_OP_FLUSH },
};
static const Word op_letters[] = {
    { "R", SCARP_OP_READ }, { "W", SCARP_OP_WRITE },
    { "D", SCARP_OP_DEALLOCATE }, { "T", SCARP_OP_DEALLOCATE },
    { "F", SCARP_OP_FLUSH }, { "S", SCARP_OP_FLUSH },
};

struct CsvFormat {
    /* from 1 on; 0: the table has no such column */
    uint32_t column[COLUMN__COUNT];
    int64_t scale[COLUMN__COUNT];   /* ns or bytes in one unit of the column */
    uint32_t last;                  /* the last column that is used */
    char separator;
    uint64_t header_lines;
    char **op_words[SCARP_OP__COUNT];
    bool op_constant;               /* `op` is the operation of each request */
    ScarpOp op;
    bool op_named;                  /* only op_words name operations */
};

static const Word *find_word(const Word *words, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++) {
        if (!strcmp(words[i].name, name)) {
            return &words[i];
        }
    }
    return NULL;
}

static bool wrong(GError **error, const char *key, const char *value,
                  const char *allowed)
{
    g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE,
                "--format=csv: %s=%s: allowed: %s", key, value, allowed);
    return false;
}

static bool set_unit(CsvFormat *csv, Column column, const char *key,
                     const char *unit, GError **error)
{
    const Word *word = NULL;
    uint64_t bytes;

    if (column == COLUMN_TIME) {
        word = find_word(time_units, G_N_ELEMENTS(time_units), unit);
        if (!word) {
            return wrong(error, key, unit, "the units s, ms, us, ns, 100ns");
        }
    } else if (column == COLUMN_OFFSET || column == COLUMN_LENGTH) {
        word = find_word(byte_units, G_N_ELEMENTS(byte_units), unit);
        if (!word && (!whole(unit, &bytes) || !bytes ||
                      bytes > MAX_UNIT_BYTES)) {
            return wrong(error, key, unit, "the units bytes, sectors, KiB, or "
                         "a number of bytes up to 1048576");
        }
    } else {
        return wrong(error, key, unit, "a column without a unit");
    }
    csv->scale[column] = word ? word->value : (int64_t)bytes;
    return true;
}

static bool set_column(CsvFormat *csv, Column column, char *value,
                       GError **error)
{
    const char *key = column_names[column];
    char *unit = strchr(value, ':');
    uint64_t number;

    if (unit) {
        *unit++ = '\0';
    }
    if (!whole(value, &number) || !number || number > MAX_COLUMN) {
        return wrong(error, key, value, column == COLUMN_OP
                     ? "a column from 1 to 64, or read, write, trim, flush"
                     : "a column from 1 to 64");
    }
    csv->column[column] = number;
    csv->last = MAX(csv->last, number);
    return !unit || set_unit(csv, column, key, unit, error);
}

static bool set(CsvFormat *csv, const char *key, char *value, GError **error)
{
    const Word *word = find_word(op_keys, G_N_ELEMENTS(op_keys), key);

    if (!strcmp(key, column_names[COLUMN_OP]) &&
        find_word(op_keys, G_N_ELEMENTS(op_keys), value)) {
        csv->op = find_word(op_keys, G_N_ELEMENTS(op_keys), value)->value;
        csv->op_constant = true;
        return true;
    }
    for (int column = 0; column < COLUMN__COUNT; column++) {
        if (!strcmp(key, column_names[column])) {
            return set_column(csv, column, value, error);
        }
    }
    if (word) {
        g_strfreev(csv->op_words[word->value]);
        csv->op_words[word->value] = g_strsplit(value, "|", -1);
        csv->op_named = true;
        return true;
    }
    if (!strcmp(key, "separator")) {
        word = find_word(separators, G_N_ELEMENTS(separators), value);
        csv->separator = word ? word->value : 0;
        return word || wrong(error, key, value,
                             "comma, semicolon, tab, space, bar");
    }
    if (!strcmp(key, "header")) {
        return (whole(value, &csv->header_lines) &&
                csv->header_lines <= MAX_HEADER) ||
               wrong(error, key, value, "a number of lines up to 1000");
    }
    return wrong(error, key, value, "the keys time, op, offset, length, "
                 "device, stream, read, write, trim, flush, separator, header");
}

static bool complete(const CsvFormat *csv, GError **error)
{
    static const Column needed[] = { COLUMN_OP, COLUMN_OFFSET, COLUMN_LENGTH };

    for (size_t i = 0; i < G_N_ELEMENTS(needed); i++) {
        if (!csv->column[needed[i]] &&
            !(needed[i] == COLUMN_OP && csv->op_constant)) {
            g_set_error(error, SCARP_ERROR, SCARP_ERROR_KEY,
                        "--format=csv: '%s' is missing, such as in "
                        "csv:time=1:s,op=2,offset=3:bytes,length=4:bytes%s",
                        column_names[needed[i]],
                        needed[i] == COLUMN_OP
                            ? "; op=read, if each request is one" : "");
            return false;
        }
    }
    return true;
}

CsvFormat *csv_new(const char *text, GError **error)
{
    g_auto(GStrv) parts = g_strsplit(text, ",", -1);
    CsvFormat *csv = g_new0(CsvFormat, 1);

    csv->separator = ',';
    csv->scale[COLUMN_TIME] = time_units[0].value;
    csv->scale[COLUMN_OFFSET] = csv->scale[COLUMN_LENGTH] = 1;
    for (char **part = parts; *part; part++) {
        char *value = strchr(*part, '=');

        if (value) {
            *value++ = '\0';
        }
        if (!value ? !wrong(error, *part, "", "KEY=VALUE, joined by commas")
                   : !set(csv, *part, value, error)) {
            csv_free(csv);
            return NULL;
        }
    }
    if (!complete(csv, error)) {
        csv_free(csv);
        return NULL;
    }
    return csv;
}

void csv_free(CsvFormat *csv)
{
    if (csv) {
        for (int op = 0; op < SCARP_OP__COUNT; op++) {
            g_strfreev(csv->op_words[op]);
        }
        g_free(csv);
    }
}

uint64_t csv_header_lines(const CsvFormat *csv)
{
    return csv->header_lines;
}

/* Strips blanks and quotation marks. */
static char *bare(char *field)
{
    size_t length;

    g_strstrip(field);
    length = strlen(field);
    if (length >= 2 && field[0] == '"' && field[length - 1] == '"') {
        field[length - 1] = '\0';
        return g_strstrip(field + 1);
    }
    return field;
}

/*
 * Splits a line into field[]. Returns the number of fields, at most csv->last.
 */
static uint32_t split_at(char *text, const CsvFormat *csv, char **field)
{
    uint32_t n = 0;

    while (n < csv->last) {
        char *end = strchr(text, csv->separator);

        /* any number of blanks separates two columns */
        if (csv->separator == ' ') {
            while (*text == ' ') {
                text++;
            }
            end = strchr(text, ' ');
        }
        if (end) {
            *end = '\0';
        }
        field[n++] = bare(text);
        if (!end) {
            break;
        }
        text = end + 1;
    }
    return n;
}

static bool read_op(const CsvFormat *csv, const char *text, ScarpOp *op)
{
    char letter[] = { g_ascii_toupper(*text), '\0' };
    const Word *word;

    for (int i = 0; i < SCARP_OP__COUNT; i++) {
        if (csv->op_words[i] &&
            g_strv_contains((const char *const *)csv->op_words[i], text)) {
            *op = i;
            return true;
        }
    }
    if (csv->op_named) {
        return false;
    }
    word = find_word(op_letters, G_N_ELEMENTS(op_letters), letter);
    *op = word ? word->value : 0;
    return word;
}

static bool read_column(const CsvFormat *csv, Column column, const char *text,
                        TraceRecord *record)
{
    uint64_t number = 0, limit = G_MAXINT64;

    if (column == COLUMN_TIME) {
        return decimal(text, csv->scale[column], &record->time_ns);
    }
    if (column == COLUMN_OP) {
        return read_op(csv, text, &record->op);
    }
    /* a flush has no offset and no length */
    if (record->op == SCARP_OP_FLUSH &&
        (column == COLUMN_OFFSET || column == COLUMN_LENGTH)) {
        return true;
    }
    limit = column == COLUMN_DEVICE ? G_MAXUINT32
            : column == COLUMN_STREAM ? G_MAXUINT16
                                      : limit / csv->scale[column];
    if (!whole(text, &number) || number > limit) {
        return false;
    }
    switch (column) {
    case COLUMN_OFFSET:
        record->offset_bytes = number * csv->scale[column];
        break;
    case COLUMN_LENGTH:
        record->length_bytes = number * csv->scale[column];
        break;
    case COLUMN_DEVICE:
        record->device = number;
        break;
    default:
        record->stream = number;
        break;
    }
    return true;
}

bool csv_parse(const CsvFormat *csv, char *text, TraceRecord *record,
               char **problem)
{
    char *field[MAX_COLUMN], nothing[] = "";
    uint32_t n = split_at(text, csv, field);

    record->op = csv->op; /* a column of operations replaces this value */
    /*
     * Blanks at the end of a line have been stripped, and with these blanks the
     * empty columns.
     */
    for (uint32_t i = n; i < csv->last; i++) {
        field[i] = nothing;
    }
    /* reads the operation first, because other fields depend on it */
    for (int i = 0; i < COLUMN__COUNT; i++) {
        Column column = i == 0 ? COLUMN_OP : i == 1 ? COLUMN_TIME : (Column)i;
        uint32_t number = csv->column[column];

        if (number && !read_column(csv, column, field[number - 1], record)) {
            *problem = number > n
                ? g_strdup_printf("%u columns, %u needed", n, csv->last)
                : g_strdup_printf("column %u, %s: '%.40s'", number,
                                  column_names[column], field[number - 1]);
            return false;
        }
    }
    return true;
}
