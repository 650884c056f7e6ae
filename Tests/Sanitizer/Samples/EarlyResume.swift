// No race: a thread makes an object and hands it over before the task waits for it. It is reported without a line in
// suppressions.txt that names the object's initializer.
import Foundation
import Synchronization

final class Made: Sendable {
    let state = Mutex(7)
}

func use() async {
    let made = await withCheckedContinuation { continuation in
        Thread.detachNewThread {
            continuation.resume(returning: Made())
            usleep(100_000)  // The sanitizer forgets what a thread did that has ended.
        }
        usleep(50_000)  // Resumed by now, so the task goes on without waiting.
    }
    made.state.withLock { $0 += 1 }
}

await use()
