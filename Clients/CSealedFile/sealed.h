#ifndef SEALED_H
#define SEALED_H

#include "CSealedFile.h"

// The preamble, as keys.c writes it and vfs.c keeps it.
#define FORMAT_VERSION 1
#define MAGIC_BYTES 16
#define FILE_ID_BYTES 16
#define CHECK_BYTES 32
#define VERSION_AT 16
#define KIND_AT 20
#define OPERATIONS_AT 24
#define KIBIBYTES_AT 28
#define SALT_AT 32
#define FILE_ID_AT 48
#define CHECK_AT 96

// Makes the preamble of a new file, under a new file id.
void sealed_preamble_make(
    uint8_t preamble[SEALED_FILE_PREAMBLE_BYTES], const uint8_t *key, const struct sealed_file_derivation *derivation);

// Reads a preamble without a key.
enum sealed_file_state sealed_preamble_look(
    const uint8_t preamble[SEALED_FILE_PREAMBLE_BYTES], struct sealed_file_derivation *out);

// Compares a key with a preamble, and derives the key of the file's records.
enum sealed_file_state sealed_preamble_open(
    const uint8_t preamble[SEALED_FILE_PREAMBLE_BYTES], const uint8_t *key, uint8_t seal_key[SEALED_FILE_KEY_BYTES]);

// Returns -1 for a handle that is none.
int sealed_key_of(
    uint32_t handle, uint8_t key[SEALED_FILE_KEY_BYTES], struct sealed_file_derivation *derivation);

#endif
