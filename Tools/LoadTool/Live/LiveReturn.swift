import Contract
import NIOCore

/// Has everybody who lost the connection come back: whisperers take their stream up, listeners join where they were. Somebody
/// is back when it hears a packet of the new epoch. Lives on the fleet's thread; unchecked, because closures that the fleet
/// calls back on that thread refer to it.
final class LiveReturn: @unchecked Sendable {
    private var conversations: [Int: (LiveConversation, place: Int?)] = [:]
    private var start = NIODeadline.now()
    private var isBack: Set<Int> = []
    private(set) var failures = 0
    private(set) var times = Latency("killed to the first packet of the new epoch")
    private(set) var resumed = Latency("killed to the stream's going on")

    /// A client waits up to this long before its first try, so that not all come in one moment; and this long between tries.
    private static let jitter = TimeAmount.milliseconds(1_000)
    private static let pause = TimeAmount.milliseconds(500)

    init(_ conversations: [LiveConversation]) {
        for conversation in conversations {
            self.conversations[conversation.whisperer.number] = (conversation, nil)
            for (place, listener) in conversation.listeners.enumerated() {
                self.conversations[listener.number] = (conversation, place)
            }
        }
    }

    func begin() { self.start = .now() }

    var seconds: Double { Double(self.elapsed) / 1e9 }
    private var elapsed: UInt64 { UInt64((NIODeadline.now() - self.start).nanoseconds) }

    /// Listeners that hear again.
    var back: Int { self.isBack.count }

    /// Connects these clients, a few at a time, and has them take up what they did.
    func bring(_ numbers: [Int], on fleet: isolated Fleet) async throws {
        try await fleet.connectAll(numbers)
        for number in numbers {
            self.isBack.remove(number)
            self.arrived(fleet.clients[number], on: fleet)
        }
    }

    func lost(_ client: Client, of fleet: isolated Fleet) {
        self.isBack.remove(client.number)
        self.comeBack(client.number, after: .nanoseconds(.random(in: 0...Self.jitter.nanoseconds)), fleet)
    }

    private func comeBack(_ number: Int, after pause: TimeAmount, _ fleet: isolated Fleet) {
        fleet.after(pause) { fleet in
            // Bare: it lasts as long as one try, which has a limit of its own.
            Task { await fleet.try(number, for: self) }
        }
    }

    fileprivate func failed(_ number: Int, on fleet: isolated Fleet) {
        self.failures += 1
        self.comeBack(number, after: Self.pause, fleet)
    }

    fileprivate func arrived(_ client: Client, on fleet: isolated Fleet) {
        guard let (conversation, place) = self.conversations[client.number] else { return }
        let frames = conversation.frames
        if let place {
            fleet.write(to: client, frames.join(after: conversation.position(of: place)))
        } else {
            fleet.write(to: client, frames.start())
        }
    }

    /// A whisperer's stream goes on under a new epoch.
    func resumed(_ conversation: LiveConversation, by frame: FrameBytes, on fleet: isolated Fleet) {
        guard let epoch = frame.integer(#""epoch":"#) else { return fleet.noteTrouble("a stream without its epoch") }
        self.resumed.record(nanoseconds: self.elapsed)
        conversation.resume(epoch: Int64(epoch), payload: LiveTraffic.payload)
        conversation.type(dueAt: NIODeadline.now().uptimeNanoseconds, on: fleet)
    }

    func heard(_ frame: FrameBytes, by listener: Client, of conversation: LiveConversation) {
        guard !self.isBack.contains(listener.number), frame.integer(#""epoch":"#) == Int(conversation.epoch),
            conversation.epoch > 1
        else { return }
        self.isBack.insert(listener.number)
        self.times.record(nanoseconds: self.elapsed)
    }

    /// The server could not do it yet.
    func refused(_ client: Client, on fleet: isolated Fleet) {
        self.failures += 1
        let number = client.number
        fleet.after(Self.pause) { self.arrived($0.clients[number], on: $0) }
    }
}

extension Fleet {
    fileprivate func `try`(_ number: Int, for storm: LiveReturn) async {
        do {
            try await self.connect(number)
            storm.arrived(self.clients[number], on: self)
        } catch {
            storm.failed(number, on: self)
        }
    }
}
