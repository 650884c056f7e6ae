#include "no_locale_data.h"
#include <stdint.h>

/* ICU's common data without an entry: its header, and a table of contents that has none. Whoever asks it for a language gets an
   error. The linker takes this one, and leaves the data of Foundation's ICU out.

   The name has ICU's version. A toolchain with another one makes the library large again, which CoreLibraryTests notice. */
struct no_locale_data {
    uint16_t header_bytes;
    uint8_t magic[2];
    uint16_t info_bytes;
    uint16_t reserved;
    uint8_t is_big_endian;
    uint8_t charset_family;
    uint8_t character_bytes;
    uint8_t reserved_byte;
    uint8_t format[4];
    uint8_t format_version[4];
    uint8_t data_version[4];
    uint64_t padding;
    uint32_t entries;
    uint32_t reserved_entry;
};

__attribute__((visibility("hidden"), aligned(16))) const struct no_locale_data icudt76_dat = {
    .header_bytes = 32,
    .magic = {0xda, 0x27},
    .info_bytes = 20,
    .character_bytes = 2,
    .format = {'T', 'o', 'C', 'P'},
    .format_version = {1},
};
