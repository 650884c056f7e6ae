import Contract
import Dispatch
import Glibc
import TerminalText
import TestKit
import Testing

@testable import WhisperClient
@testable import WhisperCore
@testable import WhisperTerminal

/// Requests of commands to a core, and the answers.
@Suite(.timeLimit(.minutes(20))) struct CoreClientTests {
    let hosts: CoreHosts

    init() throws { self.hosts = try CoreHosts() }

    /// Talks to a core as a command does that found no daemon.
    private func talk<Value: Sendable>(
        _ core: Core, _ body: (CoreClient) async throws -> Value
    ) async throws -> Value {
        let client = try CoreClient.of(core)
        defer { client.close() }
        return try await body(client)
    }

    private var soon: DispatchTime { .now() + .seconds(30) }

    @Test func aVerbIsDoneAndTheServersAnswerWaitedFor() async throws {
        let ann = try await self.hosts.offline("ann")
        let bob = try await self.hosts.online("bob").id
        let deadline = self.soon
        let contacts = try await self.talk(ann.core) { client in
            try await client.goOnline(until: deadline)
            let added = try await client.result(
                "contact_add", Array("{\n\"whisperId\":\"\(bob)\"\n}".utf8), until: deadline)
            #expect(try JSON(parsing: added)["type"]?.string == "contact")
            return try await client.contacts()
        }
        #expect(contacts.map { "\($0.id)" } == [bob])
        await ann.core.close()
    }

    @Test func aMessageIsFollowed() async throws {
        let (ann, bob) = (try await self.hosts.online("ann"), try await self.hosts.online("bob").id)
        try await ann.ask(#"contact_add {"whisperId":"\#(bob)"}"#)
        let id = try #require(WhisperID(bob))
        try await self.talk(ann.core) { client in
            let events = client.events()
            let message = try await client.send("hi", to: .direct(id))
            #expect(message.content == .text("hi") && message.peer == id)
            let state = await first(in: events, within: .seconds(30)) { event -> MessageState? in
                guard case .changed(let changed) = event, changed.id == message.id, changed.state != .sending else {
                    return nil
                }
                return changed.state == .queued ? nil : changed.state
            }
            #expect(state != nil)
            // It may have been delivered since.
            let asked = try await client.outgoing(message.id).state
            #expect(asked == state || asked == .delivered)
        }
        await ann.core.close()
    }

    /// How the connection is, and that the mail has come, is known to whoever asks later.
    @Test func whoComesLaterIsToldHowTheConnectionIs() async throws {
        let ann = try await self.hosts.offline("ann")
        try await self.talk(ann.core) { client in
            try await client.goOnline(until: self.soon)
            #expect(await first(in: client.events(), within: .seconds(30)) { $0 == .caughtUp ? true : nil } == true)
            var told: [ClientEvent] = []
            for await event in client.events().prefix(2) { told.append(event) }
            #expect(told == [.connection(.online), .caughtUp])
            try await client.ask("disconnect")
            #expect(
                await first(in: client.events(), within: .seconds(30)) {
                    $0 == .connection(.stopped(.closed)) ? true : nil
                } == true)
        }
        await ann.core.close()
    }

    /// It goes on, and may connect again.
    @Test func aDaemonThatDisconnectsIsAway() async throws {
        let ann = try await self.hosts.online("ann")
        let client = try CoreClient.beside(ann.core, at: self.hosts.folder.path + "/socket")
        defer { client.close() }
        try await client.learnStatus()
        #expect(await first(in: client.events(), within: .seconds(30)) { $0 } == .connection(.online))
        try await client.ask("disconnect")
        let isAway = await first(in: client.events(), within: .seconds(30)) { event -> Bool? in
            switch event {
            case .connection(.away): true
            case .connection(.stopped): false
            default: nil
            }
        }
        #expect(isAway == true)
        // A command that comes now hears of it, too.
        let next = try CoreClient.beside(ann.core, at: self.hosts.folder.path + "/next")
        defer { next.close() }
        try await next.learnStatus()
        await #expect(throws: Problem.self) { try await waitUntilOnline(next.events(), within: .seconds(30)) }
        await ann.core.close()
    }

    @Test func whatIsUnderWayFailsWhenTheCoreHasGone() async throws {
        let ann = try await self.hosts.offline("ann")
        let client = try CoreClient.of(ann.core)
        let events = client.events()
        await ann.core.close()
        for await _ in events {}
        await #expect(throws: Problem.self) { try await client.ask("chat_list") }
        for await _ in client.events() { Issue.record("an event of a core that has gone") }
    }

    @Test func eventsAreReadAsTheyAreWritten() throws {
        func message(_ direction: Message.Direction, _ content: Message.Content, groupID: String? = nil) -> Message {
            Message(
                id: .random(), peer: bobID, groupID: groupID, direction: direction, content: content,
                time: Timestamp(milliseconds: 1_767_225_600_000))
        }
        var file = message(.incoming(isRead: true), .text(""))
        file.attachment = Attachment(
            details: FileDetails(name: "a.png", type: "image/png", size: 9), state: .failed(.gone))
        file.isEdited = true
        var stranger = Contact(
            id: bobID, name: nil, keys: IdentityKeys(bobWords).publicKeys, isBanned: true,
            addedAt: Timestamp(milliseconds: 7))
        stranger.isStranger = true
        let events: [ClientEvent] = [
            .received(message(.incoming(isRead: false), .text("hi"), groupID: "grp-x")), .received(file),
            .received(message(.incoming(isRead: false), .other(kind: "text", body: [0xFF]))),
            .changed(message(.outgoing(.failed(.cancelled)), .deleted)),
            .changed(message(.outgoing(.expired), .unreadable)), .request(stranger), .caughtUp,
            .connection(.away(why: "no answer", retryIn: .milliseconds(300))), .connection(.stopped(.replaced)),
            .restored(added: 3, missing: 1), .backup(.refused(status: 507)), .backup(.tooLarge(bytes: 8)),
            .alarm(.changedKeys(of: bobID)),
            .alarm(.suspiciousMail(Suspicion(sender: bobID, reason: .stale), count: 4)),
        ]
        for event in events {
            let text = try #require(EventText.event(event, account: nil))
            guard case .object(let envelope) = JSONText(text) else { throw CancellationError() }
            #expect(envelope.object("event").flatMap { ClientEvent($0) } == event)
        }
    }

    @Test func newsOfLiveConversationsAreReadAsTheyAreWritten() throws {
        for (news, _) in LiveVerbTests.news {
            let text = EventText.event(
                LiveVerbTests.id, news, origin: "https://chat.example", account: nil)
            guard let text, case .object(let envelope) = JSONText(text) else { throw CancellationError() }
            #expect(envelope.object("event").flatMap { ClientEvent($0) } == .live(LiveVerbTests.id, news))
        }
    }

    @Test func newsOfRoomsAreReadAsTheyAreWritten() throws {
        let (room, own, bob) = (UUIDText.random(), PrincipalID.identity(aliceWords.id), PrincipalID.identity(bobID))
        func participant(_ id: PrincipalID, _ seat: Int, _ via: RoomParticipant.Way) -> RoomParticipant {
            let keys = IdentityKeys(bobWords).publicKeys
            return RoomParticipant(
                participant: id, seat: seat, via: via, isConnected: seat == 1, joinedAt: Timestamp(milliseconds: 7),
                signPublicKey: keys.sign, encPublicKey: keys.box)
        }
        let view = RoomView(
            room: RoomState(
                room: room, host: own, participantsMax: 3, isLocked: true, revision: 4, phase: .accepted,
                expiresAt: Timestamp(milliseconds: 9),
                participants: [participant(own, 1, .creator), participant(bob, 2, .link)]),
            own: own, code: "402917", codeExpiresAt: Timestamp(milliseconds: 8),
            secret: [UInt8](repeating: 3, count: 16),
            turn: TurnCredentialsFrame(
                urls: ["turn:a.example", #"stun:"\"#], username: "b", credential: [UInt8](repeating: 5, count: 20),
                ttl: 6),
            linked: [bob], links: [bob: 3])
        var alone = view
        (alone.code, alone.codeExpiresAt, alone.secret, alone.linked, alone.links) = (nil, nil, nil, [], [bob: 0])
        let address = RoomCandidate(candidate: "", sdpMLineIndex: 0, sdpMid: nil)
        let orders: [LinkOrder] = [
            .offer, .accept("v=0\r\n", isFresh: true), .answer("v=0"), .candidate(address), .drop,
        ]
        let ends: [MeshMachine.End] = [.left, .closed, .removed, .notFound, .broken]
        let news: [RoomNews] =
            [.shown(view), .shown(alone), .told(.joined, bob), .told(.closed, nil), .forged(bob)]
            + orders.map { .link(bob, number: 3, $0) } + ends.map { .over($0) } + self.newsOfTalk(bob)
        for news in news {
            let text = EventText.event(room, news, origin: "https://chat.example", account: nil)
            guard case .object(let envelope) = JSONText(text) else { throw CancellationError() }
            #expect(envelope.object("event").flatMap { ClientEvent($0) } == .room(room, news))
        }
    }

    private func newsOfTalk(_ bob: PrincipalID) -> [RoomNews] {
        let id = UUIDText.random()
        let plain = TalkMessage(id: id, time: Timestamp(milliseconds: 7), text: "\"\n")
        let answer = TalkMessage(id: id, time: Timestamp(milliseconds: 8), text: "", answered: .random())
        return TalkMachine.Channel.allCases.map { .data(bob, number: 3, $0, #"{"t":"bye"}"#) }
            + TalkMachine.State.allCases.map { .messageState(id, bob, $0) }
            + [.message(bob, name: "Bob", plain), .message(bob, name: nil, answer)]
            + [
                .person(bob, TalkPerson(name: "Bob", isPlain: true, isFull: false)),
                .person(bob, TalkPerson(name: nil, isPlain: false, isFull: true)),
            ]
    }

    /// A command that has entered a room is alone with it among commands, and leaves it when it ends.
    @Test func aRoomHasOneCommand() async throws {
        let ann = try await self.hosts.online("ann")
        let one = try CoreClient.beside(ann.core, at: self.hosts.folder.path + "/one")
        let two = try CoreClient.beside(ann.core, at: self.hosts.folder.path + "/two")
        defer { two.close() }
        let room = try await one.enter(.new(RoomWish(secret: .random())))
        #expect(room.link?.contains("\(room.id)") == true && room.view.others.isEmpty)
        let code = try #require(room.view.code)
        let taken = await #expect(throws: CoreClient.Refusal.self) { try await two.enter(.code(code, pin: nil)) }
        #expect(taken?.code == "busy")
        #expect(try await two.rooms().map(\.id) == ["\(room.id)"])
        one.close()
        // The host hears of the end a moment later.
        var gone = taken
        while gone?.code == "busy" {
            gone = await #expect(throws: CoreClient.Refusal.self) { try await two.enter(.seat(room.id)) }
        }
        #expect(gone?.code == "notFound")
        await ann.core.close()
    }

    /// A command that is longer than a line is told so at once.
    @Test func aLineThatIsTooLongIsNotSent() async throws {
        let ann = try await self.hosts.offline("ann")
        let text = String(repeating: "x", count: JSONRPC.lineBytesMax)
        let refusal = try await self.talk(ann.core) { client in
            await #expect(throws: CoreClient.Refusal.self) {
                try await client.ask("search", Array(#"{"text":"\#(text)"}"#.utf8))
            }
        }
        #expect(refusal?.code == "tooLong")
        await ann.core.close()
    }

    @Test func aRefusalHasTheCoresCode() async throws {
        let ann = try await self.hosts.offline("ann")
        let deadline = self.soon
        let codes = try await self.talk(ann.core) { client in
            var codes: [String] = []
            for (verb, parameters) in [
                ("nothing", "{}"), ("chat_list", #"{"x":1}"#), ("chat_list", "[]"), ("chat_list", "{"),
                ("group_create", #"{"title":"a","members":[]}"#),
            ] {
                do {
                    _ = try await client.result(verb, Array(parameters.utf8), until: deadline)
                    codes.append("")
                } catch let refusal as CoreClient.Refusal {
                    codes.append("\(refusal.code) \(refusal.field ?? "") \(DoCommand.status(of: refusal.code))")
                }
            }
            return codes
        }
        #expect(
            codes == [
                "unknownVerb  64", "invalidField x 64", "invalidCommand  64", "invalidCommand  64", "offline  69",
            ])
        #expect(DoCommand.status(of: "locked") == 77 && DoCommand.status(of: "unknownContact") == 65)
        #expect(DoCommand.status(of: "of a later release") == 65)
        await ann.core.close()
    }

    /// Nobody else may connect for a long time.
    @Test func whatACommandHasWrittenGoesOutBeforeItEnds() async throws {
        let (ann, bob) = (try await self.hosts.online("ann"), try await self.hosts.online("bob"))
        let bobID = try await bob.id
        _ = try await ann.ask(#"contact_add {"whisperId":"\#(bobID)"}"#)
        try await ann.perform("disconnect")
        let deadline = self.soon
        let say = Array(#"{"to":"\#(bobID)","text":"hello"}"#.utf8)
        let ends = try await self.talk(ann.core) { client in
            var ends: [Bool] = []
            // Reads and drafts are local: the server gets neither.
            for (verb, parameters) in [
                ("chat_list", Array("{}".utf8)), ("chat_draft", Array(#"{"chat":"\#(bobID)","text":"h"}"#.utf8)),
                ("message_send", say),
            ] {
                ends.append(try await client.perform(verb, parameters, until: deadline).waits)
            }
            return ends
        }
        #expect(ends == [false, false, false])
        #expect(self.hosts.server.accepted.count == 1)
        try await ann.perform("disconnect")
        self.hosts.server.set { $0.isAway = true }
        let waits = try await self.talk(ann.core) { client in
            try await client.perform("message_send", say, until: .now() + .seconds(1)).waits
        }
        #expect(waits && self.hosts.server.accepted.count == 1)
        for host in [ann, bob] { await host.core.close() }
    }

    @Test func withoutADaemonNobodyIsFound() throws {
        let options = try ProfileOptions.parse(["--home", self.hosts.folder.path, "--profile", "ann"])
        #expect(options.daemonSocket == self.hosts.folder.path + "/.ann.socket")
        #expect(CoreClient.connected(to: options.daemonSocket) == nil)
        let socket = try DaemonSocket(at: options.daemonSocket)
        let daemon = try #require(CoreClient.connected(to: options.daemonSocket))
        daemon.close()
        socket.close()
        #expect(CoreClient.connected(to: options.daemonSocket) == nil)
    }
}

extension CoreClient {
    /// A command's end of a core of this test.
    static func of(_ core: Core) throws -> CoreClient {
        BrokenPipes.areErrors()
        core.leaveEventsToSeats()
        let seat = try #require(core.seat())
        return try #require(CoreClient.served(by: core, at: seat))
    }

    /// The same of a daemon's that listens at this path until the core is closed.
    static func beside(_ core: Core, at path: String) throws -> CoreClient {
        BrokenPipes.areErrors()
        core.leaveEventsToSeats()
        let socket = try DaemonSocket(at: path)
        defer { socket.close() }
        let client = try #require(CoreClient.connected(to: path))
        let (program, seat) = (try #require(socket.accept()), try #require(core.seat()))
        DispatchQueue(label: "daemon").async {
            DaemonSession(core, at: seat, input: program, output: program) { shutdown(program, Int32(SHUT_RDWR)) }
                .serve()
            Glibc.close(program)
        }
        return client
    }
}
