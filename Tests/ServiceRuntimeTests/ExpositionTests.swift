import Contract
import Metrics
import Telemetry
import Testing

@testable import ServiceRuntime

@Suite struct ExpositionTests {
    private let registry = PrometheusRegistry(service: "router")

    /// The exposition, without the release and the statistics of the test's own process.
    private var text: String {
        self.registry.exposition().split(separator: "\n", omittingEmptySubsequences: false)
            .filter { !$0.contains("process_") && !$0.contains("whisper_build_info") }.joined(separator: "\n")
    }

    @Test func everySeriesIsWrittenAsPrometheusReadsIt() {
        self.registry.makeCounter(label: "whisper_errors_total", dimensions: [("code", "NOT_FOUND")]).increment(by: 2)
        self.registry.makeCounter(label: "whisper_errors_total", dimensions: [("code", "FORBIDDEN")]).increment(by: 1)
        let connections = self.registry.makeMeter(label: "whisper_ws_connections_active", dimensions: [])
        connections.set(Int64(5))
        connections.decrement(by: 2)
        self.registry.observe(ObservedGauge(.pendingOldestSeconds) { 1.5 })
        let latency = self.registry.makeTimer(label: "whisper_routing_latency_seconds", dimensions: [])
        latency.recordNanoseconds(50_000)
        latency.recordNanoseconds(50_001)
        latency.recordNanoseconds(2_000_000_000)
        latency.recordNanoseconds(11_000_000_000)

        #expect(
            self.text == """
                # HELP whisper_errors_total Errors answered to clients, by code.
                # TYPE whisper_errors_total counter
                whisper_errors_total{service="router",code="FORBIDDEN"} 1
                whisper_errors_total{service="router",code="NOT_FOUND"} 2
                # HELP whisper_pending_oldest_seconds Age of the oldest stored message that no recipient has acknowledged, in this router's partitions.
                # TYPE whisper_pending_oldest_seconds gauge
                whisper_pending_oldest_seconds{service="router"} 1.5
                # HELP whisper_routing_latency_seconds From the gateway's reading of a message to its commit.
                # TYPE whisper_routing_latency_seconds histogram
                whisper_routing_latency_seconds_bucket{service="router",le="0.00005"} 1
                whisper_routing_latency_seconds_bucket{service="router",le="0.0001"} 2
                whisper_routing_latency_seconds_bucket{service="router",le="0.00025"} 2
                whisper_routing_latency_seconds_bucket{service="router",le="0.0005"} 2
                whisper_routing_latency_seconds_bucket{service="router",le="0.001"} 2
                whisper_routing_latency_seconds_bucket{service="router",le="0.0025"} 2
                whisper_routing_latency_seconds_bucket{service="router",le="0.005"} 2
                whisper_routing_latency_seconds_bucket{service="router",le="0.01"} 2
                whisper_routing_latency_seconds_bucket{service="router",le="0.025"} 2
                whisper_routing_latency_seconds_bucket{service="router",le="0.05"} 2
                whisper_routing_latency_seconds_bucket{service="router",le="0.1"} 2
                whisper_routing_latency_seconds_bucket{service="router",le="0.25"} 2
                whisper_routing_latency_seconds_bucket{service="router",le="0.5"} 2
                whisper_routing_latency_seconds_bucket{service="router",le="1"} 2
                whisper_routing_latency_seconds_bucket{service="router",le="2.5"} 3
                whisper_routing_latency_seconds_bucket{service="router",le="5"} 3
                whisper_routing_latency_seconds_bucket{service="router",le="10"} 3
                whisper_routing_latency_seconds_bucket{service="router",le="+Inf"} 4
                whisper_routing_latency_seconds_sum{service="router"} 13.000100001
                whisper_routing_latency_seconds_count{service="router"} 4
                # HELP whisper_ws_connections_active Open WebSockets.
                # TYPE whisper_ws_connections_active gauge
                whisper_ws_connections_active{service="router"} 3

                """)
    }

    /// Each name of the cluster's metrics, as its service would make it, and those of the process itself.
    @Test func everyMetricHasAHelpText() throws {
        for name in MetricName.allCases where name != .buildInfo {
            self.registry.makeCounter(label: name.rawValue, dimensions: []).increment(by: 1)
        }
        let lines = self.registry.exposition().split(separator: "\n").map { String($0) }
        var names: Set<String> = []
        for (index, line) in lines.enumerated() where line.hasPrefix("# TYPE ") {
            let name = try #require(line.split(separator: " ").dropFirst(2).first)
            let help = try #require(index > 0 ? lines[index - 1] : nil)
            #expect(help.hasPrefix("# HELP \(name) ") && help.hasSuffix(".") && !help.contains("\\"), "\(help)")
            names.insert(String(name))
        }
        #expect(names.isSuperset(of: MetricName.allCases.map(\.rawValue)))
        #expect(names.count == MetricName.allCases.count + ProcessStatistics.current.count)
        let texts = MetricName.allCases.map(\.help)
        #expect(Set(texts).count == texts.count)
    }

    @Test func namesAndLabelValuesAreMadeSafe() {
        self.registry.makeCounter(label: "2 odd-names", dimensions: [("a.b", "say \"hi\\\"\nbye")]).increment(by: 1)
        #expect(
            self.text == """
                # TYPE __odd_names counter
                __odd_names{service="router",a_b="say \\"hi\\\\\\"\\nbye"} 1

                """)
    }

    @Test func aHandleMadeTwiceIsOneSeries() {
        self.registry.makeCounter(label: "n", dimensions: []).increment(by: 1)
        self.registry.makeCounter(label: "n", dimensions: []).increment(by: 1)
        #expect(self.text.contains("n{service=\"router\"} 2\n"))
    }

    @Test func aNameUsedForAnotherKindCountsIntoNothing() {
        self.registry.makeCounter(label: "n", dimensions: []).increment(by: 1)
        self.registry.makeMeter(label: "n", dimensions: []).set(Int64(7))
        #expect(self.text == "# TYPE n counter\nn{service=\"router\"} 1\n")
    }

    @Test func seriesAreBounded() {
        for number in 0..<RuntimeLimits.seriesMax + 10 {
            self.registry.makeCounter(label: "n", dimensions: [("number", "\(number)")]).increment(by: 1)
        }
        #expect(self.text.split(separator: "\n").count == RuntimeLimits.seriesMax + 1)
    }

    @Test func additionsFromManyTasksAllCount() async {
        let counter = self.registry.makeCounter(label: "n", dimensions: [])
        let gauge = self.registry.makeMeter(label: "g", dimensions: [])
        await withDiscardingTaskGroup { group in
            for _ in 0..<8 {
                group.addTask {
                    for _ in 0..<1_000 {
                        counter.increment(by: 1)
                        gauge.increment(by: 1)
                    }
                }
            }
        }
        #expect(self.text.contains("g{service=\"router\"} 8000\n"))
        #expect(self.text.contains("n{service=\"router\"} 8000\n"))
    }

    @Test func countsHaveBucketsInPowersOfTwo() {
        let batch = self.registry.makeRecorder(label: "b", dimensions: [], aggregate: true)
        batch.record(Int64(3))
        batch.record(Int64(100_000))
        #expect(
            self.text.contains("b_bucket{service=\"router\",le=\"2\"} 0\nb_bucket{service=\"router\",le=\"4\"} 1\n"))
        #expect(
            self.text.contains(
                "le=\"65536\"} 1\nb_bucket{service=\"router\",le=\"+Inf\"} 2\nb_sum{service=\"router\"} 100003\n"))
    }

    @Test func theProcessTellsItsOwnCost() throws {
        let values = Dictionary(
            uniqueKeysWithValues: ProcessStatistics.current.map { ($0.name, $0.value) })
        #expect(try #require(values["process_cpu_seconds_total"]) > 0)
        #expect(try #require(values["process_resident_memory_bytes"]) > 1_000_000)
        #expect(try #require(values["process_open_fds"]) >= 3)
        // Some day after this was written, and not in the future.
        let start = try #require(values["process_start_time_seconds"])
        #expect(start > 1_700_000_000 && start <= Double(Timestamp.now.milliseconds / 1_000 + 1))
    }
}
