// For a process whose wall clock is set by libfaketime (`OwnClock`): its timers stay the kernel's.
//
// libfaketime 0.9.10 takes each absolute timer for one of the wall clock, also where the descriptor counts from the start of the
// machine. Swift's `Task.sleep` uses such timers. It would never return.

#include "CKernelTimers.h"

#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

int timerfd_settime(int descriptor, int flags, const struct itimerspec *value, struct itimerspec *old) {
    return (int)syscall(SYS_timerfd_settime, descriptor, flags, value, old);
}
