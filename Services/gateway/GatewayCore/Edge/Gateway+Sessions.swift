import Bus
import ClusterContract
import Contract
import Telemetry

/// Does what the session of a connection (`ConnectionSession`) has decided.
extension Gateway {
    // MARK: Look-ups

    /// - Parameter session: `nil` if the token is nobody's.
    func lookedUp(_ session: Session?, on id: ConnectionID) {
        guard let connection = self.connections[id], !self.peeks.lookedUp(session, on: connection, self) else { return }
        self.follow(connection.machine.lookedUp(session, wallClock: .now), on: connection)
    }

    /// - Parameter guest: `nil` if the token is nobody's.
    func lookedUp(_ guest: Guest?, on id: ConnectionID) {
        guard let connection = self.connections[id] else { return }
        self.follow(connection.machine.lookedUp(guest, wallClock: .now), on: connection)
    }

    private func follow(_ action: ConnectionSession.LookUpAction, on connection: Connection) {
        switch action {
        case .goOn: break
        case .bind(let session, let shownAt): self.bind(connection, to: session, shownAt: shownAt)
        case .bindGuest(let guest, let shownAt): self.guests.bind(connection, to: guest, shownAt: shownAt, self)
        case .close(let refusal, let code):
            self.refuse(connection, refusal, requestID: connection.machine.firstWaiting?.requestID)
            self.close(connection, code)
        case .anotherToken:
            // Another process mixed it up, so this one goes on.
            self.logger.error("session of another token", [.connId: .number(connection.id.value)])
        }
        self.goOn(connection)
    }

    /// The look-up failed, or was not allowed; nothing is known about the token.
    func lookUpFailed(on id: ConnectionID, _ refusal: Refusal) {
        guard let connection = self.connections[id], !self.peeks.failed(connection, refusal, self) else { return }
        connection.machine.lookUpFailed(refusal)
        self.goOn(connection)
    }

    // MARK: Binding

    /// Binds the connection to the session, and ends another connection of the identity here; or the other stays, and
    /// this one ends.
    /// - Parameters:
    ///   - shownAt: when it showed the token, on the gateway's clock; `nil` for now.
    ///   - welcome: tells the client that it is logged in. Behind the announcement: mail written to somebody who has heard so must find
    ///     it at its router.
    func bind(_ connection: Connection, to session: Session, shownAt: Int64? = nil, welcome: () -> Void = {}) {
        let identity = session.caller.identity
        let now = self.now
        let shownAt = shownAt ?? now
        if let other = self.bound[identity], other !== connection {
            guard !other.machine.staysLive(against: session, shownAt: shownAt) else {
                welcome()
                return self.endSession(of: connection)
            }
            self.endSession(of: other)
        }
        connection.machine.bind(to: session, shownAt: shownAt)
        connection.deliveryCursor = DeliveryCursor(boundAt: .now - .milliseconds(now - shownAt))
        self.bound[identity] = connection
        self.rates.bound(session)
        self.announcer.showPresence(of: connection)
        // At once: what this very frame asks of the mailbox must come behind it.
        self.announcer.announce(connection, now: true, self)
        welcome()
        self.calls.arrived(identity, on: connection.id, self)
    }

    /// A newer login or connection has taken over (contract §4).
    func endSession(of connection: Connection, why: ClusterNotice.EndReason = .replaced) {
        switch why {
        case .replaced:
            self.refuse(connection, Refusal(.authFailed, "the session was replaced by another one"), requestID: nil)
            self.close(connection, .sessionReplaced)
        case .banned:
            self.refuse(connection, Refusal(.userBanned, "the identity is banned"), requestID: nil)
            self.close(connection, .banned)
        }
    }
}
