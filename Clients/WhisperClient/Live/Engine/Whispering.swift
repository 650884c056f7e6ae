package import Contract

/// A stream of ours, as long as its user whispers.
struct Whispering {
    var conversation: OwnConversation
    var machine: WhispererMachine
    var desk: AdmissionDesk
    /// The machine seals with nothing that the queue leaves behind.
    var grants: GrantQueue { didSet { self.machine.leaves(generationsBelow: self.grants.lowest) } }
    /// Of the stream while this connection holds it.
    var epoch: Int64?
    /// When the server was last asked who holds the stream, and whether its answer is still to come.
    var doubtedAt: ContinuousClock.Instant?
    var isDoubtful = false
    /// The server knows the conversation.
    var isCreated = false
    var isTranscribed: Bool
    /// How many listen, as the server counts.
    var joined = 0
    /// Listeners that are here now.
    var present: Set<PrincipalID> = []

    func name(_ listener: PrincipalID) -> String {
        self.desk[listener]?.name ?? self.desk.callers.first { $0.listener == listener }?.name ?? "\(listener)"
    }
}

/// What a user does who whispers.
extension WhisperClient {
    /// A new conversation, which is made at the server when it is whispered in.
    package func newConversation(
        name: String, title: String, whisperer: String, admission: Admission, passcode: String?, transcriptDays: Int
    ) throws(LiveError) -> OwnConversation {
        let taken = try self.kept { try $0.conversation(named: name) }
        guard taken == nil else { throw .nameTaken }
        let conversation = OwnConversation(
            keys: ConversationKeys(secret: SecretBytes(Sodium.random(LiveLimits.secretBytes))), name: name,
            title: title, whisperer: whisperer, admission: admission, passcode: passcode,
            transcriptDays: transcriptDays, linkSecret: SecretBytes(Sodium.random(LiveLimits.linkSecretBytes)),
            content: nil, lastLine: 0)
        try self.kept { try $0.add(conversation) }
        return conversation
    }

    package func conversation(named name: String) throws(ClientStoreError) -> OwnConversation? {
        try self.live.conversation(named: name)
    }

    /// Begins to whisper, now or when the server is there. A stream that was left without an end goes on.
    package func whisper(in conversation: OwnConversation) throws(LiveError) {
        let known = try self.kept { try $0.listeners(of: conversation.id) }
        let isResumed = conversation.content != nil
        let desk = AdmissionDesk(conversation, known: known)
        let grants = GrantQueue(newest: conversation.generation, lowest: desk.lowestGeneration)
        let machine = WhispererMachine(
            conversation: conversation.id, content: conversation.content ?? .random(),
            lastLine: isResumed ? conversation.lastLine : 0, lowestGeneration: grants.lowest)
        self.whispering[conversation.id] = Whispering(
            conversation: conversation, machine: machine, desk: desk, grants: grants,
            isTranscribed: conversation.transcriptDays > 0)
        try self.keepStream(of: conversation.id)
        if self.session.isBound { self.liveTasks?.yield(.start(conversation.id)) }
    }

    /// The line under the user's hands reads so now. Each line end in it completes a line.
    /// - Throws: `Full` if too much waits already; nothing was taken then.
    package func type(_ text: String, in id: ConversationID) throws(WhispererMachine.Full) {
        try self.whispering[id]?.machine.edited(to: text, at: .now)
        self.pump()
    }

    /// Whether everything that was typed is written to the connection.
    package func hasSentAll(of id: ConversationID) -> Bool {
        self.whispering[id]?.machine.isSettled ?? true
    }

    /// Ends the stream.
    package func stopWhispering(in id: ConversationID) async throws(LiveError) {
        guard let whispering = self.whispering.removeValue(forKey: id) else { return }
        // Without an answer the stream pauses, and can be taken up again.
        try await self.ask(LiveStop(id, content: whispering.machine.content))
        try self.kept { try $0.set(content: nil, lastLine: 0, of: id) }
    }

    // MARK: Listeners

    /// Who is at the door, in the order in which they came.
    package func callers(of id: ConversationID) -> [AdmissionDesk.Caller] { self.whispering[id]?.desk.callers ?? [] }

    /// Whether this device holds the stream, and somebody listens.
    package func isHeard(in id: ConversationID) -> Bool {
        guard let whispering = self.whispering[id], whispering.epoch != nil else { return false }
        return !whispering.present.isEmpty
    }

    /// Those who may listen, by name, and whether they do.
    package func listeners(of id: ConversationID) -> [(listener: KnownListener, isPresent: Bool)] {
        guard let whispering = self.whispering[id] else { return [] }
        return whispering.desk.allowed.sorted { ($0.name, "\($0.id)") < ($1.name, "\($1.id)") }
            .map { ($0, whispering.present.contains($0.id)) }
    }

    package func accept(_ listener: PrincipalID, in id: ConversationID) throws(LiveError) {
        guard let known = self.whispering[id]?.desk.accept(listener, at: self.serverNow) else { return }
        try self.kept { try $0.set(known, of: id) }
        self.admit(listener, in: id)
    }

    package func decline(_ listener: PrincipalID, in id: ConversationID) {
        guard let caller = self.whispering[id]?.desk.decline(listener) else { return }
        self.liveTasks?.yield(.refuse(id, caller, .declined))
    }

    /// Sends somebody away, who may knock again unless blocked. Everybody else gets new keys.
    package func remove(_ listener: PrincipalID, isBlocked: Bool, in id: ConversationID) throws(LiveError) {
        guard let generation = self.whispering[id]?.grants.offered,
            let known = self.whispering[id]?.desk.remove(
                listener, isBlocked: isBlocked, generation: generation, at: self.serverNow)
        else { return }
        // From here on no packet goes out under a key that the listener has had, whatever the server says and does.
        self.whispering[id]?.grants.removed(listener)
        self.whispering[id]?.grants.leaves(behind: known.generation)
        // Known before the server is: after a crash the keys are changed all the same.
        try self.kept { try $0.set(known, of: id) }
        let caller = AdmissionDesk.Caller(listener: listener, keys: known.keys, name: known.name, note: nil)
        self.liveTasks?.yield(.refuse(id, caller, isBlocked ? .blocked : .removed))
        self.liveTasks?.yield(.grant(id))
    }

    // MARK: Tasks

    private static let again = Backoff(first: .milliseconds(500), longest: .seconds(15))

    /// Takes the stream. Repeats it until the server has answered.
    func start(_ id: ConversationID) async {
        var failures = 0
        var mayBeginAnew = true
        while !Task.isCancelled, self.whispering[id] != nil {
            do throws(LiveError) {
                if self.whispering[id]?.isCreated == false { try await self.create(id) }
                guard let content = self.whispering[id]?.machine.content, self.token != nil else { return }
                try await self.ask(LiveStart(id, content: content))
                return
            } catch {
                switch error {
                case .refused(.forbidden, _) where mayBeginAnew:
                    // The stream has ended meanwhile. Another one begins.
                    mayBeginAnew = false
                    self.beginAnew(id)
                    continue
                case .refused(let code?, _) where Self.isFinal(code): return self.publish(.refused(code), of: id)
                case .store(let error): return self.storeFailed(error)
                default: break
                }
                failures += 1
                let wanted: Duration = if case .refused(_, let after?) = error { after } else { .zero }
                let pause = max(wanted, Self.again.delay(after: failures, using: &self.random))
                try? await Task.sleep(for: pause)
            }
        }
    }

    private static func isFinal(_ code: ErrorCode) -> Bool {
        switch code {
        case .rateLimited, .internalError, .notRegistered, .invalidTimestamp: false
        default: true
        }
    }

    private func beginAnew(_ id: ConversationID) {
        guard let lowest = self.whispering[id]?.machine.lowestGeneration else { return }
        self.whispering[id]?.machine = WhispererMachine(
            conversation: id, content: .random(), lowestGeneration: lowest)
        do {
            try self.keepStream(of: id)
        } catch {
            if case .store(let error) = error { self.storeFailed(error) }
        }
    }

    private func keepStream(of id: ConversationID) throws(LiveError) {
        guard let machine = self.whispering[id]?.machine else { return }
        try self.kept {
            try $0.set(content: machine.content, lastLine: machine.lastLine, of: id)
        }
    }

    /// Makes profile and conversation at the server. Doing it again changes nothing.
    private func create(_ id: ConversationID) async throws(LiveError) {
        guard let conversation = self.whispering[id]?.conversation, self.token != nil, let device = self.id else {
            throw .offline
        }
        _ = try await self.shareProfile()
        let profile = try self.kept { try $0.profile() }
        let info = LiveSigned(
            conversation.info.sealed(for: id, link: conversation.link, nonce: Sodium.random(LiveLimits.nonceBytes)),
            as: .create(profile: profile.id), of: id, from: .identity(device), timestamp: self.serverNow,
            signer: conversation.keys.pair)
        try await self.ask(
            LiveCreate(
                conversation.keys, link: conversation.link, profile: profile.id,
                transcriptDays: conversation.transcriptDays, info: info))
        self.whispering[id]?.isCreated = true
    }

    /// Sends grants until none is due.
    func sendGrants(of id: ConversationID) async {
        var failures = 0
        while !Task.isCancelled, let batch = self.whispering[id]?.grants.next() {
            do throws(LiveError) {
                let frame = try self.frame(of: batch, in: id)
                guard !frame.grants.isEmpty else {
                    self.whispering[id]?.grants.dropped()
                    continue
                }
                try self.keep(generation: batch.generation, of: id)
                try await self.ask(frame)
                failures = 0
            } catch {
                self.whispering[id]?.grants.failed()
                // With the next connection the roster says what was done.
                guard error != .offline else { return }
                failures += 1
                if failures >= ClientLimits.attemptsMax {
                    self.logger.warning("grants are not taken")
                    // Where nothing may be sealed before, only the next generation lets the text go on.
                    guard self.whispering[id]?.grants.blocksSealing == true else { return }
                    failures = ClientLimits.attemptsMax
                }
                // Another device may have taken the next generation: the roster says so.
                if case .refused(.forbidden, _) = error { _ = try? await self.ask(LiveRosterQuery(id)) }
                try? await Task.sleep(for: Self.again.delay(after: failures, using: &self.random))
            }
        }
    }

    /// A generation that was used or offered stays the least to be used, also after a crash.
    private func keep(generation: Int, of id: ConversationID) throws(LiveError) {
        guard let known = self.whispering[id]?.conversation.generation, generation > known else { return }
        try self.kept { try $0.set(generation: generation, of: id) }
        self.whispering[id]?.conversation.generation = generation
    }

    /// Listeners without keys of any use are left out. A generation begins without listeners by a grant to ourselves, which the
    /// server ignores. A generation that seals nothing any more is stepped over with a key that opens nothing.
    private func frame(of batch: GrantQueue.Batch, in id: ConversationID) throws(LiveError) -> LiveGrant {
        guard let whispering = self.whispering[id], self.token != nil, let device = self.id else { throw .offline }
        let now = self.serverNow
        let conversation = whispering.conversation.keys
        let key =
            batch.generation < whispering.grants.lowest
            ? ContentKey(generation: batch.generation, key: SecretBytes(Sodium.random(LiveLimits.secretBytes)))
            : conversation.contentKey(generation: batch.generation)
        var readers = batch.listeners.compactMap { listener -> (id: PrincipalID, keys: PublicKeys)? in
            guard let known = whispering.desk[listener], known.verdict == .allowed else { return nil }
            return (listener, known.keys)
        }
        if batch.listeners.isEmpty { readers = [(.identity(device), self.keys.publicKeys)] }
        let grants = readers.compactMap { reader in
            (try? conversation.grant(key, to: reader.id, keys: reader.keys, from: device, at: now))
                .map { LiveGrant.Grant(to: reader.id, $0) }
        }
        return LiveGrant(
            id, from: .identity(device), generation: batch.generation, timestamp: now, grants: grants)
    }

    func refuse(_ caller: AdmissionDesk.Caller, _ reason: LiveRefuse.Reason, in id: ConversationID) async {
        var failures = 0
        while !Task.isCancelled, let keys = self.whispering[id]?.conversation.keys, let device = self.id {
            do {
                let refusal = try keys.refusal(
                    note: nil, to: caller.listener, keys: caller.keys, from: device, at: self.serverNow)
                try await self.ask(LiveRefuse(id, to: caller.listener, reason: reason, refusal: refusal))
                return
            } catch {
                var pause = Duration.zero
                switch error as? LiveError {
                // Who has gone needs no answer.
                case .refused(let code, let after):
                    guard let code, !Self.isFinal(code) else { return }
                    pause = after ?? .zero
                case .noAnswer: break
                default: return
                }
                failures += 1
                guard failures < ClientLimits.attemptsMax else { return }
                try? await Task.sleep(for: max(pause, Self.again.delay(after: failures, using: &self.random)))
            }
        }
    }

    // MARK: Who holds the stream

    /// A packet was refused because this connection does not hold the stream. What the server said of that was lost, or the
    /// stream was paused. It is asked, though not again and again.
    func doubtHolding(of id: ConversationID) {
        guard let whispering = self.whispering[id], whispering.epoch != nil, !whispering.isDoubtful,
            whispering.doubtedAt.map({ $0 + LiveLimits.holderAskedEvery <= .now }) ?? true
        else { return }
        self.whispering[id]?.doubtedAt = .now
        self.whispering[id]?.isDoubtful = true
        self.liveTasks?.yield(.findHolder(id))
    }

    func findHolder(of id: ConversationID) async {
        // Without an answer the next refusal asks.
        _ = try? await self.ask(LiveRosterQuery(id))
        self.whispering[id]?.isDoubtful = false
    }

    /// What to do about a stream whose packets are refused.
    private func settleDoubt(of id: ConversationID, by roster: LiveRoster) {
        guard let whispering = self.whispering[id], whispering.isDoubtful, let epoch = whispering.epoch else { return }
        self.whispering[id]?.isDoubtful = false
        // Where nobody else holds it, this device takes it up again: its epoch may be an older one of its own.
        guard let holder = roster.holder, holder != self.id, roster.epoch > epoch else {
            self.whispering[id]?.machine.stopped()
            self.whispering[id]?.epoch = nil
            self.liveTasks?.yield(.start(id))
            return
        }
        self.whispering[id]?.machine.stopped()
        self.whispering[id]?.epoch = nil
        self.publish(.stopped(.takenOver), of: id)
    }

    // MARK: What the server says

    func take(_ conversation: LiveConversation) {
        self.whispering[conversation.conversation]?.isTranscribed = conversation.transcriptDays > 0
    }

    func take(_ started: LiveStarted) {
        let id = started.conversation
        guard let whispering = self.whispering[id], whispering.machine.content == started.content else { return }
        self.whispering[id]?.epoch = started.epoch
        let start = WhispererMachine.Start(
            epoch: started.epoch, generation: started.generation, line: started.line,
            isTranscribed: whispering.isTranscribed)
        self.whispering[id]?.machine.started(start, at: .now)
        if !started.isResumed { self.whispering[id]?.desk.streamBegan() }
        self.learn(started.listeners, generation: started.generation, of: id)
        self.publish(.started(isResumed: started.isResumed), of: id)
    }

    func take(_ roster: LiveRoster) {
        self.settleDoubt(of: roster.conversation, by: roster)
        self.learn(roster.listeners, generation: roster.generation, of: roster.conversation)
    }

    private func learn(_ listeners: [LiveListener], generation: Int, of id: ConversationID) {
        guard let desk = self.whispering[id]?.desk else { return }
        let admitted = listeners.filter { $0.status == .admitted || $0.status == .joined }
        let present = listeners.filter { $0.status == .joined }.map(\.listener)
        self.whispering[id]?.present = Set(present)
        self.whispering[id]?.joined = present.count
        self.whispering[id]?.grants.learned(
            generation: generation,
            members: Dictionary(
                admitted.filter { desk[$0.listener]?.verdict == .allowed }.map { ($0.listener, $0.generation) },
                uniquingKeysWith: max))
        // Another device may have granted it.
        self.whispering[id]?.machine.generationChanged(to: generation)
        self.liveTasks?.yield(.grant(id))
        // A removal that the server has not heard of.
        for listener in admitted {
            guard let known = desk[listener.listener], known.verdict != .allowed else { continue }
            let caller = AdmissionDesk.Caller(listener: known.id, keys: known.keys, name: known.name, note: nil)
            let reason: LiveRefuse.Reason = known.verdict == .blocked ? .blocked : .removed
            self.liveTasks?.yield(.refuse(id, caller, reason))
        }
        for listener in listeners where listener.status == .waiting {
            self.take(
                AdmissionDesk.Knock(
                    listener: listener.listener,
                    keys: PublicKeys(sign: listener.signPublicKey, box: listener.encPublicKey), sealed: listener.knock),
                in: id)
        }
    }

    func take(_ knock: AdmissionDesk.Knock, in id: ConversationID) {
        guard let decision = self.whispering[id]?.desk.knocked(knock) else { return }
        let listener = knock.listener
        switch decision {
        case .grant:
            if let known = self.whispering[id]?.desk[listener] {
                do throws(LiveError) {
                    try self.kept { try $0.set(known, of: id) }
                } catch {
                    if case .store(let error) = error { self.storeFailed(error) }
                    return
                }
            }
            self.admit(listener, in: id)
        case .ask(let caller): self.publish(.asks(listener, name: caller.name, note: caller.note), of: id)
        case .refuse(let reason):
            let caller = AdmissionDesk.Caller(listener: listener, keys: knock.keys, name: "\(listener)", note: nil)
            self.liveTasks?.yield(.refuse(id, caller, reason))
        case .ignore: self.logger.debug("a knock was ignored")
        }
    }

    private func admit(_ listener: PrincipalID, in id: ConversationID) {
        if self.whispering[id]?.grants.admit(listener) == true {
            self.whispering[id]?.machine.admits(listener, at: self.serverNow)
        }
        self.liveTasks?.yield(.grant(id))
    }

    func take(_ granted: LiveGranted) {
        let id = granted.conversation
        guard let generation = self.whispering[id]?.grants.answered(granted: granted.granted) else { return }
        let before = self.whispering[id]?.machine.generation
        self.whispering[id]?.machine.generationChanged(to: generation)
        if before != self.whispering[id]?.machine.generation {
            self.publish(.keysChanged(generation: generation), of: id)
        }
    }

    func take(_ changed: LiveListenerChanged) {
        let (id, listener) = (changed.conversation, changed.listener)
        guard let whispering = self.whispering[id] else { return }
        let name = whispering.name(listener)
        self.whispering[id]?.joined = changed.joined
        switch changed.status {
        case .joined: self.whispering[id]?.present.insert(listener)
        case .left:
            self.whispering[id]?.present.remove(listener)
            self.whispering[id]?.desk.forget(listener)
            self.whispering[id]?.machine.dismisses(listener)
        case .refused, .blocked:
            self.whispering[id]?.present.remove(listener)
            self.whispering[id]?.machine.dismisses(listener)
            self.whispering[id]?.grants.removed(listener)
            if whispering.desk[listener]?.verdict == .allowed {
                // By another device of ours. Whether the server counts the listener or not, it may have the newest key.
                self.whispering[id]?.grants.leaves(behind: whispering.grants.offered)
            }
            self.liveTasks?.yield(.grant(id))
        // By whichever device.
        case .admitted: self.whispering[id]?.machine.admits(listener, at: changed.timestamp)
        case .waiting: break
        }
        self.publish(.listener(listener, name: name, changed.status, joined: changed.joined), of: id)
    }

    func take(_ wanted: LiveWanted) {
        guard self.whispering[wanted.conversation]?.epoch == wanted.epoch else { return }
        let want: WhispererMachine.Want =
            switch wanted.want {
            case .snapshot: .snapshot
            case .lines(let listener, let from, let since): .lines(for: listener, from: from, since: since)
            }
        self.whispering[wanted.conversation]?.machine.wanted(want, at: .now)
    }

    func take(_ stopped: LiveStopped) {
        let id = stopped.conversation
        guard self.whispering[id]?.machine.content == stopped.content else { return }
        self.whispering[id]?.machine.stopped()
        self.whispering[id]?.epoch = nil
        self.publish(.stopped(stopped.reason), of: id)
    }

    func take(_ attention: LiveAttention) {
        guard let whispering = self.whispering[attention.conversation] else { return }
        let name = whispering.name(attention.listener)
        self.publish(.attention(attention.listener, name: name, attention.want), of: attention.conversation)
    }

    // MARK: Packets

    func pumpPackets(of id: ConversationID) {
        guard let before = self.whispering[id]?.machine.lastLine,
            let packets = self.whispering[id]?.machine.due(at: .now, serverTime: self.serverNow), !packets.isEmpty,
            let whispering = self.whispering[id]
        else { return }
        do {
            if whispering.machine.lastLine != before { try self.keepStream(of: id) }
            try self.keep(generation: whispering.machine.lowestGeneration, of: id)
        } catch {
            if case .store(let error) = error { self.storeFailed(error) }
            return
        }
        for packet in packets {
            let sealed = whispering.conversation.keys.seal(
                packet, content: whispering.machine.content, nonce: Sodium.random(LiveLimits.nonceBytes))
            self.write(SendLivePacket(packet.header, sealed), .packet(id, packet.header.position))
        }
        if whispering.machine.wantsNextGeneration {
            self.whispering[id]?.grants.rotate()
            self.liveTasks?.yield(.grant(id))
        }
    }
}
