import Contract
import Logging
package import Store
import Telemetry

/// Compares the object store with the table, one by one, in constant memory, and can remove what does not belong together.
///
/// Both change while they are read, so each finding is looked at again before it counts.
package struct Auditor: Sendable {
    package struct Report: Equatable, Sendable {
        package var objects = 0
        package var rows = 0
        /// Objects that no row knows.
        package var leaked = 0
        package var leakedBytes: Int64 = 0
        package var leakedKeys: [String] = []
        /// Rows of uploaded files that the store does not have.
        package var dangling = 0
        package var danglingKeys: [String] = []
        package var fixed = 0
    }

    package enum Failure: Error {
        case table(StoreError)
        case store(ObjectStoreError)
    }

    private let attachments: AttachmentTable
    private let removals: RemovalTable
    private let store: any ObjectStore
    private let pool: PostgresPool
    private let clock: ServiceClock

    package init(
        attachments: AttachmentTable, removals: RemovalTable, store: any ObjectStore, pool: PostgresPool,
        clock: ServiceClock
    ) {
        self.attachments = attachments
        self.removals = removals
        self.store = store
        self.pool = pool
        self.clock = clock
    }

    /// - Parameter fixing: leaked objects leave the store; dangling rows are marked, and the collector removes them.
    package func audit(fixing: Bool) async throws(Failure) -> Report {
        var report = Report()
        var walk = Reconciliation()
        let lister = self.store.lister()
        var lastRow = ""
        var leaked: [StoredObject] = []
        var dangling: [String] = []
        let now = try await self.tabled { () async throws(StoreError) in try await self.pool.time(self.clock.store) }
        let oldest = now - AttachmentsLimits.leakAge
        walking: while true {
            switch walk.next() {
            case .needsObjects:
                walk.add(
                    objects: try await self.stored { () async throws(ObjectStoreError) in try await lister.next() })
            case .needsRows:
                let after = lastRow
                let page = try await self.tabled { () async throws(StoreError) in
                    try await self.attachments.uploaded(after: after, limit: AttachmentsLimits.pageRows)
                }
                lastRow = page.last ?? lastRow
                walk.add(rows: page)
            case .leaked(let object) where object.modifiedAt <= oldest: leaked.append(object)
            case .leaked: break  // Its row may be on its way.
            case .dangling(let key): dangling.append(key)
            case .finished: break walking
            }
            if leaked.count >= AttachmentsLimits.pageRows { try await self.settle(&leaked, &report, fixing: fixing) }
            if dangling.count >= AttachmentsLimits.pageRows {
                try await self.settle(&dangling, &report, fixing: fixing)
            }
        }
        try await self.settle(&leaked, &report, fixing: fixing)
        try await self.settle(&dangling, &report, fixing: fixing)
        report.objects = walk.objectsSeen
        report.rows = walk.rowsSeen
        return report
    }

    private func settle(_ leaked: inout [StoredObject], _ report: inout Report, fixing: Bool) async throws(Failure) {
        guard !leaked.isEmpty else { return }
        let keys = leaked.map(\.key)
        // Presigned ones have a row too, and one may have come since.
        let known = try await self.tabled { () async throws(StoreError) in try await self.attachments.known(keys) }
        for object in leaked where !known.contains(object.key) {
            report.leaked += 1
            report.leakedBytes += object.sizeBytes
            if report.leakedKeys.count < AttachmentOperations.findingsMax { report.leakedKeys.append(object.key) }
            guard fixing else { continue }
            try await self.stored { () async throws(ObjectStoreError) in try await self.store.remove(stray: object.key)
            }
            report.fixed += 1
        }
        leaked = []
    }

    private func settle(_ dangling: inout [String], _ report: inout Report, fixing: Bool) async throws(Failure) {
        guard !dangling.isEmpty else { return }
        var missing: [String] = []
        for text in dangling {
            guard let key = ObjectKey(text) else { continue }
            let size = try await self.stored { () async throws(ObjectStoreError) in try await self.store.size(of: key) }
            if size == nil { missing.append(text) }
        }
        let found = missing
        let known = try await self.tabled { () async throws(StoreError) in try await self.attachments.known(found) }
        missing.removeAll { !known.contains($0) }
        report.dangling += missing.count
        report.danglingKeys += missing.prefix(AttachmentOperations.findingsMax - report.danglingKeys.count)
        if fixing, !missing.isEmpty {
            let dangling = missing
            try await self.tabled { () async throws(StoreError) in try await self.removals.mark(dangling: dangling) }
            report.fixed += missing.count
        }
        dangling = []
    }

    private func stored<T>(_ body: () async throws(ObjectStoreError) -> T) async throws(Failure) -> T {
        do throws(ObjectStoreError) { return try await body() } catch { throw .store(error) }
    }

    private func tabled<T>(_ body: () async throws(StoreError) -> T) async throws(Failure) -> T {
        do throws(StoreError) { return try await body() } catch { throw .table(error) }
    }
}
