import CallsCore
import ConversationsCore
import Participants
import ServiceRuntime

/// Everything the calls service is told from outside.
struct CallsSettings: ServiceSettings {
    let process = ProcessSettings()
    let http = ListenerSettings.publicHTTP
    let redis = RedisSettings()
    let postgres = PostgresSettings()
    let rates = RateSettings()
    let proxies = ProxySettings()
    let ringTime = Setting(
        "call.ring.seconds", .seconds(in: CallLimits.ringSeconds), default: "45", "How long a call rings.")
    let leaseInterval = Setting(
        "lease.interval.milliseconds", .integer(in: 50...1_000), default: "1000",
        "How often a process looks which shares of the work are its own. Less only for tests: each look costs a round trip."
    )
    let listenersMax = Setting(
        "live.listeners.max", .integer(in: 1...500), default: "500",
        "Listeners of one live conversation that may be admitted.")
    let waitingOfAddressMax = Setting(
        "live.waiting.address.max", .integer(in: 1...50), default: "10",
        "Listeners of one address (IPv6: its /64) that may wait to be admitted to one live conversation.")
    let streamsOfIdentityMax = Setting(
        "live.streams.identity.max", .integer(in: 1...10_000), default: "16",
        "Streams of live conversations that one identity began or resumed and that have not ended.")
    let streamsOfProfileMax = Setting(
        "live.streams.profile.max", .integer(in: 1...10_000), default: "32",
        "The same of all conversations of one profile.")
    let livePause = Setting(
        "live.pause.seconds", .seconds(in: 1...3_600), default: "15",
        "How long a whisperer without a connection is waited for, and a listener counts as joined.")
    let liveEnd = Setting(
        "live.end.seconds", .seconds(in: 1...604_800), default: "172800", "When a paused stream ends.")
    let transcriptDays = Setting(
        "transcript.days.max", .integer(in: 1...365), default: "365",
        "How long lines of live conversations may be kept, in days after the end of their stream.")
    let strangerLineBytes = Setting(
        "live.stranger.line.bytes.max", .integer(in: 1...1_000_000_000_000),
        default: "\(KeptBounds().strangerLineBytesMax)",
        "Bytes of lines that are kept of one identity without a peer, at most.")
    let profileLineBytes = Setting(
        "live.profile.line.bytes.max", .integer(in: 1...1_000_000_000_000),
        default: "\(KeptBounds().profileLineBytesMax)", "Bytes of lines that are kept of one profile, at most.")
    let profileShares = Setting(
        "live.profile.shares.max", .integer(in: 1...100_000), default: "\(KeptBounds().profileSharesMax)",
        "Shares of transcripts that one profile may have at a time.")
    let profileShareBytes = Setting(
        "live.profile.share.bytes.max", .integer(in: 1...1_000_000_000_000),
        default: "\(KeptBounds().profileShareBytesMax)", "Bytes of the shares of one profile, at most.")
    let strangers = StrangerSettings()
    let turnURLs = Setting("turn.urls", .relays, "The relays that clients are sent to.")
    let turnGuestURLs = Setting(
        optional: "turn.guest.urls", .relays,
        "The relays of guests. They know TURN_SECRET with `/guests` behind it. Without it, or the same as TURN_URLS, guests use those."
    )
    let turnSecret = Setting("turn.secret", .secret, "The relays' `static-auth-secret`.")
    let turnTTL = Setting(
        "turn.ttl.seconds", .seconds(in: 1...86_400), default: "43200", "How long credentials for the relays are good.")
}

extension Settings<CallsSettings> {
    func liveBounds() throws(SettingsError) -> LiveRules.LiveBounds {
        var bounds = LiveRules.LiveBounds()
        bounds.listenersMax = try self.listenersMax
        bounds.waitingOfAddressMax = try self.waitingOfAddressMax
        bounds.streamsOfIdentityMax = try self.streamsOfIdentityMax
        bounds.streamsOfProfileMax = try self.streamsOfProfileMax
        bounds.absenceMax = try self.livePause
        bounds.pauseMax = try self.liveEnd
        bounds.transcriptDaysMax = try self.transcriptDays
        return bounds
    }

    func keptBounds() throws(SettingsError) -> KeptBounds {
        // The room of one stranger is a part of its profile's.
        try self.require(\.strangerLineBytes, atMost: \.profileLineBytes)
        var bounds = KeptBounds()
        bounds.strangerLineBytesMax = try self.strangerLineBytes
        bounds.profileLineBytesMax = try self.profileLineBytes
        bounds.profileSharesMax = try self.profileShares
        bounds.profileShareBytesMax = try self.profileShareBytes
        bounds.strangersBytesMax = try self.strangers.bytes()
        return bounds
    }

    func configuration() throws(SettingsError) -> CallsConfiguration {
        // A caller gets its credentials before the call rings, and uses them when somebody answers.
        try self.require(\.ringTime, below: \.turnTTL)
        return CallsConfiguration(
            ringTime: try self.ringTime, leaseInterval: .milliseconds(try self.leaseInterval),
            turn: TurnConfiguration(
                urls: try self.turnURLs, guestURLs: try self.turnGuestURLs, secret: try self.turnSecret,
                ttl: try self.turnTTL),
            rates: try self.rates.table(), trustedProxies: try self.proxies.addresses())
    }
}

extension SettingParser<[String]> {
    fileprivate static var relays: SettingParser {
        SettingParser("1 to \(TurnConfiguration.urlsMax) of turn:… or turns:…, with commas between") {
            SettingParser.list.read($0).flatMap { try? TurnConfiguration.checked($0) }
        }
    }
}
