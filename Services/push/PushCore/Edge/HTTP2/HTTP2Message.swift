package import Contract
import Glibc

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

    /// How long the server asks to wait, a day at most: seconds, or a date, counted from the server's own if it names it (RFC 9110
    /// §10.2.3). Nil if it says nothing that can be understood, or names a time that is over.
    package var retryAfter: Duration? {
        guard let value = self.header("retry-after") else { return nil }
        let now = self.header("date").flatMap(Self.seconds(ofDate:)) ?? time(nil)
        guard let wait = Int(value) ?? Self.seconds(ofDate: value).map({ $0 - now }), wait >= 0 else { return nil }
        return .seconds(min(wait, 86_400))
    }

    /// - Parameter date: in the one form that may still be sent (IMF-fixdate, RFC 9110 §5.6.7).
    private static func seconds(ofDate date: String) -> Int? {
        let words = date.split(separator: " ")
        guard words.count == 6, words[5] == "GMT", let month = Self.months.firstIndex(where: { $0 == words[2] }),
            let day = Int(words[1]), let year = Int(words[3]), (1...31).contains(day), (1970...9999).contains(year)
        else { return nil }
        let clock = words[4].split(separator: ":").compactMap { Int($0) }
        guard clock.count == 3, clock.allSatisfy({ (0...60).contains($0) }) else { return nil }
        let time = CivilTime(
            year: year, month: month + 1, day: day, hour: clock[0], minute: clock[1], second: clock[2])
        return Int(time.seconds)
    }

    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
}

package enum HTTP2Error: Error, Equatable {
    /// There is no connection, or it ended before the answer. The request was perhaps processed.
    case unavailable
    /// No answer within the request's time. The request was perhaps processed.
    case timedOut
    /// Too many requests are under way already (`HTTP2Limits`), none of the streams of a peer that answers became free in the request's
    /// time, or too many names are looked up. Nothing was sent.
    case full
}

package enum HTTP2Limits {
    /// Requests under way on one connection, if the peer allows as many.
    package static let streamsMax = 1_024
    /// Requests that wait for a stream or a connection.
    package static let waitingMax = 4_096
    /// Requests under way that give way to others, such as mail's wake-ups to those of calls: two rounds of them (`PushLimits.takeMax`) and some
    /// slow ones. Less than `streamsMax`, so that the others find a stream at a peer that allows as many.
    package static let givingWayMax = 640
    /// Times that a request is sent again because its connection ended, or the peer refused the stream.
    package static let resendsMax = 1
    /// From the look-up of the name to the peer's SETTINGS.
    package static let connectMax = Duration.seconds(5)
    /// Names chosen by clients that are looked up at a time, each in a thread of its own. The system lets one wait for 10 s and
    /// more if its name servers do not answer.
    package static let lookUpsMax = 16
    /// The part of these for names that were never found before. Made-up names cannot hold up push services that people
    /// use.
    package static let newNamesMax = 8
    /// Names that were found, and are remembered as such.
    package static let namesRememberedMax = 4_096
    /// Between attempts to connect. A connection that ended without an answer has failed too.
    package static let reconnect = Backoff(first: .milliseconds(250), longest: .seconds(30))
    /// Between two PINGs; a connection whose PING has no answer when the next is due is given up.
    package static let pingEvery = Duration.seconds(20)
    /// Body bytes of one answer; the stream of a longer one is reset.
    package static let answerBytesMax = 64 * 1_024
    /// Header bytes of one answer.
    package static let answerHeaderBytesMax = 16 * 1_024
}
