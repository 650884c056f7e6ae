import Contract
import TestKit
import Testing

@testable import ServerCrypto

/// Points and their sums, against libsodium's.
@Suite struct PointTests {
    /// Points of the main subgroup, encoded.
    private static func points(_ count: Int, seed: UInt64) -> [[UInt8]] {
        var generator = SeededGenerator(seed: seed)
        return (0..<count).map { _ in Libsodium.multipleOfBase(Libsodium.reduced(generator.bytes(64))) }
    }

    @Test func pointsAreReadAndWrittenAsTheyAre() throws {
        for encoding in Self.points(100, seed: 1) {
            #expect(try #require(EdwardsPoint(encoding)).encoded.bytes == encoding)
        }
        #expect(
            EdwardsPoint.base.encoded.bytes == hex("5866666666666666666666666666666666666666666666666666666666666666"))
    }

    /// Half of all numbers are no y of a point.
    @Test func aPointIsDecodedIfLibsodiumTakesIt() {
        var generator = SeededGenerator(seed: 2)
        var valid = 0
        for _ in 0..<1_000 {
            let encoding = generator.bytes(32)
            let point = EdwardsPoint(encoding)
            #expect((point != nil) == (Libsodium.pointSum(encoding, Group.identity) != nil))
            guard let point else { continue }
            #expect(point.encoded.bytes == encoding)
            #expect((-point).encoded.bytes == encoding.dropLast() + [encoding[31] ^ 0x80])
            valid += 1
        }
        #expect((400...600).contains(valid))
    }

    @Test func manyAreNormalizedAsEachAlone() throws {
        let encodings = Self.points(20, seed: 6)
        let doubled = try encodings.map { ProjectivePoint(try #require(EdwardsPoint($0))).doubled.projective }
        let expected = encodings.map { Libsodium.pointSum($0, $0)! }
        #expect(ProjectivePoint.normalized(doubled).map { $0.encoded.bytes } == expected)
        #expect(ProjectivePoint.normalized([]).isEmpty)
        #expect(ProjectivePoint.normalized([.identity] + doubled)[0].encoded.bytes == Group.identity)
    }

    @Test func smallOrdersAndOtherSpellingsAreRefused() {
        for encoding in Group.smallOrderEncodings + Group.misspelledEncodings {
            #expect(EdwardsPoint(encoding) == nil, "\(encoding)")
        }
        // The spelling is the reason, where it is: the same y below p is a point for some.
        let canonical = (UInt8(2)..<19).filter { EdwardsPoint([$0] + [UInt8](repeating: 0, count: 31)) != nil }
        #expect(!canonical.isEmpty)
        for encoding in Group.smallOrderPoints {
            #expect(EdwardsPoint(decoding: Bytes32(encoding)!)!.hasSmallOrder)
        }
        // And a part of small order is none.
        for torsion in Group.smallOrderPoints.dropFirst() {
            let mixed = Libsodium.pointSum(EdwardsPoint.base.encoded.bytes, torsion)!
            #expect(EdwardsPoint(mixed)?.encoded.bytes == mixed)
        }
    }

    @Test func sumsOfTwoAreLibsodiums() throws {
        let points = Self.points(40, seed: 3)
        for (p, q) in zip(points, points.dropFirst() + [points[points.count - 1]]) {
            let (point, cached) = (try #require(EdwardsPoint(p)), CachedPoint(try #require(EdwardsPoint(q))))
            #expect((point + cached).projective.encoded == Libsodium.pointSum(p, q)!)
            #expect(ProjectivePoint((point + cached).extended).encoded == Libsodium.pointSum(p, q)!)
            #expect(((point - cached).extended + cached).projective.encoded == p)
            #expect(ProjectivePoint(point).doubled.projective.encoded == Libsodium.pointSum(p, p)!)
            #expect((point - CachedPoint(point)).projective.isIdentity)
            #expect(!(point + CachedPoint(point)).projective.isIdentity)
            // The product T is right too: it shows in the next sum.
            let three = ProjectivePoint(point).doubled.extended + CachedPoint(point)
            #expect(three.projective.encoded == Libsodium.pointSum(Libsodium.pointSum(p, p)!, p)!)
        }
    }

    /// Widths are those of the key's digits and of the generator's.
    @Test(arguments: [UInt64(2), 4, PointMultiples.baseWidth])
    func sumsOfMultiplesAreLibsodiums(width: UInt64) throws {
        var generator = SeededGenerator(seed: 4)
        let (zero, one) = ([UInt8](repeating: 0, count: 32), [1] + [UInt8](repeating: 0, count: 31))
        let minusOne = [Group.order[0] - 1] + Group.order.dropFirst()
        let scalars = [zero, one, minusOne] + (0..<10).map { _ in Libsodium.reduced(generator.bytes(64)) }
        for point in Self.points(3, seed: 5) + [EdwardsPoint.base.encoded.bytes] {
            let multiples = PointMultiples(try #require(EdwardsPoint(point)).shares, width: width)
            for (x, y) in zip(scalars, scalars.shuffled(using: &generator)) {
                let sum = PointMultiples.sum(
                    Scalar(x).digits(width: width), of: multiples,
                    and: Scalar(y).digits(width: PointMultiples.baseWidth), of: PointMultiples.base)
                let ofPoint = x == zero ? Group.identity : Libsodium.multiple(x, point)
                let ofBase = y == zero ? Group.identity : Libsodium.multipleOfBase(y)
                #expect(sum.encoded == Libsodium.pointSum(ofPoint, ofBase)!)
            }
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
    func theVectorsHaveTheRThatFits(key: String, message: String, signature: String) throws {
        let (keyBytes, message, signature) = (hex(key), hex(message), hex(signature))
        #expect(Signatures.isValid(Bytes64(signature)!, over: message, by: Bytes32(keyBytes)!))
        let key = try #require(PreparedKey(Bytes32(keyBytes)!))
        let h = Scalar(Libsodium.sha512(signature.prefix(32) + keyBytes + message))
        let s = try #require(Scalar(canonical: Bytes32(signature.suffix(32))!))
        #expect(key.commitment(s: s, h: h).encoded == Array(signature.prefix(32)))
        #expect(key.commitment(s: h, h: s).encoded != Array(signature.prefix(32)))
    }
}
