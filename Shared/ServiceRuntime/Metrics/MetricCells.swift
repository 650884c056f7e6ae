import Metrics
import Synchronization

/// The value of one series. Written by anyone at any time, read at a scrape; a scrape may see a histogram between its
/// additions.
enum MetricCell {
    case counter(CounterCell)
    case gauge(GaugeCell)
    case histogram(HistogramCell)
    /// Read through a closure at the scrape.
    case observed(@Sendable () -> Double)
}

final class CounterCell: CounterHandler {
    private let value = Atomic<Int64>(0)

    var current: Int64 { self.value.load(ordering: .relaxed) }
    func increment(by amount: Int64) { self.value.wrappingAdd(amount, ordering: .relaxed) }
    func reset() { self.value.store(0, ordering: .relaxed) }
}

final class GaugeCell: MeterHandler, RecorderHandler {
    private let bits = Atomic<UInt64>(0)

    var current: Double { Double(bitPattern: self.bits.load(ordering: .relaxed)) }
    func set(_ value: Int64) { self.set(Double(value)) }
    func set(_ value: Double) { self.bits.store(value.bitPattern, ordering: .relaxed) }
    func record(_ value: Int64) { self.set(value) }
    func record(_ value: Double) { self.set(value) }
    func decrement(by amount: Double) { self.increment(by: -amount) }

    func increment(by amount: Double) {
        var old = self.bits.load(ordering: .relaxed)
        while true {
            let new = (Double(bitPattern: old) + amount).bitPattern
            let (exchanged, seen) = self.bits.weakCompareExchange(expected: old, desired: new, ordering: .relaxed)
            if exchanged { return }
            old = seen
        }
    }
}

final class HistogramCell: TimerHandler, RecorderHandler {
    /// The unit of the buckets, and how their bounds are written.
    enum Unit {
        /// Nanoseconds inside, seconds outside; 50 µs to 10 s.
        case time
        /// Plain numbers; 1 to 65,536 in powers of two.
        case count

        var bounds: [Int64] {
            switch self {
            case .time:
                [
                    50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000,
                    1_000_000, 2_500_000, 5_000_000, 10_000_000,
                ].map { $0 * 1_000 }
            case .count:
                (0...16).map { 1 << $0 }
            }
        }
    }

    struct Reading {
        /// How many values were at or below each bound; the last element counts all.
        var cumulative: [UInt64]
        var sum: Int64
    }

    let unit: Unit
    let bounds: [Int64]
    /// One per bound, and one for what is beyond the last.
    private let counts: InlineArray<18, Atomic<UInt64>>
    private let sum = Atomic<Int64>(0)

    init(_ unit: Unit) {
        self.unit = unit
        self.bounds = unit.bounds
        self.counts = InlineArray { _ in Atomic(0) }
        precondition(self.bounds.count + 1 == self.counts.count)
    }

    func recordNanoseconds(_ duration: Int64) { self.record(duration) }

    func record(_ value: Double) { self.record(Int64(exactly: value.rounded()) ?? 0) }

    func record(_ value: Int64) {
        var bucket = 0
        while bucket < self.bounds.count, value > self.bounds[bucket] { bucket += 1 }
        self.counts[bucket].wrappingAdd(1, ordering: .relaxed)
        self.sum.wrappingAdd(value, ordering: .relaxed)
    }

    var current: Reading {
        var cumulative: [UInt64] = []
        var total: UInt64 = 0
        for bucket in 0..<self.counts.count {
            total += self.counts[bucket].load(ordering: .relaxed)
            cumulative.append(total)
        }
        return Reading(cumulative: cumulative, sum: self.sum.load(ordering: .relaxed))
    }
}
