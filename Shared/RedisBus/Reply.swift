import Bus

/// One answer of the server, flat: an array is followed by its elements. Filled in place by `ReplyReader` and
/// reused for the next answer, so an answer that nobody looks at costs no allocation.
struct Reply: Sendable {
    enum Token: Sendable {
        case array(Int)
        /// A string or a status: its place in `text`.
        case text(Range<Int>)
        case integer(Int)
        case null
        case error(Range<Int>)
        /// A string that had no room.
        case omitted
    }

    private(set) var tokens: [Token] = []
    private(set) var text: [UInt8] = []
    /// Bytes of `text` beyond which strings are left out (`RedisCommand.textMax`).
    var textMax = Int.max

    mutating func append(_ token: Token) {
        self.tokens.append(token)
    }

    mutating func append(text bytes: UnsafeRawBufferPointer, isError: Bool) {
        let start = self.text.count
        // Names and ids are short and always kept; so is the first string, or a read could never get past it.
        guard isError || bytes.count <= Self.shortText || start + bytes.count <= self.textMax || start < Self.firstText
        else {
            return self.tokens.append(.omitted)
        }
        self.text.append(contentsOf: bytes)
        self.tokens.append(isError ? .error(start..<self.text.count) : .text(start..<self.text.count))
    }

    /// Bytes of the longest name or id.
    private static let shortText = 64
    /// Bytes of names and ids that stand in front of the first entry of a read.
    private static let firstText = 1_024

    mutating func clear() {
        let tokenBytes = self.tokens.capacity * MemoryLayout<Token>.stride
        self.tokens.removeAll(keepingCapacity: tokenBytes <= RedisLimits.memoryKeptMax)
        self.text.removeAll(keepingCapacity: self.text.capacity <= RedisLimits.memoryKeptMax)
    }

    /// The server's error, if that is the whole answer.
    var failure: BusError? {
        guard case .error(let place) = self.tokens.first else { return nil }
        let text = String(decoding: self.text[place], as: UTF8.self)
        return switch text.prefix(while: { $0 != " " }) {
        // The server is there but cannot serve yet, or not now, or not this: the same as away.
        case "LOADING", "BUSY", "MASTERDOWN", "TRYAGAIN", "READONLY", "MOVED", "ASK", "CLUSTERDOWN": .unavailable
        case "OOM": .full
        default: .refused(text)
        }
    }

    /// Whether a node of a cluster says that another one serves this, or that nobody does.
    var isMisrouted: Bool {
        guard case .error(let place) = self.tokens.first else { return false }
        return ["MOVED", "ASK", "CLUSTERDOWN", "READONLY", "MASTERDOWN", "UNBLOCKED"].contains {
            self.text[place].starts(with: $0.utf8)
        }
    }

    var cursor: ReplyCursor { ReplyCursor(self) }
}

/// Reads a `Reply` from front to back. Every method throws `.refused` if something else stands there.
struct ReplyCursor {
    private let reply: Reply
    private var position = 0

    init(_ reply: Reply) {
        self.reply = reply
    }

    private mutating func next() throws(BusError) -> Reply.Token {
        guard self.position < self.reply.tokens.count else { throw Self.surprise }
        defer { self.position += 1 }
        return self.reply.tokens[self.position]
    }

    private static var surprise: BusError { .refused("an answer of an unknown form") }

    /// Passes one element, and whatever is in it.
    mutating func skip() throws(BusError) {
        if case .array(let count) = try self.next() { for _ in 0..<count { try self.skip() } }
    }

    /// - Returns: the number of elements that follow; nil for a null.
    mutating func array() throws(BusError) -> Int? {
        switch try self.next() {
        case .array(let count): return count
        case .null: return nil
        default: throw Self.surprise
        }
    }

    mutating func integer() throws(BusError) -> Int {
        guard case .integer(let value) = try self.next() else { throw Self.surprise }
        return value
    }

    mutating func bytes() throws(BusError) -> [UInt8]? {
        switch try self.next() {
        case .text(let place): return Array(self.reply.text[place])
        case .null: return nil
        default: throw Self.surprise
        }
    }

    mutating func string() throws(BusError) -> String {
        guard case .text(let place) = try self.next() else { throw Self.surprise }
        return String(decoding: self.reply.text[place], as: UTF8.self)
    }

    /// - Returns: whether the next text is `expected`. It is passed either way.
    mutating func isText(_ expected: StaticString) throws(BusError) -> Bool {
        guard case .text(let place) = try self.next() else { return false }
        guard place.count == expected.utf8CodeUnitCount else { return false }
        let wanted = UnsafeBufferPointer(start: expected.utf8Start, count: expected.utf8CodeUnitCount)
        return self.reply.text[place].elementsEqual(wanted)
    }

    mutating func entryID() throws(BusError) -> EntryID {
        guard case .text(let place) = try self.next() else { throw Self.surprise }
        var parts: (UInt64, UInt64) = (0, 0)
        var isSequence = false
        for byte in self.reply.text[place] {
            if byte == UInt8(ascii: "-") {
                isSequence = true
                continue
            }
            let digit = UInt64(byte &- UInt8(ascii: "0"))
            guard digit < 10 else { throw Self.surprise }
            if isSequence { parts.1 = parts.1 &* 10 &+ digit } else { parts.0 = parts.0 &* 10 &+ digit }
        }
        return EntryID(milliseconds: parts.0, sequence: parts.1)
    }

    mutating func batches() throws(BusError) -> [StreamBatch] {
        // A null is what the server says when the time of a blocking read is up.
        guard let streams = try self.array() else { return [] }
        var batches: [StreamBatch] = []
        batches.reserveCapacity(streams)
        for _ in 0..<streams {
            guard try self.array() == 2 else { throw Self.surprise }
            let stream = try self.string()
            let (entries, isCut) = try self.entriesKept()
            batches.append(StreamBatch(stream: stream, entries: entries, isCut: isCut))
        }
        return batches
    }

    mutating func entries() throws(BusError) -> [StreamEntry] { try self.entriesKept().entries }

    /// - Returns: the entries in front of the first one that was left out, and whether there is one.
    private mutating func entriesKept() throws(BusError) -> (entries: [StreamEntry], isCut: Bool) {
        guard let count = try self.array() else { return ([], false) }
        var entries: [StreamEntry] = []
        var isCut = false
        entries.reserveCapacity(count)
        for _ in 0..<count {
            // A null stands for an entry that was removed meanwhile.
            guard let parts = try self.array() else { continue }
            guard parts == 2 else { throw Self.surprise }
            let id = try self.entryID()
            guard let fields = try self.array() else { continue }
            guard fields == 2, try self.isText("d") else { throw Self.surprise }
            if try self.isOmitted() {
                isCut = true
                continue
            }
            guard let bytes = try self.bytes() else { throw Self.surprise }
            // Entries behind one that was left out must not be handled before it.
            if !isCut { entries.append(StreamEntry(id: id, bytes: bytes)) }
        }
        return (entries, isCut)
    }

    /// - Returns: whether a string was left out here. It is passed then.
    private mutating func isOmitted() throws(BusError) -> Bool {
        guard self.position < self.reply.tokens.count, case .omitted = self.reply.tokens[self.position] else {
            return false
        }
        self.position += 1
        return true
    }
}
