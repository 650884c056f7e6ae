import Contract
package import Logging
package import Store
package import Telemetry

/// Removes attachments that nobody needs any more, and finds out what has been uploaded. Any number of processes may do it at once.
///
/// One attachment goes through three commits: *marked* (nobody can link or fetch it from then on), gone from the store, row removed.
/// A process that dies in between leaves marked rows, which the next run of any process takes up when the claim ends.
package struct Collector: Sendable {
    package struct Tally: Equatable, Sendable {
        package var examined: Int64 = 0
        package var deleted: Int64 = 0
        package var bytesFreed: Int64 = 0

        package init(examined: Int64 = 0, deleted: Int64 = 0, bytesFreed: Int64 = 0) {
            self.examined = examined
            self.deleted = deleted
            self.bytesFreed = bytesFreed
        }
    }

    private let attachments: AttachmentTable
    private let removals: RemovalTable
    private let store: any ObjectStore
    private let configuration: AttachmentsConfiguration
    private let pool: PostgresPool
    private let clock: ServiceClock
    private let metrics: AttachmentMetrics
    private let logger: Logger

    package init(
        attachments: AttachmentTable, removals: RemovalTable, store: any ObjectStore, pool: PostgresPool,
        configuration: AttachmentsConfiguration, clock: ServiceClock, metrics: AttachmentMetrics, logger: Logger
    ) {
        self.attachments = attachments
        self.removals = removals
        self.store = store
        self.configuration = configuration
        self.pool = pool
        self.clock = clock
        self.metrics = metrics
        self.logger = logger
    }

    /// Collects now and then, until its task is cancelled.
    package func run() async throws {
        self.noteSuccess()
        while true {
            try await Task.sleep(for: self.configuration.collectEvery)
            do throws(StoreError) {
                let tally = try await self.collect(sparingURLs: true)
                let stored = try await self.attachments.statistics()
                self.metrics.stored.set(stored.count)
                self.metrics.bytesStored.set(stored.bytes)
                self.noteSuccess()
                if tally.deleted > 0 {
                    self.logger.notice(
                        "attachments removed", [.count: .number(tally.deleted), .bytes: .number(tally.bytesFreed)])
                }
            } catch {
                self.metrics.collectorFailures.increment()
                self.logger.warning("collection interrupted", [.error: "\(error)"])
            }
            await self.tidy()
        }
    }

    private func tidy() async {
        // Without the database's clock nothing is old.
        guard let now = try? await self.pool.time(self.clock.store) else { return }
        do throws(ObjectStoreError) {
            try await self.store.tidy(at: now)
        } catch {
            self.failed("store not tidied", error)
        }
    }

    /// One run, ended early after `AttachmentsLimits.runMax`.
    /// - Parameter sparingURLs: see `Retention`.
    package func collect(sparingURLs: Bool) async throws(StoreError) -> Tally {
        let end = ContinuousClock.now + AttachmentsLimits.runMax
        var tally = Tally()
        try await self.checkUploads(until: end)
        var last: Int64 = 0
        while ContinuousClock.now < end, !Task.isCancelled {
            let numbers = try await self.removals.numbers(after: last, limit: AttachmentsLimits.pageRows)
            guard let newest = numbers.last else { break }
            last = newest
            tally.examined += Int64(numbers.count)
            try await self.mark(numbers, sparingURLs: sparingURLs)
        }
        try await self.removeMarked(until: end, &tally)
        self.metrics.examined.increment(by: tally.examined)
        self.metrics.deleted.increment(by: tally.deleted)
        self.metrics.bytesFreed.increment(by: tally.bytesFreed)
        return tally
    }

    private func mark(_ numbers: [Int64], sparingURLs: Bool) async throws(StoreError) {
        let (retention, now) = (self.configuration.retention, self.clock.store)
        let isToBeRemoved: @Sendable (RemovalTable.Examined) -> Bool = {
            retention.reason(toRemove: $0.usage, at: $0.at, sparingURLs: sparingURLs) != nil
        }
        let candidates = try await self.removals.examine(numbers, at: now).filter(isToBeRemoved).map(\.number)
        if !candidates.isEmpty { try await self.removals.mark(candidates, at: now, if: isToBeRemoved) }
    }

    private func removeMarked(until end: ContinuousClock.Instant, _ tally: inout Tally) async throws(StoreError) {
        while ContinuousClock.now < end, !Task.isCancelled {
            let now = self.clock.store
            let marked = try await self.removals.take(
                until: now + self.configuration.claimLife, limit: AttachmentsLimits.removalsPerRound, at: now)
            guard !marked.isEmpty else { return }
            let gone = await self.each(of: marked) { await self.removeFromStore($0) }
            let removed = try await self.removals.remove(gone.map(\.number))
            tally.deleted += Int64(removed.count)
            tally.bytesFreed += gone.filter { removed.contains($0.number) }.reduce(0) { $0 + $1.bytes }
            // The store does not do its part: what is left comes up again when the claim ends.
            if gone.isEmpty { return }
        }
    }

    /// - Returns: nil if the store could not.
    private func removeFromStore(_ marked: RemovalTable.Marked) async -> (number: Int64, bytes: Int64)? {
        do throws(ObjectStoreError) {
            let size = marked.wasUploaded ? marked.sizeBytes : try await self.store.size(of: marked.key) ?? 0
            try await self.store.remove(marked.key, upload: marked.upload)
            return (marked.number, size)
        } catch {
            self.failed("object not removed", error)
            return nil
        }
    }

    /// Uploads whose URL has ended are looked for in the store: nobody says so when they are done.
    private func checkUploads(until end: ContinuousClock.Instant) async throws(StoreError) {
        while ContinuousClock.now < end, !Task.isCancelled {
            let now = self.clock.store
            let due = try await self.attachments.takeDueChecks(at: now, limit: AttachmentsLimits.checksPerRound)
            let found = await self.each(of: due) { key -> ObjectKey? in
                do throws(ObjectStoreError) {
                    return try await self.store.size(of: key) != nil ? key : nil
                } catch {
                    self.failed("upload not looked for", error)
                    return nil
                }
            }
            for key in found { _ = try await self.attachments.markUploaded(key, at: now) }
            if due.count < AttachmentsLimits.checksPerRound { return }
        }
    }

    /// The results of `body` for each item, several at once, without the nils.
    private func each<T: Sendable, R: Sendable>(of items: [T], _ body: @escaping @Sendable (T) async -> R?) async -> [R]
    {
        await withTaskGroup(of: R?.self) { group in
            var results: [R] = []
            var rest = items[...]
            for item in rest.prefix(AttachmentsLimits.storeCallsMax) { group.addTask { await body(item) } }
            rest = rest.dropFirst(AttachmentsLimits.storeCallsMax)
            for await result in group {
                if let result { results.append(result) }
                if let item = rest.popFirst() { group.addTask { await body(item) } }
            }
            return results
        }
    }

    private func noteSuccess() {
        self.metrics.collectorSucceededAt.set(self.clock().milliseconds / 1_000)
    }

    private func failed(_ event: StaticString, _ error: ObjectStoreError) {
        self.metrics.collectorFailures.increment()
        self.logger.warning(event, [.error: "\(error)"])
    }
}
