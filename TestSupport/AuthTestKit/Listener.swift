import Bus
package import ClusterContract
import Contract
import Synchronization
package import TestKit

/// Everything that the services say to gateways, in the order in which it was said.
package final class Listener: Sendable {
    package enum Heard: Sendable {
        case answer(NodeID, question: UInt64, Answer)
        case frame(NodeID, ConnectionID, type: String, payload: [UInt8])
        case news(ClusterNotice)
    }

    private struct State {
        var heard: [Heard] = []
        var waiting: [UInt64: CheckedContinuation<Answer, Never>] = [:]
    }

    private let state = Mutex(State())

    package var heard: [Heard] { self.state.withLock { $0.heard } }

    /// Listens to these nodes until cancelled.
    /// - Parameter listening: called once nothing can be missed any more.
    package func run(on bus: MemoryBus, nodes: [NodeID], listening: @escaping @Sendable () -> Void) async throws {
        let channels = Dictionary(uniqueKeysWithValues: nodes.map { (Keyspace.node($0).name, $0) })
        try await bus.subscribe(to: channels.keys + [Keyspace.nodes.name]) { event in
            if case .subscribed = event { listening() }
            guard case .notice(let channel, let bytes) = event else { return }
            if let node = channels[channel] {
                for event in try! NodeNotice(decoding: bytes).events {
                    switch event {
                    case .answer(let question, let answer): self.hear(answer, to: question, at: node)
                    case .frame(let connection, let type, let payload):
                        self.state.withLock {
                            $0.heard.append(.frame(node, connection, type: type, payload: payload))
                        }
                    default: break
                    }
                }
            } else {
                let news = try! ClusterNotice(decoding: bytes)
                self.state.withLock { $0.heard.append(.news(news)) }
            }
        }
    }

    private func hear(_ answer: Answer, to question: UInt64, at node: NodeID) {
        let waiting = self.state.withLock { state in
            state.heard.append(.answer(node, question: question, answer))
            return state.waiting.removeValue(forKey: question)
        }
        waiting?.resume(returning: answer)
    }

    /// The answer to a question, which is asked by `ask` once somebody waits. A test that runs out of time hears a refusal.
    package func answer(to question: UInt64, ask: () -> Void) async -> Answer {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                self.state.withLock { $0.waiting[question] = continuation }
                ask()
                if Task.isCancelled { self.giveUp(question) }
            }
        } onCancel: {
            self.giveUp(question)
        }
    }

    private func giveUp(_ question: UInt64) {
        self.state.withLock { $0.waiting.removeValue(forKey: question) }?
            .resume(returning: .refused(Refusal(.internalError, "nobody has answered")))
    }
}
