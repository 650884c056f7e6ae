import Bus
import Contract
import Telemetry

/// Who holds and attends streams: what calls says of it, what clients are told, and what heals when news are lost.
extension Gateway {
    // MARK: What calls says

    /// A race in each case: the connection may be gone. Its share has been told, or learns it from the next report.
    func handle(_ event: LiveEvent, on id: ConnectionID) {
        guard let connection = self.connections[id], connection.isOpen else {
            // It ended before it knew of the room, so nobody has said that it left.
            if case .entered(let room) = event { self.tellLeft(room, id) }
            return
        }
        switch event {
        case .holds(let stream): self.holds(stream, on: connection)
        case .holdsNoLonger(let conversation, let epoch):
            guard let feed = self.live[conversation], feed.holdNoLonger(id, epoch: epoch) else { return }
            connection.live?.held.removeAll { $0 == conversation }
        case .attends(let attendance): self.attends(attendance, on: connection)
        case .attendsNoLonger(let conversation): self.attendsNoLonger(conversation, on: connection)
        case .stream(let stream):
            guard let feed = self.live[stream.conversation] else { return }
            self.follow(stream, feed)
        case .entered(let room):
            let part = self.participation(of: connection)
            if !part.rooms.contains(room) { part.rooms.append(room) }
            self.roomsEntered.insert(.init(room: room, connection: id))
        case .left(let room):
            connection.live?.rooms.removeAll { $0 == room }
            self.roomsEntered.remove(.init(room: room, connection: id))
        }
    }

    private func holds(_ stream: LiveStream, on connection: Connection) {
        let feed = self.live.feed(of: stream, at: self.now)
        let former = feed.check?.connection
        self.follow(stream, feed)
        // Overtaken by a newer word, or told again.
        guard feed.stream.epoch == stream.epoch, feed.stream.home == self.node, feed.hold(connection.id) else { return }
        if let former, former != connection.id {
            self.connections[former]?.live?.held.removeAll { $0 == stream.conversation }
        }
        let part = self.participation(of: connection)
        if !part.held.contains(stream.conversation) { part.held.append(stream.conversation) }
        // Those who asked before it was held here.
        for node in self.live.nodes(attending: stream.conversation) where node != self.node {
            self.tell(node, .memory(feed.memory.copy(of: feed.stream, for: .start)))
        }
        for listener in feed.listeners where listener.joining != nil { self.join(listener, of: feed) }
    }

    private func attends(_ attendance: LiveAttendance, on connection: Connection) {
        guard let principal = connection.principal else { return }
        let feed = self.live.feed(of: attendance.stream, at: self.now)
        self.follow(attendance.stream, feed)
        let isFirst = feed.listeners.isEmpty
        let known = feed.listener(on: connection.id)
        let listener =
            known ?? StreamListener(socket: connection, principal: principal, since: attendance.since)
        listener.place.since = attendance.since
        if known == nil {
            feed.add(listener)
            self.participation(of: connection).attended.append(feed.conversation)
        }
        guard attendance.isAnswer || known == nil else { return }
        listener.joining = (attendance, self.now)
        if isFirst { self.askHome(of: feed, behind: feed.known) }
        // With nobody to ask, what is here is all there is.
        if feed.askedAt == nil { self.join(listener, of: feed) }
    }

    private func attendsNoLonger(_ conversation: ConversationID, on connection: Connection) {
        connection.live?.attended.removeAll { $0 == conversation }
        guard let feed = self.live[conversation] else { return }
        let joining = feed.listener(on: connection.id)?.joining?.attendance
        self.leave(feed, connection.id)
        // Every question has an answer. This one waited for the home's memory.
        if let joining, joining.isAnswer { self.refuse(connection, .notJoined, requestID: joining.requestID) }
    }

    private func leave(_ feed: StreamFeed, _ connection: ConnectionID) {
        guard feed.remove(connection) != nil, feed.listeners.isEmpty else { return }
        feed.heardAt = self.now
        feed.knowsAll()
        if feed.check == nil, let home = feed.stream.home { self.tell(home, .attendsNoLonger(feed.conversation)) }
    }

    /// The connection has ended.
    func leaveStreams(of connection: Connection) {
        guard let part = connection.live else { return }
        connection.live = nil
        for conversation in part.held {
            guard let feed = self.live[conversation], feed.holdNoLonger(connection.id) else { continue }
            feed.heardAt = self.now
        }
        for conversation in part.attended {
            if let feed = self.live[conversation] { self.leave(feed, connection.id) }
        }
    }

    private func participation(of connection: Connection) -> LiveParticipation {
        let part = connection.live ?? LiveParticipation()
        connection.live = part
        return part
    }

    // MARK: The stream

    /// The stream is this one now. Listeners hear of it before its packets (contract §19.7d).
    func follow(_ stream: LiveStream, _ feed: StreamFeed) {
        let (known, end) = (feed.stream, feed.memory.position)
        var isNews = false
        self.remember(feed) { isNews = $0.follow(stream) }
        guard isNews else { return }
        for listener in feed.listeners {
            if feed.stream.content != known.content {
                listener.place = ListenerPosition(
                    position: feed.memory.position, line: 0, since: listener.place.since, hasText: true)
            } else if feed.memory.position != end, listener.place.hasText, listener.place.position >= end {
                listener.place.position = feed.memory.position
            }
            self.tellState(of: feed, to: listener)
        }
        if feed.stream.home != known.home {
            // Without a home, calls misses the holder. If it is here, the next report says so.
            if let home = feed.stream.home, home != self.node { feed.giveUpHolding() }
            if !feed.listeners.isEmpty { self.askHome(of: feed, behind: min(end, feed.known), again: true) }
        }
    }

    private func tellState(of feed: StreamFeed, to listener: StreamListener) {
        guard let told = listener.told, listener.joining == nil,
            told.epoch != feed.stream.epoch || told.state != feed.stream.state || told.content != feed.stream.content
        else { return }
        listener.told = feed.stream
        let stream = feed.stream
        let state: LiveState.State =
            switch stream.state {
            case .idle: .ended
            case .live: .live
            case .paused: .paused
            }
        self.reply(
            listener.socket,
            LiveState(
                conversation: stream.conversation, state: state, reason: stream.state == .idle ? stream.ending : nil,
                content: stream.content ?? told.content, epoch: stream.epoch, generation: stream.generation,
                isTranscribed: stream.isTranscribed, timestamp: stream.changedAt),
            requestID: nil)
    }

    /// Answers `live_join`. Packets follow.
    func join(_ listener: StreamListener, of feed: StreamFeed) {
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
        guard attendance.isAnswer else {
            self.bringUpToDate(listener, of: feed)
            return
        }
        self.reply(
            listener.socket, type: LiveJoined.type,
            payload: LiveJoined.json(
                conversation: stream.conversation, state: stream.state, content: stream.content, epoch: stream.epoch,
                generation: stream.generation, isTranscribed: stream.isTranscribed, seq: memory.position.seq,
                line: memory.completed, grant: attendance.grant),
            requestID: attendance.requestID)
        self.bringUpToDate(listener, of: feed)
    }

    // MARK: Time

    /// Once a second.
    func lookAtStreams() {
        let now = self.now
        if self.second % LiveFeedLimits.reportSeconds == 0 { self.tellAllStreams() }
        self.live.forgetSilentNodes(at: now)
        var (held, attended) = (0, 0)
        for feed in Array(self.live.feeds.values) {
            if feed.check != nil { held += 1 }
            attended += feed.listeners.count
            if let askedAt = feed.askedAt, now - askedAt >= LiveFeedLimits.askAgainAfter.milliseconds {
                // The home is silent. Who waits learns what is known here.
                for listener in feed.listeners {
                    guard let joining = listener.joining else { continue }
                    if now - joining.since >= LiveFeedLimits.joinWaitMax.milliseconds { self.join(listener, of: feed) }
                }
                self.askHome(of: feed, behind: feed.known, again: true)
            }
            if !feed.isUsed, now - feed.heardAt > LiveFeedLimits.unattendedMax.milliseconds {
                self.liveBudget.changed(by: -feed.memory.bytes)
                self.live.forget(feed.conversation)
            }
        }
        self.metrics.liveStreams.set(held)
        self.metrics.liveListeners.set(attended)
    }

    /// Notices may have been lost: homes are asked, and calls hears of all that is held and attended.
    /// - Parameter isLost: whether Notices on this channel may be.
    func streamsMayHaveChanged(where isLost: (_ channel: String) -> Bool = { _ in true }) {
        for feed in self.live.feeds.values where !feed.listeners.isEmpty {
            guard feed.stream.home.map({ isLost(Keyspace.feed($0).name) }) ?? true else { continue }
            self.askHome(of: feed, behind: feed.known, again: true)
        }
        self.tellAllStreams()
    }

    /// Tells homes what is attended here, and calls what is held and attended.
    private func tellAllStreams() {
        var attendances: [NodeID: [FeedAttendance]] = [:]
        var entries: [LiveShare: [LiveReportEntry]] = [:]
        for feed in self.live.feeds.values {
            let share = LiveShare(of: feed.conversation)
            if let holder = feed.check?.connection, let entry = self.entry(feed, holder, .holder) {
                entries[share, default: []].append(entry)
            }
            guard !feed.listeners.isEmpty else { continue }
            for listener in feed.listeners {
                guard let entry = self.entry(feed, listener.connection, .listener) else { continue }
                entries[share, default: []].append(entry)
            }
            guard feed.check == nil, let home = feed.stream.home, home != self.node else { continue }
            attendances[home, default: []].append(
                FeedAttendance(
                    conversation: feed.conversation, position: feed.known, wantsMemory: false))
        }
        for (home, list) in attendances { self.tell(home, .attends(list)) }
        // A share hears once more that there is nothing left.
        for share in self.reportedShares.union(entries.keys) {
            self.append(.report(self.node, entries[share] ?? []), to: share)
        }
        self.reportedShares = Set(entries.keys)
        self.tellAllRooms()
    }

    private func tellAllRooms() {
        var entries: [LiveShare: [RoomReportEntry]] = [:]
        for entered in self.roomsEntered {
            guard let participant = self.connections[entered.connection]?.principal else { continue }
            entries[LiveShare(of: entered.room), default: []].append(
                RoomReportEntry(room: entered.room, connection: entered.connection, participant: participant))
        }
        for share in self.reportedRoomShares.union(entries.keys) {
            self.append(.roomReport(self.node, entries[share] ?? []), to: share)
        }
        self.reportedRoomShares = Set(entries.keys)
    }

    private func entry(
        _ feed: StreamFeed, _ id: ConnectionID, _ role: LiveReportEntry.Role
    ) -> LiveReportEntry? {
        guard let principal = self.connections[id]?.principal else { return nil }
        return LiveReportEntry(
            conversation: feed.conversation, connection: id, principal: principal, role: role,
            epoch: feed.stream.epoch, generation: feed.stream.generation)
    }
}
