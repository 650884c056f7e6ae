package import ClusterContract
package import Contract
package import Jobs

/// The live conversations that one process has in memory, of the shares that it owns.
package typealias LiveBook = MachineBook<LiveMachine>

extension LiveMachine: BookedMachine {}

/// One live conversation: who may listen, who whispers, and where they are.
///
/// The columns of the tables come first. Connections are known in memory alone: gateways report them again.
package struct LiveMachine: Equatable, Sendable {
    package let id: ConversationID
    package let profile: UUIDText
    package var creator: WhisperID
    package let signPublicKey: Bytes32
    package let encPublicKey: Bytes32
    package let createdAt: Timestamp
    package var linkVerifier: Bytes32
    package var info: Info
    package var transcriptDays: Int
    package var updatedAt: Timestamp
    package var generation = 1
    package var epoch: Int64 = 0
    package var lastHolder: WhisperID?
    /// When a stream last began or ended.
    package var usedAt: Timestamp
    /// The stream that has not ended.
    package var stream: Stream?
    package var listeners: [PrincipalID: Listener] = [:]

    /// The connected listeners with their connections. Devices of the profile are among them.
    package var attendances: [PrincipalID: Attendance] = [:]
    /// The connections of listeners that wait for a decision or for a key.
    package var waiting: [PrincipalID: Waiting] = [:]
    /// When the holder was told last of those who wait for it. Empty after a restart: then it is told again.
    package var knocksToldAt: [PrincipalID: Timestamp] = [:]

    /// The answer to `look`: a seal that only the link opens.
    package struct Info: Equatable, Sendable {
        package var nonce: [UInt8]
        package var ciphertext: [UInt8]

        package init(nonce: [UInt8], ciphertext: [UInt8]) {
            self.nonce = nonce
            self.ciphertext = ciphertext
        }
    }

    package struct Stream: Equatable, Sendable {
        package enum Phase: Equatable, Sendable {
            /// - goneAt: when the holder's connection ended. It is waited for. Goes to `paused`.
            case live(LiveConnection?, goneAt: Timestamp?)
            case paused
        }

        package let content: UUIDText
        package var holder: WhisperID
        package var phase: Phase
        /// How long its lines are kept after its end. 0: not at all. A later setting of the conversation counts for
        /// later streams.
        package let transcriptDays: Int
        package let startedAt: Timestamp
        package var changedAt: Timestamp

        package init(
            content: UUIDText, holder: WhisperID, phase: Phase, transcriptDays: Int, startedAt: Timestamp,
            changedAt: Timestamp
        ) {
            self.content = content
            self.holder = holder
            self.phase = phase
            self.transcriptDays = transcriptDays
            self.startedAt = startedAt
            self.changedAt = changedAt
        }

        /// Where the holder is; `nil` if nobody holds it, or its connection has gone.
        package var connection: LiveConnection? {
            if case .live(let connection, goneAt: nil) = self.phase { connection } else { nil }
        }

        package var isPaused: Bool { self.phase == .paused }
        package var isTranscribed: Bool { self.transcriptDays > 0 }
    }

    /// A listener's row. Its fields are out of line: each change of a conversation copies and compares the rows of all its listeners.
    @dynamicMemberLookup
    package struct Listener: Equatable, Sendable {
        package enum Status: String, Sendable {
            case waiting, admitted, refused, blocked
        }

        package struct Fields: Equatable, Sendable {
            package var status: Status
            package var signPublicKey: Bytes32
            package var encPublicKey: Bytes32
            /// When it became so.
            package var since: Timestamp
            /// The last one.
            package var knock: LiveSigned?
            /// When a waiting one is sent away, unless it goes before.
            package var expiresAt: Timestamp?
            /// The generation of the newest grant; 0 without one.
            package var generation = 0
            package var grant: LiveSigned?
            /// The stream that it joined last since it was last admitted, and when it first did.
            package var joinedContent: UUIDText?
            package var joinedAt: Timestamp?
            /// When it last joined or was decided about.
            package var seenAt: Timestamp
            package var refusal: LiveRefused.Reason?
            package var refusalNonce: [UInt8]?
        }

        private final class Box: Sendable {
            let fields: Fields

            init(_ fields: Fields) { self.fields = fields }
        }

        private var box: Box

        package init(
            status: Status, signPublicKey: Bytes32, encPublicKey: Bytes32, since: Timestamp, seenAt: Timestamp
        ) {
            self.box = Box(
                Fields(
                    status: status, signPublicKey: signPublicKey, encPublicKey: encPublicKey, since: since,
                    seenAt: seenAt))
        }

        package subscript<Value>(dynamicMember field: WritableKeyPath<Fields, Value>) -> Value {
            get { self.box.fields[keyPath: field] }
            set {
                var fields = self.box.fields
                fields[keyPath: field] = newValue
                self.box = Box(fields)
            }
        }

        package static func == (one: Listener, other: Listener) -> Bool {
            one.box === other.box || one.box.fields == other.box.fields
        }
    }

    package struct Attendance: Equatable, Sendable {
        package var connection: LiveConnection
        /// When the connection ended. It counts as joined for a while.
        package var goneAt: Timestamp?
        /// False for devices of the profile.
        package let isListed: Bool
        /// When it joined on this connection; `nil` if its gateway's report said so.
        package var placedAt: Timestamp?
    }

    package struct Waiting: Equatable, Sendable {
        package var connection: LiveConnection
        package var goneAt: Timestamp?
        /// Names the address that it came from. 0: nobody knows. It stays, also if the listener comes from elsewhere.
        package let origin: UInt64
    }

    package init(
        id: ConversationID, profile: UUIDText, creator: WhisperID, signPublicKey: Bytes32, encPublicKey: Bytes32,
        linkVerifier: Bytes32, info: Info, transcriptDays: Int, createdAt: Timestamp, updatedAt: Timestamp,
        usedAt: Timestamp
    ) {
        self.id = id
        self.profile = profile
        self.creator = creator
        self.signPublicKey = signPublicKey
        self.encPublicKey = encPublicKey
        self.linkVerifier = linkVerifier
        self.info = info
        self.transcriptDays = transcriptDays
        self.createdAt = createdAt
        self.updatedAt = updatedAt
        self.usedAt = usedAt
    }

    // MARK: What others see

    package var state: LiveStreamState {
        guard let stream else { return .idle }
        return stream.isPaused ? .paused : .live
    }

    /// How many listen, devices of the profile not counted.
    package var joinedCount: Int { self.attendances.values.count { $0.isListed } }

    /// The gateways of the holder and of those who listen.
    package var nodes: [NodeID] {
        [self.stream?.connection?.node].compactMap { $0 }
            + self.attendances.values.filter { $0.goneAt == nil }.map(\.connection.node)
    }

    /// The listeners that wait for the holder: for a decision, or for the present key.
    var undecided: [(listener: PrincipalID, row: Listener)] {
        self.listeners.filter { id, row in
            switch row.status {
            case .waiting: true
            case .admitted: row.generation != self.generation && self.waiting[id] != nil
            case .refused, .blocked: false
            }
        }.map { ($0.key, $0.value) }
    }

    /// It is decided, or has gone: nobody waits any more.
    mutating func waitsNoLonger(_ listener: PrincipalID) {
        self.waiting[listener] = nil
        self.knocksToldAt[listener] = nil
    }

    /// Somebody waits on this frame's connection.
    mutating func wait(_ listener: PrincipalID, _ frame: LiveFrame) {
        self.waiting[listener] = .init(
            connection: frame.connection, origin: self.waiting[listener]?.origin ?? frame.origin)
    }

    /// A conversation remembers only the newest listeners with this status: refused, or blocked.
    mutating func forgetOldest(_ status: Listener.Status, beyond most: Int) {
        let rows = self.listeners.filter { $0.value.status == status }
        guard rows.count > most else { return }
        let oldest = rows.sorted { ($0.value.since, "\($0.key)") < ($1.value.since, "\($1.key)") }
        for (listener, _) in oldest.prefix(rows.count - most) { self.listeners[listener] = nil }
    }

    /// Nothing happens here, and no time runs.
    package var isQuiet: Bool {
        self.stream == nil && self.attendances.isEmpty && self.waiting.isEmpty
            && !self.listeners.values.contains { $0.status == .waiting }
    }

    /// Its stream is paused for a while and nobody is here: it is kept in the tables alone (contract §13b).
    package func isAsleep(at now: Timestamp) -> Bool { self.sleepsAt.map { $0 <= now } ?? false }

    private var sleepsAt: Timestamp? {
        guard let stream, stream.isPaused, self.attendances.isEmpty, self.waiting.isEmpty,
            !self.listeners.values.contains(where: { $0.status == .waiting })
        else { return nil }
        return stream.changedAt + ConversationLimits.pausedKeptFor
    }

    /// When time changes it next (`LiveRules.tick`), or lets it sleep.
    package func deadline(within bounds: LiveRules.LiveBounds) -> Timestamp? {
        var times = [self.sleepsAt].compactMap { $0 }
        switch self.stream?.phase {
        case .live(_, let goneAt?): times.append(goneAt + bounds.absenceMax)
        case .paused: times += self.stream.map { [$0.changedAt + bounds.pauseMax] } ?? []
        case .live, nil: break
        }
        times += self.attendances.values.compactMap { $0.goneAt.map { $0 + bounds.absenceMax } }
        times += self.waiting.values.compactMap { $0.goneAt.map { $0 + LiveLimits.knockOfAbsentTTL } }
        for row in self.listeners.values where row.status == .waiting { times.append(row.expiresAt ?? row.since) }
        if self.stream?.connection != nil {
            times += self.undecided.map {
                self.knocksToldAt[$0.listener].map { $0 + LiveLimits.knockToldEvery } ?? $0.row.since
            }
        }
        return times.min()
    }

    /// - Parameter ending: why the stream before has ended, if it has just done so.
    package func stream(ending: LiveEnding? = nil, at now: Timestamp) -> LiveStream {
        LiveStream(
            conversation: self.id, content: self.stream?.content, epoch: self.epoch, generation: self.generation,
            state: self.state, home: self.stream?.connection?.node,
            isTranscribed: self.stream?.isTranscribed ?? (self.transcriptDays > 0), ending: ending, changedAt: now)
    }

    package var frame: LiveConversation {
        LiveConversation(
            conversation: self.id, profile: self.profile, state: self.state, epoch: self.epoch,
            generation: self.generation, content: self.stream?.content,
            holder: self.stream.flatMap { $0.isPaused ? nil : $0.holder }, transcriptDays: self.transcriptDays,
            createdAt: self.createdAt, updatedAt: self.updatedAt)
    }

    /// All listeners but the refused.
    package var roster: [LiveListener] {
        self.listeners.sorted { ($0.value.since, "\($0.key)") < ($1.value.since, "\($1.key)") }.compactMap {
            id, listener in
            let status: LiveListener.Status
            switch listener.status {
            case .waiting: status = .waiting
            case .admitted: status = self.attendances[id] == nil ? .admitted : .joined
            case .blocked: status = .blocked
            case .refused: return nil
            }
            return LiveListener(
                listener: id, status: status, since: listener.since, generation: listener.generation,
                signPublicKey: listener.signPublicKey, encPublicKey: listener.encPublicKey,
                knock: status == .waiting ? listener.knock.map { LiveSealedKnock($0) } : nil)
        }
    }

    /// The newest grant of an admitted listener.
    package func admitted(_ listener: Listener) -> LiveAdmitted? {
        listener.grant.map { grant in
            LiveAdmitted(
                conversation: self.id, generation: listener.generation, grant: grant,
                isTranscribed: self.stream?.isTranscribed ?? (self.transcriptDays > 0))
        }
    }
}
