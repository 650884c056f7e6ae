import ClusterContract
import Contract

/// Jobs about rooms that are handled together, in order, in one transaction.
struct RoomBatch {
    enum Step {
        case frame(RoomFrame, LiveRequest)
        case left(UUIDText, LiveConnection)
        case report(NodeID, [RoomReportEntry], LiveShare)
        case purge(UUIDText, PrincipalID)
    }

    var steps: [Step] = []
    /// Nodes that did not hear a Notice.
    var silent: Set<NodeID> = []
    /// Whether it is time to look what time has done to rooms.
    var isTick = false

    var firstAsked: AnswerAddress? {
        self.steps.lazy.compactMap { if case .frame(_, let request) = $0 { request.answer } else { nil } }.first
    }

    /// Where the answers to its questions go.
    var asked: [AnswerAddress] {
        self.steps.compactMap { if case .frame(_, let request) = $0 { request.answer } else { nil } }
    }

    /// Whoever asked them has been answered, and may have asked for something else since.
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
            case .left(let room, _), .purge(let room, _): ids.insert(room)
            case .report(_, let entries, _): ids.formUnion(entries.map(\.room))
            case .frame: break
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

    /// Those who may get a room or a seat.
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
