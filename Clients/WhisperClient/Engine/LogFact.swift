import Contract
import Logging

/// Facts that the client's log lines may hold besides their constant text. None is a key, a token, an address, or an id
/// or text of a message, so hosts may receive them. Other facts in a log line are for developers of this library.
package enum LogFact {
    /// Why the connection has ended for good: `StopReason`.
    static let reason = "reason"
    static let retryInMs = "retryInMs"
    /// `ErrorCode` of a frame that the server has refused.
    static let code = "code"
    /// Kind of the refused frame.
    static let frame = "frame"
    /// The rule that a frame of the server breaks.
    static let violation = "violation"
    /// Kind of the store's failure.
    static let store = "store"
    static let radio = "radio"

    package static let all: Set<String> = [
        Self.reason, Self.retryInMs, Self.code, Self.frame, Self.violation, Self.store, Self.radio,
    ]
}

extension WhisperClient {
    func log(_ status: ConnectionStatus) {
        switch status {
        case .connecting: self.logger.debug("connecting")
        case .online: self.logger.info("a session with the server is there")
        case .away(_, let retryIn):
            let parts = retryIn.components
            let milliseconds = max(parts.seconds * 1_000 + parts.attoseconds / 1_000_000_000_000_000, 0)
            self.logger.notice("can't reach the server", metadata: [LogFact.retryInMs: "\(milliseconds)"])
        case .stopped(.closed): self.logger.info("the connection was ended")
        case .stopped(let reason):
            self.logger.error("the connection has ended for good", metadata: [LogFact.reason: "\(reason.word)"])
        }
    }

    func log(_ state: RadioState) {
        self.logger.notice("the radio has changed", metadata: [LogFact.radio: "\(state.rawValue)"])
    }

    /// The server has refused something of ours.
    func log(refused code: ErrorCode?, _ tag: RequestTag?) {
        self.logger.warning(
            "the server refused a frame",
            metadata: [LogFact.code: "\(code?.rawValue ?? "unknown")", LogFact.frame: "\(tag?.kind ?? "unknown")"])
    }
}

extension RequestTag {
    /// Without an id.
    fileprivate var kind: StaticString {
        switch self {
        case .register: "login"
        case .refresh: "refresh"
        case .fetch: "fetch"
        case .ping: "ping"
        case .typing: "typing"
        case .call, .callSignal: "call"
        case .message: "message"
        case .receipt: "receipt"
        case .copy: "group message"
        case .question: "question"
        case .packet, .resync: "live"
        case .room: "room"
        }
    }
}

extension ClientStoreError {
    /// Without SQLite's text, which may quote values.
    var kind: StaticString {
        switch self {
        case .failed: "failed"
        case .wrongKey: "wrongKey"
        case .notADatabase: "notADatabase"
        case .tooNew: "tooNew"
        }
    }
}
