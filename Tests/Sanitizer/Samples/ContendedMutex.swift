// No race: two threads wait for each other's `Mutex`. It is reported unless ContendedMutex.c is loaded.
import Foundation
import Synchronization

final class Counter: Sendable {
    let guarded = Mutex(0)
}

let counter = Counter()
let group = DispatchGroup()
for _ in 0..<2 {
    group.enter()
    Thread.detachNewThread {
        for _ in 0..<20 {
            counter.guarded.withLock {
                $0 += 1
                usleep(1_000)
            }
        }
        group.leave()
    }
}
group.wait()
