import Contract
import Testing

@testable import WhisperClient

@Suite struct SharedKeysTests {
    private func publicKey(_ number: UInt8) -> Bytes32 { Bytes32([UInt8](repeating: number, count: 32))! }

    @Test func anAgreementIsMadeOnceForEachPerson() {
        let keys = SharedKeys(countMax: 2)
        var agreements: [UInt8] = []
        func use(_ number: UInt8) {
            _ = keys.key(for: self.publicKey(number)) {
                agreements.append(number)
                return SecretBytes([number])
            }
        }
        for number: UInt8 in [1, 1, 2, 1, 2] { use(number) }
        #expect(agreements == [1, 2])
        // The one that was used longest ago goes.
        for number: UInt8 in [1, 3, 1, 2] { use(number) }
        #expect(agreements == [1, 2, 3, 2])
    }

    /// `SecretBytes` erases itself when nobody holds it.
    @Test func aKeyThatGoesIsHeldNoLonger() {
        let keys = SharedKeys(countMax: 1)
        weak let first = keys.key(for: self.publicKey(1)) { SecretBytes([1]) }
        #expect(first != nil)
        _ = keys.key(for: self.publicKey(2)) { SecretBytes([2]) }
        #expect(first == nil)
    }

    @Test func aKeyThatIsNoGoodIsNotKept() {
        let keys = SharedKeys()
        #expect(keys.key(for: self.publicKey(0)) { nil } == nil)
        #expect(keys.key(for: self.publicKey(0)) { SecretBytes([1]) } != nil)
    }

    /// The shared key of two identities is reused, not made again: the second box needs no X25519.
    @Test func theSharedKeyIsThatOfTheBox() throws {
        let (alice, bob) = (IdentityKeys(aliceWords), IdentityKeys(bobWords))
        let nonce = [UInt8](0..<24)
        for text in ["one", "two"] {
            let sealed = try alice.box(Array(text.utf8), nonce: nonce, to: bob.publicKeys)
            #expect(try bob.openBox(sealed, nonce: nonce, from: alice.publicKeys) == Array(text.utf8))
        }
        #expect(alice.sharedKeys.count == 1)
        #expect(bob.sharedKeys.count == 1)
    }
}
