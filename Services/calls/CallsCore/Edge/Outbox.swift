import Bus
import Contract

/// Gathers what a batch has to say to gateways, and says it in few Notices, in order.
struct Outbox {
    private var events: [NodeID: [NodeEvent]] = [:]
    private var bytes: [NodeID: Int] = [:]
    private let bus: any NoticeBus
    /// Called on the bus's thread when nobody heard a Notice: the node is gone, or (nil) the bus is.
    private let unheard: @Sendable (NodeID?) -> Void

    init(bus: any NoticeBus, unheard: @escaping @Sendable (NodeID?) -> Void) {
        self.bus = bus
        self.unheard = unheard
    }

    mutating func answer(_ address: AnswerAddress, _ answer: Answer) {
        self.add(.answer(question: address.question, answer), bytes: 256, for: address.node)
    }

    mutating func add(_ delivery: CallDelivery, for node: NodeID) {
        self.add(.call(delivery), bytes: 256 + delivery.payload.count, for: node)
    }

    mutating func send() {
        for node in Array(self.events.keys) { self.send(to: node) }
    }

    private mutating func add(_ event: NodeEvent, bytes: Int, for node: NodeID) {
        self.events[node, default: []].append(event)
        self.bytes[node, default: 0] += bytes
        if self.bytes[node, default: 0] > CallLimits.noticeBytesMax { self.send(to: node) }
    }

    private mutating func send(to node: NodeID) {
        guard let events = self.events.removeValue(forKey: node), !events.isEmpty else { return }
        self.bytes[node] = nil
        let unheard = self.unheard
        self.bus.publish(NodeNotice(events: events).encoded(), to: Keyspace.node(node).name) { result in
            switch result {
            case .success(0): unheard(node)
            case .success: break
            // Frames that got lost with it are sent again when nothing is heard of them.
            case .failure: unheard(nil)
            }
        }
    }
}
