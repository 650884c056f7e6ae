import Contract
import Dispatch
import TestKit
import Testing

@testable import WhisperClient
@testable import WhisperCore
@testable import WhisperTerminal

/// Commands that go through a daemon.
@Suite(.timeLimit(.minutes(2))) struct DaemonClientTests {
    let hosts: CoreHosts

    init() throws { self.hosts = try CoreHosts() }

    /// Talks to a core on a thread that may wait.
    private func talk<Value: Sendable>(
        _ core: Core, _ body: @escaping @Sendable (DaemonClient) throws -> Value
    ) async throws -> Value {
        core.leaveEventsToSeats()
        let seat = try #require(core.seat())
        return try await Blocking.run {
            Result { try body(try #require(DaemonClient.served(by: core, at: seat))) }
        }.get()
    }

    private var soon: DispatchTime { .now() + .seconds(30) }

    @Test func aVerbIsDoneAndTheServersAnswerWaitedFor() async throws {
        let ann = try await self.hosts.offline("ann")
        let bob = try await self.hosts.online("bob").id
        let deadline = self.soon
        let (contacts, isOnline) = try await self.talk(ann.core) { client in
            #expect(try !client.isOnline())
            try client.goOnline(until: deadline)
            let added = try client.result("contact_add", Array("{\n\"whisperId\":\"\(bob)\"\n}".utf8), until: deadline)
            #expect(try JSON(parsing: added)["type"]?.string == "contact")
            return (try client.contacts(), try client.isOnline())
        }
        #expect(contacts.map { "\($0.id)" } == [bob] && isOnline)
        await ann.core.close()
    }

    @Test func aMessageIsFollowed() async throws {
        let (ann, bob) = (try await self.hosts.online("ann"), try await self.hosts.online("bob").id)
        try await ann.ask(#"contact_add {"whisperId":"\#(bob)"}"#)
        let deadline = self.soon
        let id = try #require(WhisperID(bob))
        let state = try await self.talk(ann.core) { client -> MessageState? in
            let message = try #require(try client.send("hi", to: id))
            while let event = try client.event(until: deadline) {
                guard event.string("type") == "messageChanged", let changed = SentMessage(event["message"]),
                    changed.id == message.id, changed.state.isSettled || changed.state == .sent
                else { continue }
                return changed.state
            }
            return nil
        }
        #expect(state != nil)
        await ann.core.close()
    }

    @Test func aRefusalHasTheCoresCode() async throws {
        let ann = try await self.hosts.offline("ann")
        let deadline = self.soon
        let codes = try await self.talk(ann.core) { client in
            try [
                ("nothing", "{}"), ("chat_list", #"{"x":1}"#), ("chat_list", "[]"), ("chat_list", "{"),
                ("group_create", #"{"title":"a","members":[]}"#),
            ].map { verb, parameters in
                do {
                    _ = try client.result(verb, Array(parameters.utf8), until: deadline)
                    return ""
                } catch let refusal as DaemonClient.Refusal {
                    return "\(refusal.code) \(refusal.field ?? "") \(DoCommand.status(of: refusal.code))"
                }
            }
        }
        #expect(
            codes == [
                "unknownVerb  64", "invalidField x 64", "invalidCommand  64", "invalidCommand  64", "offline  69",
            ])
        #expect(DoCommand.status(of: "locked") == 77 && DoCommand.status(of: "unknownContact") == 65)
        #expect(DoCommand.status(of: "of a later release") == 65)
        await ann.core.close()
    }

    @Test func withoutADaemonNobodyIsFound() throws {
        let options = try ProfileOptions.parse(["--home", self.hosts.folder.path, "--profile", "ann"])
        #expect(options.daemonSocket == self.hosts.folder.path + "/.ann.socket")
        #expect(DaemonClient.connected(to: options.daemonSocket) == nil)
        let socket = try DaemonSocket(at: options.daemonSocket)
        #expect(DaemonClient.connected(to: options.daemonSocket) != nil)
        socket.close()
        #expect(DaemonClient.connected(to: options.daemonSocket) == nil)
    }
}
