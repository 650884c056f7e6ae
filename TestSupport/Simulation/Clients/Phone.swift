import Contract
import TestKit

/// A client that follows the contract: it logs in, reads its mailbox, acknowledges stored messages, and sends its own
/// until they are accepted. At times it loses unstored messages, its connection, or its session.
final class Phone {
    struct Letter {
        let id: UUIDText
        let to: WhisperID
        let frame: SendMessage
    }

    private enum State {
        /// No connection before this time of the machine's clock.
        case offline(until: Int64)
        case connecting
        case loggingIn
        case online
    }

    let person: Identities.Person
    private let world: World
    private var state = State.offline(until: 0)
    private var line: Line?
    private var lineNumber = 0
    private var token: String?
    private var outbox: [Letter] = []
    /// Stored on the device.
    private var stored: Set<UUIDText> = []
    /// The requested page: its request, and when it was sent.
    private var asked: (request: String, at: Int64)?
    private var requests = 0
    /// Questions without an answer, and when they were asked.
    private var open: [String: (at: Int64, letter: UUIDText?)] = [:]
    /// Since when the phone sleeps, and does not connect.
    private(set) var sleepsSince: Int64?
    /// When the phone last gave up a login that may still be carried out.
    private(set) var lostProofAt: Int64 = 0
    private var hasOpenProof = false
    /// Auth has the phone's push token.
    private(set) var hasToken = false
    /// When the present connection first received live mail from the present owner of the mailbox.
    private(set) var liveSince: Int64?
    /// The highest number of new mail on this connection.
    private var lastSeen: Int64 = 0

    init(_ person: Identities.Person, in world: World) {
        self.person = person
        self.world = world
    }

    private var machine: Machine { self.world.machine }
    var isOnline: Bool { if case .online = self.state { true } else { false } }
    private var isLoggingIn: Bool { if case .loggingIn = self.state { true } else { false } }
    var isSettled: Bool { self.sleepsSince != nil || (self.isOnline && self.outbox.isEmpty && self.asked == nil) }

    // MARK: What happens to it

    /// Time passes; called every fifth of a second.
    func tick() {
        switch self.state {
        case .offline(let until):
            if self.sleepsSince == nil, self.machine.now >= until { self.connect() }
        case .connecting, .loggingIn, .online: self.lookAtQuestions()
        }
    }

    func write(to recipient: WhisperID) {
        let letter = self.person.letter(to: recipient, at: Timestamp.now)
        self.world.record.sends(letter.id, from: self.person.identity, to: recipient)
        self.outbox.append(letter)
        if self.isOnline { self.send(letter) }
    }

    /// - Parameter delay: nanoseconds until the gateway notices it, if the network is lost first.
    func sleep(gatewayHearsAfter delay: Int64?) {
        if self.sleepsSince == nil { self.sleepsSince = self.machine.now }
        self.world.trace("\(self.person.name) sleeps")
        if let delay { self.loseNetwork(gatewayHearsAfter: delay, rest: 0) } else { self.hangUp(rest: 0) }
    }

    func wakeUp() {
        self.sleepsSince = nil
        self.world.trace("\(self.person.name) wakes up")
    }

    func hangUp(rest: Int64) {
        self.world.trace("\(self.person.name) hangs up")
        self.world.record.leaves(self.line)
        self.line?.close()
        self.isGone(rest: rest)
    }

    /// The network is lost, and the gateway does not know it.
    func loseNetwork(gatewayHearsAfter delay: Int64, rest: Int64) {
        self.world.trace("\(self.person.name) loses its network, the gateway hears of it after \(delay / 1_000_000) ms")
        self.world.record.leaves(self.line)
        self.line?.lose(gatewayHearsAfter: delay)
        self.isGone(rest: rest)
    }

    func enterTunnel(for nanoseconds: Int64) {
        self.world.trace("\(self.person.name) is silent for \(nanoseconds / 1_000_000) ms")
        self.line?.silentUntil = self.machine.now + nanoseconds
    }

    /// The app is installed again, and its old connection is abandoned.
    func loseSession() {
        self.world.trace("\(self.person.name) is installed anew")
        self.token = nil
        self.world.record.leaves(self.line)
        self.line?.isAbandoned = true
        self.isGone(rest: .milliseconds(100))
    }

    private func isGone(rest: Int64) {
        self.giveUpProof()
        self.line = nil
        self.liveSince = nil
        self.lineNumber += 1
        self.asked = nil
        self.open = [:]
        self.state = .offline(until: self.machine.now + rest)
    }

    private func giveUpProof() {
        if self.hasOpenProof { self.lostProofAt = self.machine.now }
        self.hasOpenProof = false
    }

    // MARK: Connecting

    private func connect() {
        guard let gateway = self.world.gateway(for: self) else { return }
        self.state = .connecting
        self.lineNumber += 1
        self.lastSeen = 0
        let number = self.lineNumber
        self.world.trace("\(self.person.name) connects to \(gateway.host.name)")
        var line: Line!
        line = Line(to: gateway, address: self.person.address) { [unowned self] heard in
            if self.lineNumber == number {
                self.heard(heard)
            } else if case .closing(let code) = heard {
                self.world.trace("a connection that \(self.person.name) has left is closed: \(code)")
            }
        }
        self.line = line
        self.world.record.opens(line, of: self.person.identity)
    }

    private func heard(_ heard: Line.Heard) {
        switch heard {
        case .open:
            if self.token == nil {
                self.logIn()
            } else {
                self.goOnline()
            }
        case .text(let bytes):
            do throws(FrameDecoder.Failure) {
                self.heard(try ServerMessage(bytes))
            } catch {
                self.world.record.fault("\(self.person.name) cannot read a frame: \(error.violation)")
            }
        case .closing(let code):
            self.world.trace("\(self.person.name) is closed: \(code)")
            self.world.record.closed(self.line!, code: code)
            // The gateway reports another login of ours: log in again.
            if code == CloseCode.sessionReplaced.rawValue { self.token = nil }
            self.isGone(rest: .milliseconds(500))
        case .end:
            self.world.trace("\(self.person.name) is cut off")
            self.isGone(
                rest: Int64.random(in: .milliseconds(100)...(.milliseconds(1_500)), using: &self.machine.random))
        }
    }

    private func logIn() {
        self.state = .loggingIn
        self.ask(self.person.login)
    }

    private func prove(_ frame: RegisterChallenge) {
        self.hasOpenProof = true
        self.ask(self.person.proof(of: frame))
    }

    private func goOnline() {
        self.state = .online
        self.fetch(after: nil)
        for letter in self.outbox { self.send(letter) }
    }

    // MARK: Asking

    /// - Returns: the request's id.
    @discardableResult
    private func ask<Frame: ClientFrame>(_ frame: Frame, letter: UUIDText? = nil) -> String {
        self.requests += 1
        let request = "r\(self.requests)"
        self.open[request] = (self.machine.now, letter)
        self.world.trace("\(self.person.name) asks \(request): \(Frame.type)")
        self.write(frame, request)
        return request
    }

    private func write(_ frame: some ClientFrame, _ request: String?) {
        self.line?.send(frame.text(requestID: request, token: self.token.map { .session($0) }))
    }

    private func fetch(after cursor: String?) {
        let request = self.ask(FetchPending(cursor: cursor, limit: World.pageMax))
        self.asked = (request, Timestamp.now.milliseconds)
    }

    private func send(_ letter: Letter) {
        guard self.token != nil else { return }
        self.ask(letter.frame, letter: letter.id)
    }

    /// Every question has an answer in time, if only INTERNAL_ERROR.
    private func lookAtQuestions() {
        for (request, question) in self.open where self.machine.now - question.at > World.answerMax {
            self.open[request] = nil
            if self.world.mustAnswer(since: question.at, on: self.line) {
                self.world.record.fault(
                    "\(self.person.name) has had no answer to \(request) in \(World.answerMax / .seconds(1)) s")
            }
            return self.hangUp(rest: 0)
        }
    }

    // MARK: Hearing

    private func heard(_ message: ServerMessage) {
        let request = message.requestID
        let question = request.flatMap { self.open.removeValue(forKey: $0) }
        switch message.frame {
        case let challenge as RegisterChallenge: self.prove(challenge)
        case let ack as RegisterAck:
            self.token = ack.session.token
            (self.hasOpenProof, self.hasToken) = (false, true)
            self.world.trace("\(self.person.name) is logged in")
            self.world.record.logsIn(self.line!, self.person.identity)
            self.goOnline()
        case let accepted as MessageAccepted:
            self.outbox.removeAll { $0.id == accepted.messageID }
            self.world.record.accepted(accepted.messageID)
        case let page as PendingMessages:
            guard request == self.asked?.request, let asked else { return }
            self.asked = nil
            for message in page.messages { self.see(message.envelope, askedAt: asked.at) }
            if let next = page.nextCursor { self.fetch(after: next) }
        case let received as MessageReceived: self.see(received.envelope, askedAt: nil)
        case let delivered as MessageDelivered: self.world.record.told(delivered.messageID)
        case let expired as MessageExpired: self.world.record.told(expired.messageID)
        case let error as ErrorFrame:
            self.heardError(
                error.code, request, question?.letter, askedAt: question?.at ?? self.machine.now,
                retryAfter: .milliseconds(error.retryAfterMilliseconds ?? 0))
        default: break
        }
    }

    private func heardError(
        _ code: String, _ request: String?, _ letter: UUIDText?, askedAt: Int64, retryAfter: Int64
    ) {
        self.world.trace("\(self.person.name) hears \(code) \(request ?? "")")
        switch code {
        case "INTERNAL_ERROR":
            self.giveUpProof()
            let number = self.lineNumber
            self.machine.after(.milliseconds(700)) { [unowned self] in
                guard self.lineNumber == number else { return }
                if let letter, let again = self.outbox.first(where: { $0.id == letter }) {
                    self.send(again)
                } else if request != nil, request == self.asked?.request {
                    self.fetch(after: nil)
                } else if case .loggingIn = self.state {
                    self.logIn()
                }
            }
        case "NOT_REGISTERED", "AUTH_FAILED":
            // Without a request, the error is the reason of the close that follows.
            guard request != nil else { return }
            self.token = nil
            self.hangUp(rest: .milliseconds(300))
        case "RATE_LIMITED" where self.world.mayRefuseLogins(since: askedAt, on: self.line) && self.isLoggingIn:
            // No registration while Redis is down (contract §11). A refused login is not carried out later.
            self.hasOpenProof = false
            self.hangUp(rest: retryAfter)
        default: self.world.record.fault("\(self.person.name) hears \(code)")
        }
    }

    private func see(_ message: SignedEnvelope, askedAt: Int64?) {
        if askedAt == nil, self.liveSince ?? 0 < self.world.ownedSince { self.liveSince = self.machine.now }
        let (id, sender) = (message.messageID, message.from)
        guard let number = self.world.number(of: id, from: sender, to: self.person.identity) else {
            return self.world.record.fault("\(id) is seen and stands in no ledger")
        }
        let isNew = self.world.record.arrives(
            id, from: sender, to: self.person.identity, askedAt: askedAt,
            acknowledgedAt: self.world.acknowledgedAt(id, from: sender, to: self.person.identity))
        if isNew {
            if number < self.lastSeen {
                self.world.record.fault("out of order: \(id), number \(number), is first seen behind \(self.lastSeen)")
            }
            self.lastSeen = number
        }
        // The message is stored a moment later, and then acknowledged. Without that, live mail is sent again, and mail
        // of a page when the client next reads its mailbox.
        let (line, delay) = (self.lineNumber, Int64.random(in: 0...self.world.storingMax, using: &self.machine.random))
        self.machine.after(delay) { [unowned self] in
            guard self.lineNumber == line, self.token != nil else { return }
            guard !self.world.forgets() else {
                if askedAt != nil { self.hangUp(rest: .seconds(1)) }
                return
            }
            self.stored.insert(id)
            self.world.trace("\(self.person.name) acknowledges \(id)")
            self.write(
                DeliveryReceipt(
                    messageID: id, from: self.person.identity, to: sender, status: .delivered, timestamp: .now), nil)
        }
    }
}
