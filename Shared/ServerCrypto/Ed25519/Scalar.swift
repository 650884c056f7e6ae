internal import Contract

/// A number modulo L = 2^252 + 27742317777372353535851937790883648493, the order of the main subgroup (RFC 8032 §5.1), always below L.
/// Four words, lowest first. Variable time.
struct Scalar: Equatable {
    private(set) var a: UInt64
    private(set) var b: UInt64
    private(set) var c: UInt64
    private(set) var d: UInt64

    static let zero = Scalar(a: 0, b: 0, c: 0, d: 0)

    private static let order = Scalar(a: 0x5812_631A_5CF5_D3ED, b: 0x14DE_F9DE_A2F7_9CD6, c: 0, d: 1 << 60)

    private init(a: UInt64, b: UInt64, c: UInt64, d: UInt64) {
        self.a = a
        self.b = b
        self.c = c
        self.d = d
    }

    /// - Returns: nil if the number is L or more (RFC 8032 §5.1.7 refuses such an S).
    init?(canonical bytes: Bytes32) {
        let words = bytes.words
        self.init(a: words.0, b: words.1, c: words.2, d: words.3)
        guard self.isBelowOrder else { return nil }
    }

    /// A hash of 64 bytes, little-endian.
    init(reducing hash: Bytes64) {
        let (low, high) = (hash.first.words, hash.second.words)
        self.init(a: high.1, b: high.2, c: high.3, d: 0)
        self.append(high.0)
        self.append(low.3)
        self.append(low.2)
        self.append(low.1)
        self.append(low.0)
    }

    // MARK: - Reduction

    /// `self` · 2^64 + `word`, modulo L: a step of long division.
    private mutating func append(_ word: UInt64) {
        let top = self.d
        (self.d, self.c, self.b, self.a) = (self.c, self.b, self.a, word)
        // L is so little above 2^252 that what stands above bit 252 is the quotient, or one too many. (For numbers between 2^252 and L
        // it has 65 bits; the quotient has never more than 64.)
        let quotient = top >> 60 == 0 ? top << 4 | self.d >> 60 : .max
        let multiple = Self.order.times(quotient)
        var borrow = false
        self.a.subtract(multiple.0, &borrow)
        self.b.subtract(multiple.1, &borrow)
        self.c.subtract(multiple.2, &borrow)
        self.d.subtract(multiple.3, &borrow)
        let isNegative = top &- multiple.4 &- (borrow ? 1 : 0) != 0
        if isNegative { self.add(Self.order) }
    }

    /// Five words.
    private func times(_ factor: UInt64) -> (UInt64, UInt64, UInt64, UInt64, UInt64) {
        let a = self.a.multipliedFullWidth(by: factor)
        let b = self.b.multipliedFullWidth(by: factor)
        let c = self.c.multipliedFullWidth(by: factor)
        let d = self.d.multipliedFullWidth(by: factor)
        var words = (a.low, b.low, c.low, d.low, d.high)
        var carry = false
        words.1.add(a.high, &carry)
        words.2.add(b.high, &carry)
        words.3.add(c.high, &carry)
        words.4.add(0, &carry)
        return words
    }

    /// Modulo 2^256.
    private mutating func add(_ other: Self) {
        var carry = false
        self.a.add(other.a, &carry)
        self.b.add(other.b, &carry)
        self.c.add(other.c, &carry)
        self.d.add(other.d, &carry)
    }

    private var isBelowOrder: Bool {
        let order = Self.order
        if self.d != order.d { return self.d < order.d }
        if self.c != order.c { return self.c < order.c }
        if self.b != order.b { return self.b < order.b }
        return self.a < order.a
    }

    // MARK: - Digits

    /// A digit for each power of two.
    typealias Digits = InlineArray<256, Int8>

    /// The number as a sum of odd digits times powers of two (width-w non-adjacent form): few of them, since after each at least
    /// w - 1 zeros follow. A digit is below 2^(w - 1) in magnitude.
    /// - Parameter width: 2 to 8.
    func digits(width: UInt64) -> Digits {
        var digits = Digits(repeating: 0)
        var rest = self
        var position = 0
        while rest != .zero {
            let zeros = UInt64(rest.a.trailingZeroBitCount)
            guard zeros < 64 else {
                rest = Self(a: rest.b, b: rest.c, c: rest.d, d: 0)
                position += 64
                continue
            }
            rest.shiftRight(zeros)
            position += Int(zeros)
            let digit = rest.a & (1 << width - 1)
            rest.shiftRight(width)
            if digit < 1 << (width - 1) {
                digits[position] = Int8(digit)
            } else {
                digits[position] = Int8(Int(digit) - 1 << Int(width))
                var carry = true
                rest.a.add(0, &carry)
                rest.b.add(0, &carry)
                rest.c.add(0, &carry)
                rest.d.add(0, &carry)
            }
            position += Int(width)
        }
        return digits
    }

    /// By fewer than 64 bits.
    @inline(__always)
    private mutating func shiftRight(_ count: UInt64) {
        self.a = self.a &>> count | (self.b &<< 1) &<< (63 &- count)
        self.b = self.b &>> count | (self.c &<< 1) &<< (63 &- count)
        self.c = self.c &>> count | (self.d &<< 1) &<< (63 &- count)
        self.d = self.d &>> count
    }
}

extension UInt64 {
    /// Adds a word and what the word below has carried.
    @inline(__always)
    fileprivate mutating func add(_ other: UInt64, _ carry: inout Bool) {
        let first = self.addingReportingOverflow(other)
        let second = first.partialValue.addingReportingOverflow(carry ? 1 : 0)
        self = second.partialValue
        carry = first.overflow || second.overflow
    }

    /// Subtracts a word and what the word below has borrowed.
    @inline(__always)
    fileprivate mutating func subtract(_ other: UInt64, _ borrow: inout Bool) {
        let first = self.subtractingReportingOverflow(other)
        let second = first.partialValue.subtractingReportingOverflow(borrow ? 1 : 0)
        self = second.partialValue
        borrow = first.overflow || second.overflow
    }
}
