import Bus
import ClusterContract
import Contract

/// Relays calls: frames go to the share of the pair who call each other, and frames of that share are confirmed.
struct CallRelay {
    let node: NodeID
    let bus: any Bus
    let requests: Requests

    func received(
        _ frame: ReceivedFrame, of session: Session, on connection: Connection, _ host: isolated some RequestHost
    ) {
        guard let (number, payload) = self.requests.open(for: frame, of: session, on: connection, host) else { return }
        let identity = session.caller.identity
        let peer = frame.definition.toField.map { frame.payload.whisperID($0) }
        let request = CallRequest(
            answer: AnswerAddress(node: self.node, question: number), connection: connection.id, session: session,
            requestID: frame.requestID, type: frame.definition.type, payload: payload, receivedAt: .now)
        self.bus.append(
            CallJob.frame(request), to: Keyspace.calls(CallShare(of: identity, and: peer ?? identity))
        ) { _ in host.assumeIsolated { $0.failed(number, because: .busFailed) } }
    }

    /// Tells each share in which a call waits for this identity that it is here.
    func arrived(_ identity: WhisperID, on id: ConnectionID, _ host: isolated some EdgeHost) {
        // Bare: it lasts no longer than one answer of the bus, which has a limit of its own.
        Task {
            guard let engaged = try? await self.bus.get(CallShare.all.map { Keyspace.engaged(identity, in: $0) }),
                let connection = host.connection(id), connection.isOpen,
                let identity = connection.session?.caller.identity
            else { return }
            for (share, value) in zip(CallShare.all, engaged) where value != nil {
                // If it is lost, it heals: a call that waits for an identity checks presence once a second.
                self.bus.append(
                    CallJob.bound(CallConnection(identity: identity, node: self.node, connection: id)),
                    to: Keyspace.calls(share), failed: { _ in })
            }
        }
    }

    func deliver(_ delivery: CallDelivery, _ host: isolated some EdgeHost) {
        let connection = host.connection(delivery.connection).flatMap { $0.isOpen ? $0 : nil }
        if let connection {
            host.reply(connection, type: delivery.type, payload: delivery.payload, requestID: delivery.requestID)
        }
        // If it is lost, the frame comes again.
        self.bus.append(
            CallJob.delivered(
                CallReceipt(
                    call: delivery.call, number: delivery.number, node: self.node, connection: delivery.connection,
                    isWritten: connection != nil)),
            to: Keyspace.calls(delivery.share), failed: { _ in })
    }
}
