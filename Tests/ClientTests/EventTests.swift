import Contract
import Foundation
import SQLite
import Logging
import Testing

@testable import WhisperClient

/// Events that come again until their consumers have acknowledged them.
@Suite struct EventTests {
    let folder: TemporaryFolder
    let bob = IdentityKeys(bobWords).publicKeys

    init() throws { self.folder = try TemporaryFolder() }

    private func open() throws -> ClientStore { try ClientStore(path: self.folder.path + "/store.sqlite") }

    private func message(_ text: String, _ direction: Message.Direction) -> Message {
        Message(
            id: .random(), peer: bobID, groupID: nil, direction: direction, content: .text(text),
            time: Timestamp(milliseconds: 5))
    }

    private func events(
        _ store: ClientStore, _ consumer: String, limit: Int = 100
    ) throws -> [ConsumedEvent] {
        try store.events.events(after: try #require(try store.events.progress(of: consumer)).acknowledged, limit: limit)
    }

    @Test func nothingIsKeptForNobody() throws {
        let store = try self.open()
        try store.messages.queue(self.message("a", .outgoing(.queued)))
        #expect(try store.events.events(after: 0, limit: 9).isEmpty)
        #expect(try store.events.progress(of: "bot") == nil)
        #expect(try store.events.acknowledge(0, by: "bot") == nil)
        #expect(try !store.events.unsubscribe("bot"))
    }

    @Test func whatIsNotAcknowledgedComesAgainAfterARestart() throws {
        let (mail, ours) = (
            self.message("in", .incoming(isRead: false)), self.message("out", .outgoing(.queued))
        )
        do {
            let store = try self.open()
            #expect(try store.events.subscribe("bot") == ConsumerProgress(acknowledged: 0, newest: 0))
            #expect(
                try store.messages.keep([.message(mail), .message(mail)], at: Timestamp(milliseconds: 1))
                    == [.received(mail)])
            try store.messages.queue(ours)
            _ = try store.messages.advance(ours.id, .accepted)
            // News that comes late changes nothing, and is no event.
            _ = try store.messages.advance(ours.id, .accepted)
            let now = Timestamp(milliseconds: 1)
            _ = try store.contacts.pin(self.bob, of: bobID, name: "Bob", isBanned: false, isNews: true, at: now)
            for event in Self.rare { try store.events.note(event) }
        }
        let store = try self.open()
        let contact = try #require(try store.contacts.contact(bobID))
        let all: [ClientEvent] =
            [.received(mail), .changed(ours), .changed(ours.moved(to: .sent)), .contact(contact)] + Self.rare
        let expected = all.enumerated().map { ConsumedEvent.event($1, number: Int64($0 + 1)) }
        #expect(try self.events(store, "bot") == expected)
        #expect(try self.events(store, "bot", limit: 2) == Array(expected[..<2]))
        #expect(try store.events.acknowledge(2, by: "bot")?.acknowledged == 2)
        // An older acknowledgement that comes late takes nothing back; one of what nobody has seen is none.
        #expect(try store.events.acknowledge(1, by: "bot")?.acknowledged == 2)
        #expect(try store.events.acknowledge(Int64(all.count) + 1, by: "bot") == nil)
        #expect(try self.events(try self.open(), "bot") == Array(expected[2...]))
    }

    private static let rare: [ClientEvent] = [
        .restored(added: 2, missing: 1), .backup(.written), .backup(.unreadable), .backup(.tooLarge(bytes: 7)),
        .backup(.refused(status: 403)), .alarm(.suspiciousMail(bobUnverified, count: 3)),
        .alarm(.foreignKeys(of: bobID)), .alarm(.changedKeys(of: bobID)),
    ]

    @Test func eachConsumerGoesItsOwnPace() throws {
        let store = try self.open()
        _ = try store.events.subscribe("fast")
        _ = try store.events.subscribe("slow")
        for _ in 1...3 { try store.events.note(.backup(.written)) }
        _ = try store.events.acknowledge(3, by: "fast")
        #expect(try self.events(store, "fast").isEmpty)
        #expect(try self.events(store, "slow").map(\.number) == [1, 2, 3])
        // A new one starts with what comes, unless it asks for more.
        #expect(try store.events.subscribe("new")?.acknowledged == 3)
        #expect(try store.events.subscribe("curious", after: 1)?.acknowledged == 1)
        #expect(try self.events(store, "curious").map(\.number) == [2, 3])
        #expect(try store.events.subscribe("early", after: 4) == nil)
        // A known one is where it was, or acknowledges.
        #expect(try store.events.subscribe("slow")?.acknowledged == 0)
        #expect(try store.events.subscribe("slow", after: 2)?.acknowledged == 2)
        #expect(try store.events.subscribe("slow", after: 1)?.acknowledged == 2)
        #expect(try store.events.unsubscribe("slow"))
        #expect(try store.events.unsubscribe("curious"))
        #expect(try store.events.events(after: 0, limit: 9).isEmpty, "all others have acknowledged everything")
        try store.events.note(.backup(.written))
        #expect(try self.events(store, "new").map(\.number) == [4], "numbers go on")
    }

    @Test func consumersHaveABound() throws {
        let store = try self.open()
        for number in 1...ClientLimits.consumersMax { #expect(try store.events.subscribe("\(number)") != nil) }
        #expect(try store.events.subscribe("one more") == nil)
        #expect(try store.events.subscribe("1") != nil)
        #expect(try store.events.consumers().count == ClientLimits.consumersMax)
    }

    @Test func beyondTheBoundTheOldestGoAndItIsTold() throws {
        let store = try self.open()
        _ = try store.events.subscribe("bot")
        try store.write { database in
            try database.execute(
                sql: """
                    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
                    INSERT INTO events (kind, at, detail) SELECT 'backup', 1, 'written' FROM n
                    """, arguments: [ClientLimits.eventsKeptMax])
        }
        for _ in 1...2 { try store.events.note(.backup(.unreadable)) }
        let first = try self.events(store, "bot", limit: 1)
        #expect(first == [.lost(1...2), .event(.backup(.written), number: 3)])
        _ = try store.events.acknowledge(2, by: "bot")
        #expect(try self.events(store, "bot", limit: 1) == [.event(.backup(.written), number: 3)])
        // Age: what was just made stays.
        try store.events.dropStaleEvents(at: Timestamp(milliseconds: 2) + ClientLimits.eventsKeptFor)
        let newest = Int64(ClientLimits.eventsKeptMax) + 2
        #expect(
            try self.events(store, "bot") == [
                .lost(3...newest - 2), .event(.backup(.unreadable), number: newest - 1),
                .event(.backup(.unreadable), number: newest),
            ])
        _ = try store.events.acknowledge(newest, by: "bot")
        try store.events.note(.backup(.written))
        #expect(try self.events(store, "bot") == [.event(.backup(.written), number: newest + 1)])
    }

    /// The message and its event are in one commit: whoever dies between two commits has both or none.
    @Test func aMessageAndItsEventAreOneCommit() throws {
        let store = try self.open()
        _ = try store.events.subscribe("bot")
        let commits = try CommitCounter(store)
        _ = try store.messages.keep(
            [.message(self.message("a", .incoming(isRead: false)))], at: Timestamp(milliseconds: 1))
        #expect(commits.count == 1)
        #expect(try self.events(store, "bot").count == 1)
    }
}
