/// "A room, please." Answered by `room_joined` (contract §15.1).
package struct RoomCreate: ClientFrame {
    package let room: UUIDText
    package let signPublicKey: Bytes32
    package let encPublicKey: Bytes32
    package let participantsMax: Int
    package let code: RoomCodeWish
    package let linkVerifier: Bytes32?

    private static let participantsMax = RoomFields.participantsMax.about(
        "Default: \(RoomLimits.participantsDefault)."
    ).optional
    private static let linkVerifier = LiveFields.linkVerifier.optional

    package static let definition = FrameDefinition(
        "room_create",
        about: """
            Creates a room with the caller as host and first participant. Sent again by its creator, it has the same answer and changes \
            nothing.
            """,
        route: .share(of: "roomId"), principal: .either, rate: Rates.roomCodes,
        fields: LiveFields.either + [
            RoomFields.room.field, LiveFields.signPublicKey.field, LiveFields.encPublicKey.field,
            Self.participantsMax.field,
        ] + RoomCodeWish.fields(ttl: RoomLimits.codeTTL) + [Self.linkVerifier.field],
        rules: [RoomCodeWish.rule],
        refusals: [
            (.authFailed, "The keys are not the caller's."),
            (
                .forbidden,
                """
                The room belongs to another participant, or the caller hosts \(RoomLimits.hostedByIdentityMax) rooms, \
                as a guest \(RoomLimits.hostedByGuestMax).
                """
            ),
        ],
        samples: [
            LiveFields.guestSample(RoomFields.sampleRoom + "," + LiveFields.sampleKeys),
            CommonFields.sample(
                RoomFields.sampleRoom + "," + LiveFields.sampleKeys
                    + #","participantsMax":4,"codeDigits":8,"codeTtlSeconds":3600,"pin":"4711","linkVerifier":"\#(LiveFields.sampleSecret)""#
            ),
        ])

    package init(
        _ room: UUIDText, signPublicKey: Bytes32, encPublicKey: Bytes32, participantsMax: Int, code: RoomCodeWish,
        linkVerifier: Bytes32?
    ) {
        (self.room, self.signPublicKey, self.encPublicKey) = (room, signPublicKey, encPublicKey)
        (self.participantsMax, self.code, self.linkVerifier) = (participantsMax, code, linkVerifier)
    }

    package init(_ payload: Payload) throws(Payload.Corrupted) {
        self.room = try payload[RoomFields.room]
        guard let sign = Bytes32(try payload[LiveFields.signPublicKey]),
            let enc = Bytes32(try payload[LiveFields.encPublicKey])
        else { throw Payload.Corrupted() }
        (self.signPublicKey, self.encPublicKey) = (sign, enc)
        self.participantsMax = Int(try payload[Self.participantsMax] ?? RoomLimits.participantsDefault)
        self.code = try RoomCodeWish(payload, ttl: RoomLimits.codeTTL)
        self.linkVerifier = try payload[Self.linkVerifier].flatMap { Bytes32($0) }
    }

    package func write(to json: inout JSONWriter) {
        json.add(RoomFields.room, self.room)
        json.add(LiveFields.signPublicKey, self.signPublicKey.bytes)
        json.add(LiveFields.encPublicKey, self.encPublicKey.bytes)
        json.add(Self.participantsMax, Int64(self.participantsMax))
        self.code.write(to: &json, ttl: RoomLimits.codeTTL)
        json.add(Self.linkVerifier, self.linkVerifier?.bytes)
    }
}

/// The code that a host wants.
package struct RoomCodeWish: Sendable {
    /// 0: none.
    package var digits: Int
    /// 0: none.
    package var ttl: Duration
    package var pin: String?

    package var wantsCode: Bool { self.digits > 0 && self.ttl > .zero }

    private static let digits = RoomFields.codeDigits.optional
    private static let pin = RoomFields.pin.about("Asked for besides the code.").optional
    private static func seconds(_ range: ClosedRange<Int64>) -> TypedField<Int64?> {
        TypedField.integer(
            "codeTtlSeconds", range, about: "How long the code opens the room. Default: \(RoomLimits.codeTTLDefault)."
        ).optional
    }

    static let rule = FrameRule.among(RoomFields.codeDigits.field.name, RoomLimits.codeDigits)

    /// - Parameter range: of the time that the code lives, in seconds.
    static func fields(ttl range: ClosedRange<Int64>) -> [Field] {
        [Self.digits.field, Self.seconds(range).field, Self.pin.field]
    }

    package init(
        digits: Int = Int(RoomLimits.codeDigitsDefault), seconds: Int = Int(RoomLimits.codeTTLDefault),
        pin: String? = nil
    ) {
        (self.digits, self.ttl, self.pin) = (digits, .seconds(seconds), pin)
    }

    init(_ payload: Payload, ttl range: ClosedRange<Int64>) throws(Payload.Corrupted) {
        self.digits = Int(try payload[Self.digits] ?? RoomLimits.codeDigitsDefault)
        self.ttl = .seconds(try payload[Self.seconds(range)] ?? RoomLimits.codeTTLDefault)
        self.pin = try payload[Self.pin]
    }

    func write(to json: inout JSONWriter, ttl range: ClosedRange<Int64>) {
        json.add(Self.digits, Int64(self.digits))
        json.add(Self.seconds(range), self.ttl.components.seconds)
        json.add(Self.pin, self.pin)
    }
}
