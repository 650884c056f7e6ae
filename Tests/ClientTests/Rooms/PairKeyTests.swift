import Contract
import TestKit
import Testing

@testable import WhisperClient

/// Keys of two participants of a room (contract §14.5, §15.2, §19.23).
@Suite struct PairKeyTests {
    private static let room = UUIDText("3d6f1f0e-8a55-4c7e-9d55-0c4b7d1f2a61")!
    private let anna = Self.pair(1)
    private let bert = Self.pair(2)
    private let secret = RoomSecret(SecretBytes(Array(0..<16)))

    private static func pair(_ number: UInt8) -> KeyPair {
        KeyPair(
            signSeed: SecretBytes(Array(repeating: number, count: 32)),
            boxKey: SecretBytes(Array(repeating: number + 100, count: 32)))
    }

    private static func id(_ pair: KeyPair) -> PrincipalID { .guest(pair.publicKeys.guestID) }

    private func keys(
        of other: KeyPair, secret: RoomSecret?, _ vias: Set<RoomParticipant.Way>
    ) -> PairKeys { PairKeys(secret: secret, other: other.publicKeys, vias: vias) }

    private func sent(_ content: SignalContent, by keys: PairKeys) throws -> LiveSigned {
        try keys.seal(
            content, in: Self.room, from: Self.id(self.anna), to: Self.id(self.bert), at: Timestamp(milliseconds: 7),
            signer: self.anna)
    }

    private func opened(_ signal: LiveSigned, _ kind: RoomSignalKind, by keys: PairKeys) -> SignalContent? {
        keys.open(signal, kind, in: Self.room, to: Self.id(self.bert), reader: self.bert)
    }

    @Test func onlyThePeerOpensWhatWasSigned() throws {
        let offer = SignalContent(.offer, sdp: "v=0")
        let (mine, theirs) = (
            self.keys(of: self.bert, secret: nil, [.code]),
            self.keys(of: self.anna, secret: nil, [.creator])
        )
        let signal = try self.sent(offer, by: mine)
        #expect(self.opened(signal, .offer, by: theirs) == offer)
        // The outer kind differs from the one inside.
        #expect(self.opened(signal, .restart, by: theirs) == nil)
        var forged = signal
        forged.timestamp = Timestamp(milliseconds: 8)
        #expect(self.opened(forged, .offer, by: theirs) == nil)
        let other = UUIDText.random()
        #expect(theirs.open(signal, .offer, in: other, to: Self.id(self.bert), reader: self.bert) == nil)
        #expect(theirs.open(signal, .offer, in: Self.room, to: Self.id(self.anna), reader: self.bert) == nil)
        #expect(theirs.open(signal, .offer, in: Self.room, to: Self.id(self.bert), reader: self.anna) == nil)
        let candidate = SignalContent(RoomCandidate(candidate: "candidate:1", sdpMLineIndex: 0, sdpMid: nil))
        #expect(self.opened(try self.sent(candidate, by: mine), .candidate, by: theirs) == candidate)
    }

    /// Contract §19.23: whoever came by link uses the salt with the creator and with all who came by link, whatever the server
    /// says later.
    @Test func theLinksSecretIsUsedWhereBothHaveIt() {
        typealias Way = RoomParticipant.Way
        for (vias, isSalted) in [
            ([.creator], true), ([.link], true), ([.code], false), ([.creator, .code], true), ([.link, .code], true),
        ] as [(Set<Way>, Bool)] {
            #expect(self.keys(of: self.bert, secret: self.secret, vias).isSalted == isSalted)
            #expect(!self.keys(of: self.bert, secret: nil, vias).isSalted)
        }
    }

    @Test func withoutTheSecretNothingOpens() throws {
        let offer = SignalContent(.offer, sdp: "v=0")
        let signal = try self.sent(offer, by: self.keys(of: self.bert, secret: self.secret, [.link]))
        #expect(
            self.opened(signal, .offer, by: self.keys(of: self.anna, secret: self.secret, [.creator]))
                == offer)
        #expect(self.opened(signal, .offer, by: self.keys(of: self.anna, secret: nil, [.creator])) == nil)
        let other = RoomSecret(SecretBytes(Array(1..<17)))
        #expect(self.opened(signal, .offer, by: self.keys(of: self.anna, secret: other, [.creator])) == nil)
        // And the other way round.
        let plain = try self.sent(offer, by: self.keys(of: self.bert, secret: nil, [.link]))
        #expect(
            self.opened(plain, .offer, by: self.keys(of: self.anna, secret: self.secret, [.creator])) == nil
        )
    }

    @Test func linksAreReadAsTheyAreWritten() throws {
        let link = RoomLink(origin: "https://chat.example", room: Self.room, secret: self.secret.secret)
        #expect(link.text == "https://chat.example/join/\(Self.room)#AAECAwQFBgcICQoLDA0ODw")
        let read = try #require(RoomLink(link.text))
        #expect(read.room == link.room && read.origin == link.origin && read.secret.bytes == Array(0..<16))
        for text in [
            "https://chat.example/join/\(Self.room)", "https://chat.example/join/#AAECAwQFBgcICQoLDA0ODw",
            "https://chat.example/join/\(Self.room)#AAEC", "/join/\(Self.room)#AAECAwQFBgcICQoLDA0ODw",
            "https://chat.example/listen/\(Self.room)#AAECAwQFBgcICQoLDA0ODw",
            "https://chat.example/join/3D6F1F0E-8A55-4C7E-9D55-0C4B7D1F2A61#AAECAwQFBgcICQoLDA0ODw",
        ] { #expect(RoomLink(text) == nil, "\(text)") }
    }
}
