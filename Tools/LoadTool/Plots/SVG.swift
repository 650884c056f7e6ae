import Foundation

/// Draws charts as SVG, readable on light and dark pages alike.
struct SVG {
    private static let width = 760.0
    private static let height = 400.0
    private static let plot = (left: 70.0, top: 58.0, right: 560.0, bottom: 344.0)
    /// Told apart by people who do not see all colours (Okabe and Ito).
    private static let colours = [
        "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C8C8C",
    ]

    private(set) var text: String

    // MARK: Curves

    init(_ chart: Chart) {
        self.init(title: chart.title, height: Self.height)
        let points = chart.series.flatMap(\.points)
        guard !points.isEmpty else {
            self.finish()
            return
        }
        let x = Ruler(points.map(\.x), chart.x.scale, from: Self.plot.left, to: Self.plot.right)
        let y = Ruler(points.map(\.y), chart.y.scale, from: Self.plot.bottom, to: Self.plot.top)

        for tick in x.ticks {
            let place = x.place(tick)
            self.line(place, Self.plot.top, place, Self.plot.bottom, "#E4E4E4")
            self.write(x.label(tick), place, Self.plot.bottom + 18, anchor: "middle")
        }
        for tick in y.ticks {
            let place = y.place(tick)
            self.line(Self.plot.left, place, Self.plot.right, place, "#E4E4E4")
            self.write(y.label(tick), Self.plot.left - 8, place + 4, anchor: "end")
        }
        self.write(chart.x.label, (Self.plot.left + Self.plot.right) / 2, Self.plot.bottom + 42, anchor: "middle")
        self.write(chart.y.label, Self.plot.left, Self.plot.top - 12, anchor: "start")

        for (number, series) in chart.series.enumerated() {
            let colour = Self.colours[number % Self.colours.count]
            let path = series.points.map { "\(Self.short(x.place($0.x))),\(Self.short(y.place($0.y)))" }
            self.text +=
                #"<polyline fill="none" stroke="\#(colour)" stroke-width="2" points="\#(path.joined(separator: " "))"/>"#
                + "\n"
            // Few points are measurements of their own; many are a curve.
            for point in series.points where series.points.count <= Self.marksMax {
                self.text +=
                    #"<circle cx="\#(Self.short(x.place(point.x)))" cy="\#(Self.short(y.place(point.y)))" r="3.5" fill="\#(colour)"/>"#
                    + "\n"
            }
            let row = Self.plot.top + 14 + 20 * Double(number)
            self.line(Self.plot.right + 14, row - 4, Self.plot.right + 34, row - 4, colour, width: 3)
            self.write(series.name, Self.plot.right + 40, row, anchor: "start")
        }
        self.finish()
    }

    private static let marksMax = 12

    // MARK: Bars

    init(_ chart: Bars) {
        let (step, left, right) = (30.0, 230.0, 660.0)
        self.init(title: "\(chart.title), \(chart.unit)", height: Self.plot.top + step * Double(chart.bars.count) + 20)
        let most = max(chart.bars.map(\.value).max() ?? 0, .leastNormalMagnitude)
        for (number, bar) in chart.bars.enumerated() {
            let top = Self.plot.top + step * Double(number)
            let length = max(1, bar.value / most * (right - left))
            let colour = bar.isOurs ? Self.colours[0] : "#B0B0B0"
            self.write(bar.name, left - 10, top + 16, anchor: "end")
            self.text +=
                #"<rect x="\#(left)" y="\#(top)" width="\#(Self.short(length))" height="\#(step - 8)" fill="\#(colour)"/>"#
                + "\n"
            self.write(shown(bar.value), left + length + 8, top + 16, anchor: "start")
        }
        self.finish()
    }

    // MARK: Parts

    private init(title: String, height: Double) {
        self.text = """
            <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(Int(Self.width)) \(Int(height))" \
            font-family="sans-serif" font-size="13" role="img">
            <rect width="100%" height="100%" fill="#FFFFFF"/>

            """
        self.text += #"<text x="16" y="22" font-size="15" font-weight="bold">\#(Self.escaped(title))</text>"# + "\n"
    }

    private mutating func finish() { self.text += "</svg>\n" }

    private mutating func line(
        _ x1: Double, _ y1: Double, _ x2: Double, _ y2: Double, _ colour: String, width: Int = 1
    ) {
        let ends = #"x1="\#(Self.short(x1))" y1="\#(Self.short(y1))" x2="\#(Self.short(x2))" y2="\#(Self.short(y2))""#
        self.text += #"<line \#(ends) stroke="\#(colour)" stroke-width="\#(width)"/>"# + "\n"
    }

    private mutating func write(_ words: String, _ x: Double, _ y: Double, anchor: String) {
        self.text +=
            #"<text x="\#(Self.short(x))" y="\#(Self.short(y))" text-anchor="\#(anchor)">\#(Self.escaped(words))</text>"#
            + "\n"
    }

    private static func short(_ value: Double) -> String { String(format: "%.1f", value) }

    private static func escaped(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
    }
}

/// Where the values of one axis stand, and which of them get a label.
private struct Ruler {
    private let scale: Chart.Scale
    private let (low, high): (Double, Double)
    private let (start, end): (Double, Double)
    let ticks: [Double]

    init(_ values: [Double], _ scale: Chart.Scale, from start: Double, to end: Double) {
        self.scale = scale
        (self.start, self.end) = (start, end)
        switch scale {
        case .linear:
            // From 0: a curve that looks steep should be steep.
            let step = Self.step(max(values.max() ?? 1, .leastNormalMagnitude))
            let most = ((values.max() ?? 1) / step).rounded(.up) * step
            (self.low, self.high) = (0, most)
            self.ticks = Array(stride(from: 0, through: most + step / 2, by: step))
        case .logarithmic, .nines:
            let above = values.filter { $0 > 0 }
            let (least, most) = (above.min() ?? 1, above.max() ?? 10)
            (self.low, self.high) = (log10(least), log10(max(most, least * 2)))
            // Within two powers of ten there is room for more than the powers.
            let steps = scale == .logarithmic && self.high - self.low < 2 ? [1.0, 2, 5] : [1]
            self.ticks = stride(from: self.low.rounded(.down), through: self.high, by: 1)
                .flatMap { power in steps.map { $0 * pow(10, power) } }
                .filter { [low = self.low, high = self.high] in (low - 0.001...high + 0.001).contains(log10($0)) }
        }
    }

    func place(_ value: Double) -> Double {
        let position = self.scale == .linear ? value : log10(max(value, pow(10, self.low)))
        return self.start + (position - self.low) / (self.high - self.low) * (self.end - self.start)
    }

    func label(_ tick: Double) -> String {
        guard self.scale == .nines else { return tick >= 1_000_000 ? "\(shown(tick / 1_000_000)) M" : shown(tick) }
        // 1 - 1/x, without the rounding that would show in its last nines.
        let nines = Int(log10(tick).rounded())
        switch nines {
        case ...0: return "0 %"
        case 1: return "90 %"
        case 2: return "99 %"
        default: return "99." + String(repeating: "9", count: nines - 2) + " %"
        }
    }

    /// About six steps to `most`, each a round number.
    private static func step(_ most: Double) -> Double {
        let rough = most / 6
        let power = pow(10, log10(rough).rounded(.down))
        return power * ([1.0, 2, 2.5, 5, 10].first { $0 * power >= rough } ?? 10)
    }
}
