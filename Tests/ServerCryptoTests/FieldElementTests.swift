import Foundation
import Testing

@testable import ServerCrypto

/// Arithmetic modulo 2^255 - 19, against Python's integers (`Vectors/field.py`), with limbs up to the bounds that the code states.
@Suite struct FieldElementTests {
    struct Vectors: Decodable {
        struct One: Decodable { let x, canonical, squared, power: [UInt64] }
        struct Two: Decodable {
            let x, y, sum, product: [UInt64]
            /// Where the bounds of the subtrahend allow it.
            let difference, minusSum: [UInt64]?
        }
        let ones: [One]
        let twos: [Two]
    }

    private let vectors: Vectors

    init() throws {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(path: "Vectors/field.json")
        self.vectors = try JSONDecoder().decode(Vectors.self, from: Data(contentsOf: file))
    }

    @Test func productsAndSumsAreThoseOfIntegers() {
        #expect(self.vectors.twos.count > 150)
        for vector in self.vectors.twos {
            let (x, y) = (FieldElement(vector.x), FieldElement(vector.y))
            #expect((x * y).canonical.limbs == vector.product, "\(vector.x) * \(vector.y)")
            #expect((x + y).canonical.limbs == vector.sum, "\(vector.x) + \(vector.y)")
            if let difference = vector.difference {
                #expect((x - y).canonical.limbs == difference, "\(vector.x) - \(vector.y)")
            }
            if let difference = vector.minusSum {
                #expect(x.minusSum(y).canonical.limbs == difference, "\(vector.x) - \(vector.y)")
            }
        }
    }

    @Test func squaresPowersAndTheOneSpellingAreThoseOfIntegers() {
        #expect(self.vectors.ones.count > 50)
        for vector in self.vectors.ones {
            let x = FieldElement(vector.x)
            #expect(x.canonical.limbs == vector.canonical, "\(vector.x)")
            #expect(x.squared.canonical.limbs == vector.squared, "\(vector.x)")
            #expect(x.isZero == vector.canonical.allSatisfy { $0 == 0 })
            #expect(x.isNegative == (vector.canonical[0] & 1 == 1))
            #expect(x.squareRootPower.canonical.limbs == vector.power, "\(vector.x)")
            #expect(x.isZero || (x * x.inverted - .one).isZero, "\(vector.x)")
        }
    }

    /// A promise of `*` to its callers, who add up to four such numbers before they multiply again.
    @Test func productsAreTight() {
        let products = self.vectors.twos.map { FieldElement($0.x) * FieldElement($0.y) }
        let squares = self.vectors.ones.map { FieldElement($0.x).squared }
        let sums = self.vectors.ones.map { FieldElement($0.x).carried }
        for limb in (products + squares + sums).flatMap(\.limbs) { #expect(limb < 1 << 51 + 1 << 14) }
    }

    @Test func theConstantsAreWhatTheyAreCalled() {
        let (numerator, denominator) = (FieldElement(121_665, 0, 0, 0, 0), FieldElement(121_666, 0, 0, 0, 0))
        #expect((FieldElement.d * denominator + numerator).isZero)
        #expect((FieldElement.d + .d - .d2).isZero)
        #expect((FieldElement.i.squared + .one).isZero)
    }

    @Test func numbersOfPAndMoreAreNoSpelling() throws {
        for small in UInt64(0)..<19 {
            let word = 0 &- (19 - small)
            #expect(FieldElement(canonical: (word, .max, .max, .max >> 1)) == nil)
            #expect(FieldElement(canonical: (word, .max, .max, .max)) == nil)
            // One bit less anywhere is below p.
            for below in [
                (word, .max - 1, .max, .max), (word, .max, .max - 1, .max), (word, .max, .max, .max >> 1 - 1),
            ]
                as [(UInt64, UInt64, UInt64, UInt64)]
            {
                #expect(FieldElement(canonical: below) != nil)
            }
        }
        let greatest = try #require(FieldElement(canonical: (0 &- 20, .max, .max, .max)))
        #expect(
            (greatest + .one).isZero
                && greatest.bytes == hex("ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f"))
        let one = try #require(
            FieldElement(
                canonical: (0x0807_0605_0403_0201, 0x100F_0E0D_0C0B_0A09, 0x1817_1615_1413_1211, 0x201F_1E1D_1C1B_1A19))
        )
        #expect(one.bytes == Array(1...32))
    }
}

extension FieldElement {
    init(_ limbs: [UInt64]) { self.init(limbs[0], limbs[1], limbs[2], limbs[3], limbs[4]) }
    var limbs: [UInt64] { [self.a, self.b, self.c, self.d, self.e] }
}
