/// A session token as clients get it, in `register_ack` and `session_refresh_ack` (contract §4).
package struct SessionGrant: Sendable {
    package let token: String
    package let expiresAt: Timestamp
    package let serverTime: Timestamp
    /// `nil`: the rates are everybody's.
    package let rateClass: RateClassName?

    private static let token = TypedField.text(
        "sessionToken", Limits.sessionTokenCharacters,
        about: "Opaque: `A-Z a-z 0-9 _ -`. Goes into every later payload.")
    private static let expiresAt = TypedField.timestamp("sessionExpiresAt")
    private static let serverTime = TypedField.timestamp("serverTime")
    private static let rateClass = TypedField.text(
        "rateClass", Limits.rateClassCharacters,
        about: "The identity's class of rates. Absent: its rates are everybody's."
    ).optional

    static let fields = [Self.token.field, Self.expiresAt.field, Self.serverTime.field, Self.rateClass.field]

    package init(token: String, expiresAt: Timestamp, serverTime: Timestamp, rateClass: RateClassName? = nil) {
        self.token = token
        self.expiresAt = expiresAt
        self.serverTime = serverTime
        self.rateClass = rateClass
    }

    init(_ payload: Payload) throws(Payload.Corrupted) {
        self.token = try payload[Self.token]
        self.expiresAt = try payload[Self.expiresAt]
        self.serverTime = try payload[Self.serverTime]
        self.rateClass = try payload[Self.rateClass].flatMap { RateClassName($0) }
    }

    func write(to json: inout JSONWriter) {
        json.add(Self.token, self.token)
        json.add(Self.expiresAt, self.expiresAt)
        json.add(Self.serverTime, self.serverTime)
        json.add(Self.rateClass, self.rateClass?.description)
    }
}

extension CommonFields {
    /// For answers that have nothing else to say. A failure is an `error`.
    static let success = TypedField.bool("success", about: "Always `true`.")
}
