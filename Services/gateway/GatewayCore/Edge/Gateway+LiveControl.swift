import Bus
import Contract

/// Control frames of live conversations: they go to the share of the conversation that they name (contract §14.1).
extension Gateway {
    func live(_ frame: ReceivedFrame, of principal: Principal, on connection: Connection) {
        // A race: the connection ended while the frame waited for its rate. Nobody can be answered.
        guard connection.isOpen else { return }
        guard let rate = frame.definition.addressRate else {
            return self.pass(on: frame, of: principal, on: connection)
        }
        self.admit(rate, connection) {
            // A closed connection has ended its part in all conversations.
            if $1.isOpen { $0.pass(on: frame, of: principal, on: $1) }
        } refused: {
            $0.refuse(
                $1, Refusal(.rateLimited, "too many of these from this address", retryAfterMilliseconds: $2),
                requestID: frame.requestID)
        }
    }

    private func pass(on frame: ReceivedFrame, of principal: Principal, on connection: Connection) {
        guard self.pendingRequests.count < GatewayLimits.pendingRequestsMax else {
            return self.fail(connection, because: .tooManyRequests, requestID: frame.requestID)
        }
        guard let field = frame.definition.shareField, let payload = self.passedOn(frame, on: connection) else {
            return
        }
        let named = frame.payload.uuid(field)
        let session = principal.session
        let number = self.pendingRequests.add(
            .init(
                connection: connection.id, requestID: frame.requestID, kind: .frame, epoch: session?.caller.epoch),
            at: self.now)
        self.log(number, frame.definition.type, of: session, on: connection)
        self.remember(ConversationID(high: named.high, low: named.low), of: connection)
        let request = LiveRequest(
            answer: AnswerAddress(node: self.node, question: number), connection: connection.id, principal: principal,
            requestID: frame.requestID, type: frame.definition.type, payload: payload, receivedAt: .now)
        self.bus.append(LiveJob.frame(request), to: Keyspace.live(LiveShare(of: named))) { _ in
            self.assumeIsolated { $0.failed(number, because: .busFailed) }
        }
    }

    private func remember(_ conversation: ConversationID, of connection: Connection) {
        if connection.conversations.last == conversation { return }
        connection.conversations.removeAll { $0 == conversation }
        connection.conversations.append(conversation)
        if connection.conversations.count > GatewayLimits.conversationsRememberedMax {
            connection.conversations.removeFirst()
        }
    }

    /// Tells the shares of its conversations that the connection has ended. Lost, it heals: reports leave the connection out.
    func leaveConversations(of connection: Connection) {
        for conversation in connection.conversations {
            self.bus.append(
                LiveJob.left(conversation, LiveConnection(node: self.node, connection: connection.id)),
                to: Keyspace.live(LiveShare(of: conversation)), failed: { _ in })
        }
        connection.conversations = []
    }
}
