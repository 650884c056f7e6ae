import Contract
import Dispatch
import Glibc
import TerminalText
import WhisperCore

/// A command's end of the daemon that serves its profile, or of a core in this process. It blocks its thread.
final class DaemonClient {
    /// Bytes of a line that is read: the longest answer.
    static let lineBytesMax = 8_388_608
    /// Events that wait until they are asked for. Beyond it the oldest go.
    static let eventsWaitingMax = 1_024
    /// How long an answer may take.
    static let answerTimeout: DispatchTimeInterval = .seconds(30)

    /// The daemon did not do it.
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

    private let descriptor: Int32
    private var waiting: [UInt8] = []
    private var events: [JSONMembers] = []
    private var number: Int64 = 0

    init(_ descriptor: Int32) { self.descriptor = descriptor }

    deinit { close(self.descriptor) }

    /// - Returns: `nil` if no daemon listens there.
    static func connected(to path: String) -> DaemonClient? {
        DaemonSocket.connected(to: path).map { DaemonClient($0) }
    }

    /// - Returns: an end of a core in this process; `nil` if there are no more descriptors. The session ends with it.
    static func served(by core: Core, at seat: CoreSeat) -> DaemonClient? {
        var ends: [Int32] = [0, 0]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0 else { return nil }
        let (served, ours) = (ends[0], ends[1])
        DispatchQueue(label: "whisper-core-requests").async {
            DaemonSession(core, at: seat, input: served, output: served) { shutdown(served, Int32(SHUT_RDWR)) }.serve()
            close(served)
        }
        return DaemonClient(ours)
    }

    /// Does a verb.
    /// - Parameter parameters: one JSON object. Line feeds in it are space.
    /// - Returns: the object of its result.
    /// - Throws: a `Refusal`, or a `Problem` if the daemon has gone.
    func ask(_ verb: String, _ parameters: [UInt8] = Array("{}".utf8)) throws -> [UInt8] {
        self.number += 1
        var json = JSONWriter()
        json.add("jsonrpc", "2.0")
        json.add("id", self.number)
        json.add("method", verb)
        json.add("params", json: parameters.map { $0 == 0x0A || $0 == 0x0D ? 0x20 : $0 })
        guard DaemonSession.write(json.finished() + [0x0A], to: self.descriptor) else { throw Self.gone }
        let deadline = DispatchTime.now() + Self.answerTimeout
        while let message = try self.message(until: deadline) {
            guard message["id"] != nil else {
                self.keep(message)
                continue
            }
            guard let error = message["error"] else { return message["result"] ?? Array("{}".utf8) }
            throw Self.refusal(error)
        }
        throw Problem("The daemon does not answer.")
    }

    /// Waits for an event.
    /// - Returns: its object; `nil` if the time is over.
    func event(until deadline: DispatchTime) throws -> JSONMembers? {
        while self.events.isEmpty {
            guard let message = try self.message(until: deadline) else { return nil }
            self.keep(message)
        }
        return self.events.removeFirst()
    }

    /// Connects, and waits for a session.
    /// - Throws: a `Refusal` with the code `offline` if the time is over before.
    func goOnline(until deadline: DispatchTime) throws {
        _ = try self.ask("connect")
        while let event = try self.event(until: deadline) {
            if event.string("type") == "connection", event.string("state") == "online" { return }
        }
        throw Refusal(code: "offline", message: "There is no session with the server.")
    }

    /// Does a verb, and waits for the server's answer if it asks the server.
    /// - Returns: the object of its result.
    func result(_ verb: String, _ parameters: [UInt8], until deadline: DispatchTime) throws -> [UInt8] {
        let result = try self.ask(verb, parameters)
        guard case .object(let members) = JSONText(result), members.string("type") == "asked",
            let request = members["request"]
        else { return result }
        while let event = try self.event(until: deadline) {
            guard event.string("type") == "answer", event["request"] == request else { continue }
            guard let error = event["error"] else { return event["result"] ?? Array("{}".utf8) }
            throw Self.refusal(error)
        }
        throw Problem("The server does not answer.")
    }

    // MARK: Lines

    private static let gone = Problem("The daemon has gone.")

    /// - Parameter error: of JSON-RPC, or as the core has it.
    private static func refusal(_ error: [UInt8]) -> Refusal {
        guard case .object(var members) = JSONText(error) else { return Refusal(code: "internal", message: "") }
        if let data = members["data"], case .object(let inner) = JSONText(data) { members = inner }
        return Refusal(
            code: members.string("code") ?? "invalidCommand", message: members.string("message") ?? "",
            field: members.string("field"))
    }

    private func keep(_ message: JSONMembers) {
        guard message.string("method") == "event", let parameters = message["params"],
            case .object(let envelope) = JSONText(parameters), let event = envelope["event"],
            case .object(let members) = JSONText(event)
        else { return }
        self.events.append(members)
        if self.events.count > Self.eventsWaitingMax { self.events.removeFirst() }
    }

    /// - Returns: `nil` if the time is over.
    private func message(until deadline: DispatchTime) throws -> JSONMembers? {
        while let line = try self.line(until: deadline) {
            if case .object(let members) = JSONText(line) { return members }
        }
        return nil
    }

    private func line(until deadline: DispatchTime) throws -> [UInt8]? {
        while true {
            if let end = self.waiting.firstIndex(of: 0x0A) {
                defer { self.waiting.removeSubrange(...end) }
                return Array(self.waiting[..<end])
            }
            guard self.waiting.count <= Self.lineBytesMax else { throw Problem("The daemon's answer is too long.") }
            let now = DispatchTime.now().uptimeNanoseconds
            let left = deadline.uptimeNanoseconds > now ? (deadline.uptimeNanoseconds - now) / 1_000_000 : 0
            var poll = pollfd(fd: self.descriptor, events: Int16(POLLIN), revents: 0)
            let ready = Glibc.poll(&poll, 1, Int32(min(left, 60_000)))
            if ready < 0, errno == EINTR { continue }
            if ready == 0 {
                guard DispatchTime.now() < deadline else { return nil }
                continue
            }
            var bytes = [UInt8](repeating: 0, count: 16_384)
            let count = read(self.descriptor, &bytes, bytes.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw Self.gone }
            self.waiting += bytes[..<count]
        }
    }
}
