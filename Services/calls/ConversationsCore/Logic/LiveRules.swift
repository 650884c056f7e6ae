package import ClusterContract
package import Contract
import Participants
import ServerCrypto

/// Applies what happens to the conversations of a book, one event after the other (contract §14, §19). Does nothing itself:
/// what is to be told stands in `tellings`.
package struct LiveRules: Sendable {
    package var book: LiveBook
    package var tellings: [LiveTelling] = []
    /// Lines that are to be stored, in the order in which they came.
    package var lines: [LiveLine] = []
    /// Conversations that need not stay in memory, if nothing else happens to them.
    package var asleep: [ConversationID] = []
    let facts: LiveFacts
    let limits: LiveBounds
    let time: Timestamp

    /// The bounds that operators may change.
    package struct LiveBounds: Sendable {
        package var listenersMax = LiveLimits.listenersMax
        package var waitingOfAddressMax = LiveLimits.waitingOfAddressMax
        package var absenceMax = LiveLimits.absenceMax
        package var pauseMax = LiveLimits.pauseMax
        package var streamsOfIdentityMax = LiveLimits.streamsOfIdentityMax
        package var streamsOfProfileMax = LiveLimits.streamsOfProfileMax
        /// Longer is refused to who asks for it.
        package var transcriptDaysMax = Int(LiveLimits.transcriptDays.upperBound)

        package init() {}
    }

    package init(book: LiveBook, facts: LiveFacts = LiveFacts(), limits: LiveBounds = LiveBounds(), at now: Timestamp) {
        self.book = book
        self.facts = facts
        self.limits = limits
        self.time = now
    }

    // MARK: Frames

    package mutating func received(_ frame: LiveFrame) -> Answer {
        if let verdict = frame.principal.verdict(self.facts.accounts[frame.principal.id]) { return verdict }
        // A conversation ends when the last member leaves its profile, even before the Job about it arrives.
        if let id = frame.body.present { self.endWithoutProfile(id) }
        do throws(Refusal) {
            switch frame.body {
            case .create(let create): return try self.create(create, by: try Self.identity(frame), frame)
            case .update(let update): return try self.update(update, by: try Self.identity(frame), frame)
            case .delete(let delete): return try self.delete(delete, by: try Self.identity(frame), frame)
            case .list(let list): return try self.list(list, by: try Self.identity(frame))
            case .roster(let roster): return try self.roster(roster, by: try Self.identity(frame))
            case .knock(let knock): return try self.knock(knock, frame)
            case .grant(let grant): return try self.grant(grant, by: try Self.identity(frame), frame)
            case .refuse(let refuse): return try self.refuse(refuse, by: try Self.identity(frame), frame)
            case .start(let start): return try self.start(start, by: try Self.identity(frame), frame)
            case .stop(let stop): return try self.stop(stop, by: try Self.identity(frame), frame)
            case .join(let join): return try self.join(join, frame)
            case .leave(let leave): return self.leave(leave, frame)
            }
        } catch {
            return .refused(error)
        }
    }

    /// S frames are an identity's: the gateway lets no guest send them.
    private static func identity(_ frame: LiveFrame) throws(Refusal) -> WhisperID {
        guard case .session(let session) = frame.principal else {
            throw Refusal(.notRegistered, "the frame needs a session")
        }
        return session.caller.identity
    }

    func isMember(_ identity: WhisperID, of profile: UUIDText) -> Bool {
        self.facts.members[profile]?.contains(identity) ?? false
    }

    /// The conversation, for a device of its profile. It exists for nobody else.
    func own(_ id: ConversationID, for identity: WhisperID) throws(Refusal) -> LiveMachine {
        guard let conversation = self.book[id], self.isMember(identity, of: conversation.profile) else {
            throw .noSuchConversation
        }
        return conversation
    }

    static func check(
        _ seal: LiveSigned, _ statement: LiveSignature, of id: ConversationID, by key: Bytes32
    ) throws(Refusal) {
        let digest = SHA256.hash(seal.message(statement, of: id).bytes)
        guard Signatures.isValid(seal.signature, over: digest, by: key) else { throw .badSignature }
    }

    static func check(_ timestamp: Timestamp, of frame: LiveFrame) throws(Refusal) {
        guard timestamp.isWithinSkew(of: frame.receivedAt) else { throw .untimely }
    }

    mutating func put(_ conversation: LiveMachine) { self.book.put(conversation, at: conversation.id) }

    // MARK: Conversations

    private mutating func create(
        _ create: LiveCreate, by caller: WhisperID, _ frame: LiveFrame
    ) throws(Refusal) -> Answer {
        let id = ConversationID.derived(
            signPublicKey: create.signPublicKey.bytes, encPublicKey: create.encPublicKey.bytes
        ) { SHA256.hash($0).bytes }
        guard id == create.conversation else {
            throw Refusal(.invalidPayload, "conversationId: is not that of these keys")
        }
        guard Signatures.isUsableSignKey(create.signPublicKey), Signatures.isUsableEncKey(create.encPublicKey) else {
            throw Refusal(.invalidPayload, "signPublicKey, encPublicKey: must not be of low order")
        }
        try Self.check(create.info, .create(profile: create.profile), of: id, by: create.signPublicKey)
        let known = self.book[id]
        if let known, known.profile == create.profile, self.isMember(caller, of: known.profile) {
            return .reply(known.frame)
        }
        try Self.check(create.info.timestamp, of: frame)
        guard self.isMember(caller, of: create.profile) else { throw .noSuchProfile }
        guard known == nil else { throw Refusal(.forbidden, "the conversation belongs to another profile") }
        try self.check(transcriptDays: create.transcriptDays)
        guard self.list(of: create.profile).count < LiveLimits.conversationsPerProfileMax else {
            throw Refusal(.forbidden, "the profile has too many conversations")
        }
        let conversation = LiveMachine(
            id: id, profile: create.profile, creator: caller, signPublicKey: create.signPublicKey,
            encPublicKey: create.encPublicKey, linkVerifier: create.linkVerifier,
            info: .init(nonce: create.info.nonce, ciphertext: create.info.ciphertext),
            transcriptDays: create.transcriptDays, createdAt: self.time, updatedAt: self.time, usedAt: self.time)
        self.put(conversation)
        return .reply(conversation.frame)
    }

    private mutating func update(
        _ update: LiveUpdate, by caller: WhisperID, _ frame: LiveFrame
    ) throws(Refusal) -> Answer {
        guard update.isWhole else {
            throw Refusal(.invalidPayload, "changes nothing, or something that must stand beside another is missing")
        }
        var conversation = try self.own(update.conversation, for: caller)
        let before = conversation
        if let info = update.info {
            try Self.check(
                info, .update(profile: conversation.profile), of: conversation.id, by: conversation.signPublicKey)
            let isRepeated = conversation.info.nonce == info.nonce
            if !isRepeated { try Self.check(info.timestamp, of: frame) }
            conversation.info = .init(nonce: info.nonce, ciphertext: info.ciphertext)
        }
        if let verifier = update.linkVerifier { conversation.linkVerifier = verifier }
        if let days = update.transcriptDays {
            try self.check(transcriptDays: days)
            conversation.transcriptDays = days
        }
        if conversation != before {
            conversation.updatedAt = self.time
            self.put(conversation)
        }
        return .reply(conversation.frame)
    }

    private mutating func delete(
        _ delete: LiveDelete, by caller: WhisperID, _ frame: LiveFrame
    ) throws(Refusal) -> Answer {
        self.remove(try self.own(delete.conversation, for: caller), by: frame.connection)
        return .reply(LiveDeleted(delete.conversation))
    }

    /// The conversation is no more, and all whom it concerned hear of it.
    /// - Parameter connection: of the device that has deleted it, which has an answer of its own.
    private mutating func remove(_ conversation: LiveMachine, by connection: LiveConnection?) {
        var conversation = conversation
        if conversation.stream != nil { self.end(&conversation, because: .deleted, by: connection) }
        for (listener, row) in conversation.listeners where row.status == .waiting || row.status == .admitted {
            let refused = LiveRefused(
                conversation: conversation.id, reason: .deleted, timestamp: self.time, refusal: nil)
            self.tellings.append(.frame(Self.reader(listener, in: conversation), refused))
        }
        for attendance in conversation.attendances.values {
            self.tellings.append(.event(attendance.connection, .attendsNoLonger(conversation.id)))
        }
        self.lines.removeAll { $0.conversation == conversation.id }
        self.book.put(nil, at: conversation.id)
    }

    private func list(_ list: LiveList, by caller: WhisperID) throws(Refusal) -> Answer {
        guard self.isMember(caller, of: list.profile) else { throw .noSuchProfile }
        return .reply(LiveConversations(self.list(of: list.profile)))
    }

    /// As the tables had them, with what this batch has changed.
    private func list(of profile: UUIDText) -> [LiveConversation] {
        let changed = self.book.changes.filter { ($0.after ?? $0.before)?.profile == profile }
        let ids = Set(changed.compactMap { ($0.after ?? $0.before)?.id })
        let kept = (self.facts.lists[profile] ?? []).filter { !ids.contains($0.conversation) }
        return (kept + changed.compactMap { $0.after?.frame }).sorted {
            ($0.createdAt, "\($0.conversation)") < ($1.createdAt, "\($1.conversation)")
        }
    }

    private func roster(_ roster: LiveRosterQuery, by caller: WhisperID) throws(Refusal) -> Answer {
        let conversation = try self.own(roster.conversation, for: caller)
        let frame = conversation.frame
        return .reply(
            LiveRoster(
                conversation: conversation.id, state: frame.state, epoch: frame.epoch, generation: frame.generation,
                content: frame.content, holder: frame.holder, listeners: conversation.roster))
    }

    // MARK: Telling

    /// Where somebody is, if this process knows.
    static func reader(_ listener: PrincipalID, in conversation: LiveMachine) -> LiveTelling.Reader {
        if let attendance = conversation.attendances[listener], attendance.goneAt == nil {
            return .connection(attendance.connection)
        }
        if let waiting = conversation.waiting[listener], waiting.goneAt == nil {
            return .connection(waiting.connection)
        }
        return .principal(listener)
    }

    /// The holder hears what has become of a listener.
    /// - Parameter connection: of whoever has decided so, and has an answer of its own.
    mutating func tellHolder(
        of listener: PrincipalID, _ status: LiveListenerChanged.Status, in conversation: LiveMachine,
        exceptOn connection: LiveConnection? = nil
    ) {
        guard let holder = conversation.stream?.connection, holder != connection else { return }
        self.tellings.append(.frame(.connection(holder), self.changed(listener, status, in: conversation)))
    }

    func changed(
        _ listener: PrincipalID, _ status: LiveListenerChanged.Status, in conversation: LiveMachine
    ) -> LiveListenerChanged {
        LiveListenerChanged(
            conversation: conversation.id, listener: listener, status: status, joined: conversation.joinedCount,
            timestamp: self.time)
    }

    /// The stream is otherwise now: its listeners' gateways hear it, and those who wait.
    mutating func tellStream(of conversation: LiveMachine, ending: LiveEnding? = nil, content: UUIDText? = nil) {
        let stream = conversation.stream(ending: ending, at: self.time)
        for attendance in conversation.attendances.values where attendance.goneAt == nil {
            self.tellings.append(.event(attendance.connection, .stream(stream)))
        }
        let state: LiveState.State =
            ending != nil ? .ended : conversation.stream?.isPaused == true ? .paused : .live
        let frame = LiveState(
            conversation: conversation.id, state: state, reason: ending,
            content: stream.content ?? content, epoch: stream.epoch, generation: stream.generation,
            isTranscribed: stream.isTranscribed, timestamp: self.time)
        for waiting in conversation.waiting.values where waiting.goneAt == nil {
            self.tellings.append(.frame(.connection(waiting.connection), frame))
        }
    }

    // MARK: Time

    /// Applies due deadlines to conversations.
    package mutating func tick() {
        let limits = self.limits
        for conversation in self.book.due(at: self.time, { $0.deadline(within: limits) }) {
            self.tick(conversation)
            if self.book[conversation.id]?.isAsleep(at: self.time) == true { self.asleep.append(conversation.id) }
        }
    }

    mutating func tick(_ before: LiveMachine) {
        var conversation = before
        if var stream = conversation.stream {
            switch stream.phase {
            case .live(_, let goneAt?) where goneAt + self.limits.absenceMax <= self.time:
                stream.phase = .paused
                stream.changedAt = self.time
                conversation.stream = stream
                self.tellStream(of: conversation)
            case .paused where stream.changedAt + self.limits.pauseMax <= self.time:
                self.end(&conversation, because: .timeout, by: nil)
            case .live, .paused: break
            }
        }
        for (listener, attendance) in conversation.attendances {
            guard let goneAt = attendance.goneAt, goneAt + self.limits.absenceMax <= self.time else { continue }
            conversation.attendances[listener] = nil
            if attendance.isListed { self.tellHolder(of: listener, .left, in: conversation) }
        }
        for (listener, row) in conversation.listeners where row.status == .waiting {
            let goneAt = conversation.waiting[listener]?.goneAt
            let isLate = row.expiresAt.map { $0 <= self.time } ?? true
            let isAbsent = goneAt.map { $0 + LiveLimits.knockOfAbsentTTL <= self.time } ?? false
            guard isLate || isAbsent else { continue }
            self.sendAway(listener, from: &conversation)
        }
        for (listener, waiting) in conversation.waiting {
            // An admitted one that waits for a key keeps its row: nobody need be told.
            if let goneAt = waiting.goneAt, conversation.listeners[listener]?.status != .waiting,
                goneAt + LiveLimits.knockOfAbsentTTL <= self.time
            {
                conversation.waitsNoLonger(listener)
            }
        }
        self.tellKnocksAgain(of: &conversation)
        if conversation != before { self.put(conversation) }
    }

    /// Repeats knocks to the holder: the notice of a knock, or its answer, may be lost.
    private mutating func tellKnocksAgain(of conversation: inout LiveMachine) {
        guard let holder = conversation.stream?.connection else { return }
        let undecided = conversation.undecided
        let before = conversation.knocksToldAt
        conversation.knocksToldAt = [:]
        for (listener, row) in undecided {
            if let toldAt = before[listener], toldAt + LiveLimits.knockToldEvery > self.time {
                conversation.knocksToldAt[listener] = toldAt
                continue
            }
            conversation.knocksToldAt[listener] = self.time
            self.tellings.append(
                .frame(.connection(holder), Self.knocked(listener, row, in: conversation)))
        }
    }

    /// Somebody has been taken out of this profile, or it is no more. It is judged by who is a member now.
    /// - Parameter ids: all its conversations of the shares that are ours, and perhaps others.
    package mutating func membersChanged(of profile: UUIDText, in ids: [ConversationID]) {
        for id in ids where self.book[id]?.profile == profile {
            self.endWithoutProfile(id)
            guard let conversation = self.book[id] else { continue }
            if let holder = conversation.stream?.holder, !self.isMember(holder, of: profile) {
                self.removed(holder, from: id)
            }
            self.removeDevices(from: id)
        }
    }

    /// A profile without members is no more, and its conversations with it.
    mutating func endWithoutProfile(_ id: ConversationID) {
        if let conversation = self.book[id], self.facts.members[conversation.profile] == nil {
            self.remove(conversation, by: nil)
        }
    }

    /// Ends what has no profile any more, or was not used for too long.
    package mutating func expired(_ id: ConversationID) {
        if let conversation = self.book[id] { self.remove(conversation, by: nil) }
    }

    // MARK: Connections

    /// A connection has ended.
    package mutating func left(_ id: ConversationID, _ connection: LiveConnection) {
        guard let conversation = self.book[id] else { return }
        self.lose(conversation) { place, _ in place == connection }
    }

    /// A node is gone, and all its connections with it.
    package mutating func unheard(by node: NodeID) {
        for conversation in Array(self.book.all) { self.lose(conversation) { place, _ in place.node == node } }
    }

    /// - Parameter isLost: is given a connection, and when it began to hold or to attend.
    private mutating func lose(
        _ before: LiveMachine, waiting: Bool = true, where isLost: (LiveConnection, Timestamp?) -> Bool
    ) {
        var conversation = before
        if var stream = conversation.stream, let holder = stream.connection, isLost(holder, stream.changedAt) {
            stream.phase = .live(holder, goneAt: self.time)
            conversation.stream = stream
        }
        for (listener, attendance) in conversation.attendances
        where attendance.goneAt == nil && isLost(attendance.connection, attendance.placedAt) {
            conversation.attendances[listener]?.goneAt = self.time
        }
        for (listener, place) in conversation.waiting
        where waiting && place.goneAt == nil && isLost(place.connection, nil) {
            conversation.waiting[listener]?.goneAt = self.time
        }
        if conversation != before { self.put(conversation) }
    }

    /// A gateway reports all that its connections hold and attend in conversations of this share. Wrong entries are
    /// contradicted, right ones are confirmed, and a connection that is not named has gone: its departure may be lost.
    package mutating func reported(_ entries: [LiveReportEntry], by node: NodeID, of share: LiveShare) {
        let named = Dictionary(grouping: entries, by: \.conversation).mapValues { Set($0.map(\.connection)) }
        let now = self.time
        for conversation in Array(self.book.all) where LiveShare(of: conversation.id) == share {
            let present = named[conversation.id] ?? []
            // A report may be older than an attendance that has just begun. A waiting listener does not attend yet, and
            // is not named.
            self.lose(conversation, waiting: false) { place, begunAt in
                place.node == node && !present.contains(place.connection) && !OwnerLimits.isNew(begunAt, at: now)
            }
        }
        for entry in entries { self.reported(entry, by: node) }
    }

    private mutating func reported(_ entry: LiveReportEntry, by node: NodeID) {
        let connection = LiveConnection(node: node, connection: entry.connection)
        guard var conversation = self.book[entry.conversation] else {
            return self.contradict(entry, on: connection, because: .deleted)
        }
        let stream = conversation.stream(at: self.time)
        let isBehind = entry.epoch != stream.epoch || entry.generation != stream.generation
        switch entry.role {
        case .holder:
            if self.holdsAgain(entry, on: connection, &conversation) { return }
            guard conversation.stream?.connection == connection else { return self.contradict(entry, on: connection) }
            if isBehind { self.tellings.append(.event(connection, .holds(stream))) }
        case .listener:
            let row = conversation.listeners[entry.principal]
            let isDevice =
                if case .identity(let identity) = entry.principal {
                    self.isMember(identity, of: conversation.profile)
                } else { false }
            // A listener with an older key stays, and gets the next one. A listener without a row may not know that it
            // is out.
            guard isDevice || row?.status == .admitted else {
                // A waiting listener left before it knocked again.
                let isOut = row?.status != .waiting
                return self.contradict(entry, on: connection, because: isOut ? row?.refusal ?? .removed : nil)
            }
            let known = conversation.attendances[entry.principal]
            // It has just come on another connection.
            if known?.connection != connection, OwnerLimits.isNew(known?.placedAt, at: self.time) { return }
            if known?.connection != connection || known?.goneAt != nil || known?.isListed != !isDevice {
                conversation.attendances[entry.principal] = .init(connection: connection, isListed: !isDevice)
                self.put(conversation)
            }
            if isBehind { self.tellings.append(.event(connection, .stream(stream))) }
        }
    }

    /// A holder that was taken for gone is there: its gateway did not hear for a moment. An epoch is given to one connection, so
    /// whoever names the present one is that holder.
    private mutating func holdsAgain(
        _ entry: LiveReportEntry, on connection: LiveConnection, _ conversation: inout LiveMachine
    ) -> Bool {
        guard var held = conversation.stream, held.connection == nil, entry.epoch == conversation.epoch,
            entry.principal == .identity(held.holder), self.isMember(held.holder, of: conversation.profile)
        else { return false }
        let wasPaused = held.isPaused
        held.phase = .live(connection, goneAt: nil)
        if wasPaused { held.changedAt = self.time }
        conversation.stream = held
        self.put(conversation)
        // Listeners that joined meanwhile were told of no home.
        self.tellStream(of: conversation)
        self.tellings.append(.event(connection, .holds(conversation.stream(at: self.time))))
        return true
    }

    /// - Parameter reason: why a listener is out, which it may not have heard; `nil` if it need not hear it.
    private mutating func contradict(
        _ entry: LiveReportEntry, on connection: LiveConnection, because reason: LiveRefused.Reason? = nil
    ) {
        switch entry.role {
        case .holder:
            self.tellings.append(.event(connection, .holdsNoLonger(entry.conversation, epoch: entry.epoch)))
        case .listener:
            self.tellings.append(.event(connection, .attendsNoLonger(entry.conversation)))
            guard let reason else { return }
            self.tellings.append(
                .frame(
                    .connection(connection),
                    LiveRefused(
                        conversation: entry.conversation, reason: reason, timestamp: self.time, refusal: nil)))
        }
    }
}
