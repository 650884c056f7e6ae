// Keys: where they are kept, how they are derived, and how a file says whether one fits.

#include "sealed.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sodium.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// Cost of a new file's derivation.
#define DERIVATION_OPERATIONS 3
#define DERIVATION_KIBIBYTES 65536
// The most that a preamble may ask for: an attacker who writes to the disk must not exhaust the opener's memory.
#define DERIVATION_OPERATIONS_MAX 16
#define DERIVATION_KIBIBYTES_MAX 262144

static const uint8_t magic[MAGIC_BYTES] = "WhisperSealed\r\n";

struct kept_key {
    uint32_t handle;
    struct sealed_file_derivation derivation;
    // Guarded memory of libsodium; NULL in a free place.
    uint8_t *key;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct kept_key keys[SEALED_FILE_KEYS_MAX];
static uint32_t newest_handle = 0;

static uint32_t number_at(const uint8_t *bytes) {
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

static void write_number(uint8_t *bytes, uint32_t number) {
    for (int i = 0; i < 4; i++) bytes[i] = (uint8_t)(number >> (8 * i));
}

// A key for one purpose in one file.
static void derive_for_file(uint8_t out[SEALED_FILE_KEY_BYTES], const char purpose[8], const uint8_t *id, const uint8_t *key) {
    uint8_t input[8 + FILE_ID_BYTES];
    memcpy(input, purpose, 8);
    memcpy(input + 8, id, FILE_ID_BYTES);
    crypto_generichash(out, SEALED_FILE_KEY_BYTES, input, sizeof input, key, SEALED_FILE_KEY_BYTES);
}

static void check_of(uint8_t check[CHECK_BYTES], const uint8_t *preamble, const uint8_t *key) {
    uint8_t purpose_key[SEALED_FILE_KEY_BYTES];
    derive_for_file(purpose_key, "wspcheck", preamble + FILE_ID_AT, key);
    crypto_generichash(check, CHECK_BYTES, preamble, CHECK_AT, purpose_key, sizeof purpose_key);
    sodium_memzero(purpose_key, sizeof purpose_key);
}

void sealed_preamble_make(
    uint8_t preamble[SEALED_FILE_PREAMBLE_BYTES], const uint8_t *key, const struct sealed_file_derivation *derivation) {
    memset(preamble, 0, SEALED_FILE_PREAMBLE_BYTES);
    memcpy(preamble, magic, sizeof magic);
    write_number(preamble + VERSION_AT, FORMAT_VERSION);
    write_number(preamble + KIND_AT, derivation->kind);
    write_number(preamble + OPERATIONS_AT, derivation->operations);
    write_number(preamble + KIBIBYTES_AT, derivation->kibibytes);
    memcpy(preamble + SALT_AT, derivation->salt, SEALED_FILE_SALT_BYTES);
    randombytes_buf(preamble + FILE_ID_AT, FILE_ID_BYTES);
    check_of(preamble + CHECK_AT, preamble, key);
}

enum sealed_file_state sealed_preamble_look(
    const uint8_t preamble[SEALED_FILE_PREAMBLE_BYTES], struct sealed_file_derivation *out) {
    if (memcmp(preamble, magic, sizeof magic) != 0) return SEALED_FILE_FOREIGN;
    if (number_at(preamble + VERSION_AT) != FORMAT_VERSION) return SEALED_FILE_TOO_NEW;
    out->kind = number_at(preamble + KIND_AT);
    out->operations = number_at(preamble + OPERATIONS_AT);
    out->kibibytes = number_at(preamble + KIBIBYTES_AT);
    memcpy(out->salt, preamble + SALT_AT, SEALED_FILE_SALT_BYTES);
    return SEALED_FILE_OPENS;
}

enum sealed_file_state sealed_preamble_open(
    const uint8_t preamble[SEALED_FILE_PREAMBLE_BYTES], const uint8_t *key, uint8_t seal_key[SEALED_FILE_KEY_BYTES]) {
    struct sealed_file_derivation derivation;
    enum sealed_file_state state = sealed_preamble_look(preamble, &derivation);
    if (state != SEALED_FILE_OPENS) return state;
    uint8_t check[CHECK_BYTES];
    check_of(check, preamble, key);
    if (sodium_memcmp(check, preamble + CHECK_AT, sizeof check) != 0) return SEALED_FILE_WRONG_KEY;
    derive_for_file(seal_key, "wspseals", preamble + FILE_ID_AT, key);
    return SEALED_FILE_OPENS;
}

static enum sealed_file_state read_preamble(const char *path, uint8_t preamble[SEALED_FILE_PREAMBLE_BYTES]) {
    if (sodium_init() < 0) return SEALED_FILE_UNREADABLE;
    // Opening a pipe would wait for its writer.
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) return errno == ENOENT ? SEALED_FILE_MISSING : SEALED_FILE_UNREADABLE;
    struct stat status;
    if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) {
        close(file);
        return SEALED_FILE_UNREADABLE;
    }
    ssize_t count;
    do count = pread(file, preamble, SEALED_FILE_PREAMBLE_BYTES, 0);
    while (count < 0 && errno == EINTR);
    close(file);
    if (count < 0) return SEALED_FILE_UNREADABLE;
    if (count == 0) return SEALED_FILE_MISSING;
    return count == SEALED_FILE_PREAMBLE_BYTES ? SEALED_FILE_OPENS : SEALED_FILE_FOREIGN;
}

enum sealed_file_state sealed_file_read_derivation(const char *path, struct sealed_file_derivation *out) {
    uint8_t preamble[SEALED_FILE_PREAMBLE_BYTES];
    enum sealed_file_state state = read_preamble(path, preamble);
    return state == SEALED_FILE_OPENS ? sealed_preamble_look(preamble, out) : state;
}

enum sealed_file_state sealed_file_check(const char *path, const uint8_t key[SEALED_FILE_KEY_BYTES]) {
    uint8_t preamble[SEALED_FILE_PREAMBLE_BYTES], seal_key[SEALED_FILE_KEY_BYTES];
    enum sealed_file_state state = read_preamble(path, preamble);
    if (state == SEALED_FILE_OPENS) state = sealed_preamble_open(preamble, key, seal_key);
    sodium_memzero(seal_key, sizeof seal_key);
    return state;
}

void sealed_file_new_derivation(struct sealed_file_derivation *out) {
    if (sodium_init() < 0) return;
    out->kind = SEALED_FILE_PASSPHRASE;
    out->operations = DERIVATION_OPERATIONS;
    out->kibibytes = DERIVATION_KIBIBYTES;
    randombytes_buf(out->salt, sizeof out->salt);
}

int sealed_file_derive(
    const uint8_t *passphrase, size_t count, const struct sealed_file_derivation *derivation,
    uint8_t key[SEALED_FILE_KEY_BYTES]) {
    if (sodium_init() < 0 || derivation->kind != SEALED_FILE_PASSPHRASE ||
        derivation->operations > DERIVATION_OPERATIONS_MAX || derivation->kibibytes > DERIVATION_KIBIBYTES_MAX)
        return -1;
    return crypto_pwhash(
        key, SEALED_FILE_KEY_BYTES, (const char *)passphrase, count, derivation->salt, derivation->operations,
        (size_t)derivation->kibibytes * 1024, crypto_pwhash_ALG_ARGON2ID13);
}

uint32_t sealed_file_add_key(
    const uint8_t key[SEALED_FILE_KEY_BYTES], const struct sealed_file_derivation *derivation) {
    static const struct sealed_file_derivation raw = {.kind = SEALED_FILE_RAW};
    if (sodium_init() < 0) return 0;
    uint32_t handle = 0;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < SEALED_FILE_KEYS_MAX && newest_handle < UINT32_MAX; i++) {
        if (keys[i].key) continue;
        keys[i].key = sodium_malloc(SEALED_FILE_KEY_BYTES);
        if (!keys[i].key) break;
        memcpy(keys[i].key, key, SEALED_FILE_KEY_BYTES);
        keys[i].derivation = derivation ? *derivation : raw;
        keys[i].handle = handle = ++newest_handle;
        break;
    }
    pthread_mutex_unlock(&lock);
    return handle;
}

void sealed_file_remove_key(uint32_t handle) {
    pthread_mutex_lock(&lock);
    for (int i = 0; i < SEALED_FILE_KEYS_MAX; i++) {
        if (!keys[i].key || keys[i].handle != handle) continue;
        sodium_free(keys[i].key);
        keys[i].key = NULL;
    }
    pthread_mutex_unlock(&lock);
}

int sealed_key_of(
    uint32_t handle, uint8_t key[SEALED_FILE_KEY_BYTES], struct sealed_file_derivation *derivation) {
    int result = -1;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < SEALED_FILE_KEYS_MAX && result < 0; i++) {
        if (!keys[i].key || keys[i].handle != handle) continue;
        memcpy(key, keys[i].key, SEALED_FILE_KEY_BYTES);
        *derivation = keys[i].derivation;
        result = 0;
    }
    pthread_mutex_unlock(&lock);
    return result;
}
