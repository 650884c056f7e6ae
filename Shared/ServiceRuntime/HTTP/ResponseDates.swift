import Glibc
import Synchronization

/// The value of the header `Date` (RFC 9110 §5.6.7). Made at most once a second, by the caller that needs it.
final class ResponseDates: Sendable {
    private let latest = Mutex<(second: time_t, text: String)>((-1, ""))

    var now: String {
        let second = time(nil)
        return self.latest.withLock { latest in
            if latest.second != second { latest = (second, Self.text(of: second)) }
            return latest.text
        }
    }

    static func text(of second: time_t) -> String {
        var second = second
        var parts = tm()
        gmtime_r(&second, &parts)
        // No process here sets another locale than C, in which these names are English.
        return String(unsafeUninitializedCapacity: 32) { buffer in
            buffer.withMemoryRebound(to: CChar.self) {
                strftime($0.baseAddress!, $0.count, "%a, %d %b %Y %H:%M:%S GMT", &parts)
            }
        }
    }
}
