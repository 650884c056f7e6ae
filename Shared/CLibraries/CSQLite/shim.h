#include <sqlite3.h>

// Swift calls no function with a variable number of arguments, and reads no macro with a cast.

/// A word in double quotes is a name. SQLite would take one that it does not know for a text.
static inline void csqlite_take_double_quotes_as_names(sqlite3 *database) {
    sqlite3_db_config(database, SQLITE_DBCONFIG_DQS_DDL, 0, (void *)0);
    sqlite3_db_config(database, SQLITE_DBCONFIG_DQS_DML, 0, (void *)0);
}

/// - Parameter text: may be null if it has no bytes.
static inline int csqlite_bind_text(sqlite3_stmt *statement, int place, const void *text, int bytes) {
    return sqlite3_bind_text(statement, place, text ? (const char *)text : "", bytes, SQLITE_TRANSIENT);
}

/// - Parameter blob: may be null if it has no bytes.
static inline int csqlite_bind_blob(sqlite3_stmt *statement, int place, const void *blob, int bytes) {
    if (bytes == 0) return sqlite3_bind_zeroblob(statement, place, 0);
    return sqlite3_bind_blob(statement, place, blob, bytes, SQLITE_TRANSIENT);
}

/// - Returns: null if this SQLite has no FTS5.
static inline fts5_api *csqlite_fts5(sqlite3 *database) {
    fts5_api *api = 0;
    sqlite3_stmt *statement = 0;
    if (sqlite3_prepare_v2(database, "SELECT fts5(?1)", -1, &statement, 0) == SQLITE_OK) {
        sqlite3_bind_pointer(statement, 1, &api, "fts5_api_ptr", 0);
        sqlite3_step(statement);
    }
    sqlite3_finalize(statement);
    return api;
}
