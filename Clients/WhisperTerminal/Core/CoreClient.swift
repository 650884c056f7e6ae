import Contract
import Dispatch
import Glibc
import Synchronization
import TerminalText
import WhisperClient
import WhisperCore

/// A command's end of a core: of the daemon that serves the profile, or of one in this process. It does verbs and tells of
/// events, so that a command is written once for both.
final class CoreClient: Sendable {
    /// Bytes of a line that is read: the longest answer.
    static let lineBytesMax = 8_388_608
    /// How long an answer may take.
    static let answerTimeout: DispatchTimeInterval = .seconds(30)

    /// The core did not do it.
    struct Refusal: Error {
        /// As `CoreError.code`.
        var code: String
        var message: String
        /// The parameter that is wrong, if one is.
        var field: String?

        /// One object, for scripts.
        var json: [UInt8] {
            var json = JSONWriter()
            json.add("code", self.code)
            json.add("message", self.message)
            json.add("field", self.field)
            return json.finished()
        }
    }

    /// A pending answer.
    private enum Question: Hashable {
        /// The answer to a line, by its `id`.
        case line(Int64)
        /// The server's answer, by the number of the request.
        case server(Int64)
    }

    private struct State {
        var number: Int64 = 0
        var waiting: [Question: CheckedContinuation<[UInt8], any Error>] = [:]
        /// Answers of the server that came before somebody waited for them: at most as many as requests are under way.
        var early: [Question: Result<[UInt8], any Error>] = [:]
        var subscribers: [Int64: AsyncStream<ClientEvent>.Continuation] = [:]
        var status: ConnectionStatus?
        /// The mail that waited has been fetched on this connection.
        var isCaughtUp = false
        var isGone = false
    }

    /// Whether the core is in this process. Then nobody else connects it, and it ends with the command.
    let isHere: Bool
    private let descriptor: Int32
    private let state = Mutex(State())
    /// Lines are written, and the descriptor is closed, one after the other. Writing may block.
    private let writing = DispatchQueue(label: "whisper-core-lines")

    private init(_ descriptor: Int32, isHere: Bool) {
        (self.descriptor, self.isHere) = (descriptor, isHere)
        DispatchQueue(label: "whisper-core-answers").async { self.read() }
    }

    /// - Returns: `nil` if no daemon listens there.
    static func connected(to path: String) -> CoreClient? {
        DaemonSocket.connected(to: path).map { CoreClient($0, isHere: false) }
    }

    /// - Returns: an end of a core in this process; `nil` if there are no more descriptors. The session ends with it.
    static func served(by core: Core, at seat: CoreSeat) -> CoreClient? {
        var ends: [Int32] = [0, 0]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0 else { return nil }
        let (served, ours) = (ends[0], ends[1])
        DispatchQueue(label: "whisper-core-requests").async {
            DaemonSession(core, at: seat, input: served, output: served) { shutdown(served, Int32(SHUT_RDWR)) }.serve()
            Glibc.close(served)
        }
        return CoreClient(ours, isHere: true)
    }

    /// Nothing is asked from here on, and all events end. To be called in the end.
    func close() {
        self.writing.async {
            if !self.state.withLock({ $0.isGone }) { shutdown(self.descriptor, Int32(SHUT_RDWR)) }
        }
    }

    // MARK: Verbs

    /// Does a verb.
    /// - Parameter parameters: one JSON object. Line feeds in it are space.
    /// - Returns: the object of its result.
    /// - Throws: a `Refusal`, or a `Problem` if the daemon has gone.
    @discardableResult
    func ask(_ verb: String, _ parameters: [UInt8] = Array("{}".utf8)) async throws -> [UInt8] {
        let number = self.state.withLock { state in
            state.number += 1
            return state.number
        }
        var json = JSONWriter()
        json.add("jsonrpc", "2.0")
        json.add("id", number)
        json.add("method", verb)
        json.add("params", json: parameters.map { $0 == 0x0A || $0 == 0x0D ? 0x20 : $0 })
        let line = json.finished()
        guard line.count <= JSONRPC.lineBytesMax else {
            throw Refusal(code: CoreError.Code.tooLong.rawValue, message: CoreError.Code.tooLong.about)
        }
        return try await self.answer(
            to: .line(number), until: .now() + Self.answerTimeout, late: "The daemon does not answer."
        ) {
            self.writing.async {
                guard !self.state.withLock({ $0.isGone }) else { return }
                DaemonSession.write(line + [0x0A], to: self.descriptor)
            }
        }
    }

    /// Does a verb, and waits for the server's answer if it asks the server.
    /// - Returns: the object of its result.
    func result(_ verb: String, _ parameters: [UInt8], until deadline: DispatchTime) async throws -> [UInt8] {
        let result = try await self.ask(verb, parameters)
        guard case .object(let members) = JSONText(result), members.string("type") == "asked",
            let request = members.integer("request")
        else { return result }
        return try await self.answer(to: .server(request), until: deadline, late: "The server does not answer.") {}
    }

    /// Connects, and waits for a session.
    /// - Throws: a `Refusal` with the code `offline` if the time is over before.
    func goOnline(until deadline: DispatchTime) async throws {
        // How the connection before ended is no answer.
        self.state.withLock { if case .stopped = $0.status { $0.status = nil } }
        let events = self.events()
        try await self.ask("connect")
        let now = DispatchTime.now().uptimeNanoseconds
        let left = deadline.uptimeNanoseconds > now ? deadline.uptimeNanoseconds - now : 0
        enum End: Sendable { case online, stopped(StopReason) }
        let end = await first(in: events, within: .nanoseconds(Int64(clamping: left))) { event -> End? in
            switch event {
            case .connection(.online): .online
            case .connection(.stopped(let reason)): .stopped(reason)
            default: nil
            }
        }
        switch end {
        case .online: return
        case .stopped(let reason):
            let code = if case .banned = reason { CoreError.Code.banned } else { CoreError.Code.offline }
            throw Refusal(code: code.rawValue, message: describe(reason))
        case nil:
            throw Refusal(code: CoreError.Code.offline.rawValue, message: "There is no session with the server.")
        }
    }

    /// Does a verb for a command that ends behind it. A core in this process connects if the server is asked, or is to have what
    /// was written: nobody else may come for a long time. A daemon connects when one of its programs asks.
    /// - Returns: the object of its result, and whether something that the verb has written waits here.
    func perform(
        _ verb: String, _ parameters: [UInt8], until deadline: DispatchTime
    ) async throws -> (result: [UInt8], waits: Bool) {
        guard self.isHere, let known = VerbCatalogue.all.first(where: { $0.name == verb }), !known.isReadOnly,
            known.needsIdentity
        else { return (try await self.result(verb, parameters, until: deadline), false) }
        if known.asksServer { try await self.goOnline(until: deadline) }
        let before = try await self.owed()
        let result = try await self.result(verb, parameters, until: deadline)
        let after = try await self.owed()
        guard after.messages > before.messages || after.readMarks && !before.readMarks else { return (result, false) }
        do {
            try await self.goOnline(until: deadline)
        } catch is Refusal {
            return (result, true)
        }
        while true {
            // Earlier ones may go first.
            let owed = try await self.owed()
            guard owed.messages > 0 || owed.readMarks else { return (result, false) }
            guard DispatchTime.now() < deadline else { return (result, true) }
            try await Task.sleep(for: Self.lookEvery)
        }
    }

    private static let lookEvery = Duration.milliseconds(50)

    /// The number of our messages and changes that the server has yet to get, and whether read marks wait.
    private func owed() async throws -> (messages: Int64, readMarks: Bool) {
        guard case .object(let info) = JSONText(try await self.ask("store_info")) else { throw Self.strange }
        return (info.integer("unsettled") ?? 0, info.bool("owesReadMarks") ?? false)
    }

    /// Connects a core in this process. A daemon does so when one of its programs asks.
    func connectIfHere() async throws {
        if self.isHere { try await self.ask("connect") }
    }

    // MARK: Events

    /// Events from now on, starting with the state of the connection, if it is known. Ends when the core has gone.
    /// A subscriber that falls behind loses the oldest events; the store has everything.
    func events() -> AsyncStream<ClientEvent> {
        let (events, continuation) = AsyncStream.makeStream(
            of: ClientEvent.self, bufferingPolicy: .bufferingNewest(ClientLimits.eventsWaitingMax))
        let number = self.state.withLock { state -> Int64? in
            guard !state.isGone else { return nil }
            state.number += 1
            state.subscribers[state.number] = continuation
            if let status = state.status { continuation.yield(.connection(status)) }
            if state.isCaughtUp { continuation.yield(.caughtUp) }
            return state.number
        }
        guard let number else {
            continuation.finish()
            return events
        }
        continuation.onTermination = { [weak self] _ in
            _ = self?.state.withLock { $0.subscribers.removeValue(forKey: number) }
        }
        return events
    }

    /// Asks how the connection of a daemon is, which has told its changes to others before.
    func learnStatus() async throws {
        guard case .object(let members) = JSONText(try await self.ask("session_status")) else { return }
        let status: ConnectionStatus =
            if members.bool("isOnline") == true {
                .online
            } else if members.bool("isConnecting") == true {
                .connecting
            } else if members.bool("isBanned") == true {
                .stopped(.banned(until: members.integer("bannedUntil").map { Timestamp(milliseconds: $0) }))
            } else {
                Self.disconnected
            }
        self.state.withLock { state in
            if state.status == nil { state.status = status }
        }
    }

    /// A daemon connects when one of its programs asks for it.
    static let disconnected = ConnectionStatus.away(why: "the daemon is not connected", retryIn: .zero)

    private func tell(_ event: ClientEvent) {
        var event = event
        // The daemon goes on, and may connect again.
        if !self.isHere, event == .connection(.stopped(.closed)) { event = .connection(Self.disconnected) }
        let subscribers = self.state.withLock { state in
            switch event {
            case .connection(let status): (state.status, state.isCaughtUp) = (status, false)
            case .caughtUp: state.isCaughtUp = true
            default: break
            }
            return Array(state.subscribers.values)
        }
        for subscriber in subscribers { subscriber.yield(event) }
    }

    // MARK: Lines

    static let gone = Problem("The daemon has gone.")
    /// To commands that had the daemon keep something open. That is over when a program has it disconnect.
    static let ended = Problem("The daemon is not connected. `whisper do connect` has it connect.")

    /// - Parameter start: is called once the answer is waited for.
    private func answer(
        to question: Question, until deadline: DispatchTime, late: String, start: () -> Void
    ) async throws -> [UInt8] {
        try await withCheckedThrowingContinuation { continuation in
            let known = self.state.withLock { state -> Result<[UInt8], any Error>? in
                if let early = state.early.removeValue(forKey: question) { return early }
                if state.isGone { return .failure(Self.gone) }
                state.waiting[question] = continuation
                return nil
            }
            if let known { return continuation.resume(with: known) }
            start()
            DispatchQueue.global().asyncAfter(deadline: deadline) { [weak self] in
                self?.settle(question, .failure(Problem(late)), isKept: false)
            }
        }
    }

    /// - Parameter isKept: whether it is for somebody who does not wait yet.
    private func settle(_ question: Question, _ answer: Result<[UInt8], any Error>, isKept: Bool) {
        let waiting = self.state.withLock { state in
            let waiting = state.waiting.removeValue(forKey: question)
            if waiting == nil, isKept, state.early.count < CoreLimits.requestsUnderWayMax {
                state.early[question] = answer
            }
            return waiting
        }
        waiting?.resume(with: answer)
    }

    /// Returns when the core has gone. It blocks its thread.
    private func read() {
        var lines = RequestLines(self.descriptor, bytesMax: Self.lineBytesMax)
        while let line = lines.next() {
            if case .text(let text) = line, case .object(let message) = JSONText(text) { self.take(message) }
        }
        let (waiting, subscribers) = self.state.withLock { state in
            state.isGone = true
            defer { (state.waiting, state.subscribers) = ([:], [:]) }
            return (Array(state.waiting.values), Array(state.subscribers.values))
        }
        for continuation in waiting { continuation.resume(throwing: Self.gone) }
        for subscriber in subscribers { subscriber.finish() }
        self.writing.async { Glibc.close(self.descriptor) }
    }

    private func take(_ message: JSONMembers) {
        if message["id"] != nil {
            // Requests are answered in their order. A line that could not be read is answered without its number.
            guard let number = message.integer("id") ?? self.oldestLine else { return }
            return self.settle(.line(number), Self.result(of: message), isKept: false)
        }
        guard message.string("method") == "event", let event = message.object("params")?.object("event") else { return }
        if event.string("type") == "answer", let request = event.integer("request") {
            return self.settle(.server(request), Self.result(of: event), isKept: true)
        }
        // A daemon's log is for its own programs: only a core in this process prints.
        if event.string("type") == "log", self.isHere { return Self.print(event) }
        if let event = ClientEvent(event) { self.tell(event) }
    }

    private var oldestLine: Int64? {
        self.state.withLock { state in
            state.waiting.keys.compactMap { if case .line(let number) = $0 { number } else { nil } }.min()
        }
    }

    private static func print(_ log: JSONMembers) {
        let facts = log.objects("facts").map { " \($0.string("name") ?? "")=\($0.string("value") ?? "")" }.joined()
        let line = "\(log.string("level") ?? ""): \(log.string("message") ?? "")\(facts)"
        DaemonSession.write(Array("\(harmlessLine(line))\n".utf8), to: STDERR_FILENO)
    }

    private static func result(of members: JSONMembers) -> Result<[UInt8], any Error> {
        guard let error = members.object("error") else { return .success(members["result"] ?? Array("{}".utf8)) }
        // The error inside a JSON-RPC error, or an error as the core writes it.
        let inner = error.object("data") ?? error
        return .failure(
            Refusal(
                code: inner.string("code") ?? CoreError.Code.invalidCommand.rawValue,
                message: inner.string("message") ?? "", field: inner.string("field")))
    }
}
