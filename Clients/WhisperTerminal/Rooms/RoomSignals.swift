import Contract
import FoundationEssentials
import Glibc
import TerminalText
import WhisperClient
import WhisperCore

/// A room for a WebRTC stack that runs beside this program: JSON on standard output says what the stack is to do, JSON on standard
/// input says what has come of it (docs/rooms.md). The end of the input leaves the room.
struct RoomSignals {
    let core: CoreClient
    let room: EnteredRoom

    var lines = ReadAhead(label: "standard-input", waitingMax: Self.linesWaitingMax) { readLine() }
    var say: @Sendable (String) -> Void = { printLine(isatty(STDOUT_FILENO) == 1 ? harmlessJSON($0) : $0) }

    /// Lines that are read before they are handled. The pipe keeps the rest.
    private static let linesWaitingMax = 64

    /// Serves the stack until the room is over, the input ends, or this task is cancelled. The last two are to leave.
    /// - Parameter events: of the core, from before the room was entered.
    /// - Throws: a `Problem` if the daemon has gone or was disconnected.
    func run(_ events: AsyncStream<ClientEvent>) async throws -> RoomEnd {
        try await withThrowingTaskGroup(of: RoomEnd.self) { group in
            group.addTask { try await self.read() }
            group.addTask { try await self.show(events) }
            defer { group.cancelAll() }
            return try await group.next() ?? .left
        }
    }

    private func read() async throws -> RoomEnd {
        for await line in self.lines {
            guard let report = SignalLine.Report(line) else {
                self.say(SignalLine.text(SignalLine.Error(message: "a line is not understood")))
                continue
            }
            do {
                try await self.core.report(report.report, of: report.peer, number: report.link, in: self.room.id)
            } catch let refusal as CoreClient.Refusal {
                // A room that is over has said so.
                guard CoreError.Code(rawValue: refusal.code) != .notFound else { continue }
                self.say(SignalLine.text(SignalLine.Error(message: "a report is not taken: \(refusal.message)")))
            }
        }
        return .left
    }

    private func show(_ events: AsyncStream<ClientEvent>) async throws -> RoomEnd {
        self.say(self.room.view)
        for await event in events {
            switch event {
            case .connection(CoreClient.disconnected): throw CoreClient.ended
            case .connection(.stopped(let reason)): return .stopped(reason)
            case .connection(.online): self.say(SignalLine.text(SignalLine.Connection(isOnline: true)))
            case .connection(.away): self.say(SignalLine.text(SignalLine.Connection(isOnline: false)))
            case .room(self.room.id, .shown(let view)): self.say(view)
            case .room(self.room.id, .told(let event, let participant)):
                let line = SignalLine.Event(event: event.rawValue, participant: participant.map { "\($0)" })
                self.say(SignalLine.text(line))
            case .room(self.room.id, .link(let peer, let number, let order)):
                self.say(SignalLine.text(SignalLine.Order(order, peer: peer, link: number)))
            case .room(self.room.id, .forged(let participant)):
                self.say(SignalLine.text(SignalLine.Error(message: "forged keys of \(participant)")))
            case .room(self.room.id, .over(let end)):
                self.say(SignalLine.text(SignalLine.Over(end)))
                return .over(end)
            default: break
            }
        }
        guard Task.isCancelled else { throw CoreClient.gone }
        return .left
    }

    private func say(_ view: RoomView) { self.say(SignalLine.text(SignalLine.Room(view, link: self.room.link))) }
}

/// The lines that a WebRTC stack reads and writes (docs/rooms.md). Names are part of it.
enum SignalLine {
    static func text(_ line: some Encodable) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Our own plain values: encoding them cannot fail.
        return String(decoding: try! encoder.encode(line), as: UTF8.self)
    }

    // MARK: To the stack

    struct Room: Encodable {
        struct Participant: Encodable {
            var participant: String
            var seat: Int
            var isConnected: Bool
            var isHost: Bool
            var isLinked: Bool
            var isOwn: Bool
            var safetyNumber: String?
        }

        struct Turn: Encodable {
            var urls: [String]
            var username: String
            var credential: String
            var ttl: Int64
        }

        var type = "room"
        var roomId: String
        var revision: Int64
        var participantsMax: Int
        var code: String?
        var link: String?
        var participants: [Participant]
        /// Absent while nobody else has had a seat.
        var turn: Turn?

        init(_ view: RoomView, link: String?) {
            self.roomId = "\(view.room.room)"
            self.revision = view.room.revision
            self.participantsMax = view.room.participantsMax
            self.code = view.code
            self.link = link
            self.participants = view.room.participants.map { participant in
                let isOwn = participant.participant == view.own
                return Participant(
                    participant: "\(participant.participant)", seat: participant.seat,
                    isConnected: participant.isConnected, isHost: participant.participant == view.room.host,
                    isLinked: view.linked.contains(participant.participant), isOwn: isOwn,
                    safetyNumber: isOwn ? nil : view.safetyNumber(with: participant))
            }
            self.turn = view.turn.map { turn in
                Turn(
                    urls: turn.urls, username: turn.username,
                    credential: String(decoding: Base64.encode(turn.credential), as: UTF8.self), ttl: turn.ttl)
            }
        }
    }

    struct Order: Encodable {
        var type: String
        var peer: String
        var link: Int
        var sdp: String?
        var isFresh: Bool?
        var candidate: RoomCandidate?

        init(_ order: LinkOrder, peer: PrincipalID, link: Int) {
            (self.peer, self.link) = ("\(peer)", link)
            switch order {
            case .offer: self.type = "offer"
            case .accept(let sdp, let isFresh): (self.type, self.sdp, self.isFresh) = ("accept", sdp, isFresh)
            case .answer(let sdp): (self.type, self.sdp) = ("answer", sdp)
            case .candidate(let candidate): (self.type, self.candidate) = ("candidate", candidate)
            case .drop: self.type = "drop"
            }
        }
    }

    struct Event: Encodable {
        var type = "event"
        var event: String
        var participant: String?
    }

    struct Connection: Encodable {
        var type = "connection"
        var isOnline: Bool
    }

    struct Over: Encodable {
        var type = "over"
        var reason: String

        init(_ end: MeshMachine.End) {
            self.reason =
                switch end {
                case .left: "left"
                case .closed: "closed"
                case .removed: "removed"
                case .notFound: "notFound"
                case .broken: "broken"
                }
        }
    }

    struct Error: Encodable {
        var type = "error"
        var message: String
    }

    // MARK: From the stack

    struct Report {
        let peer: PrincipalID
        let link: Int
        let report: LinkReport

        private struct Text: Decodable {
            var type: String
            var peer: String
            var link: Int
            var sdp: String?
            var candidate: RoomCandidate?
        }

        /// - Returns: `nil` if it is no such line.
        init?(_ line: String) {
            guard let text = try? JSONDecoder().decode(Text.self, from: Data(line.utf8)),
                let peer = PrincipalID(text.peer)
            else { return nil }
            switch (text.type, text.sdp, text.candidate) {
            case ("offer", let sdp?, nil): self.report = .offer(sdp)
            case ("answer", let sdp?, nil): self.report = .answer(sdp)
            case ("candidate", nil, let candidate?): self.report = .candidate(candidate)
            case ("connected", nil, nil): self.report = .connected
            case ("failed", nil, nil): self.report = .failed
            default: return nil
            }
            (self.peer, self.link) = (peer, text.link)
        }
    }
}
