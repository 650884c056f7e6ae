import Contract

/// The live sessions of a router's partitions, in slices of equal size.
///
/// Timers of one slice are looked at between two batches. A walk over all sessions would make a batch wait for all of them.
struct MailboxSessions: Sequence, ExpressibleByDictionaryLiteral {
    private var slices: [[WhisperID: MailboxSession]]

    init() { self.slices = Array(repeating: [:], count: RouterLimits.timerSlices) }

    init(dictionaryLiteral elements: (WhisperID, MailboxSession)...) {
        self.init()
        for (identity, session) in elements { self[identity] = session }
    }

    /// Partitions go by an identity's first bits, so its last ones spread each partition over all slices.
    private static func slice(of identity: WhisperID) -> Int { Int(identity.bits % UInt64(RouterLimits.timerSlices)) }

    subscript(identity: WhisperID) -> MailboxSession? {
        get { self.slices[Self.slice(of: identity)][identity] }
        _modify { yield &self.slices[Self.slice(of: identity)][identity] }
    }

    var count: Int { self.slices.reduce(0) { $0 + $1.count } }
    var isEmpty: Bool { self.slices.allSatisfy(\.isEmpty) }

    func identities(inSlice slice: Int) -> Dictionary<WhisperID, MailboxSession>.Keys { self.slices[slice].keys }

    mutating func keep(_ isKept: (WhisperID) -> Bool) {
        for index in self.slices.indices { self.slices[index] = self.slices[index].filter { isKept($0.key) } }
    }

    func makeIterator() -> FlattenSequence<[[WhisperID: MailboxSession]]>.Iterator {
        self.slices.joined().makeIterator()
    }
}
