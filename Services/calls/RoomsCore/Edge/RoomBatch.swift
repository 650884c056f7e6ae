import Bus
import ClusterContract
import Contract
import Participants

/// Jobs about rooms that are handled together, in order, in one transaction.
struct RoomBatch {
    enum Step {
        case frame(RoomFrame, LiveRequest)
        case left(UUIDText, LiveConnection)
        case report(NodeID, [RoomReportEntry], RoomShare)
        case purge(UUIDText, PrincipalID)
        case erased(UUIDText, PrincipalID)
        /// Needs nothing but its answer.
        case refused(Refusal, AnswerAddress)
    }

    var steps: [Step] = []
    /// The last entry taken of each share: everything up to it is done when the batch is.
    var positions: [(share: RoomShare, through: EntryID)] = []
    /// Holds one Job only, because something is wrong with one of them.
    var isSingle = false
    /// Nodes that did not hear a Notice.
    var silent: Set<NodeID> = []
    /// Whether it is time to look what time has done to rooms.
    var isTick = false

    /// - Parameter age: since it was appended to its stream.
    mutating func add(_ job: RoomJob, share: RoomShare, age: Duration) {
        switch job {
        case .frame(let request):
            // Its client has been told that nothing was done.
            if age <= ClusterLimits.frameAgeMax { self.steps.append(Self.step(request)) }
        case .left(let room, let connection): self.steps.append(.left(room, connection))
        case .report(let node, let entries): self.steps.append(.report(node, entries, share))
        case .purge(let room, let participant): self.steps.append(.purge(room, participant))
        case .erased(let room, let participant): self.steps.append(.erased(room, participant))
        }
    }

    private static func step(_ request: LiveRequest) -> Step {
        guard let definition = FrameCatalogue.definition(of: request.type) else {
            return .refused(.foreignFrame, request.answer)
        }
        do {
            let payload = try FrameDecoder.payload(bare: request.payload, schema: definition.schema)
            guard let body = try RoomFrame.Body(request.type, payload) else {
                return .refused(.foreignFrame, request.answer)
            }
            let connection = LiveConnection(node: request.answer.node, connection: request.connection)
            let frame = RoomFrame(
                body, from: request.principal, on: connection, receivedAt: request.receivedAt, origin: request.origin)
            return .frame(frame, request)
        } catch let violation as PayloadViolation {
            return .refused(Refusal(.invalidPayload, "\(violation)"), request.answer)
        } catch {
            assertionFailure("payload of \(request.type) is corrupted")
            return .refused(.corrupted, request.answer)
        }
    }

    /// Where the answers to its questions go.
    var asked: [AnswerAddress] {
        self.steps.compactMap { step in
            switch step {
            case .frame(_, let request): request.answer
            case .refused(_, let address): address
            case .left, .report, .purge, .erased: nil
            }
        }
    }

    /// Drops requests that were answered before. Their connections may have asked for something else since.
    mutating func drop(_ handled: HandledRequests) {
        self.steps.removeAll { step in
            if case .frame(_, let request) = step { handled.contains(request.answer) } else { false }
        }
    }

    var frames: [RoomFrame] {
        self.steps.compactMap { if case .frame(let frame, _) = $0 { frame } else { nil } }
    }

    /// All rooms that it names. Joins by code name none.
    var rooms: Set<UUIDText> {
        var ids = Set(self.frames.compactMap(\.body.room))
        for step in self.steps {
            switch step {
            case .left(let room, _), .purge(let room, _), .erased(let room, _): ids.insert(room)
            case .report(_, let entries, _): ids.formUnion(entries.map(\.room))
            case .frame, .refused: break
            }
        }
        return ids
    }

    var principals: Set<PrincipalID> { Set(self.frames.map(\.principal.id)) }
    var guesses: [JoinCode] { self.frames.compactMap(\.body.guess) }
    var isGuessed: Bool { self.frames.contains { $0.body.isGuess } }
    /// Digits of new codes that it may need, each as often as it may.
    var wishes: Int { self.frames.count { $0.body.wantsCode } }
    var wantsRelays: Bool { self.frames.contains { $0.body.wantsRelays } }

    /// Principals that may get a room or a seat.
    var growing: [PrincipalID] {
        Set(
            self.frames.compactMap { frame in
                switch frame.body {
                case .create, .join: frame.principal.id
                default: nil
                }
            }
        ).sorted { "\($0)" < "\($1)" }
    }

    var askAboutAll: [PrincipalID] {
        Array(Set(self.frames.compactMap { $0.body.isAboutAll ? $0.principal.id : nil }))
    }
}
