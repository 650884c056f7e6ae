package import Bus

extension RedisBus {
    package func append(_ bytes: [UInt8], to stream: String, failed: @escaping @Sendable (BusError) -> Void) {
        self.send(.append(bytes, stream: stream), .failure(failed))
    }

    package func append(_ bytes: [UInt8], to stream: String) async throws(BusError) {
        try await self.ask(.append(bytes, stream: stream)) { _ throws(BusError) in }
    }

    package func read(
        _ positions: [(stream: String, after: EntryID)], limit: Int, blockFor: Duration
    ) async throws(BusError) -> [StreamBatch] {
        if self.isCluster { return try await self.readCluster(positions, limit: limit, blockFor: blockFor) }
        guard blockFor > .zero else {
            return try await self.ask(.read(positions, limit: limit, blockFor: nil)) { cursor throws(BusError) in
                try cursor.batches()
            }
        }
        let command = RedisCommand.read(positions, limit: limit, blockFor: blockFor)
        return try await self.askBlocking(command, blockFor: blockFor) { cursor throws(BusError) in
            try cursor.batches()
        } ?? []
    }

    package func trim(_ stream: String, through id: EntryID) {
        self.send(.trim(stream: stream, through: id), .nobody)
    }

    package func take(
        from stream: String, group: String, consumer: String, limit: Int, blockFor: Duration
    ) async throws(BusError) -> [StreamEntry] {
        try await self.withGroup(group, of: stream) { () async throws(BusError) in
            let isBlocking = blockFor > .zero
            let command = RedisCommand.take(
                stream: stream, group: group, consumer: consumer, limit: limit, blockFor: isBlocking ? blockFor : nil)
            let decode: @Sendable (inout ReplyCursor) throws(BusError) -> [StreamEntry] = {
                cursor throws(BusError) in try cursor.batches().first?.entries ?? []
            }
            return isBlocking
                ? try await self.askBlocking(command, blockFor: blockFor, decode: decode) ?? []
                : try await self.ask(command, decode: decode)
        }
    }

    package func claim(
        from stream: String, group: String, consumer: String, idle: Duration, limit: Int
    ) async throws(BusError) -> [StreamEntry] {
        try await self.withGroup(group, of: stream) { () async throws(BusError) in
            var claimed: [StreamEntry] = []
            var position = EntryID.start
            // One answer covers only a stretch of what is unacknowledged; it names the place to go on from.
            repeat {
                let command = RedisCommand.claim(
                    stream: stream, group: group, consumer: consumer, idle: idle, from: position,
                    limit: limit - claimed.count)
                let (next, entries) = try await self.ask(command) { cursor throws(BusError) in
                    _ = try cursor.array()
                    return (try cursor.entryID(), try cursor.entries())
                }
                claimed += entries
                position = next
            } while claimed.count < limit && position != .start
            return claimed
        }
    }

    package func acknowledge(_ ids: [EntryID], in stream: String, group: String) {
        guard !ids.isEmpty else { return }
        // Removed first: if the second is lost, a claim finds nothing behind the id and drops it. The other way round
        // an entry could be left that nobody ever takes.
        self.send(.remove(ids, stream: stream), .nobody)
        self.send(.acknowledge(ids, stream: stream, group: group), .nobody)
    }

    package func time() async throws(BusError) -> UInt64 {
        try await self.ask(.time) { cursor throws(BusError) in
            guard try cursor.array() == 2, let seconds = UInt64(try cursor.string()),
                let micros = UInt64(try cursor.string())
            else { throw .refused("a time of an unknown form") }
            return seconds * 1_000 + micros / 1_000
        }
    }

    package func depth(of streams: [String]) async throws(BusError) -> [Int] {
        guard !streams.isEmpty else { return [] }
        let decode: @Sendable (inout ReplyCursor) throws(BusError) -> [Int] = { cursor throws(BusError) in
            var depths: [Int] = []
            for _ in 0..<(try cursor.array() ?? 0) { depths.append(try cursor.integer()) }
            return depths
        }
        guard self.isCluster else { return try await self.ask(.depth(streams), decode: decode) }
        let slots = Array(Dictionary(grouping: streams.indices) { HashSlot.of(streams[$0]) }.values)
        let found = try await self.askEach(slots.map { slot in .depth(slot.map { streams[$0] }) }, decode: decode)
        var depths = [Int](repeating: 0, count: streams.count)
        for (slot, found) in zip(slots, found) {
            for (index, depth) in zip(slot, found) { depths[index] = depth }
        }
        return depths
    }

    /// Runs `body`, and once more with a new group if the server does not know the group (or lost it while we waited).
    private func withGroup<T>(
        _ group: String, of stream: String, _ body: () async throws(BusError) -> T
    ) async throws(BusError) -> T {
        do {
            return try await body()
        } catch .refused(let reason) where reason.hasPrefix("NOGROUP") || reason.hasPrefix("UNBLOCKED") {
            do {
                try await self.ask(.makeGroup(group, stream: stream)) { _ throws(BusError) in }
            } catch .refused(let reason) where reason.hasPrefix("BUSYGROUP") {
                // Another consumer was faster.
            }
            return try await body()
        }
    }
}
