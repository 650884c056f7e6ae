package import ClusterContract
package import Contract
package import Participants

/// A frame about live conversations, read and of the right shape.
package struct LiveFrame: Sendable {
    package enum Body: Sendable {
        case create(LiveCreate)
        case update(LiveUpdate)
        case delete(LiveDelete)
        case list(LiveList)
        case roster(LiveRosterQuery)
        case knock(LiveKnock)
        case grant(LiveGrant)
        case refuse(LiveRefuse)
        case start(LiveStart)
        case stop(LiveStop)
        case join(LiveJoin)
        case leave(LiveLeave)

        /// - Returns: `nil` if it is no frame of this service.
        package init?(_ type: String, _ payload: Payload) throws(Payload.Corrupted) {
            switch type {
            case LiveCreate.definition.type: self = .create(try LiveCreate(payload))
            case LiveUpdate.definition.type: self = .update(try LiveUpdate(payload))
            case LiveDelete.definition.type: self = .delete(try LiveDelete(payload))
            case LiveList.definition.type: self = .list(try LiveList(payload))
            case LiveRosterQuery.definition.type: self = .roster(try LiveRosterQuery(payload))
            case LiveKnock.definition.type: self = .knock(try LiveKnock(payload))
            case LiveGrant.definition.type: self = .grant(try LiveGrant(payload))
            case LiveRefuse.definition.type: self = .refuse(try LiveRefuse(payload))
            case LiveStart.definition.type: self = .start(try LiveStart(payload))
            case LiveStop.definition.type: self = .stop(try LiveStop(payload))
            case LiveJoin.definition.type: self = .join(try LiveJoin(payload))
            case LiveLeave.definition.type: self = .leave(try LiveLeave(payload))
            default: return nil
            }
        }

        /// The conversation that it names.
        package var conversation: ConversationID? {
            switch self {
            case .create(let frame): frame.conversation
            case .update(let frame): frame.conversation
            case .delete(let frame): frame.conversation
            case .list: nil
            case .roster(let frame): frame.conversation
            case .knock(let frame): frame.conversation
            case .grant(let frame): frame.conversation
            case .refuse(let frame): frame.conversation
            case .start(let frame): frame.conversation
            case .stop(let frame): frame.conversation
            case .join(let frame): frame.conversation
            case .leave(let frame): frame.conversation
            }
        }

        /// The same, unless it makes the conversation.
        package var present: ConversationID? { if case .create = self { nil } else { self.conversation } }

        /// The profile that it names.
        package var profile: UUIDText? {
            switch self {
            case .create(let frame): frame.profile
            case .list(let frame): frame.profile
            default: nil
            }
        }
    }

    package var body: Body
    package var principal: Principal
    package var connection: LiveConnection
    package var requestID: String?
    /// By its gateway's clock. Its timestamp is compared with it.
    package var receivedAt: Timestamp
    /// Names its client's address among others; 0 if nobody says.
    package var origin: UInt64

    package init(
        _ body: Body, from principal: Principal, on connection: LiveConnection, requestID: String?,
        receivedAt: Timestamp, origin: UInt64 = 0
    ) {
        self.body = body
        self.principal = principal
        self.connection = connection
        self.requestID = requestID
        self.receivedAt = receivedAt
        self.origin = origin
    }
}

/// Something that somebody is told after the commit, in the order in which it was decided.
package enum LiveTelling: Sendable {
    package enum Reader: Hashable, Sendable {
        case connection(LiveConnection)
        /// Wherever it is.
        case principal(PrincipalID)
    }

    case frame(Reader, type: String, payload: [UInt8])
    case event(LiveConnection, LiveEvent)
    /// Somebody waits. If none of these devices is connected, the one named is woken.
    case knock(type: String, payload: [UInt8], devices: [WhisperID], otherwise: WhisperID, ConversationID)

    package static func frame<Frame: ServerFrame>(_ reader: Reader, _ frame: Frame) -> LiveTelling {
        .frame(reader, type: Frame.type, payload: frame.json)
    }
}

/// Facts of other tables about the principals of a batch.
package struct LiveFacts: Sendable {
    /// Identities, and guests by their proofs.
    package var accounts: [PrincipalID: AccountStatus]
    package var members: [UUIDText: Set<WhisperID>]
    /// Conversations of profiles in which somebody creates or lists, as they were before the batch.
    package var lists: [UUIDText: [LiveConversation]]
    /// Streams that have ended, of those that somebody starts.
    package var ended: Set<Content>
    /// How many streams a connection holds.
    package var held: [LiveConnection: Int]
    /// How many streams have not ended, of whoever starts one, and of the profiles of this batch. As they were before it.
    package var openOf: [WhisperID: Int] = [:]
    package var openIn: [UUIDText: Int] = [:]
    /// The greatest line that is stored of streams that somebody starts, before the batch.
    package var lastLines: [Content: Int]

    package struct Content: Hashable, Sendable {
        package var conversation: ConversationID
        package var content: UUIDText

        package init(conversation: ConversationID, content: UUIDText) {
            self.conversation = conversation
            self.content = content
        }
    }

    package init(
        accounts: [PrincipalID: AccountStatus] = [:], members: [UUIDText: Set<WhisperID>] = [:],
        lists: [UUIDText: [LiveConversation]] = [:], ended: Set<Content> = [], held: [LiveConnection: Int] = [:],
        lastLines: [Content: Int] = [:]
    ) {
        self.accounts = accounts
        self.members = members
        self.lists = lists
        self.ended = ended
        self.held = held
        self.lastLines = lastLines
    }
}

extension Refusal {
    static let noSuchConversation = Refusal(.notFound, "no such conversation")
    static let noSuchProfile = Refusal(.notFound, "no such profile")
    static let noSuchListener = Refusal(.notFound, "no such listener")
    static let notAdmitted = Refusal(.forbidden, "the caller is not admitted")
}
