import Contract
import Foundation
import TestKit
import Testing

@testable import WhisperClient

/// Words between two Whisper phones, and the handshake before them.
@Suite struct NearbyWordTests {
    private func handshake(_ words: Mnemonic, _ nonce: UInt8) -> NearbyHandshake {
        NearbyHandshake(
            id: words.id, keys: IdentityKeys(words), nonce: [UInt8](repeating: nonce, count: NearbyLimits.nonceBytes))
    }

    /// Takes a value, and looks what it means.
    private func check(
        _ handshake: inout NearbyHandshake, _ value: [UInt8], _ kind: String, _ why: Comment? = nil,
        at location: SourceLocation = #_sourceLocation
    ) {
        let verdict =
            switch handshake.take(value) {
            case .wait: "wait"
            case .said: "said"
            case .proven: "proven"
            case .from: "from"
            case .refuse: "refused"
            }
        #expect(verdict == kind, why, sourceLocation: location)
    }

    private static let receipt = NearbyWord.bytes(
        of: NearbyReceipt(id: .random(), from: bobID, to: carolID, .delivered),
        signature: [UInt8](repeating: 0, count: 64))

    /// Handshakes of two who have proven to each other who they are.
    private func proven(_ hers: UInt8, _ his: UInt8) throws -> (alice: NearbyHandshake, bob: NearbyHandshake) {
        var (alice, bob) = (self.handshake(aliceWords, hers), self.handshake(bobWords, his))
        self.check(&alice, NearbyWord.bytes(of: bob.hello), "said")
        self.check(&bob, NearbyWord.bytes(of: alice.hello), "said")
        self.check(&alice, try #require(bob.proof), "proven")
        self.check(&bob, try #require(alice.proof), "proven")
        return (alice, bob)
    }

    @Test func bothSayAndProveWhoTheyAre() throws {
        var (alice, bob) = (self.handshake(aliceWords, 1), self.handshake(bobWords, 2))
        self.check(&alice, NearbyWord.bytes(of: bob.hello), "said")
        self.check(&bob, NearbyWord.bytes(of: alice.hello), "said")
        #expect(alice.proven == nil)
        self.check(&alice, try #require(bob.proof), "proven")
        self.check(&bob, try #require(alice.proof), "proven")
        #expect(alice.proven?.id == bobID && bob.proven?.keys == IdentityKeys(aliceWords).publicKeys)
        let id = UUIDText.random()
        guard case .from(let hello, .receipt(let receipt, _)) = alice.take(try #require(bob.receipt(id, .delivered)))
        else { return #expect(Bool(false), "no receipt") }
        #expect(hello.id == bobID && receipt == NearbyReceipt(id: id, from: bobID, to: aliceWords.id, .delivered))
        guard case .wait = alice.take(Array(#"{"type":"later","what":{}}"#.utf8)) else {
            return #expect(Bool(false), "a word of a later release ends nothing")
        }
        self.check(&alice, NearbyWord.bytes(of: bob.hello), "refused", "once is enough")
    }

    @Test func whatWasRecordedProvesNothing() throws {
        var (alice, bob) = (self.handshake(aliceWords, 1), self.handshake(bobWords, 2))
        _ = alice.take(NearbyWord.bytes(of: bob.hello))
        _ = bob.take(NearbyWord.bytes(of: alice.hello))
        let recorded = try #require(bob.proof)
        // The same hello and proof on the next connection, where our nonce is another.
        var next = self.handshake(aliceWords, 3)
        self.check(&next, NearbyWord.bytes(of: bob.hello), "said")
        self.check(&next, recorded, "refused")
        // Our own words come back as somebody's.
        var mirrored = self.handshake(aliceWords, 4)
        self.check(&mirrored, NearbyWord.bytes(of: mirrored.hello), "refused")
        // Somebody says bob's id with bob's keys, and signs by their own.
        var deceived = self.handshake(aliceWords, 5)
        let mallory = NearbyHello(id: bobID, keys: IdentityKeys(bobWords).publicKeys, nonce: recorded.suffix(32))
        _ = deceived.take(NearbyWord.bytes(of: mallory))
        let signature = IdentityKeys(.random()).pair.sign(
            digestOf: NearbyHello.proof(of: mallory, to: deceived.hello))
        self.check(&deceived, NearbyWord.bytes(ofProof: signature), "refused")
        // A proof for one is none for another, nor for the other direction.
        #expect(
            NearbyHello.proof(of: alice.hello, to: bob.hello) != NearbyHello.proof(of: bob.hello, to: alice.hello))
    }

    /// A relay lets both prove their identities, and then speaks for one of them.
    @Test func receiptsThatTheOtherHasNotSignedAreRefused() throws {
        var (alice, bob) = try self.proven(1, 2)
        #expect(self.handshake(aliceWords, 1).receipt(.random(), .read) == nil, "nobody is there to be told")
        let real = try #require(bob.receipt(.random(), .delivered))
        let text = String(decoding: real, as: UTF8.self)
        self.check(&alice, Self.receipt, "refused", "of somebody else, to somebody else")
        self.check(&alice, Array(text.replacing("delivered", with: "read").utf8), "refused", "another status")
        guard case .receipt(var receipt, let signature) = NearbyWord(real) else {
            return #expect(Bool(false), "no receipt")
        }
        receipt.id = .random()
        self.check(&alice, NearbyWord.bytes(of: receipt, signature: signature), "refused", "another message")
        let mallory = IdentityKeys(.random()).pair.sign(digestOf: receipt.signed(by: bob.hello, for: alice.hello))
        self.check(&alice, NearbyWord.bytes(of: receipt, signature: mallory), "refused", "another's signature")
        self.check(&bob, real, "refused", "his own comes back")
        var next = try self.proven(3, 2).alice
        self.check(&next, real, "refused", "of another connection")
        #expect(NearbyWord(Array(text.replacing("signature", with: "sig").utf8)) == nil)
        self.check(&alice, real, "from")
    }

    @Test func beforeTheProofNothingElseIsTaken() {
        var alice = self.handshake(aliceWords, 1)
        self.check(&alice, Self.receipt, "refused")
        self.check(&alice, NearbyWord.bytes(of: self.handshake(bobWords, 2).hello), "said")
        self.check(&alice, Self.receipt, "refused")
        self.check(&alice, Array(#"{"type":"later"}"#.utf8), "refused")
    }

    @Test func sizesAreBoundedAndUnknownFieldsIgnored() throws {
        let text = String(decoding: NearbyWord.bytes(of: self.handshake(bobWords, 2).hello), as: UTF8.self)
        let more = Array((text.dropLast() + #","later":[1]}"#).utf8)
        #expect(NearbyWord(more) != nil)
        #expect(
            NearbyWord(Array((text.dropLast() + #","p":""# + String(repeating: "x", count: 65_536) + #""}"#).utf8))
                == nil)
        #expect(NearbyWord(Array(text.dropLast().utf8)) == nil)
        #expect(NearbyWord(Array(text.replacing("nonce", with: "once").utf8)) == nil)
        #expect(NearbyWord([0xff, 0xfe]) == nil)
    }

    @Test(arguments: UInt64(0)..<50) func garbageIsRefusedAndNothingElseHappens(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var bytes = NearbyWord.bytes(of: self.handshake(bobWords, 2).hello)
        for _ in 0..<4 {
            bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
        }
        var alice = self.handshake(aliceWords, 1)
        _ = alice.take(bytes)
        #expect(alice.proven == nil)
    }

    @Test func theLongestMessageFits() throws {
        let body = MessageBody.text(
            String(repeating: "x", count: ClientLimits.textBytesMax),
            .init(replyTo: MessageReference(id: .random(), author: bobID))
        ).bytes
        let sealed = try SealedMessage(
            body, messageID: "\(UUIDText.random())", from: aliceWords.id, to: bobID,
            reader: IdentityKeys(bobWords).publicKeys, timestamp: Timestamp(milliseconds: 1),
            nonce: Sodium.random(24), keys: IdentityKeys(aliceWords))
        let bytes = try NearbyWord.bytes(of: sealed, type: "text")
        guard case .message(let received) = NearbyWord(bytes) else {
            return #expect(Bool(false), "no message")
        }
        #expect(
            try SealedMessage(received.envelope).open(
                writer: IdentityKeys(aliceWords).publicKeys, keys: IdentityKeys(bobWords)) == body)
    }
}
