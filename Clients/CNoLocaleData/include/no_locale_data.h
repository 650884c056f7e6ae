#ifndef NO_LOCALE_DATA_H
#define NO_LOCALE_DATA_H

/// What stands in place of the data of all languages and calendars: 32 MiB that nothing in the core reads.
/// Foundation comes with the library for SQLite, and its data would come with it.
struct no_locale_data;

#endif
