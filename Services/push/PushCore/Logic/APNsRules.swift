package import Contract
package import ServerCrypto
import Telemetry

/// Apple's rules for requests and answers ("Sending notification requests to APNs", "Handling notification responses
/// from APNs", "Establishing a token-based connection to APNs").
package struct APNsRules: Sendable {
    /// The push type of mail.
    package enum MailType: String, CaseIterable, Sendable {
        /// Shows a line from the app's own texts, even if the user has ended the app. It also runs the app's
        /// notification service extension, which may fetch. A messenger needs this one.
        case alert
        /// Shows nothing and wakes the app alone. The system holds it back at its discretion ("two or three per hour"), and
        /// always after the user has ended the app.
        case background
    }

    /// The app's bundle id; with `.voip` behind it the topic of calls.
    package var topic: String
    package var mailType: MailType

    package init(topic: String, mailType: MailType = .alert) {
        self.topic = topic
        self.mailType = mailType
    }

    /// The app's texts (`Localizable.strings`) that an alert names.
    package static let mailText = "WHISPER_NEW_MESSAGE"
    package static let callText = "WHISPER_INCOMING_CALL"
    package static let knockText = "WHISPER_KNOCK"
    package static let roomText = "WHISPER_ROOM"

    /// - Parameters:
    ///   - isVoIP: the token is one of PushKit, which only takes calls.
    ///   - token: the device token as the app shows it, hexadecimal.
    /// - Returns: nil if it is no such token: nobody could have it.
    package func request(
        _ push: Push, to token: String, isVoIP: Bool, providerToken: String, at now: Timestamp
    ) -> HTTP2Request? {
        // It becomes a part of the path.
        guard (2...400).contains(token.utf8.count),
            token.utf8.allSatisfy({
                UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0
                    || UInt8(ascii: "a")...UInt8(ascii: "f") ~= $0 | 0x20
            })
        else { return nil }
        let type = self.type(of: push, isVoIP: isVoIP)
        // Background pushes with priority 10 are an error.
        let priority = type == "background" || !push.isUrgent ? "5" : "10"
        let seconds = push.secondsLeft(at: now)
        return HTTP2Request(
            path: "/3/device/\(token)",
            headers: [
                ("authorization", "bearer \(providerToken)"),
                ("apns-topic", isVoIP ? "\(self.topic).voip" : self.topic), ("apns-push-type", type),
                ("apns-priority", priority),
                ("apns-expiration", seconds == 0 ? "0" : "\(now.milliseconds / 1_000 + seconds)"),
                ("apns-collapse-id", push.collapseKey),
            ],
            body: self.payload(push, type: type))
    }

    private func type(of push: Push, isVoIP: Bool) -> String {
        switch push.kind {
        case _ where isVoIP: "voip"
        case .mail: self.mailType.rawValue
        // Without PushKit a call is a line on the screen, and its end takes the line's place.
        case .call, .callOver, .knock, .room: "alert"
        }
    }

    private static func text(of kind: Push.Kind) -> String {
        switch kind {
        case .mail: self.mailText
        case .call, .callOver: self.callText
        case .knock: self.knockText
        case .room: self.roomText
        }
    }

    private func payload(_ push: Push, type: String) -> [UInt8] {
        var aps = JSONWriter()
        switch type {
        case "alert":
            var alert = JSONWriter()
            alert.add("loc-key", Self.text(of: push.kind))
            aps.add("alert", json: alert.finished())
            aps.add("mutable-content", 1)
            // A reminder, and the end of a call, change what is shown without a sound.
            let isQuiet = push.kind == .mail(isReminder: true) || push.kind == .callOver
            if isQuiet { aps.add("interruption-level", "passive") } else { aps.add("sound", "default") }
        case "background": aps.add("content-available", 1)
        default: break
        }
        var json = JSONWriter()
        json.add("aps", json: aps.finished())
        json.add("w", json: push.facts)
        return json.finished()
    }

    /// - Parameter sentAt: when the request left: what a device has said since is newer.
    package static func answer(_ response: HTTP2Response, sentAt: Timestamp) -> PushAnswer {
        if response.status == 200 { return .sent }
        let body = JSONLeaves(response.body)
        let reason = body?["reason"] ?? ""
        switch response.status {
        case 400 where reason == "BadDeviceToken": return .tokenGone(asOf: sentAt)
        case 403 where reason == "ExpiredProviderToken": return .staleCredentials
        case 403: return .later(.credentials, after: nil)
        case 410:
            // Milliseconds; "the time at which APNs confirmed the token was no longer valid for the topic".
            let at = body?["timestamp"].flatMap { Int64($0) }.map { Timestamp(milliseconds: $0) }
            return .tokenGone(asOf: at ?? sentAt)
        case 429: return .later(.throttled, after: response.retryAfter)
        case 500...599: return .later(.unavailable, after: response.retryAfter)
        // 400 with another reason, 404, 405, 413: what we sent is wrong.
        default: return .refused
        }
    }

    /// The provider token: ES256 with the key's id, the team's id, and the time.
    package static func providerToken(keyID: String, teamID: String, key: P256PrivateKey, at now: Timestamp) -> String?
    {
        var header = JSONWriter()
        header.add("alg", "ES256")
        header.add("kid", keyID)
        var claims = JSONWriter()
        claims.add("iss", teamID)
        claims.add("iat", now.milliseconds / 1_000)
        return WebToken.make(header: header.finished(), claims: claims.finished(), sign: key.sign)
    }
}

/// Which provider token is used how long: one older than an hour is refused, and more than one in 20 minutes as well.
package struct ProviderTokenLife: Sendable {
    package static let renewAfter = Duration.seconds(40 * 60)
    package static let renewNotBefore = Duration.seconds(20 * 60)

    package private(set) var token: String?
    private var madeAt = Timestamp(milliseconds: 0)

    package init() {}

    /// Whether a new token has to be made before the next request.
    package func isDue(at now: Timestamp) -> Bool {
        // A clock that was set back makes tokens from the future.
        self.token == nil || now >= self.madeAt + Self.renewAfter || now < self.madeAt - .seconds(60)
    }

    package mutating func made(_ token: String, at now: Timestamp) {
        self.token = token
        self.madeAt = now
    }

    /// APNs says that `token` has expired. Another one in use by now is worth a try; so is a new one if that is allowed.
    package func mayReplace(_ token: String, at now: Timestamp) -> Bool {
        token == self.token && now >= self.madeAt + Self.renewNotBefore
    }
}
