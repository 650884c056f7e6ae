package import Contract
import Logging

/// Our messages and changes: from the person to the peer's read mark. To a group goes one sealed copy for each member, each sent,
/// accepted and repeated by itself.
package final class Outbox {
    private let keys: IdentityKeys
    private let store: ClientStore
    private let logger: Logger
    private var random = SystemRandomNumberGenerator()
    private var direct = OutboxMachine<UUIDText>()
    private var copies = OutboxMachine<GroupDeliveryID>()

    init(keys: IdentityKeys, store: ClientStore, logger: Logger) throws(ClientStoreError) {
        self.keys = keys
        self.store = store
        self.logger = logger
        for message in try store.messages.unsettled() {
            self.direct.queued(message.id, to: message.to, attempts: message.attempts)
        }
        for (copy, attempts) in try store.deliveries.queuedDeliveries() {
            self.copies.queued(copy, to: copy.member, attempts: attempts)
        }
        if try store.settings.isOutboxPaused() { self.pause() }
    }

    var nextWake: ContinuousClock.Instant? { [self.direct.nextWake, self.copies.nextWake].compactMap { $0 }.min() }

    // MARK: At the wish of the person here

    /// Takes a message: it is stored when this returns, and goes out now or when the server is back.
    /// - Parameters:
    ///   - id: of the caller's choice. A message that has it already is returned as it stands, and not sent again.
    ///   - replyTo: the message of the conversation that this one answers. It need not be here.
    ///   - expires: seconds after which it disappears. Without it the timer of the chat counts.
    ///   - mentions: they stand in the text (`Mention.areValid`).
    package func send(
        _ text: String, to place: Conversation, id: UUIDText? = nil, replyTo: MessageReference? = nil,
        expires: Int64? = nil, mentions: [Mention] = [], poll: Poll? = nil, _ host: isolated some MailHost
    ) throws(SendError) -> Message {
        let bytes = text.utf8.count
        guard bytes > 0 else { throw .empty }
        guard bytes <= ClientLimits.textBytesMax else { throw .tooLong(bytes: bytes) }
        if let ownID = host.id, place == .direct(ownID) { throw .toSelf }
        do {
            if let id, let known = try self.store.messages.outgoing(id) { return known }
        } catch {
            throw .store(error)
        }
        let reader = try self.store.reader(in: place, as: host.id)
        var message = reader.message(text, id: id, replyTo: replyTo, at: host.serverNow)
        (message.mentions, message.poll) = (mentions, poll)
        do {
            message.expires = try self.store.disappearing.seconds(of: message, chosen: expires)
            if let group = reader.group {
                let ready: [GroupDeliveryID]
                (message, ready) = try self.store.deliveries.queue(message, toGroup: group)
                host.publish(.changed(message))
                self.queued(ready, host)
            } else {
                try self.store.messages.queue(message)
                if reader.isStranger { host.backup.wake() }
                host.publish(.changed(message))
                try self.queued(message.id, in: place, host)
            }
        } catch {
            throw .store(error)
        }
        return message
    }

    /// Changes a message here, and sends the change to its readers as soon as there is a connection.
    /// - Parameter target: a message of the conversation; ours, if it is edited or deleted.
    /// - Returns: the message as it stands now.
    package func change(
        _ target: MessageReference, in place: Conversation, _ kind: MessageChange.Kind, _ host: isolated some MailHost
    ) throws(ChangeError) -> Message {
        try Self.check(kind)
        let reader: Reader
        do { reader = try self.store.reader(in: place, as: host.id) } catch { throw .send(error) }
        // Nothing of ours is there before the first login.
        guard let ownID = host.id else { throw .refused(.notFound) }
        let id = UUIDText.random()
        let result: Result<(message: Message, isNew: Bool), ChangeRefusal>
        do {
            result = try self.store.changes.queue(
                kind, id: id, of: target, in: place, ownID: ownID, at: host.serverNow)
        } catch {
            throw .send(.store(error))
        }
        switch result {
        case .failure(let refusal): throw .refused(refusal)
        case .success(let (message, isNew)):
            guard isNew else { return message }
            if reader.isStranger { host.backup.wake() }
            host.publish(.changed(message))
            do { try self.queued(id, in: place, host) } catch { throw .send(.store(error)) }
            return message
        }
    }

    private static func check(_ kind: MessageChange.Kind) throws(ChangeError) {
        if case .edit(let text, _) = kind {
            guard !text.isEmpty else { throw .send(.empty) }
            guard text.utf8.count <= ClientLimits.textBytesMax else { throw .send(.tooLong(bytes: text.utf8.count)) }
        }
        if case .react(let reaction) = kind, reaction.utf8.count > ClientLimits.reactionBytesMax {
            throw .send(.tooLong(bytes: reaction.utf8.count))
        }
    }

    /// Sends again what was given up, the oldest first, `ClientLimits.retriesMax` at a time, in a group for those members alone for whom
    /// it was. It comes after what waits already. The server takes a message once, however often it is sent.
    /// - Returns: the messages that are queued again. Changes are too.
    package func retry(
        in place: Conversation, _ host: isolated some MailHost
    ) throws(ClientStoreError) -> [Message] {
        var messages: [Message]
        var ready: [GroupDeliveryID] = []
        switch place {
        case .direct(let peer):
            let changes: [UUIDText]
            (messages, changes) = try self.store.messages.requeueFailed(to: peer, limit: ClientLimits.retriesMax)
            let complete = messages.filter { $0.attachment.map { [.complete, .kept].contains($0.state) } ?? true }
            for id in complete.map(\.id) + changes { self.direct.queued(id, to: peer) }
        case .group(let id):
            messages = try self.store.transfers.requeueFailedUploads(inGroup: id)
            let others: [Message]
            (others, ready) = try self.store.deliveries.requeueFailed(inGroup: id, limit: ClientLimits.retriesMax)
            messages += others
        }
        for message in messages { host.publish(.changed(message)) }
        host.transfers.wake()
        self.queued(ready, host)
        return messages
    }

    /// Cancels what waits here. A message or copy under way is still sent.
    /// - Returns: the messages that are cancelled, in a group for one member at least.
    package func cancel(
        in place: Conversation, because reason: FailureReason = .cancelled, _ host: isolated some MailHost
    ) throws(ClientStoreError) -> [Message] {
        var messages: [Message]
        switch place {
        case .direct(let peer):
            messages = try self.store.messages.cancel(self.direct.cancel(to: peer), because: reason)
        case .group(let id):
            var changed: [UUIDText: Message] = [:]
            for copy in try self.store.deliveries.waitingDeliveries(inGroup: id) where !self.copies.isUnderWay(copy) {
                self.copies.settled(copy)
                let message = try self.store.deliveries.set(.failed(reason), of: copy)
                if let message { changed[copy.id] = message }
            }
            messages = Array(changed.values)
        }
        messages += try host.transfers.cancelUploads(in: place)
        for message in messages { host.publish(.changed(message)) }
        return messages
    }

    // MARK: Queueing

    /// A message or a change is kept, and may go.
    func queued(
        _ id: UUIDText, in place: Conversation, _ host: isolated some MailHost
    ) throws(ClientStoreError) {
        switch place {
        case .direct(let peer):
            self.direct.queued(id, to: peer)
            host.pump()
        case .group: self.queued(try self.store.deliveries.queuedDeliveries(of: id), host)
        }
    }

    /// Copies for whose readers there are no keys yet go when there are.
    func queued(_ ready: [GroupDeliveryID], _ host: isolated some MailHost) {
        for copy in ready { self.copies.queued(copy, to: copy.member) }
        host.groups.signal.wake()
        host.pump()
    }

    /// The keys of somebody are here: what waited for them goes.
    func queueCopies(to member: WhisperID) throws(ClientStoreError) {
        for (copy, attempts) in try self.store.deliveries.queuedDeliveries(to: member) {
            self.copies.queued(copy, to: copy.member, attempts: attempts)
        }
    }

    func giveUpCopies(to member: WhisperID, _ reason: FailureReason, _ host: isolated some MailHost) {
        host.withStore {
            for copy in try self.store.deliveries.waitingDeliveries(to: member) {
                let message = try self.store.deliveries.set(.failed(reason), of: copy)
                if let message { host.publish(.changed(message)) }
            }
        }
    }

    // MARK: The connection

    func online() {
        self.direct.online()
        self.copies.online()
    }

    func sessionLost(_ host: isolated some MailHost) {
        for verdict in self.direct.sessionLost() { self.apply(verdict, host) }
        for verdict in self.copies.sessionLost() { self.apply(verdict, host) }
    }

    func disconnected(_ host: isolated some MailHost) {
        for verdict in self.direct.disconnected() { self.apply(verdict, host) }
        for verdict in self.copies.disconnected() { self.apply(verdict, host) }
    }

    func tick(_ host: isolated some MailHost) {
        for verdict in self.direct.timerFired(at: .now, using: &self.random) { self.apply(verdict, host) }
        for verdict in self.copies.timerFired(at: .now, using: &self.random) { self.apply(verdict, host) }
    }

    func refused(_ id: UUIDText, _ code: ErrorCode?, retryAfter: Duration?, _ host: isolated some MailHost) {
        var gone: WhisperID?
        if code == .notFound {
            // With a file it may be the file that the server does not know.
            host.withStore { if let mail = try self.store.changes.mail(id), mail.file == nil { gone = mail.to } }
        }
        self.apply(self.direct.refused(id, code, retryAfter: retryAfter, at: .now, using: &self.random), host)
        if let gone { host.withStore { try host.contacts.left(gone, host) } }
    }

    func refused(_ copy: GroupDeliveryID, _ code: ErrorCode?, retryAfter: Duration?, _ host: isolated some MailHost) {
        self.apply(self.copies.refused(copy, code, retryAfter: retryAfter, at: .now, using: &self.random), host)
    }

    /// The server, or a phone nearby, says how something of ours fares. A change is settled once anybody but us has it.
    /// - Parameter from: of whom it tells, if it names somebody; a receipt of anybody but the recipient is void.
    func progress(
        _ id: UUIDText, _ progress: MessageState.Progress, from: WhisperID?, _ host: isolated some MailHost
    ) {
        host.withStore {
            if let from, progress == .delivered || progress == .read, try self.store.messages.outgoing(id) == nil {
                try self.store.disappearing.got(id, by: from, at: host.serverNow)
            }
            if let from, try self.store.deliveries.isGroupSending(id) {
                let copy = GroupDeliveryID(id: id, member: from)
                self.copies.settled(copy)
                return self.moved(try self.store.deliveries.advance(copy, progress), host)
            }
            guard let message = try self.store.messages.outgoing(id) else {
                guard let recipient = try self.store.changes.recipientOfChange(id), from == nil || from == recipient
                else {
                    return
                }
                self.direct.settled(id)
                return try self.store.changes.changeArrived(id)
            }
            if let from, from != message.peer { return }
            self.direct.settled(id)
            self.moved(try self.store.messages.advance(id, progress), host)
        }
    }

    /// A message of ours that somebody has needs no sealed file here any more.
    private func moved(_ message: Message?, _ host: isolated some MailHost) {
        guard let message else { return }
        host.publish(.changed(message))
        if message.attachment != nil { host.transfers.wake() }
    }

    // MARK: Sending

    func pump(_ host: isolated some MailHost) throws(ClientStoreError) {
        for id in self.direct.due(at: .now) { try self.sendNow(id, host) }
        for copy in self.copies.due(at: .now) { try self.sendNow(copy, host) }
    }

    private func sendNow(_ id: UUIDText, _ host: isolated some MailHost) throws(ClientStoreError) {
        guard let from = host.id, host.token != nil else {
            return self.apply(self.direct.unsendable(id, .rejected), host)
        }
        guard let mail = try self.store.changes.mail(id) else {
            return self.apply(self.direct.unsendable(id, .cancelled), host)
        }
        guard let contact = try self.store.contacts.contact(mail.to) else {
            return self.apply(self.direct.unsendable(id, .rejected), host)
        }
        let time = mail.signedAt ?? host.serverNow
        if mail.signedAt == nil { try self.store.noteSigned(id, at: time) }
        let envelope: SignedEnvelope
        do throws(Unsendable) {
            envelope = try self.envelope(mail, from: from, to: contact, at: time)
        } catch {
            return self.apply(self.direct.unsendable(id, error.reason), host)
        }
        // Not kept: after a restart it is queued again, whatever it was.
        if let message = mail.message { host.publish(.changed(message.moved(to: .sending))) }
        host.write(SendMessage(envelope), .message(id))
    }

    private func sendNow(_ copy: GroupDeliveryID, _ host: isolated some MailHost) throws(ClientStoreError) {
        guard let from = host.id, host.token != nil else {
            return self.apply(self.copies.unsendable(copy, .rejected), host)
        }
        // It goes when the person here has seen whom it is for.
        if try self.store.newcomers.isHeld(copy) { return self.copies.settled(copy) }
        guard let mail = try self.store.deliveries.mail(copy) else {
            return self.apply(self.copies.unsendable(copy, .cancelled), host)
        }
        guard let contact = try self.store.contacts.contact(copy.member) else {
            return self.apply(self.copies.unsendable(copy, .rejected), host)
        }
        let time = mail.signedAt ?? host.serverNow
        if mail.signedAt == nil { try self.store.deliveries.noteSigned(copy, at: time) }
        do throws(Unsendable) {
            let envelope = try self.envelope(mail, from: from, to: contact, at: time)
            host.write(GroupSendMessage(envelope), .copy(copy))
        } catch {
            self.apply(self.copies.unsendable(copy, error.reason), host)
        }
    }

    private struct Unsendable: Error { var reason: FailureReason }

    private func envelope(
        _ mail: OutgoingMail, from: WhisperID, to contact: Contact, at time: Timestamp
    ) throws(Unsendable) -> SignedEnvelope {
        try Self.sendable {
            let file = mail.file.flatMap { $0.pointer(to: contact.keys, keys: self.keys) }
            return try self.sealed(mail, from: from, to: contact, at: time).envelope(mail.messageType, file: file)
        }
    }

    /// - Parameter time: the same with each attempt. By it the server knows what it has taken already.
    private func sealed(
        _ mail: OutgoingMail, from: WhisperID, to contact: Contact, at time: Timestamp
    ) throws(KeyError) -> SealedMessage {
        try SealedMessage(
            mail.body, messageID: "\(mail.id)", from: from, to: contact.id, groupID: mail.groupID, reader: contact.keys,
            timestamp: time, nonce: Sodium.random(Limits.nonceBytes), keys: self.keys)
    }

    private static func sendable<Sealed>(_ seal: () throws -> Sealed) throws(Unsendable) -> Sealed {
        do { return try seal() } catch {
            throw Unsendable(reason: error is PayloadViolation ? .rejected : .badKey)
        }
    }

    private func apply(_ verdict: OutboxMachine<UUIDText>.Verdict, _ host: isolated some MailHost) {
        guard let (id, state, attempts, isSignedAnew) = verdict.outcome else { return }
        host.withStore {
            if isSignedAnew { try self.store.forgetSignedTime(of: id) }
            guard let message = try self.store.messages.outgoing(id) else {
                return try self.store.changes.set(state, ofChange: id, attempts: attempts)
            }
            try self.store.messages.set(state, of: id, attempts: attempts)
            host.publish(.changed(message.moved(to: state)))
        }
    }

    private func apply(_ verdict: OutboxMachine<GroupDeliveryID>.Verdict, _ host: isolated some MailHost) {
        guard let (copy, state, attempts, isSignedAnew) = verdict.outcome else { return }
        host.withStore {
            if isSignedAnew { try self.store.deliveries.noteSigned(copy, at: nil) }
            let message = try self.store.deliveries.set(state, of: copy, attempts: attempts)
            if let message { host.publish(.changed(message)) }
        }
    }

    // MARK: The air

    /// Messages that wait for the contact, in the order written.
    func waiting(for contact: WhisperID, limit: Int) -> [UUIDText] { self.direct.waiting(for: contact, limit: limit) }

    /// Reads no store: it is asked with each frame.
    func isWaiting(_ id: UUIDText) -> Bool { self.direct.isWaiting(id) }

    /// - Returns: `nil` if the message does not wait any more.
    func standing(of id: UUIDText) throws(ClientStoreError) -> EnvelopePath<UUIDText>.Standing? {
        guard self.direct.isWaiting(id) else { return nil }
        // A message that was deleted meanwhile has no mail: the server's path removes it.
        guard let mail = try self.store.changes.mail(id), mail.file == nil else { return .serverAlone }
        return self.direct.isUnderWay(id) ? .underWay : .free
    }

    /// Takes a waiting message from the server's path, seals it for the air, and publishes it as `sending`.
    /// - Returns: `nil` if the message cannot be sent, or does not wait any more.
    func sealedForAir(
        _ id: UUIDText, to contact: WhisperID, _ host: isolated some MailHost
    ) throws(ClientStoreError) -> [UInt8]? {
        guard let from = host.id, let mail = try self.store.changes.mail(id),
            let reader = try self.store.contacts.contact(contact), self.direct.tryElsewhere(id)
        else { return nil }
        var time = mail.signedAt ?? host.serverNow
        if mail.signedAt == nil { try self.store.noteSigned(id, at: time) }
        // The store keeps the earlier time, by which the server may know the message. The copy for the air gets the
        // present time, so that the receiver does not take it for old mail.
        if time < host.serverNow - NearbyLimits.signedAgeMax { time = host.serverNow }
        do throws(Unsendable) {
            let bytes = try Self.sendable {
                try NearbyWord.bytes(
                    of: try self.sealed(mail, from: from, to: reader, at: time), type: mail.messageType)
            }
            if let message = mail.message { host.publish(.changed(message.moved(to: .sending))) }
            return bytes
        } catch {
            self.apply(self.direct.unsendable(id, error.reason), host)
            return nil
        }
    }

    /// Gives a message back to the server's path, as `queued`.
    func bringBack(_ id: UUIDText, _ host: isolated some MailHost) {
        self.direct.cameBack(id)
        guard self.direct.isWaiting(id) else { return }
        host.withStore { if let message = try self.store.messages.outgoing(id) { host.publish(.changed(message)) } }
    }

    // MARK: Bans

    /// A ban keeps the messages apart until the person here decides.
    func banned(_ ban: Ban) {
        self.pause()
        // The connection has ended for good already: nothing is left to stop.
        do { try self.store.settings.begin(ban) } catch { self.logger.error("a ban could not be kept") }
    }

    /// The server lets us in. Where nothing waits, there is nothing to decide.
    func banEnded(_ host: isolated some MailHost) {
        host.withStore {
            try self.store.settings.endBan()
            if try self.store.settings.isOutboxPaused(), try self.store.waitingChats(limit: 1).isEmpty {
                try self.letGo()
            }
        }
    }

    /// Sends what was kept apart.
    package func resume(_ host: isolated some MailHost) throws(ClientStoreError) {
        try self.letGo()
        host.pump()
    }

    /// Gives up what waits, in all chats, also what was written after the ban.
    /// - Returns: how many messages.
    package func discard(_ host: isolated some MailHost) throws(ClientStoreError) -> Int {
        var (count, before) = (0, [Conversation]())
        while true {
            // A message in flight is not cancelled, and its chat stays in the list.
            let places = try self.store.waitingChats(limit: ClientLimits.waitingChatsMax).map(\.place)
            guard !places.isEmpty, places != before else { break }
            for place in places { count += try self.cancel(in: place, host).count }
            before = places
        }
        try self.letGo()
        return count
    }

    private func pause() {
        self.direct.pause()
        self.copies.pause()
    }

    private func letGo() throws(ClientStoreError) {
        try self.store.settings.resumeOutbox()
        self.direct.resume()
        self.copies.resume()
    }
}

extension OutboxMachine.Verdict {
    /// Where the message goes; `nil`: it stays.
    fileprivate var outcome: (id: MessageID, state: MessageState, attempts: Int?, isSignedAnew: Bool)? {
        switch self {
        case .signAnew(let id, let attempts): (id, .queued, attempts, true)
        case .again(let id, let attempts): (id, .queued, attempts, false)
        case .giveUp(let id, let reason): (id, .failed(reason), nil, false)
        case .ignore: nil
        }
    }
}
