/// A frame that the server sends, in both directions: services build it, clients read it, documents describe it.
/// Each frame is one file, and one line in `ServerFrameCatalogue`.
package protocol ServerFrame: Sendable {
    static var definition: ServerFrameDefinition { get }

    /// The payload as the server writes it.
    var json: [UInt8] { get }

    /// Reads a payload that satisfies the schema.
    init(_ payload: Payload) throws(Payload.Corrupted)
}

extension ServerFrame {
    package static var type: String { Self.definition.type }

    /// Reads a payload that stands alone.
    package init(payload: [UInt8]) throws(PayloadViolation) {
        self = try Self.read(try FrameDecoder.payload(bare: payload, schema: Self.definition.lenientSchema))
    }

    fileprivate static func read(_ payload: Payload) throws(PayloadViolation) -> Self {
        do throws(Payload.Corrupted) {
            return try Self(payload)
        } catch {
            throw PayloadViolation("", "holds a word that this release does not know")
        }
    }
}

/// A text message of the server, as clients read it.
package struct ServerMessage: Sendable {
    package let type: String
    /// The request id of the client's frame that it answers.
    package let requestID: String?
    /// `nil` if this release does not know the type. Clients ignore such frames: servers may grow.
    package let frame: (any ServerFrame)?

    package init(_ message: [UInt8]) throws(FrameDecoder.Failure) {
        guard String(validating: message, as: UTF8.self) != nil else {
            throw FrameDecoder.Failure(violation: PayloadViolation("", "must be UTF-8"), requestID: nil)
        }
        let envelope = try FrameDecoder.envelope(of: message)
        self.type = envelope.type
        self.requestID = envelope.requestID
        guard let kind = ServerFrameCatalogue.frame(of: envelope.type) else {
            self.frame = nil
            return
        }
        do throws(PayloadViolation) {
            let schema = kind.definition.lenientSchema
            self.frame = try kind.read(try FrameDecoder.payload(envelope, of: message, schema: schema))
        } catch {
            throw FrameDecoder.Failure(violation: error, requestID: envelope.requestID)
        }
    }
}

/// Every frame that the server may send.
package enum ServerFrameCatalogue {
    package static let frames: [any ServerFrame.Type] = [
        RegisterChallenge.self,
        RegisterAck.self,
        GuestChallenge.self,
        GuestAck.self,
        GuestForgotten.self,
        SessionRefreshAck.self,
        LogoutAck.self,
        AccountDeleteChallenge.self,
        AccountDeleted.self,
        TokensUpdated.self,
        Pong.self,
        MessageAccepted.self,
        MessageReceived.self,
        PendingMessages.self,
        MessageDelivered.self,
        MessageExpired.self,
        GroupEvent.self,
        Groups.self,
        PresenceUpdate.self,
        TypingNotification.self,
        ProfileChanged.self,
        ReportAck.self,
        ErrorFrame.self,
        CallIncoming.self,
        CallRinging.self,
        CallAnswered.self,
        CallCandidate.self,
        CallEnded.self,
        TurnCredentialsFrame.self,
        LiveConversation.self,
        LiveDeleted.self,
        LiveConversations.self,
        LiveRoster.self,
        LiveWaiting.self,
        LiveKnocked.self,
        LiveAdmitted.self,
        LiveGranted.self,
        LiveRefused.self,
        LiveListenerChanged.self,
        LiveStarted.self,
        LiveStopped.self,
        LiveLeft.self,
        LiveJoined.self,
        LiveState.self,
        LivePacket.self,
        LiveWanted.self,
        LiveAttention.self,
        LiveLineStored.self,
        RoomJoined.self,
        RoomCodeFrame.self,
        RoomSignal.self,
        RoomEvent.self,
        RoomPoked.self,
        RoomLeft.self,
        Rooms.self,
        RoomPurged.self,
    ]

    package static let all: [ServerFrameDefinition] = Self.frames.map { $0.definition }

    private static let byType = Dictionary(uniqueKeysWithValues: Self.frames.map { ($0.definition.type, $0) })

    package static func frame(of type: String) -> (any ServerFrame.Type)? { Self.byType[type] }
}
