package import NIOCore

/// A request to a peer.
package struct PeerRequest: Sendable {
    package var method = ""
    package var scheme = ""
    package var authority = ""
    package var path = ""
    /// Names in lower case.
    package var headers: [String: String] = [:]
    package var body: [UInt8] = []
    /// Number of the connection that it came on, from 1.
    package var connection = 0

    package init(body: [UInt8] = [], connection: Int = 0) {
        self.body = body
        self.connection = connection
    }
}

/// A peer's reaction to a request.
package enum PeerReply: Sendable {
    case answer(status: Int, headers: [(String, String)] = [], body: String = "")
    /// Answers, and lets no further request onto this connection.
    case answerAndGoAway(status: Int)
    /// Ends the connection politely without having looked at this request.
    case goAway
    /// RST_STREAM with this code.
    case reset(UInt32)
    /// Closes the socket.
    case drop
    /// Says nothing, ever.
    case stall
    /// Says nothing until then, and answers with 200.
    case answerWhen(EventLoopFuture<Void>)
}
