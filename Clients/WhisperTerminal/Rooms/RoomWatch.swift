import Contract
import Dispatch
import Glibc
import WhisperClient

/// Shows who comes and goes in a room, for people. There is no WebRTC stack here: nothing is exchanged.
struct RoomWatch {
    let client: WhisperClient
    let room: UUIDText
    /// Of links.
    let origin: String

    /// Runs until Ctrl-C, or until the room is over.
    func run(_ events: AsyncStream<ClientEvent>) async -> RoomEnd {
        let (interrupts, interrupted) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        signal(SIGINT, SIG_IGN)
        let signals = DispatchSource.makeSignalSource(signal: SIGINT)
        signals.setEventHandler { interrupted.yield() }
        signals.resume()
        defer { signals.cancel() }
        let end = await withTaskGroup(of: RoomEnd?.self) { group in
            group.addTask { await self.show(events) }
            group.addTask {
                for await _ in interrupts { return .left }
                return nil
            }
            defer { group.cancelAll() }
            return await group.next() ?? nil
        }
        if case .left? = end { try? await self.client.leaveRoom(self.room) }
        return end ?? .left
    }

    private func show(_ events: AsyncStream<ClientEvent>) async -> RoomEnd? {
        // What came while the room was entered may be among the events as well: saying it twice is harmless.
        var said: RoomView?
        if let view = await self.client.room(self.room) { self.say(view, after: &said) }
        for await event in events {
            switch event {
            case .connection(.stopped(let reason)): return .stopped(reason)
            case .connection(.away(let why, _)): printLine("○ away: \(why)")
            case .room(self.room, .shown(let view)): self.say(view, after: &said)
            case .room(self.room, .told(let event, let participant)):
                printLine(
                    describe(event, participant.map { "\($0)" } ?? "", isOwn: participant == said?.own))
            case .room(self.room, .forged(let participant)):
                printLine("DANGER: the server gave keys for \(participant) that are not theirs. They were refused.")
            case .room(self.room, .over(let end)): return .over(end)
            default: break
            }
        }
        return nil
    }

    /// What is new.
    private func say(_ view: RoomView, after said: inout RoomView?) {
        defer { said = view }
        if said == nil {
            printLine("Room: \(view.room.room)")
            if let link = view.link(origin: self.origin) { printLine("Link: \(link.text)") }
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
