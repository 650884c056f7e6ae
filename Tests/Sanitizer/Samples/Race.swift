// A race: two threads count without a lock, beside a `Mutex` for which they wait. It must be reported.
import Foundation
import Synchronization

final class Counter: @unchecked Sendable {
    let guarded = Mutex(0)
    var unguarded = 0
}

let counter = Counter()
let group = DispatchGroup()
for _ in 0..<2 {
    group.enter()
    Thread.detachNewThread {
        for _ in 0..<20 {
            counter.unguarded += 1
            counter.guarded.withLock {
                $0 += 1
                usleep(1_000)
            }
        }
        group.leave()
    }
}
group.wait()
