import ClusterContract
import Contract

/// Collects what one turn of the loop has for other gateways: one Notice for each.
struct FeedBatch {
    private let node: NodeID
    private var events: [NodeID: [FeedEvent]] = [:]
    private var bytes: [NodeID: Int] = [:]
    /// Notices that became large enough before the turn ended.
    private var full: [(to: NodeID, notice: FeedNotice)] = []

    init(of node: NodeID) { self.node = node }

    var isEmpty: Bool { self.events.isEmpty && self.full.isEmpty }

    mutating func add(_ event: FeedEvent, for node: NodeID) {
        self.events[node, default: []].append(event)
        self.bytes[node, default: 0] += event.roughBytes
        guard self.bytes[node, default: 0] > LiveFeedLimits.noticeBytesMax,
            let events = self.events.removeValue(forKey: node)
        else { return }
        self.bytes[node] = nil
        self.full.append((node, FeedNotice(from: self.node, events: events)))
    }

    /// Everything, in order for each node.
    mutating func take() -> [(to: NodeID, notice: FeedNotice)] {
        let rest = self.events.map { (to: $0.key, notice: FeedNotice(from: self.node, events: $0.value)) }
        defer {
            self.events.removeAll(keepingCapacity: true)
            self.bytes.removeAll(keepingCapacity: true)
            self.full = []
        }
        return self.full + rest
    }
}

extension FeedEvent {
    fileprivate var roughBytes: Int {
        switch self {
        case .packet(let packet, _): 96 + packet.frame.count
        case .memory(let memory):
            (memory.behind + memory.lines + [memory.snapshot].compactMap { $0 }).reduce(256) {
                $0 + 96 + $1.frame.count
            }
        case .attends(let attendances): 48 * attendances.count
        case .attendsNoLonger, .wanted, .attention: 96
        }
    }
}
