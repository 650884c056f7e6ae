/// A sum of multiples of points (Straus's method): one chain of doublings serves all of them, and each costs only the
/// additions that its scalar's digits ask for.
///
/// Pippenger's method, counted in multiplications, is even with it at about 130 signatures and saves a tenth of all work at 250: not enough
/// for a second way, which besides could not ask for parts of a batch again without doing everything anew.
struct PointSum {
    /// The odd multiples 1, 3, 5 … of a point: as many as digits of a width have magnitudes.
    typealias OddMultiples = UnsafePointer<CachedPoint>

    /// Width of the digits of points that are met once: eight multiples of each, an addition for six bits.
    static let width: UInt64 = 5
    static let multiplesPerPoint = 1 << (Int(Self.width) - 2)

    private struct Addend {
        let point: UnsafePointer<CachedPoint>
        /// The next of the same position and sign, or -1.
        let next: Int32
    }

    private static let positions = 256

    private var addends: [Addend] = []
    /// First addends, for each position one list to be added and one to be subtracted.
    private var added = [Int32](repeating: -1, count: Self.positions)
    private var subtracted = [Int32](repeating: -1, count: Self.positions)
    private var top = -1

    /// - Parameter terms: how many will be added at most, at a guess.
    init(terms: Int) {
        self.addends.reserveCapacity(terms * 44)
    }

    /// Adds `scalar` times the point of these multiples, which must stay where they are until the sum is taken.
    mutating func add(_ scalar: Scalar, times multiples: OddMultiples, width: UInt64 = Self.width) {
        scalar.forEachDigit(width: width) { position, magnitude, isNegative in
            let index = Int32(truncatingIfNeeded: self.addends.count)
            let point = multiples + Int(magnitude >> 1)
            if isNegative {
                self.addends.append(Addend(point: point, next: self.subtracted[position]))
                self.subtracted[position] = index
            } else {
                self.addends.append(Addend(point: point, next: self.added[position]))
                self.added[position] = index
            }
            if position > self.top { self.top = position }
        }
    }

    /// The sum of all terms.
    consuming func total() -> ProjectivePoint {
        var sum = ProjectivePoint.identity
        self.addends.withUnsafeBufferPointer { addends in
            var position = self.top
            while position >= 0 {
                var partial = sum.doubled
                var next = self.added[position]
                while next >= 0 {
                    let addend = addends[Int(next)]
                    partial = partial.extended + addend.point.pointee
                    next = addend.next
                }
                next = self.subtracted[position]
                while next >= 0 {
                    let addend = addends[Int(next)]
                    partial = partial.extended - addend.point.pointee
                    next = addend.next
                }
                sum = partial.projective
                position -= 1
            }
        }
        return sum
    }

    /// Writes the first odd multiples of `point`.
    static func multiply(_ point: EdwardsPoint, into multiples: UnsafeMutablePointer<CachedPoint>, count: Int = Self.multiplesPerPoint) {
        let twice = CachedPoint(ProjectivePoint(point).doubled.extended)
        var multiple = point
        multiples.initialize(to: CachedPoint(multiple))
        for index in 1..<count {
            multiple = (multiple + twice).extended
            (multiples + index).initialize(to: CachedPoint(multiple))
        }
    }

    /// The base point is met in every sum: more multiples, made once for the process, and fewer additions.
    static let baseWidth: UInt64 = 8
    nonisolated(unsafe) static let base: OddMultiples = {
        let count = 1 << (Int(Self.baseWidth) - 2)
        let multiples = UnsafeMutablePointer<CachedPoint>.allocate(capacity: count)
        Self.multiply(.base, into: multiples, count: count)
        return OddMultiples(multiples)
    }()
}
