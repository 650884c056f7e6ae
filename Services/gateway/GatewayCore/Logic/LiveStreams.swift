import ClusterContract
import Contract

/// One gateway's state of one conversation's stream.
final class StreamFeed {
    /// As calls has told it, or the home.
    private(set) var stream: LiveStream
    /// Set while the holder's connection is here: this gateway is the home.
    private(set) var check: HolderCheck?
    var memory = StreamMemory()
    var wanted = WantedPace()
    /// Connections here that have joined.
    private(set) var listeners: [StreamListener] = []
    /// When the last packet came, or it began. On the gateway's clock.
    var heardAt: Int64
    /// Since when the home is asked for its memory; `nil` if it is known.
    private(set) var askedAt: Int64?
    /// The newest packet behind which nothing may be missing here, while the home is asked.
    private var wholeTo: LivePosition?
    /// A timer will send the postponed requests to the holder.
    var isWantedTimerSet = false

    init(_ stream: LiveStream, at now: Int64) {
        self.stream = stream
        self.heardAt = now
        self.memory.follow(stream)
    }

    var conversation: ConversationID { self.stream.conversation }
    var isUsed: Bool { self.check != nil || !self.listeners.isEmpty }

    /// Whether the newer word of a stream is this one. Words of calls and of homes overtake each other.
    /// - Returns: false if it is older than what is known.
    func follow(_ stream: LiveStream) -> Bool {
        let isOlder =
            stream.epoch < self.stream.epoch
            || stream.epoch == self.stream.epoch && stream.changedAt < self.stream.changedAt
        guard !isOlder else { return false }
        // Generations only grow, whoever tells of them.
        let generation = max(stream.generation, self.stream.generation)
        self.stream = stream
        self.stream.generation = generation
        self.memory.follow(self.stream)
        if stream.state != .live || self.check?.epoch != stream.epoch { self.check = nil }
        self.check?.generation = generation
        return true
    }

    /// The connection may send packets of the stream's epoch from here on.
    /// - Returns: whether that is news.
    func hold(_ connection: ConnectionID) -> Bool {
        // Told again: the numbers go on.
        guard self.check?.connection != connection || self.check?.epoch != self.stream.epoch else { return false }
        self.check = HolderCheck(
            connection: connection, epoch: self.stream.epoch, generation: self.stream.generation)
        self.wanted = WantedPace()
        self.knowsAll()
        return true
    }

    /// The home is asked for what is behind `position`, or behind what it is asked for already.
    func asks(behind position: LivePosition, at now: Int64) {
        self.wholeTo = min(position, self.wholeTo ?? position)
        self.askedAt = now
    }

    /// How far nothing is missing here, as far as is known.
    var known: LivePosition { self.wholeTo ?? self.memory.position }

    /// The home has answered, or there is nobody to ask.
    func knowsAll() { (self.askedAt, self.wholeTo) = (nil, nil) }

    /// Another gateway is the home.
    func giveUpHolding() { self.check = nil }

    /// - Parameter epoch: that it held; `nil` for any.
    /// - Returns: whether this connection held it until now.
    func holdNoLonger(_ connection: ConnectionID, epoch: Int64? = nil) -> Bool {
        guard let check = self.check, check.connection == connection, check.epoch <= epoch ?? .max else { return false }
        self.check = nil
        return true
    }

    /// Checks a packet of this connection.
    func judge(_ header: LivePacketHeader, from connection: ConnectionID) -> HolderCheck.Verdict {
        guard self.check?.connection == connection else { return .refuse(.notHolding) }
        return self.check?.check(header) ?? .refuse(.notHolding)
    }

    func listener(on connection: ConnectionID) -> StreamListener? {
        self.listeners.first { $0.connection == connection }
    }

    func add(_ listener: StreamListener) { self.listeners.append(listener) }

    /// - Returns: who it was.
    func remove(_ connection: ConnectionID) -> StreamListener? {
        guard let place = self.listeners.firstIndex(where: { $0.connection == connection }) else { return nil }
        let listener = self.listeners.remove(at: place)
        self.wanted.gone(listener.principal)
        return listener
    }
}

/// A connection that has joined a conversation.
final class StreamListener {
    /// At hand for each packet. It leaves all streams before it is forgotten.
    let socket: Connection
    let part: LiveParticipation
    let principal: PrincipalID
    var place: ListenerPosition
    /// The stream as the client was told last.
    var told: LiveStream?
    /// `live_joined` that waits for the home's memory, and since when.
    var joining: (attendance: LiveAttendance, since: Int64)?
    var resync = ResyncPace()

    var connection: ConnectionID { self.socket.id }

    init(socket: Connection, _ part: LiveParticipation, principal: PrincipalID, since: Timestamp) {
        self.socket = socket
        self.part = part
        self.principal = principal
        self.place = ListenerPosition(line: 0, since: since)
    }
}

/// How often one listener's `live_resync` is answered, and when the memory has not helped it.
struct ResyncPace {
    private var takenAt: Int64?
    private var position: LivePosition?

    enum Verdict: Equatable {
        case drop
        /// - repeated: it has asked from this position before, so what is remembered does not help it.
        case answer(repeated: Bool)
    }

    mutating func asks(from position: LivePosition, at now: Int64) -> Verdict {
        if let takenAt = self.takenAt, now - takenAt < LiveFeedLimits.resyncPause.milliseconds { return .drop }
        defer { (self.takenAt, self.position) = (now, position) }
        return .answer(repeated: self.position == position)
    }
}

/// The streams that connections of a gateway hold and attend, and the nodes that attend what is held here.
struct LiveStreams {
    private(set) var feeds: [ConversationID: StreamFeed] = [:]
    private var budget = LiveMemoryBudget()
    /// By conversation: nodes that attend it, and when they last said so. Also of conversations that are not held here: the news
    /// that one is may come later.
    private var attendance: [ConversationID: [NodeID: Int64]] = [:]

    subscript(conversation: ConversationID) -> StreamFeed? { self.feeds[conversation] }

    /// The stream's feed, made if it is the first word of it.
    mutating func feed(of stream: LiveStream, at now: Int64) -> StreamFeed {
        if let feed = self.feeds[stream.conversation] { return feed }
        let feed = StreamFeed(stream, at: now)
        self.feeds[stream.conversation] = feed
        return feed
    }

    mutating func forget(_ feed: StreamFeed) {
        self.budget.changed(by: -feed.memory.bytes)
        self.feeds[feed.conversation] = nil
    }

    /// Changes what is remembered of a stream, and keeps the bound of all.
    mutating func remember(_ feed: StreamFeed, _ change: (StreamFeed) -> Void) {
        let before = feed.memory.bytes
        change(feed)
        self.budget.changed(by: feed.memory.bytes - before)
        let forgotten = self.budget.toForget {
            self.feeds.values.map { ($0.conversation, $0.memory.bytes, $0.heardAt) }
        }
        for conversation in forgotten {
            guard let feed = self.feeds[conversation] else { continue }
            self.budget.changed(by: -feed.memory.bytes)
            feed.memory.forget()
        }
    }

    // MARK: Nodes

    mutating func attend(_ conversation: ConversationID, by node: NodeID, at now: Int64) {
        guard self.attendance[conversation] != nil || self.attendance.count < LiveFeedLimits.attendedMax else { return }
        self.attendance[conversation, default: [:]][node] = now
    }

    mutating func attendNoLonger(_ conversation: ConversationID, by node: NodeID) {
        self.attendance[conversation]?[node] = nil
        if self.attendance[conversation]?.isEmpty == true { self.attendance[conversation] = nil }
    }

    /// Nodes that attend the conversation.
    func nodes(attending conversation: ConversationID) -> Dictionary<NodeID, Int64>.Keys {
        (self.attendance[conversation] ?? [:]).keys
    }

    /// Forgets nodes that have said nothing for too long.
    mutating func forgetSilentNodes(at now: Int64) {
        let oldest = now - LiveFeedLimits.attendanceMax.milliseconds
        for (conversation, nodes) in self.attendance where nodes.values.contains(where: { $0 < oldest }) {
            let left = nodes.filter { $0.value >= oldest }
            self.attendance[conversation] = left.isEmpty ? nil : left
        }
    }
}
