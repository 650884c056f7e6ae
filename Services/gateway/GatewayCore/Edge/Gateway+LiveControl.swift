import Bus
import Contract
import ServerCrypto

/// Control frames of live conversations and frames of rooms: they go to the share of what they name (contract §14.1, §15.6).
extension Gateway {
    func live(_ frame: ReceivedFrame, of principal: Principal, on connection: Connection) {
        // A race: the connection ended while the frame waited for its rate. Nobody can be answered.
        guard connection.isOpen else { return }
        if let guess = frame.definition.guess, let field = frame.definition.guessField, frame.payload.has(field) {
            // Its own rate first: others of the same address may go on.
            return self.admit(guess.rate, "\(principal.id)", connection) {
                $0.pass(on: frame, of: principal, within: guess.addressRate, on: $1)
            } refused: {
                $0.refuse(
                    $1, Refusal(.rateLimited, "too many of these", retryAfterMilliseconds: $2),
                    requestID: frame.requestID)
            }
        }
        guard let rate = frame.definition.addressRate else {
            return self.pass(on: frame, of: principal, on: connection)
        }
        self.pass(on: frame, of: principal, within: rate, on: connection)
    }

    private func pass(
        on frame: ReceivedFrame, of principal: Principal, within rate: Rate, on connection: Connection
    ) {
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
        guard let payload = self.passedOn(frame, on: connection) else { return }
        // A join by code names no room: any share looks it up.
        let named = frame.definition.shareField.flatMap { frame.payload.has($0) ? frame.payload.uuid($0) : nil }
        let isGuess = frame.definition.guessField.map { frame.payload.has($0) } ?? false
        let session = principal.session
        let number = self.pendingRequests.add(
            .init(
                connection: connection.id, requestID: frame.requestID, kind: .frame, epoch: session?.caller.epoch),
            at: self.now)
        self.log(number, frame.definition.type, of: session, on: connection)
        if let named, !frame.definition.isOfRooms {
            self.remember(ConversationID(high: named.high, low: named.low), of: connection)
        }
        let request = LiveRequest(
            answer: AnswerAddress(node: self.node, question: number), connection: connection.id, principal: principal,
            requestID: frame.requestID, type: frame.definition.type, payload: payload, receivedAt: .now,
            origin: isGuess || frame.definition.addressRate != nil ? Self.origin(of: connection.address) : 0)
        let share = named.map { LiveShare(of: $0) } ?? LiveShare(of: principal.id)
        self.append(.frame(request), to: share) { $0.failed(number, because: .busFailed) }
    }

    /// The same at every gateway, and no address.
    private static func origin(of address: ClientAddress) -> UInt64 {
        SHA256.hash(Array("whisper-origin\n\(address)\n".utf8)).bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
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
            self.append(
                .left(conversation, LiveConnection(node: self.node, connection: connection.id)),
                to: LiveShare(of: conversation))
        }
        connection.conversations = []
    }

    /// Tells the shares of its rooms that the connection has ended. Lost, it heals as conversations do.
    func leaveRooms(of connection: Connection) {
        for room in connection.live?.rooms ?? [] {
            self.roomsEntered.remove(.init(room: room, connection: connection.id))
            self.tellLeft(room, connection.id)
        }
        connection.live?.rooms = []
    }

    func tellLeft(_ room: UUIDText, _ connection: ConnectionID) {
        self.append(
            .leftRoom(room, LiveConnection(node: self.node, connection: connection)), to: LiveShare(of: room))
    }
}
