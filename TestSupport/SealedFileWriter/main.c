// Writes into a sealed database until it is killed, and says what was committed: `SealedFileWriter URI-PATH KEY-BYTE`.
// The tests of the sealed file kill it and look at what it has left.

#include "CSealedFile.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Rows of one transaction at most.
#define ROWS_MAX 8
// Bytes that a row has beyond its number.
#define FILLING_BYTES_MAX 12000

static void give_up(sqlite3 *database, const char *what) {
    fprintf(stderr, "%s: %s\n", what, database ? sqlite3_errmsg(database) : "no memory");
    exit(1);
}

static void run(sqlite3 *database, const char *sql) {
    if (sqlite3_exec(database, sql, NULL, NULL, NULL) != SQLITE_OK) give_up(database, sql);
}

static int newest_of(void *out, int count, char **values, char **names) {
    (void)count, (void)names;
    *(long *)out = values[0] ? atol(values[0]) : 0;
    return 0;
}

int main(int count, char **arguments) {
    if (count != 3 || sealed_file_register() != SQLITE_OK) return 2;
    uint8_t key[SEALED_FILE_KEY_BYTES];
    memset(key, atoi(arguments[2]), sizeof key);
    char uri[4096];
    snprintf(uri, sizeof uri, "file:%s?vfs=%s&k=%u", arguments[1], SEALED_FILE_VFS, sealed_file_add_key(key, NULL));

    sqlite3 *database;
    if (sqlite3_open_v2(uri, &database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI, NULL) != SQLITE_OK)
        give_up(database, "open");
    run(database, "PRAGMA journal_mode = WAL");
    // Few pages in memory and short logs: most kills hit a spill, a checkpoint or a new log.
    run(database, "PRAGMA synchronous = OFF; PRAGMA cache_size = 10; PRAGMA wal_autocheckpoint = 20");
    run(database, "CREATE TABLE IF NOT EXISTS rows (number INTEGER PRIMARY KEY, filling TEXT NOT NULL)");
    run(database, "CREATE TABLE IF NOT EXISTS sums (id INTEGER PRIMARY KEY, count INTEGER NOT NULL, bytes INTEGER NOT NULL)");
    run(database, "INSERT OR IGNORE INTO sums VALUES (1, 0, 0)");
    long newest = 0;
    sqlite3_exec(database, "SELECT max(number) FROM rows", newest_of, &newest, NULL);
    srand((unsigned)(newest * 31 + getpid()));

    for (;;) {
        run(database, "BEGIN IMMEDIATE");
        for (int left = 1 + rand() % ROWS_MAX; left > 0; left--) {
            char sql[400];
            newest++;
            long bytes = newest * 7919 % FILLING_BYTES_MAX;
            snprintf(
                sql, sizeof sql,
                "INSERT INTO rows VALUES (%ld, substr(replace(hex(zeroblob(%ld)), '00', 'n%ld.'), 1, %ld));"
                "UPDATE sums SET count = count + 1, bytes = bytes + %ld",
                newest, bytes, newest, bytes, bytes);
            run(database, sql);
        }
        if (rand() % 8 == 0) {
            run(database, "ROLLBACK");
            newest = 0;
            sqlite3_exec(database, "SELECT max(number) FROM rows", newest_of, &newest, NULL);
            continue;
        }
        run(database, "COMMIT");
        printf("%ld\n", newest);
        fflush(stdout);
        if (rand() % 64 == 0) run(database, "PRAGMA wal_checkpoint(TRUNCATE)");
        if (newest > 0 && rand() % 256 == 0) run(database, "VACUUM");
    }
}
