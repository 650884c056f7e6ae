import Bus
import Contract

/// Jobs about live conversations that are handled together, in order, in one transaction.
struct LiveBatch {
    enum Step {
        case frame(LiveFrame, AnswerAddress)
        case left(ConversationID, LiveConnection)
        case report(NodeID, [LiveReportEntry])
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
            case .left, .report: nil
            }
        }.first
    }

    /// - Parameter age: since it was appended to its stream.
    mutating func add(_ job: LiveJob, age: Duration) {
        switch job {
        case .frame(let request):
            // Its client has been told that nothing was done.
            guard age <= ClusterLimits.frameAgeMax else { return }
            self.steps.append(Self.step(request))
        case .left(let conversation, let connection): self.steps.append(.left(conversation, connection))
        case .report(let node, let entries): self.steps.append(.report(node, entries))
        }
    }

    private static func step(_ request: LiveRequest) -> Step {
        guard let definition = FrameCatalogue.definition(of: request.type), case .share = definition.route else {
            return .refused(Refusal(.internalError, "not a frame of this service"), request.answer)
        }
        do {
            let payload = try FrameDecoder.payload(bare: request.payload, schema: definition.schema)
            guard let body = try LiveFrame.Body(request.type, payload) else {
                return .refused(Refusal(.internalError, "not a frame of this service"), request.answer)
            }
            return .frame(
                LiveFrame(
                    body, from: request.principal,
                    on: LiveConnection(node: request.answer.node, connection: request.connection),
                    requestID: request.requestID, receivedAt: request.receivedAt), request.answer)
        } catch let violation as PayloadViolation {
            return .refused(Refusal(.invalidPayload, "\(violation)"), request.answer)
        } catch {
            assertionFailure("payload of \(request.type) is corrupted")
            return .refused(Refusal(.internalError, "the frame could not be read; safe to retry"), request.answer)
        }
    }

    private var frames: [LiveFrame] {
        self.steps.compactMap { if case .frame(let frame, _) = $0 { frame } else { nil } }
    }

    /// All that it concerns.
    var conversations: Set<ConversationID> {
        var ids = Set(self.frames.compactMap(\.body.conversation))
        for case .left(let id, _) in self.steps { ids.insert(id) }
        for case .report(_, let entries) in self.steps { ids.formUnion(entries.map(\.conversation)) }
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

    var starts: [(content: LiveFacts.Content, connection: LiveConnection)] {
        self.frames.compactMap { frame in
            guard case .start(let start) = frame.body else { return nil }
            return (.init(conversation: start.conversation, content: start.content), frame.connection)
        }
    }
}
