// The file system: a shim over the system's own, which keeps locks and shared memory.

#include "sealed.h"

#include <pthread.h>
#include <sodium.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#define PAGE_BYTES 4096
#define NONCE_BYTES 24
#define TAG_BYTES 16
#define SEAL_BYTES (NONCE_BYTES + TAG_BYTES)
#define WAL_HEADER_BYTES 32
#define FRAME_HEADER_BYTES 24
#define FRAME_BYTES (FRAME_HEADER_BYTES + PAGE_BYTES)
// Where a frame's header and the WAL's have their salts, which change when the WAL begins anew.
#define FRAME_SALTS_AT 8
#define WAL_SALTS_AT 16
#define SALTS_BYTES 8
// The version of page 1's reader: 2 in WAL mode.
#define WAL_MODE_AT 19
#define WAL_MODE 2
// The most that one temporary file keeps in memory.
#define MEMORY_FILE_BYTES_MAX ((sqlite3_int64)1 << 30)

enum role { ROLE_MAIN = 'm', ROLE_WAL = 'w', ROLE_MEMORY = 't' };

struct sealed_file {
    sqlite3_file base;
    enum role role;
    // The system's file, behind this structure. A memory file has none.
    sqlite3_file *real;
    uint8_t seal_key[SEALED_FILE_KEY_BYTES];
    uint8_t id[FILE_ID_BYTES];
    // WAL only: the frame whose header was written and whose page was not; 0 if there is none.
    sqlite3_int64 held;
    uint8_t held_header[FRAME_HEADER_BYTES];
    // WAL only: the last frame written here under these salts. Beyond it a frame's header comes before its page.
    sqlite3_int64 newest;
    uint8_t salts[SALTS_BYTES];
    // Memory file only.
    uint8_t *bytes;
    sqlite3_int64 size, capacity;
};

static sqlite3_vfs *base_of(sqlite3_vfs *vfs) { return vfs->pAppData; }
static struct sealed_file *sealed(sqlite3_file *file) { return (struct sealed_file *)file; }
static sqlite3_file *real(sqlite3_file *file) { return sealed(file)->real; }

// Records

// A record's place among the bytes that SQLite sees, and on the disk.
struct place {
    sqlite3_int64 plain_at, sealed_at;
    int plain_bytes;
};

static struct place place_of(enum role role, sqlite3_int64 number) {
    if (role == ROLE_MAIN)
        return (struct place){
            number * PAGE_BYTES, SEALED_FILE_PREAMBLE_BYTES + number * (PAGE_BYTES + SEAL_BYTES), PAGE_BYTES};
    if (number == 0) return (struct place){0, 0, WAL_HEADER_BYTES};
    return (struct place){
        WAL_HEADER_BYTES + (number - 1) * FRAME_BYTES,
        WAL_HEADER_BYTES + SEAL_BYTES + (number - 1) * (FRAME_BYTES + SEAL_BYTES), FRAME_BYTES};
}

// The record that has a byte which SQLite sees.
static sqlite3_int64 number_of(enum role role, sqlite3_int64 offset) {
    if (role == ROLE_MAIN) return offset / PAGE_BYTES;
    return offset < WAL_HEADER_BYTES ? 0 : 1 + (offset - WAL_HEADER_BYTES) / FRAME_BYTES;
}

// Whole records on the disk. The rest of one that a crash cut off is none.
static int count_records(struct sealed_file *file, sqlite3_int64 *count) {
    sqlite3_int64 bytes;
    int rc = file->real->pMethods->xFileSize(file->real, &bytes);
    if (rc != SQLITE_OK) return rc;
    struct place first = place_of(file->role, 1);
    *count = bytes < first.sealed_at ? 0 : 1 + (bytes - first.sealed_at) / (first.plain_bytes + SEAL_BYTES);
    return SQLITE_OK;
}

// The binding of a record: file id, role and number.
struct binding {
    uint8_t bytes[FILE_ID_BYTES + 1 + 8];
};

static struct binding binding_of(const struct sealed_file *file, sqlite3_int64 number) {
    struct binding binding;
    memcpy(binding.bytes, file->id, FILE_ID_BYTES);
    binding.bytes[FILE_ID_BYTES] = (uint8_t)file->role;
    for (int i = 0; i < 8; i++) binding.bytes[FILE_ID_BYTES + 1 + i] = (uint8_t)((uint64_t)number >> (8 * i));
    return binding;
}

// Reads and opens record `number` into `plain`, which has room for it.
// Returns SQLITE_IOERR_SHORT_READ if there is none, SQLITE_IOERR_DATA if it does not open. `plain` is zero then.
static int read_record(struct sealed_file *file, sqlite3_int64 number, uint8_t *plain) {
    struct place place = place_of(file->role, number);
    struct binding binding = binding_of(file, number);
    uint8_t record[FRAME_BYTES + SEAL_BYTES];
    int rc = file->real->pMethods->xRead(file->real, record, place.plain_bytes + SEAL_BYTES, place.sealed_at);
    if (rc == SQLITE_OK &&
        crypto_aead_xchacha20poly1305_ietf_decrypt(
            plain, NULL, NULL, record + NONCE_BYTES, (unsigned long long)(place.plain_bytes + TAG_BYTES), binding.bytes,
            sizeof binding.bytes, record, file->seal_key) != 0)
        rc = SQLITE_IOERR_DATA;
    if (rc != SQLITE_OK) memset(plain, 0, (size_t)place.plain_bytes);
    return rc;
}

static int write_record(struct sealed_file *file, sqlite3_int64 number, const uint8_t *plain) {
    struct place place = place_of(file->role, number);
    struct binding binding = binding_of(file, number);
    uint8_t record[FRAME_BYTES + SEAL_BYTES];
    randombytes_buf(record, NONCE_BYTES);
    crypto_aead_xchacha20poly1305_ietf_encrypt(
        record + NONCE_BYTES, NULL, plain, (unsigned long long)place.plain_bytes, binding.bytes, sizeof binding.bytes, NULL,
        record, file->seal_key);
    return file->real->pMethods->xWrite(file->real, record, place.plain_bytes + SEAL_BYTES, place.sealed_at);
}

// Main file and WAL

static int sealed_read(sqlite3_file *base, void *buffer, int amount, sqlite3_int64 offset) {
    struct sealed_file *file = sealed(base);
    uint8_t *to = buffer, plain[FRAME_BYTES];
    int rc = SQLITE_OK;
    while (amount > 0 && rc == SQLITE_OK) {
        sqlite3_int64 number = number_of(file->role, offset);
        struct place place = place_of(file->role, number);
        int from = (int)(offset - place.plain_at);
        int part = place.plain_bytes - from < amount ? place.plain_bytes - from : amount;
        if (part == place.plain_bytes) {
            rc = read_record(file, number, to);
        } else {
            rc = read_record(file, number, plain);
            memcpy(to, plain + from, (size_t)part);
        }
        // Recovery reads a WAL from header to header, and takes zeros for its end. A page of a known frame must open.
        if (rc == SQLITE_IOERR_DATA && file->role == ROLE_WAL && from == 0) rc = SQLITE_OK;
        // SQLite looks into the first page before it reads the WAL, where that page stands if a checkpoint was cut off.
        // A database without WAL reads the whole page next.
        if (rc == SQLITE_IOERR_DATA && file->role == ROLE_MAIN && part < PAGE_BYTES) rc = SQLITE_OK;
        to += part;
        offset += part;
        amount -= part;
    }
    if (amount > 0) memset(to, 0, (size_t)amount);
    sodium_memzero(plain, sizeof plain);
    return rc;
}

// SQLite leaves out pages that are free, and may read them later. A hole on the disk would not open.
static int fill_until(struct sealed_file *file, sqlite3_int64 number) {
    static const uint8_t zeros[PAGE_BYTES];
    sqlite3_int64 count;
    int rc = count_records(file, &count);
    for (; rc == SQLITE_OK && count < number; count++) rc = write_record(file, count, zeros);
    return rc;
}

static int main_write(sqlite3_file *base, const void *buffer, int amount, sqlite3_int64 offset) {
    struct sealed_file *file = sealed(base);
    if (amount != PAGE_BYTES || offset % PAGE_BYTES != 0) return SQLITE_IOERR_WRITE;
    int rc = fill_until(file, offset / PAGE_BYTES);
    return rc == SQLITE_OK ? write_record(file, offset / PAGE_BYTES, buffer) : rc;
}

// Whether a header has other salts than the frames before it. Zeros stand in headers that SQLite completes when the
// transaction ends: it has changed a page of an earlier frame, and the checksums after it are not known yet.
static int begins_anew(const struct sealed_file *file, const uint8_t *header) {
    return !sodium_is_zero(header + FRAME_SALTS_AT, SALTS_BYTES) &&
        memcmp(file->salts, header + FRAME_SALTS_AT, SALTS_BYTES) != 0;
}

static void remember_frame(struct sealed_file *file, sqlite3_int64 number, const uint8_t *header) {
    if (begins_anew(file, header)) {
        memcpy(file->salts, header + FRAME_SALTS_AT, SALTS_BYTES);
        file->newest = 0;
    }
    if (number > file->newest) file->newest = number;
}

// SQLite writes a frame's header first, and then its page. Later it may write either again within the transaction, and
// the last header of all is followed by nothing. So a header waits for its page only where there is no frame to change.
static int write_frame_part(struct sealed_file *file, sqlite3_int64 number, int from, const uint8_t *bytes, int count) {
    uint8_t plain[FRAME_BYTES];
    int is_header = from == 0 && count == FRAME_HEADER_BYTES;
    int is_new = is_header && (number > file->newest || begins_anew(file, bytes));
    sqlite3_int64 held = file->held;
    int rc = SQLITE_OK;
    file->held = 0;
    if (held == number && from == FRAME_HEADER_BYTES && count == PAGE_BYTES)
        memcpy(plain, file->held_header, FRAME_HEADER_BYTES);
    else if (count < FRAME_BYTES && !is_new)
        rc = read_record(file, number, plain);
    // A frame that a failed write has cut off is none. SQLite has read whatever it changes.
    if (is_header && (is_new || rc == SQLITE_IOERR_SHORT_READ || rc == SQLITE_IOERR_DATA)) {
        memcpy(file->held_header, bytes, FRAME_HEADER_BYTES);
        file->held = number;
        return SQLITE_OK;
    }
    if (rc == SQLITE_OK) {
        memcpy(plain + from, bytes, (size_t)count);
        rc = write_record(file, number, plain);
    }
    if (rc == SQLITE_OK) remember_frame(file, number, plain);
    sodium_memzero(plain, sizeof plain);
    // A record that is not there cannot be changed in part.
    return rc == SQLITE_IOERR_SHORT_READ ? SQLITE_IOERR_WRITE : rc;
}

static int wal_write(sqlite3_file *base, const void *buffer, int amount, sqlite3_int64 offset) {
    struct sealed_file *file = sealed(base);
    const uint8_t *bytes = buffer;
    int rc = SQLITE_OK;
    while (amount > 0 && rc == SQLITE_OK) {
        sqlite3_int64 number = number_of(ROLE_WAL, offset);
        struct place place = place_of(ROLE_WAL, number);
        int from = (int)(offset - place.plain_at);
        int part = place.plain_bytes - from < amount ? place.plain_bytes - from : amount;
        if (number > 0) {
            rc = write_frame_part(file, number, from, bytes, part);
        } else if (part == WAL_HEADER_BYTES) {
            file->held = 0;
            rc = write_record(file, 0, bytes);
            file->newest = 0;
            memcpy(file->salts, bytes + WAL_SALTS_AT, SALTS_BYTES);
        } else {
            rc = SQLITE_IOERR_WRITE;
        }
        bytes += part;
        offset += part;
        amount -= part;
    }
    return rc;
}

static int sealed_truncate(sqlite3_file *base, sqlite3_int64 size) {
    struct sealed_file *file = sealed(base);
    // The first record that goes: one that is asked for in part stays whole.
    sqlite3_int64 count = size == 0 ? 0 : number_of(file->role, size - 1) + 1;
    int rc = file->role == ROLE_MAIN ? fill_until(file, count) : SQLITE_OK;
    if (rc != SQLITE_OK) return rc;
    file->held = 0;
    if (file->newest >= count) file->newest = count == 0 ? 0 : count - 1;
    return file->real->pMethods->xTruncate(file->real, place_of(file->role, count).sealed_at);
}

static int sealed_size(sqlite3_file *base, sqlite3_int64 *size) {
    sqlite3_int64 count;
    int rc = count_records(sealed(base), &count);
    *size = rc == SQLITE_OK ? place_of(sealed(base)->role, count).plain_at : 0;
    return rc;
}

static int sealed_control(sqlite3_file *base, int operation, void *argument) {
    switch (operation) {
    case SQLITE_FCNTL_SIZE_HINT:
    case SQLITE_FCNTL_CHUNK_SIZE:
        // They would be given in bytes that SQLite sees.
        return SQLITE_OK;
    case SQLITE_FCNTL_MMAP_SIZE:
        *(sqlite3_int64 *)argument = 0;
        return SQLITE_OK;
    case SQLITE_FCNTL_PRAGMA: {
        // Answered, and ignored: pages have one size, and none is mapped.
        char **words = argument;
        if (words[2] && (sqlite3_stricmp(words[1], "page_size") == 0 || sqlite3_stricmp(words[1], "mmap_size") == 0))
            return SQLITE_OK;
        return SQLITE_NOTFOUND;
    }
    default: return real(base)->pMethods->xFileControl(real(base), operation, argument);
    }
}

static int sealed_sector(sqlite3_file *base) {
    (void)base;
    return PAGE_BYTES;
}

// A page is no whole block on the disk, so no write of one is atomic. A write changes no byte of another record.
static int sealed_characteristics(sqlite3_file *base) {
    int real_ones = real(base)->pMethods->xDeviceCharacteristics(real(base));
    return SQLITE_IOCAP_POWERSAFE_OVERWRITE | (real_ones & SQLITE_IOCAP_UNDELETABLE_WHEN_OPEN);
}

static int sealed_close(sqlite3_file *base) {
    struct sealed_file *file = sealed(base);
    int rc = file->real->pMethods ? file->real->pMethods->xClose(file->real) : SQLITE_OK;
    sodium_memzero(file->seal_key, sizeof file->seal_key);
    return rc;
}

static int sealed_sync(sqlite3_file *base, int flags) { return real(base)->pMethods->xSync(real(base), flags); }
static int sealed_lock(sqlite3_file *base, int level) { return real(base)->pMethods->xLock(real(base), level); }
static int sealed_unlock(sqlite3_file *base, int level) { return real(base)->pMethods->xUnlock(real(base), level); }
static int sealed_reserved(sqlite3_file *base, int *out) {
    return real(base)->pMethods->xCheckReservedLock(real(base), out);
}
static int sealed_shm_map(sqlite3_file *base, int region, int bytes, int extend, void volatile **out) {
    return real(base)->pMethods->xShmMap(real(base), region, bytes, extend, out);
}
static int sealed_shm_lock(sqlite3_file *base, int offset, int count, int flags) {
    return real(base)->pMethods->xShmLock(real(base), offset, count, flags);
}
static void sealed_shm_barrier(sqlite3_file *base) { real(base)->pMethods->xShmBarrier(real(base)); }
static int sealed_shm_unmap(sqlite3_file *base, int remove) {
    return real(base)->pMethods->xShmUnmap(real(base), remove);
}

static const sqlite3_io_methods main_methods = {
    // Version 2: shared memory, and no mapped pages.
    .iVersion = 2,
    .xClose = sealed_close,
    .xRead = sealed_read,
    .xWrite = main_write,
    .xTruncate = sealed_truncate,
    .xSync = sealed_sync,
    .xFileSize = sealed_size,
    .xLock = sealed_lock,
    .xUnlock = sealed_unlock,
    .xCheckReservedLock = sealed_reserved,
    .xFileControl = sealed_control,
    .xSectorSize = sealed_sector,
    .xDeviceCharacteristics = sealed_characteristics,
    .xShmMap = sealed_shm_map,
    .xShmLock = sealed_shm_lock,
    .xShmBarrier = sealed_shm_barrier,
    .xShmUnmap = sealed_shm_unmap,
};

static const sqlite3_io_methods wal_methods = {
    .iVersion = 1,
    .xClose = sealed_close,
    .xRead = sealed_read,
    .xWrite = wal_write,
    .xTruncate = sealed_truncate,
    .xSync = sealed_sync,
    .xFileSize = sealed_size,
    .xLock = sealed_lock,
    .xUnlock = sealed_unlock,
    .xCheckReservedLock = sealed_reserved,
    .xFileControl = sealed_control,
    .xSectorSize = sealed_sector,
    .xDeviceCharacteristics = sealed_characteristics,
};

// Memory files

static int memory_close(sqlite3_file *base) {
    struct sealed_file *file = sealed(base);
    if (file->bytes) sodium_memzero(file->bytes, (size_t)file->capacity);
    free(file->bytes);
    file->bytes = NULL;
    return SQLITE_OK;
}

static int memory_read(sqlite3_file *base, void *buffer, int amount, sqlite3_int64 offset) {
    struct sealed_file *file = sealed(base);
    sqlite3_int64 rest = offset < file->size ? file->size - offset : 0;
    int there = rest < amount ? (int)rest : amount;
    if (there > 0) memcpy(buffer, file->bytes + offset, (size_t)there);
    memset((uint8_t *)buffer + there, 0, (size_t)(amount - there));
    return there < amount ? SQLITE_IOERR_SHORT_READ : SQLITE_OK;
}

static int memory_write(sqlite3_file *base, const void *buffer, int amount, sqlite3_int64 offset) {
    struct sealed_file *file = sealed(base);
    sqlite3_int64 end = offset + amount;
    if (end > MEMORY_FILE_BYTES_MAX) return SQLITE_FULL;
    if (end > file->capacity) {
        sqlite3_int64 capacity = end > file->capacity * 2 ? end : file->capacity * 2;
        uint8_t *bytes = calloc(1, (size_t)capacity);
        if (!bytes) return SQLITE_IOERR_NOMEM;
        if (file->bytes) {
            memcpy(bytes, file->bytes, (size_t)file->size);
            sodium_memzero(file->bytes, (size_t)file->capacity);
            free(file->bytes);
        }
        file->bytes = bytes;
        file->capacity = capacity;
    }
    memcpy(file->bytes + offset, buffer, (size_t)amount);
    if (end > file->size) file->size = end;
    return SQLITE_OK;
}

static int memory_truncate(sqlite3_file *base, sqlite3_int64 size) {
    struct sealed_file *file = sealed(base);
    if (size >= file->size) return SQLITE_OK;
    sodium_memzero(file->bytes + size, (size_t)(file->size - size));
    file->size = size;
    return SQLITE_OK;
}

static int memory_size(sqlite3_file *base, sqlite3_int64 *size) {
    *size = sealed(base)->size;
    return SQLITE_OK;
}

static int memory_nothing(sqlite3_file *base, int flags) {
    (void)base, (void)flags;
    return SQLITE_OK;
}
static int memory_reserved(sqlite3_file *base, int *out) {
    (void)base;
    *out = 0;
    return SQLITE_OK;
}
static int memory_control(sqlite3_file *base, int operation, void *argument) {
    (void)base, (void)operation, (void)argument;
    return SQLITE_NOTFOUND;
}
static int memory_characteristics(sqlite3_file *base) {
    (void)base;
    return 0;
}

static const sqlite3_io_methods memory_methods = {
    .iVersion = 1,
    .xClose = memory_close,
    .xRead = memory_read,
    .xWrite = memory_write,
    .xTruncate = memory_truncate,
    .xSync = memory_nothing,
    .xFileSize = memory_size,
    .xLock = memory_nothing,
    .xUnlock = memory_nothing,
    .xCheckReservedLock = memory_reserved,
    .xFileControl = memory_control,
    .xSectorSize = sealed_sector,
    .xDeviceCharacteristics = memory_characteristics,
};

// Opening

static int code_of(enum sealed_file_state state) { return state == SEALED_FILE_OPENS ? SQLITE_OK : SQLITE_NOTADB; }

// Reads the preamble, or makes it if the file is empty and may be written.
static int open_preamble(struct sealed_file *file, const char *name, int may_write) {
    uint8_t key[SEALED_FILE_KEY_BYTES], preamble[SEALED_FILE_PREAMBLE_BYTES];
    struct sealed_file_derivation derivation;
    const sqlite3_io_methods *methods = file->real->pMethods;
    sqlite3_int64 handle = sqlite3_uri_int64(name, "k", 0), size;
    if (handle <= 0 || handle > UINT32_MAX || sealed_key_of((uint32_t)handle, key, &derivation) != 0)
        return SQLITE_CANTOPEN;
    int rc = methods->xFileSize(file->real, &size);
    if (rc == SQLITE_OK && size == 0) {
        // If two openers find an empty file, one makes the preamble, and the other is busy or reads it.
        if (!may_write) rc = SQLITE_CANTOPEN;
        for (int level = SQLITE_LOCK_SHARED; level <= SQLITE_LOCK_EXCLUSIVE && rc == SQLITE_OK; level++)
            if (level != SQLITE_LOCK_PENDING) rc = methods->xLock(file->real, level);
        if (rc == SQLITE_OK) rc = methods->xFileSize(file->real, &size);
        if (rc == SQLITE_OK && size == 0) {
            sealed_preamble_make(preamble, key, &derivation);
            rc = methods->xWrite(file->real, preamble, sizeof preamble, 0);
            if (rc == SQLITE_OK) rc = methods->xSync(file->real, SQLITE_SYNC_FULL);
        }
        int unlocked = methods->xUnlock(file->real, SQLITE_LOCK_NONE);
        if (rc == SQLITE_OK) rc = unlocked;
    }
    if (rc == SQLITE_OK) rc = methods->xRead(file->real, preamble, sizeof preamble, 0);
    if (rc == SQLITE_IOERR_SHORT_READ) rc = SQLITE_NOTADB;
    if (rc == SQLITE_OK) rc = code_of(sealed_preamble_open(preamble, key, file->seal_key));
    if (rc == SQLITE_OK) memcpy(file->id, preamble + FILE_ID_AT, FILE_ID_BYTES);
    sodium_memzero(key, sizeof key);
    return rc;
}

// Whether a file has been brought to WAL mode. An empty file is in none.
static int is_in_wal_mode(struct sealed_file *file) {
    uint8_t page[PAGE_BYTES];
    int rc = read_record(file, 0, page);
    int is_in_it = page[WAL_MODE_AT] == WAL_MODE;
    sodium_memzero(page, sizeof page);
    return rc == SQLITE_IOERR_SHORT_READ ? 0 : rc != SQLITE_OK || is_in_it;
}

static int open_file(sqlite3_vfs *vfs, const char *name, sqlite3_file *base, int flags, int *out_flags) {
    struct sealed_file *file = sealed(base);
    memset(file, 0, sizeof *file);
    if (flags & SQLITE_OPEN_SUPER_JOURNAL) return SQLITE_CANTOPEN;
    if (!(flags & (SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_WAL)) || !name) {
        if (flags & SQLITE_OPEN_MAIN_JOURNAL && name && is_in_wal_mode(sealed(sqlite3_database_file_object(name))))
            return SQLITE_CANTOPEN;
        file->role = ROLE_MEMORY;
        file->base.pMethods = &memory_methods;
        if (out_flags) *out_flags = flags;
        return SQLITE_OK;
    }
    file->role = flags & SQLITE_OPEN_WAL ? ROLE_WAL : ROLE_MAIN;
    file->real = (sqlite3_file *)(file + 1);
    memset(file->real, 0, sizeof *file->real);
    int got = flags;
    int rc = base_of(vfs)->xOpen(base_of(vfs), name, file->real, flags, &got);
    if (rc == SQLITE_OK && file->role == ROLE_MAIN) rc = open_preamble(file, name, !(got & SQLITE_OPEN_READONLY));
    if (rc == SQLITE_OK && file->role == ROLE_WAL) {
        const struct sealed_file *main_file = sealed(sqlite3_database_file_object(name));
        memcpy(file->seal_key, main_file->seal_key, sizeof file->seal_key);
        memcpy(file->id, main_file->id, sizeof file->id);
    }
    if (rc != SQLITE_OK) {
        sealed_close(base);
        return rc;
    }
    file->base.pMethods = file->role == ROLE_MAIN ? &main_methods : &wal_methods;
    if (out_flags) *out_flags = got;
    return SQLITE_OK;
}

// A journal on the disk is none of this file system's.
static int is_journal(const char *name) {
    static const char suffix[] = "-journal";
    size_t count = strlen(name);
    return count >= sizeof suffix - 1 && strcmp(name + count - (sizeof suffix - 1), suffix) == 0;
}

static int delete_file(sqlite3_vfs *vfs, const char *name, int sync) {
    return is_journal(name) ? SQLITE_OK : base_of(vfs)->xDelete(base_of(vfs), name, sync);
}

static int access_file(sqlite3_vfs *vfs, const char *name, int flags, int *out) {
    if (!is_journal(name)) return base_of(vfs)->xAccess(base_of(vfs), name, flags, out);
    *out = 0;
    return SQLITE_OK;
}

static int full_path(sqlite3_vfs *vfs, const char *name, int bytes, char *out) {
    return base_of(vfs)->xFullPathname(base_of(vfs), name, bytes, out);
}
static void *library_open(sqlite3_vfs *vfs, const char *name) { return base_of(vfs)->xDlOpen(base_of(vfs), name); }
static void library_error(sqlite3_vfs *vfs, int bytes, char *out) { base_of(vfs)->xDlError(base_of(vfs), bytes, out); }
static void (*library_symbol(sqlite3_vfs *vfs, void *library, const char *name))(void) {
    return base_of(vfs)->xDlSym(base_of(vfs), library, name);
}
static void library_close(sqlite3_vfs *vfs, void *library) { base_of(vfs)->xDlClose(base_of(vfs), library); }
static int random_bytes(sqlite3_vfs *vfs, int bytes, char *out) {
    return base_of(vfs)->xRandomness(base_of(vfs), bytes, out);
}
static int wait_for(sqlite3_vfs *vfs, int microseconds) { return base_of(vfs)->xSleep(base_of(vfs), microseconds); }
static int last_error(sqlite3_vfs *vfs, int bytes, char *out) {
    return base_of(vfs)->xGetLastError(base_of(vfs), bytes, out);
}
static int current_time(sqlite3_vfs *vfs, double *out) { return base_of(vfs)->xCurrentTime(base_of(vfs), out); }
static int current_milliseconds(sqlite3_vfs *vfs, sqlite3_int64 *out) {
    return base_of(vfs)->xCurrentTimeInt64(base_of(vfs), out);
}

static sqlite3_vfs file_system = {
    .iVersion = 2,
    .zName = SEALED_FILE_VFS,
    .xOpen = open_file,
    .xDelete = delete_file,
    .xAccess = access_file,
    .xFullPathname = full_path,
    .xDlOpen = library_open,
    .xDlError = library_error,
    .xDlSym = library_symbol,
    .xDlClose = library_close,
    .xRandomness = random_bytes,
    .xSleep = wait_for,
    .xCurrentTime = current_time,
    .xGetLastError = last_error,
    .xCurrentTimeInt64 = current_milliseconds,
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int registered = SQLITE_ERROR;

static void add_file_system(void) {
    sqlite3_vfs *base = sqlite3_vfs_find(NULL);
    if (!base || base->iVersion < 2 || sodium_init() < 0) return;
    file_system.pAppData = base;
    file_system.mxPathname = base->mxPathname;
    file_system.szOsFile = (int)sizeof(struct sealed_file) + base->szOsFile;
    registered = sqlite3_vfs_register(&file_system, 0);
}

int sealed_file_register(void) {
    pthread_once(&once, add_file_system);
    return registered;
}
