import Contract
import TestKit

@testable import WhisperClient

/// Messages in rooms: their way over the connections of the stacks, and the record of what is shown where.
///
/// - **Once:** no life of a device shows a message twice.
/// - **Its audience:** nobody sees a message from before its seat.
/// - **Receipts:** a message that is `got` was shown there.
/// - **At the end:** a message is `got` by everybody who had a seat when it was said, and kept it.
final class RoomTalks {
    private struct Said {
        let room: UUIDText
        let speaker: RoomDevice
        let life: Int
        /// Seats of those whom it is for.
        var seats: [PrincipalID: Int] = [:]
        var states: [PrincipalID: TalkMachine.State] = [:]
    }

    /// A greeting that nobody has sent, and a message of somebody who has not greeted.
    static let early = [
        TalkFrame.hello(name: nil, epoch: Array(repeating: 9, count: 8)).text,
        TalkFrame.say(TalkMessage(id: UUIDText(high: 8, low: 1), time: Timestamp(milliseconds: 1), text: "early")).text,
    ]

    private unowned let world: World
    /// A generator for this alone: the worlds stay as they are.
    private var random: SeededGenerator
    private var said: [UUIDText: Said] = [:]
    private var written: Set<String> = []
    /// Where each message was shown, and in which lives.
    private var shown: [UUIDText: Set<PrincipalID>] = [:]
    private var shownInLife: Set<String> = []
    private var lives = 0
    private var isSaying = false
    /// Messages that were shown.
    var shownCount: Int { self.shownInLife.count }

    private static let delays: ClosedRange<Int64> = .milliseconds(5)...(.milliseconds(400))

    init(_ world: World) { (self.world, self.random) = (world, world.machine.random) }

    private var scene: RoomScene { self.world.rooms! }

    func delay() -> Int64 { Int64.random(in: Self.delays, using: &self.random) }

    func happens(_ chance: Int) -> Bool { Int.random(in: 0..<1_000, using: &self.random) < chance }

    /// Another life of a device in a room.
    func life() -> Int {
        self.lives += 1
        return self.lives
    }

    static func machine(life: Int) -> TalkMachine { TalkMachine(epoch: Self.epoch(life)) }

    private static func epoch(_ life: Int) -> [UInt8] { (0..<8).map { UInt8(life >> ($0 * 8) & 255) } }

    func seats(_ seats: [PrincipalID: Int], _ known: (PrincipalID) -> Bool) -> [PrincipalID: Int] {
        guard self.world.mutation == .keepsQueueOfRemoved else { return seats }
        let others = Identities.all.indices.compactMap { self.scene.id(of: $0) }.filter {
            seats[$0] != nil || known($0)
        }
        return Dictionary(others.map { ($0, 1) }) { first, _ in first }
    }

    // MARK: Saying

    func says(_ device: RoomDevice, in room: UUIDText, _ say: (TalkMessage) -> Void) {
        let number = UInt64(self.said.count + 1)
        let message = TalkMessage(id: UUIDText(high: 7, low: number), time: .now, text: "number \(number)")
        self.said[message.id] = Said(room: room, speaker: device, life: device.life(in: room))
        self.isSaying = true
        say(message)
        self.isSaying = false
    }

    func turns(_ id: UUIDText, _ peer: PrincipalID, _ state: TalkMachine.State, at device: RoomDevice) {
        guard let said = self.said[id] else { return }
        if said.seats[peer] == nil { self.said[id]?.seats[peer] = device.seat(of: peer, in: said.room) }
        self.said[id]?.states[peer] = state
        guard state == .got, self.shown[id]?.contains(peer) != true else { return }
        self.world.record.fault("\(device.name) is told that \(peer) has message \(id), which it never saw")
    }

    // MARK: On the way

    /// - Returns: the text that goes over the connection, and whether the sender is told of a receipt that nobody sent.
    func sends(_ text: String, by device: RoomDevice, to peer: PrincipalID) -> (text: String?, receipt: String?) {
        switch (self.world.mutation, TalkFrame(text)) {
        case (.sendsToOpenOnly, .say(let message)) where !self.isSaying: return (nil, TalkFrame.got([message.id]).text)
        case (.countsSentAsGot, .say(let message)): return (text, TalkFrame.got([message.id]).text)
        case (.resendsWithNewId, .say(var message)):
            guard !self.written.insert("\(message.id) \(peer)").inserted else { break }
            message.id = UUIDText(high: 6, low: UInt64(self.written.count))
            return (TalkFrame.say(message).text, nil)
        case (.forgetsSeenIds, .hello): return (TalkFrame.hello(name: nil, epoch: Self.epoch(self.life())).text, nil)
        default: break
        }
        return (text, nil)
    }

    func shows(_ message: TalkMessage, at device: RoomDevice, in room: UUIDText) {
        let id = message.id
        guard let said = self.said[id] else {
            return self.world.record.fault("\(device.name) sees message \(id), which nobody has said")
        }
        self.shown[id, default: []].insert(device.id)
        if !self.shownInLife.insert("\(id) \(device.life(in: room))").inserted {
            self.world.record.fault("\(device.name) sees message \(id) twice")
        }
        guard let seat = said.seats[device.id], device.seat(of: device.id, in: room).map({ $0 > seat }) != true else {
            return self.world.record.fault("\(device.name) sees message \(id), which is from before")
        }
    }

    // MARK: The end

    func problems(seats: (UUIDText, PrincipalID) -> Int?) -> [String] {
        self.said.sorted { $0.key.low < $1.key.low }.flatMap { id, said -> [String] in
            guard said.speaker.visit(said.room) != nil, said.speaker.life(in: said.room) == said.life else { return [] }
            return said.seats.compactMap { peer, seat in
                guard seats(said.room, peer) == seat, said.states[peer] != .got else { return nil }
                return "message \(id) is \(said.states[peer]?.rawValue ?? "nowhere") for \(peer)"
            }
        }
    }
}
