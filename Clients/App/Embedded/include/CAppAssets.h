#ifndef CAPPASSETS_H
#define CAPPASSETS_H

/// A file of `Clients/App/Assets`, as the compiler read it.
struct app_asset {
    /// NULL after the last file.
    const char *name;
    /// UTF-8, and a zero after it.
    const unsigned char *text;
};

/// All files.
const struct app_asset *app_assets(void);

#endif
