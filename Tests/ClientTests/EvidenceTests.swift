import Contract
import Foundation
import SQLite
import Testing

@testable import WhisperClient

/// Messages as they came, for a report.
@Suite struct EvidenceTests {
    let folder: TemporaryFolder
    private let own = aliceWords.id

    init() throws { self.folder = try TemporaryFolder() }

    private func open() throws -> ClientStore { try ClientStore(path: self.folder.path + "/store.sqlite") }

    private func sender(_ number: Int) -> WhisperID {
        let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")
        return WhisperID("WSP-AAAA-AAAA-AA\(letters[number / 32])\(letters[number % 32])")!
    }

    private func evidence(_ id: UUIDText, from sender: WhisperID, group: String? = nil) -> Evidence {
        func text(_ byte: UInt8, _ count: Int) -> String {
            String(decoding: Base64.encode(Array(repeating: byte, count: count)), as: UTF8.self)
        }
        return Evidence(
            sealed: SealedMessage(
                messageID: "\(id)", from: "\(sender)", to: "\(self.own)", groupID: group, timestamp: 5,
                nonce: text(1, 24), ciphertext: text(2, 40), signature: text(3, 64)),
            messageType: "text")
    }

    @discardableResult private func keep(
        _ id: UUIDText, from sender: WhisperID, group: String? = nil, in store: ClientStore
    ) throws -> Evidence {
        let evidence = self.evidence(id, from: sender, group: group)
        let message = Message(
            id: id, peer: sender, groupID: group, direction: .incoming(isRead: false), content: .text("x"),
            time: Timestamp(milliseconds: 5))
        _ = try store.messages.keep([.message(message, evidence)], at: Timestamp(milliseconds: 6))
        return evidence
    }

    @Test func itIsKeptAsItCame() throws {
        let bob = self.sender(1)
        let ids = [UUIDText.random(), .random(), .random()]
        var all: [Evidence] = []
        do {
            let store = try self.open()
            for (id, group) in zip(ids, [nil, "grp-3d6f1f0e-8a55-4c7e-9d55-0c4b7d1f2a61", nil]) {
                all.append(try self.keep(id, from: bob, group: group, in: store))
            }
        }
        let store = try self.open()
        for (id, evidence) in zip(ids, all) {
            #expect(try store.evidence(of: id, from: bob, to: self.own) == evidence)
            #expect(try store.evidence(of: id, from: self.sender(2), to: self.own) == nil)
        }
    }

    @Test func theLatestOfEachSenderAreKept() throws {
        let store = try self.open()
        let ids = (0...ClientLimits.evidencePerSenderMax).map { _ in UUIDText.random() }
        try self.keep(ids[0], from: self.sender(2), in: store)
        for id in ids { try self.keep(id, from: self.sender(1), in: store) }
        #expect(try store.evidence(of: ids[0], from: self.sender(1), to: self.own) == nil)
        for id in ids.dropFirst() {
            #expect(try store.evidence(of: id, from: self.sender(1), to: self.own) != nil)
        }
        #expect(try store.evidence(of: ids[0], from: self.sender(2), to: self.own) != nil)
    }

    @Test func itHasABoundOverAllSenders() throws {
        let store = try self.open()
        let id = UUIDText.random()
        let senders = ClientLimits.evidenceMax / 4 + 1
        for number in 0..<senders {
            for _ in 0..<4 {
                try self.keep(.random(), from: self.sender(number), in: store)
            }
        }
        try self.keep(id, from: self.sender(1), in: store)
        let count = try store.database.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM evidence") }
        #expect(count == ClientLimits.evidenceMax)
        #expect(try store.evidence(of: id, from: self.sender(1), to: self.own) != nil)
    }

    @Test func itGoesWithItsMessage() throws {
        let (store, bob) = (try self.open(), self.sender(1))
        try store.settings.set(
            whisperID: self.own, session: StoredSession(token: "t", expiresAt: Timestamp(milliseconds: 1)))
        let (deleted, cleared) = (UUIDText.random(), UUIDText.random())
        for id in [deleted, cleared] { try self.keep(id, from: bob, in: store) }
        let change = MessageChange(
            target: MessageReference(id: deleted, author: bob), kind: .delete,
            revision: Revision(time: 7, id: .random()))
        _ = try store.messages.keep([.change(change, from: bob, groupID: nil)], at: Timestamp(milliseconds: 8))
        #expect(try store.evidence(of: deleted, from: bob, to: self.own) == nil)
        #expect(try store.evidence(of: cleared, from: bob, to: self.own) != nil)
        #expect(try store.clear(.direct(bob), upTo: .max) == 2)
        #expect(try store.database.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM evidence") } == 0)
    }
}
