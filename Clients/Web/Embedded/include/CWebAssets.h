#ifndef CWEBASSETS_H
#define CWEBASSETS_H

/// A file of `Clients/Web/Assets`, as the compiler read it.
struct web_asset {
    /// NULL after the last file.
    const char *name;
    /// UTF-8, and a zero after it.
    const unsigned char *text;
};

/// All files.
const struct web_asset *web_assets(void);

#endif
