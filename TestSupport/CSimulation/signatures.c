// Most of a world's time went into checking signatures that the same process had just made. Ed25519 is deterministic: a
// signature that came from this key over these bytes is valid. Everything else is checked by libsodium. These definitions stand in
// front of libsodium's, for the executable that links them.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <string.h>

// Longest message that is remembered, in bytes: digests and challenges.
#define MESSAGE_BYTES_MAX 64
// Signatures that are remembered. The youngest of those that fall on the same place stays.
#define SIGNED_MAX 4096

struct signed_message {
    unsigned char signature[64];
    unsigned char key[32];
    unsigned char message[MESSAGE_BYTES_MAX];
    uint64_t count;
};

static struct signed_message signed_messages[SIGNED_MAX];

static struct signed_message *place_of(const unsigned char *signature) {
    uint64_t word;
    memcpy(&word, signature, sizeof word);
    return &signed_messages[word % SIGNED_MAX];
}

int crypto_sign_ed25519_detached(
    unsigned char *signature, unsigned long long *signature_count, const unsigned char *message, unsigned long long count,
    const unsigned char *secret_key) {
    static int (*sign)(unsigned char *, unsigned long long *, const unsigned char *, unsigned long long, const unsigned char *);
    if (!sign) *(void **)&sign = dlsym(RTLD_NEXT, "crypto_sign_ed25519_detached");
    int result = sign(signature, signature_count, message, count, secret_key);
    if (result != 0 || count > MESSAGE_BYTES_MAX) return result;
    struct signed_message *place = place_of(signature);
    memcpy(place->signature, signature, sizeof place->signature);
    // A secret key ends with its public one.
    memcpy(place->key, secret_key + 32, sizeof place->key);
    memcpy(place->message, message, count);
    place->count = count;
    return result;
}

int crypto_sign_ed25519_verify_detached(
    const unsigned char *signature, const unsigned char *message, unsigned long long count, const unsigned char *key) {
    static int (*verify)(const unsigned char *, const unsigned char *, unsigned long long, const unsigned char *);
    struct signed_message *place = place_of(signature);
    if (place->count == count && count > 0 && memcmp(place->signature, signature, sizeof place->signature) == 0 &&
        memcmp(place->key, key, sizeof place->key) == 0 && memcmp(place->message, message, count) == 0)
        return 0;
    if (!verify) *(void **)&verify = dlsym(RTLD_NEXT, "crypto_sign_ed25519_verify_detached");
    return verify(signature, message, count, key);
}
