import Contract
import TestKit
import Testing

@testable import ServerCrypto

/// Points and their sums, against libsodium's.
@Suite struct PointTests {
    /// Of the main subgroup, encoded.
    private static func points(_ count: Int, seed: UInt64) -> [[UInt8]] {
        var generator = SeededGenerator(seed: seed)
        return (0..<count).map { _ in Libsodium.multipleOfBase(Libsodium.reduced(generator.bytes(64))) }
    }

    @Test func pointsAreReadAndWrittenAsTheyAre() throws {
        for encoding in Self.points(100, seed: 1) {
            #expect(try #require(EdwardsPoint(encoding)).encoded == encoding)
        }
        #expect(EdwardsPoint.base.encoded == hex("5866666666666666666666666666666666666666666666666666666666666666"))
    }

    /// Half of all numbers are no y of a point. The two decoded together must not learn from each other.
    @Test func aPointIsDecodedIfLibsodiumTakesIt() {
        var generator = SeededGenerator(seed: 2)
        let encodings = (0..<1_001).map { _ in generator.bytes(32) }
        let decoded = EdwardsPoint.decoded(encodings.map { Bytes32($0)! })
        #expect(decoded.count == encodings.count)
        var valid = 0
        for (encoding, point) in zip(encodings, decoded) {
            #expect((point != nil) == (Libsodium.pointSum(encoding, Group.identity) != nil))
            if let point {
                #expect(point.encoded == encoding)
                valid += 1
            }
        }
        #expect((400...600).contains(valid))
        #expect(EdwardsPoint.decoded([]).isEmpty)
    }

    @Test func smallOrdersAndOtherSpellingsAreRefused() {
        for encoding in Group.smallOrderEncodings + Group.misspelledEncodings { #expect(EdwardsPoint(encoding) == nil, "\(encoding)") }
        // The spelling is the reason, where it is: the same y below p is a point for some.
        let canonical = (UInt8(2)..<19).filter { EdwardsPoint([$0] + [UInt8](repeating: 0, count: 31)) != nil }
        #expect(!canonical.isEmpty)
        // And a part of small order is none.
        for torsion in Group.smallOrderPoints.dropFirst() {
            let mixed = Libsodium.pointSum(EdwardsPoint.base.encoded, torsion)!
            #expect(EdwardsPoint(mixed)?.encoded == mixed)
        }
    }

    @Test func sumsOfTwoAreLibsodiums() throws {
        let points = Self.points(40, seed: 3)
        for (p, q) in zip(points, points.dropFirst() + [points[points.count - 1]]) {
            let (point, cached) = (try #require(EdwardsPoint(p)), CachedPoint(try #require(EdwardsPoint(q))))
            #expect((point + cached).projective.encoded == Libsodium.pointSum(p, q)!)
            #expect((point + cached).extended.encoded == Libsodium.pointSum(p, q)!)
            #expect(((point - cached).extended + cached).projective.encoded == p)
            #expect(ProjectivePoint(point).doubled.projective.encoded == Libsodium.pointSum(p, p)!)
            #expect((point - CachedPoint(point)).projective.isIdentity)
            #expect(!(point + CachedPoint(point)).projective.isIdentity)
            // The product T is right too: it shows in the next sum.
            let three = ProjectivePoint(point).doubled.extended + CachedPoint(point)
            #expect(three.projective.encoded == Libsodium.pointSum(Libsodium.pointSum(p, p)!, p)!)
        }
    }

    @Test func multiplesOfTheBaseAreLibsodiums() {
        var generator = SeededGenerator(seed: 4)
        let minusOne = [Group.order[0] - 1] + Group.order.dropFirst()
        let one = [1] + [UInt8](repeating: 0, count: 31)
        for scalar in [one, minusOne] + (0..<100).map({ _ in Libsodium.reduced(generator.bytes(64)) }) {
            let expected = Libsodium.multipleOfBase(scalar)
            #expect(sum([], ofBase: Scalar(scalar)).encoded == expected)
            #expect(sum([(Scalar(scalar), .base)]).encoded == expected)
        }
        #expect(sum([], ofBase: .zero).isIdentity)
    }

    @Test func sumsOfMultiplesAreLibsodiums() throws {
        var generator = SeededGenerator(seed: 5)
        for count in [1, 2, 3, 10, 50] {
            let points = Self.points(count, seed: UInt64(count))
            let scalars = (0..<count).map { _ in Libsodium.reduced(generator.bytes(64)) }
            let base = Libsodium.reduced(generator.bytes(64))
            var expected = Libsodium.multipleOfBase(base)
            for (scalar, point) in zip(scalars, points) { expected = Libsodium.pointSum(expected, Libsodium.multiple(scalar, point))! }
            let terms = try zip(scalars, points).map { (Scalar($0), try #require(EdwardsPoint($1))) }
            #expect(sum(terms, ofBase: Scalar(base)).encoded == expected)
        }
    }

    /// RFC 8032 §7.1: TEST 1, TEST 2, TEST 3 and TEST SHA(abc).
    @Test(arguments: [
        (
            "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
            "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b"
        ),
        (
            "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "72",
            "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"
        ),
        (
            "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025", "af82",
            "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a"
        ),
        (
            "ec172b93ad5e563bf4932c70e1245034c35467ef2efd4d64ebf819683467e2bf",
            "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
            "dc2a4459e7369633a52b1bf277839a00201009a3efbf3ecb69bea2186c26b58909351fc9ac90b3ecfdfbc7c66431e0303dca179c138ac17ad9bef1177331a704"
        ),
    ])
    func theEquationHoldsForTheVectors(key: String, message: String, signature: String) throws {
        let (key, message, signature) = (hex(key), hex(message), hex(signature))
        #expect(Signatures.isValid(Bytes64(signature)!, over: message, by: Bytes32(key)!))
        let (r, a) = (try #require(EdwardsPoint(Array(signature.prefix(32)))), try #require(EdwardsPoint(key)))
        let h = Scalar(Libsodium.sha512(signature.prefix(32) + key + message))
        let s = try #require(Scalar(canonical: Bytes32(signature.suffix(32))!))
        #expect(sum([(Scalar(1), r), (h, a)], ofBase: -s).isIdentity)
        #expect(!sum([(Scalar(1), r), (h + Scalar(1), a)], ofBase: -s).isIdentity)
    }
}
