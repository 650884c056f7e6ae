extension FieldElement {
    /// d = -121665/121666, of the curve's equation -x² + y² = 1 + d·x²·y².
    static let d = FieldElement(0x34DCA135978A3, 0x1A8283B156EBD, 0x5E7A26001C029, 0x739C663A03CBB, 0x52036CEE2B6FF)
    static let d2 = FieldElement(0x69B9426B2F159, 0x35050762ADD7A, 0x3CF44C0038052, 0x6738CC7407977, 0x2406D9DC56DFF)
    /// A square root of -1: 2^((p - 1)/4).
    static let i = FieldElement(0x61B274A0EA0B0, 0xD5A5FC8F189D, 0x7EF5E9CBD0C60, 0x78595A6804C9E, 0x2B8324804FC1D)

    /// The square root of u/v (RFC 8032 §5.1.3). Which of the two is not said.
    /// - Returns: nil if there is none.
    static func squareRoot(_ u: Self, over v: Self) -> Self? {
        let v3 = v.squared * v
        let root = u * v3 * (u * v3.squared * v).squareRootPower
        let check = v * root.squared
        if (check - u).isZero { return root }
        if (check + u).isZero { return root * Self.i }
        return nil
    }

    /// To the power of p - 2 = 8·(2^252 - 3) + 3, by which a number other than 0 is inverted.
    var inverted: Self { self.squareRootPower.squared(3) * self.squared * self }

    /// To the power of 2^count.
    @inline(never)
    private func squared(_ count: Int) -> Self {
        var power = self
        for _ in 0..<count { power = power.squared }
        return power
    }

    /// To the power of (p - 5)/8 = 2^252 - 3. `ones(n)` is the power of 2^n - 1, n ones in binary: two of them, one
    /// squared along, make a longer one.
    var squareRootPower: Self {
        let two = self.squared(1)
        let nine = two.squared(2) * self
        let eleven = nine * two
        let ones5 = eleven.squared(1) * nine
        let ones10 = ones5.squared(5) * ones5
        let ones20 = ones10.squared(10) * ones10
        let ones40 = ones20.squared(20) * ones20
        let ones50 = ones40.squared(10) * ones10
        let ones100 = ones50.squared(50) * ones50
        let ones200 = ones100.squared(100) * ones100
        let ones250 = ones200.squared(50) * ones50
        return ones250.squared(2) * self
    }
}
