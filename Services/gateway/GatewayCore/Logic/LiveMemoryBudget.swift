import Contract

/// Bounds what a gateway remembers of all streams together (contract §14.10).
struct LiveMemoryBudget {
    let bytesMax: Int
    private(set) var bytes = 0

    init(bytesMax: Int = LiveFeedLimits.memoryBytesMax) { self.bytesMax = bytesMax }

    /// One stream's memory has grown by so many bytes; below zero, shrunk.
    mutating func changed(by bytes: Int) { self.bytes += bytes }

    /// The streams to forget: the longest silent stream comes first. An eighth is freed at once, so that this is rare.
    /// - Parameter streams: all of them, asked for only if there is too much. `heardAt` is when the last packet came.
    func toForget(
        of streams: () -> [(conversation: ConversationID, bytes: Int, heardAt: Int64)]
    ) -> [ConversationID] {
        guard self.bytes > self.bytesMax else { return [] }
        var left = self.bytes
        var forgotten: [ConversationID] = []
        for stream in streams().sorted(by: { $0.heardAt < $1.heardAt }) where stream.bytes > 0 {
            guard left > self.bytesMax / 8 * 7 else { break }
            left -= stream.bytes
            forgotten.append(stream.conversation)
        }
        return forgotten
    }
}
