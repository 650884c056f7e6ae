/// The facts a log line may carry (spec §13). Facts without a key here cannot be logged: there is no key for tokens,
/// key material, envelopes, plaintext or network addresses. The log handler drops every other key that a library might
/// bring.
///
/// `time`, `level`, `service`, `instance` and `event` are on every line already: the handler writes them.
package enum LogKey: String, CaseIterable, Sendable {
    // The subjects of a line.
    case connId
    case whisperId
    case deviceId
    case messageId
    case groupId
    case callId
    case erasureId
    case wakeId
    /// See `AnswerAddress.trace`.
    case trace
    /// The type name of a frame, never its content.
    case frame
    /// An `ErrorCode`, a close code or an exit code.
    case code
    /// A short constant that says why, or the text of a wrong setting.
    case reason
    /// A cause as an error describes itself. Errors of this project carry no user data.
    case error

    // Where it happened.
    /// A gateway process as other services know it.
    case node
    case partition
    case stream
    case part
    case provider
    case migration
    case port
    case pid
    case signal

    // How much.
    case latencyMs
    case count
    case bytes
    case attempt
}
