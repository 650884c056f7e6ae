/// How often something may be done, and who is counted (contract §11).
package struct Rate: Sendable {
    package enum Subject: String, Sendable {
        case identity
        /// An identity or a guest.
        case principal
        /// IPv4, or the /64 of IPv6.
        case address
    }

    package enum Period: String, Sendable {
        case minute, hour, day

        package var minutes: Double {
            switch self {
            case .minute: 1
            case .hour: 60
            case .day: 1_440
            }
        }
    }

    /// As it stands in the key `ratelimit:{key}:{action}`.
    package let action: String
    /// Uses within `period`.
    package let uses: Int
    package let period: Period
    /// So much may be done at once by somebody at rest.
    package let burst: Int
    package let per: Subject
    /// While Redis is away: nobody may, or each process counts for itself.
    package let failsClosed: Bool

    init(
        _ action: String, _ uses: Int, a period: Period = .minute, burst: Int, per: Subject = .identity,
        failsClosed: Bool = false
    ) {
        self.action = action
        self.uses = uses
        self.period = period
        self.burst = burst
        self.per = per
        self.failsClosed = failsClosed
    }
}

/// Every rate that clients can run into. These are defaults: see `RateTable`.
package enum Rates {
    package static let register = Rate(
        "register", Limits.registerPerMinutePerAddress, burst: Limits.registerPerMinutePerAddress, per: .address,
        failsClosed: true)
    package static let guests = Rate("guest", 60, burst: 60, per: .address, failsClosed: true)
    package static let connections = Rate(
        "connect", Limits.newConnectionsPerMinutePerAddress, burst: Limits.newConnectionsPerMinutePerAddress,
        per: .address)
    package static let sendMessage = Rate("send_message", 120, burst: 120)
    package static let groupEnvelopes = Rate("group_send_message", 600, burst: 600)
    package static let receipts = Rate("delivery_receipt", 600, burst: 600)
    package static let fetchPending = Rate("fetch_pending", 60, burst: 60)
    /// `GET /mail`.
    package static let mailPeeks = Rate("mail_peek", 30, burst: 30)
    package static let mailPeeksOfAddress = Rate("mail_peek_address", 60, burst: 60, per: .address)
    package static let updateTokens = Rate("update_tokens", 10, burst: 10)
    package static let groups = Rate("groups", 20, burst: 20)
    package static let calls = Rate("calls", 20, burst: 20)
    package static let iceCandidates = Rate("call_ice_candidate", 300, burst: 300)
    package static let turnCredentials = Rate("get_turn_credentials", 20, burst: 20)
    package static let keys = Rate("keys", 60, burst: 60)
    package static let backup = Rate("backup", 20, burst: 20)
    package static let profiles = Rate("profiles", 120, burst: 120)
    package static let presign = Rate("presign", 60, burst: 60)
    package static let reports = Rate("report", 10, burst: 10)
    package static let ringing = Rate("ringing", 60, burst: 60)
    package static let sessionRefresh = Rate("session_refresh", 10, burst: 10)
    /// Beyond it the frame is dropped without a word (contract §13a).
    package static let typing = Rate("typing", 120, burst: 120)
    /// Control frames of whisperers.
    package static let liveControl = Rate("live_control", 120, burst: 120)
    /// A whisperer's client refuses by itself: those who knock must not use up what its user does (contract §13b).
    package static let liveRefusals = Rate("live_refuse", 600, burst: 600)
    package static let liveKnocks = Rate("live_knock", 10, burst: 10, per: .principal)
    package static let liveKnocksOfAddress = Rate("live_knock_address", 30, burst: 30, per: .address)
    package static let liveJoins = Rate("live_join", 30, burst: 30, per: .principal)
    /// Looks at a conversation over HTTP.
    package static let liveLooks = Rate("live_look", 60, burst: 60, per: .address)
    /// Transcripts and their shares, by members of the profile.
    package static let transcripts = Rate("transcripts", 120, burst: 120)
    /// Shared transcripts, read by anybody who has a link.
    package static let liveShares = Rate("live_share", 60, burst: 60, per: .address)
    /// Keystrokes of whisperers. Beyond it a packet is refused, and the next one must be a snapshot (contract §14.14).
    package static let livePackets = Rate("live_packet", 1_800, burst: 120)
    package static let liveResync = Rate("live_resync", 60, burst: 60, per: .principal)
    package static let liveAttention = Rate("live_attention", 6, burst: 6, per: .principal)
    /// Frames of rooms but signals.
    package static let roomControl = Rate("room_control", 60, burst: 60, per: .principal)
    /// Frames that draw a code (contract §13b).
    package static let roomCodes = Rate("room_code", 5, burst: 5, per: .principal)
    package static let roomSignals = Rate("room_signal", 600, burst: 300, per: .principal)
    package static let roomPokes = Rate("room_poke", 4, burst: 4, per: .principal)
    /// Joins by code, right or wrong (contract §15.3, §19.25). For each participant, and for each address.
    package static let roomGuesses = Rate("room_guess", 5, burst: 5, per: .principal, failsClosed: true)
    package static let roomGuessesOfAddress = Rate(
        "room_guess_address", 2, burst: 10, per: .address, failsClosed: true)
    /// Tokens that are nobody's, in frames and over HTTP (contract §13a).
    package static let unknownTokens = Rate("unknown_token", 60, burst: 60, per: .address)
    /// `GET /server`.
    package static let server = Rate("server", 60, burst: 60, per: .address, failsClosed: true)
    /// `account_delete_begin` and `account_delete` (contract §20.10).
    package static let account = Rate("account", 5, burst: 5, failsClosed: true)
    /// `GET /account/export` (contract §20.10).
    package static let accountExport = Rate("account_export", 2, a: .day, burst: 2, failsClosed: true)
    /// Exports that operators ask for, beside `admin` and counted as it is.
    package static let exports = Rate("exports", 10, a: .hour, burst: 10, per: .address, failsClosed: true)
    /// Invitations that operators make, beside `admin` and counted as it is.
    package static let invitations = Rate("invitations", 60, burst: 60, per: .address, failsClosed: true)
    /// Invitations that one identity makes, as INVITATIONS_PER_DAY says. Not among `all`: RATE_LIMITS does not change it.
    package static func invitations(perDay uses: Int) -> Rate {
        Rate("invite", uses, a: .day, burst: uses, failsClosed: true)
    }
    /// Revocations of invitations by their token.
    package static let revocations = Rate("uninvite", 20, burst: 20)
    /// Counted per role instead of per address: operators come through the same balancer. Wrong tokens are one role.
    package static let admin = Rate("admin", 600, burst: 600, per: .address, failsClosed: true)

    package static let all = [
        Self.register, Self.guests, Self.connections, Self.sendMessage, Self.groupEnvelopes, Self.receipts,
        Self.fetchPending, Self.mailPeeks, Self.mailPeeksOfAddress,
        Self.updateTokens, Self.groups, Self.calls, Self.iceCandidates, Self.turnCredentials, Self.keys, Self.backup,
        Self.presign, Self.reports, Self.admin, Self.ringing, Self.sessionRefresh, Self.typing, Self.unknownTokens,
        Self.profiles, Self.liveControl, Self.liveRefusals, Self.liveKnocks, Self.liveKnocksOfAddress, Self.liveJoins,
        Self.liveLooks,
        Self.transcripts, Self.liveShares,
        Self.livePackets, Self.liveResync, Self.liveAttention, Self.roomControl, Self.roomCodes, Self.roomSignals,
        Self.roomPokes,
        Self.roomGuesses, Self.roomGuessesOfAddress, Self.server, Self.invitations, Self.account,
        Self.accountExport, Self.exports, Self.revocations,
    ]
}
