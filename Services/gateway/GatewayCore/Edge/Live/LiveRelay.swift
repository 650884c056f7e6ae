import Bus
import ClusterContract
import Contract
import NIOCore
import Telemetry

/// Relays content of live conversations: from a holder's socket to listeners' sockets, here and at other gateways (contract §14.9,
/// §14.10). Content is stored nowhere but in the memory of gateways. Calls says which connection holds a stream and which attend it.
final class LiveRelay {
    private let node: NodeID
    private let bus: any Bus
    private let metrics: GatewayMetrics
    private let jobs: ShareJobs
    private let rooms: RoomsEntered
    private let writer: ContentWriter

    private var streams = LiveStreams()
    private var participations: [ConnectionID: LiveParticipation] = [:]
    /// Content and questions of this turn for other gateways.
    private var feedBatch: FeedBatch
    /// When the packets of this turn were read.
    private var packetsRead: [NIODeadline] = []
    /// Shares that the last report named held or attended streams to.
    private var reportedShares: Set<LiveShare> = []

    init(node: NodeID, bus: any Bus, metrics: GatewayMetrics, jobs: ShareJobs) {
        self.node = node
        self.bus = bus
        self.metrics = metrics
        self.jobs = jobs
        self.rooms = RoomsEntered(node: node, jobs: jobs)
        self.writer = ContentWriter(metrics: metrics)
        self.feedBatch = FeedBatch(of: node)
    }

    subscript(conversation: ConversationID) -> StreamFeed? { self.streams[conversation] }

    /// Whether the connection holds or attends a stream, or did.
    func takesPart(_ connection: ConnectionID) -> Bool { self.participations[connection] != nil }

    /// Other gateways whose connections attend the conversation.
    func othersAttending(_ conversation: ConversationID) -> some Sequence<NodeID> {
        self.streams.nodes(attending: conversation).lazy.filter { $0 != self.node }
    }

    // MARK: Frames of clients

    /// A packet of a whisperer.
    func packet(_ frame: ReceivedFrame, on connection: Connection, _ host: isolated some EdgeHost) {
        let readAt = NIODeadline.now()
        let packet = host.read(frame, on: connection) { payload throws(Payload.Corrupted) in
            try SendLivePacket(payload)
        }
        guard let packet else { return }
        self.metrics.livePackets.in.increment()
        guard let feed = self[packet.header.conversation] else {
            return host.refuse(connection, .notHolding, requestID: frame.requestID)
        }
        switch feed.judge(packet.header, from: connection.id) {
        case .refuse(let refusal): host.refuse(connection, refusal, requestID: frame.requestID)
        case .drop: self.metrics.livePackets.dropped.increment()
        case .one(let listener):
            let rendered = Self.render(packet)
            self.writer.give(rendered, outsideSequenceTo: listener, of: feed, host)
            for node in self.othersAttending(feed.conversation) {
                self.tell(node, .packet(FeedPacket(rendered), previous: 0), host)
            }
        case .all(let previous):
            let rendered = Self.render(packet)
            self.packetsRead.append(readAt)
            feed.heardAt = host.now
            self.streams.remember(feed) { _ = $0.memory.add(rendered, after: previous) }
            if packet.header.kind == .snapshot { feed.wanted.snapshotCame() }
            if let seal = packet.seal { self.keep(packet.header, seal, of: feed, from: connection.id, host) }
            self.writer.fanOut(rendered, previous: previous, of: feed, except: connection.id, host)
            let nodes = self.streams.nodes(attending: feed.conversation)
            guard !nodes.isEmpty else { return }
            let event = FeedEvent.packet(FeedPacket(rendered), previous: previous)
            for node in nodes where node != self.node { self.tell(node, event, host) }
        }
    }

    /// Has a line stored, if the stream's lines are kept. If it is lost, its whisperer gets no confirmation, and sends it again.
    private func keep(
        _ header: LivePacketHeader, _ seal: LineSeal, of feed: StreamFeed, from connection: ConnectionID,
        _ host: isolated some EdgeHost
    ) {
        guard feed.stream.isTranscribed, let content = feed.stream.content else { return }
        let line = LiveLine(
            conversation: header.conversation, content: content,
            connection: LiveConnection(node: self.node, connection: connection), position: header.position,
            line: header.line, generation: header.generation, seal: seal)
        self.jobs.hold(line, host)
    }

    private static func render(_ packet: SendLivePacket) -> RememberedPacket {
        let head = LivePacket.definition.head
        var buffer = ByteBuffer()
        buffer.reserveCapacity(head.count + packet.relayed.count + 16)
        WebSocketWriter.text(head, packet.relayed, ServerFrameDefinition.tail, to: &buffer)
        return RememberedPacket(header: packet.header, at: .now, frame: buffer)
    }

    /// A listener misses packets.
    func resync(_ frame: ReceivedFrame, on connection: Connection, _ host: isolated some EdgeHost) {
        let resync = host.read(frame, on: connection) { payload throws(Payload.Corrupted) in try LiveResync(payload) }
        guard let resync else { return }
        guard let feed = self[resync.conversation], let listener = feed.listener(on: connection.id) else {
            return host.refuse(connection, .notJoined, requestID: frame.requestID)
        }
        guard case .answer(let isRepeated) = listener.resync.asks(from: resync.position, at: host.now) else {
            return self.metrics.livePackets.dropped.increment()
        }
        // It is answered with `live_joined` first.
        guard listener.joining == nil else { return }
        listener.place.position = resync.position
        listener.place.line = resync.line
        listener.place.hasText = resync.position.seq > 0 || feed.memory.position.seq == 0
        let asks = self.bringUpToDate(listener, of: feed, needsSnapshot: isRepeated, host)
        self.metrics.liveResyncs[asks ? .whisperer : .cache].increment()
    }

    /// A listener wants something of the whisperer.
    func attention(_ frame: ReceivedFrame, on connection: Connection, _ host: isolated some EdgeHost) {
        let attention = host.read(frame, on: connection) { payload throws(Payload.Corrupted) in
            try SendLiveAttention(payload)
        }
        guard let attention else { return }
        guard let feed = self[attention.conversation], let listener = feed.listener(on: connection.id) else {
            return host.refuse(connection, .notJoined, requestID: frame.requestID)
        }
        if feed.check != nil {
            self.tellHolder(of: feed, attention.want, of: listener.principal, host)
        } else if let home = feed.stream.home {
            self.tell(
                home, .attention(feed.conversation, listener: listener.principal, want: attention.want), host)
        }
    }

    private func tellHolder(
        of feed: StreamFeed, _ want: LiveAttention.Want, of listener: PrincipalID, _ host: isolated some EdgeHost
    ) {
        guard let holder = feed.check.flatMap({ host.connection($0.connection) }) else { return }
        host.reply(
            holder,
            LiveAttention(conversation: feed.conversation, listener: listener, want: want, timestamp: .now),
            requestID: nil)
    }

    /// A client has answered a ping.
    /// - Returns: whether the ping was one behind content.
    func receivedPong(_ payload: [UInt8], on connection: Connection, _ host: isolated some EdgeHost) -> Bool {
        guard let number = UnreadContent.pingNumber(in: payload) else { return false }
        guard let part = self.participations[connection.id], part.unread.pong(number) else { return true }
        for conversation in part.attended {
            guard let feed = self[conversation], let listener = feed.listener(on: connection.id),
                listener.joining == nil
            else { continue }
            self.bringUpToDate(listener, of: feed, host)
        }
        return true
    }

    // MARK: What calls says

    /// A race in each case: the connection may be gone. Its share has been told, or learns it from the next report.
    func handle(_ event: LiveEvent, on id: ConnectionID, _ host: isolated some EdgeHost) {
        guard let connection = host.connection(id), connection.isOpen else {
            // The connection ended before it was known in the room, so its end was not told.
            if case .entered(let room) = event { self.rooms.tellLeft(room, id) }
            return
        }
        switch event {
        case .holds(let stream): self.holds(stream, on: connection, host)
        case .holdsNoLonger(let conversation, let epoch):
            guard let feed = self[conversation], feed.holdNoLonger(id, epoch: epoch) else { return }
            self.participations[id]?.held.removeAll { $0 == conversation }
        case .attends(let attendance): self.attends(attendance, on: connection, host)
        case .attendsNoLonger(let conversation): self.attendsNoLonger(conversation, on: connection, host)
        case .stream(let stream):
            guard let feed = self[stream.conversation] else { return }
            self.follow(stream, feed, host)
        case .entered(let room): self.rooms.entered(room, id)
        case .left(let room): self.rooms.left(room, id)
        }
    }

    private func holds(_ stream: LiveStream, on connection: Connection, _ host: isolated some EdgeHost) {
        let feed = self.streams.feed(of: stream, at: host.now)
        let former = feed.check?.connection
        self.follow(stream, feed, host)
        // Overtaken by a newer word, or told again.
        guard feed.stream.epoch == stream.epoch, feed.stream.home == self.node, feed.hold(connection.id) else { return }
        if let former, former != connection.id {
            self.participations[former]?.held.removeAll { $0 == stream.conversation }
        }
        let part = self.participation(of: connection.id)
        if !part.held.contains(stream.conversation) { part.held.append(stream.conversation) }
        // Gateways that asked before the stream was held here.
        for node in self.othersAttending(stream.conversation) {
            self.tell(node, .memory(feed.memory.copy(of: feed.stream, for: .start)), host)
        }
        for listener in feed.listeners where listener.joining != nil { self.join(listener, of: feed, host) }
    }

    private func attends(_ attendance: LiveAttendance, on connection: Connection, _ host: isolated some EdgeHost) {
        guard let principal = connection.principal else { return }
        let feed = self.streams.feed(of: attendance.stream, at: host.now)
        self.follow(attendance.stream, feed, host)
        let isFirst = feed.listeners.isEmpty
        let known = feed.listener(on: connection.id)
        let part = self.participation(of: connection.id)
        let listener = known ?? StreamListener(socket: connection, part, principal: principal, since: attendance.since)
        listener.place.since = attendance.since
        if known == nil {
            feed.add(listener)
            part.attended.append(feed.conversation)
        }
        guard attendance.isAnswer || known == nil else { return }
        listener.joining = (attendance, host.now)
        if isFirst { self.askHome(of: feed, behind: feed.known, host) }
        // Without a home to ask, this gateway knows all there is.
        if feed.askedAt == nil { self.join(listener, of: feed, host) }
    }

    private func attendsNoLonger(
        _ conversation: ConversationID, on connection: Connection, _ host: isolated some EdgeHost
    ) {
        self.participations[connection.id]?.attended.removeAll { $0 == conversation }
        guard let feed = self[conversation] else { return }
        let joining = feed.listener(on: connection.id)?.joining?.attendance
        self.leave(feed, connection.id, host)
        // Each request has an answer. This one waited for the home's memory.
        if let joining, joining.isAnswer { host.refuse(connection, .notJoined, requestID: joining.requestID) }
    }

    private func leave(_ feed: StreamFeed, _ connection: ConnectionID, _ host: isolated some EdgeHost) {
        guard feed.remove(connection) != nil, feed.listeners.isEmpty else { return }
        feed.heardAt = host.now
        feed.knowsAll()
        if feed.check == nil, let home = feed.stream.home { self.tell(home, .attendsNoLonger(feed.conversation), host) }
    }

    /// The connection has ended.
    func leave(_ connection: ConnectionID, _ host: isolated some EdgeHost) {
        self.rooms.leave(connection)
        guard let part = self.participations.removeValue(forKey: connection) else { return }
        for conversation in part.held {
            guard let feed = self[conversation], feed.holdNoLonger(connection) else { continue }
            feed.heardAt = host.now
        }
        for conversation in part.attended {
            if let feed = self[conversation] { self.leave(feed, connection, host) }
        }
    }

    private func participation(of connection: ConnectionID) -> LiveParticipation {
        if let part = self.participations[connection] { return part }
        let part = LiveParticipation()
        self.participations[connection] = part
        return part
    }

    // MARK: The stream

    /// The stream is this one now. Listeners are told before they get its packets (contract §19.7d).
    private func follow(_ stream: LiveStream, _ feed: StreamFeed, _ host: isolated some EdgeHost) {
        let (known, end) = (feed.stream, feed.memory.position)
        var isNews = false
        self.streams.remember(feed) { isNews = $0.follow(stream) }
        guard isNews else { return }
        for listener in feed.listeners {
            if feed.stream.content != known.content {
                listener.place = ListenerPosition(
                    position: feed.memory.position, line: 0, since: listener.place.since, hasText: true)
            } else if feed.memory.position != end, listener.place.hasText, listener.place.position >= end {
                listener.place.position = feed.memory.position
            }
            self.tellState(of: feed, to: listener, host)
        }
        if feed.stream.home != known.home {
            // Without a home, calls misses the holder. If it is here, the next report says so.
            if let home = feed.stream.home, home != self.node { feed.giveUpHolding() }
            if !feed.listeners.isEmpty { self.askHome(of: feed, behind: min(end, feed.known), again: true, host) }
        }
    }

    private func tellState(of feed: StreamFeed, to listener: StreamListener, _ host: isolated some EdgeHost) {
        let stream = feed.stream
        guard let told = listener.told, listener.joining == nil,
            told.epoch != stream.epoch || told.state != stream.state || told.content != stream.content
        else { return }
        listener.told = stream
        let state: LiveState.State =
            switch stream.state {
            case .idle: .ended
            case .live: .live
            case .paused: .paused
            }
        host.reply(
            listener.socket,
            LiveState(
                conversation: stream.conversation, state: state, reason: stream.state == .idle ? stream.ending : nil,
                content: stream.content ?? told.content, epoch: stream.epoch, generation: stream.generation,
                isTranscribed: stream.isTranscribed, timestamp: stream.changedAt),
            requestID: nil)
    }

    /// Answers `live_join`. Packets follow.
    private func join(_ listener: StreamListener, of feed: StreamFeed, _ host: isolated some EdgeHost) {
        guard let (attendance, _) = listener.joining else { return }
        listener.joining = nil
        let (stream, memory) = (feed.stream, feed.memory)
        listener.told = stream
        listener.resync = ResyncPace()
        if let after = attendance.after, after.content == stream.content {
            listener.place = ListenerPosition(
                position: after.position, line: after.line, since: attendance.since,
                hasText: after.position.seq > 0 || memory.position.seq == 0)
        } else {
            listener.place = ListenerPosition(line: memory.completed ?? 0, since: attendance.since)
            if memory.position.seq == 0 { listener.place.startsHere(memory.position) }
        }
        if attendance.isAnswer {
            host.reply(
                listener.socket, type: LiveJoined.type,
                payload: LiveJoined.json(
                    conversation: stream.conversation, state: stream.state, content: stream.content,
                    epoch: stream.epoch, generation: stream.generation, isTranscribed: stream.isTranscribed,
                    seq: memory.position.seq, line: memory.completed, grant: attendance.grant),
                requestID: attendance.requestID)
        }
        self.bringUpToDate(listener, of: feed, host)
    }

    /// Writes what the listener misses, and asks for what is not here.
    /// - Parameter needsSnapshot: what is here has not helped it.
    /// - Returns: whether the whisperer is asked.
    @discardableResult
    private func bringUpToDate(
        _ listener: StreamListener, of feed: StreamFeed, needsSnapshot: Bool = false, _ host: isolated some EdgeHost
    ) -> Bool {
        guard let gift = self.writer.catchUp(listener, of: feed, host), feed.stream.state == .live else { return false }
        // A listener that has to read first gets the rest then. By then no packet tells of lines missing before those written now.
        let wantsSnapshot = !listener.part.unread.isBehind && (gift.needsSnapshot || needsSnapshot)
        if wantsSnapshot { self.want(.snapshot, of: feed, host) }
        guard let from = gift.missingFrom else { return wantsSnapshot }
        self.want(.lines(listener: listener.principal, from: from, since: listener.place.since), of: feed, host)
        return true
    }

    // MARK: What the whisperer is asked for

    private func want(_ want: FeedWish.Want, of feed: StreamFeed, _ host: isolated some EdgeHost) {
        if feed.check != nil {
            feed.wanted.want(want)
            self.askHolder(of: feed, host)
        } else if let home = feed.stream.home {
            self.tell(home, .wanted(FeedWish(conversation: feed.conversation, want: want)), host)
        }
    }

    private func askHolder(of feed: StreamFeed, _ host: isolated some EdgeHost) {
        guard let holder = feed.check.flatMap({ host.connection($0.connection) }) else { return }
        for want in feed.wanted.due(at: host.now) {
            host.reply(holder, LiveWanted(want, of: feed), requestID: nil)
        }
        guard let next = feed.wanted.nextDue, !feed.isWantedTimerSet else { return }
        feed.isWantedTimerSet = true
        let (pause, conversation) = (Duration.milliseconds(max(next - host.now, 1)), feed.conversation)
        // Bare: it lasts for this pause alone.
        Task {
            try? await self.bus.pause(for: pause)
            guard let feed = self[conversation] else { return }
            feed.isWantedTimerSet = false
            self.askHolder(of: feed, host)
        }
    }

    // MARK: Other gateways

    func handle(_ notice: FeedNotice, _ host: isolated some EdgeHost) {
        for event in notice.events {
            switch event {
            case .packet(let packet, let previous): self.heard(packet, previous: previous, from: notice.from, host)
            case .attends(let attendances):
                for attendance in attendances { self.heard(attendance, of: notice.from, host) }
            case .attendsNoLonger(let conversation): self.streams.attendNoLonger(conversation, by: notice.from)
            case .memory(let memory): self.heard(memory, from: notice.from, host)
            case .wanted(let wish):
                guard let feed = self[wish.conversation], feed.check != nil else { continue }
                self.want(wish.want, of: feed, host)
            case .attention(let conversation, let listener, let want):
                guard let feed = self[conversation] else { continue }
                self.tellHolder(of: feed, want, of: listener, host)
            }
        }
    }

    private func heard(_ packet: FeedPacket, previous: Int64, from node: NodeID, _ host: isolated some EdgeHost) {
        let header = packet.header
        // A race in each case: no connection here attends it any more, or the stream has another home or a newer generation.
        guard let feed = self[header.conversation], !feed.listeners.isEmpty, feed.check == nil,
            feed.stream.home == node, header.position.epoch >= feed.stream.epoch,
            header.generation >= feed.stream.generation
        else { return }
        // The home is ahead of calls' word. Its memory says what stream this is.
        guard header.position.epoch == feed.stream.epoch else {
            return self.askHome(of: feed, behind: feed.known, host)
        }
        self.packetsRead.append(.now())
        let remembered = RememberedPacket(packet)
        if let listener = header.to {
            return self.writer.give(remembered, outsideSequenceTo: listener, of: feed, host)
        }
        feed.heardAt = host.now
        let known = feed.known
        var addition = StreamMemory.Addition.old
        self.streams.remember(feed) { addition = $0.memory.add(remembered, after: previous) }
        guard addition != .old else { return }
        self.writer.fanOut(remembered, previous: previous, of: feed, host)
        if addition == .afterGap { self.askHome(of: feed, behind: known, host) }
    }

    private func heard(_ attendance: FeedAttendance, of node: NodeID, _ host: isolated some EdgeHost) {
        guard node != self.node else { return }
        self.streams.attend(attendance.conversation, by: node, at: host.now)
        guard let feed = self[attendance.conversation], feed.check != nil,
            attendance.wantsMemory || attendance.position != feed.memory.position
        else { return }
        self.tell(node, .memory(feed.memory.copy(of: feed.stream, for: attendance.position)), host)
    }

    private func heard(_ memory: FeedMemory, from node: NodeID, _ host: isolated some EdgeHost) {
        guard let feed = self[memory.stream.conversation], !feed.listeners.isEmpty, feed.check == nil,
            memory.stream.home == node
        else { return }
        self.follow(memory.stream, feed, host)
        guard feed.stream.home == node, feed.stream.epoch == memory.stream.epoch else { return }
        feed.knowsAll()
        self.streams.remember(feed) { $0.memory.take(memory) }
        for listener in feed.listeners {
            if listener.joining == nil {
                self.bringUpToDate(listener, of: feed, host)
            } else {
                self.join(listener, of: feed, host)
            }
        }
    }

    /// Asks the home for what it remembers, and tells it that this gateway attends.
    /// - Parameters:
    ///   - position: of the newest packet behind which nothing is missing here.
    ///   - again: although it was asked, and has not answered.
    private func askHome(
        of feed: StreamFeed, behind position: LivePosition, again: Bool = false, _ host: isolated some EdgeHost
    ) {
        guard feed.check == nil, let home = feed.stream.home, home != self.node else { return feed.knowsAll() }
        guard feed.askedAt == nil || again else { return }
        feed.asks(behind: position, at: host.now)
        let attendance = FeedAttendance(conversation: feed.conversation, position: feed.known, wantsMemory: true)
        self.tell(home, .attends([attendance]), host)
    }

    private func tell(_ node: NodeID, _ event: FeedEvent, _ host: isolated some EdgeHost) {
        self.feedBatch.add(event, for: node)
        host.scheduleFlush()
    }

    // MARK: The turn

    /// Sends what this turn has for other gateways.
    func publish() {
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

    // MARK: Time

    /// Runs once a second.
    func check(_ second: Int, _ host: isolated some EdgeHost) {
        let now = host.now
        for id in self.participations.filter({ $0.value.unread.isLost(at: now) }).keys {
            guard let connection = host.connection(id), connection.isOpen else { continue }
            self.metrics.slowConsumersClosed.increment()
            host.close(connection, .slowConsumer)
        }
        if second % LiveFeedLimits.reportSeconds == 0 { self.report(host) }
        self.streams.forgetSilentNodes(at: now)
        var (held, attended) = (0, 0)
        for feed in Array(self.streams.feeds.values) {
            if feed.check != nil { held += 1 }
            attended += feed.listeners.count
            if let askedAt = feed.askedAt, now - askedAt >= LiveFeedLimits.askAgainAfter.milliseconds {
                // The home is silent. A listener that waits gets what is known here.
                for listener in feed.listeners {
                    guard let joining = listener.joining else { continue }
                    if now - joining.since >= LiveFeedLimits.joinWaitMax.milliseconds {
                        self.join(listener, of: feed, host)
                    }
                }
                self.askHome(of: feed, behind: feed.known, again: true, host)
            }
            if !feed.isUsed, now - feed.heardAt > LiveFeedLimits.unattendedMax.milliseconds {
                self.streams.forget(feed)
            }
        }
        self.metrics.liveStreams.set(held)
        self.metrics.liveListeners.set(attended)
    }

    /// Notices may have been lost: homes are asked, and calls is told of all that is held and attended.
    /// - Parameter isLost: whether Notices on this channel may be.
    func mayHaveMissed(
        where isLost: (_ channel: String) -> Bool = { _ in true }, _ host: isolated some EdgeHost
    ) {
        for feed in self.streams.feeds.values where !feed.listeners.isEmpty {
            guard feed.stream.home.map({ isLost(Keyspace.feed($0).name) }) ?? true else { continue }
            self.askHome(of: feed, behind: feed.known, again: true, host)
        }
        self.report(host)
    }

    /// Tells homes what is attended here, and calls what is held and attended.
    private func report(_ host: isolated some EdgeHost) {
        var attendances: [NodeID: [FeedAttendance]] = [:]
        var entries: [LiveShare: [LiveReportEntry]] = [:]
        for feed in self.streams.feeds.values {
            let share = LiveShare(of: feed.conversation)
            if let holder = feed.check?.connection, let entry = Self.entry(feed, holder, .holder, host) {
                entries[share, default: []].append(entry)
            }
            guard !feed.listeners.isEmpty else { continue }
            for listener in feed.listeners {
                guard let entry = Self.entry(feed, listener.connection, .listener, host) else { continue }
                entries[share, default: []].append(entry)
            }
            guard feed.check == nil, let home = feed.stream.home, home != self.node else { continue }
            attendances[home, default: []].append(
                FeedAttendance(conversation: feed.conversation, position: feed.known, wantsMemory: false))
        }
        for (home, list) in attendances { self.tell(home, .attends(list), host) }
        // A share is told once more that there is nothing left.
        for share in self.reportedShares.union(entries.keys) {
            self.jobs.append(.report(self.node, entries[share] ?? []), to: share)
        }
        self.reportedShares = Set(entries.keys)
        self.rooms.report(host)
    }

    private static func entry(
        _ feed: StreamFeed, _ id: ConnectionID, _ role: LiveReportEntry.Role, _ host: isolated some EdgeHost
    ) -> LiveReportEntry? {
        guard let principal = host.connection(id)?.principal else { return nil }
        return LiveReportEntry(
            conversation: feed.conversation, connection: id, principal: principal, role: role,
            epoch: feed.stream.epoch, generation: feed.stream.generation)
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
