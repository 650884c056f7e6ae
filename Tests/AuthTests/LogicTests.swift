import AuthCore
import AuthTestKit
import ClusterContract
import Contract
import Telemetry
import Testing

private let start = Timestamp(milliseconds: 1_730_000_000_000)
private let node = NodeID(value: 7)
private let connection = ConnectionID(value: 3)

@Suite struct LoginChallengeTests {
    let alice = TestIdentity(1)

    func challenge(as id: WhisperID? = nil) throws -> LoginChallenge {
        LoginChallenge(
            for: try frame(RegisterBegin.definition, self.alice.begin(as: id), RegisterBegin.init), node: node,
            connection: connection, random: Array(0..<16), at: start)
    }

    func proof(
        by identity: TestIdentity? = nil, of challenge: LoginChallenge, as id: WhisperID? = nil
    ) throws -> RegisterProof {
        let json = (identity ?? self.alice).proof("\(UUIDText.random())", signing: challenge.bytes.bytes, as: id)
        return try frame(RegisterProof.definition, json, RegisterProof.init)
    }

    func fault(
        _ challenge: LoginChallenge, _ proof: RegisterProof, node: NodeID = node, connection: ConnectionID = connection
    ) -> LoginChallenge.Fault? {
        do throws(LoginChallenge.Fault) {
            try challenge.check(proof, node: node, connection: connection)
            return nil
        } catch {
            return error
        }
    }

    @Test func bytesBeginWithThePrefix() throws {
        #expect(try self.challenge().bytes.bytes == Array("whisper-register".utf8) + Array(0..<16))
    }

    @Test func survivesRedis() throws {
        for id in [nil, self.alice.id()] {
            let challenge = try self.challenge(as: id)
            #expect(try LoginChallenge(decoding: challenge.encoded()) == challenge)
        }
    }

    @Test func aChallengeSaysWhenItsMinuteIsOver() throws {
        #expect(try self.challenge().expiresAt == start + .seconds(60))
    }

    @Test func aProofHoldsOnItsOwnConnectionOnly() throws {
        let challenge = try self.challenge()
        let proof = try self.proof(of: challenge)
        #expect(self.fault(challenge, proof, node: NodeID(value: 8)) == .foreignConnection)
        #expect(self.fault(challenge, proof, connection: ConnectionID(value: 4)) == .foreignConnection)
    }

    @Test func aProofHoldsForItsOwnDeviceOnly() throws {
        let challenge = try self.challenge()
        #expect(self.fault(challenge, try self.proof(by: self.alice.withNewDevice(), of: challenge)) == .otherDevice)
        var android = self.alice
        android.platform = .android
        #expect(self.fault(challenge, try self.proof(by: android, of: challenge)) == .otherPlatform)
    }

    @Test func whatWasBegunForAnIdentityIsProvedForIt() throws {
        let challenge = try self.challenge(as: self.alice.id())
        #expect(self.fault(challenge, try self.proof(of: challenge, as: self.alice.id())) == nil)
        #expect(self.fault(challenge, try self.proof(of: challenge)) == .otherIdentity)
        #expect(self.fault(challenge, try self.proof(of: challenge, as: self.alice.id(counter: 1))) == .otherIdentity)
        #expect(self.fault(try self.challenge(), try self.proof(of: challenge, as: self.alice.id())) == nil)
    }

    @Test func theSignatureIsOverTheseBytesByThisKey() throws {
        let challenge = try self.challenge()
        let other = LoginChallenge(
            for: try frame(RegisterBegin.definition, self.alice.begin(), RegisterBegin.init), node: node,
            connection: connection, random: Array(1..<17), at: start)
        #expect(self.fault(challenge, try self.proof(of: other)) == .badSignature)
    }

    /// Keys of low order, and other spellings of good ones.
    @Test func weakAndMisspelledKeysAreRefused() throws {
        let challenge = try self.challenge()
        let zero = base64([UInt8](repeating: 0, count: 32))
        let one = base64([1] + [UInt8](repeating: 0, count: 31))
        let misspelled = base64(self.alice.encPublicKey.bytes.dropLast() + [self.alice.encPublicKey.bytes[31] | 0x80])
        let beyond = base64([0xF6] + [UInt8](repeating: 0xFF, count: 30) + [0x7F])
        let good = self.alice.proof("\(UUIDText.random())", signing: challenge.bytes.bytes)
        for (field, key, weak) in [
            ("enc", self.alice.encPublicKey, zero), ("enc", self.alice.encPublicKey, one),
            ("enc", self.alice.encPublicKey, misspelled), ("enc", self.alice.encPublicKey, beyond),
            ("sign", self.alice.signPublicKey, zero), ("sign", self.alice.signPublicKey, one),
        ] {
            let bad = good.replacing(
                "\"\(field)PublicKey\":\"\(base64(key.bytes))\"", with: "\"\(field)PublicKey\":\"\(weak)\"")
            #expect(bad != good)
            let proof = try frame(RegisterProof.definition, bad, RegisterProof.init)
            #expect(self.fault(challenge, proof) == .unusableKey)
        }
    }
}

@Suite struct IdentityClaimTests {
    let alice = TestIdentity(1)

    func claim(as id: WhisperID? = nil) -> IdentityClaim {
        IdentityClaim(
            whisperID: id, signPublicKey: self.alice.signPublicKey, encPublicKey: self.alice.encPublicKey)
    }

    func keys(_ sign: TestIdentity, _ enc: TestIdentity, id: UInt64 = 5) -> IdentityKeys {
        IdentityKeys(
            whisperID: WhisperID(bits: id)!, signPublicKey: sign.signPublicKey, encPublicKey: enc.encPublicKey)
    }

    @Test func unknownKeysAreANewIdentityUnlessTheyClaimAnOldOne() {
        #expect(self.claim().verdict(known: []) == .new)
        #expect(self.claim(as: WhisperID(bits: 5)).verdict(known: []) == .refused)
    }

    @Test func knownKeysAreTheirIdentity() {
        let known = [self.keys(self.alice, self.alice)]
        #expect(self.claim().verdict(known: known) == .existing(WhisperID(bits: 5)!))
        #expect(self.claim(as: WhisperID(bits: 5)).verdict(known: known) == .existing(WhisperID(bits: 5)!))
        #expect(self.claim(as: WhisperID(bits: 6)).verdict(known: known) == .refused)
    }

    @Test func halfAPairIsNobody() {
        let other = TestIdentity(2)
        #expect(self.claim().verdict(known: [self.keys(self.alice, other)]) == .refused)
        #expect(self.claim().verdict(known: [self.keys(other, self.alice)]) == .refused)
        #expect(
            self.claim().verdict(known: [self.keys(self.alice, other), self.keys(other, self.alice, id: 6)]) == .refused
        )
    }

    @Test func candidatesFollowTheCounter() {
        let candidates = Array(self.claim().candidates)
        #expect(candidates.count == 256)
        #expect(candidates.first == self.alice.id(counter: 0))
        #expect(candidates.last == self.alice.id(counter: 255))
    }
}

@Suite struct SessionTokenTests {
    @Test func isBase64URLWithoutPadding() {
        let token = SessionToken(random: Bytes32([UInt8](repeating: 0xFB, count: 32))!)
        #expect(token.text == "-_v7-_v7-_v7-_v7-_v7-_v7-_v7-_v7-_v7-_v7-_s")
        #expect(SessionToken(shown: token.ascii) == token)
    }

    @Test(arguments: [
        "", "short", "spaces are not in the alphabet of a token", "pädded-and-not-ascii-but-long-enough", "AAAA=",
    ])
    func otherTextIsNoToken(text: String) {
        #expect(SessionToken(shown: text.utf8) == nil)
    }

    @Test func theSuccessorNeedsBothTokenAndNonce() {
        let token = SessionToken(random: Bytes32())
        let nonce = Bytes32([UInt8](repeating: 9, count: 32))!
        let next = token.successor(nonce: nonce)
        #expect(next.ascii.count == 43)
        #expect(token.successor(nonce: nonce) == next)
        #expect(token.successor(nonce: Bytes32()) != next)
        #expect(next.successor(nonce: nonce) != next)
        // HMAC-SHA-256 by another implementation.
        #expect(next.text == "4yq4oURu66vbhpappjgMn1ZO_RCl-UbT-zVORCuNJVw")
    }

    @Test func neverPrintsItself() {
        let token = SessionToken(random: Bytes32())
        #expect("\(token)" == "***")
        #expect("\(Optional(token) as Any)".contains(token.text) == false)
    }
}

@Suite struct SessionLifeTests {
    @Test func theCacheHoldsASessionForAnHourOrTheRestOfItsLife() {
        #expect(SessionLife.cacheLife(left: .seconds(7_200)) == .seconds(3_600))
        #expect(SessionLife.cacheLife(left: .seconds(90)) == .seconds(90))
        #expect(SessionLife.cacheLife(left: .zero) == nil)
    }
}

@Suite struct EntityTagTests {
    @Test(arguments: [
        ("*", EntityTag.Expectation.any), ("\"5\"", .oneOf([5])), ("\"5\" ,\t\"6\"", .oneOf([5, 6])),
        ("W/\"5\"", .oneOf([])),
        ("\"x\", \"7\"", .oneOf([7])), ("5", .oneOf([])), ("\"05\"", .oneOf([])), ("", .oneOf([])),
    ])
    func ifMatch(header: String, expectation: EntityTag.Expectation) {
        #expect(EntityTag.expectation(header) == expectation)
    }
}

@Suite struct AuthRequestKindTests {
    @Test func everyFrameOfAuthIsCountedUnderItsType() {
        let types = FrameCatalogue.all.filter { if case .service(.auth) = $0.route { true } else { false } }.map(\.type)
        #expect(types.count >= 6)
        for type in types { #expect(AuthRequestKind(rawValue: type) != nil, "\(type)") }
    }
}
