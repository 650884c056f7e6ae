import Bus

/// The Jobs that were read from a cluster's streams, as their masters see it. For streams with one reader.
struct ReadJobs {
    private struct Reading {
        let reader: ObjectIdentifier
        /// Replacements of the stream's master that the reader knew when it last started over; nil if it never did.
        var startedOver: Int?
        var through: EntryID
    }

    private var readings: [String: Reading] = [:]
    private var unread: [String: Set<EntryID>] = [:]
    /// Jobs that one reader has read twice: after a replacement of their master, and without one.
    private(set) var again = (replaced: 0, others: 0)

    mutating func appended(_ id: EntryID, to stream: String) { self.unread[stream, default: []].insert(id) }

    mutating func read(_ batch: StreamBatch, over link: RedisLink) {
        for entry in batch.entries { self.unread[batch.stream]?.remove(entry.id) }
        let count = link.replacements.count(of: batch.stream)
        let last = batch.entries.last!.id
        guard var reading = self.readings[batch.stream], reading.reader == ObjectIdentifier(link) else {
            self.readings[batch.stream] = Reading(reader: ObjectIdentifier(link), through: last)
            return
        }
        let isStartedOver = batch.entries[0].id <= reading.through
        if isStartedOver {
            let known = batch.entries.count { $0.id <= reading.through }
            if reading.startedOver == count { self.again.others += known } else { self.again.replaced += known }
            reading.startedOver = count
        }
        reading.through = last
        self.readings[batch.stream] = reading
    }

    /// - Returns: how many of these Jobs were never read.
    mutating func trimmed(_ stream: String, through id: EntryID) -> Int {
        guard let unread = self.unread[stream] else { return 0 }
        self.unread[stream] = unread.filter { $0 > id }
        return unread.count - self.unread[stream]!.count
    }

    /// These streams were replaced. A reader that has just started over reads the new stream from its start.
    mutating func forget(where isGone: (String) -> Bool) {
        self.unread = self.unread.filter { !isGone($0.key) }
        for stream in self.readings.keys where isGone(stream) { self.readings[stream]!.through = .start }
    }
}
