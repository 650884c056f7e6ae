import LocalStack
package import TestKit

/// Somebody who writes to others while the cluster is being mistreated. Does what a good client does: keeps several
/// messages under way, repeats with the same ids what was refused, lost or not answered, acknowledges all that
/// arrives, comes back when its connection ends, and then reads its mailbox. It drops no repetition: the ledger counts them.
package actor Correspondent {
    package nonisolated let person: Person
    package nonisolated let id: String
    nonisolated let habits: Habits
    let ledger: Ledger
    private let endpoint: @Sendable (_ attempt: Int) -> String
    private let origin: String
    var random: SeededGenerator

    /// Recipients of its messages: one person, or all others of a group.
    enum Addressee: Sendable {
        case person(String)
        case group(id: String, others: [String])
    }

    struct Outgoing {
        var letter: Letter
        var frame: String
        /// The frame's requestId.
        var number: String
        var fields: Fields
        var sentAt: ContinuousClock.Instant?
    }

    private(set) var token: String
    private(set) var addressees: [Addressee] = []
    private(set) var phone: Phone?
    private var connections = 0
    /// The moment in the ledger at which the present connection was opened.
    private var openedAt = 0
    private var numbers = 0
    /// Sent and not acknowledged yet, in order.
    var underWay: [Outgoing] = []
    private var nextAt: ContinuousClock.Instant = .now
    private var isWriting = true
    /// The page under way was asked for at this moment of the ledger; nil when none is.
    private var pageAskedAt: Int?
    private var fetchedAt: ContinuousClock.Instant = .now
    private var heardAt: ContinuousClock.Instant = .now
    private var pingedAt: ContinuousClock.Instant = .now
    private var refreshAt: ContinuousClock.Instant = .now
    private var isRefreshing = false
    /// Without a connection that works since then.
    private var lostAt: ContinuousClock.Instant?
    private var comeBackIn: Duration = .zero
    private var attempts = 0
    package private(set) var accepted = 0
    package private(set) var reconnects = 0
    package private(set) var untold: Set<Letter> = []
    /// Objects of its own that wait for a message, and those it has been sent.
    var uploads: [String] = []
    var isUploading = false
    package private(set) var received: [(key: String, sender: String)] = []

    // Coming and going.
    private var isAway = false
    private var leavesAt: ContinuousClock.Instant = .distantFuture
    private var isStaying = false
    private var alarm: CheckedContinuation<Void, Never>?

    /// - Parameters:
    ///   - origin: of HTTP, `http://host:port`.
    ///   - endpoint: where it connects, by the number of attempts that failed.
    package init(
        _ phone: Phone, habits: Habits, ledger: Ledger, seed: UInt64, origin: String,
        endpoint: @escaping @Sendable (_ attempt: Int) -> String
    ) {
        self.person = phone.person
        self.id = phone.id
        self.token = phone.token
        self.habits = habits
        self.ledger = ledger
        self.origin = origin
        self.endpoint = endpoint
        self.random = SeededGenerator(seed: seed)
    }

    package func writes(to peer: String) { self.addressees.append(.person(peer)) }
    package func writes(to group: String, others: [String]) {
        self.addressees.append(.group(id: group, others: others))
    }

    /// Writes no new messages; those under way are seen through. Nobody goes away any more, and who is on its way comes.
    package func stopWriting() {
        self.isWriting = false
        self.isStaying = true
        if case .commuting = self.habits.presence { self.wakeUp() }
    }

    /// Whether all it sent is accepted and its recipients' receipts are here. A correspondent that is away counts as
    /// settled.
    package var isSettled: Bool { self.isSettled(whileAway: []) }

    /// - Parameter absent: recipients of whom no receipt is expected.
    package func isSettled(whileAway absent: Set<String>) -> Bool {
        if self.isAway { return true }
        return self.underWay.isEmpty && self.untold.allSatisfy { absent.contains($0.to) }
            && self.phone != nil && self.pageAskedAt == nil
    }

    /// Answers and statuses that a correspondent still waits for.
    struct OpenWork: Sendable {
        var isConnected: Bool
        var waitsForPage: Bool
        var underWay: [Letter]
        var untold: Set<Letter>

        /// For whoever has to find out why. A partition is the first symbol of its recipients' ids.
        static func text(of list: [OpenWork]) -> String {
            func partitions(_ letters: [Letter]) -> String {
                Dictionary(grouping: letters) { $0.to.dropFirst(4).prefix(1) }.sorted { $0.key < $1.key }
                    .map { "\($0.value.count) in \($0.key)" }.joined(separator: ", ")
            }
            let (underWay, untold) = (list.flatMap(\.underWay), list.flatMap(\.untold))
            return "\(list.count) people wait, \(list.count { !$0.isConnected }) of them not connected, "
                + "\(list.count(where: \.waitsForPage)) for a page; not accepted \(underWay.count): \(partitions(underWay)); "
                + "not told \(untold.count): \(partitions(untold)), such as \(untold.prefix(2).map(\.description))"
        }
    }

    func openWork(whileAway absent: Set<String>) -> OpenWork {
        OpenWork(
            isConnected: self.phone != nil, waitsForPage: self.pageAskedAt != nil,
            underWay: self.underWay.map(\.letter),
            untold: self.untold.filter { !absent.contains($0.to) })
    }

    // MARK: Life

    /// Until it is cancelled.
    package func run() async {
        self.planLeaving()
        self.refreshAt = .now + self.about(.milliseconds(CorrespondentLimits.refreshEvery))
        while !Task.isCancelled {
            await self.stayAwayIfAway()
            try? await Task.sleep(for: self.comeBackIn)
            self.comeBackIn = .zero
            guard !Task.isCancelled else { return }
            guard
                let client = try? await TestClient.connect(
                    to: self.endpoint(self.attempts), timeout: CorrespondentLimits.connectMax)
            else {
                self.attempts += 1
                self.comeBackIn = self.habits.isPolite ? self.backoff : .milliseconds(CorrespondentLimits.backoffMin)
                continue
            }
            await self.serve(client)
            self.phone = nil
            self.pageAskedAt = nil
            if !self.isAway, self.lostAt == nil { self.lostAt = .now }
            // A gateway that is being stopped says when to come back (contract §3).
            if self.habits.isPolite, case .closed(1001, let reason)? = client.ending {
                self.comeBackIn = .milliseconds(min(Int(reason) ?? 0, 60_000))
            }
        }
    }

    private var backoff: Duration {
        let most = min(CorrespondentLimits.backoffMax, CorrespondentLimits.backoffMin << min(self.attempts, 10))
        return .milliseconds(Int.random(in: CorrespondentLimits.backoffMin...most + 1, using: &self.random))
    }

    private func serve(_ client: TestClient) async {
        self.connections += 1
        self.reconnects += self.connections > 1 ? 1 : 0
        self.openedAt = self.ledger.now
        self.heardAt = .now
        let phone = self.phone(on: client)
        self.phone = phone
        self.isRefreshing = false
        for index in self.underWay.indices { self.underWay[index].sentAt = nil }
        self.fetch(nil, phone)
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.listen(phone) }
            group.addTask { await self.act(phone) }
            await group.next()
            client.cut()
            group.cancelAll()
        }
    }

    /// The session of before, on another connection.
    package func phone(on client: TestClient) -> Phone {
        Phone(client: client, person: self.person, id: self.id, token: self.token)
    }

    // MARK: Coming and going

    private func planLeaving() {
        switch self.habits.presence {
        case .always: self.leavesAt = .distantFuture
        case .commuting(let time), .sleeping(let time), .absent(let time): self.leavesAt = .now + self.about(time)
        }
    }

    private func about(_ time: Duration) -> Duration {
        .microseconds(Int.random(in: 1...max(2, Int(2_000_000 * time.seconds)), using: &self.random))
    }

    private func stayAwayIfAway() async {
        guard self.isAway else { return }
        if self.isStaying, !self.waitsToBeFetched { return self.wakeUp() }
        self.ledger.leaves(self.id)
        if case .commuting(let time) = self.habits.presence {
            let nap = self.about(time)
            // Bare: it lasts as long as the nap that it ends.
            Task {
                try? await Task.sleep(for: nap)
                self.wakeUp()
            }
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                if Task.isCancelled || !self.isAway { return continuation.resume() }
                self.alarm = continuation
            }
        } onCancel: {
            // Bare: it lasts one hop.
            Task { await self.wakeUp() }
        }
        self.ledger.comes(self.id)
        self.isAway = false
        self.lostAt = nil
        self.planLeaving()
    }

    private var sleeps: Bool { if case .sleeping = self.habits.presence { true } else { false } }
    private var waitsToBeFetched: Bool { self.sleeps || self.habits.isAbsent }

    private func wakeUp() {
        self.isAway = false
        self.alarm?.resume()
        self.alarm = nil
    }

    /// A push has come for it.
    package func pushed() {
        guard self.isAway, self.sleeps else { return }
        self.ledger.woken()
        self.wakeUp()
    }

    /// Comes without having been woken, if it is away.
    package func fetched() {
        self.isStaying = true
        guard self.isAway else { return }
        if !self.habits.isAbsent { self.ledger.fetched(self.id) }
        self.wakeUp()
    }

    // MARK: Writing

    /// The pause is the traffic's own pace; nothing waits for a condition here.
    private func act(_ phone: Phone) async {
        while !Task.isCancelled, phone.client.ending == nil {
            let now = ContinuousClock.now
            if !self.isStaying, now >= self.leavesAt, self.pageAskedAt == nil {
                self.isAway = true
                return
            }
            guard self.isAlive(phone, at: now) else { return }
            self.repeatUnanswered(phone, at: now)
            if self.habits.refreshes, now >= self.refreshAt { self.refresh(phone) }
            if self.isWriting, !self.addressees.isEmpty, now >= self.nextAt,
                self.underWay.count < self.habits.underWayMax
            {
                self.nextAt = now + self.about(self.habits.pause)
                self.write(phone)
            }
            try? await Task.sleep(for: self.habits.look)
        }
    }

    /// A connection on which nothing comes any more is dead, whatever the kernel says.
    private func isAlive(_ phone: Phone, at now: ContinuousClock.Instant) -> Bool {
        let silence = now - self.heardAt
        guard silence > CorrespondentLimits.pingAfter else { return true }
        if now - self.pingedAt > CorrespondentLimits.pingAfter {
            self.pingedAt = now
            phone.client.send("ping", [:])
        }
        return silence < CorrespondentLimits.deadAfter
    }

    private func repeatUnanswered(_ phone: Phone, at now: ContinuousClock.Instant) {
        if self.pageAskedAt != nil, now - self.fetchedAt > CorrespondentLimits.silenceMax { self.fetch(nil, phone) }
        for index in self.underWay.indices {
            if let sentAt = self.underWay[index].sentAt, now - sentAt <= CorrespondentLimits.silenceMax { continue }
            self.send(index, phone)
        }
    }

    private func write(_ phone: Phone) {
        let bytes = Int.random(in: 1...self.habits.ciphertextMax, using: &self.random)
        switch self.addressees[Int.random(in: 0..<self.addressees.count, using: &self.random)] {
        case .person(let peer):
            var message = phone.message(to: peer, bytes: bytes)
            if let key = self.takeUpload(phone) {
                message = message.with(["attachment": Phone.attachment(key, bytes: 10).json, "msgType": "image"])
            }
            self.enqueue("send_message", message, phone)
        case .group(let group, let others):
            let id = newUUID()
            for member in others {
                self.enqueue("group_send_message", phone.groupMessage(to: member, in: group, id: id), phone)
            }
        }
    }

    private func enqueue(_ frame: String, _ fields: Fields, _ phone: Phone) {
        let letter = Letter(fields["messageId"]!.json.string!, to: fields["to"]!.json.string!)
        self.numbers += 1
        self.untold.insert(letter)
        self.underWay.append(Outgoing(letter: letter, frame: frame, number: "m\(self.numbers)", fields: fields))
        self.send(self.underWay.count - 1, phone)
    }

    private func send(_ index: Int, _ phone: Phone) {
        let entry = self.underWay[index]
        self.underWay[index].sentAt = .now
        self.ledger.sends(entry.letter, from: self.id, on: self.connections)
        phone.client.send(entry.frame, self.privileges.with(entry.fields), requestID: entry.number)
    }

    private var privileges: Fields { Person.versions.with(["sessionToken": self.token]) }

    private func fetch(_ cursor: String?, _ phone: Phone) {
        let moment = self.ledger.now
        self.pageAskedAt = moment
        self.fetchedAt = .now
        var fields = self.privileges
        fields["cursor"] = cursor
        // The answer says which question it belongs to, and so when that was asked.
        phone.client.send("fetch_pending", fields, requestID: "f\(moment)")
    }

    /// Repeating the question with the old token is what a client does that lost the answer (contract §4).
    private func refresh(_ phone: Phone) {
        self.refreshAt = .now + CorrespondentLimits.silenceMax
        self.isRefreshing = true
        phone.client.send("session_refresh", self.privileges, requestID: "refresh")
    }

    // MARK: Listening

    private func listen(_ phone: Phone) async {
        while let frame = await phone.client.next() { self.handle(frame, phone) }
    }

    private func handle(_ frame: JSONFrame, _ phone: Phone) {
        self.heardAt = .now
        switch frame.type {
        case "message_accepted": self.wasAccepted(frame)
        case "message_received": self.take(frame.payload, .live(openedAt: self.openedAt), phone)
        case "message_delivered": self.wasTold(frame.payload)
        case "message_expired":
            let letter = Letter(frame.payload.id, to: frame.payload["to"]?.string ?? "")
            self.untold.remove(letter)
            self.ledger.expired(letter)
            self.ledger.remark("expired long before its time: \(letter)")
        case "pending_messages": self.takePage(frame, phone)
        case "session_refresh_ack":
            self.isRefreshing = false
            self.token = frame.payload["sessionToken"]?.string ?? self.token
            self.refreshAt = .now + self.about(.milliseconds(CorrespondentLimits.refreshEvery))
        case "error": self.wasRefused(frame, phone)
        // Presence and group membership are other suites' business.
        case "presence_update", "group_event", "pong": break
        default: self.ledger.remark("\(self.id) got \(frame)")
        }
    }

    private func wasAccepted(_ frame: JSONFrame) {
        guard let index = self.underWay.firstIndex(where: { $0.number == frame.requestID }) else { return }
        let letter = self.underWay[index].letter
        guard letter.id == frame.payload.id else {
            return self.ledger.remark("\(self.id): not the answer to \(letter): \(frame)")
        }
        self.ledger.accepted(letter)
        self.underWay.remove(at: index)
        self.accepted += 1
    }

    private func wasTold(_ payload: JSON) {
        let letter = Letter(payload.id, to: payload["from"]?.string ?? "")
        guard let mark = payload["status"]?.string.flatMap({ Mark(status: $0) }) else {
            return self.ledger.remark("\(self.id) was told \(payload.text)")
        }
        self.ledger.told(letter, mark)
        if mark >= Self.mark(for: letter) { self.untold.remove(letter) }
    }

    private func wasRefused(_ frame: JSONFrame, _ phone: Phone) {
        switch frame.errorCode {
        // Not accepted, safe to retry with the same id.
        case "INTERNAL_ERROR": self.repeatSoon(frame.requestID, phone)
        // A clock that jumped, of the server or of its limits. Once more when the answer is overdue.
        case "INVALID_TIMESTAMP", "RATE_LIMITED": break
        // A repetition that the answer to the first question has overtaken: its token has been replaced.
        case "NOT_REGISTERED" where frame.requestID == "refresh" && !self.isRefreshing: break
        case "NOT_REGISTERED": self.ledger.sessionRefused(self.id, "\(frame)")
        case "AUTH_FAILED" where frame.requestID == nil: self.ledger.sessionRefused(self.id, "replaced, by nobody")
        default: self.ledger.remark("\(self.id) got \(frame)")
        }
    }

    private func repeatSoon(_ requestID: String?, _ phone: Phone) {
        if let moment = self.pageAskedAt, requestID == "f\(moment)" { return self.fetch(nil, phone) }
        if let index = self.underWay.firstIndex(where: { $0.number == requestID }) { self.underWay[index].sentAt = nil }
    }

    private func takePage(_ frame: JSONFrame, _ phone: Phone) {
        guard let moment = frame.requestID.flatMap({ Int($0.dropFirst()) }) else { return }
        let page = Page(frame: frame)
        for message in page.messages { self.take(message, .page(askedAt: moment), phone) }
        guard moment == self.pageAskedAt else { return }
        self.pageAskedAt = nil
        self.attempts = 0
        if let lostAt = self.lostAt { self.ledger.wasAway(.now - lostAt) }
        self.lostAt = nil
        if let cursor = page.nextCursor { self.fetch(cursor, phone) }
    }

    private func take(_ message: JSON, _ way: Ledger.Way, _ phone: Phone) {
        guard let from = message["from"]?.string else { return }
        let letter = Letter(message.id, to: self.id)
        let mark = Self.mark(for: letter)
        self.ledger.arrived(letter, from: from, way, mark: mark)
        if let key = message["attachment"]?["objectKey"]?.string { self.received.append((key, from)) }
        self.phone(on: phone.client).acknowledge(message.id, from: from, status: mark.status)
    }

    /// Some are read as soon as they are there. Always the same for the same letter, so that a repetition says nothing new.
    private static func mark(for letter: Letter) -> Mark { "0123".contains(letter.id.prefix(1)) ? .read : .delivered }

    // MARK: Attachments

    /// An object of its own, if one is ready and it is time for it. Has another made in the background.
    private func takeUpload(_ phone: Phone) -> String? {
        guard self.habits.attachmentsOneIn > 0,
            Int.random(in: 0..<self.habits.attachmentsOneIn, using: &self.random) == 0
        else { return nil }
        if !self.isUploading {
            self.isUploading = true
            let (phone, origin) = (self.phone(on: phone.client), self.origin)
            // Bare: it lasts as long as an upload, which has bounds of its own.
            Task { self.uploaded(try? await Self.upload(phone, at: origin)) }
        }
        return self.uploads.popLast()
    }

    private func uploaded(_ key: String?) {
        self.isUploading = false
        if let key { self.uploads.append(key) }
    }

    private static func upload(_ phone: Phone, at origin: String) async throws -> String? {
        let content = Keys.random(CorrespondentLimits.uploadBytes)
        let fields: Fields = ["contentType": "image/jpeg", "sizeBytes": content.count, "purpose": "message_attachment"]
        let presign = try await phone.http("POST", "/attachments/presign", fields, at: origin)
        guard let url = presign.json["uploadUrl"]?.string, let key = presign.json["objectKey"]?.string,
            try await Phone.put(content, to: url).status == 200
        else { return nil }
        return key
    }
}

extension ContinuousClock.Instant {
    fileprivate static var distantFuture: Self { .now + .seconds(1_000_000) }
}
