/// Odd multiples of P, 2^64·P, 2^128·P and 2^192·P, the *shares* of a point. Any multiple of P is a sum of four
/// multiples of these, each by a number of 64 bits, and the four have their doublings in common (Straus's method).
struct PointMultiples: ~Copyable {
    static let shareBits = 64
    static let shares = 4

    /// The multiples by 1, 3, 5 … of the first share, then those of the others.
    private let points: UnsafeMutablePointer<CachedPoint>
    private let countPerShare: Int

    /// - Parameter width: of the digits that these multiples serve (`Scalar.digits`).
    init(_ shares: InlineArray<4, EdwardsPoint>, width: UInt64) {
        self.countPerShare = 1 << (Int(width) - 2)
        self.points = .allocate(capacity: Self.shares * self.countPerShare)
        for share in 0..<Self.shares {
            let points = self.points + share * self.countPerShare
            var multiple = shares[share]
            let twice = CachedPoint(ProjectivePoint(multiple).doubled.extended)
            points.initialize(to: CachedPoint(multiple))
            for index in 1..<self.countPerShare {
                multiple = (multiple + twice).extended
                (points + index).initialize(to: CachedPoint(multiple))
            }
        }
    }

    // Points are plain numbers: nothing to deinitialize.
    deinit { self.points.deallocate() }

    /// The generator B is in every sum. Its multiples are made once for the process, and more of them: that saves
    /// additions.
    nonisolated(unsafe) static let base = PointMultiples(
        InlineArray(first: .base) { $0.doubled(times: Self.shareBits) }, width: Self.baseWidth)
    static let baseWidth: UInt64 = 8

    /// x·P + y·Q.
    static func sum(
        _ x: Scalar.Digits, of p: borrowing PointMultiples, and y: Scalar.Digits, of q: borrowing PointMultiples
    ) -> ProjectivePoint {
        // Not the arrays themselves: they would be copied for each bit.
        let (x, y) = (x.span, y.span)
        var sum = ProjectivePoint.identity
        for bit in (0..<Self.shareBits).reversed() {
            var partial = sum.doubled
            for share in 0..<Self.shares {
                p.add(x[Self.shareBits * share + bit], ofShare: share, to: &partial)
                q.add(y[Self.shareBits * share + bit], ofShare: share, to: &partial)
            }
            sum = partial.projective
        }
        return sum
    }

    @inline(__always)
    private borrowing func add(_ digit: Int8, ofShare share: Int, to sum: inout CompletedPoint) {
        guard digit != 0 else { return }
        let point = self.points + (share * self.countPerShare + Int(digit.magnitude >> 1))
        sum = digit > 0 ? sum.extended + point.pointee : sum.extended - point.pointee
    }
}

extension EdwardsPoint {
    /// 2^count times the point.
    func doubled(times count: Int) -> EdwardsPoint {
        var point = ProjectivePoint(self)
        for _ in 1..<count { point = point.doubled.projective }
        return point.doubled.extended
    }
}
