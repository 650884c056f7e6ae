import Contract

@testable import WhisperClient

/// The state of a conversation that the devices of one profile share: its keys, and its admissions.
final class SharedConversation {
    let own: OwnConversation
    var desk: AdmissionDesk
    let profile: UUIDText
    var isCreated = false

    /// - Parameter number: conversations of different numbers have different keys.
    init(_ number: UInt8, profile: UUIDText, transcriptDays: Int) {
        self.profile = profile
        self.own = OwnConversation(
            keys: ConversationKeys(secret: SecretBytes([UInt8](repeating: number + 201, count: 32))), name: "c",
            title: "Lesson", whisperer: "W", admission: .link, passcode: nil, transcriptDays: transcriptDays,
            linkSecret: SecretBytes([UInt8](repeating: number + 202, count: 16)), content: nil, lastLine: 0)
        self.desk = AdmissionDesk(self.own, known: [])
    }

    var id: ConversationID { self.own.id }
}

/// A device that whispers: the client core's machines, driven like in the client core's engine (`OwnStreams.swift`).
final class WhispererDevice: LiveDevice {
    let conversation: SharedConversation
    /// The user whispers on this device.
    private(set) var isActive = false
    private(set) var typing: WhispererMachine
    private var grants = GrantQueue() { didSet { self.typing.leaves(generationsBelow: self.grants.lowest) } }
    private(set) var epoch: Int64?
    private var isStarting = false
    private var isGranting = false
    /// When the server was last asked for the stream's holder, and whether its answer is pending.
    private var doubtedAt: ContinuousClock.Instant?
    private var isDoubtful = false
    /// Listeners whose removal waits for an answer.
    private var refusing: Set<PrincipalID> = []

    init(_ person: Identities.Person, of conversation: SharedConversation, in world: World) {
        self.conversation = conversation
        self.typing = WhispererMachine(conversation: conversation.id, content: .random())
        super.init(person, in: world)
    }

    private var record: LiveRecord { self.world.scene!.record }

    /// Whether the device may send, as far as it knows.
    var isHolding: Bool { self.typing.generation != nil }
    var isSettled: Bool { !self.isActive || (self.isHolding && self.typing.isSettled && !self.hasOpenQuestions) }

    // MARK: What its user does

    func activate() {
        guard !self.isActive else { return }
        self.world.trace("\(self.person.name) whispers")
        self.isActive = true
        self.beginAnew()
        if self.isOnline { self.start() }
    }

    /// Without a stop: the stream pauses if no other device takes it.
    func deactivate() {
        self.isActive = false
        self.typing.stopped()
        self.epoch = nil
    }

    /// The app dies, and loses its memory of the stream.
    func loseMemory() {
        self.world.trace("\(self.person.name) loses its memory")
        self.beginAnew()
        self.hangUp(rest: .milliseconds(300))
    }

    func type(_ text: String) {
        guard self.isActive else { return }
        // If too much waits already, the user sees it and tries again.
        try? self.typing.edited(to: text, at: .now)
        self.moveOn()
    }

    func interject(_ text: String) {
        guard self.isActive else { return }
        try? self.typing.interject(text)
        self.moveOn()
    }

    func play(_ cue: LiveCue, to listener: PrincipalID?) {
        guard self.isActive else { return }
        try? self.typing.play(cue, to: listener)
        self.moveOn()
    }

    /// - Returns: whether an admitted listener was removed.
    @discardableResult
    func remove(_ listener: PrincipalID) -> Bool {
        guard self.isActive, self.isHolding, self.conversation.desk[listener]?.verdict == .allowed,
            let known = self.conversation.desk.remove(
                listener, isBlocked: false, generation: self.grants.offered, at: .now)
        else { return false }
        self.world.trace("\(self.person.name) removes \(listener)")
        self.grants.removed(listener)
        self.grants.leaves(behind: known.generation)
        self.refuse(known.id, known.keys, .removed)
        self.sendGrants()
        return true
    }

    private func beginAnew() {
        self.typing = WhispererMachine(
            conversation: self.conversation.id, content: .random(), lowestGeneration: self.grants.lowest)
        self.epoch = nil
    }

    // MARK: Asking

    override func bound() {
        self.typing.stopped()
        self.epoch = nil
        (self.isStarting, self.isGranting, self.isDoubtful, self.refusing) = (false, false, false, [])
        if self.isActive { self.start() }
    }

    override func disconnected() {
        self.typing.stopped()
        self.epoch = nil
        (self.isStarting, self.isGranting, self.isDoubtful, self.refusing) = (false, false, false, [])
    }

    private func start() {
        guard self.isActive, self.isOnline, !self.isStarting else { return }
        self.isStarting = true
        guard self.conversation.isCreated else { return self.create() }
        let content = self.typing.content
        self.ask(LiveStart(self.conversation.id, content: content)) { [unowned self] answer in
            self.isStarting = false
            guard case .refused(let code, let pause) = answer else { return }
            switch code {
            // The stream has ended meanwhile: begin a new one.
            case .forbidden where self.typing.content == content:
                self.beginAnew()
                self.start()
            case .forbidden: self.start()
            case .internalError, .rateLimited: self.after(max(pause, Self.again)) { [unowned self] in self.start() }
            default: self.world.record.fault("\(self.person.name) cannot hold its stream: \(code.rawValue)")
            }
        }
    }

    private func create() {
        let own = self.conversation.own
        let info = LiveSigned(
            own.info.sealed(for: own.id, link: own.link, nonce: Sodium.random(LiveLimits.nonceBytes)),
            as: .create(profile: self.conversation.profile), of: own.id, from: self.id, timestamp: .now,
            signer: own.keys.pair)
        let frame = LiveCreate(
            own.keys, link: own.link, profile: self.conversation.profile, transcriptDays: own.transcriptDays, info: info
        )
        self.ask(frame) { [unowned self] answer in
            self.isStarting = false
            switch answer {
            case .frame:
                self.conversation.isCreated = true
                self.start()
            case .refused(.internalError, let pause), .refused(.rateLimited, let pause):
                self.after(max(pause, Self.again)) { [unowned self] in self.start() }
            case .refused(let code, _): self.world.record.fault("no conversation is made: \(code.rawValue)")
            case .lost: break
            }
        }
    }

    private func sendGrants() {
        guard self.isOnline, !self.isGranting, let batch = self.grants.next() else { return }
        let now = Timestamp.now
        let keys = self.conversation.own.keys
        var readers = batch.listeners.compactMap { listener -> (id: PrincipalID, keys: PublicKeys)? in
            guard let known = self.conversation.desk[listener], known.verdict == .allowed else { return nil }
            return (listener, known.keys)
        }
        if batch.listeners.isEmpty { readers = [(self.id, self.pair.publicKeys)] }
        let listeners = readers.compactMap { reader in
            (try? keys.grant(
                keys.contentKey(generation: batch.generation), to: reader.id, keys: reader.keys,
                from: self.person.identity, at: now)).map { LiveGrant.Grant(to: reader.id, $0) }
        }
        guard !listeners.isEmpty else {
            self.grants.dropped()
            return self.sendGrants()
        }
        for listener in batch.listeners { self.record.lets(listener, into: self.conversation.id) }
        self.isGranting = true
        let frame = LiveGrant(
            self.conversation.id, from: self.id, generation: batch.generation, timestamp: now, grants: listeners)
        self.ask(frame) { [unowned self] answer in
            self.isGranting = false
            switch answer {
            case .frame: self.sendGrants()
            case .lost: self.grants.failed()
            case .refused(let code, let pause):
                self.grants.failed()
                // Another device may have begun the next generation: the roster shows it.
                if code == .forbidden { self.ask(LiveRosterQuery(self.conversation.id)) { _ in } }
                self.after(max(pause, Self.again)) { [unowned self] in self.sendGrants() }
            }
        }
    }

    private func refuse(_ listener: PrincipalID, _ keys: PublicKeys, _ reason: LiveRefuse.Reason) {
        guard self.isOnline, !self.refusing.contains(listener),
            let refusal = try? self.conversation.own.keys.refusal(
                note: nil, to: listener, keys: keys, from: self.person.identity, at: .now)
        else { return }
        self.refusing.insert(listener)
        let frame = LiveRefuse(self.conversation.id, to: listener, reason: reason, refusal: refusal)
        self.ask(frame) { [unowned self] answer in
            self.refusing.remove(listener)
            switch answer {
            case .frame: self.record.removed(listener, from: self.conversation.id)
            case .refused(.internalError, let pause), .refused(.rateLimited, let pause):
                self.after(max(pause, Self.again)) { [unowned self] in
                    // The listener may have been admitted again.
                    guard self.conversation.desk[listener]?.verdict != .allowed else { return }
                    self.refuse(listener, keys, reason)
                }
            // A listener that has left needs no answer.
            case .refused, .lost: break
            }
        }
    }

    // MARK: Hearing

    override func take(_ frame: any ServerFrame) {
        switch frame {
        case let started as LiveStarted: self.take(started)
        case let roster as LiveRoster:
            self.settleDoubt(by: roster)
            self.learn(roster.listeners, generation: roster.generation)
        case let knocked as LiveKnocked:
            self.knocked(knocked.listener, knocked.signPublicKey, knocked.encPublicKey, knocked.knock)
        case let granted as LiveGranted:
            self.record.granted(granted)
            if let generation = self.grants.answered(granted: granted.granted) {
                self.typing.generationChanged(to: generation)
            }
        case let changed as LiveListenerChanged:
            switch changed.status {
            case .left:
                self.conversation.desk.forget(changed.listener)
                self.typing.dismisses(changed.listener)
            case .refused, .blocked:
                self.typing.dismisses(changed.listener)
                self.grants.removed(changed.listener)
                self.sendGrants()
            case .admitted:
                self.world.trace("\(self.person.name) hears that a listener was let in")
                self.typing.admits(changed.listener, at: changed.timestamp)
            case .joined, .waiting: break
            }
        case let wanted as LiveWanted where wanted.epoch == self.epoch:
            switch wanted.want {
            case .snapshot: self.typing.wanted(.snapshot, at: .now)
            case .lines(let listener, let from, let since):
                self.world.trace("\(self.person.name) is asked for lines from \(from), of since \(since.milliseconds)")
                self.typing.wanted(.lines(for: listener, from: from, since: since), at: .now)
            }
        case let stored as LiveLineStored where stored.content == self.typing.content:
            self.record.stored(stored)
            self.typing.stored(stored.told)
        case let stopped as LiveStopped where stopped.content == self.typing.content:
            self.world.trace("\(self.person.name) holds no longer: \(stopped.reason)")
            self.typing.stopped()
            self.epoch = nil
            if stopped.reason == .takenOver { self.isActive = false }
        default: break
        }
    }

    private func take(_ started: LiveStarted) {
        self.record.started(started)
        guard self.isActive, self.typing.content == started.content else { return }
        self.world.trace("\(self.person.name) holds epoch \(started.epoch)")
        self.epoch = started.epoch
        self.typing.started(
            WhispererMachine.Start(
                epoch: started.epoch, generation: started.generation, line: started.line,
                isTranscribed: self.conversation.own.transcriptDays > 0), at: .now)
        self.learn(started.listeners, generation: started.generation)
    }

    private func learn(_ listeners: [LiveListener], generation: Int) {
        let desk = self.conversation.desk
        let admitted = listeners.filter { $0.status == .admitted || $0.status == .joined }
        self.grants.learned(
            generation: generation,
            members: Dictionary(
                admitted.filter { desk[$0.listener]?.verdict == .allowed }.map { ($0.listener, $0.generation) },
                uniquingKeysWith: max))
        self.grants.leaves(behind: desk.lowestGeneration - 1)
        self.typing.generationChanged(to: generation)
        // Repeat removals that the server has not received.
        for listener in admitted {
            guard let known = desk[listener.listener], known.verdict != .allowed else { continue }
            self.refuse(known.id, known.keys, known.verdict == .blocked ? .blocked : .removed)
        }
        for listener in listeners where listener.status == .waiting {
            self.knocked(listener.listener, listener.signPublicKey, listener.encPublicKey, listener.knock)
        }
        self.sendGrants()
    }

    private func knocked(_ listener: PrincipalID, _ sign: Bytes32, _ box: Bytes32, _ sealed: LiveSealedKnock?) {
        let keys = PublicKeys(sign: sign, box: box)
        switch self.conversation.desk.knocked(.init(listener: listener, keys: keys, sealed: sealed)) {
        case .grant:
            if self.grants.admit(listener) { self.typing.admits(listener, at: .now) }
            self.sendGrants()
        case .refuse(let reason): self.refuse(listener, keys, reason)
        case .ask, .ignore: break
        }
    }

    // MARK: Packets

    override func refused(_ request: String, _ code: ErrorCode, retryAfter: Duration?) {
        let words = request.split(separator: "-").compactMap { Int64($0) }
        guard words.count == 2, words[0] == self.epoch else { return }
        self.typing.refused(seq: words[1], retryAfter: retryAfter, at: .now)
        guard code == .forbidden, !self.isDoubtful,
            self.doubtedAt.map({ $0 + LiveLimits.holderAskedEvery <= .now }) ?? true
        else { return }
        self.doubtedAt = .now
        self.isDoubtful = true
        self.ask(LiveRosterQuery(self.conversation.id)) { [unowned self] _ in self.isDoubtful = false }
    }

    private func settleDoubt(by roster: LiveRoster) {
        guard self.isDoubtful, let epoch else { return }
        self.isDoubtful = false
        self.typing.stopped()
        self.epoch = nil
        if let holder = roster.holder, holder != self.person.identity, roster.epoch > epoch {
            self.world.trace("\(self.person.name) finds that it holds no longer")
            self.isActive = false
        } else {
            self.start()
        }
    }

    override func pump() -> ContinuousClock.Instant? {
        guard self.isActive else { return nil }
        for packet in self.typing.due(at: .now, serverTime: .now) {
            self.record.says(packet, in: self.typing.content, text: self.typing.text)
            let sealed = self.conversation.own.keys.seal(
                packet, content: self.typing.content, nonce: Sodium.random(LiveLimits.nonceBytes))
            self.write(
                SendLivePacket(packet.header, sealed),
                request: "\(packet.header.position.epoch)-\(packet.header.position.seq)")
        }
        return self.typing.nextWake(at: .now)
    }
}
