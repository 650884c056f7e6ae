#ifndef CSEALEDFILE_H
#define CSEALEDFILE_H

#include <stddef.h>
#include <stdint.h>

// A virtual file system of SQLite that seals databases: `file:PATH?vfs=wsp&k=HANDLE`. It writes XChaCha20-Poly1305 of
// libsodium, under a key that the host gives. Numbers are written with their lowest byte first.
//
// PATH begins with a preamble of 128 bytes:
//   0 magic, 16 bytes    16 version    20 kind of key    24 operations    28 kibibytes    32 salt, 16 bytes
//   48 file id, 16 bytes    64 zero, 32 bytes    96 check of the bytes before it under the key, 32 bytes
// Record n behind it holds page n, counted from 0: a nonce of 24 bytes, then the sealed page with a tag of 16.
// PATH-wal has a record for SQLite's header of 32 bytes, and one for each frame: its header of 24 bytes and its page.
// Each record is bound to the file id, to its role (main or WAL) and to its number.
//
// SQLite sees pages of 4,096 bytes without a gap. The file must be in WAL mode before it holds data of value: a
// rollback journal is kept in memory, and refused once the file is in that mode. Temporary files are kept in memory.
// PATH-shm is left to the system: it holds page numbers, and SQLite's running checksum of the last frame.

#define SEALED_FILE_VFS "wsp"
#define SEALED_FILE_KEY_BYTES 32
#define SEALED_FILE_SALT_BYTES 16
#define SEALED_FILE_PREAMBLE_BYTES 128
/// Keys that are known at once.
#define SEALED_FILE_KEYS_MAX 256

/// State of the file at a path.
enum sealed_file_state {
    /// It opens with the key.
    SEALED_FILE_OPENS = 0,
    /// There is no file, or an empty one.
    SEALED_FILE_MISSING = 1,
    /// It is something else: a plain database, for example.
    SEALED_FILE_FOREIGN = 2,
    /// A later release has written it.
    SEALED_FILE_TOO_NEW = 3,
    /// It was sealed with another key, or its preamble is damaged.
    SEALED_FILE_WRONG_KEY = 4,
    /// It cannot be read.
    SEALED_FILE_UNREADABLE = 5,
};

/// How a key comes from what the host gives.
enum sealed_file_key_kind {
    /// It is the key.
    SEALED_FILE_RAW = 0,
    /// Argon2id of a passphrase.
    SEALED_FILE_PASSPHRASE = 1,
};

/// The part of a preamble that a passphrase needs.
struct sealed_file_derivation {
    uint32_t kind;
    uint32_t operations;
    uint32_t kibibytes;
    uint8_t salt[SEALED_FILE_SALT_BYTES];
};

/// Adds the file system to those SQLite knows. Doing it twice is harmless.
/// Returns a code of SQLite.
int sealed_file_register(void);

/// Reads how the key of the file at a path is derived. `OPENS` says that it could be read: no key was tried.
enum sealed_file_state sealed_file_read_derivation(const char *path, struct sealed_file_derivation *out);

/// Compares a key with the file at a path. No page is read.
enum sealed_file_state sealed_file_check(const char *path, const uint8_t key[SEALED_FILE_KEY_BYTES]);

/// A new salt, and the cost that this release wants: 64 MiB, 3 passes.
void sealed_file_new_derivation(struct sealed_file_derivation *out);

/// Argon2id.
/// Returns 0; -1 without memory, or if the cost is out of bounds.
int sealed_file_derive(
    const uint8_t *passphrase, size_t count, const struct sealed_file_derivation *derivation,
    uint8_t key[SEALED_FILE_KEY_BYTES]);

/// Keeps a copy of a key for files that are opened with the handle. A file that it makes names the derivation; NULL: raw.
/// Returns the handle; 0 if there are too many. Numbers are not used twice.
uint32_t sealed_file_add_key(
    const uint8_t key[SEALED_FILE_KEY_BYTES], const struct sealed_file_derivation *derivation);

/// Erases the key. Files that are open stay open.
void sealed_file_remove_key(uint32_t handle);

#endif
