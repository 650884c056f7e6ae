import LocalStack

/// The routers' own metrics of their batches, summed over all routers, at one moment.
struct RouterSteps: Sendable {
    /// By metric: how often, and the sum.
    private var totals: [String: (count: Double, sum: Double)] = [:]

    private static let commit = "whisper_commit_seconds"
    private static let jobs = "whisper_batch_jobs"
    private static let routing = "whisper_routing_latency_seconds"

    init(_ stack: LocalStack) async {
        for instance in stack.ports.services[.router] ?? [] {
            guard let page = await LoopbackRequest.get("/metrics", port: instance.ops)?.body else { continue }
            for line in page.split(separator: "\n") where !line.hasPrefix("#") {
                guard let space = line.lastIndex(of: " "), let value = Double(line[line.index(after: space)...]) else {
                    continue
                }
                let name = line[..<(line.firstIndex(of: "{") ?? space)]
                if name.hasSuffix("_sum") {
                    self.totals[String(name.dropLast(4)), default: (0, 0)].sum += value
                } else if name.hasSuffix("_count") {
                    self.totals[String(name.dropLast(6)), default: (0, 0)].count += value
                }
            }
        }
    }

    /// Where a message's time goes; without the ways to the gateways and back.
    func table(since before: RouterSteps) -> Table {
        func mean(_ name: String) -> Double {
            let (now, then) = (self.totals[name] ?? (0, 0), before.totals[name] ?? (0, 0))
            return (now.sum - then.sum) / max(1, now.count - then.count)
        }
        return Table(
            "routers, means: ms from a message's arrival at its gateway until it is committed, ms of one commit, Jobs in a batch",
            columns: ["judged", "commit", "Jobs"],
            rows: [.init("each batch", [mean(Self.routing) * 1_000, mean(Self.commit) * 1_000, mean(Self.jobs)])])
    }
}
