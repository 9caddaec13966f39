/*
 * The SQLite store: one file, one server. WAL with synchronous=FULL: what was committed survives
 * a loss of power. A lock on a file beside it keeps a second server out; a file that was moved
 * or removed under the server is noticed before anything is promised on it.
 */
#include "ledger/sqlite.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/file.h"
#include "base/map.h"
#include "ledger/sqlite_sql.h"

enum {
    APPLICATION_ID = 0x42455254, /* says in the file's head whose it is */
    CHECKPOINT_PAGES = 4000,     /* of 4 KiB in the log, then they are moved into the file */
    LOG_MOST_PAGES = 64000,      /* so long a log waits for its readers, to begin anew */
    READERS_WAIT_MS = 200,
    BUSY_MS = 5000
};

struct sqlite {
    struct store store;
    sqlite3 *db;
    char *path;
    int lock;  /* the locked file, -1 for a reader */
    dev_t dev; /* of the file when it was opened */
    ino_t ino;
    int log_pages, log_pages_before; /* after the last commit, and the one before */
    int next_checkpoint;             /* at so many pages */
    sqlite3_stmt *put[ROW_KIND_COUNT], *get[ROW_KIND_COUNT], *del[ROW_KIND_COUNT];
    sqlite3_stmt *revision, *begin, *commit;
    struct map finds; /* by its text: sqlite3_stmt, which keeps it */
};

static struct sqlite *sqlite_of(struct store *store)
{
    return CONTAINER(store, struct sqlite, store);
}

static int errno_of(sqlite3 *db, int code)
{
    if (code == SQLITE_IOERR_SHMSIZE) /* what readers share cannot be made longer */
        return -ENOSPC;
    switch (code & 0xff) {
    case SQLITE_FULL:
        return -ENOSPC;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return -EBUSY;
    case SQLITE_CONSTRAINT:
        return -EEXIST;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return -EBADMSG;
    case SQLITE_READONLY:
        return -EROFS;
    case SQLITE_CANTOPEN:
        return sqlite3_system_errno(db) ? -sqlite3_system_errno(db) : -ENOENT;
    }
    return -EIO;
}

static int fail(struct sqlite *s, struct err *err, const char *what)
{
    int code = sqlite3_extended_errcode(s->db);

    return err_set(err, errno_of(s->db, code), "%s: %s: %s", s->path, what, sqlite3_errmsg(s->db));
}

static int run(struct sqlite *s, const char *sql, struct err *err)
{
    if (sqlite3_exec(s->db, sql, NULL, NULL, NULL) == SQLITE_OK)
        return 0;
    return fail(s, err, sql);
}

/* ---- the file ---- */

bool sqlite_is_network(unsigned long file_system)
{
    static const unsigned long known[] = {
        0x6969,     /* nfs */
        0x517b,     /* smb */
        0xff534d42, /* cifs */
        0xfe534d42, /* smb2 */
        0x01021997, /* 9p */
        0x00c36400, /* ceph */
        0x5346414f, /* afs */
        0x0bd00bd0, /* lustre */
    };

    for (size_t i = 0; i < COUNT_OF(known); i++)
        if ((file_system & 0xffffffff) == known[i])
            return true;
    return false;
}

static int check_folder(const char *path, struct err *err)
{
    CLEANUP(freep) char *copy = text_copy(path);
    const char *folder = dirname(copy);
    struct statfs fs;
    int r = file_make_dirs(folder, 0700, err);

    if (r < 0)
        return r;
    if (statfs(folder, &fs) < 0)
        return err_sys(err, -errno, "%s", folder);
    if (sqlite_is_network((unsigned long)fs.f_type))
        return err_set(err, -EINVAL,
                       "%s is on a network file system, where locks and durability cannot be "
                       "relied on; put it on a local disk",
                       folder);
    return 0;
}

static int lock_file(struct sqlite *s, struct err *err)
{
    CLEANUP(freep) char *path = text_format("%s.lock", s->path);

    s->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (s->lock < 0)
        return err_sys(err, -errno, "%s", path);
    if (flock(s->lock, LOCK_EX | LOCK_NB) == 0)
        return 0;
    if (errno == EWOULDBLOCK)
        return err_set(err, -EBUSY, "another server has %s open", s->path);
    return err_sys(err, -errno, "lock %s", path);
}

/* Makes the file readable by its owner only: it holds what tokens are checked against. */
static int make_file(struct sqlite *s, struct err *err)
{
    CLEANUP(closep) int fd = open(s->path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    struct stat st;

    if (fd < 0)
        return err_sys(err, -errno, "%s", s->path);
    if (fstat(fd, &st) < 0)
        return err_sys(err, -errno, "%s", s->path);
    s->dev = st.st_dev;
    s->ino = st.st_ino;
    return 0;
}

/* Whether the path still leads to the open file. */
static int check_place(const struct sqlite *s, struct err *err)
{
    struct stat st;

    if (stat(s->path, &st) == 0 && st.st_dev == s->dev && st.st_ino == s->ino)
        return 0;
    return err_set(err, -ESTALE, "%s was moved or removed while it was open", s->path);
}

/* ---- schema ---- */

static int read_number(struct sqlite *s, const char *sql, int64_t *out, struct err *err)
{
    sqlite3_stmt *stmt = NULL;
    int r = 0;

    if (sqlite3_prepare_v2(s->db, sql, -1, &stmt, NULL) != SQLITE_OK ||
        sqlite3_step(stmt) != SQLITE_ROW)
        r = fail(s, err, sql);
    else
        *out = sqlite3_column_int64(stmt, 0);
    sqlite3_finalize(stmt);
    return r;
}

static int create_all(struct sqlite *s, struct err *err)
{
    CLEANUP(str_fini) struct str sql = { 0 };

    sql_create(&sql);
    str_addf(&sql, "PRAGMA application_id = %d;", APPLICATION_ID);
    return run(s, str_text(&sql), err);
}

static FORMAT(4, 5) int count_of(struct sqlite *s, int64_t *out, struct err *err, const char *fmt,
                                 ...)
{
    CLEANUP(str_fini) struct str sql = { 0 };
    char where[160];
    va_list args;

    va_start(args, fmt);
    vsnprintf(where, sizeof(where), fmt, args);
    va_end(args);
    str_addf(&sql, "SELECT count(*) FROM pragma_table_info(%s", where);
    return read_number(s, str_text(&sql), out, err);
}

/* Adds to the statements what one table lacks: itself, or columns that came later. */
static int add_missing(struct sqlite *s, enum row_kind kind, struct str *sql, struct err *err)
{
    const struct kind *k = &schema[kind];
    int64_t n = 0;
    int r = count_of(s, &n, err, "'%s')", k->name);

    if (r >= 0 && n == 0) {
        sql_create_kind(kind, sql);
        return 0;
    }
    for (size_t i = 0; i < k->n_columns && r >= 0; i++) {
        r = count_of(s, &n, err, "'%s') WHERE name = '%s'", k->name, k->columns[i].name);
        if (r >= 0 && n == 0)
            sql_add_column(kind, &k->columns[i], sql);
    }
    return r;
}

/* Every table gets what came later: all that was ever changed is additions. */
static int add_all_missing(struct sqlite *s, struct err *err)
{
    CLEANUP(str_fini) struct str sql = { 0 };
    int r = 0;

    for (enum row_kind kind = 0; kind < ROW_KIND_COUNT && r >= 0; kind++)
        r = add_missing(s, kind, &sql, err);
    return r < 0 ? r : run(s, str_text(&sql), err);
}

static int upgrade(struct sqlite *s, int64_t version, struct err *err)
{
    char sql[64];
    int r = version == 0 ? create_all(s, err) : add_all_missing(s, err);

    if (r < 0)
        return r;
    snprintf(sql, sizeof(sql), "PRAGMA user_version = %d", SCHEMA_VERSION);
    return run(s, sql, err);
}

static int check_version(struct sqlite *s, int64_t *version, struct err *err)
{
    int64_t application = 0, tables = 0;
    int r = read_number(s, "PRAGMA user_version", version, err);

    if (r >= 0)
        r = read_number(s, "PRAGMA application_id", &application, err);
    if (r >= 0)
        r = read_number(s, "SELECT count(*) FROM sqlite_master", &tables, err);
    if (r < 0)
        return r;
    if (tables && application != APPLICATION_ID)
        return err_set(err, -EINVAL, "%s is a database, but no ledger", s->path);
    if (*version > SCHEMA_VERSION)
        return err_set(err, -EPROTO,
                       "%s has schema %" PRId64 ", this program knows up to %d: use a newer one",
                       s->path, *version, SCHEMA_VERSION);
    return 0;
}

static int bring_schema(struct sqlite *s, struct err *err)
{
    int64_t version = 0;
    int r = run(s, "BEGIN IMMEDIATE", err);

    if (r < 0)
        return r;
    r = check_version(s, &version, err);
    if (r >= 0 && version < SCHEMA_VERSION)
        r = upgrade(s, version, err);
    if (r >= 0)
        r = run(s, "COMMIT", err);
    if (r < 0 && !sqlite3_get_autocommit(s->db))
        sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
    return r;
}

/* ---- open and close ---- */

static void end_statements(sqlite3_stmt **at, size_t n)
{
    for (size_t i = 0; i < n; i++)
        sqlite3_finalize(at[i]);
}

static void sqlite_close(struct store *store)
{
    struct sqlite *s = sqlite_of(store);

    end_statements(s->put, ROW_KIND_COUNT);
    end_statements(s->get, ROW_KIND_COUNT);
    end_statements(s->del, ROW_KIND_COUNT);
    sqlite3_finalize(s->revision);
    sqlite3_finalize(s->begin);
    sqlite3_finalize(s->commit);
    MAP_EACH (entry, &s->finds)
        sqlite3_finalize(entry->value);
    map_fini(&s->finds);
    sqlite3_close(s->db);
    closep(&s->lock);
    mem_free(s->path);
    mem_free(s);
}

static int note_log(void *arg, sqlite3 *db, const char *name, int pages)
{
    (void)db;
    (void)name;
    ((struct sqlite *)arg)->log_pages = pages;
    return SQLITE_OK;
}

static struct sqlite *new_store(const char *path)
{
    struct sqlite *s = NEW0(struct sqlite);

    s->store.driver = &store_sqlite;
    s->next_checkpoint = CHECKPOINT_PAGES;
    s->path = text_copy(path);
    s->lock = -1;
    return s;
}

static int connect(struct sqlite *s, struct err *err)
{
    if (sqlite3_open_v2(s->path, &s->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) !=
        SQLITE_OK)
        return fail(s, err, "open");
    sqlite3_extended_result_codes(s->db, 1);
    sqlite3_busy_timeout(s->db, BUSY_MS);
    return run(s,
               "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;"
               "PRAGMA temp_store = MEMORY; PRAGMA cache_size = -16000",
               err);
}

static int open_writer(struct sqlite *s, struct err *err)
{
    int r = check_folder(s->path, err);

    if (r >= 0)
        r = lock_file(s, err);
    if (r >= 0)
        r = make_file(s, err);
    if (r >= 0)
        r = connect(s, err);
    if (r >= 0)
        r = run(s,
                "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
                "PRAGMA wal_autocheckpoint = 0; PRAGMA journal_size_limit = 67108864",
                err);
    if (r >= 0)
        r = bring_schema(s, err);
    if (r >= 0)
        sqlite3_wal_hook(s->db, note_log, s);
    return r;
}

static int sqlite_open(const char *where, struct store **out, struct err *err)
{
    struct sqlite *s;
    int r;

    if (!*where)
        return err_set(err, -EINVAL, "sqlite: needs a path");
    s = new_store(where);
    r = open_writer(s, err);
    if (r < 0)
        sqlite_close(&s->store);
    else
        *out = &s->store;
    return r;
}

static int sqlite_open_reader(struct store *store, struct store **out, struct err *err)
{
    struct sqlite *s = new_store(sqlite_of(store)->path);
    int r = connect(s, err);

    if (r >= 0)
        r = run(s, "PRAGMA query_only = ON", err);
    if (r < 0)
        sqlite_close(&s->store);
    else
        *out = &s->store;
    return r;
}

static int sqlite_open_to_read(const char *where, struct store **out, struct err *err)
{
    struct sqlite *s = new_store(where);
    int64_t version = 0;
    int r = connect(s, err);

    if (r >= 0)
        r = run(s, "PRAGMA query_only = ON", err);
    if (r >= 0)
        r = check_version(s, &version, err);
    if (r >= 0 && version != SCHEMA_VERSION)
        r = err_set(err, -EPROTO, "%s has schema %" PRId64 ", not %d: open it with a server first",
                    where, version, SCHEMA_VERSION);
    if (r < 0)
        sqlite_close(&s->store);
    else
        *out = &s->store;
    return r;
}

/* ---- transactions ---- */

static int prepare(struct sqlite *s, const char *sql, sqlite3_stmt **out, struct err *err)
{
    if (sqlite3_prepare_v3(s->db, sql, -1, SQLITE_PREPARE_PERSISTENT, out, NULL) == SQLITE_OK)
        return 0;
    return fail(s, err, sql);
}

static int read_revision(struct sqlite *s, uint64_t *revision, struct err *err)
{
    int r = 0;

    if (!s->revision)
        r = prepare(s, "SELECT coalesce(max(rev), 0) FROM event", &s->revision, err);
    if (r < 0)
        return r;
    if (sqlite3_step(s->revision) == SQLITE_ROW)
        *revision = (uint64_t)sqlite3_column_int64(s->revision, 0);
    else
        r = fail(s, err, "read the revision");
    sqlite3_reset(s->revision);
    return r;
}

static void sqlite_rollback(struct store *store)
{
    struct sqlite *s = sqlite_of(store);

    /* Some failures end the transaction by themselves. */
    if (!sqlite3_get_autocommit(s->db))
        sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
}

static int finish(struct sqlite *s, sqlite3_stmt *stmt, const char *what, struct err *err)
{
    int r = sqlite3_step(stmt) == SQLITE_DONE ? 0 : fail(s, err, what);

    sqlite3_reset(stmt);
    sqlite3_clear_bindings(stmt);
    return r;
}

/* A statement without a row that comes with each transaction, made when it is first used. */
static int run_kept(struct sqlite *s, sqlite3_stmt **at, const char *sql, struct err *err)
{
    int r = *at ? 0 : prepare(s, sql, at, err);

    return r < 0 ? r : finish(s, *at, sql, err);
}

static int sqlite_begin(struct store *store, uint64_t *revision, struct err *err)
{
    struct sqlite *s = sqlite_of(store);
    bool is_writer = s->lock >= 0;
    int r = is_writer ? check_place(s, err) : 0;

    if (r >= 0)
        r = run_kept(s, &s->begin, is_writer ? "BEGIN IMMEDIATE" : "BEGIN", err);
    if (r < 0)
        return r;
    r = read_revision(s, revision, err);
    if (r < 0)
        sqlite_rollback(store);
    return r;
}

/*
 * Moves the log into the file when it has grown; that this can fail now loses nothing. It begins
 * anew by itself when all was moved and nobody reads of it. While somebody does it grows, and is
 * moved again after as many pages more, not with each commit. One that has grown long waits for
 * its readers a little, so that looks that follow each other cannot keep it from an end.
 */
static void checkpoint(struct sqlite *s)
{
    bool is_long = s->log_pages >= LOG_MOST_PAGES;

    if (s->log_pages <= s->log_pages_before) /* each commit adds some */
        s->next_checkpoint = CHECKPOINT_PAGES;
    s->log_pages_before = s->log_pages;
    if (s->log_pages < s->next_checkpoint)
        return;
    if (is_long)
        sqlite3_busy_timeout(s->db, READERS_WAIT_MS);
    sqlite3_wal_checkpoint_v2(
        s->db, NULL, is_long ? SQLITE_CHECKPOINT_RESTART : SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    sqlite3_busy_timeout(s->db, BUSY_MS);
    s->next_checkpoint = s->log_pages + CHECKPOINT_PAGES;
}

static int sqlite_commit(struct store *store, struct err *err)
{
    struct sqlite *s = sqlite_of(store);
    int r = check_place(s, err);

    if (r >= 0)
        r = run_kept(s, &s->commit, "COMMIT", err);
    if (r < 0)
        sqlite_rollback(store);
    else
        checkpoint(s);
    return r;
}

/* ---- rows ---- */

static bool is_number(const struct column *column)
{
    return column->type == COLUMN_INT || column->type == COLUMN_BOOL;
}

static void bind(sqlite3_stmt *stmt, int at, const struct column *column, const void *row)
{
    if (is_number(column))
        sqlite3_bind_int64(stmt, at, row_int(row, column));
    else
        sqlite3_bind_text(stmt, at, row_text(row, column), -1, SQLITE_STATIC);
}

static void bind_first(sqlite3_stmt *stmt, int at, enum row_kind kind, size_t n, const void *row)
{
    for (size_t i = 0; i < n; i++)
        bind(stmt, at + (int)i, &schema[kind].columns[i], row);
}

/* The prepared statement of a kind, made when it is first used. */
static int statement(struct sqlite *s, sqlite3_stmt **at, enum row_kind kind,
                     void (*make)(enum row_kind kind, struct str *out), struct err *err)
{
    CLEANUP(str_fini) struct str sql = { 0 };

    if (*at)
        return 0;
    make(kind, &sql);
    return prepare(s, str_text(&sql), at, err);
}

static int sqlite_put(struct store *store, enum row_kind kind, const void *row, struct err *err)
{
    struct sqlite *s = sqlite_of(store);
    int r = statement(s, &s->put[kind], kind, sql_put, err);

    if (r < 0)
        return r;
    bind_first(s->put[kind], 1, kind, schema[kind].n_columns, row);
    return finish(s, s->put[kind], schema[kind].name, err);
}

static int sqlite_del(struct store *store, enum row_kind kind, const void *key, struct err *err)
{
    struct sqlite *s = sqlite_of(store);
    int r = statement(s, &s->del[kind], kind, sql_del, err);

    if (r < 0)
        return r;
    bind_first(s->del[kind], 1, kind, schema[kind].n_keys, key);
    return finish(s, s->del[kind], schema[kind].name, err);
}

static void *read_row(sqlite3_stmt *stmt, enum row_kind kind)
{
    const struct kind *k = &schema[kind];
    void *row = row_new(kind);

    for (size_t i = 0; i < k->n_columns; i++) {
        if (is_number(&k->columns[i])) {
            row_put_int(row, &k->columns[i], sqlite3_column_int64(stmt, (int)i));
        } else {
            const char *text = (const char *)sqlite3_column_text(stmt, (int)i);
            row_put_text(row, &k->columns[i], text ? text : "",
                         (size_t)sqlite3_column_bytes(stmt, (int)i));
        }
    }
    return row;
}

/* A number outside of its words would be read as a state that is none. */
static int check_row(const struct sqlite *s, enum row_kind kind, const void *row, struct err *err)
{
    const struct kind *k = &schema[kind];

    for (size_t i = 0; i < k->n_columns; i++) {
        const struct column *column = &k->columns[i];
        if (column->words &&
            (row_int(row, column) < 0 || (size_t)row_int(row, column) >= column->n_words))
            return err_set(err, -EBADMSG, "%s: %s of a row of %s is %" PRId64, s->path,
                           column->name, k->name, row_int(row, column));
    }
    return 0;
}

static int sqlite_get(struct store *store, enum row_kind kind, const void *key, void **out,
                      struct err *err)
{
    struct sqlite *s = sqlite_of(store);
    int r = statement(s, &s->get[kind], kind, sql_get, err), step;
    void *row = NULL;

    if (r < 0)
        return r;
    bind_first(s->get[kind], 1, kind, schema[kind].n_keys, key);
    step = sqlite3_step(s->get[kind]);
    if (step == SQLITE_ROW) {
        row = read_row(s->get[kind], kind);
        r = check_row(s, kind, row, err);
    } else if (step == SQLITE_DONE) {
        r = READER_NONE;
    } else {
        r = fail(s, err, schema[kind].name);
    }
    sqlite3_reset(s->get[kind]);
    if (r != 0)
        row_free(kind, row);
    else
        *out = row;
    return r;
}

/* ---- queries ---- */

static int bind_conds(sqlite3_stmt *stmt, const struct store_query *query)
{
    int at = 1;

    for (size_t i = 0; i < query->n_conds; i++) {
        const struct store_cond *cond = &query->conds[i];
        if (cond->text)
            sqlite3_bind_text(stmt, at++, cond->text, -1, SQLITE_STATIC);
        else if (!sql_is_literal(query, cond))
            sqlite3_bind_int64(stmt, at++, cond->number);
    }
    return at;
}

/* The statement of a text, kept for the next time; a fresh one while that is in use. */
static int find_statement(struct sqlite *s, const char *sql, sqlite3_stmt **out, bool *is_own,
                          struct err *err)
{
    sqlite3_stmt *kept = map_get(&s->finds, sql);
    int r;

    *is_own = kept && sqlite3_stmt_busy(kept);
    if (kept && !*is_own) {
        *out = kept;
        return 0;
    }
    r = prepare(s, sql, out, err);
    if (r >= 0 && !*is_own)
        map_put(&s->finds, sqlite3_sql(*out), *out);
    return r;
}

static int walk(struct sqlite *s, sqlite3_stmt *stmt, enum row_kind kind, row_fn *fn, void *arg,
                struct err *err)
{
    int step;

    while ((step = sqlite3_step(stmt)) == SQLITE_ROW) {
        void *row = read_row(stmt, kind);
        int r = check_row(s, kind, row, err);
        if (r >= 0)
            r = fn(row, arg);
        row_free(kind, row);
        if (r != 0)
            return r < 0 ? r : 0;
    }
    return step == SQLITE_DONE ? 0 : fail(s, err, schema[kind].name);
}

static int sqlite_find(struct store *store, const struct store_query *query, row_fn *fn, void *arg,
                       struct err *err)
{
    struct sqlite *s = sqlite_of(store);
    CLEANUP(str_fini) struct str sql = { 0 };
    sqlite3_stmt *stmt = NULL;
    bool is_own;
    int r, at;

    sql_find(query, &sql);
    r = find_statement(s, str_text(&sql), &stmt, &is_own, err);
    if (r < 0)
        return r;
    at = bind_conds(stmt, query);
    if (query->after)
        bind_first(stmt, at, query->kind, schema[query->kind].n_keys, query->after);
    r = walk(s, stmt, query->kind, fn, arg, err);
    sqlite3_reset(stmt);
    sqlite3_clear_bindings(stmt);
    if (is_own)
        sqlite3_finalize(stmt);
    return r;
}

static int sqlite_erase(struct store *store, const struct store_query *query, struct err *err)
{
    struct sqlite *s = sqlite_of(store);
    CLEANUP(str_fini) struct str sql = { 0 };
    sqlite3_stmt *stmt = NULL;
    bool is_own;
    int r;

    sql_erase(query, &sql);
    r = find_statement(s, str_text(&sql), &stmt, &is_own, err);
    if (r < 0)
        return r;
    bind_conds(stmt, query);
    return finish(s, stmt, schema[query->kind].name, err);
}

const struct store_driver store_sqlite = {
    .scheme = "sqlite",
    .open = sqlite_open,
    .open_to_read = sqlite_open_to_read,
    .open_reader = sqlite_open_reader,
    .close = sqlite_close,
    .begin = sqlite_begin,
    .commit = sqlite_commit,
    .rollback = sqlite_rollback,
    .put = sqlite_put,
    .del = sqlite_del,
    .erase = sqlite_erase,
    .get = sqlite_get,
    .find = sqlite_find,
};
