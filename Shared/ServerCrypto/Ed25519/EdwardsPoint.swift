/// A point of edwards25519 in extended coordinates (RFC 8032 §5.1.4): x = X/Z, y = Y/Z, xy = T/Z.
struct EdwardsPoint {
    let x: FieldElement
    let y: FieldElement
    let z: FieldElement
    let t: FieldElement

    /// The generator B of the main subgroup.
    static let base: EdwardsPoint = {
        let x = FieldElement(0x62D608F25D51A, 0x412A4B4F6592A, 0x75B7171A4B31D, 0x1FF60527118FE, 0x216936D3CD6E5)
        let y = FieldElement(0x6666666666658, 0x4CCCCCCCCCCCC, 0x1999999999999, 0x3333333333333, 0x6666666666666)
        return EdwardsPoint(x: x, y: y, z: .one, t: x * y)
    }()
}

/// A point without the product that only additions need: enough to be doubled.
struct ProjectivePoint {
    let x: FieldElement
    let y: FieldElement
    let z: FieldElement

    static let identity = ProjectivePoint(x: .zero, y: .one, z: .one)

    @inline(__always)
    init(x: FieldElement, y: FieldElement, z: FieldElement) {
        self.x = x
        self.y = y
        self.z = z
    }

    @inline(__always)
    init(_ point: EdwardsPoint) {
        self.init(x: point.x, y: point.y, z: point.z)
    }

    /// "dbl-2008-hwcd" of the Explicit-Formulas Database, for a = -1.
    @inline(__always)
    var doubled: CompletedPoint {
        let (xx, yy, zz) = (self.x.squared, self.y.squared, self.z.squared)
        let (sum, difference) = (yy + xx, yy - xx)
        return CompletedPoint(
            x: (self.x + self.y).squared.minusSum(sum), y: sum, z: difference, t: (zz + zz).minusSum(difference))
    }
}

/// The result of a doubling or an addition, (X/Z, Y/T): its products are multiplied out only as far as the next step
/// needs.
struct CompletedPoint {
    let x: FieldElement
    let y: FieldElement
    let z: FieldElement
    let t: FieldElement

    @inline(__always)
    var projective: ProjectivePoint { ProjectivePoint(x: self.x * self.t, y: self.y * self.z, z: self.z * self.t) }

    @inline(__always)
    var extended: EdwardsPoint {
        EdwardsPoint(x: self.x * self.t, y: self.y * self.z, z: self.z * self.t, t: self.x * self.y)
    }
}

/// A point prepared to be added to many others.
struct CachedPoint {
    let yPlusX: FieldElement
    let yMinusX: FieldElement
    let z2: FieldElement
    let t2d: FieldElement

    @inline(__always)
    init(_ point: EdwardsPoint) {
        self.yPlusX = point.y + point.x
        self.yMinusX = point.y - point.x
        self.z2 = point.z + point.z
        self.t2d = point.t * .d2
    }
}

extension EdwardsPoint {
    /// "add-2008-hwcd-3", which holds for any two points, equal ones and the identity among them.
    @inline(__always)
    static func + (p: Self, q: CachedPoint) -> CompletedPoint {
        let a = (p.y - p.x) * q.yMinusX
        let b = (p.y + p.x) * q.yPlusX
        let c = p.t * q.t2d
        let d = p.z * q.z2
        return CompletedPoint(x: b - a, y: b + a, z: d + c, t: d - c)
    }

    @inline(__always)
    static func - (p: Self, q: CachedPoint) -> CompletedPoint {
        let a = (p.y - p.x) * q.yPlusX
        let b = (p.y + p.x) * q.yMinusX
        let c = p.t * q.t2d
        let d = p.z * q.z2
        return CompletedPoint(x: b - a, y: b + a, z: d - c, t: d + c)
    }
}
