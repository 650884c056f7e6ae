/// The route that describes a server to people before they register (contract §20.6).
package enum ServerOperations {
    /// Parts of the contract that are not of its first release, by name. Clients ignore names that they do not know.
    package static let features = ["invitations", "live", "profiles", "rooms", "transcripts"]

    /// The facts, as settings and operators decide them.
    package struct Facts: Equatable, Sendable {
        package var name: String
        package var registration: RegistrationMode
        package var hasGuests: Bool
        package var pendingHours, ledgerDays, backupDays: Int64
        /// `nil`: nobody is erased for being away.
        package var inactiveDays: Int64?
        package var keepsInviters: Bool
        package var contact, privacy: String?

        package init(
            name: String, registration: RegistrationMode, hasGuests: Bool, pendingHours: Int64, ledgerDays: Int64,
            backupDays: Int64, inactiveDays: Int64?, keepsInviters: Bool, contact: String?,
            privacy: String?
        ) {
            (self.name, self.registration, self.hasGuests) = (name, registration, hasGuests)
            (self.pendingHours, self.ledgerDays, self.backupDays) = (pendingHours, ledgerDays, backupDays)
            (self.inactiveDays, self.keepsInviters) = (inactiveDays, keepsInviters)
            (self.contact, self.privacy) = (contact, privacy)
        }

        package var json: [UInt8] {
            var retention = JSONWriter()
            retention.add("pendingHours", self.pendingHours)
            retention.add("ledgerDays", self.ledgerDays)
            retention.add("backupDays", self.backupDays)
            if let days = self.inactiveDays { retention.add("inactiveDays", days) }
            var json = JSONWriter()
            json.add("name", self.name)
            json.add("registration", self.registration.rawValue)
            json.add("guests", self.hasGuests)
            json.add("features", strings: ServerOperations.features)
            json.add("retention", json: retention.finished())
            json.add("invitationsKept", self.keepsInviters)
            json.add("operator", self.contact)
            json.add("privacy", self.privacy)
            return json.finished()
        }
    }

    private static let retention = ObjectSchema([
        Field("pendingHours", .integer(1...312), about: "How long mail waits for a recipient who does not come."),
        Field(
            "ledgerDays", .integer(1...14), about: "How long sender, recipient and time of a message are remembered."),
        Field("backupDays", .integer(1...3_650), about: "How long a backup of the database stays."),
        Field(
            "inactiveDays", .integer(Limits.inactiveDays), .optional,
            about: "Days without a login or renewal after which an identity is erased. Absent: never."),
    ])

    package static let server = HTTPOperation(
        "getServer", .get, "/server",
        about:
            "Describes the server: its operator, who may register, and how long it keeps mail, ledger and backups. No version, and no number of people.",
        access: .anybody, rate: Rates.server,
        success: .json(
            ObjectSchema([
                Field("name", .text(Limits.serverNameCharacters)),
                TypedField<RegistrationMode>.choice("registration").field,
                Field(
                    "guests", .bool,
                    about: "Whether guests may come: listeners and people in rooms without an identity."),
                Field(
                    "features", .array(of: .text(1...64), count: 0...64),
                    about: "Parts of the contract that are not of its first release."),
                Field("retention", .object(Self.retention)),
                Field(
                    "invitationsKept", .bool,
                    about:
                        "Whether the server keeps who has made an invitation. It never keeps who has come in with one."),
                Field("operator", .text(Limits.serverLinkCharacters), .optional, about: "`mailto:` or `https:`."),
                Field("privacy", .text(Limits.serverLinkCharacters), .optional, about: "A page, `https:`."),
            ]),
            sample:
                #"{"name":"Choir","registration":"invited","guests":true,"features":["invitations","live","profiles","rooms","transcripts"],"retention":{"pendingHours":72,"ledgerDays":14,"backupDays":30},"invitationsKept":false,"operator":"mailto:ann@example.org","privacy":"https://example.org/privacy"}"#
        ),
        headers: [("Cache-Control", "`max-age=60`.")])
}
