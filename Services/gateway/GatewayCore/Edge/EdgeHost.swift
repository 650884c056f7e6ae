import ClusterContract
import Contract
import Logging
import NIOCore

/// The host of the gateway's features.
///
/// A feature is a class with private state on the host's actor, or a value without any. The host passes itself with each call, so a feature needs no reference
/// to it, and the compiler proves that a call back stays on the actor. In a release build the calls are those of the one host.
protocol EdgeHost: Actor {
    nonisolated var logger: Logger { get }

    /// A client's connection, open or not; `nil` if its socket is gone.
    func connection(_ id: ConnectionID) -> Connection?
    /// Has `append` put frames at the end of what is written to the client in this turn.
    func write(to connection: Connection, _ append: (inout ByteBuffer) -> Void)
    /// Writes bytes that several clients get. They are copied only where something else is written in this turn.
    func write(_ shared: ByteBuffer, to connection: Connection)
    func reply(_ connection: Connection, type: String, payload: [UInt8], requestID: String?)
    func refuse(_ connection: Connection, _ refusal: Refusal, requestID: String?)
    /// Says goodbye to the client.
    func close(_ connection: Connection, _ code: CloseCode, reason: String)
    /// This turn has something to send at its end.
    func scheduleFlush()
}

/// The host of a feature that knows connections by identity or guest.
protocol SessionHost: EdgeHost {
    /// The live connection of the identity or guest on this node.
    func bound(_ principal: PrincipalID) -> Connection?
}

/// The host of a feature that asks other services.
protocol RequestHost: EdgeHost {
    /// The request with this number did not reach the bus.
    func failed(_ number: UInt64, because reason: FailureReason)
    /// A request has ended without an answer.
    func ended(_ request: PendingRequest)
}

extension EdgeHost {
    /// Milliseconds of a clock that only goes forward.
    nonisolated var now: Int64 { Int64(NIODeadline.now().uptimeNanoseconds / 1_000_000) }

    func reply<Frame: ServerFrame>(_ connection: Connection, _ frame: Frame, requestID: String?) {
        self.reply(connection, type: Frame.type, payload: frame.json, requestID: requestID)
    }

    func close(_ connection: Connection, _ code: CloseCode) { self.close(connection, code, reason: "") }

    /// - Returns: `nil` if the payload is corrupted; the client has been told.
    func read<R>(
        _ frame: ReceivedFrame, on connection: Connection, _ body: (Payload) throws(Payload.Corrupted) -> R
    ) -> R? {
        do throws(Payload.Corrupted) {
            return try body(frame.payload)
        } catch {
            // A bug of ours. Nothing of the payload is passed on.
            assertionFailure("payload of \(frame.definition.type) is corrupted")
            self.logger.error(
                "payload is corrupted", [.frame: "\(frame.definition.type)", .connId: .number(connection.id.value)])
            self.refuse(connection, .unavailable, requestID: frame.requestID)
            return nil
        }
    }

    /// The payload as services get it: its known fields, less the tokens.
    func passedOn(_ frame: ReceivedFrame, on connection: Connection) -> [UInt8]? {
        self.read(frame, on: connection) { payload throws(Payload.Corrupted) in
            try payload.json(without: [CommonFields.sessionToken.name, CommonFields.guestToken.name])
        }
    }
}
