import Contract
import Dispatch
import Synchronization
import TerminalText
import Testing

@testable import WhisperClient
@testable import WhisperCore
@testable import WhisperTerminal

@Suite(.timeLimit(.minutes(20))) struct ReadAheadTests {
    /// Numbers that a test reads, and how many were.
    private final class Source: Sendable {
        private let read = Mutex(0)
        let count: Int

        init(count: Int) { self.count = count }

        var readCount: Int { self.read.withLock { $0 } }

        func next() -> Int? {
            self.read.withLock { read in
                guard read < self.count else { return nil }
                read += 1
                return read
            }
        }
    }

    /// A pipe that is faster than the server.
    @Test func nothingIsLostAndReadingWaits() async {
        let source = Source(count: 1_000)
        let waitingMax = 4
        var taken = 0
        for await number in ReadAhead(label: "test", waitingMax: waitingMax, read: source.next) {
            taken += 1
            #expect(number == taken)
            #expect(source.readCount <= taken + waitingMax)
        }
        #expect(taken == source.count)
    }
}

extension CoreClientTests {
    /// More lines than wait at a time, and then the end.
    @Test func everyPipedLineIsSentAndTheChatEnds() async throws {
        let (ann, bob) = (try await self.hosts.online("ann"), try await self.hosts.online("bob").id)
        try await ann.ask(#"contact_add {"whisperId":"\#(bob)","name":"Bob"}"#)
        let store = try ann.core.opened().store
        let client = try CoreClient.of(ann.core)
        let contact = try #require(try await client.contacts().first)
        let count = 60
        let lines = Mutex(0)
        let chat = LineChat(
            core: client, partner: .person(contact), linger: .zero,
            lines: ReadAhead(label: "test", waitingMax: 8) {
                lines.withLock { line in
                    line += 1
                    return line <= count ? "\(line)" : nil
                }
            },
            say: { _ in })
        #expect(try await chat.run() == nil)
        client.close()
        let texts = try store.messages.messages(with: contact.id, limit: count + 1).map(\.content)
        #expect(texts == (1...count).map { .text("\($0)") })
        await ann.core.close()
    }

    /// Says these lines in a chat by a pipe, and returns when it has ended.
    /// - Returns: what was printed.
    private func chat(_ core: Core, in name: String? = nil, _ lines: [String]) async throws -> [String] {
        let client = try CoreClient.of(core)
        defer { client.close() }
        let contact = try #require(try await client.contacts().first)
        let partner = if let name { try await findChat(name, client) } else { ChatPartner.person(contact) }
        let rest = Mutex(lines[...])
        let said = Mutex<[String]>([])
        let chat = LineChat(
            core: client, partner: partner, linger: .zero,
            lines: ReadAhead(label: "test", waitingMax: 8) { rest.withLock { $0.popFirst() } },
            say: { line in said.withLock { $0.append(line) } })
        #expect(try await chat.run() == nil)
        return said.withLock { $0 }
    }

    /// Nothing that looks like an order leaves this machine.
    @Test func ordersAreNeverSent() async throws {
        let (ann, bob) = (try await self.hosts.online("ann"), try await self.hosts.online("bob").id)
        try await ann.ask(#"contact_add {"whisperId":"\#(bob)","name":"Bob"}"#)
        let store = try ann.core.opened().store
        let orders = [
            "/blokc Bob", "/file", "/file ", "/files x", "/save", "/save /tmp/x", " /help", "/", "/retry now", "\t/x",
        ]
        let said = try await self.chat(
            ann.core, orders + ["hello", "//etc/hosts is text", "/help", "/quit", "not said"])
        let texts = try store.messages.messages(with: WhisperID(bob)!, limit: 99).map(\.content)
        #expect(texts == [.text("hello"), .text("/etc/hosts is text")])
        for order in ["blokc", "files", "x"] {
            #expect(said.contains { $0.hasPrefix("There is no order /\(order),") && $0.contains("/help") }, "\(said)")
        }
        #expect(said.contains("Nothing was sent. It is written /file PATH; /help lists the orders."))
        #expect(said.contains("There is no file of theirs here."))
        for line in ChatOrder.helpLines { #expect(said.contains(line)) }
        await ann.core.close()
    }

    /// Somebody beside this terminal scans the link.
    @Test func theOwnLinkIsDrawn() async throws {
        let (ann, bob) = (try await self.hosts.online("ann"), try await self.hosts.online("bob").id)
        try await ann.ask(#"contact_add {"whisperId":"\#(bob)","name":"Bob"}"#)
        let said = try await self.chat(ann.core, ["/link", "/quit"])
        let link = try #require(try await ann.perform("contact_link")["text"]?.string)
        let drawn = Style.output.isPlain ? [] : try #require(QRCode(link)).lines(Style(isOn: false))
        #expect(Array(said.drop { $0 != link }.prefix(1 + drawn.count)) == [link] + drawn)
        await ann.core.close()
    }

    /// Orders count messages back, theirs or ours, and change no other one.
    @Test func ordersNameMessagesByCountingBack() async throws {
        let (ann, bob) = (try await self.hosts.online("ann"), try await self.hosts.online("bob").id)
        try await ann.ask(#"contact_add {"whisperId":"\#(bob)","name":"Bob"}"#)
        let (store, bobID) = (try ann.core.opened().profile.store, WhisperID(bob)!)
        for (number, text) in ["first", "second"].enumerated() {
            _ = try store.keep(
                Message(
                    id: .random(), peer: bobID, groupID: nil, direction: .incoming(isRead: true),
                    content: .text(text), time: Timestamp(milliseconds: Int64(number + 1))))
        }
        let said = try await self.chat(
            ann.core,
            [
                "/react -2 👍", "/react 👎", "/react", "/reply -2 an answer", "more", "/edit -2 the answer",
                "/delete", "/edit -2 nothing", "/react -3 👍", "/search SECOND", "/members", "/verify", "/verified yes",
                "/reply", "/delete it", "/verified maybe", "/search", "/reply -0 no", "/reply -300 no", "/react -201",
                "/edit -300 no",
            ])
        let texts = try store.messages.messages(with: bobID, limit: 9)
        #expect(
            texts.map(\.content) == [.text("first"), .text("second"), .text("the answer"), .deleted],
            "\(texts.map(\.content))")
        #expect(texts[0].reactions.map(\.text) == ["👍"] && texts[1].reactions.isEmpty)
        #expect(texts[2].replyTo == MessageReference(id: texts[0].id, author: bobID) && texts[2].isEdited)
        #expect(said.contains { $0.hasSuffix("you: ↪ “first”: the answer (edited) ◌") || $0.contains("↪ “first”: ") })
        #expect(said.count { $0.hasPrefix("There is no such message among the latest ones.") } == 2, "\(said)")
        #expect(said.contains { $0.hasSuffix("Bob: second") })
        #expect(said.contains("Only you and Bob are here.") && said.contains("Verified: these are the true keys."))
        #expect(try store.contacts.contact(bobID)?.isVerified == true)
        for usage in ["/reply [-N] TEXT", "/delete [-N]", "/verified yes|no", "/search WORDS"] {
            #expect(said.contains("Nothing was sent. It is written \(usage); /help lists the orders."), "\(usage)")
        }
        await ann.core.close()
    }

    /// A group is a chat like another one, found by its title.
    @Test func aGroupIsAChatThatItsTitleNames() async throws {
        let (ann, bob) = (try await self.hosts.online("ann"), try await self.hosts.online("bob").id)
        try await ann.ask(#"contact_add {"whisperId":"\#(bob)","name":"Bob"}"#)
        try await ann.ask(#"group_create {"title":"Hiking","members":["\#(bob)"]}"#)
        let store = try ann.core.opened().profile.store
        let group = try #require(try store.groups.groups().first?.id)
        _ = try store.keep(
            Message(
                id: .random(), peer: WhisperID(bob)!, groupID: group, direction: .incoming(isRead: false),
                content: .text("where to?"), time: Timestamp(milliseconds: 6)))
        let client = try CoreClient.of(ann.core)
        for name in ["hiking", "hik", group] {
            #expect(try await findChat(name, client).place == .group(Conversation.key(ofGroup: group)), "\(name)")
        }
        #expect(try await findChat("bob", client).place == .direct(WhisperID(bob)!))
        await #expect(throws: Problem.self) { try await findChat("sailing", client) }
        client.close()
        let said = try await self.chat(
            ann.core, in: "Hiking",
            ["/react 👍", "/reply up the hill", "/members", "/accept", "/verify", "/search hill"])
        let messages = try store.messages.page(in: .group(Conversation.key(ofGroup: group)), limit: 9).map(\.message)
        #expect(messages.map(\.content) == [.text("where to?"), .text("up the hill")])
        #expect(messages[0].reactions.map(\.text) == ["👍"] && messages[1].replyTo?.id == messages[0].id)
        #expect(said.contains { $0.hasSuffix("Bob: where to?") } && said.contains("Bob · \(bob)"), "\(said)")
        #expect(said.contains("You reacted 👍 to “where to?”"), "\(said)")
        #expect(said.count { $0.hasPrefix("That is for a chat with one person.") } == 2)
        await ann.core.close()
    }

    /// Each change of a shown message is described in words.
    @Test func whatIsDoneToAMessageIsSaid() async throws {
        let ann = try await self.hosts.offline("ann")
        let client = try CoreClient.of(ann.core)
        let bob = Contact(
            id: bobID, name: "Bob", keys: IdentityKeys(bobWords).publicKeys, isBanned: false,
            addedAt: Timestamp(milliseconds: 1))
        var words = try await ChatWords(core: client, partner: .person(bob))
        var theirs = Message(
            id: .random(), peer: bobID, groupID: nil, direction: .incoming(isRead: true),
            content: .text("meet at noon"),
            time: Timestamp(milliseconds: 1))
        words.saw(theirs)
        var ours = Message(
            id: .random(), peer: bobID, groupID: nil, direction: .outgoing(.read), content: .text("yes"),
            time: Timestamp(milliseconds: 1))
        words.saw(ours)
        ours.reactions = [Reaction(from: bobID, text: "👍")]
        #expect(words.changes(to: ours).lines == ["Bob reacted 👍 to “yes”"] && shown(ours) == "yes [👍]")
        #expect(words.changes(to: ours) == ([], false))
        ours.reactions = []
        #expect(words.changes(to: ours).lines == ["Bob took back 👍 of “yes”"])
        theirs.content = .text("meet at one")
        theirs.isEdited = true
        #expect(words.changes(to: theirs).lines.first?.hasSuffix(": meet at one") == true)
        theirs.content = .deleted
        let lines = words.changes(to: theirs).lines
        #expect(lines.count == 1 && lines[0].hasPrefix("Bob deleted the message of "))
        #expect(words.changes(to: theirs).lines.isEmpty)
        client.close()
        await ann.core.close()
    }

    /// A group is called by its title.
    @Test func aGroupIsNamedByItsTitle() async throws {
        let (ann, bob) = (try await self.hosts.online("ann"), try await self.hosts.online("bob").id)
        try await ann.ask(#"contact_add {"whisperId":"\#(bob)","name":"Bob"}"#)
        try await ann.ask(#"group_create {"title":"Hiking","members":["\#(bob)"]}"#)
        let group = try #require(try ann.core.opened().store.groups.groups().first?.id)
        _ = try ann.core.opened().profile.store.keep(
            Message(
                id: .random(), peer: WhisperID(bob)!, groupID: group, direction: .incoming(isRead: false),
                content: .text("to all"), time: Timestamp(milliseconds: 6)))
        let client = try CoreClient.of(ann.core)
        var lines: [String] = []
        _ = try await Inbox(core: client).show(isPeeking: true) { lines.append($0) }
        #expect(lines.contains { $0.contains("Bob in “Hiking”: to all") && !$0.contains(group) }, "\(lines)")
        client.close()
        await ann.core.close()
    }

    /// A program paces itself by its class of rates, which the server says at the login. The class stays with the session.
    @Test func theStatusNamesTheClassOfRates() async throws {
        let bob = try await self.hosts.online("bob")
        #expect(try await bob.perform("session_status")["rateClass"] == nil)
        self.hosts.server.set { $0.rateClass = "bot" }
        let ann = try await self.hosts.online("ann")
        #expect(try await ann.perform("session_status")["rateClass"]?.string == "bot")
    }

    /// A ban keeps waiting messages apart until the person has decided; every command names the ban and its end.
    @Test(arguments: ["resume", "discard"])
    func whatWaitsIsKeptApartByABan(decision: String) async throws {
        let (ann, bob) = (try await self.hosts.online("ann"), try await self.hosts.online("bob").id)
        try await ann.ask(#"contact_add {"whisperId":"\#(bob)","name":"Bob"}"#)
        self.hosts.server.set { $0.ban = (true, 3_600_000) }
        try await ann.perform(#"message_send {"to":"\#(bob)","text":"before"}"#)
        let stopped = try await ann.next("connection") { $0["state"]?.string == "stopped" }
        #expect(stopped["reason"]?.string == "banned")
        let until = try #require(stopped["bannedUntil"]?.integer)
        let status = try await ann.perform("session_status")
        #expect(status["isBanned"] == .bool(true) && status["bannedUntil"]?.integer == until)
        let words = describe(StopReason.banned(until: Timestamp(milliseconds: until)))
        #expect(words.contains("banned") && words.contains("until \(day(Timestamp(milliseconds: until)))"))
        // A command that connects is told at once.
        let client = try CoreClient.of(ann.core)
        let deadline = DispatchTime.now() + .seconds(30)
        let refusal = await #expect(throws: CoreClient.Refusal.self) { try await client.goOnline(until: deadline) }
        #expect(refusal?.code == "banned" && refusal?.message.contains("banned from the server, until") == true)
        _ = try await client.send("during", to: .direct(WhisperID(bob)!))

        self.hosts.server.set { $0.ban = (false, nil) }
        try await client.goOnline(until: DispatchTime.now() + .seconds(30))
        let events = client.events()
        #expect(await first(in: events, within: .seconds(30)) { $0 == .caughtUp ? true : nil } == true)
        #expect(try await ann.perform("session_status")["isBanned"] == nil)
        #expect(self.hosts.server.accepted.isEmpty)
        #expect(try await client.outbox().isPaused)
        let chats = try await client.outbox().chats
        #expect(chats.map(\.chat) == [bob] && chats.map(\.count) == [2])
        if decision == "resume" {
            try await client.resumeOutbox()
            #expect(await self.isSent("during", events))
            #expect(self.hosts.server.accepted.count == 2)
        } else {
            #expect(try await client.discardOutbox() == 2)
            // A message that is written from here on is sent.
            _ = try await client.send("after", to: .direct(WhisperID(bob)!))
            #expect(await self.isSent("after", events))
            #expect(self.hosts.server.accepted.count == 1)
        }
        #expect(try await client.outbox().isPaused == false)
        client.close()
        await ann.core.close()
    }

    private func isSent(_ text: String, _ events: AsyncStream<ClientEvent>) async -> Bool {
        let isSent = await first(in: events, within: .seconds(30)) { event -> Bool? in
            guard case .changed(let message) = event, message.content == .text(text) else { return nil }
            return message.state == .sent || message.state == .delivered ? true : nil
        }
        return isSent == true
    }

    /// A daemon that ends in the middle ends the chat, with a word.
    @Test func aChatEndsWithItsDaemon() async throws {
        let (ann, bob) = (try await self.hosts.online("ann"), try await self.hosts.online("bob").id)
        try await ann.ask(#"contact_add {"whisperId":"\#(bob)","name":"Bob"}"#)
        let client = try CoreClient.beside(ann.core, at: self.hosts.folder.path + "/socket")
        let contact = try #require(try await client.contacts().first)
        try await client.learnStatus()
        let (started, end) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let chat = LineChat(
            core: client, partner: .person(contact), linger: .zero,
            lines: ReadAhead(label: "test", waitingMax: 1) {
                end.wait()
                return nil
            }, say: { line in if line == "● online" { started.signal() } })
        let core = ann.core
        async let closed: Void = {
            await Blocking.run { started.wait() }
            await core.close()
        }()
        await #expect(throws: Problem.self) { _ = try await chat.run() }
        await closed
        end.signal()
    }
}
