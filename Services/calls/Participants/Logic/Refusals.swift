package import Contract

extension Refusal {
    package static let badSignature = Refusal(.authFailed, "invalid signature")
    package static let untimely = Refusal(
        .invalidTimestamp, "the timestamp is more than 10 minutes from the server's time")
    /// The frame's payload could not be decoded. Only a bug can be the cause.
    package static let corrupted = Refusal(.internalError, "the frame could not be read; safe to retry")
    package static let foreignFrame = Refusal(.internalError, "not a frame of this service")
}
