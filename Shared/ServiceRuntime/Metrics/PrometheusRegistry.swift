import Contract
package import Metrics
import Synchronization
package import Telemetry

/// Every metric of one process, and its exposition for Prometheus.
///
/// Making a handle takes a lock; using one is an atomic addition. Timers and aggregating recorders become histograms.
package final class PrometheusRegistry: MetricsFactory {
    /// One series: its name, its labels as they are written, and its value.
    struct Series {
        let name: String
        let labels: String
        let cell: MetricCell
    }

    private struct Key: Hashable {
        let name: String
        let labels: String
    }

    private let service: String
    let revision: String?
    private let series = Mutex<[Key: Series]>([:])

    /// - Parameters:
    ///   - service: the value of the `service` label of every series.
    ///   - revision: the commit of this program, if it is known.
    package init(service: String, revision: String? = BuildRevision.current) {
        self.service = service
        self.revision = revision
    }

    /// Adds a gauge that is read at each scrape. A gauge of the same name is replaced.
    package func observe(_ gauge: ObservedGauge) {
        let key = self.key(gauge.name.rawValue, [])
        self.series.withLock { $0[key] = Series(name: key.name, labels: key.labels, cell: .observed(gauge.read)) }
    }

    /// Text exposition format 0.0.4, sorted by name, the process's own statistics at the end.
    package func exposition() -> String {
        let series = self.series.withLock { Array($0.values) }
        var text = Exposition()
        for series in series.sorted(by: { ($0.name, $0.labels) < ($1.name, $1.labels) }) { text.add(series) }
        let labels = Exposition.labels([("service", self.service)])
        var build = [("service", self.service), (MetricLabel.version.rawValue, Release.version)]
        if let revision = self.revision { build.append((MetricLabel.revision.rawValue, revision)) }
        text.add(
            ProcessStatistics(name: MetricName.buildInfo.rawValue, kind: "gauge", value: 1),
            labels: Exposition.labels(build))
        for statistic in ProcessStatistics.current { text.add(statistic, labels: labels) }
        return text.text
    }

    package func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        guard case .counter(let cell) = self.cell(label, dimensions, new: .counter(CounterCell())) else {
            return NOOPMetricsHandler.instance
        }
        return cell
    }

    package func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        guard case .gauge(let cell) = self.cell(label, dimensions, new: .gauge(GaugeCell())) else {
            return NOOPMetricsHandler.instance
        }
        return cell
    }

    package func makeRecorder(
        label: String, dimensions: [(String, String)], aggregate: Bool
    ) -> any RecorderHandler {
        let new: MetricCell = aggregate ? .histogram(HistogramCell(.count)) : .gauge(GaugeCell())
        return switch self.cell(label, dimensions, new: new) {
        case .gauge(let cell): cell
        case .histogram(let cell): cell
        case .counter, .observed, nil: NOOPMetricsHandler.instance
        }
    }

    package func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        guard case .histogram(let cell) = self.cell(label, dimensions, new: .histogram(HistogramCell(.time))) else {
            return NOOPMetricsHandler.instance
        }
        return cell
    }

    // Series live as long as the process: handles are few and made once.
    package func destroyCounter(_: any CounterHandler) {}
    package func destroyMeter(_: any MeterHandler) {}
    package func destroyRecorder(_: any RecorderHandler) {}
    package func destroyTimer(_: any TimerHandler) {}

    /// The cell of a series, made if it is new. Nothing if there are too many.
    private func cell(
        _ name: String, _ dimensions: [(String, String)], new: @autoclosure () -> MetricCell
    ) -> MetricCell? {
        let key = self.key(name, dimensions)
        return self.series.withLock { series in
            if let known = series[key] { return known.cell }
            guard series.count < RuntimeLimits.seriesMax else { return nil }
            let made = new()
            series[key] = Series(name: key.name, labels: key.labels, cell: made)
            return made
        }
    }

    private func key(_ name: String, _ dimensions: [(String, String)]) -> Key {
        Key(name: Exposition.name(name), labels: Exposition.labels([("service", self.service)] + dimensions))
    }
}
