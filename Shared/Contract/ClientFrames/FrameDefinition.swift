/// A frame that clients send: everything the cluster knows about it. Decoder, routing, limits, schema and documentation follow
/// from it. Each frame is one file, and one line in `FrameCatalogue`.
///
/// A class, because each frame that comes is passed on with it: a copy of all its fields would be many reference counts.
package final class FrameDefinition: Sendable {
    /// The process that handles the frame.
    package enum Route: Sendable {
        /// The gateway itself.
        case gateway
        /// The router that owns the partition of the identity named by this field.
        case mailbox(of: String)
        /// The router that owns the caller's own mailbox.
        case ownMailbox
        /// Any instance of a service, which reads the payload by the same schema.
        case service(ServiceName)
        /// The calls process that owns the share of the conversation, profile or room named by this field (`LiveShare`, `RoomShare`).
        case share(of: String)
        /// The calls process that owns the caller's own share.
        case ownShare
    }

    /// The kind of client that may send the frame, by the token that it carries.
    package enum Principal: Sendable {
        /// Anybody, without a token.
        case anybody
        /// An identity, by its `sessionToken`.
        case session
        /// A guest, by its `guestToken`.
        case guest
        /// An identity or a guest, by exactly one of `sessionToken` and `guestToken` (P of contract §14.2).
        case either
    }

    package let type: String
    /// The frame's meaning and effect, for people.
    package let about: String
    package let route: Route
    package let principal: Principal
    /// The service gets the token itself, because it derives something from it. Everywhere else it stays in the gateway.
    package let passesToken: Bool
    /// A field that may be guessed, and how often its presence is let through. Both rates are counted in Redis.
    package struct Guess: Sendable {
        package let field: String
        package let rate: Rate
        package let addressRate: Rate
    }

    /// How often it may come; `nil` if only the connection's own bucket counts it.
    package let rate: Rate?
    /// How often it may come from one address besides.
    package let addressRate: Rate?
    package let guess: Guess?
    package let schema: ObjectSchema
    /// The places of the tokens, of the sender and of whom it concerns, in frames that have them.
    package let sessionField: Int?
    package let guestField: Int?
    package let fromField: Int?
    package let toField: Int?
    /// The id whose share handles the frame (`Route.share`).
    package let shareField: Int?
    /// The field of `guess`.
    package let guessField: Int?
    /// Rules between fields, checked in this order after each field by itself.
    package let rules: [FrameRule]
    /// Errors that are this frame's own, and when. Errors that every frame of its kind can get are not repeated here.
    package let refusals: [(code: ErrorCode, when: String)]
    /// Valid payloads: examples in the documentation and seeds for tests. Tokens, keys and ciphertext are made up.
    package let samples: [String]

    private let checks: [FrameRule.Check]

    package init(
        _ type: String, about: String, route: Route, principal: Principal = .session, passesToken: Bool = false,
        rate: Rate? = nil, addressRate: Rate? = nil, guess: Guess? = nil, fields: [Field], rules: [FrameRule] = [],
        refusals: [(code: ErrorCode, when: String)] = [],
        samples: [String]
    ) {
        self.type = type
        self.about = about
        self.route = route
        self.principal = principal
        self.passesToken = passesToken
        self.rate = rate
        self.addressRate = addressRate
        self.guess = guess
        let schema = ObjectSchema(fields)
        self.schema = schema
        self.sessionField = schema.index(of: CommonFields.sessionToken)
        self.guestField = schema.index(of: CommonFields.guestToken)
        self.fromField = schema.index(of: CommonFields.from.field)
        self.toField = schema.index(of: CommonFields.to.field)
        self.shareField = if case .share(let name) = route { schema.place(name) } else { nil }
        self.guessField = guess.map { schema.place($0.field) }
        let tokens = [FrameRule.notBoth(CommonFields.sessionToken.name, CommonFields.guestToken.name)]
        self.rules = principal == .either ? tokens + rules : rules
        self.refusals = refusals
        self.samples = samples
        self.checks = self.rules.map { $0.check(in: schema) }
    }

    /// It is a message that a router accepts, or has accepted before.
    package var isAccepted: Bool {
        self.type == SendMessage.definition.type || self.type == GroupSendMessage.definition.type
    }

    /// It is about a room, or about all rooms of its sender.
    package var isOfRooms: Bool { Self.isOfRooms(self.type) }

    package static func isOfRooms(_ type: String) -> Bool { type.hasPrefix("room_") }

    /// The position of a field in the schema. It must be one of this frame's own.
    func place<Value>(_ field: TypedField<Value>) -> Int { self.schema.place(field.field.name) }

    /// The first rule between fields that the payload breaks.
    package func rule(_ payload: Payload) -> PayloadViolation? {
        for check in self.checks {
            if let violation = check(payload) { return violation }
        }
        return nil
    }
}

/// The services that answer frames.
package enum ServiceName: String, CaseIterable, Sendable {
    case gateway, auth, router, push, attachments, calls
}

/// Every frame that a client may send.
package enum FrameCatalogue {
    package static let frames: [any ClientFrame.Type] = [
        RegisterBegin.self,
        RegisterProof.self,
        GuestBegin.self,
        GuestProof.self,
        GuestForget.self,
        SessionRefresh.self,
        Logout.self,
        AccountDeleteBegin.self,
        AccountDelete.self,
        Ping.self,
        UpdateTokens.self,
        SendMessage.self,
        DeliveryReceipt.self,
        FetchPending.self,
        GroupCreate.self,
        GroupUpdate.self,
        GroupList.self,
        GroupSendMessage.self,
        Typing.self,
        Report.self,
        CallInitiate.self,
        CallAnswer.self,
        CallICECandidate.self,
        CallEnd.self,
        GetTurnCredentials.self,
        LiveCreate.self,
        LiveUpdate.self,
        LiveDelete.self,
        LiveList.self,
        LiveRosterQuery.self,
        LiveKnock.self,
        LiveGrant.self,
        LiveRefuse.self,
        LiveStart.self,
        LiveStop.self,
        LiveJoin.self,
        LiveLeave.self,
        SendLivePacket.self,
        LiveResync.self,
        SendLiveAttention.self,
        RoomCreate.self,
        RenewRoomCode.self,
        RoomJoin.self,
        SendRoomSignal.self,
        RoomUpdate.self,
        RoomRemove.self,
        RoomPoke.self,
        RoomLeave.self,
        RoomClose.self,
        RoomList.self,
        RoomPurge.self,
        RoomTurn.self,
    ]

    package static let all: [FrameDefinition] = Self.frames.map { $0.definition }

    private static let byType = Dictionary(uniqueKeysWithValues: Self.all.map { ($0.type, $0) })

    package static func definition(of type: String) -> FrameDefinition? { Self.byType[type] }
}
