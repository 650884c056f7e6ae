import Contract
import Foundation
import SQLite
import Testing

@testable import WhisperClient

/// Replies, edits, deletions and reactions: how they are sealed, and what the store makes of them.
@Suite struct ChangeTests {
    let folder: TemporaryFolder
    let aliceID = aliceWords.id

    init() throws { self.folder = try TemporaryFolder() }

    /// Alice's.
    private func open(_ name: String = "store") throws -> ClientStore {
        let store = try ClientStore(path: self.folder.path + "/\(name).sqlite")
        try store.settings.set(
            whisperID: self.aliceID, session: StoredSession(token: "t", expiresAt: Timestamp(milliseconds: 1)))
        return store
    }

    private func incoming(_ text: String, id: UUIDText, groupID: String? = nil) -> Message {
        Message(
            id: id, peer: bobID, groupID: groupID, direction: .incoming(isRead: false), content: .text(text),
            time: Timestamp(milliseconds: 6))
    }

    private func change(
        _ kind: MessageChange.Kind, of id: UUIDText, by author: WhisperID = bobID, at time: Int64
    ) -> MessageChange {
        MessageChange(
            target: MessageReference(id: id, author: author), kind: kind, revision: Revision(time: time, id: .random()))
    }

    private func keep(_ store: ClientStore, _ arrivals: Arrival...) throws -> [ClientEvent] {
        try store.messages.keep(arrivals, at: Timestamp(milliseconds: 7))
    }

    // MARK: Sealed

    @Test func bodiesAreReadAsTheyWereWritten() throws {
        let id = UUIDText.random()
        let reference = MessageReference(id: .random(), author: bobID)
        let bodies: [MessageBody] =
            [
                .text("yes", .init(replyTo: reference)), .text("a\0b", .init()),
                .text("a\0{}", .init(replyTo: reference)),
            ]
            + [.edit("no\0w"), .delete, .react("\u{1F44D}"), .react("")].map {
                .change(MessageChange(target: reference, kind: $0, revision: Revision(time: 5, id: id)))
            }
        for body in bodies { #expect(MessageBody(body.bytes, id: id) == body) }
        // In a group a client that knows no objects reads a sentence. It never repeats a deleted text.
        for (body, sentence) in zip(
            bodies.suffix(4), ["no\0w", "This message was deleted.", "\u{1F44D}", "A reaction was removed."])
        {
            #expect(MessageBody(body.groupBytes, id: id) == body)
            #expect(body.groupBytes.starts(with: Array((sentence + "\0").utf8)))
        }
        // A client that knows no objects has the text all the same.
        #expect(bodies[0].bytes.starts(with: Array("yes\0".utf8)))
        #expect(MessageBody.text("plain", .init()).bytes == Array("plain".utf8))
    }

    @Test func whatIsNoBodyStaysWhatItIs() {
        let target = #"{"id":"9b2a1f64-0f7c-4e51-9d0c-3c7d1d2b7a10","from":"\#(bobID)","at":1}"#
        let long = #"{"x":"\#(String(repeating: "x", count: ClientLimits.annexBytesMax))"}"#
        for text in [
            "", "plain", "a\0b", "\0{}", "a\0[1]", #"\#0{"delete":{"id":"x","from":"\#(bobID)","at":1}}"#,
            #"\#0{"edit":\#(target)}"#, "a\0" + long, #"\#0{"react":\#(target)}"#,
            #"\#0{"delete":{"id":"9b2a1f64-0f7c-4e51-9d0c-3c7d1d2b7a10","from":"\#(bobID)","at":-1}}"#,
        ] {
            #expect(MessageBody(Array(text.utf8), id: .random()) == nil, "\(text.prefix(80))")
        }
        // A later release's object hides no text.
        #expect(
            MessageBody(Array("vote\0{\"poll\":[1,2]}".utf8), id: .random()) == .text("vote", .init()))
        let large = "\(String(repeating: "x", count: ClientLimits.textBytesMax + 1))\0{\"edit\":\(target)}"
        #expect(MessageBody(Array(large.utf8), id: .random()) == nil)
    }

    // MARK: Any order

    /// All orders, each change twice.
    @Test func anyOrderEndsInTheSameState() throws {
        let id = UUIDText.random()
        let edits = [self.change(.edit("second"), of: id, at: 2), self.change(.edit("first"), of: id, at: 1)]
        let reactions = [self.change(.react("+"), of: id, at: 3), self.change(.react(""), of: id, at: 4)]
        let message = Arrival.message(self.incoming("as written", id: id))
        func arrivals(_ changes: [MessageChange]) -> [Arrival] {
            [message] + changes.map { .change($0, from: bobID, groupID: nil) }
        }
        var count = 0
        func expect(_ arrivals: [Arrival], _ isRight: (Message) -> Bool) throws {
            for order in Self.orders(arrivals) {
                count += 1
                let store = try self.open("\(count)")
                for arrival in order + order { _ = try self.keep(store, arrival) }
                let messages = try store.messages.messages(with: bobID, limit: 9)
                #expect(messages.count == 1 && isRight(messages[0]), "\(order) \(messages)")
                #expect(try store.changes.waitingChanges() == 0)
                store.close()
            }
        }
        try expect(arrivals(edits)) { $0.content == .text("second") && $0.isEdited }
        try expect(arrivals(reactions)) { $0.reactions.isEmpty && !$0.isEdited }
        try expect(arrivals([edits[0], reactions[0], self.change(.delete, of: id, at: 1)])) {
            $0.content == .deleted && $0.reactions.isEmpty && !$0.isEdited
        }
        #expect(count == 6 + 6 + 24)
    }

    private static func orders<T>(_ all: [T]) -> [[T]] {
        guard all.count > 1 else { return [all] }
        return all.indices.flatMap { place in
            var rest = all
            let first = rest.remove(at: place)
            return Self.orders(rest).map { [first] + $0 }
        }
    }

    @Test func ofTwoChangesAtOneTimeTheIDDecides() throws {
        let id = UUIDText.random()
        let changes = ["a", "b"].map { self.change(.edit($0), of: id, at: 1) }
        let later = changes[0].revision > changes[1].revision ? "a" : "b"
        for order in [changes, changes.reversed()] {
            let store = try self.open(order[0].revision.id)
            _ = try self.keep(store, .message(self.incoming("x", id: id)))
            for change in order { _ = try self.keep(store, .change(change, from: bobID, groupID: nil)) }
            #expect(try store.messages.messages(with: bobID, limit: 1)[0].content == .text(later))
        }
    }

    // MARK: Who may

    @Test func onlyAuthorsEditAndDelete() throws {
        let store = try self.open()
        let (theirs, ours) = (UUIDText.random(), UUIDText.random())
        _ = try self.keep(store, .message(self.incoming("theirs", id: theirs)))
        try store.messages.queue(
            Message(
                id: ours, peer: bobID, groupID: nil, direction: .outgoing(.queued), content: .text("ours"),
                time: Timestamp(milliseconds: 1)))
        let before = try store.messages.messages(with: bobID, limit: 9)
        for kind in [MessageChange.Kind.edit("x"), .delete] {
            // Somebody else, somebody else as if he were the author's peer, and the author's peer.
            let foreign = [
                Arrival.change(self.change(kind, of: theirs, at: 1), from: carolID, groupID: nil),
                .change(self.change(kind, of: theirs, by: carolID, at: 1), from: carolID, groupID: nil),
                .change(self.change(kind, of: ours, by: self.aliceID, at: 1), from: bobID, groupID: nil),
                .change(self.change(kind, of: ours, by: bobID, at: 1), from: bobID, groupID: nil),
                .change(self.change(kind, of: theirs, at: 1), from: bobID, groupID: "grp-x"),
            ]
            for arrival in foreign { #expect(try self.keep(store, arrival).isEmpty) }
        }
        #expect(try store.messages.messages(with: bobID, limit: 9) == before)
        // Both may react to both.
        let reactions = [
            self.change(.react("1"), of: theirs, at: 1), self.change(.react("2"), of: ours, by: self.aliceID, at: 1),
        ]
        for reaction in reactions {
            #expect(try self.keep(store, .change(reaction, from: bobID, groupID: nil)).count == 1)
        }
        #expect(
            try store.messages.messages(with: bobID, limit: 9).map(\.reactions)
                == [[Reaction(from: bobID, text: "1")], [Reaction(from: bobID, text: "2")]])
    }

    @Test func deletedMailIsNoLongerUnread() throws {
        let store = try self.open()
        let id = UUIDText.random()
        _ = try self.keep(store, .message(self.incoming("x", id: id)))
        #expect(try store.messages.unreadCount() == 1)
        _ = try self.keep(store, .change(self.change(.delete, of: id, at: 1), from: bobID, groupID: nil))
        #expect(try store.messages.unreadCount() == 0)
        #expect(try store.messages.owedReceipts(limit: 9).isEmpty)
    }

    // MARK: Bounds

    @Test func changesWaitForTheirMessagesUpToABound() throws {
        let store = try self.open()
        let ids = (0...ClientLimits.changesWaitingPerSenderMax).map { _ in UUIDText.random() }
        for id in ids {
            let change = self.change(.edit("edited"), of: id, at: 1)
            #expect(try self.keep(store, .change(change, from: bobID, groupID: nil)).isEmpty)
        }
        let other = self.change(.edit("edited"), of: .random(), by: carolID, at: 1)
        #expect(try self.keep(store, .change(other, from: carolID, groupID: nil)).isEmpty)
        #expect(try store.changes.waitingChanges() == ids.count)
        for id in [ids[0], ids[1]] { _ = try self.keep(store, .message(self.incoming("as written", id: id))) }
        // The oldest had no room.
        #expect(
            try store.messages.messages(with: bobID, limit: 9).map(\.content) == [.text("as written"), .text("edited")])
        #expect(try store.changes.waitingChanges() == ids.count - 1)
        // A change of a message that was here and is gone does not wait.
        try store.write { try $0.execute(sql: "DELETE FROM messages") }
        let late = self.change(.edit("late"), of: ids[0], at: 2)
        _ = try self.keep(store, .change(late, from: bobID, groupID: nil))
        #expect(try store.changes.waitingChanges() == ids.count - 1)
    }

    @Test func reactionsOfAMessageAreBounded() throws {
        let store = try self.open()
        let id = UUIDText.random()
        _ = try self.keep(store, .message(self.incoming("x", id: id, groupID: "grp-x")))
        for _ in 0..<ClientLimits.reactionsMax + 2 {
            let change = self.change(.react("+"), of: id, at: 1)
            _ = try self.keep(store, .change(change, from: Mnemonic.random().id, groupID: "grp-x"))
        }
        #expect(try store.messages.unread(limit: 1)[0].reactions.count == ClientLimits.reactionsMax)
    }

    // MARK: Ours

    @Test func ourChangesAreKeptWithWhatTheyChangeAndGoInOrder() throws {
        let store = try self.open()
        let now = Timestamp(milliseconds: 100)
        let messages = (1...2).map { number in
            Message(
                id: .random(), peer: bobID, groupID: nil, direction: .outgoing(.queued), content: .text("\(number)"),
                time: now)
        }
        func queue(_ kind: MessageChange.Kind, of id: UUIDText, at time: Int64 = 100) throws -> UUIDText {
            let change = UUIDText.random()
            let result = try store.changes.queue(
                kind, id: change, of: MessageReference(id: id, author: self.aliceID), in: .direct(bobID),
                ownID: self.aliceID, at: Timestamp(milliseconds: time))
            #expect(try result.get().isNew)
            return change
        }
        _ = try store.events.subscribe("bot")
        try store.messages.queue(messages[0])
        let first = try queue(.edit("1a"), of: messages[0].id)
        try store.messages.queue(messages[1])
        // A clock that was set back makes no edit older than the one before.
        let second = try queue(.edit("1b"), of: messages[0].id, at: 1)
        #expect(try store.messages.unsettled().map(\.id) == [messages[0].id, first, messages[1].id, second])
        let events = try store.events.events(after: 0, limit: 9)
        #expect(events.count == 4)
        guard case .event(.changed(let told), _) = events[1] else {
            Issue.record("no change")
            return
        }
        #expect(told.content == .text("1b") && told.state == .queued && told.isEdited)
        let body = try #require(try store.changes.mail(second)?.body)
        guard case .change(let change)? = MessageBody(body, id: second) else {
            Issue.record("no change")
            return
        }
        #expect(change.revision.time == 101)
        #expect(try store.changes.mail(messages[0].id)?.body == Array("1b".utf8))
        // Given up, and queued again.
        try store.changes.set(.failed(.triedTooOften), ofChange: first, attempts: 9)
        #expect(try store.messages.unsettled().map(\.id) == [messages[0].id, messages[1].id, second])
        #expect(try store.messages.requeueFailed(to: bobID, limit: 9).changes == [first])
        #expect(try store.messages.unsettled().first { $0.id == first }?.attempts == 0)
        try store.changes.changeArrived(first)
        #expect(try store.messages.cancel([second, messages[1].id]).map(\.id) == [messages[1].id])
        #expect(try store.messages.unsettled().map(\.id) == [messages[0].id])
    }

    @Test func whatChangesNothingIsNotSent() throws {
        let store = try self.open()
        let id = UUIDText.random()
        try store.messages.queue(
            Message(
                id: id, peer: bobID, groupID: nil, direction: .outgoing(.sent), content: .text("x"),
                time: Timestamp(milliseconds: 1)))
        func queue(_ kind: MessageChange.Kind, of id: UUIDText) throws -> Result<Bool, ChangeRefusal> {
            try store.changes.queue(
                kind, id: .random(), of: MessageReference(id: id, author: self.aliceID), in: .direct(bobID),
                ownID: self.aliceID, at: Timestamp(milliseconds: 1)
            ).map(\.isNew)
        }
        #expect(try queue(.edit("x"), of: id) == .success(false))
        #expect(try queue(.react(""), of: id) == .success(false))
        #expect(try queue(.delete, of: .random()) == .failure(.notFound))
        #expect(try queue(.delete, of: id) == .success(true))
        #expect(try queue(.delete, of: id) == .success(false))
        #expect(try queue(.edit("y"), of: id) == .failure(.notText))
        #expect(try queue(.react("+"), of: id) == .failure(.notText))
        try store.write { database in
            try database.execute(
                sql: """
                    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
                    INSERT INTO outgoing_changes (id, id_key, peer, body, place, state)
                    SELECT i, i, 'x', x'', 0, 'queued' FROM n
                    """, arguments: [ClientLimits.changesQueuedMax])
        }
        let other = UUIDText.random()
        try store.messages.queue(
            Message(
                id: other, peer: bobID, groupID: nil, direction: .outgoing(.sent), content: .text("x"),
                time: Timestamp(milliseconds: 1)))
        #expect(try queue(.edit("y"), of: other) == .failure(.tooMany))
    }
}

/// Changes on their way.
extension EngineTests {
    @Test func changesReachTheOtherSide() async throws {
        let (alice, bob) = (try self.client("alice", aliceWords), try self.client("bob", bobWords))
        try await self.running([alice, bob]) {
            await self.online(alice)
            await self.online(bob)
            _ = try await alice.with { try await $0.contacts.add(bobID, name: "Bob", $0) }
            let (hers, his) = (await alice.events(), await bob.events())
            let question = try await alice.send("tea?", to: bobID)
            func changed(_ client: WhisperClient, _ events: AsyncStream<ClientEvent>, _ isIt: (Message) -> Bool) async {
                await self.wait(client, for: events) { event in
                    if case .changed(let message) = event { isIt(message) } else { false }
                }
            }
            await self.wait(bob, for: his) { event in
                if case .received(let message) = event { message.id == question.id } else { false }
            }
            let toHers = MessageReference(id: question.id, author: aliceWords.id)
            let answer = try await bob.send("yes", to: aliceWords.id, replyTo: toHers)
            await self.wait(alice, for: hers) { event in
                guard case .received(let message) = event else { return false }
                return message.content == .text("yes") && message.replyTo == toHers
            }
            _ = try await alice.change(toHers, with: bobID, .edit("coffee?"))
            await changed(bob, his) { $0.content == .text("coffee?") && $0.isEdited }
            _ = try await bob.change(toHers, with: aliceWords.id, .react("\u{2615}"))
            await changed(alice, hers) { $0.reactions == [Reaction(from: bobID, text: "\u{2615}")] }
            _ = try await bob.change(
                MessageReference(id: answer.id, author: bobID), with: aliceWords.id, .delete)
            await changed(alice, hers) { $0.id == answer.id && $0.content == .deleted }
            // A recipient may get a message before its sender learns that the server accepted it.
            while try !alice.store.messages.unsettled().isEmpty || !bob.store.messages.unsettled().isEmpty {
                try Task.checkCancellation()
                await Task.yield()
            }
        }
        // Nothing but messages is a message, and every change was acknowledged.
        #expect(try bob.store.messages.messages(with: aliceWords.id, limit: 9).count == 2)
        #expect(try alice.store.messages.messages(with: bobID, limit: 9).count == 2)
        #expect(self.server.waiting(for: bobID) == 0 && self.server.waiting(for: aliceWords.id) == 0)
    }

    @Test func changesMadeOfflineGoBehindTheirMessagesAfterARestart() async throws {
        do {
            let alice = try self.client("alice", aliceWords)
            _ = self.server.enroll(IdentityKeys(bobWords).publicKeys)
            try await self.running([alice]) {
                await self.online(alice)
                _ = try await alice.with { try await $0.contacts.add(bobID, name: nil, $0) }
            }
            let kept = try await alice.send("kept", to: bobID)
            let gone = try await alice.send("gone", to: bobID)
            _ = try await alice.change(MessageReference(id: kept.id, author: aliceWords.id), with: bobID, .edit("new"))
            _ = try await alice.change(MessageReference(id: gone.id, author: aliceWords.id), with: bobID, .delete)
        }
        let alice = try self.client("alice", aliceWords)
        self.server.set { $0.losesAcceptances = 1 }
        let events = await alice.events()
        try await self.running([alice]) {
            let last = try await alice.send("last", to: bobID)
            await self.settled(alice, events, last.id, .sent)
        }
        #expect(try alice.store.messages.unsettled().isEmpty)
        let bob = try self.client("bob", bobWords)
        let his = await bob.events()
        try await self.running([bob]) {
            await self.wait(bob, for: his) { event in
                if case .received(let message) = event { message.content == .text("last") } else { false }
            }
        }
        // A message that was deleted before sending was never sent.
        #expect(
            try bob.store.messages.messages(with: aliceWords.id, limit: 9).map(\.content) == [
                .text("new"), .text("last"),
            ])
        #expect(try bob.store.changes.waitingChanges() == 1)
    }

    @Test func aRefusedChangeIsSentAgainWhenAskedFor() async throws {
        _ = self.server.enroll(IdentityKeys(bobWords).publicKeys)
        let alice = try self.client("alice", aliceWords)
        try await self.running([alice]) {
            await self.online(alice)
            _ = try await alice.with { try await $0.contacts.add(bobID, name: nil, $0) }
            let events = await alice.events()
            let sent = try await alice.send("x", to: bobID)
            await self.settled(alice, events, sent.id, .sent)
            self.server.set { $0.refusals = [("FORBIDDEN", nil)] }
            _ = try await alice.change(MessageReference(id: sent.id, author: aliceWords.id), with: bobID, .edit("y"))
            let second = try await alice.send("second", to: bobID)
            await self.settled(alice, events, second.id, .sent)
            #expect(self.server.accepted.count == 2)
            #expect(try await alice.with { try $0.outbox.retry(in: .direct(bobID), $0) }.isEmpty)
            let third = try await alice.send("third", to: bobID)
            await self.settled(alice, events, third.id, .sent)
            #expect(self.server.accepted.count == 4)
        }
    }
}
