// What a process learns of the world without asking a server: the time, and randomness. These definitions stand in front of
// the C library's and OpenSSL's, for the executable that links them and the libraries it loads.

#define _GNU_SOURCE
#include "CSimulation.h"

#include <dlfcn.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

static int64_t now = -1;
static uint64_t random_state = 0;

int64_t simulation_now(void) { return now; }
void simulation_set_now(int64_t value) { now = value; }
void simulation_seed(uint64_t seed) { random_state = seed; }

// SplitMix64.
static void fill(unsigned char *bytes, size_t count) {
    for (size_t done = 0; done < count; done += 8) {
        uint64_t word = random_state += 0x9E3779B97F4A7C15;
        word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9;
        word = (word ^ (word >> 27)) * 0x94D049BB133111EB;
        word ^= word >> 31;
        memcpy(bytes + done, &word, count - done < 8 ? count - done : 8);
    }
}

// Swift's standard library asks the kernel this way. Six arguments are what a system call can have.
long syscall(long number, long a, long b, long c, long d, long e, long f) {
    static long (*system)(long, long, long, long, long, long, long);
    if (number == SYS_getrandom && now >= 0) {
        fill((unsigned char *)a, (size_t)b);
        return b;
    }
    if (!system) system = (long (*)(long, long, long, long, long, long, long))dlsym(RTLD_NEXT, "syscall");
    return system(number, a, b, c, d, e, f);
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    if (now < 0) return (int)syscall(SYS_clock_gettime, clock, (long)time, 0, 0, 0, 0);
    time->tv_sec = now / 1000000000;
    time->tv_nsec = now % 1000000000;
    return 0;
}

int RAND_bytes(unsigned char *bytes, int count) {
    fill(bytes, (size_t)count);
    return 1;
}
