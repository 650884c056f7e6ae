import Contract
import WhisperClient

// The few functions that an app's first message needs, without JSON. Everything else goes through `perform`.
extension Core {
    /// The person of the folder.
    public struct Identity: Sendable, Hashable {
        /// `nil` until the server has given it.
        public let whisperID: String?
    }

    /// Somebody whose keys are pinned here.
    public struct Contact: Sendable, Hashable {
        public let whisperID: String
        /// The name that was given here.
        public let name: String?
    }

    /// A message of another person, verified and stored.
    public struct IncomingMessage: Sendable, Hashable, Identifiable {
        public let id: String
        /// Whisper ID of its author.
        public let sender: String
        public let groupID: String?
        /// `nil` if it is no text.
        public let text: String?
        /// The author's time, in milliseconds since 1970.
        public let time: Int64
    }

    /// `nil` while the folder has none.
    public var identity: Identity? {
        guard let opened = try? self.opened() else { return nil }
        return Identity(whisperID: opened.id?.description)
    }

    /// Makes a new identity.
    /// - Parameter invitation: a link or its token, for a server that takes somebody new by invitation only.
    /// - Returns: its twelve words: the person who has them is this identity. Show them once, and keep no copy.
    /// - Throws: `.invalidField`, `.identityExists`, `.locked`, `.closed`, `.store`.
    public func createIdentity(invitation: String? = nil) async throws(CoreError) -> [String] {
        let mnemonic = Mnemonic.random()
        try await self.make(mnemonic, invitation: invitation)
        return mnemonic.words
    }

    /// Connects, and returns when there is a session with the server. The core stays connected, also after an error.
    /// - Throws: `.unreachable` if there is none within the limit; `.banned`, `.forbidden`, `.server`, `.offline` if the server or
    ///   another device ended it; `.noIdentity`, `.suspended`, `.closed`, `.store`.
    public func connect(within limit: Duration = CoreLimits.sessionWithin) async throws(CoreError) {
        let opened = try self.opened()
        if !opened.isConnecting { self.watchers.tell(.connection(.connecting)) }
        try await opened.connect()
        try await self.wait(within: limit) { () throws(CoreError) in
            _ = try self.opened()
            switch self.watchers.connection {
            case .online: return true
            case .connecting, .away: return false
            case .stopped(let reason): throw CoreError(of: reason)
            }
        }
    }

    /// Asks the server for somebody's keys, checks that they belong to the id, and pins them.
    /// - Parameter name: as the person is to be called here. No Whisper ID.
    /// - Throws: `.invalidField` for what is no Whisper ID; `.toSelf`, `.notFound`, `.offline`, `.unreachable`, `.server`,
    ///   `.foreignKeys`, `.changedKeys`, `.nameTaken`, `.noIdentity`, `.suspended`, `.closed`, `.store`.
    public func addContact(_ whisperID: String, name: String? = nil) async throws(CoreError) -> Contact {
        let opened = try self.opened()
        guard let id = WhisperID(whisperID.uppercased()) else {
            throw CoreError(.invalidField, "is no Whisper ID", field: "whisperId")
        }
        try Self.check(name: name)
        do {
            let contact = try await opened.with { try await $0.contacts.add(id, name: name, $0) }
            return Contact(whisperID: contact.id.description, name: contact.name)
        } catch {
            throw self.described(error)
        }
    }

    /// Adds the person of a link, as `contact_link` or `whisper link` gives it. Nothing is pinned unless the keys are those that the
    /// link vouches for.
    /// - Parameter name: as the person is to be called here. No Whisper ID.
    /// - Throws: as `addContact(_:name:)`; `.otherServer`, `.newerLink`.
    public func addContact(link: String, name: String? = nil) async throws(CoreError) -> Contact {
        let opened = try self.opened()
        try Self.check(name: name)
        let link = try opened.contactLink(link)
        do {
            let contact = try await opened.with { try await $0.contacts.add(link, name: name, isScanned: false, $0) }
            return Contact(whisperID: contact.id.description, name: contact.name)
        } catch {
            throw self.described(error)
        }
    }

    private static func check(name: String?) throws(CoreError) {
        guard let name else { return }
        if name.isEmpty || name.unicodeScalars.count > 200 || WhisperID(name.uppercased()) != nil {
            throw CoreError(.invalidField, "has 1 to 200 characters, and is no Whisper ID", field: "name")
        }
    }

    /// Queues a text. It is stored when this returns, and goes out now or when the server is back.
    /// - Parameter clientID: the id that the message is to have, a UUID of version 4. The same call again sends it once.
    /// - Returns: the message's id.
    /// - Throws: `.invalidField`, `.tooLong`, `.conflict`, `.unknownContact`, `.bannedContact`, `.blockedContact`, `.toSelf`,
    ///   `.noIdentity`, `.suspended`, `.closed`, `.store`.
    @discardableResult
    public func send(_ text: String, to contact: Contact, clientID: String? = nil) async throws(CoreError) -> String {
        let opened = try self.opened()
        guard let peer = WhisperID(contact.whisperID) else { throw CoreError(.unknownContact) }
        let id = clientID.flatMap { UUIDText($0) }
        if clientID != nil, id?.isVersion4 != true {
            throw CoreError(.invalidField, "is no UUID of version 4", field: "clientId")
        }
        do {
            let message = try await opened.with { try $0.outbox.send(text, to: .direct(peer), id: id, $0) }
            guard message.place == .direct(peer), message.content == .text(text) else {
                throw CoreError(.conflict, field: "clientId")
            }
            return message.id.description
        } catch {
            throw self.described(error)
        }
    }

    /// Returns when nothing waits for the server any more: all that was queued is accepted, or has failed.
    /// - Throws: `.banned` if it waits because of a ban; `.noIdentity`, `.suspended`, `.closed`, `.store`.
    public func settled() async throws(CoreError) {
        try await self.wait(within: nil) { () throws(CoreError) in
            let store = try self.opened().store
            do {
                if try store.waitingChats(limit: 1).isEmpty { return true }
                if try store.settings.isOutboxPaused() { throw CoreError(.banned) }
                return false
            } catch {
                throw self.described(error)
            }
        }
    }

    /// Erases the identity at the server, for good: there is no way back, and its words are worth nothing afterwards. The store here stays;
    /// `wipe` removes it.
    /// - Parameter whisperID: the person's own id, as the person has confirmed it.
    /// - Throws: `.invalidField` if it is another id; `.offline` without a session, `.unreachable` if nobody knows whether it was done:
    ///   then connect, and call this again; `.tooMany`, `.server`, `.noIdentity`, `.suspended`, `.closed`, `.store`.
    public func deleteAccount(confirming whisperID: String) async throws(CoreError) {
        let opened = try self.opened()
        guard let id = WhisperID(whisperID.uppercased()), id == opened.id else {
            throw CoreError(.invalidField, "is not the identity of this folder", field: "confirm")
        }
        do {
            _ = try await opened.with { try await $0.account.leave(id, sentMail: .keep, $0) }
        } catch {
            throw self.described(error)
        }
    }

    /// Messages of others from here on, and those that came for the same consumer before and were not taken.
    ///
    /// A message is acknowledged when the next one is asked for: it comes again if the process is killed before. The stream ends when
    /// the core is closed or suspended. A consumer has one reader. Messages that were not taken within
    /// `CoreLimits.eventsKeptDays`, or before the latest `CoreLimits.eventsKeptMax` events, do not come.
    /// - Parameter consumer: a name that stays the same.
    /// - Throws: `.tooMany` with too many consumers; `.noIdentity`, `.suspended`, `.closed`, `.store`.
    public func messages(for consumer: String = "messages") throws(CoreError) -> AsyncStream<IncomingMessage> {
        guard CoreLimits.consumerCharacters.contains(consumer.count) else {
            throw CoreError(.invalidField, field: "consumer")
        }
        do {
            guard let progress = try self.opened().store.events.subscribe(consumer) else { throw CoreError(.tooMany) }
            let inbox = Inbox(self, consumer, position: progress.acknowledged)
            return AsyncStream { await inbox.next() }
        } catch {
            throw self.described(error)
        }
    }

    /// Looks at a condition with each piece of news. It reads the store, so it runs where threads may block.
    private func wait(
        within limit: Duration?, until isDone: @escaping @Sendable () throws(CoreError) -> Bool
    ) async throws(CoreError) {
        let deadline = limit.map { ContinuousClock.now + $0 }
        for await _ in self.watchers.news() {
            let look = await Blocking.run { Result { () throws(CoreError) in try isDone() } }
            if try look.get() { return }
            if let deadline, deadline <= .now { throw CoreError(.unreachable) }
        }
        // The task was cancelled.
        throw CoreError(.closed)
    }

    /// Reads a consumer's messages from the store.
    private actor Inbox {
        private let core: Core
        private let consumer: String
        private var position: Int64
        private var waiting: ArraySlice<(number: Int64, message: IncomingMessage)> = []
        /// The position of the message that was given out last.
        private var given: Int64?

        init(_ core: Core, _ consumer: String, position: Int64) {
            self.core = core
            self.consumer = consumer
            self.position = position
        }

        func next() async -> IncomingMessage? {
            if let given = self.given.take(), !self.acknowledge(given) { return nil }
            if self.waiting.isEmpty { await self.fill() }
            guard let first = self.waiting.popFirst() else { return nil }
            self.given = first.number
            return first.message
        }

        /// Reads events until there is a message, or the core is closed or suspended. A store that fails is read again.
        private func fill() async {
            for await _ in self.core.watchers.news() {
                guard let opened = try? self.core.opened() else { return }
                while self.waiting.isEmpty,
                    let events = try? opened.store.events.events(after: self.position, limit: CoreLimits.eventsReadMax),
                    let last = events.last
                {
                    self.position = last.number
                    self.waiting = events.compactMap(Self.message)[...]
                    // Events of other kinds are done.
                    if self.waiting.isEmpty { _ = self.acknowledge(last.number) }
                }
                guard self.waiting.isEmpty else { return }
            }
        }

        /// - Returns: whether the core is open. The next acknowledgement makes up for one that the store has refused.
        private func acknowledge(_ number: Int64) -> Bool {
            guard let opened = try? self.core.opened() else { return false }
            _ = try? opened.store.events.acknowledge(number, by: self.consumer)
            return true
        }

        private static func message(_ event: ConsumedEvent) -> (number: Int64, message: IncomingMessage)? {
            guard case .event(.received(let message), let number) = event else { return nil }
            var text: String?
            if case .text(let content) = message.content { text = content }
            return (
                number,
                IncomingMessage(
                    id: message.id.description, sender: message.peer.description, groupID: message.groupID, text: text,
                    time: message.time.milliseconds)
            )
        }
    }
}

extension CoreError {
    init(of reason: StopReason) {
        switch reason {
        case .closed: self.init(.offline)
        case .replaced: self.init(.offline, "The identity was opened on another device.")
        case .banned: self.init(.banned)
        case .loginRefused: self.init(.forbidden, "The server refuses the login.")
        case .refused(let reason): self.init(.forbidden, reason.sentence)
        case .foreignChallenge, .foreignIdentity: self.init(.server)
        case .storeFailed: self.init(.store)
        }
    }
}
