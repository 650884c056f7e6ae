#ifndef CSIMULATION_H
#define CSIMULATION_H

#include <stdint.h>

/// Nanoseconds since 1970 that every clock of this process shows, the monotonic ones too; below zero, as in the beginning: the
/// system's own.
int64_t simulation_now(void);
void simulation_set_now(int64_t now);

/// Where randomness begins, as long as the clock is not the system's own.
void simulation_seed(uint64_t seed);

#endif
