import Contract

/// A frame that has passed schema and bucket.
struct ReceivedFrame {
    var definition: FrameDefinition
    var payload: Payload
    var requestID: String?
    /// Size of the whole message.
    var bytes: Int
    /// `nil` if it carries none, or what cannot be one.
    var token: ShownToken?
}
