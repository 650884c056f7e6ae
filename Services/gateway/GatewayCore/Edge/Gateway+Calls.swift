import Bus
import Contract
import NIOCore
import Telemetry

/// Calls: frames go to the share of the pair who call each other, and what comes from there is confirmed.
extension Gateway {
    func call(_ frame: ReceivedFrame, of session: Session, on connection: Connection) {
        guard let open = self.openRequest(for: frame, .frame, of: session, on: connection) else { return }
        let number = open.number
        let identity = session.caller.identity
        let peer = frame.definition.toField.map { frame.payload.whisperID($0) }
        let request = CallRequest(
            answer: AnswerAddress(node: self.node, question: number), connection: connection.id, session: session,
            requestID: frame.requestID, type: frame.definition.type, payload: open.payload, receivedAt: .now)
        self.bus.append(
            CallJob.frame(request), to: Keyspace.calls(CallShare(of: identity, and: peer ?? identity))
        ) { _ in self.assumeIsolated { $0.failed(number, because: .busFailed) } }
    }

    /// Tells each share in which a call waits for this identity that it is here.
    /// - Parameter engaged: what stands under the shares' keys, in their order.
    func tellCalls(of connection: Connection, _ engaged: some Sequence<[UInt8]?>) {
        guard connection.isOpen, let identity = connection.session?.caller.identity else { return }
        for (share, value) in zip(CallShare.all, engaged) where value != nil {
            // Lost, it heals: calls that wait for somebody look at presence once a second.
            self.bus.append(
                CallJob.bound(CallConnection(identity: identity, node: self.node, connection: connection.id)),
                to: Keyspace.calls(share), failed: { _ in })
        }
    }

    func deliver(_ delivery: CallDelivery) {
        let connection = self.connections[delivery.connection].flatMap { $0.isOpen ? $0 : nil }
        if let connection {
            self.reply(connection, type: delivery.type, payload: delivery.payload, requestID: delivery.requestID)
        }
        // Lost, the frame comes again.
        self.bus.append(
            CallJob.delivered(
                CallReceipt(
                    call: delivery.call, number: delivery.number, node: self.node, connection: delivery.connection,
                    isWritten: connection != nil)),
            to: Keyspace.calls(delivery.share), failed: { _ in })
    }
}
