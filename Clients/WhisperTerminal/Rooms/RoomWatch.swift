import Contract
import WhisperClient

/// Shows who comes and goes in a room, for people. There is no WebRTC stack here: nothing is exchanged.
struct RoomWatch {
    let room: EnteredRoom

    /// Shows the room until it is over, or until this task is cancelled, which is to leave.
    /// - Parameter events: of the core, from before the room was entered.
    /// - Throws: a `Problem` if the daemon has gone or was disconnected.
    func run(_ events: AsyncStream<ClientEvent>) async throws -> RoomEnd {
        // Changes from the time of entering may be among the events too: printing them twice is harmless.
        var said: RoomView?
        self.say(self.room.view, after: &said)
        for await event in events {
            switch event {
            case .connection(CoreClient.disconnected): throw CoreClient.ended
            case .connection(.stopped(let reason)): return .stopped(reason)
            case .connection(.away(let why, _)): printLine("○ away: \(why)")
            case .room(self.room.id, .shown(let view)): self.say(view, after: &said)
            case .room(self.room.id, .told(let event, let participant)):
                printLine(
                    describe(event, participant.map { "\($0)" } ?? "", isOwn: participant == said?.own))
            case .room(self.room.id, .forged(let participant)):
                printLine("DANGER: the server gave keys for \(participant) that are not theirs. They were refused.")
            case .room(self.room.id, .over(let end)): return .over(end)
            default: break
            }
        }
        guard Task.isCancelled else { throw CoreClient.gone }
        return .left
    }

    /// Prints the changes since `said`.
    private func say(_ view: RoomView, after said: inout RoomView?) {
        defer { said = view }
        if said == nil {
            printLine("Room: \(view.room.room)")
            if let link = self.room.link { printLine("Link: \(link)") }
        }
        if let code = view.code, code != said?.code { printLine("Code: \(code)") }
        for other in view.others where !(said?.others.contains { $0.seat == other.seat } ?? false) {
            if said == nil { printLine("\(other.isConnected ? "●" : "○") \(other.participant) is here.") }
            if let number = view.safetyNumber(with: other) {
                printLine("Safety number with \(other.participant): \(number)")
            }
        }
    }
}
