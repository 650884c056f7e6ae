/// One POST.
package struct HTTP2Request: Sendable {
    /// Begins with a slash.
    package var path: String
    /// Names in lower case, without the pseudo-headers.
    package var headers: [(name: String, value: String)]
    package var body: [UInt8]

    package init(path: String, headers: [(name: String, value: String)], body: [UInt8]) {
        self.path = path
        self.headers = headers
        self.body = body
    }
}

package struct HTTP2Response: Sendable {
    package var status: Int
    package var headers: [(name: String, value: String)]
    package var body: [UInt8]

    package init(status: Int, headers: [(name: String, value: String)] = [], body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// The first value of a header; `name` in lower case.
    package func header(_ name: String) -> String? { self.headers.first { $0.name == name }?.value }

    /// How long the server asks to wait (RFC 9110 §10.2.3), if it says so in seconds. A date is not understood: whoever
    /// asks then waits as if there were none.
    package var retryAfter: Duration? {
        self.header("retry-after").flatMap { Int64($0) }.flatMap { $0 >= 0 ? .seconds(min($0, 86_400)) : nil }
    }
}

package enum HTTP2Error: Error, Equatable {
    /// There is no connection, or it ended before the answer. The request was perhaps processed.
    case unavailable
    /// No answer within the request's time. The request was perhaps processed.
    case timedOut
    /// Too many requests wait already (`HTTP2Limits.waitingMax`). Nothing was sent.
    case full
}

package enum HTTP2Limits {
    /// Requests under way on one connection, if the peer allows as many.
    package static let streamsMax = 512
    /// Requests that wait for a stream or a connection.
    package static let waitingMax = 4_096
    /// Times that a request is sent again because its connection ended, or the peer refused the stream.
    package static let resendsMax = 1
    /// From the first packet to the peer's SETTINGS.
    package static let connectMax = Duration.seconds(5)
    /// After a failed attempt to connect: the shortest and the longest pause before the next; it doubles.
    package static let pauseMin = Duration.milliseconds(250)
    package static let pauseMax = Duration.seconds(30)
    /// Between two PINGs; a connection whose PING has no answer when the next is due is given up.
    package static let pingEvery = Duration.seconds(20)
    /// Body bytes of one answer; the stream of a longer one is reset.
    package static let answerBytesMax = 64 * 1_024
    /// Header bytes of one answer.
    package static let answerHeaderBytesMax = 16 * 1_024
}
