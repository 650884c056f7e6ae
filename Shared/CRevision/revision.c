#include "CRevision.h"

// In C, because a Swift target cannot be given a value. Another commit compiles this file alone.
#ifndef WHISPER_REVISION
#define WHISPER_REVISION
#endif
#define TEXT(words) #words
#define TEXT_OF(macro) TEXT(macro)

const char *build_revision(void) { return TEXT_OF(WHISPER_REVISION); }
