import Bus
import ClusterContract
import Contract
import Participants

/// Jobs about live conversations that are handled together, in order, in one transaction.
struct LiveBatch {
    enum Step {
        case frame(LiveFrame, AnswerAddress)
        case left(ConversationID, LiveConnection)
        case report(NodeID, [LiveReportEntry], LiveShare)
        case line(LiveLine)
        case membersChanged(UUIDText)
        case erased(ConversationID, PrincipalID)
        /// Needs nothing but its answer.
        case refused(Refusal, AnswerAddress)
    }

    var steps: [Step] = []
    /// The last entry taken of each share: everything up to it is done when the batch is.
    var positions: [(share: LiveShare, through: EntryID)] = []
    /// Holds one Job only, because something is wrong with one of them.
    var isSingle = false

    /// Where the answer to its first question goes. `nil` if nobody waits for an answer.
    var firstAsked: AnswerAddress? {
        self.steps.lazy.compactMap { step in
            switch step {
            case .frame(_, let address), .refused(_, let address): address
            case .left, .report, .line, .membersChanged, .erased: nil
            }
        }.first
    }

    /// - Parameter age: since it was appended to its stream.
    mutating func add(_ job: LiveJob, share: LiveShare, age: Duration) {
        switch job {
        case .frame(let request):
            // Its client has been told that nothing was done.
            guard age <= ClusterLimits.frameAgeMax else { return }
            self.add(request)
        case .left(let conversation, let connection): self.steps.append(.left(conversation, connection))
        case .report(let node, let entries): self.steps.append(.report(node, entries, share))
        // However old: nobody was told that it is lost.
        case .line(let line): self.steps.append(.line(line))
        case .membersChanged(let profile): self.steps.append(.membersChanged(profile))
        case .erased(let conversation, let identity): self.steps.append(.erased(conversation, identity))
        // The coordinator has passed it on.
        case .ofRooms: break
        }
    }

    private mutating func add(_ request: LiveRequest) {
        let connection = LiveConnection(node: request.answer.node, connection: request.connection)
        do {
            guard let definition = FrameCatalogue.definition(of: request.type) else {
                throw Refusal.foreignFrame
            }
            let payload = try FrameDecoder.payload(bare: request.payload, schema: definition.schema)
            guard let body = try LiveFrame.Body(request.type, payload) else { throw Refusal.foreignFrame }
            let frame = LiveFrame(
                body, from: request.principal, on: connection, requestID: request.requestID,
                receivedAt: request.receivedAt, origin: request.origin)
            self.steps.append(.frame(frame, request.answer))
        } catch let refusal as Refusal {
            self.steps.append(.refused(refusal, request.answer))
        } catch let violation as PayloadViolation {
            self.steps.append(.refused(Refusal(.invalidPayload, "\(violation)"), request.answer))
        } catch {
            assertionFailure("payload of \(request.type) is corrupted")
            self.steps.append(.refused(.corrupted, request.answer))
        }
    }

    /// Nobody waits for an answer: more lines may join these.
    var isOfLinesAlone: Bool {
        !self.steps.isEmpty && self.steps.allSatisfy { if case .line = $0 { true } else { false } }
    }

    private var frames: [LiveFrame] {
        self.steps.compactMap { if case .frame(let frame, _) = $0 { frame } else { nil } }
    }

    /// Profiles that somebody has left.
    var left: Set<UUIDText> {
        Set(self.steps.compactMap { if case .membersChanged(let profile) = $0 { profile } else { nil } })
    }

    /// Conversations of those profiles, once they are known.
    var ofProfilesLeft: [ConversationID] = []

    /// The conversations whose profile's members matter. Lines and departures come from connections that are known.
    var judged: Set<ConversationID> {
        var ids = Set(self.frames.compactMap(\.body.conversation)).union(self.ofProfilesLeft)
        for case .report(_, let entries, _) in self.steps { ids.formUnion(entries.map(\.conversation)) }
        for case .erased(let id, _) in self.steps { ids.insert(id) }
        return ids
    }

    /// All that it concerns.
    var conversations: Set<ConversationID> {
        var ids = self.judged
        for case .left(let id, _) in self.steps { ids.insert(id) }
        for case .line(let line) in self.steps { ids.insert(line.conversation) }
        return ids
    }

    /// The profiles that frames name themselves.
    var profiles: Set<UUIDText> { Set(self.frames.compactMap(\.body.profile)) }

    /// Profiles in which somebody creates.
    var growing: Set<UUIDText> {
        Set(
            self.frames.compactMap {
                if case .create(let create) = $0.body { create.profile } else { nil }
            })
    }

    var principals: Set<PrincipalID> { Set(self.frames.map(\.principal.id)) }

    struct Start {
        var content: LiveFacts.Content
        var connection: LiveConnection
        var holder: WhisperID
    }

    var starts: [Start] {
        self.frames.compactMap { frame in
            guard case .start(let start) = frame.body, case .session(let session) = frame.principal else { return nil }
            return Start(
                content: .init(conversation: start.conversation, content: start.content), connection: frame.connection,
                holder: session.caller.identity)
        }
    }
}
