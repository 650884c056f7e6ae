package import NIOCore

/// The way to the server, as the engine needs it. Tests script it; `NetworkLink` is the real one.
package protocol ServerLink: FileLink {
    /// Opens a WebSocket.
    func open() async throws(LinkError) -> any OpenLink
    /// One HTTP request with `Authorization: Bearer`.
    func get(_ path: String, bearer: String) async throws(LinkError) -> HTTPAnswer
    /// The same with a body of JSON.
    /// - Parameter condition: if it is not so, the answer is 412, and nothing is written.
    func put(
        _ path: String, _ body: [UInt8], if condition: WriteCondition?, bearer: String
    ) async throws(LinkError) -> HTTPAnswer
    /// One HTTP request with a body of JSON.
    /// - Parameter bearer: `nil` for what anybody may ask.
    func post(_ path: String, _ body: [UInt8], bearer: String?) async throws(LinkError) -> HTTPAnswer
    func delete(_ path: String, bearer: String) async throws(LinkError) -> HTTPAnswer
}

/// Condition for a `PUT` to write.
package enum WriteCondition: Hashable, Sendable {
    /// The stored object has this `ETag`.
    case matches(String)
    /// Nothing is stored there.
    case isNew
}

/// One open WebSocket.
package protocol OpenLink: Sendable {
    /// Events of the WebSocket, in order. The last element is `.closed`. For one reader.
    var events: AsyncStream<LinkEvent> { get }
    /// Writes a text message without waiting. A loss shows as `.closed`.
    func send(_ text: [UInt8])
    /// Says goodbye and closes. Doing it twice is harmless.
    func close()
}

package enum LinkEvent: Sendable, Equatable {
    case text([UInt8])
    /// A ping or pong of the WebSocket itself: the peer lives.
    case alive
    /// The end. No code when the connection just broke.
    case closed(code: UInt16?, reason: String)
}

package struct HTTPAnswer: Sendable, Equatable {
    package var status: Int
    package var body: [UInt8]
    /// The header `ETag`.
    package var entityTag: String?

    package init(status: Int, body: [UInt8], entityTag: String? = nil) {
        self.status = status
        self.body = body
        self.entityTag = entityTag
    }
}

package enum LinkError: Error, Equatable {
    /// Nobody answers there, or TLS failed. The text is for people.
    case unreachable(String)
    /// Somebody answers, but does not speak WebSocket on `/ws`, or refuses the upgrade.
    case noUpgrade
    /// No answer in time.
    case timeout
}

package enum LinkLimits {
    /// Largest message taken from the server, in bytes: a full page and some air.
    package static let messageBytesMax = 1_048_576
    /// Frames of one fragmented message.
    package static let fragmentsMax = 256
    /// Messages waiting for the engine. Past it the link closes: unacknowledged mail is still at the server.
    package static let eventsWaitingMax = 4_096
    /// The longest answer over HTTP. An export with full lists may have so much.
    package static let httpBodyBytesMax = 16_777_216
    package static let connectTimeout = TimeAmount.seconds(5)
    /// For an answer, or for each portion of a long one.
    package static let answerTimeout = TimeAmount.seconds(10)
    package static let portionBytes = 65_536
    /// A file of which nothing moves for so long is given up.
    package static let fileIdleTimeout = TimeAmount.seconds(30)
}
