package import Contract
package import Telemetry

/// One wake-up for one device, as a provider is to send it. It carries no content and names nobody.
package struct Push: Equatable, Sendable {
    package enum Kind: Equatable, Sendable {
        /// Mail waits. A reminder says so again because the first wake-up has woken nobody: quietly, and without priority.
        case mail(isReminder: Bool)
        case call(isVideo: Bool)
        /// The call with the same wake id rings no longer.
        case callOver
        /// Somebody knocks at a live conversation (contract §14.7).
        case knock
        /// Others wait in a room (contract §15.1).
        case room

        /// The kind's name for the app and for operators.
        package var name: String {
            switch self {
            case .mail: "mail"
            case .call: "call"
            case .callOver: "callOver"
            case .knock: "knock"
            case .room: "room"
            }
        }
    }

    package var kind: Kind
    package var wakeID: UUIDText
    /// A push not delivered by then is worth nothing. In the past: now or never.
    package var expires: Timestamp
    /// By which the app knows its identity (`WakeSecret`). Nil: the identity has shown no secret.
    package var tag: String?
    /// The token is several identities'.
    package var isShared = false

    package init(kind: Kind, wakeID: UUIDText, expires: Timestamp) {
        self.kind = kind
        self.wakeID = wakeID
        self.expires = expires
    }

    /// Whether it says no more than any other wake-up of its kind. One for another identity of the phone says more.
    package var isLikeOthers: Bool { if case .mail = self.kind { !self.isShared } else { false } }

    /// Later wake-ups with the same key replace earlier ones that the device has not seen.
    package var collapseKey: String {
        self.isLikeOthers ? "mail" : "\(UUIDText(high: self.wakeID.high, low: self.wakeID.low))"
    }

    /// Whether the app is going to show something at once. Providers punish urgency without.
    package var isUrgent: Bool { self.kind != .mail(isReminder: true) }

    /// Whole seconds until it expires; 0 is now or never.
    package func secondsLeft(at now: Timestamp) -> Int64 {
        max(0, self.expires.milliseconds - now.milliseconds) / 1_000
    }

    /// The members of the payload that the app reads, as JSON.
    var facts: [UInt8] {
        var json = JSONWriter()
        json.add("wakeId", UUIDText(high: self.wakeID.high, low: self.wakeID.low))
        json.add("kind", self.kind.name)
        if case .call(let isVideo) = self.kind { json.add("video", isVideo) }
        json.add("tag", self.tag)
        return json.finished()
    }
}

/// A provider's answer to one push.
package enum PushAnswer: Equatable, Sendable {
    case sent
    /// The token is nobody's any more, unless the device has said something newer than `asOf`.
    case tokenGone(asOf: Timestamp)
    /// Not now. Try again, not before `after` if the provider says so.
    case later(PushResult, after: Duration?)
    /// Nothing was sent, because too much is under way there already. Try again; it is no failure of the provider.
    case busy
    /// The provider's access token of ours is too old: make another and try again at once. Providers answer it themselves;
    /// nobody outside sees it.
    case staleCredentials
    /// Never: the fault is ours.
    case refused

    /// As it is counted, and shown to operators.
    package var result: PushResult {
        switch self {
        case .sent: .sent
        case .tokenGone: .tokenGone
        case .later(let result, _): result
        case .busy: .throttled
        case .staleCredentials: .credentials
        case .refused: .refused
        }
    }
}
