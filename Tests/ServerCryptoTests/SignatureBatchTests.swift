import Contract
import Foundation
import TestKit
import Testing

@testable import ServerCrypto

/// Signatures checked by code of our own, many at a time, against libsodium's word on each alone.
@Suite struct SignatureBatchTests {
    private static func areValid(_ claims: [Claim]) -> [Bool] { Signatures.areValid(claims.map(\.signed)) }

    @Test(arguments: [0, 1, 2, 3, 17, 130, 500])
    func validOnesAreValidTogether(count: Int) {
        var generator = SeededGenerator(seed: UInt64(count))
        for keys in [1, 3, count] {
            #expect(Self.areValid(generator.claims(count, keys: keys)) == [Bool](repeating: true, count: count))
        }
    }

    /// The check itself, so that nothing hides behind libsodium's second opinion.
    @Test func theRThatFitsIsTheSignaturesIfItIsValid() {
        var generator = SeededGenerator(seed: 7)
        let cache = PreparedKeyCache(count: 4)
        for claim in generator.claims(20, keys: 6) {
            let fitting = claim.signed.commitment(preparedKeys: cache)?.encoded
            #expect(fitting == Array(claim.signature[..<32]))
            var other = claim
            other.digest = generator.bytes(32)
            let otherFitting = other.signed.commitment(preparedKeys: cache)?.encoded
            #expect(otherFitting != nil && otherFitting != fitting)
        }
        var malformed = generator.claims(4, keys: 4)
        for (index, tampering) in [Tampering.scalarPlusOrder, .smallKey, .smallBoth, .misspelledKey].enumerated() {
            tampering.apply(to: &malformed[index], &generator)
            let fitting = malformed[index].signed.commitment(preparedKeys: cache)?.encoded
            #expect(fitting == nil, "\(tampering)")
        }
    }

    /// Keys that share a place in the cache take it from each other, and nobody is checked by another's key.
    @Test func keysThatShareAPlaceAreKeptApart() {
        var generator = SeededGenerator(seed: 8)
        let cache = PreparedKeyCache(count: 1)
        for claim in generator.claims(12, keys: 3) + generator.claims(4, keys: 1) {
            let (first, second) = (cache.prepared(claim.signed.key), cache.prepared(claim.signed.key))
            #expect(first != nil && first === second && first?.key == claim.signed.key)
            let fitting = claim.signed.commitment(preparedKeys: cache)?.encoded
            #expect(fitting == Array(claim.signature[..<32]))
        }
        let none = cache.prepared(Bytes32(Group.identity)!)
        #expect(none == nil)
    }

    @Test(arguments: Tampering.allCases)
    func oneBadOneIsFoundWhereverItStands(tampering: Tampering) {
        var generator = SeededGenerator(seed: 9)
        for count in [1, 2, 17, 130] {
            for place in Set([0, count / 2, count - 1]) {
                var claims = generator.claims(count, keys: count / 2)
                tampering.apply(to: &claims[place], &generator)
                #expect(!claims[place].isValidAlone)
                #expect(Self.areValid(claims) == claims.indices.map { $0 != place }, "\(count), at \(place)")
            }
        }
    }

    @Test func everyFlippedBitIsFound() {
        var generator = SeededGenerator(seed: 10)
        let good = generator.claims(8, keys: 2)
        // In the short run every seventh: each bit of a byte, in each field.
        for bit in stride(from: 0, to: 1024, by: Prove.isAsked ? 1 : 7) {
            var claims = good
            let (byte, mask) = (bit % 512 / 8, UInt8(1) << UInt8(bit % 8))
            switch bit / 512 {
            case 0: claims[3].signature[byte] ^= mask
            default: byte < 32 ? (claims[3].digest[byte] ^= mask) : (claims[3].key[byte - 32] ^= mask)
            }
            #expect(Self.areValid(claims) == claims.indices.map { $0 != 3 }, "bit \(bit)")
        }
    }

    /// Their equations hold; that the points are of small order is why they are refused.
    @Test func pointsOfSmallOrderAreRefusedThoughTheEquationHolds() {
        var generator = SeededGenerator(seed: 12)
        let signer = Signer(seed: generator.bytes(32))
        for torsion in Group.smallOrderPoints {
            var claims = generator.claims(4, keys: 4)
            claims[1] = signer.sign(generator.bytes(32), torsionOfR: torsion, isRNothingElse: true)
            claims[2].key = torsion
            claims[2].signature =
                Libsodium.multipleOfBase([1] + [UInt8](repeating: 0, count: 31)) + [1]
                + [UInt8](repeating: 0, count: 31)
            #expect(claims.map(\.isValidAlone) == [true, false, false, true])
            #expect(Self.areValid(claims) == [true, false, false, true])
        }
    }

    /// The owner of a key can give R, or the key, a part of small order. Recipients ask libsodium, which refuses such
    /// signatures, except for those in which the parts cancel each other. The verdict here must not depend on the rest
    /// of the batch.
    @Test func aPartOfSmallOrderInRIsRefusedAmongOthers() {
        var generator = SeededGenerator(seed: 13)
        let signer = Signer(seed: generator.bytes(32))
        #expect(signer.sign(generator.bytes(32), torsionOfR: nil).isValidAlone)
        for torsion in Group.smallOrderPoints.dropFirst() {
            var claims = generator.claims(4, keys: 4)
            claims[2] = signer.sign(generator.bytes(32), torsionOfR: torsion)
            #expect(claims.map(\.isValidAlone) == [true, true, false, true])
            #expect(Self.areValid(claims) == [true, true, false, true])
            #expect(Self.areValid([claims[2]]) == [false])
            // All with the same part, as one sender's batch would be.
            claims = (0..<20).map { _ in signer.sign(generator.bytes(32), torsionOfR: torsion) }
            #expect(Self.areValid(claims) == [Bool](repeating: false, count: 20))
            // Such keys do not register.
            claims = (0..<20).map { _ in signer.sign(generator.bytes(32), torsionOfR: nil, torsionOfKey: torsion) }
            #expect(!Signatures.isUsableSignKey(Bytes32(claims[1].key)!))
            #expect(Self.areValid(claims) == claims.map(\.isValidAlone))
        }
    }

    /// `WHISPER_SIGNATURE_SEEDS=1000` plays 100,000 batches.
    private static let seeds =
        ProcessInfo.processInfo.environment["WHISPER_SIGNATURE_SEEDS"].flatMap { UInt64($0) }
        ?? (Prove.isAsked ? 20 : 5)

    /// A hundred batches for each seed, of whatever may come: sizes, repeated keys and members, bad ones of every
    /// kind, R and keys with parts of every small order.
    @Test(arguments: 0..<Self.seeds)
    func verdictsAreLibsodiums(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var (accepted, refused, torsionAccepted, torsionRefused) = (0, 0, 0, 0)
        for batch in 0..<100 {
            let count = Int.random(in: 1...10, using: &generator) * (batch == 50 ? 16 : 1)
            let signers = (0..<Int.random(in: 1...3, using: &generator)).map { _ in Signer(seed: generator.bytes(32)) }
            let oneIn = [2, 5, 20].randomElement(using: &generator)!
            var claims: [(claim: Claim, hasTorsion: Bool)] = []
            for _ in 0..<count {
                let signer = signers.randomElement(using: &generator)!
                switch Int.random(in: 0..<6, using: &generator) {
                case 0, 1:
                    // The identity among them: no torsion.
                    let ofR = Group.smallOrderPoints.randomElement(using: &generator)!
                    let hasKeyTorsion = Bool.random(using: &generator)
                    let ofKey = Group.smallOrderPoints[hasKeyTorsion ? .random(in: 1...7, using: &generator) : 0]
                    let isRNothingElse = Int.random(in: 0..<4, using: &generator) == 0
                    func anotherClaim() -> Claim {
                        signer.sign(
                            generator.bytes(32), torsionOfR: ofR, torsionOfKey: ofKey, isRNothingElse: isRNothingElse)
                    }
                    var claim = anotherClaim()
                    // The parts cancel each other for some digests.
                    let tries = Int.random(in: 0..<3, using: &generator) == 0 ? 16 : 0
                    for _ in 0..<tries where !claim.isValidAlone { claim = anotherClaim() }
                    claims.append((claim, ofR != Group.identity || ofKey != Group.identity))
                case 2 where !claims.isEmpty: claims.append(claims.randomElement(using: &generator)!)
                default: claims.append((signer.sign(generator.bytes(32)), false))
                }
                guard Int.random(in: 0..<oneIn, using: &generator) == 0 else { continue }
                let tampering = Tampering.allCases.randomElement(using: &generator)!
                tampering.apply(to: &claims[claims.count - 1].claim, &generator)
            }
            claims.shuffle(using: &generator)
            let (signed, alone) = (claims.map(\.claim.signed), claims.map(\.claim.isValidAlone))
            #expect(Signatures.areValid(signed) == alone, "batch \(batch)")
            // Nor does libsodium's second opinion hide anything.
            #expect(Signatures.fit(signed) == alone, "batch \(batch)")
            accepted += alone.count { $0 }
            refused += alone.count { !$0 }
            torsionAccepted += zip(claims, alone).count { $0.hasTorsion && $1 }
            torsionRefused += zip(claims, alone).count { $0.hasTorsion && !$1 }
        }
        // Every kind was among them.
        #expect(accepted > 50 && refused > 50 && torsionAccepted > 0 && torsionRefused > 10)
    }

    /// Figures, when asked for: `WHISPER_MEASURE=1`.
    @Test(.enabled(if: ProcessInfo.processInfo.environment["WHISPER_MEASURE"] != nil))
    func aSignatureCosts() {
        var generator = SeededGenerator(seed: 14)
        let total = 256
        let signed = generator.claims(total, keys: total).map(\.signed)
        /// This thread's CPU time, which does not count what others do on the same cores.
        func now() -> Double {
            var time = timespec()
            clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
            return Double(time.tv_sec) * 1e6 + Double(time.tv_nsec) / 1e3
        }
        /// The median of several runs, in µs for each of `total` signatures.
        func measured(_ name: String, _ body: () -> Void) {
            let runs = (0..<25).map { _ in
                let start = now()
                body()
                return (now() - start) / Double(total)
            }
            print("measured: \(name): \((runs.sorted()[12] * 10).rounded() / 10) µs for each signature")
        }
        measured("one by one") {
            #expect(signed.allSatisfy { Signatures.isValid($0.signature, over: $0.digest, by: $0.key) })
        }
        for size in [1, 2, 4, 8, 16, 32, 64, 128, 256] {
            measured("\(size) together") {
                for start in stride(from: 0, to: total, by: size) {
                    #expect(Signatures.areValid(Array(signed[start..<start + size])).allSatisfy { $0 })
                }
            }
        }
        let runs = (0..<25).map { _ in
            let fresh = generator.claims(64, keys: 64).map(\.signed)
            let start = now()
            #expect(Signatures.areValid(fresh).allSatisfy { $0 })
            return (now() - start) / 64
        }
        print("measured: 64 together, by new keys: \((runs.sorted()[12] * 10).rounded() / 10) µs for each signature")
        let bad = signed.map { SignedDigest(signature: $0.signature, digest: Bytes32(), key: $0.key) }
        measured("\(total) together, all of them bad") { #expect(!Signatures.areValid(bad).contains(true)) }
    }
}
