import Contract
import Logging

/// Reads what the server sends. A frame that breaks the contract changes nothing, and is counted: one number beyond its
/// bound makes the whole frame worthless (contract §13b).
struct FrameReading {
    private(set) var refused: Int64 = 0

    /// - Returns: `nil` if it is no frame of the contract.
    mutating func message(of text: [UInt8], logger: Logger) -> ServerMessage? {
        do {
            return try ServerMessage(text)
        } catch {
            self.refused += 1
            logger.warning(
                "the server sent something that is no frame", metadata: [LogFact.violation: "\(error.violation)"])
            return nil
        }
    }
}
