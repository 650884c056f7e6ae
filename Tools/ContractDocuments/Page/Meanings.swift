package import Contract

// Meanings of the codes, each said once, for people. A new code does not compile without its sentence.

extension ErrorCode {
    package var meaning: String {
        switch self {
        case .notRegistered: "The session token is missing, empty, unknown or expired. Log in."
        case .authFailed: "A login proof or a message signature does not hold, or another login has ended this session."
        case .invalidPayload: "The frame is not of the form that this page describes. Sending it again will not help."
        case .invalidTimestamp:
            "The timestamp of a signed frame is more than \(Limits.timestampSkewMilliseconds / 60_000) minutes off the server's time."
        case .rateLimited: "Too much in too short a time. `retryAfterMs` says how long to wait."
        case .userBanned: "The identity is banned."
        case .notFound: "The recipient, group, call or object does not exist."
        case .forbidden: "The caller may not do this."
        case .internalError: "Not accepted, for reasons of our own. Safe to retry with the same id."
        }
    }
}

extension CloseCode {
    package var meaning: String {
        switch self {
        case .normal:
            "The client has logged out, or has closed first; or its session has expired (NOT_REGISTERED comes before)."
        case .goingAway: "The server is draining. The reason is a number: wait so many milliseconds, then reconnect."
        case .protocolError: "The bytes were no WebSocket frames."
        case .unsupportedData: "A binary message."
        case .invalidText: "A text message that is not UTF-8."
        case .abuse:
            "More than \(Limits.invalidFramesPerMinuteMax) frames in a minute were answered with INVALID_PAYLOAD."
        case .tooBig: "A message of more than \(Limits.frameBytesMax.grouped) bytes."
        case .sessionReplaced: "A newer login or connection of the identity, or the session was revoked."
        case .banned: "The identity has been banned."
        case .idle: "No frame, ping or pong for \(Limits.idleTimeout.components.seconds) s."
        case .slowConsumer:
            "The client does not read what is written to it, or has most kept for it when a gateway is short of memory. Its mail is kept."
        case .tooManyConnections: "More than \(Limits.connectionsPerAddressMax) open connections from one address."
        }
    }
}

extension FieldType {
    /// The type in a table's cell.
    package var words: String {
        switch self {
        case .version: "`1`"
        case .sessionToken: "S"
        case .whisperID: "WID"
        case .uuid: "UUID"
        case .uuidV4: "UUID, version 4"
        case .lowerCaseUUID: "UUID, lower case"
        case .guestID: "GST"
        case .principalID: "PID"
        case .groupID: "GID"
        case .timestamp: "TS"
        case .base64(let bytes):
            bytes.count == 1 ? "b(\(bytes.lowerBound))" : "b(\(bytes.lowerBound)..\(bytes.upperBound.grouped))"
        case .integer(let range):
            range.upperBound == .max
                ? "integer, at least \(range.lowerBound)"
                : "integer, \(range.lowerBound)..\(Int(range.upperBound).grouped)"
        case .bool: "boolean"
        case .text(let count): "text(\(count.lowerBound)..\(count.upperBound.grouped))"
        case .digits(let count): "\(count.lowerBound)..\(count.upperBound) digits"
        case .choice(let words): words.map { "`\($0)`" }.joined(separator: " ")
        case .object: "object"
        case .array(let element, let count):
            "list of \(element.words)" + (count.upperBound == .max ? "" : ", \(count.lowerBound)..\(count.upperBound)")
        case .reactions:
            "object: at most \(Limits.reactionsMax) members, text(1..32) → list of WID, 0..\(Limits.reactionIdentitiesMax)"
        }
    }
}

extension Int {
    /// With commas between thousands.
    var grouped: String {
        let digits = Array(String(self))
        return String(
            digits.indices.flatMap { index in
                index > 0 && (digits.count - index) % 3 == 0 ? [",", digits[index]] : [digits[index]]
            })
    }
}
