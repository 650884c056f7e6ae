import Bus
import ClusterContract
import Contract
import Participants
import ServerCrypto

/// Jobs that are handled together, in order, in one transaction.
struct CallBatch {
    enum Step {
        case frame(CallFrame, AnswerAddress)
        case turn(Caller, AnswerAddress)
        case bound(CallConnection)
        case delivered(CallReceipt)
        case erased(WhisperID)
        /// Needs nothing but its answer.
        case refused(Refusal, AnswerAddress)
    }

    var steps: [Step] = []
    /// The last entry taken of each share: everything up to it is done when the batch is.
    var positions: [(share: CallShare, through: EntryID)] = []
    /// Holds one Job only, because something is wrong with one of them.
    var isSingle = false

    /// Where the answer to its first question goes. `nil` if nobody waits for an answer.
    var firstAsked: AnswerAddress? {
        self.steps.lazy.compactMap { step in
            switch step {
            case .frame(_, let address), .turn(_, let address), .refused(_, let address): address
            case .bound, .delivered, .erased: nil
            }
        }.first
    }

    /// - Parameter age: since it was appended to its stream.
    mutating func add(_ job: CallJob, age: Duration) {
        switch job {
        case .frame(let request): self.steps.append(Self.step(request, age: age))
        case .bound(let connection): self.steps.append(.bound(connection))
        case .delivered(let receipt): self.steps.append(.delivered(receipt))
        case .erased(let identity): self.steps.append(.erased(identity))
        }
    }

    /// Reads the frame by its schema, and checks its signature.
    private static func step(_ request: CallRequest, age: Duration) -> Step {
        guard let definition = FrameCatalogue.definition(of: request.type), case .service(.calls) = definition.route
        else {
            return .refused(.foreignFrame, request.answer)
        }
        if request.type == GetTurnCredentials.definition.type { return .turn(request.session.caller, request.answer) }
        do {
            let call = try SignedCall(
                try FrameDecoder.payload(bare: request.payload, schema: definition.schema), type: definition.type)
            let digest = SHA256.hash(call.canonical.bytes)
            guard Signatures.isValid(call.signature, over: digest, by: request.session.signPublicKey) else {
                return .refused(.badSignature, request.answer)
            }
            return .frame(
                CallFrame(
                    call: call, caller: request.session.caller,
                    leg: CallLeg(node: request.answer.node, connection: request.connection),
                    requestID: request.requestID, receivedAt: request.receivedAt, age: age), request.answer)
        } catch let violation as PayloadViolation {
            return .refused(Refusal(.invalidPayload, "\(violation)"), request.answer)
        } catch {
            assertionFailure("payload of \(request.type) is corrupted")
            return .refused(.corrupted, request.answer)
        }
    }

    var frames: [CallFrame] {
        self.steps.compactMap { if case .frame(let frame, _) = $0 { frame } else { nil } }
    }

    /// Calls that may begin.
    var beginnings: [SignedCall] {
        self.frames.map(\.call).filter { $0.type == CallInitiate.definition.type }
    }

    var asksForRelays: Bool {
        self.steps.contains { if case .turn = $0 { true } else { false } }
    }

    /// Both sides of calls that are begun or answered here. Their slots may change.
    var partiesOfNewCalls: [WhisperID] {
        let types = [CallInitiate.definition.type, CallAnswer.definition.type]
        return Set(self.frames.map(\.call).filter { types.contains($0.type) }.flatMap { [$0.from, $0.to] }).sorted()
    }

    /// The identities whose account status decides about the batch.
    var identities: [WhisperID] {
        var identities = Set(self.frames.map(\.caller.identity))
        identities.formUnion(self.beginnings.map(\.to))
        for case .turn(let caller, _) in self.steps { identities.insert(caller.identity) }
        return identities.sorted()
    }
}
