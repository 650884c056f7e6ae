import ClusterContract
package import Contract

/// Starting, ending and joining streams (contract §14.8, §14.10).
extension LiveRules {
    mutating func start(_ start: LiveStart, by caller: WhisperID, _ frame: LiveFrame) throws(Refusal) -> Answer {
        var conversation = try self.own(start.conversation, for: caller)
        let before = conversation.stream
        guard !self.facts.ended.contains(.init(conversation: conversation.id, content: start.content)) else {
            throw Refusal(.forbidden, "the stream has ended")
        }
        guard
            before?.connection == frame.connection
                || self.held(by: frame.connection) < LiveLimits.streamsPerConnectionMax
        else { throw Refusal(.forbidden, "the connection holds too many streams") }
        try self.checkOpen(before, in: conversation, for: caller)
        let isResumed = before?.content == start.content
        let heldEpoch = conversation.epoch
        conversation.epoch += 1
        conversation.stream = LiveMachine.Stream(
            content: start.content, holder: caller, phase: .live(frame.connection, goneAt: nil),
            transcriptDays: isResumed
                ? before?.transcriptDays ?? 0 : min(conversation.transcriptDays, self.limits.transcriptDaysMax),
            startedAt: isResumed ? before?.startedAt ?? self.time : self.time, changedAt: self.time)
        conversation.lastHolder = caller
        conversation.usedAt = self.time
        if !isResumed { self.markJoined(&conversation) }
        if let before, let holder = before.connection, holder != frame.connection {
            self.tellings.append(.event(holder, .holdsNoLonger(conversation.id, epoch: heldEpoch)))
            self.tellings.append(
                .frame(
                    .connection(holder),
                    LiveStopped(conversation: conversation.id, content: before.content, reason: .takenOver)))
        }
        self.put(conversation)
        self.tellStream(of: conversation)
        self.tellings.append(.event(frame.connection, .holds(conversation.stream(at: self.time))))
        return .reply(
            LiveStarted(
                conversation: conversation.id, content: start.content, epoch: conversation.epoch,
                generation: conversation.generation, isResumed: isResumed,
                line: self.lastLine(of: .init(conversation: conversation.id, content: start.content)),
                listeners: conversation.roster))
    }

    /// Listeners who attend when a stream begins have joined it then.
    private func markJoined(_ conversation: inout LiveMachine) {
        for listener in conversation.attendances.keys {
            conversation.listeners[listener]?.joinedContent = conversation.stream?.content
            conversation.listeners[listener]?.joinedAt = self.time
        }
    }

    /// Streams cost something until they end, also when they are paused (contract §13b). A takeover, or a new
    /// stream in its place, frees one of the previous holder's.
    private func checkOpen(
        _ before: LiveMachine.Stream?, in conversation: LiveMachine, for caller: WhisperID
    ) throws(Refusal) {
        let changes = self.book.changes
        func open(_ known: Int?, _ isCounted: (LiveMachine) -> Bool) -> Int {
            changes.reduce(known ?? 0) { count, change in
                let (before, after) = (change.before.map(isCounted) ?? false, change.after.map(isCounted) ?? false)
                return count - (before ? 1 : 0) + (after ? 1 : 0)
            }
        }
        if before?.holder != caller {
            let own = open(self.facts.openOf[caller]) { $0.stream?.holder == caller }
            guard own < self.limits.streamsOfIdentityMax else {
                throw Refusal(.forbidden, "the caller has too many open streams")
            }
        }
        if before == nil {
            let all = open(self.facts.openIn[conversation.profile]) {
                $0.stream != nil && $0.profile == conversation.profile
            }
            guard all < self.limits.streamsOfProfileMax else {
                throw Refusal(.forbidden, "the profile has too many open streams")
            }
        }
    }

    /// As the tables say, with what this batch has changed.
    private func held(by connection: LiveConnection) -> Int {
        self.book.changes.reduce(self.facts.held[connection] ?? 0) { count, change in
            let (before, after) = (change.before?.stream?.connection, change.after?.stream?.connection)
            return count - (before == connection ? 1 : 0) + (after == connection ? 1 : 0)
        }
    }

    mutating func stop(_ stop: LiveStop, by caller: WhisperID, _ frame: LiveFrame) throws(Refusal) -> Answer {
        var conversation = try self.own(stop.conversation, for: caller)
        if conversation.stream?.content == stop.content {
            self.end(&conversation, because: .stopped, by: frame.connection)
            self.put(conversation)
        }
        return .reply(LiveStopped(conversation: conversation.id, content: stop.content, reason: .stopped))
    }

    /// The stream is over.
    /// - Parameter connection: of the device that has ended it, which has an answer of its own.
    mutating func end(_ conversation: inout LiveMachine, because ending: LiveEnding, by connection: LiveConnection?) {
        guard let stream = conversation.stream else { return }
        conversation.stream = nil
        conversation.usedAt = self.time
        if let holder = stream.connection {
            self.tellings.append(.event(holder, .holdsNoLonger(conversation.id, epoch: conversation.epoch)))
            if holder != connection {
                self.tellings.append(
                    .frame(
                        .connection(holder),
                        LiveStopped(conversation: conversation.id, content: stream.content, reason: .stopped)))
            }
        }
        self.tellStream(of: conversation, ending: ending, content: stream.content)
    }

    /// The device is not in the profile any more, or its session has ended: its stream is paused at once (contract §19.20).
    package mutating func removed(_ holder: WhisperID, from id: ConversationID) {
        guard var conversation = self.book[id], var stream = conversation.stream, stream.holder == holder,
            !stream.isPaused
        else { return }
        if let connection = stream.connection {
            self.tellings.append(.event(connection, .holdsNoLonger(id, epoch: conversation.epoch)))
            self.tellings.append(
                .frame(
                    .connection(connection),
                    LiveStopped(conversation: id, content: stream.content, reason: .removed)))
        }
        stream.phase = .paused
        stream.changedAt = self.time
        conversation.stream = stream
        self.put(conversation)
        self.tellStream(of: conversation)
    }

    // MARK: Listeners

    /// Devices that listened without a grant, and are not in the profile any more.
    mutating func removeDevices(from id: ConversationID) {
        guard var conversation = self.book[id] else { return }
        for (listener, attendance) in conversation.attendances where !attendance.isListed {
            if case .identity(let identity) = listener, self.isMember(identity, of: conversation.profile) { continue }
            conversation.attendances[listener] = nil
            self.tellings.append(.event(attendance.connection, .attendsNoLonger(id)))
            self.tellings.append(
                .frame(
                    .connection(attendance.connection),
                    LiveRefused(conversation: id, reason: .removed, timestamp: self.time, refusal: nil)))
        }
        if conversation != self.book[id] { self.put(conversation) }
    }

    mutating func join(_ join: LiveJoin, _ frame: LiveFrame) throws(Refusal) -> Answer {
        let listener = frame.principal.id
        guard var conversation = self.book[join.conversation] else { throw .noSuchConversation }
        let isDevice =
            if case .identity(let identity) = listener { self.isMember(identity, of: conversation.profile) } else {
                false
            }
        var row = conversation.listeners[listener]
        if !isDevice {
            guard let row else { throw .noSuchConversation }
            guard row.status == .admitted else { throw .notAdmitted }
            guard row.generation == conversation.generation else {
                return self.awaitKey(of: listener, row, in: conversation, frame)
            }
        }
        let attended = self.book.all.count { other in
            other.id != conversation.id && other.attendances.values.contains { $0.connection == frame.connection }
        }
        guard attended < LiveLimits.joinedPerConnectionMax else {
            throw Refusal(.forbidden, "the connection has joined too many conversations")
        }
        let before = conversation.attendances[listener]
        if let before, before.connection != frame.connection {
            self.tellings.append(.event(before.connection, .attendsNoLonger(conversation.id)))
        }
        conversation.attendances[listener] = .init(
            connection: frame.connection, isListed: !isDevice, placedAt: self.time)
        conversation.waitsNoLonger(listener)
        var since = self.time
        if row != nil {
            if row?.joinedContent != conversation.stream?.content || row?.joinedAt == nil {
                row?.joinedContent = conversation.stream?.content
                row?.joinedAt = self.time
            }
            since = row?.joinedAt ?? self.time
            row?.seenAt = self.time
            conversation.listeners[listener] = row
        }
        self.put(conversation)
        self.tellings.append(
            .event(
                frame.connection,
                .attends(
                    LiveAttendance(
                        stream: conversation.stream(at: self.time), since: since, after: join.after,
                        requestID: frame.requestID, isAnswer: true,
                        grant: isDevice ? nil : row.flatMap { conversation.admitted($0)?.grantJSON }))))
        if !isDevice, before == nil { self.tellHolder(of: listener, .joined, in: conversation) }
        return .done
    }

    /// Its grant is of older keys: it waits for the new one.
    private mutating func awaitKey(
        of listener: PrincipalID, _ row: LiveMachine.Listener, in conversation: LiveMachine, _ frame: LiveFrame
    ) -> Answer {
        var (conversation, row) = (conversation, row)
        row.expiresAt = self.time + LiveLimits.knockTTL
        conversation.listeners[listener] = row
        conversation.wait(listener, frame)
        conversation.knocksToldAt[listener] = self.time
        self.put(conversation)
        self.tellKnock(of: listener, row, in: conversation)
        return .reply(
            LiveWaiting(
                conversation: conversation.id, state: conversation.state,
                expiresAt: self.time + LiveLimits.knockTTL))
    }

    mutating func leave(_ leave: LiveLeave, _ frame: LiveFrame) -> Answer {
        let answer = Answer.reply(LiveLeft(leave.conversation))
        guard var conversation = self.book[leave.conversation] else { return answer }
        let listener = frame.principal.id
        let before = conversation
        conversation.waitsNoLonger(listener)
        let row = conversation.listeners[listener]
        if row?.status == .waiting || leave.forget && row?.status != .blocked { conversation.listeners[listener] = nil }
        let attendance = conversation.attendances.removeValue(forKey: listener)
        if let attendance { self.tellings.append(.event(attendance.connection, .attendsNoLonger(conversation.id))) }
        guard conversation != before else { return answer }
        self.put(conversation)
        if attendance?.isListed == true || row?.status == .waiting
            || row != nil && conversation.listeners[listener] == nil
        {
            self.tellHolder(of: listener, .left, in: conversation)
        }
        return answer
    }
}
