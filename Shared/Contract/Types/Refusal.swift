/// An error for the client.
package struct Refusal: Error, Hashable, Sendable {
    package var code: ErrorCode
    /// For people; never repeats a value that the client sent.
    package var message: String
    /// RATE_LIMITED, and USER_BANNED where the ban's end is known.
    package var retryAfterMilliseconds: Int64?
    /// No refusal has both a reason and a time to wait.
    package var reason: RefusalReason?

    package init(_ code: ErrorCode, _ message: String, retryAfterMilliseconds: Int64? = nil) {
        self.code = code
        self.message = message
        self.retryAfterMilliseconds = retryAfterMilliseconds
    }

    package init(_ code: ErrorCode, _ reason: RefusalReason, _ message: String) {
        self.code = code
        self.message = message
        self.reason = reason
    }
}
