#ifndef CREVISION_H
#define CREVISION_H

/// The commit that this program was built from, as WHISPER_REVISION named it to the manifest. Empty without it.
const char *build_revision(void);

#endif
