import CHiredis

/// hiredis' reader: eats bytes as they come from the socket and yields whole answers. Touches no socket.
final class ReplyReader {
    /// Bytes given to hiredis at once. It moves what is left to the front of its buffer every kilobyte,
    /// so a large buffer would be moved over and over.
    private static let bite = 8 * 1_024

    private let reader: UnsafeMutablePointer<redisReader>
    private let functions: UnsafeMutablePointer<redisReplyObjectFunctions>
    /// The part of the answer under way that hiredis has found.
    private let reply: UnsafeMutablePointer<Reply>

    init() {
        self.functions = .allocate(capacity: 1)
        self.functions.initialize(to: tapeFunctions())
        self.reply = .allocate(capacity: 1)
        self.reply.initialize(to: Reply())
        self.reader = redisReaderCreateWithFunctions(self.functions)
        self.reader.pointee.privdata = UnsafeMutableRawPointer(self.reply)
    }

    deinit {
        redisReaderFree(self.reader)
        self.reply.deinitialize(count: 1)
        self.reply.deallocate()
        self.functions.deallocate()
    }

    /// Bytes of text beyond which the answer under way, or the next one, is kept without its strings.
    func limitText(to bytes: Int) { self.reply.pointee.textMax = bytes }

    /// - Parameter each: called for each answer that is complete. Reading goes on while it returns true.
    /// - Returns: false if the bytes are not Redis protocol; the reader is then of no further use.
    func feed(_ bytes: UnsafeRawBufferPointer, each: (borrowing Reply) -> Bool) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let bite = UnsafeRawBufferPointer(rebasing: rest.prefix(Self.bite))
            rest = rest.dropFirst(Self.bite)
            guard redisReaderFeed(self.reader, bite.baseAddress, bite.count) == REDIS_OK else { return false }
            while true {
                var marker: UnsafeMutableRawPointer?
                guard redisReaderGetReply(self.reader, &marker) == REDIS_OK else { return false }
                guard marker != nil else { break }
                let goOn = each(self.reply.pointee)
                self.reply.pointee.clear()
                guard goOn else { return true }
            }
        }
        return true
    }
}

/// hiredis wants an object for each value it meets; ours all go onto one tape, and it gets this in their place.
private nonisolated(unsafe) let placeholder = UnsafeMutableRawPointer(bitPattern: 1)

private func tape(of task: UnsafePointer<redisReadTask>?) -> UnsafeMutablePointer<Reply> {
    task!.pointee.privdata.assumingMemoryBound(to: Reply.self)
}

private func tapeFunctions() -> redisReplyObjectFunctions {
    redisReplyObjectFunctions(
        createString: { task, text, count in
            let bytes = UnsafeRawBufferPointer(start: text, count: count)
            tape(of: task).pointee.append(text: bytes, isError: task!.pointee.type == REDIS_REPLY_ERROR)
            return placeholder
        },
        createArray: { task, count in
            tape(of: task).pointee.append(.array(Int(count)))
            return placeholder
        },
        createInteger: { task, value in
            tape(of: task).pointee.append(.integer(Int(value)))
            return placeholder
        },
        createNil: { task in
            tape(of: task).pointee.append(.null)
            return placeholder
        },
        freeObject: { _ in })
}
