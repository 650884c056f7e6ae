/// Curves over one x axis. Plain data; `SVG` draws it.
struct Chart: Codable, Sendable {
    enum Scale: String, Codable, Sendable {
        case linear
        /// Each power of ten takes the same room. Values must be above 0.
        case logarithmic
        /// The same, labelled as percentiles: 10 is 90 %, 100 is 99 %.
        case nines
    }

    struct Axis: Codable, Sendable {
        var label: String
        var scale: Scale

        init(_ label: String, _ scale: Scale = .linear) {
            self.label = label
            self.scale = scale
        }
    }

    struct Point: Codable, Sendable {
        var x: Double
        var y: Double

        init(_ x: Double, _ y: Double) {
            self.x = x
            self.y = y
        }
    }

    struct Series: Codable, Sendable {
        var name: String
        var points: [Point]

        init(_ name: String, _ points: [Point]) {
            self.name = name
            self.points = points
        }
    }

    /// Without extension.
    var file: String
    var title: String
    var x: Axis
    var y: Axis
    var series: [Series]

    init(_ file: String, _ title: String, x: Axis, y: Axis, _ series: [Series]) {
        self.file = file
        self.title = title
        self.x = x
        self.y = y
        self.series = series
    }
}

/// Values of one kind, each a bar.
struct Bars: Codable, Sendable {
    struct Bar: Codable, Sendable {
        var name: String
        var value: Double
        /// Measured here, not taken from elsewhere.
        var isOurs: Bool

        init(_ name: String, _ value: Double, isOurs: Bool = true) {
            self.name = name
            self.value = value
            self.isOurs = isOurs
        }
    }

    /// Without extension.
    var file: String
    var title: String
    var unit: String
    var bars: [Bar]

    init(_ file: String, _ title: String, unit: String, _ bars: [Bar]) {
        self.file = file
        self.title = title
        self.unit = unit
        self.bars = bars
    }
}
