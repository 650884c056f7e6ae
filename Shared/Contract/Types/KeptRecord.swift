/// One kind of record that a server keeps: where, how long, and what ends it (contract §20.9).
///
/// `docs/retention.md`, `GET /admin/retention`, the operators' page and the times of `GET /server` follow from these rows.
package struct KeptRecord: Sendable {
    /// The setting that changes the time.
    package struct Setting: Sendable {
        /// As it stands in the environment.
        package let name: String
        package let least, most: Duration
    }

    /// For programs.
    package let name: String
    package let about: String
    /// Tables, and beginnings of keys in Redis behind `redis:`.
    package let places: [String]
    /// The event that the time counts from; without a time, the one that ends the record.
    package let until: String
    /// Without a setting, or with its default.
    package let usual: Duration?
    package let setting: Setting?
    /// When the record goes with a person or guest who is erased (contract §20.3). `nil`: it is about nobody.
    package let erased: String?
    /// Service, and the file of its code.
    package let enforcedBy: String

    private init(
        _ name: String, _ about: String, in places: String = "", until: String, _ usual: Duration? = nil,
        setting: Setting? = nil, erased: String? = Self.soon, by enforcedBy: String
    ) {
        self.name = name
        self.about = about
        self.places = places.split(separator: " ").map(String.init)
        self.until = until
        self.usual = usual
        self.setting = setting
        self.erased = erased
        self.enforcedBy = enforcedBy
    }

    private static let atOnce = "at once"
    private static let soon = "within two minutes"
    private static let files =
        "within ten minutes; a file that others may fetch loses its uploader's name, or is withdrawn"
    private static let byAge = "by age alone"

    private static func setting(_ name: String, _ seconds: ClosedRange<Int64>) -> Setting {
        Setting(name: name, least: .seconds(seconds.lowerBound), most: .seconds(seconds.upperBound))
    }

    private static func days(_ name: String, _ days: ClosedRange<Int64>) -> Setting {
        Self.setting(name, days.lowerBound * 86_400...days.upperBound * 86_400)
    }

    package static let mail = KeptRecord(
        "mail", "Mail that its recipient has not acknowledged, and news about it for its sender.",
        in: "router.mailbox router.outcomes redis:mailbox redis:wakes", until: "after it was accepted, or its receipt",
        Limits.pendingTTL,
        setting: Self.setting("PENDING_TTL_SECONDS", 1...Limits.pendingTTLMax.components.seconds),
        erased: "mail to the person within two minutes; mail of theirs with its receipt, or withdrawn",
        by: "router: Router+Sweeps")
    package static let ledger = KeptRecord(
        "ledger", "Sender, recipient, time and status of each message. Days go whole, after 16 days at most.",
        in: "router.ledger router.ledger_days", until: "after the message was accepted", Limits.ledgerTTL,
        erased: "within a day", by: "router: LedgerTable")
    package static let guests = KeptRecord(
        "guests", "Keys of guests. A banned guest stays as long as the ban.", in: "auth.guests redis:guest",
        until: "after it was last seen", Limits.guestTTL, setting: Self.days("GUEST_DAYS", 1...90),
        erased: Self.atOnce, by: "auth: GuestTable")
    /// Without the setting nobody is erased for being away.
    package static let inactive = KeptRecord(
        "inactive",
        "Identities that do not log in, with all that is theirs. Banned ones stay. Since when the setting holds.",
        in: "auth.identities auth.inactivity", until: "after the last login or renewal, and a day of notice",
        setting: Self.days("INACTIVE_DAYS", Limits.inactiveDays), by: "auth: InactivitySweep")
    package static let profiles = KeptRecord(
        "profiles", "Profiles, their devices and their sealed documents.",
        in: "auth.profiles auth.profile_members auth.profile_documents",
        until: "after a member last used it, or its last member left", Limits.profileTTL,
        setting: Self.setting("PROFILE_LIFE_SECONDS", 1...315_360_000),
        erased: "at once, if no other device has the profile", by: "auth: ProfileTable")
    package static let reports = KeptRecord(
        "reports", "Reports. One that nobody reviews stays.", in: "auth.reports", until: "after the review",
        .seconds(400 * 86_400),
        setting: Self.setting("REPORTS_LIFE_SECONDS", 1...315_360_000),
        erased: "at once; reports by the person stay without name and note", by: "auth: RecordSweep")
    package static let evidence = KeptRecord(
        "evidence", "The message that a report shows, until a review at least.", in: "auth.reports",
        until: "after the review",
        .seconds(30 * 86_400), setting: Self.setting("REPORTS_EVIDENCE_SECONDS", 1...315_360_000),
        erased: Self.atOnce, by: "auth: RecordSweep")
    package static let audit = KeptRecord(
        "audit", "The record of what operators and bans did.", in: "auth.audit_events", until: "after the event",
        .seconds(400 * 86_400), setting: Self.days("AUDIT_DAYS", 30...3_650),
        erased: "names and notes at once; the events stay", by: "auth: RecordSweep")
    package static let consoleSessions = KeptRecord(
        "consoleSessions", "Browsers that are signed in at the console.", in: "auth.console_sessions",
        until: "after signing in, or signing out", .seconds(4 * 3_600), erased: nil, by: "auth: ConsoleSessionTable")
    package static let endedInvitations = KeptRecord(
        "invitations", "Invitations. No row says who has come in with one.", in: "auth.invitations",
        until: "after its end", .seconds(30 * 86_400), erased: nil, by: "auth: RegistrationDoor")
    package static let erasures = KeptRecord(
        "erasures", "Erasures. A finished one names nobody.", in: "auth.erasures", until: "after the decision",
        .seconds(400 * 86_400), erased: "the name with the last part", by: "auth: ErasureTable")
    package static let lastPush = KeptRecord(
        "wakeUps", "The last wake-up of each identity.", in: "push.recipients", until: "after the last try",
        .seconds(14 * 86_400), by: "push: RecipientTable")
    package static let deadLetters = KeptRecord(
        "deadLetters", "Failed pushes.", in: "push.dead_letters", until: "after they failed",
        .seconds(30 * 86_400), setting: Self.days("DEAD_LETTER_DAYS", 1...3_650), by: "push: RecipientTable")
    package static let backups = KeptRecord(
        "backups", "Backups of the database, and the log between them.", until: "after it was made, and one interval",
        .seconds(30 * 86_400), setting: Self.days("BACKUP_KEEP_DAYS", 1...3_650), erased: Self.byAge,
        by: "backup: whisper-backup")

    private static let people: [KeptRecord] = [
        KeptRecord(
            "identities",
            "Keys, device, push tokens with their secret, sealed backup of the contacts, times of additions to groups.",
            in: "auth.identities auth.devices auth.contact_backups router.group_quotas",
            until: "the person leaves or is erased",
            erased: "at once; additions to groups within two minutes", by: "auth: ErasureDecision"),
        Self.inactive,
        KeptRecord(
            "sessions", "Digests of tokens.", in: "auth.sessions redis:session", until: "after the login or renewal",
            Limits.sessionTTL, erased: Self.atOnce, by: "auth: SessionTable"),
        KeptRecord(
            "bans", "Bans of identities and guests.", in: "auth.bans auth.guest_bans",
            until: "its end, or an operator lifts it", erased: Self.atOnce, by: "auth: BanTable"),
        Self.guests, Self.profiles, Self.reports, Self.evidence, Self.audit, Self.consoleSessions,
        Self.endedInvitations,
        KeptRecord(
            "registration", "The operators' choice of who may register.", in: "auth.registration",
            until: "another choice", erased: nil, by: "auth: DoorTable"),
        Self.erasures,
        KeptRecord(
            "tombstones", "Digests of ids and keys that nobody may have again. They name nobody.",
            in: "auth.tombstones", until: "never", erased: "never", by: "auth: Tombstones"),
    ]

    private static let messages: [KeptRecord] = [
        Self.mail, Self.ledger,
        KeptRecord(
            "groups", "Groups and their members.",
            in: "router.groups router.group_members redis:groups",
            until: "the last member leaves", by: "router: GroupTable"),
        KeptRecord(
            "groupEvents", "Changes of groups that a member has not heard.",
            in: "router.group_events router.group_news", until: "after the change, or when all have heard",
            Limits.groupEventTTL, setting: Self.setting("GROUP_EVENT_TTL_SECONDS", 1...31_536_000),
            by: "router: GroupNewsTable"),
        KeptRecord(
            "peers", "Pairs of people, one of whom has written to the other.", in: "router.peers",
            until: "after the last message",
            .seconds(31 * 86_400), by: "router: PeersTable"),
        KeptRecord(
            "fullMailboxes", "Mailboxes that are nearly full.", in: "router.full_mailboxes",
            until: "after it was last seen full", .seconds(3_600), by: "router: FullMailboxesTable"),
        KeptRecord(
            "strangerBytes", "How much strangers keep, all together. The numbers name nobody.",
            in: "auth.stranger_bytes router.stranger_bytes attachments.stranger_bytes calls.stranger_bytes",
            until: "the next count", erased: nil, by: "router: StrangerBytesTable"),
        Self.lastPush, Self.deadLetters,
        KeptRecord(
            "unlinkedFiles", "Sealed files that no message points to.",
            in: "attachments.attachments attachments.links", until: "after the upload", .seconds(86_400),
            setting: Self.setting("GC_UNLINKED_SECONDS", 1...2_592_000), erased: Self.files,
            by: "attachments: Collector"),
        KeptRecord(
            "receivedFiles", "Sealed files whose messages are all acknowledged.",
            in: "attachments.attachments attachments.links", until: "after the last acknowledgement",
            .seconds(7 * 86_400), setting: Self.setting("GC_ACKNOWLEDGED_SECONDS", 1...31_536_000),
            erased: Self.files, by: "attachments: Collector"),
        KeptRecord(
            "files", "All sealed files.", in: "attachments.attachments attachments.links", until: "after the upload",
            .seconds(30 * 86_400), setting: Self.setting("GC_LIFE_SECONDS", 1...31_536_000),
            erased: Self.files, by: "attachments: Collector"),
    ]

    private static let live: [KeptRecord] = [
        KeptRecord(
            "calls", "Calls that ring or last. An answered one is forgotten after 12 hours, even if nobody ends it.",
            in: "calls.calls calls.parcels calls.lines calls.rings redis:call redis:callwake redis:calls redis:engaged",
            until: "after its end", .seconds(60), by: "calls: CallTable"),
        KeptRecord(
            "relayKeys", "Keys of the pseudonyms at relays.", in: "calls.relay_keys", until: "its hour is over",
            erased: nil, by: "calls: RelayKeyTable"),
        KeptRecord(
            "conversations", "Live conversations and their streams, without what is typed.",
            in: "calls.conversations calls.streams redis:live",
            until: "after the last stream, or its profile goes", LiveLimits.conversationTTL, by: "calls: LiveTable"),
        KeptRecord(
            "listeners", "Listeners of live conversations. Blocked ones stay as long as the conversation.",
            in: "calls.listeners", until: "after it last joined",
            LiveLimits.listenerTTL, by: "calls: LiveTable"),
        KeptRecord(
            "transcripts", "Sealed lines that a whisperer keeps, and links to them. The whisperer chooses the days.",
            in: "calls.transcripts calls.transcript_lines calls.transcript_shares calls.kept_bytes",
            until: "after the stream, at most", .seconds(365 * 86_400),
            setting: Self.days("TRANSCRIPT_DAYS_MAX", 1...365), by: "calls: TranscriptTable"),
        KeptRecord(
            "rooms", "Rooms and who has a seat. A room of guests alone goes after a day.",
            in: "calls.rooms calls.room_participants calls.room_barred redis:rooms",
            until: "after somebody was last connected", RoomLimits.roomTTL, by: "calls: RoomTable"),
        KeptRecord(
            "roomCodes", "Codes of rooms, and wrong tries of the last minutes.",
            in: "calls.room_codes calls.room_misses", until: "after the code was retired", .seconds(86_400),
            erased: nil, by: "calls: RoomCodeTable"),
    ]

    private static let passing: [KeptRecord] = [
        KeptRecord(
            "presence", "Connections of identities and guests.", in: "redis:presence",
            until: "after the last sign of life",
            .seconds(180), erased: Self.atOnce, by: "gateway: Gateway+Housekeeping"),
        KeptRecord(
            "requests", "Questions to auth, challenges, and push tokens that a provider has rejected.",
            in: "redis:auth redis:challenge redis:rejected-tokens", until: "its answer; a challenge after",
            Limits.erasureChallengeTTL, erased: Self.byAge, by: "auth: RequestConsumer"),
        KeptRecord(
            "rates", "How much somebody has used of a rate.", in: "redis:ratelimit",
            until: "the rate is unused again, within a day", .seconds(86_400), erased: Self.byAge,
            by: "gateway: RateGate"),
        Self.backups,
        KeptRecord(
            "logs",
            "Logs of the services. They have ids, and never contents. The packages keep 14 days, containers 100 MB of each.",
            until: "as the machine's own log is kept", erased: Self.byAge,
            by: "debian: journald@whisper.conf"),
    ]

    package static let all = Self.people + Self.messages + Self.live + Self.passing
}
