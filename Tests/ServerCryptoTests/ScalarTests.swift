import Contract
import TestKit
import Testing

@testable import ServerCrypto

/// Arithmetic modulo L, against libsodium's.
@Suite struct ScalarTests {
    /// 64 bytes each: small numbers, numbers around multiples of L and of powers of two, and many random ones.
    private static let numbers: [[UInt8]] = {
        var generator = SeededGenerator(seed: 1)
        let zero = [UInt8](repeating: 0, count: 64)
        var numbers = [zero, [1] + zero.dropLast(), [UInt8](repeating: 0xFF, count: 64)]
        // A multiple of L and its neighbours, shifted by bytes.
        let minusOne = [Group.order[0] - 1] + Group.order.dropFirst()
        let plusOne = [Group.order[0] + 1] + Group.order.dropFirst()
        for shift in 0...32 {
            for number in [Group.order, minusOne, plusOne] {
                numbers.append([UInt8](repeating: 0, count: shift) + number + [UInt8](repeating: 0, count: 32 - shift))
                numbers.append(
                    [UInt8](repeating: 0xFF, count: shift) + number + [UInt8](repeating: 0, count: 32 - shift))
            }
        }
        for bit in 0..<512 {
            var number = zero
            number[bit / 8] = 1 << UInt8(bit % 8)
            numbers.append(number)
        }
        for _ in 0..<500 { numbers.append(generator.bytes(64)) }
        return numbers
    }()

    @Test func hashesAreReducedAsByLibsodium() {
        for number in Self.numbers {
            #expect(Scalar(number).bytes == Libsodium.reduced(number), "\(number)")
        }
    }

    @Test func onlyNumbersBelowTheOrderAreCanonical() {
        let minusOne = [Group.order[0] - 1] + Group.order.dropFirst()
        #expect(Scalar(canonical: Bytes32(minusOne)!)?.bytes == minusOne)
        #expect(Scalar(canonical: Bytes32())?.bytes == [UInt8](repeating: 0, count: 32))
        #expect(Scalar(canonical: Bytes32(Group.order)!) == nil)
        for byte in 0..<32 {
            // Differences from L in one byte, up or down.
            var (more, less) = (Group.order, Group.order)
            more[byte] &+= 1
            #expect((Scalar(canonical: Bytes32(more)!) == nil) == (more[byte] != 0))
            guard less[byte] > 0 else { continue }
            less[byte] -= 1
            #expect(Scalar(canonical: Bytes32(less)!)?.bytes == less)
        }
    }

    @Test(arguments: UInt64(2)...8)
    func digitsAreOddFewAndSumUp(width: UInt64) {
        for number in Self.numbers {
            let scalar = Scalar(number)
            let digits = scalar.digits(width: width)
            var (sum, last, count) = ([UInt8](repeating: 0, count: 32), -Int(width), 0)
            for position in 0..<digits.count where digits[position] != 0 {
                let magnitude = digits[position].magnitude
                #expect(magnitude % 2 == 1 && UInt64(magnitude) < 1 << (width - 1))
                #expect((last + Int(width)...253).contains(position))
                last = position
                count += 1
                var digit = [UInt8](repeating: 0, count: 64)
                digit[position / 8] = magnitude << UInt8(position % 8)
                if position % 8 != 0 { digit[position / 8 + 1] = magnitude >> UInt8(8 - position % 8) }
                let term = Libsodium.reduced(digit)
                sum = Libsodium.sum(sum, digits[position] < 0 ? Libsodium.negative(term) : term)
            }
            #expect(sum == scalar.bytes, "\(number)")
            #expect(count <= 254 / Int(width) + 1)
        }
    }
}
