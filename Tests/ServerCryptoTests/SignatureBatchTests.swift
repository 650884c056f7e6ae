import Contract
import Foundation
import TestKit
import Testing

@testable import ServerCrypto

/// Signatures checked together, against libsodium's word on each alone.
@Suite struct SignatureBatchTests {
    private static func areValid(_ claims: [Claim]) -> [Bool] { Signatures.areValid(claims.map(\.signed)) }

    private static let sizes = [
        0, 1, 2, 3, Signatures.togetherMin - 1, Signatures.togetherMin, Signatures.suspectsMax, Signatures.suspectsMax + 1,
        Signatures.togetherMax - 1, Signatures.togetherMax, Signatures.togetherMax + 1, 2 * Signatures.togetherMax + 1, 500,
    ]

    @Test(arguments: Self.sizes)
    func validOnesAreValidTogether(count: Int) {
        var generator = SeededGenerator(seed: UInt64(count))
        for keys in [1, 3, count] {
            #expect(Self.areValid(generator.claims(count, keys: keys)) == [Bool](repeating: true, count: count))
        }
    }

    /// The equation itself, so that nothing hides behind libsodium's second opinion.
    @Test func theEquationHoldsForValidOnesAndFailsForEachBadOne() {
        var generator = SeededGenerator(seed: 7)
        var claims = generator.claims(20, keys: 6)
        let valid = SignatureBatch(claims.map(\.signed)[...])
        #expect(valid.count == 20 && valid.holds(0..<20) && valid.holds(3..<9) && valid.holds(5..<6) && valid.holds(4..<4))
        for index in claims.indices {
            let good = claims[index]
            // Another digest: well-formed, and false.
            claims[index].digest = generator.bytes(32)
            let batch = SignatureBatch(claims.map(\.signed)[...])
            #expect(batch.count == 20 && !batch.holds(0..<20) && !batch.holds(index..<index + 1))
            #expect(batch.holds(0..<index) && batch.holds(index + 1..<20))
            claims[index] = good
        }
    }

    /// Two false signatures whose errors cancel each other in a plain sum: S + 1 and S - 1. Only z keeps them apart.
    @Test func errorsThatCancelAreSeen() {
        var generator = SeededGenerator(seed: 8)
        let one = [1] + [UInt8](repeating: 0, count: 31)
        for keys in [1, 2] {
            var claims = generator.claims(2, keys: keys)
            for (index, delta) in [one, Libsodium.negative(one)].enumerated() {
                claims[index].signature.replaceSubrange(32..., with: Libsodium.sum(Array(claims[index].signature[32...]), delta))
            }
            let batch = SignatureBatch(claims.map(\.signed)[...])
            #expect(batch.count == 2 && !batch.holds(0..<2))
            #expect(Self.areValid(claims) == [false, false])
        }
    }

    @Test(arguments: Tampering.allCases)
    func oneBadOneIsFoundWhereverItStands(tampering: Tampering) {
        var generator = SeededGenerator(seed: 9)
        for count in [1, 2, Signatures.suspectsMax + 1, Signatures.togetherMax + 1] {
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
        for bit in 0..<1024 {
            var claims = good
            let (byte, mask) = (bit % 512 / 8, UInt8(1) << UInt8(bit % 8))
            switch bit / 512 {
            case 0: claims[3].signature[byte] ^= mask
            default: byte < 32 ? (claims[3].digest[byte] ^= mask) : (claims[3].key[byte - 32] ^= mask)
            }
            #expect(Self.areValid(claims) == claims.indices.map { $0 != 3 }, "bit \(bit)")
        }
    }

    /// Malformed ones stay out of the equation, which costs the others nothing.
    @Test func malformedOnesAreNotInTheEquation() {
        var generator = SeededGenerator(seed: 11)
        let malformed: [Tampering] = [.scalarPlusOrder, .smallR, .smallKey, .smallBoth, .misspelledR, .misspelledKey]
        var claims = generator.claims(3 * malformed.count, keys: 3 * malformed.count)
        for (index, tampering) in malformed.enumerated() { tampering.apply(to: &claims[3 * index + 1], &generator) }
        let batch = SignatureBatch(claims.map(\.signed)[...])
        let wellFormed = claims.indices.filter { $0 % 3 != 1 }
        #expect(batch.count == wellFormed.count && batch.holds(0..<batch.count))
        #expect(batch.indices(0..<batch.count) == wellFormed)
        #expect(Self.areValid(claims) == claims.indices.map { $0 % 3 != 1 })
    }

    /// With the cofactor these equations hold; that the points are of small order is why they are refused.
    @Test func pointsOfSmallOrderAreRefusedThoughTheEquationHolds() {
        var generator = SeededGenerator(seed: 12)
        let signer = Signer(seed: generator.bytes(32))
        for torsion in Group.smallOrderPoints {
            var claims = generator.claims(4, keys: 4)
            claims[1] = signer.sign(generator.bytes(32), torsionOfR: torsion, isRNothingElse: true)
            claims[2].key = torsion
            claims[2].signature = Libsodium.multipleOfBase([1] + [UInt8](repeating: 0, count: 31)) + [1] + [UInt8](repeating: 0, count: 31)
            #expect(claims.map(\.isValidAlone) == [true, false, false, true])
            #expect(Self.areValid(claims) == [true, false, false, true])
        }
    }

    /// What the cofactor changes: the owner of a key gets a signature accepted whose R has a part of small order. Alone, or beside a
    /// bad one, it is libsodium's, and refused.
    @Test func aPartOfSmallOrderInRIsTakenOutAmongOthers() {
        var generator = SeededGenerator(seed: 13)
        let signer = Signer(seed: generator.bytes(32))
        #expect(signer.sign(generator.bytes(32), torsionOfR: nil).isValidAlone)
        for torsion in Group.smallOrderPoints.dropFirst() {
            var claims = generator.claims(4, keys: 4)
            claims[2] = signer.sign(generator.bytes(32), torsionOfR: torsion)
            #expect(claims.map(\.isValidAlone) == [true, true, false, true])
            #expect(Self.areValid(claims) == [true, true, true, true])
            #expect(Self.areValid([claims[2]]) == [false])
            claims[0].digest = generator.bytes(32)
            #expect(Self.areValid(claims) == [false, true, false, true])
            // Such keys do not register; if one had, the same would hold.
            claims = generator.claims(4, keys: 4)
            claims[1] = signer.sign(generator.bytes(32), torsionOfR: nil, torsionOfKey: torsion)
            #expect(!Signatures.isUsableSignKey(Bytes32(claims[1].key)!))
            #expect(Self.areValid(claims) == [true, true, true, true])
        }
    }

    /// Seeds of whatever may come: sizes, repeated keys, bad ones of every kind, from none to all.
    @Test(arguments: UInt64(0)..<200)
    func verdictsAreLibsodiums(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let count = Int.random(in: 0...60, using: &generator) * (seed % 20 == 0 ? 8 : 1)
        var claims = generator.claims(count, keys: .random(in: 1...max(count, 1), using: &generator))
        let oneIn = [1, 2, 5, 20, 1_000].randomElement(using: &generator)!
        for index in claims.indices where Int.random(in: 0..<oneIn, using: &generator) == 0 {
            Tampering.allCases.randomElement(using: &generator)!.apply(to: &claims[index], &generator)
        }
        claims.shuffle(using: &generator)
        #expect(Self.areValid(claims) == claims.map(\.isValidAlone))
    }

    /// Figures, when asked for: `WHISPER_MEASURE=1`.
    @Test(.enabled(if: ProcessInfo.processInfo.environment["WHISPER_MEASURE"] != nil))
    func aSignatureCosts() {
        var generator = SeededGenerator(seed: 14)
        let total = 256
        let signed = generator.claims(total, keys: total).map(\.signed)
        let ofFour = generator.claims(total, keys: total / 4).map(\.signed)
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
            for (name, signed) in [("different keys", signed), ("four of each key", ofFour)] {
                measured("\(size) together, \(name)") {
                    for start in stride(from: 0, to: total, by: size) {
                        // Where a key has four, they stand 64 apart: here they come one after the other.
                        let batch = (start..<start + size).map { signed[$0 % 4 * (total / 4) + $0 / 4] }
                        #expect(Signatures.areValid(batch).allSatisfy { $0 })
                    }
                }
            }
        }
        for bad in [1, total / Signatures.suspectsMax, total] {
            var claims = signed
            for index in stride(from: 0, to: total, by: total / bad) {
                claims[index] = SignedDigest(signature: signed[index].signature, digest: Bytes32(), key: signed[index].key)
            }
            measured("\(total) together, \(bad) of them bad") { #expect(Signatures.areValid(claims).count { !$0 } == bad) }
        }
    }
}
