/// Registration and invitations, as operators set them (contract §20.6).
package enum DoorOperations {
    private static let mode = TypedField<RegistrationMode>.choice("mode")
    private static let why = TypedField.text("reason", Limits.banReasonCharacters)
    private static let label = TypedField.text(
        "label", Limits.invitationLabelCharacters, about: "For operators: whom or what it is for."
    ).optional
    private static let rateClass = TypedField.text(
        "rateClass", Limits.rateClassCharacters, about: "Class of rates of those who come in with it."
    ).optional
    private static let success = HTTPOperation.Success.json(
        ObjectSchema([Field("success", .bool, about: "Always `true`.")]), sample: #"{"success":true}"#)
    private static let invalid = HTTPOperation.Failure(.invalidPayload, "The body is not valid.")
    private static let state = ObjectSchema([
        Self.mode.field, Field("isDefault", .bool, about: "It is what the setting REGISTRATION says."),
        Field("changedAt", .timestamp, .optional),
    ])
    private static let uses = FieldType.integer(0...Limits.invitationUses.upperBound)

    package struct SetRegistration: HTTPBody {
        package let mode: RegistrationMode
        package let reason: String

        package static let schema = ObjectSchema([DoorOperations.mode.field, DoorOperations.why.field])

        package init(_ payload: Payload) throws(Payload.Corrupted) {
            self.mode = try payload[DoorOperations.mode]
            self.reason = try payload[DoorOperations.why]
        }
    }

    package struct Invite: HTTPBody {
        package let uses: Int64
        package let life: Duration
        package let label: String?
        package let rateClass: String?

        private static let uses = TypedField.integer("uses", Limits.invitationUses, about: "Default 1.").optional
        private static let life = TypedField.integer(
            "expiresInSeconds", Limits.invitationLifeSeconds, about: "Default: 7 days."
        ).optional

        package static let schema = ObjectSchema([
            Self.uses.field, Self.life.field, DoorOperations.label.field, DoorOperations.rateClass.field,
        ])

        package init(_ payload: Payload) throws(Payload.Corrupted) {
            self.uses = try payload[Self.uses] ?? 1
            self.life = .seconds(try payload[Self.life] ?? Limits.invitationLifeSecondsUsual)
            self.label = try payload[DoorOperations.label]
            self.rateClass = try payload[DoorOperations.rateClass]
        }
    }

    /// The body of `invite`.
    package struct InviteOne: HTTPBody {
        package let life: Duration

        private static let life = TypedField.integer(
            "expiresInSeconds", Limits.invitationLifeSeconds, about: "Default: 7 days."
        ).optional

        package static let schema = ObjectSchema(CommonFields.versions + [Self.life.field])

        package init(_ payload: Payload) throws(Payload.Corrupted) {
            self.life = .seconds(try payload[Self.life] ?? Limits.invitationLifeSecondsUsual)
        }
    }

    /// The body of `uninvite`.
    package struct Uninvite: HTTPBody {
        package let token: String

        private static let token = TypedField.text(
            "token", InvitationToken.characters, about: "Base64url. Its holder may revoke the invitation.")

        package static let schema = ObjectSchema(CommonFields.versions + [Self.token.field])

        package init(_ payload: Payload) throws(Payload.Corrupted) {
            self.token = try payload[Self.token]
        }
    }

    private static let invitation = ObjectSchema([
        Field("invitationId", .uuid), Field("usesLeft", Self.uses), Field("usesMax", Self.uses),
        Field("expiresAt", .timestamp), Field("revokedAt", .timestamp, .optional), Self.label.field,
        Self.rateClass.field, Field("createdAt", .timestamp),
        Field("byIdentity", .bool, about: "Somebody has made it, and no operator."),
    ])

    /// For people (contract §20.6).
    private static let ofPeople = [
        HTTPOperation(
            "invite", .post, "/invitations",
            about: """
                Makes an invitation for one person, by whoever is logged in. Its token is told here, and never again. An identity makes \
                as many in a day as the server's operators allow, which may be none. It may expire sooner than was asked for.
                """,
            request: (InviteOne.schema, #"{"protocolVersion":1,"cryptoVersion":1,"expiresInSeconds":86400}"#),
            success: .json(
                ObjectSchema([Field("token", .text(InvitationToken.characters)), Field("expiresAt", .timestamp)]),
                sample: #"{"token":"AAECAwQFBgcICQoLDA0ODw","expiresAt":1730604800000}"#),
            failures: [
                Self.invalid,
                .init(
                    .forbidden,
                    """
                    People make no invitations on this server, or \(Limits.peoplesInvitationsMax) of theirs are open already, or \
                    \(Limits.openInvitationsMax) of all.
                    """),
                .init(.rateLimited, "The day's invitations are used up, or the counters are away."),
            ]),
        HTTPOperation(
            "uninvite", .post, "/invitations/revoke",
            about: """
                Ends the invitation with this token, whoever has made it. The answer is the same for a token that is unknown. Identities that \
                came with it stay.
                """,
            rate: Rates.revocations,
            request: (
                Uninvite.schema, #"{"protocolVersion":1,"cryptoVersion":1,"token":"AAECAwQFBgcICQoLDA0ODw"}"#
            ),
            success: Self.success, failures: [Self.invalid]),
    ]

    package static let all = Self.ofPeople + Self.ofOperators

    private static let ofOperators = [
        HTTPOperation(
            "getRegistration", .get, "/admin/registration", about: "Whether somebody new may register.",
            origin: .operators, access: .viewer,
            success: .json(Self.state, sample: #"{"mode":"open","isDefault":true}"#)),
        HTTPOperation(
            "setRegistration", .put, "/admin/registration",
            about: """
                Opens or closes registration, or makes it need an invitation. It holds for every process from the answer on. \
                Identities that exist log in whatever it is.
                """,
            origin: .operators, access: .operator,
            request: (SetRegistration.schema, #"{"mode":"invited","reason":"a wave of spam"}"#),
            success: Self.success, failures: [Self.invalid]),
        HTTPOperation(
            "resetRegistration", .delete, "/admin/registration", about: "Goes back to the setting REGISTRATION.",
            origin: .operators, access: .operator, success: Self.success),
        HTTPOperation(
            "createInvitation", .post, "/admin/invitations",
            about: "Makes an invitation. Its token is told here, and never again: the server keeps a digest.",
            origin: .operators, access: .operator, rate: Rates.invitations,
            request: (Invite.schema, #"{"uses":5,"label":"the choir"}"#),
            success: .json(
                ObjectSchema([
                    Field("invitationId", .uuid), Field("token", .text(InvitationToken.characters)),
                    Field("expiresAt", .timestamp),
                ]),
                sample:
                    #"{"invitationId":"7e4f3f0a-2b0b-4b58-8f7e-6a5d0d1f9c21","token":"AAECAwQFBgcICQoLDA0ODw","expiresAt":1730604800000}"#
            ),
            failures: [
                .init(.invalidPayload, "The body is not valid, or the settings have no such class."),
                .init(
                    .forbidden,
                    """
                    \(Limits.openInvitationsMax) invitations are open already, or \(Limits.rateClassGrantsMax) identities and open uses \
                    have a class.
                    """),
            ]),
        HTTPOperation(
            "listInvitations", .get, "/admin/invitations",
            about: "Invitations, newest first, without their tokens. One that has ended is listed for 30 days more.",
            origin: .operators, access: .viewer,
            parameters: [
                .query("cursor", .text(Limits.cursorCharacters)), .query("limit", .integer(1...100)),
            ],
            success: .json(
                ObjectSchema([
                    Field("invitations", .array(of: .object(Self.invitation), count: 0...100)),
                    Field("nextCursor", .text(Limits.cursorCharacters), .optional, about: "Only when there is more."),
                ]),
                sample:
                    #"{"invitations":[{"invitationId":"7e4f3f0a-2b0b-4b58-8f7e-6a5d0d1f9c21","usesLeft":4,"usesMax":5,"expiresAt":1730604800000,"label":"the choir","createdAt":1730000000000,"byIdentity":false}]}"#
            ),
            failures: [.init(.invalidPayload, "A parameter is not valid.")]),
        HTTPOperation(
            "revokeInvitation", .delete, "/admin/invitations/{id}",
            about: "Ends an invitation. Identities that came with it stay. Doing it twice changes nothing.",
            origin: .operators, access: .operator, parameters: [.path("id", .uuid)], success: Self.success,
            failures: [
                .init(.invalidPayload, "Not an id."), .init(.notFound, "There is no such invitation."),
            ]),
    ]
}
