import Contract
import Foundation
import WhisperClient

/// A chat for pipes: each line of input is a message, each event a line of output.
struct LineChat {
    let client: WhisperClient
    let peer: Contact
    /// How long to listen on after the input ends.
    let linger: Duration

    private enum Input: Sendable {
        case line(String)
        case inputEnded
        case event(ClientEvent)
        case over
    }

    /// Reading stops while this many lines wait. The pipe keeps the rest.
    private static let inputsWaitingMax = 65_536

    func run() async throws -> StopReason? {
        let (inputs, continuation) = AsyncStream.makeStream(
            of: Input.self, bufferingPolicy: .bufferingOldest(Self.inputsWaitingMax))
        DispatchQueue(label: "standard-input").async {
            while let line = readLine() { continuation.yield(.line(line)) }
            continuation.yield(.inputEnded)
        }
        let events = await self.client.events()
        try await self.client.markRead(self.peer.id)
        let style = Style.output
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                for await event in events { continuation.yield(.event(event)) }
                continuation.yield(.over)
            }
            defer { group.cancelAll() }
            for await input in inputs {
                switch input {
                case .line(let line):
                    guard !line.trimmed.isEmpty else { continue }
                    do throws(SendError) {
                        _ = try await self.client.send(line, to: self.peer.id)
                    } catch {
                        Self.say(describe(error))
                    }
                case .inputEnded:
                    let linger = self.linger
                    group.addTask {
                        try await Task.sleep(for: linger)
                        continuation.yield(.over)
                    }
                case .over: return nil
                case .event(.connection(.stopped(let reason))): return reason
                case .event(let event):
                    if let line = self.line(event, style) { Self.say(line) }
                    if case .received(let message) = event, message.peer == self.peer.id {
                        try await self.client.markRead(self.peer.id)
                    }
                }
            }
            return nil
        }
    }

    private func line(_ event: ClientEvent, _ style: Style) -> String? {
        switch event {
        case .received(let message):
            return transcript(message, name: message.peer == self.peer.id ? self.peer.shownName : "\(message.peer)", style)
        case .changed(let message):
            guard message.state != .sending, message.state != .queued else { return nil }
            return transcript(message, name: "", style)
        case .connection(.online): return "● online"
        case .connection(.away(let why, _)): return "○ away: \(why)"
        case .alarm(let alarm): return describe(alarm) { "\($0)" }
        case .backup(let news): return describe(news)
        case .connection, .caughtUp, .newContact, .restored: return nil
        }
    }

    private static func say(_ line: String) {
        print(line)
        fflush(nil)
    }
}
