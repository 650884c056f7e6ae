import ClusterContract
import Contract

@testable import WhisperClient

/// A client in a live conversation or in rooms: it connects, logs in, asks, and asks again. Its subclass handles the
/// answers. It reads no mail.
class LiveDevice {
    /// The result of a question.
    enum Answer {
        case frame(any ServerFrame)
        /// - retryAfter: nanoseconds.
        case refused(ErrorCode, retryAfter: Int64)
        /// The connection is gone.
        case lost
    }

    private enum State {
        /// No connection before this time of the machine's clock.
        case offline(until: Int64)
        case connecting
        case loggingIn
        case online
    }

    private struct Question {
        let number: Int
        var at: Int64
        var then: (Answer) -> Void
    }

    let person: Identities.Person
    let pair: KeyPair
    unowned let world: World
    private var state = State.offline(until: 0)
    private var line: Line?
    private(set) var lineNumber = 0
    private(set) var token: String?
    /// Questions asked, each with a number: the first has 1.
    private(set) var questions = 0
    private var open: [String: Question] = [:]
    private var wakeAt: Int64?
    /// The device sleeps: it does not connect.
    private var sleeps = false
    var isAsleep: Bool { self.sleeps }
    /// The question that the present frame answers.
    private(set) var answered: Int?
    var isAnswer: Bool { self.answered != nil }

    /// The pause before a retry, in nanoseconds.
    static let again: Int64 = .milliseconds(700)

    init(_ person: Identities.Person, in world: World) {
        self.person = person
        self.pair = person.pair
        self.world = world
    }

    var machine: Machine { self.world.machine }
    /// A guest has no identity, and proves only its keys (contract §14.3).
    var isGuest: Bool { false }
    var id: PrincipalID { self.isGuest ? .guest(self.pair.publicKeys.guestID) : .identity(self.person.identity) }
    var isOnline: Bool { if case .online = self.state { true } else { false } }
    var hasOpenQuestions: Bool { !self.open.isEmpty }

    // MARK: What subclasses do

    /// The connection is bound to the session.
    func bound() {}
    /// The connection is gone.
    func disconnected() {}
    /// A received frame, as an answer or unasked.
    func take(_ frame: any ServerFrame) {}
    /// The server refused a frame that was no question.
    func refused(_ request: String, _ code: ErrorCode, retryAfter: Duration?) {}
    /// Writes the frames that are due.
    /// - Returns: when the next frame is due.
    func pump() -> ContinuousClock.Instant? { nil }

    // MARK: What happens to it

    /// Time passes; called every fifth of a second.
    func tick() {
        switch self.state {
        case .offline(let until): if !self.sleeps, self.machine.now >= until { self.connect() }
        case .connecting, .loggingIn, .online: self.lookAtQuestions()
        }
    }

    /// Disconnects until the device wakes up.
    func sleep() {
        self.sleeps = true
        self.hangUp(rest: 0)
    }

    func wakeUp() { self.sleeps = false }

    func hangUp(rest: Int64) {
        self.world.trace("\(self.person.name) hangs up")
        self.line?.close()
        self.isGone(rest: rest)
    }

    /// The network is lost, and the gateway does not know it.
    func loseNetwork(gatewayHearsAfter delay: Int64, rest: Int64) {
        self.world.trace("\(self.person.name) loses its network, the gateway hears of it after \(delay / 1_000_000) ms")
        self.line?.lose(gatewayHearsAfter: delay)
        self.isGone(rest: rest)
    }

    /// Data is delayed for a while, and none is lost: a tunnel, or a slow reader.
    func enterTunnel(for nanoseconds: Int64) {
        self.world.trace("\(self.person.name) is silent for \(nanoseconds / 1_000_000) ms")
        self.line?.silentUntil = self.machine.now + nanoseconds
    }

    /// The token is invalid. The device logs in again.
    func forgetToken() {
        self.token = nil
        self.wakeUp()
    }

    func loseSession() {
        self.world.trace("\(self.person.name) loses its session")
        self.token = nil
        self.line?.isAbandoned = true
        self.isGone(rest: .milliseconds(100))
    }

    private func isGone(rest: Int64) {
        self.line = nil
        self.lineNumber += 1
        self.state = .offline(until: self.machine.now + rest)
        let open = self.open
        self.open = [:]
        for request in open.keys.sorted() { open[request]!.then(.lost) }
        self.disconnected()
    }

    // MARK: Connecting

    private func connect() {
        guard let gateway = self.world.someGateway() else { return }
        self.state = .connecting
        self.lineNumber += 1
        let number = self.lineNumber
        self.world.trace("\(self.person.name) connects to \(gateway.host.name)")
        self.line = Line(to: gateway, address: self.person.address) { [unowned self] heard in
            if self.lineNumber == number { self.heard(heard) }
        }
    }

    private func heard(_ heard: Line.Heard) {
        switch heard {
        case .open: if self.token == nil { self.logIn() } else { self.goOnline() }
        case .text(let bytes): self.read(bytes)
        case .closing(let code):
            self.world.trace("\(self.person.name) is closed: \(code)")
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
        if self.isGuest { return self.proveKeys() }
        self.ask(self.person.login) { [unowned self] answer in
            guard case .frame(let frame) = answer, let challenge = frame as? RegisterChallenge else {
                return self.logInAgain(after: answer)
            }
            self.ask(self.person.proof(of: challenge)) { [unowned self] answer in
                guard case .frame(let frame) = answer, let ack = frame as? RegisterAck else {
                    return self.logInAgain(after: answer)
                }
                self.token = ack.session.token
                self.goOnline()
            }
        }
    }

    private func proveKeys() {
        let keys = self.pair.publicKeys
        self.ask(GuestBegin(signPublicKey: keys.sign, encPublicKey: keys.box)) { [unowned self] answer in
            guard case .frame(let frame) = answer, let challenge = frame as? GuestChallenge,
                let signature = try? self.pair.answer(
                    challenge: challenge.challenge, prefix: "whisper-guest-v1")
            else { return self.logInAgain(after: answer) }
            let proof = GuestProof(challengeID: challenge.challengeID, signature: Bytes64(signature)!)
            self.ask(proof) { [unowned self] answer in
                guard case .frame(let frame) = answer, let ack = frame as? GuestAck else {
                    return self.logInAgain(after: answer)
                }
                self.token = ack.token
                self.goOnline()
            }
        }
    }

    private func logInAgain(after answer: Answer) {
        switch answer {
        case .lost: break
        case .refused(_, let pause): self.hangUp(rest: max(pause, .milliseconds(300)))
        case .frame: self.world.record.fault("\(self.person.name) logs in and hears something else")
        }
    }

    private func goOnline() {
        self.state = .online
        self.bound()
        self.moveOn()
    }

    // MARK: Asking

    /// Asks once, without a retry.
    func ask<Frame: ClientFrame>(_ frame: Frame, _ then: @escaping (Answer) -> Void) {
        self.write(frame, request: self.remember(Frame.type, then))
    }

    private func remember(_ type: String, _ then: @escaping (Answer) -> Void) -> String {
        self.questions += 1
        let request = "r\(self.questions)"
        self.open[request] = Question(number: self.questions, at: self.machine.now, then: then)
        self.world.trace("\(self.person.name) asks \(request): \(type)")
        return request
    }

    /// Writes a frame that is answered only by errors.
    func write(_ frame: some ClientFrame, request: String) {
        let token = self.token.map { self.isGuest ? ClientToken.guest($0) : .session($0) }
        self.line?.send(frame.text(requestID: request, token: token))
    }

    /// Runs `body` after a pause, unless the connection has changed by then.
    func after(_ pause: Int64, _ body: @escaping () -> Void) {
        let number = self.lineNumber
        self.machine.after(pause) { [unowned self] in
            guard self.lineNumber == number, self.isOnline else { return }
            body()
            self.moveOn()
        }
    }

    /// Every question has an answer in time, if only INTERNAL_ERROR.
    private func lookAtQuestions() {
        for (request, question) in self.open where self.machine.now - question.at > World.answerMax {
            if self.world.mustAnswer(since: question.at, on: self.line) {
                self.world.record.fault(
                    "\(self.person.name) has had no answer to \(request) in \(World.answerMax / .seconds(1)) s")
            }
            return self.hangUp(rest: 0)
        }
    }

    // MARK: Hearing

    private func read(_ bytes: [UInt8]) {
        do throws(FrameDecoder.Failure) {
            self.read(try ServerMessage(bytes))
            self.moveOn()
        } catch {
            self.world.record.fault("\(self.person.name) cannot read a frame: \(error.violation)")
        }
    }

    private func read(_ message: ServerMessage) {
        let question = message.requestID.flatMap { self.open.removeValue(forKey: $0) }
        guard let error = message.frame as? ErrorFrame else {
            guard let frame = message.frame else { return }
            self.answered = question?.number
            self.take(frame)
            self.answered = nil
            question?.then(.frame(frame))
            return
        }
        self.world.trace("\(self.person.name) hears \(error.code) \(message.requestID ?? "")")
        guard let code = error.errorCode, let request = message.requestID else { return }
        if code == .notRegistered || code == .authFailed {
            self.token = nil
            return self.hangUp(rest: .milliseconds(300))
        }
        guard let question else {
            let pause = error.retryAfterMilliseconds.map { Duration.milliseconds($0) }
            return self.refused(request, code, retryAfter: pause)
        }
        question.then(.refused(code, retryAfter: .milliseconds(error.retryAfterMilliseconds ?? 0)))
    }

    // MARK: Time

    /// Writes the frames that are due, and wakes for the next.
    func moveOn() {
        guard self.isOnline, let next = self.pump() else { return }
        let at = self.machine.now + max((next - .now).nanoseconds, .milliseconds(1))
        if let wakeAt, wakeAt <= at, wakeAt > self.machine.now { return }
        self.wakeAt = at
        self.machine.after(at - self.machine.now) { [unowned self] in
            guard self.wakeAt == at else { return }
            self.wakeAt = nil
            self.moveOn()
        }
    }
}
