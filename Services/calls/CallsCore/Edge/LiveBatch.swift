import Bus
import ClusterContract
import Contract

/// Jobs about live conversations and rooms that are handled together, in order: each kind in one transaction.
struct LiveBatch {
    enum Step {
        case frame(LiveFrame, AnswerAddress)
        case left(ConversationID, LiveConnection)
        case report(NodeID, [LiveReportEntry], LiveShare)
        case line(LiveLine)
        case membersChanged(UUIDText)
        /// Needs nothing but its answer.
        case refused(Refusal, AnswerAddress)
    }

    var steps: [Step] = []
    var rooms = RoomBatch()
    /// The last entry taken of each share: everything up to it is done when the batch is.
    var positions: [(share: LiveShare, through: EntryID)] = []
    /// Holds one Job only, because something is wrong with one of them.
    var isSingle = false

    /// Where the answer to its first question goes. `nil` if nobody waits for an answer.
    var firstAsked: AnswerAddress? {
        self.steps.lazy.compactMap { step in
            switch step {
            case .frame(_, let address), .refused(_, let address): address
            case .left, .report, .line, .membersChanged: nil
            }
        }.first ?? self.rooms.firstAsked
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
        case .leftRoom(let room, let connection): self.rooms.steps.append(.left(room, connection))
        case .roomReport(let node, let entries): self.rooms.steps.append(.report(node, entries, share))
        case .purge(let room, let participant): self.rooms.steps.append(.purge(room, participant))
        }
    }

    private mutating func add(_ request: LiveRequest) {
        let connection = LiveConnection(node: request.answer.node, connection: request.connection)
        do {
            guard let definition = FrameCatalogue.definition(of: request.type) else {
                throw Refusal(.internalError, "not a frame of this service")
            }
            let payload = try FrameDecoder.payload(bare: request.payload, schema: definition.schema)
            if let body = try RoomFrame.Body(request.type, payload) {
                let frame = RoomFrame(
                    body, from: request.principal, on: connection, receivedAt: request.receivedAt,
                    origin: request.origin)
                return self.rooms.steps.append(.frame(frame, request))
            }
            guard let body = try LiveFrame.Body(request.type, payload) else {
                throw Refusal(.internalError, "not a frame of this service")
            }
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
            let refusal = Refusal(.internalError, "the frame could not be read; safe to retry")
            self.steps.append(.refused(refusal, request.answer))
        }
    }

    /// Nobody waits for an answer: more lines may join these.
    var isOfLinesAlone: Bool {
        !self.steps.isEmpty && self.rooms.steps.isEmpty
            && self.steps.allSatisfy { if case .line = $0 { true } else { false } }
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

    /// Those in which it matters who is a member of the profile. Lines and departures come from connections that are known.
    var judged: Set<ConversationID> {
        var ids = Set(self.frames.compactMap(\.body.conversation)).union(self.ofProfilesLeft)
        for case .report(_, let entries, _) in self.steps { ids.formUnion(entries.map(\.conversation)) }
        return ids
    }

    /// All that it concerns.
    var conversations: Set<ConversationID> {
        var ids = self.judged
        for case .left(let id, _) in self.steps { ids.insert(id) }
        for case .line(let line) in self.steps { ids.insert(line.conversation) }
        return ids
    }

    /// Those that frames name themselves.
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
