package import ClusterContract
import Contract

/// Collects events for gateways and sends them in one Notice to each node.
package struct NoticeBatch {
    /// A Notice is sent as soon as it reaches this size in bytes. Redis passes it on whole.
    private static let noticeBytesMax = 1_000_000

    private var events: [NodeID: [NodeEvent]] = [:]
    private var bytes: [NodeID: Int] = [:]
    private let bus: any NoticeBus
    /// Called on the bus's thread when nobody heard a Notice: the node is gone, or the bus is.
    private let unheard: @Sendable (NodeID, BusError?) -> Void

    package init(bus: any NoticeBus, unheard: @escaping @Sendable (NodeID, BusError?) -> Void) {
        self.bus = bus
        self.unheard = unheard
    }

    package mutating func add(_ event: NodeEvent, for node: NodeID) {
        self.events[node, default: []].append(event)
        self.bytes[node, default: 0] += event.roughBytes
        if self.bytes[node]! > Self.noticeBytesMax { self.send(to: node) }
    }

    package mutating func answer(_ address: AnswerAddress, _ answer: Answer) {
        self.add(.answer(question: address.question, answer), for: address.node)
    }

    package mutating func send() {
        for node in self.events.keys { self.send(to: node) }
    }

    private mutating func send(to node: NodeID) {
        guard let events = self.events.removeValue(forKey: node), !events.isEmpty else { return }
        self.bytes[node] = nil
        self.publish(events, to: node)
    }

    private func publish(_ events: [NodeEvent], to node: NodeID) {
        let unheard = self.unheard
        self.bus.publish(NodeNotice(events: events).encoded(), to: Keyspace.node(node).name) { result in
            switch result {
            case .success(0): unheard(node, nil)
            case .success: break
            case .failure(let error): unheard(node, error)
            }
        }
    }
}

extension NodeEvent {
    fileprivate var roughBytes: Int {
        switch self {
        case .answer(_, let answer): answer.roughBytes
        case .mail(_, let mail, _): mail.reduce(64) { $0 + $1.payload.count }
        case .outcomes(_, let outcomes): 80 * outcomes.count
        case .frame(_, _, let payload): 64 + payload.count
        case .connectionSnapshot(let entries): 16 * entries.count
        case .call(let delivery): 128 + delivery.payload.count
        case .groupEvent(let payload, let readers): 64 + payload.count + 16 * readers.count
        case .live(_, .attends(let attendance)): 256 + (attendance.grant?.count ?? 0)
        case .live: 128
        case .bound, .replaced, .presence, .guestMoved: 64
        }
    }
}

extension Answer {
    fileprivate var roughBytes: Int {
        switch self {
        case .page(let mail, _): mail.reduce(64) { $0 + $1.payload.count }
        case .reply(_, let payload), .groupEvent(_, let payload), .loggedOut(_, let payload): 64 + payload.count
        case .loggedIn(_, _, let payload), .refreshed(_, _, let payload), .guestProved(_, _, let payload):
            256 + payload.count
        case .accepted, .refused, .stale, .done, .session, .guest: 128
        }
    }
}
