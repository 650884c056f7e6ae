package import Contract
import Logging

/// Our stream, while the user whispers.
private struct Whispering {
    var conversation: OwnConversation
    var machine: WhispererMachine
    var desk: AdmissionDesk
    /// The machine must not seal with a generation that the queue leaves behind.
    var grants: GrantQueue { didSet { self.machine.leaves(generationsBelow: self.grants.lowest) } }
    /// The stream's epoch while this connection holds it.
    var epoch: Int64?
    /// When the server was last asked for the stream's holder, and whether its answer is pending.
    var doubtedAt: ContinuousClock.Instant?
    var isDoubtful = false
    /// The server knows the conversation.
    var isCreated = false
    var isTranscribed: Bool
    /// The server's count of present listeners.
    var joined = 0
    /// Listeners that are present now.
    var present: Set<PrincipalID> = []
    /// Why this device does not hold the stream, if it does not try to.
    var end: LiveView.State?

    var view: LiveView {
        LiveView(
            state: self.epoch != nil ? .held : self.end ?? .starting, content: self.machine.content,
            isTranscribed: self.isTranscribed, text: self.machine.text, lines: self.machine.lines,
            waiting: self.machine.waitingLines)
    }

    func name(_ listener: PrincipalID) -> String {
        self.desk[listener]?.name ?? self.desk.callers.first { $0.listener == listener }?.name ?? "\(listener)"
    }
}

/// The streams of our own conversations, while the user whispers: the commands of a whisperer, and what the server
/// reports (contract §14.8, §14.9).
package final class OwnStreams {
    private let keys: IdentityKeys
    private let store: LiveStore
    private let logger: Logger
    private var whispering: [ConversationID: Whispering] = [:]
    private var random = SystemRandomNumberGenerator()

    init(keys: IdentityKeys, store: LiveStore, logger: Logger) {
        self.keys = keys
        self.store = store
        self.logger = logger
    }

    /// Begins to whisper, now or once the connection is bound. A stream that was not ended is resumed.
    package func whisper(in conversation: OwnConversation, _ host: isolated some LiveHost) throws(LiveError) {
        let known = try self.store.kept { store in
            try store.use(conversation.id, at: host.serverNow)
            return try store.listeners(of: conversation.id)
        }
        host.profileKeeper.changed(host)
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
        if host.isOnline { host.begin { await $0.streams.start(conversation.id, $0) } }
    }

    /// The user has edited the unfinished line. Each line end in it completes a line.
    /// - Throws: `Full` if too much waits already; then no input was accepted.
    package func type(
        _ text: String, in id: ConversationID, _ host: isolated some LiveHost
    ) throws(WhispererMachine.Full) {
        try self.whispering[id]?.machine.edited(to: text, at: .now)
        host.pump()
    }

    /// Whether all typed text is written to the connection.
    package func hasSentAll(of id: ConversationID) -> Bool {
        self.whispering[id]?.machine.isSettled ?? true
    }

    /// Ends the stream.
    package func stop(in id: ConversationID, _ host: isolated some LiveHost) async throws(LiveError) {
        guard let whispering = self.whispering.removeValue(forKey: id) else { return }
        // Without an answer the stream pauses, and can be resumed.
        try await host.ask(LiveStop(id, content: whispering.machine.content))
        try self.store.kept { try $0.set(content: nil, lastLine: 0, of: id) }
    }

    package func isWhispering(in id: ConversationID) -> Bool { self.whispering[id] != nil }

    /// - Returns: `nil` if the user does not whisper there.
    package func view(of id: ConversationID) -> LiveView? { self.whispering[id]?.view }

    /// Returns when all typed text is written to the connection, or the time is over.
    package func lastWords(in id: ConversationID, within most: Duration, _ host: isolated some LiveHost) async {
        let deadline = ContinuousClock.now + most
        while !self.hasSentAll(of: id), ContinuousClock.now < deadline {
            do { try await Task.sleep(for: Self.patience) } catch { return }
        }
    }

    /// The interval between two checks whether everything was sent.
    private static var patience: Duration { .milliseconds(20) }

    /// Sends completed lines in between. The unfinished line stays.
    /// - Throws: `Full` if too much waits already; then no input was accepted.
    package func interject(
        _ text: String, in id: ConversationID, _ host: isolated some LiveHost
    ) throws(WhispererMachine.Full) {
        try self.whispering[id]?.machine.interject(text)
        host.pump()
    }

    /// - Parameter listener: the receiver of the cue; `nil`: all listeners.
    /// - Throws: `Full` if too much waits already; then no input was accepted.
    package func play(
        _ cue: LiveCue, to listener: PrincipalID?, in id: ConversationID, _ host: isolated some LiveHost
    ) throws(WhispererMachine.Full) {
        try self.whispering[id]?.machine.play(cue, to: listener)
        host.pump()
    }

    // MARK: Listeners

    /// Knocking listeners that wait for a decision, in the order of arrival.
    package func callers(of id: ConversationID) -> [AdmissionDesk.Caller] { self.whispering[id]?.desk.callers ?? [] }

    /// Whether this device holds the stream, and a listener is present.
    package func isHeard(in id: ConversationID) -> Bool {
        guard let whispering = self.whispering[id], whispering.epoch != nil else { return false }
        return !whispering.present.isEmpty
    }

    /// Admitted listeners by name, and whether each is present.
    package func listeners(of id: ConversationID) -> [(listener: KnownListener, isPresent: Bool)] {
        guard let whispering = self.whispering[id] else { return [] }
        return whispering.desk.allowed.sorted { ($0.name, "\($0.id)") < ($1.name, "\($1.id)") }
            .map { ($0, whispering.present.contains($0.id)) }
    }

    package func accept(
        _ listener: PrincipalID, in id: ConversationID, _ host: isolated some LiveHost
    ) throws(LiveError) {
        guard let known = self.whispering[id]?.desk.accept(listener, at: host.serverNow) else { return }
        try self.store.kept { try $0.set(known, of: id, at: host.serverNow) }
        host.profileKeeper.changed(host)
        self.admit(listener, in: id, host)
    }

    package func decline(_ listener: PrincipalID, in id: ConversationID, _ host: isolated some LiveHost) {
        guard let caller = self.whispering[id]?.desk.decline(listener) else { return }
        host.begin { await $0.streams.refuse(caller, .declined, in: id, $0) }
    }

    /// Removes a listener, which may knock again unless blocked. All other listeners get new keys.
    package func remove(
        _ listener: PrincipalID, isBlocked: Bool, in id: ConversationID, _ host: isolated some LiveHost
    ) throws(LiveError) {
        guard let generation = self.whispering[id]?.grants.offered,
            let known = self.whispering[id]?.desk.remove(
                listener, isBlocked: isBlocked, generation: generation, at: host.serverNow)
        else { return }
        // From now on no packet is sealed with a key that the listener had, whatever the server sends.
        self.whispering[id]?.grants.removed(listener)
        self.whispering[id]?.grants.leaves(behind: known.generation)
        // Stored before the server is told: the keys are changed even after a crash.
        try self.store.kept { try $0.set(known, of: id, at: host.serverNow) }
        host.profileKeeper.changed(host)
        let caller = AdmissionDesk.Caller(listener: listener, keys: known.keys, name: known.name, note: nil)
        host.begin { await $0.streams.refuse(caller, isBlocked ? .blocked : .removed, in: id, $0) }
        host.begin { await $0.streams.sendGrants(of: id, $0) }
    }

    /// The person has changed a conversation, here or on another device.
    func follow(_ conversation: OwnConversation) { self.whispering[conversation.id]?.desk.follow(conversation) }

    /// Another of our devices has decided about listeners.
    func learn(_ decisions: [KnownListener], of id: ConversationID, _ host: isolated some LiveHost) {
        guard let news = self.whispering[id]?.desk.learn(decisions) else { return }
        for listener in news.admitted { self.admit(listener, in: id, host) }
        for listener in news.left {
            self.whispering[id]?.machine.dismisses(listener.id)
            self.whispering[id]?.grants.removed(listener.id)
            self.whispering[id]?.grants.leaves(behind: listener.generation)
        }
        host.begin { await $0.streams.sendGrants(of: id, $0) }
    }

    var isWhispering: Bool { !self.whispering.isEmpty }

    // MARK: Tasks

    private static let again = Backoff(first: .milliseconds(500), longest: .seconds(15))

    /// Takes the stream. Retries until the server has answered.
    func start(_ id: ConversationID, _ host: isolated some LiveHost) async {
        var failures = 0
        var mayBeginAnew = true
        while !Task.isCancelled, self.whispering[id] != nil {
            do throws(LiveError) {
                if self.whispering[id]?.isCreated == false { try await self.create(id, host) }
                guard let content = self.whispering[id]?.machine.content, host.token != nil else { return }
                try await host.ask(LiveStart(id, content: content))
                return
            } catch {
                switch error {
                case .refused(.forbidden, _) where mayBeginAnew:
                    // The stream has ended meanwhile: begin a new one.
                    mayBeginAnew = false
                    self.beginAnew(id, host)
                    continue
                case .refused(let code?, _) where Self.isFinal(code):
                    self.whispering[id]?.end = .failed(code)
                    return host.publish(.refused(code), of: id)
                case .store(let error): return host.storeFailed(error)
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

    private func beginAnew(_ id: ConversationID, _ host: isolated some LiveHost) {
        guard let lowest = self.whispering[id]?.machine.lowestGeneration else { return }
        self.whispering[id]?.machine = WhispererMachine(
            conversation: id, content: .random(), lowestGeneration: lowest)
        do {
            try self.keepStream(of: id)
        } catch {
            if case .store(let error) = error { host.storeFailed(error) }
        }
    }

    private func keepStream(of id: ConversationID) throws(LiveError) {
        guard let machine = self.whispering[id]?.machine else { return }
        try self.store.kept {
            try $0.set(content: machine.content, lastLine: machine.lastLine, of: id)
        }
    }

    /// Creates profile and conversation at the server. A repetition changes nothing.
    private func create(_ id: ConversationID, _ host: isolated some LiveHost) async throws(LiveError) {
        guard let conversation = self.whispering[id]?.conversation, host.token != nil, let device = host.id else {
            throw .offline
        }
        _ = try await host.liveProfile.share(host)
        let profile = try self.store.kept { try $0.profile() }
        let info = LiveSigned(
            conversation.info.sealed(for: id, link: conversation.link, nonce: Sodium.random(LiveLimits.nonceBytes)),
            as: .create(profile: profile.id), of: id, from: .identity(device), timestamp: host.serverNow,
            signer: conversation.keys.pair)
        try await host.ask(
            LiveCreate(
                conversation.keys, link: conversation.link, profile: profile.id,
                transcriptDays: conversation.transcriptDays, info: info))
        self.whispering[id]?.isCreated = true
    }

    /// Sends grants until none is due.
    func sendGrants(of id: ConversationID, _ host: isolated some LiveHost) async {
        var failures = 0
        while !Task.isCancelled, let batch = self.whispering[id]?.grants.next() {
            do throws(LiveError) {
                let frame = try self.frame(of: batch, in: id, host)
                guard !frame.grants.isEmpty else {
                    self.whispering[id]?.grants.dropped()
                    continue
                }
                try self.keep(generation: batch.generation, of: id)
                try await host.ask(frame)
                failures = 0
            } catch {
                self.whispering[id]?.grants.failed()
                // The roster of the next connection shows which grants were carried out.
                guard error != .offline else { return }
                failures += 1
                if failures >= ClientLimits.attemptsMax {
                    self.logger.warning("grants are not taken")
                    // If sealing is blocked, keep trying: only the next generation lets the text continue.
                    guard self.whispering[id]?.grants.blocksSealing == true else { return }
                    failures = ClientLimits.attemptsMax
                }
                // Another device may have begun the next generation: the roster shows it.
                if case .refused(.forbidden, _) = error { _ = try? await host.ask(LiveRosterQuery(id)) }
                try? await Task.sleep(for: Self.again.delay(after: failures, using: &self.random))
            }
        }
    }

    /// Stores a generation that was used or offered: no older one is used later, even after a crash.
    private func keep(generation: Int, of id: ConversationID) throws(LiveError) {
        guard let known = self.whispering[id]?.conversation.generation, generation > known else { return }
        try self.store.kept { try $0.set(generation: generation, of: id) }
        self.whispering[id]?.conversation.generation = generation
    }

    /// Leaves out listeners without usable keys. Without listeners, a grant to ourselves begins the generation; the
    /// server ignores that grant. A generation that must not seal any more gets a key that opens nothing.
    private func frame(
        of batch: GrantQueue.Batch, in id: ConversationID, _ host: isolated some LiveHost
    ) throws(LiveError) -> LiveGrant {
        guard let whispering = self.whispering[id], host.token != nil, let device = host.id else { throw .offline }
        let now = host.serverNow
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

    func refuse(
        _ caller: AdmissionDesk.Caller, _ reason: LiveRefuse.Reason, in id: ConversationID,
        _ host: isolated some LiveHost
    ) async {
        var failures = 0
        while !Task.isCancelled, let keys = self.whispering[id]?.conversation.keys, let device = host.id {
            do {
                let refusal = try keys.refusal(
                    note: nil, to: caller.listener, keys: caller.keys, from: device, at: host.serverNow)
                try await host.ask(LiveRefuse(id, to: caller.listener, reason: reason, refusal: refusal))
                return
            } catch {
                var pause = Duration.zero
                switch error as? LiveError {
                // A listener that has left needs no answer.
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

    /// A packet was refused because this connection does not hold the stream: the server's notice was lost, or the
    /// stream was paused. Asks the server for the holder, though not more often than `holderAskedEvery`.
    private func doubtHolding(of id: ConversationID, _ host: isolated some LiveHost) {
        guard let whispering = self.whispering[id], whispering.epoch != nil, !whispering.isDoubtful,
            whispering.doubtedAt.map({ $0 + LiveLimits.holderAskedEvery <= .now }) ?? true
        else { return }
        self.whispering[id]?.doubtedAt = .now
        self.whispering[id]?.isDoubtful = true
        host.begin { await $0.streams.findHolder(of: id, $0) }
    }

    func findHolder(of id: ConversationID, _ host: isolated some LiveHost) async {
        // Without an answer, the next refusal asks again.
        _ = try? await host.ask(LiveRosterQuery(id))
        self.whispering[id]?.isDoubtful = false
    }

    /// Resumes or stops a stream whose packets are refused.
    private func settleDoubt(of id: ConversationID, by roster: LiveRoster, _ host: isolated some LiveHost) {
        guard let whispering = self.whispering[id], whispering.isDoubtful, let epoch = whispering.epoch else { return }
        self.whispering[id]?.isDoubtful = false
        // If no other device holds the stream, this one resumes it: the holder's epoch may be its own older one.
        guard let holder = roster.holder, holder != host.id, roster.epoch > epoch else {
            self.whispering[id]?.machine.stopped()
            self.whispering[id]?.epoch = nil
            host.begin { await $0.streams.start(id, $0) }
            return
        }
        self.stopped(.takenOver, id, host)
    }

    private func stopped(_ reason: LiveStopped.Reason, _ id: ConversationID, _ host: isolated some LiveHost) {
        self.whispering[id]?.machine.stopped()
        self.whispering[id]?.epoch = nil
        self.whispering[id]?.end = .stopped(reason)
        host.publish(.stopped(reason), of: id)
    }

    // MARK: Frames of the server

    /// - Returns: whether the frame is for whisperers. Frames of unknown conversations change nothing.
    func take(_ frame: (any ServerFrame)?, _ host: isolated some LiveHost) -> Bool {
        switch frame {
        case let started as LiveStarted: self.take(started, host)
        case let knocked as LiveKnocked:
            self.take(
                AdmissionDesk.Knock(
                    listener: knocked.listener,
                    keys: PublicKeys(sign: knocked.signPublicKey, box: knocked.encPublicKey), sealed: knocked.knock),
                in: knocked.conversation, host)
        case let granted as LiveGranted: self.take(granted, host)
        case let listener as LiveListenerChanged: self.take(listener, host)
        case let roster as LiveRoster: self.take(roster, host)
        case let wanted as LiveWanted: self.take(wanted)
        case let stopped as LiveStopped: self.take(stopped, host)
        case let conversation as LiveConversation: self.take(conversation)
        case let stored as LiveLineStored: self.whispering[stored.conversation]?.machine.stored(stored.told)
        case let attention as LiveAttention: self.take(attention, host)
        default: return false
        }
        return true
    }

    /// A packet was refused.
    func refused(
        _ position: LivePosition, of id: ConversationID, _ code: ErrorCode?, retryAfter: Duration?,
        _ host: isolated some LiveHost
    ) {
        guard self.whispering[id]?.epoch == position.epoch else { return }
        self.whispering[id]?.machine.refused(seq: position.seq, retryAfter: retryAfter, at: .now)
        if code == .forbidden { self.doubtHolding(of: id, host) }
    }

    private func take(_ conversation: LiveConversation) {
        self.whispering[conversation.conversation]?.isTranscribed = conversation.transcriptDays > 0
    }

    private func take(_ started: LiveStarted, _ host: isolated some LiveHost) {
        let id = started.conversation
        guard let whispering = self.whispering[id], whispering.machine.content == started.content else { return }
        self.whispering[id]?.epoch = started.epoch
        self.whispering[id]?.end = nil
        let start = WhispererMachine.Start(
            epoch: started.epoch, generation: started.generation, line: started.line,
            isTranscribed: whispering.isTranscribed)
        self.whispering[id]?.machine.started(start, at: .now)
        if !started.isResumed { self.whispering[id]?.desk.streamBegan() }
        self.learn(started.listeners, generation: started.generation, of: id, host)
        host.publish(.started(isResumed: started.isResumed), of: id)
    }

    private func take(_ roster: LiveRoster, _ host: isolated some LiveHost) {
        self.settleDoubt(of: roster.conversation, by: roster, host)
        self.learn(roster.listeners, generation: roster.generation, of: roster.conversation, host)
    }

    private func learn(
        _ listeners: [LiveListener], generation: Int, of id: ConversationID, _ host: isolated some LiveHost
    ) {
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
        // Another device may have granted this generation.
        self.whispering[id]?.machine.generationChanged(to: generation)
        host.begin { await $0.streams.sendGrants(of: id, $0) }
        // Repeat removals that the server has not received.
        for listener in admitted {
            guard let known = desk[listener.listener], known.verdict != .allowed else { continue }
            let caller = AdmissionDesk.Caller(listener: known.id, keys: known.keys, name: known.name, note: nil)
            let reason: LiveRefuse.Reason = known.verdict == .blocked ? .blocked : .removed
            host.begin { await $0.streams.refuse(caller, reason, in: id, $0) }
        }
        for listener in listeners where listener.status == .waiting {
            self.take(
                AdmissionDesk.Knock(
                    listener: listener.listener,
                    keys: PublicKeys(sign: listener.signPublicKey, box: listener.encPublicKey), sealed: listener.knock),
                in: id, host)
        }
    }

    private func take(_ knock: AdmissionDesk.Knock, in id: ConversationID, _ host: isolated some LiveHost) {
        guard let decision = self.whispering[id]?.desk.knocked(knock) else { return }
        let listener = knock.listener
        switch decision {
        case .grant:
            if let desk = self.whispering[id]?.desk, let known = desk[listener] {
                do throws(LiveError) {
                    try self.store.kept { store in
                        for known in desk.outmoded + [known] { try store.set(known, of: id, at: host.serverNow) }
                    }
                } catch {
                    if case .store(let error) = error { host.storeFailed(error) }
                    return
                }
                host.profileKeeper.changed(host)
            }
            self.admit(listener, in: id, host)
        case .ask(let caller): host.publish(.asks(listener, name: caller.name, note: caller.note), of: id)
        case .refuse(let reason):
            let caller = AdmissionDesk.Caller(listener: listener, keys: knock.keys, name: "\(listener)", note: nil)
            host.begin { await $0.streams.refuse(caller, reason, in: id, $0) }
        case .ignore: self.logger.debug("a knock was ignored")
        }
    }

    private func admit(_ listener: PrincipalID, in id: ConversationID, _ host: isolated some LiveHost) {
        if self.whispering[id]?.grants.admit(listener) == true {
            self.whispering[id]?.machine.admits(listener, at: host.serverNow)
        }
        host.begin { await $0.streams.sendGrants(of: id, $0) }
    }

    private func take(_ granted: LiveGranted, _ host: isolated some LiveHost) {
        let id = granted.conversation
        guard let generation = self.whispering[id]?.grants.answered(granted: granted.granted) else { return }
        let before = self.whispering[id]?.machine.generation
        self.whispering[id]?.machine.generationChanged(to: generation)
        if before != self.whispering[id]?.machine.generation {
            host.publish(.keysChanged(generation: generation), of: id)
        }
    }

    private func take(_ changed: LiveListenerChanged, _ host: isolated some LiveHost) {
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
                // Another of our devices removed the listener, which may have the newest key even if the server does
                // not count it.
                self.whispering[id]?.grants.leaves(behind: whispering.grants.offered)
            }
            host.begin { await $0.streams.sendGrants(of: id, $0) }
        // Any device of ours may have admitted the listener.
        case .admitted: self.whispering[id]?.machine.admits(listener, at: changed.timestamp)
        case .waiting: break
        }
        host.publish(.listener(listener, name: name, changed.status, joined: changed.joined), of: id)
    }

    private func take(_ wanted: LiveWanted) {
        guard self.whispering[wanted.conversation]?.epoch == wanted.epoch else { return }
        let want: WhispererMachine.Want =
            switch wanted.want {
            case .snapshot: .snapshot
            case .lines(let listener, let from, let since): .lines(for: listener, from: from, since: since)
            }
        self.whispering[wanted.conversation]?.machine.wanted(want, at: .now)
    }

    private func take(_ stopped: LiveStopped, _ host: isolated some LiveHost) {
        let id = stopped.conversation
        guard self.whispering[id]?.machine.content == stopped.content else { return }
        self.stopped(stopped.reason, id, host)
    }

    private func take(_ attention: LiveAttention, _ host: isolated some LiveHost) {
        guard let whispering = self.whispering[attention.conversation] else { return }
        let name = whispering.name(attention.listener)
        host.publish(.attention(attention.listener, name: name, attention.want), of: attention.conversation)
    }

    // MARK: Packets

    /// Writes the packets that are due.
    func pump(_ host: isolated some LiveHost) {
        guard host.isOnline, host.token != nil else { return }
        for id in self.whispering.keys { self.pumpPackets(of: id, host) }
    }

    private func pumpPackets(of id: ConversationID, _ host: isolated some LiveHost) {
        guard let before = self.whispering[id]?.machine.lastLine,
            let packets = self.whispering[id]?.machine.due(at: .now, serverTime: host.serverNow), !packets.isEmpty,
            let whispering = self.whispering[id]
        else { return }
        do {
            if whispering.machine.lastLine != before { try self.keepStream(of: id) }
            try self.keep(generation: whispering.machine.lowestGeneration, of: id)
        } catch {
            if case .store(let error) = error { host.storeFailed(error) }
            return
        }
        for packet in packets {
            let sealed = whispering.conversation.keys.seal(
                packet, content: whispering.machine.content, nonce: Sodium.random(LiveLimits.nonceBytes))
            host.write(SendLivePacket(packet.header, sealed), .packet(id, packet.header.position))
            if case .line(let text) = packet.content, packet.header.line > before {
                host.publish(.said(packet.header.line, text), of: id)
            }
        }
        if whispering.machine.wantsNextGeneration {
            self.whispering[id]?.grants.rotate()
            host.begin { await $0.streams.sendGrants(of: id, $0) }
        }
    }

    // MARK: The connection

    /// The connection is bound to the session: streams are resumed.
    func bound(_ host: isolated some LiveHost) {
        for id in self.whispering.keys {
            self.whispering[id]?.machine.stopped()
            self.whispering[id]?.end = nil
            host.begin { await $0.streams.start(id, $0) }
        }
    }

    func disconnected() {
        for id in self.whispering.keys {
            self.whispering[id]?.machine.stopped()
            self.whispering[id]?.epoch = nil
        }
    }

    var nextWake: ContinuousClock.Instant? {
        let now = ContinuousClock.now
        return self.whispering.values.compactMap { $0.machine.nextWake(at: now) }.min()
    }
}
