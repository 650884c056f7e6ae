package import Bus
package import Logging
import Telemetry

/// Takes Jobs from a stream, and works on several at a time until it is cancelled or drained.
package final class StreamWorker: Sendable {
    /// Acknowledges; its copy in `run` takes.
    package let consumer: StreamConsumer
    private let slots: JobSlots
    private let latch = DrainLatch()
    private let logger: Logger

    /// - Parameter slots: parts under way at a time; further Jobs wait in their stream.
    package init(_ consumer: StreamConsumer, slots: Int, logger: Logger) {
        self.consumer = consumer
        self.slots = JobSlots(slots)
        self.logger = logger
    }

    /// Parts begun and not done yet.
    package var inFlight: Int { self.slots.busy }

    /// Works until its task is cancelled, or until `drain`.
    /// - Parameters:
    ///   - parts: what is done independently. No more than there are Jobs.
    ///   - work: acknowledges what is done. Parts run beside each other.
    package func run<Part: Sendable>(
        parts: ([StreamEntry], StreamConsumer) -> [Part], work: @escaping @Sendable (Part) async -> Void
    ) async {
        await withDiscardingTaskGroup { group in
            var consumer = self.consumer
            while !Task.isCancelled, !self.latch.isDraining {
                let room = await self.slots.room()
                do throws(BusError) {
                    let entries = try await consumer.next(room)
                    for part in parts(entries, consumer) {
                        self.slots.occupy()
                        group.addTask {
                            await work(part)
                            self.slots.free()
                        }
                    }
                } catch {
                    self.logger.warning("jobs not taken", [.error: "\(error)", .stream: "\(consumer.stream)"])
                    try? await Task.sleep(for: consumer.bounds.retryPause)
                }
            }
        }
        // The group has waited for every part.
        self.latch.end()
    }

    /// Takes no further Jobs, and returns when those taken are done.
    package func drain() async { await self.latch.drain() }
}
