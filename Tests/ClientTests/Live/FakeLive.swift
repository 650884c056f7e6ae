import Contract
import Synchronization
import TestKit

@testable import WhisperClient

/// A server that carries a live conversation and records it. The test decides about answers to grants.
final class FakeLive: Sendable {
    struct State {
        /// Grants of later generations are kept, and not answered.
        var answersRotations = true
        /// As it tells whoever takes the stream.
        var generation = 1
        var listeners: [LiveListener] = []
        var grants: [LiveGrant] = []
        var packets: [(header: LivePacketHeader, sealed: SealedBytes)] = []
        var refused: [PrincipalID] = []
        var epoch: Int64 = 0
        fileprivate var unanswered: [@Sendable () -> Void] = []
    }

    let state = Mutex(State())

    static let types: Set<String> = ["live_create", "live_start", "live_grant", "live_packet", "live_refuse"]
    private static let known = Dictionary(
        uniqueKeysWithValues: FrameCatalogue.all.filter { FakeLive.types.contains($0.type) }.map { ($0.type, $0) })

    var packets: [(header: LivePacketHeader, sealed: SealedBytes)] { self.state.withLock { $0.packets } }

    /// The grants that were kept are answered, and all later ones.
    func answerRotations() {
        let answers = self.state.withLock { state in
            state.answersRotations = true
            defer { state.unanswered = [] }
            return state.unanswered
        }
        for answer in answers { answer() }
    }

    func take(_ text: [UInt8], of device: WhisperID, from link: FakeServer.Link) {
        let envelope = try! FrameDecoder.envelope(of: text)
        let payload = try! FrameDecoder.payload(envelope, of: text, schema: Self.known[envelope.type]!.schema)
        @Sendable func reply(_ frame: some ServerFrame) {
            link.answer(
                type(of: frame).definition.type, String(decoding: frame.json, as: UTF8.self), envelope.requestID)
        }
        let time = Timestamp(milliseconds: 1_730_000_000_000)
        switch envelope.type {
        case "live_create":
            let create = try! LiveCreate(payload)
            reply(
                LiveConversation(
                    conversation: create.conversation, profile: create.profile, state: .idle, epoch: 0, generation: 1,
                    content: nil, holder: nil, transcriptDays: 0, createdAt: time, updatedAt: time))
        case "live_start":
            let start = try! LiveStart(payload)
            let state = self.state.withLock { state in
                state.epoch += 1
                return (epoch: state.epoch, generation: state.generation, listeners: state.listeners)
            }
            reply(
                LiveStarted(
                    conversation: start.conversation, content: start.content, epoch: state.epoch,
                    generation: state.generation, isResumed: state.epoch > 1, line: 0, listeners: state.listeners))
        case "live_grant":
            let grant = try! LiveGrant(payload)
            let answer: @Sendable () -> Void = {
                let people = grant.grants.map(\.to)
                let granted = people.filter { $0 != .identity(device) }
                self.state.withLock { $0.generation = grant.generation }
                reply(
                    LiveGranted(
                        conversation: grant.conversation, generation: grant.generation, granted: granted,
                        ignored: people.filter { $0 == .identity(device) }))
            }
            let isAnswered = self.state.withLock { state in
                state.grants.append(grant)
                let isAnswered = state.answersRotations || grant.generation == state.generation
                if !isAnswered { state.unanswered.append(answer) }
                return isAnswered
            }
            if isAnswered { answer() }
        case "live_packet":
            let packet = try! SendLivePacket(payload)
            let json = try! JSON(parsing: packet.relayed)
            let sealed = SealedBytes(
                nonce: Base64.decode(json["nonce"]!.string!)!, ciphertext: Base64.decode(json["ciphertext"]!.string!)!)
            self.state.withLock { $0.packets.append((packet.header, sealed)) }
        case "live_refuse":
            let to = try! LiveRefuse(payload).to
            self.state.withLock { $0.refused.append(to) }
        default: break
        }
    }
}
