// Tells the Thread Sanitizer what a `Mutex` of Swift's standard library does when threads wait for it.
//
// The sanitizer sees the atomic operation of a lock without waiters, because the compiler writes it into our code. With
// waiters the kernel hands the lock over (futex(7), FUTEX_LOCK_PI), out of the sanitizer's sight: everything behind such a
// lock then looks like a race. These two functions stand before those of libswiftSynchronization, call them, and tell.
//
// `make sanitize` loads this library before the tests. Without a sanitizer in the process it only calls.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>

void __tsan_acquire(void *address) __attribute__((weak));
void __tsan_release(void *address) __attribute__((weak));

#define LOCK "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define UNLOCK "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"

// The mutex is `self`, which Swift passes in a register of its own.
#define SWIFT __attribute__((swiftcall))
#define SELF __attribute__((swift_context)) void *mutex

SWIFT void lock(uint32_t thread, SELF) __asm__(LOCK);
SWIFT void unlock(SELF) __asm__(UNLOCK);

typedef SWIFT void (*Lock)(uint32_t thread, SELF);
typedef SWIFT void (*Unlock)(SELF);

static void *standard(const char *name) {
    void *function = dlsym(RTLD_NEXT, name);
    if (!function) abort();
    return function;
}

SWIFT void lock(uint32_t thread, SELF) {
    ((Lock)standard(LOCK))(thread, mutex);
    if (__tsan_acquire) __tsan_acquire(mutex);
}

SWIFT void unlock(SELF) {
    if (__tsan_release) __tsan_release(mutex);
    ((Unlock)standard(UNLOCK))(mutex);
}
