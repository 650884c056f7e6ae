/// A number modulo p = 2^255 - 19, the field of Ed25519 (RFC 8032 §5.1), in five limbs of 51 bits: their products and the sums of
/// those fit 128 bits, and what goes beyond 2^255 comes back times 19.
///
/// *Tight* limbs are below 2^51 + 2^14, as every product leaves them. A factor's may be as large as 2^54, so sums and differences
/// are not carried: each operation says how large its operands may be. Variable time throughout, since all of it is public.
struct FieldElement {
    private(set) var a: UInt64
    private(set) var b: UInt64
    private(set) var c: UInt64
    private(set) var d: UInt64
    private(set) var e: UInt64

    static let zero = FieldElement(0, 0, 0, 0, 0)
    static let one = FieldElement(1, 0, 0, 0, 0)

    @inline(__always)
    init(_ a: UInt64, _ b: UInt64, _ c: UInt64, _ d: UInt64, _ e: UInt64) {
        self.a = a
        self.b = b
        self.c = c
        self.d = d
        self.e = e
    }

    private static let mask: UInt64 = 1 << 51 - 1

    // MARK: - Sums

    /// Not carried: the limbs are added.
    @inline(__always)
    static func + (x: Self, y: Self) -> Self {
        Self(x.a &+ y.a, x.b &+ y.b, x.c &+ y.c, x.d &+ y.d, x.e &+ y.e)
    }

    /// Not carried: 2p is added first, so that no limb goes below zero. The limbs of `y` are at most 2^52 - 38: tight ones are.
    @inline(__always)
    static func - (x: Self, y: Self) -> Self {
        Self(
            x.a &+ 0xF_FFFF_FFFF_FFDA &- y.a, x.b &+ 0xF_FFFF_FFFF_FFFE &- y.b, x.c &+ 0xF_FFFF_FFFF_FFFE &- y.c,
            x.d &+ 0xF_FFFF_FFFF_FFFE &- y.d, x.e &+ 0xF_FFFF_FFFF_FFFE &- y.e)
    }

    /// Subtracts what was itself a sum or a difference of two tight elements: 4p is added first.
    @inline(__always)
    func minusSum(_ y: Self) -> Self {
        Self(
            self.a &+ 0x1F_FFFF_FFFF_FFB4 &- y.a, self.b &+ 0x1F_FFFF_FFFF_FFFC &- y.b,
            self.c &+ 0x1F_FFFF_FFFF_FFFC &- y.c,
            self.d &+ 0x1F_FFFF_FFFF_FFFC &- y.d, self.e &+ 0x1F_FFFF_FFFF_FFFC &- y.e)
    }

    @inline(__always)
    static prefix func - (x: Self) -> Self { (Self.zero - x).carried }

    /// The same number with tight limbs.
    @inline(__always)
    var carried: Self {
        var limbs = self
        limbs.b &+= limbs.a >> 51
        limbs.c &+= limbs.b >> 51
        limbs.d &+= limbs.c >> 51
        limbs.e &+= limbs.d >> 51
        return Self(
            limbs.a & Self.mask &+ 19 &* (limbs.e >> 51), limbs.b & Self.mask, limbs.c & Self.mask, limbs.d & Self.mask,
            limbs.e & Self.mask)
    }

    // MARK: - Products

    /// Factors of limbs below 2^54 give a tight product.
    @inline(__always)
    static func * (x: Self, y: Self) -> Self {
        let (b19, c19, d19, e19) = (19 &* y.b, 19 &* y.c, 19 &* y.d, 19 &* y.e)
        // Carried while it is summed: that needs fewer registers than ten words that wait for their carries.
        let a = x.a.times(y.a) &+ x.b.times(e19) &+ x.c.times(d19) &+ x.d.times(c19) &+ x.e.times(b19)
        let b = x.a.times(y.b) &+ x.b.times(y.a) &+ x.c.times(e19) &+ x.d.times(d19) &+ x.e.times(c19) &+ a.carry
        let c = x.a.times(y.c) &+ x.b.times(y.b) &+ x.c.times(y.a) &+ x.d.times(e19) &+ x.e.times(d19) &+ b.carry
        let d = x.a.times(y.d) &+ x.b.times(y.c) &+ x.c.times(y.b) &+ x.d.times(y.a) &+ x.e.times(e19) &+ c.carry
        let e = x.a.times(y.e) &+ x.b.times(y.d) &+ x.c.times(y.c) &+ x.d.times(y.b) &+ x.e.times(y.a) &+ d.carry
        return Self(columns: a, b, c, d, e)
    }

    /// As a product, with the equal terms of it taken together.
    @inline(__always)
    var squared: Self {
        let (a2, b2, c2, d2) = (self.a &+ self.a, self.b &+ self.b, self.c &+ self.c, self.d &+ self.d)
        let (d19, e19) = (19 &* self.d, 19 &* self.e)
        let a = self.a.times(self.a) &+ b2.times(e19) &+ c2.times(d19)
        let b = a2.times(self.b) &+ c2.times(e19) &+ self.d.times(d19) &+ a.carry
        let c = a2.times(self.c) &+ self.b.times(self.b) &+ d2.times(e19) &+ b.carry
        let d = a2.times(self.d) &+ b2.times(self.c) &+ self.e.times(e19) &+ c.carry
        let e = a2.times(self.e) &+ b2.times(self.d) &+ self.c.times(self.c) &+ d.carry
        return Self(columns: a, b, c, d, e)
    }

    /// The columns of a product, each below 2^115 and carried into the next; the last is carried into the first here.
    @inline(__always)
    private init(columns a: UInt128, _ b: UInt128, _ c: UInt128, _ d: UInt128, _ e: UInt128) {
        let first = a._low & Self.mask &+ 19 &* e.carry._low
        self.init(
            first & Self.mask, b._low & Self.mask &+ (first &>> 51), c._low & Self.mask, d._low & Self.mask,
            e._low & Self.mask)
    }

    // MARK: - The one spelling of each number

    /// From the low 255 bits of 32 bytes, little-endian.
    /// - Returns: nil if they are p or more.
    init?(canonical words: (UInt64, UInt64, UInt64, UInt64)) {
        let top = words.3 & (1 << 63 - 1)
        guard top < 1 << 63 - 1 || words.2 < .max || words.1 < .max || words.0 < 0 &- 19 else { return nil }
        self.init(
            words.0 & Self.mask, (words.0 >> 51 | words.1 << 13) & Self.mask,
            (words.1 >> 38 | words.2 << 26) & Self.mask,
            (words.2 >> 25 | words.3 << 39) & Self.mask, top >> 12)
    }

    /// Below p. The limbs may be anything below 2^55.
    var canonical: Self {
        var limbs = self.carried.carried
        // Whether it is p or more: then adding 19 carries out of the last limb.
        var carry = (limbs.a &+ 19) >> 51
        carry = (limbs.b &+ carry) >> 51
        carry = (limbs.c &+ carry) >> 51
        carry = (limbs.d &+ carry) >> 51
        carry = (limbs.e &+ carry) >> 51
        limbs.a &+= 19 &* carry
        limbs.b &+= limbs.a >> 51
        limbs.c &+= limbs.b >> 51
        limbs.d &+= limbs.c >> 51
        limbs.e &+= limbs.d >> 51
        return Self(
            limbs.a & Self.mask, limbs.b & Self.mask, limbs.c & Self.mask, limbs.d & Self.mask, limbs.e & Self.mask)
    }

    /// 255 bits below p, lowest word first.
    var words: (UInt64, UInt64, UInt64, UInt64) {
        let number = self.canonical
        return (
            number.a | number.b << 51, number.b >> 13 | number.c << 38, number.c >> 26 | number.d << 25,
            number.d >> 39 | number.e << 12
        )
    }

    var isZero: Bool {
        let number = self.canonical
        return number.a | number.b | number.c | number.d | number.e == 0
    }

    /// The sign of RFC 8032 §5.1.2: the lowest bit.
    var isNegative: Bool { self.canonical.a & 1 == 1 }
}

extension UInt64 {
    @inline(__always)
    fileprivate func times(_ other: UInt64) -> UInt128 {
        UInt128(_low: self, _high: 0) &* UInt128(_low: other, _high: 0)
    }
}

extension UInt128 {
    /// The carry from one column to the next.
    @inline(__always)
    fileprivate var carry: UInt128 { self &>> 51 }
}
