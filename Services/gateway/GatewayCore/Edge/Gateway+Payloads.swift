import Contract
import Telemetry

/// What is taken out of a client's frame for other services.
extension Gateway {
    /// - Returns: `nil` if the payload is corrupted; the client has been told.
    func read<R>(
        _ frame: ReceivedFrame, on connection: Connection, _ body: (Payload) throws(Payload.Corrupted) -> R
    ) -> R? {
        do throws(Payload.Corrupted) {
            return try body(frame.payload)
        } catch {
            // A bug of ours. What could be read of it is not passed on.
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
