import Contract
import NIOCore
import Telemetry

/// Content of live conversations: from a holder's socket to listeners' sockets, here and at other gateways (contract §14.9,
/// §14.10). It is rendered once, and stored nowhere but in the memory of gateways.
extension Gateway {
    // MARK: Frames of clients

    /// A packet of a whisperer.
    func livePacket(_ frame: ReceivedFrame, on connection: Connection) {
        let readAt = NIODeadline.now()
        let packet = self.read(frame, on: connection) { payload throws(Payload.Corrupted) in
            try SendLivePacket(payload)
        }
        guard let packet else { return }
        self.metrics.livePackets.in.increment()
        guard let feed = self.live[packet.header.conversation] else {
            return self.refuse(connection, .notHolding, requestID: frame.requestID)
        }
        switch feed.judge(packet.header, from: connection.id) {
        case .refuse(let refusal): self.refuse(connection, refusal, requestID: frame.requestID)
        case .drop: self.metrics.livePackets.dropped.increment()
        case .one(let listener):
            let rendered = self.render(packet)
            self.give(rendered, outsideSequenceTo: listener, of: feed)
            for node in self.live.nodes(attending: feed.conversation) where node != self.node {
                self.tell(node, .packet(FeedPacket(rendered), previous: 0))
            }
        case .all(let previous):
            let rendered = self.render(packet)
            self.packetsRead.append(readAt)
            feed.heardAt = self.now
            self.remember(feed) { _ = $0.memory.add(rendered, after: previous) }
            if packet.header.kind == .snapshot { feed.wanted.snapshotCame() }
            if let seal = packet.seal { self.keep(packet.header, seal, of: feed, from: connection.id) }
            self.fanOut(rendered, previous: previous, of: feed, except: connection.id)
            let nodes = self.live.nodes(attending: feed.conversation)
            guard !nodes.isEmpty else { return }
            let event = FeedEvent.packet(FeedPacket(rendered), previous: previous)
            for node in nodes where node != self.node { self.tell(node, event) }
        }
    }

    /// Has a line stored, if the stream's lines are kept. Lost on the way, its whisperer hears nothing of it and sends it again.
    private func keep(
        _ header: LivePacketHeader, _ seal: LiveLine.Seal, of feed: StreamFeed, from connection: ConnectionID
    ) {
        guard feed.stream.isTranscribed, let content = feed.stream.content else { return }
        let line = LiveLine(
            conversation: header.conversation, content: content,
            connection: LiveConnection(node: self.node, connection: connection), position: header.position,
            line: header.line, generation: header.generation, seal: seal)
        self.hold(line)
    }

    private func render(_ packet: SendLivePacket) -> RememberedPacket {
        let head = LivePacket.definition.head
        var buffer = ByteBuffer()
        buffer.reserveCapacity(head.count + packet.relayed.count + 16)
        WebSocketWriter.text(head, packet.relayed, ServerFrameDefinition.tail, to: &buffer)
        return RememberedPacket(header: packet.header, at: .now, frame: buffer)
    }

    /// A listener misses packets.
    func liveResync(_ frame: ReceivedFrame, on connection: Connection) {
        let resync = self.read(frame, on: connection) { payload throws(Payload.Corrupted) in try LiveResync(payload) }
        guard let resync else { return }
        guard let feed = self.live[resync.conversation], let listener = feed.listener(on: connection.id) else {
            return self.refuse(connection, .notJoined, requestID: frame.requestID)
        }
        guard case .answer(let isRepeated) = listener.resync.asks(from: resync.position, at: self.now) else {
            return self.metrics.livePackets.dropped.increment()
        }
        // It is answered with `live_joined` first.
        guard listener.joining == nil else { return }
        listener.place.position = resync.position
        listener.place.line = resync.line
        listener.place.hasText = resync.position.seq > 0 || feed.memory.position.seq == 0
        let asks = self.bringUpToDate(listener, of: feed, needsSnapshot: isRepeated)
        self.metrics.liveResyncs[asks ? .whisperer : .cache].increment()
    }

    /// A listener wants something of the whisperer.
    func liveAttention(_ frame: ReceivedFrame, on connection: Connection) {
        let attention = self.read(frame, on: connection) { payload throws(Payload.Corrupted) in
            try SendLiveAttention(payload)
        }
        guard let attention else { return }
        guard let feed = self.live[attention.conversation], let listener = feed.listener(on: connection.id) else {
            return self.refuse(connection, .notJoined, requestID: frame.requestID)
        }
        if feed.check != nil {
            self.tellHolder(of: feed, attention.want, of: listener.principal)
        } else if let home = feed.stream.home {
            self.tell(
                home, .attention(feed.conversation, listener: listener.principal, want: attention.want))
        }
    }

    private func tellHolder(of feed: StreamFeed, _ want: LiveAttention.Want, of listener: PrincipalID) {
        guard let holder = feed.check.flatMap({ self.connections[$0.connection] }) else { return }
        self.reply(
            holder,
            LiveAttention(conversation: feed.conversation, listener: listener, want: want, timestamp: .now),
            requestID: nil)
    }

    // MARK: To listeners

    /// Writes a packet to every listener here that has what is before it, or needs nothing before it.
    private func fanOut(
        _ packet: RememberedPacket, previous: Int64, of feed: StreamFeed, except holder: ConnectionID? = nil
    ) {
        let before = LivePosition(epoch: packet.position.epoch, seq: previous)
        for listener in feed.listeners where listener.joining == nil && listener.connection != holder {
            if listener.place.position == before, listener.place.hasText {
                if self.give(packet, to: listener.socket) { listener.place.gave(packet) }
            } else if packet.header.kind == .snapshot || packet.header.kind == .line {
                self.catchUp(listener, of: feed)
            } else {
                self.metrics.livePackets.skipped.increment()
            }
        }
    }

    /// A packet for one listener alone, outside the sequence.
    private func give(_ packet: RememberedPacket, outsideSequenceTo listener: PrincipalID, of feed: StreamFeed) {
        for one in feed.listeners where one.principal == listener && one.joining == nil {
            _ = self.give(packet, to: one.socket)
        }
    }

    /// - Returns: false if the listener has too much unread. Then nothing is queued.
    private func give(_ packet: RememberedPacket, to connection: Connection) -> Bool {
        guard connection.isOpen, let part = connection.live else { return false }
        guard part.unread.takes(packet.bytes) else {
            self.metrics.livePackets.skipped.increment()
            return false
        }
        self.metrics.livePackets.out.increment()
        self.metrics.framesOut.increment()
        self.write(packet.frame, to: connection)
        if let ping = part.unread.wrote(packet.bytes, at: self.now) {
            self.write(to: connection) { WebSocketWriter.ping(Self.contentPing(ping), to: &$0) }
        }
        return true
    }

    /// Writes what the listener misses, as far as it is here and the listener reads it.
    /// - Returns: what is not here; `nil` if nothing could be written.
    @discardableResult
    private func catchUp(_ listener: StreamListener, of feed: StreamFeed) -> StreamMemory.Gift? {
        let connection = listener.socket
        guard connection.live?.unread.isBehind == false else { return nil }
        let gift = feed.memory.gift(for: listener.place, at: .now, canAsk: feed.stream.state == .live)
        for line in gift.lines {
            guard self.give(line, to: connection) else { return gift }
            listener.place.gave(line: line)
        }
        for packet in gift.text {
            guard self.give(packet, to: connection) else { return gift }
            listener.place.gave(packet)
        }
        return gift
    }

    /// Writes what the listener misses, and asks for what is not here.
    /// - Parameter needsSnapshot: what is here has not helped it.
    /// - Returns: whether the whisperer is asked.
    @discardableResult
    func bringUpToDate(
        _ listener: StreamListener, of feed: StreamFeed, needsSnapshot: Bool = false
    ) -> Bool {
        guard let gift = self.catchUp(listener, of: feed), feed.stream.state == .live else { return false }
        // Whoever has to read first gets the rest then. By then nothing tells of lines that are missing before what was written now.
        let isBehind = listener.socket.live?.unread.isBehind == true
        let wantsSnapshot = !isBehind && (gift.needsSnapshot || needsSnapshot)
        if wantsSnapshot { self.want(.snapshot, of: feed) }
        guard let from = gift.missingFrom else { return wantsSnapshot }
        self.want(.lines(listener: listener.principal, from: from, since: listener.place.since), of: feed)
        return true
    }

    // MARK: Pongs

    private static let pingMark = UInt8(ascii: "L")

    /// Unlike a ping behind outcomes.
    private static func contentPing(_ number: UInt64) -> [UInt8] { [self.pingMark] + self.pingPayload(number) }

    /// - Returns: whether it answers a ping behind content.
    func receivedContentPong(_ payload: [UInt8], on connection: Connection) -> Bool {
        guard payload.count == 9, payload[0] == Self.pingMark else { return false }
        let number = payload.dropFirst().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        guard let part = connection.live, part.unread.pong(number) else { return true }
        for conversation in part.attended {
            guard let feed = self.live[conversation], let listener = feed.listener(on: connection.id),
                listener.joining == nil
            else { continue }
            self.bringUpToDate(listener, of: feed)
        }
        return true
    }

    // MARK: What the whisperer is asked for

    private func want(_ want: FeedWish.Want, of feed: StreamFeed) {
        if feed.check != nil {
            feed.wanted.want(want)
            self.askHolder(of: feed)
        } else if let home = feed.stream.home {
            self.tell(home, .wanted(FeedWish(conversation: feed.conversation, want: want)))
        }
    }

    private func askHolder(of feed: StreamFeed) {
        guard let holder = feed.check.flatMap({ self.connections[$0.connection] }) else { return }
        for want in feed.wanted.due(at: self.now) {
            self.reply(holder, LiveWanted(want, of: feed), requestID: nil)
        }
        guard let next = feed.wanted.nextDue, !feed.isWantedTimerSet else { return }
        feed.isWantedTimerSet = true
        let (pause, conversation) = (Duration.milliseconds(max(next - self.now, 1)), feed.conversation)
        // Bare: it lasts for this pause alone.
        Task {
            try? await self.bus.pause(for: pause)
            guard let feed = self.live[conversation] else { return }
            feed.isWantedTimerSet = false
            self.askHolder(of: feed)
        }
    }

    // MARK: Other gateways

    func handle(_ notice: FeedNotice) {
        for event in notice.events {
            switch event {
            case .packet(let packet, let previous): self.heard(packet, previous: previous, from: notice.from)
            case .attends(let attendances):
                for attendance in attendances { self.heard(attendance, of: notice.from) }
            case .attendsNoLonger(let conversation): self.live.attendNoLonger(conversation, by: notice.from)
            case .memory(let memory): self.heard(memory, from: notice.from)
            case .wanted(let wish):
                guard let feed = self.live[wish.conversation], feed.check != nil else { continue }
                self.want(wish.want, of: feed)
            case .attention(let conversation, let listener, let want):
                guard let feed = self.live[conversation] else { continue }
                self.tellHolder(of: feed, want, of: listener)
            }
        }
    }

    private func heard(_ packet: FeedPacket, previous: Int64, from node: NodeID) {
        let header = packet.header
        // A race in each case: nobody here attends it any more, or the stream has another home or a newer generation.
        guard let feed = self.live[header.conversation], !feed.listeners.isEmpty, feed.check == nil,
            feed.stream.home == node, header.position.epoch >= feed.stream.epoch,
            header.generation >= feed.stream.generation
        else { return }
        // The home is ahead of calls' word. Its memory says what stream this is.
        guard header.position.epoch == feed.stream.epoch else { return self.askHome(of: feed, behind: feed.known) }
        self.packetsRead.append(.now())
        let remembered = RememberedPacket(packet)
        if let listener = header.to { return self.give(remembered, outsideSequenceTo: listener, of: feed) }
        feed.heardAt = self.now
        let known = feed.known
        var addition = StreamMemory.Addition.old
        self.remember(feed) { addition = $0.memory.add(remembered, after: previous) }
        switch addition {
        case .old: break
        case .next: self.fanOut(remembered, previous: previous, of: feed)
        case .afterGap:
            self.fanOut(remembered, previous: previous, of: feed)
            self.askHome(of: feed, behind: known)
        }
    }

    private func heard(_ attendance: FeedAttendance, of node: NodeID) {
        guard node != self.node else { return }
        self.live.attend(attendance.conversation, by: node, at: self.now)
        guard let feed = self.live[attendance.conversation], feed.check != nil,
            attendance.wantsMemory || attendance.position != feed.memory.position
        else { return }
        self.tell(node, .memory(feed.memory.copy(of: feed.stream, for: attendance.position)))
    }

    private func heard(_ memory: FeedMemory, from node: NodeID) {
        guard let feed = self.live[memory.stream.conversation], !feed.listeners.isEmpty, feed.check == nil,
            memory.stream.home == node
        else { return }
        self.follow(memory.stream, feed)
        guard feed.stream.home == node, feed.stream.epoch == memory.stream.epoch else { return }
        feed.knowsAll()
        self.remember(feed) { $0.memory.take(memory) }
        for listener in feed.listeners {
            if listener.joining == nil { self.bringUpToDate(listener, of: feed) } else { self.join(listener, of: feed) }
        }
    }

    /// Has the home tell what it remembers. It hears at the same time that this gateway attends.
    /// - Parameters:
    ///   - position: of the newest packet behind which nothing is missing here.
    ///   - again: although it was asked, and has not answered.
    func askHome(of feed: StreamFeed, behind position: LivePosition, again: Bool = false) {
        guard feed.check == nil, let home = feed.stream.home, home != self.node else { return feed.knowsAll() }
        guard feed.askedAt == nil || again else { return }
        feed.asks(behind: position, at: self.now)
        self.tell(
            home,
            .attends([
                FeedAttendance(conversation: feed.conversation, position: feed.known, wantsMemory: true)
            ]))
    }

    func tell(_ node: NodeID, _ event: FeedEvent) {
        self.feedBatch.add(event, for: node)
        self.scheduleFlush()
    }

    /// Sends what this turn has for other gateways.
    func publishFeed() {
        guard !self.feedBatch.isEmpty else { return }
        for (node, notice) in self.feedBatch.take() { self.bus.publish(notice, to: Keyspace.feed(node)) }
    }

    /// All packets of this turn are written.
    func recordFanOut() {
        guard !self.packetsRead.isEmpty else { return }
        let now = NIODeadline.now()
        for readAt in self.packetsRead {
            self.metrics.liveFanOut.recordNanoseconds((now - readAt).nanoseconds)
        }
        self.packetsRead.removeAll(keepingCapacity: true)
    }

    // MARK: Memory

    /// Changes what is remembered of a stream, and keeps the bound of all.
    func remember(_ feed: StreamFeed, _ change: (StreamFeed) -> Void) {
        let before = feed.memory.bytes
        change(feed)
        self.liveBudget.changed(by: feed.memory.bytes - before)
        let forgotten = self.liveBudget.toForget {
            self.live.feeds.values.map { ($0.conversation, $0.memory.bytes, $0.heardAt) }
        }
        for conversation in forgotten {
            guard let feed = self.live[conversation] else { continue }
            self.liveBudget.changed(by: -feed.memory.bytes)
            feed.memory.forget()
        }
    }
}

extension LiveWanted {
    fileprivate init(_ want: FeedWish.Want, of feed: StreamFeed) {
        let asked: Want =
            switch want {
            case .snapshot: .snapshot
            case .lines(let listener, let from, let since): .lines(listener: listener, from: from, since: since)
            }
        self.init(conversation: feed.conversation, epoch: feed.stream.epoch, want: asked)
    }
}
