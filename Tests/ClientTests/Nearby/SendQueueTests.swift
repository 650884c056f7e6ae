import Contract
import TestKit
import Testing

@testable import WhisperClient

@Suite struct SendQueueTests {
    private var queue = SendQueue(texts: NearbyService.toCentral)

    /// All packets, each confirmed.
    private mutating func drainPackets(mtu: Int) -> [SendQueue.Packet] {
        var packets: [SendQueue.Packet] = []
        while let packet = self.queue.next(token: UInt64(packets.count), mtu: mtu, at: start) {
            packets.append(packet)
            _ = self.queue.confirmed(token: UInt64(packets.count - 1), isDone: true)
        }
        return packets
    }

    @Test mutating func aPacketWaitsForTheOneBefore() {
        let isTaken = self.queue.add(.bytes(Array(1...20)), token: 7)
        let first = self.queue.next(token: 1, mtu: 23, at: start)
        let second = self.queue.next(token: 2, mtu: 23, at: start)
        #expect(
            isTaken && first?.bytes == [1, 0, 0, 0, 0, 1, 0, 0, 0, 2] + Array(1...10) && second == nil)
        let early = self.queue.confirmed(token: 1, isDone: true)
        let last = self.queue.next(token: 3, mtu: 23, at: start)
        #expect(early == nil && last?.bytes == [1, 0, 0, 0, 0, 1, 0, 1, 0, 2] + Array(11...20))
        let other = self.queue.confirmed(token: 1, isDone: true)
        let fate = self.queue.confirmed(token: 3, isDone: true)
        #expect(other == nil && fate == SendQueue.Fate(token: 7, hasArrived: true))
        #expect(self.queue.count == 0 && self.queue.nextWake == nil)
    }

    @Test mutating func aPacketIsRepeatedInBounds() {
        _ = self.queue.add(.bytes([1]), token: 7)
        _ = self.queue.add(.bytes([2]), token: 8)
        var packets: Set<[UInt8]> = []
        for attempt in 1...UInt64(NearbyLimits.packetAttemptsMax) {
            packets.insert(self.queue.next(token: attempt, mtu: 23, at: start)!.bytes)
            let fate = self.queue.confirmed(token: attempt, isDone: false)
            let isLast = attempt == UInt64(NearbyLimits.packetAttemptsMax)
            #expect(fate == (isLast ? SendQueue.Fate(token: 7, hasArrived: false) : nil))
        }
        #expect(packets.count == 1)
        let next = self.queue.next(token: 100, mtu: 23, at: start)
        #expect(next?.bytes == [1, 0, 0, 0, 0, 2, 0, 0, 0, 1, 2])
    }

    /// Attempts count for each packet anew.
    @Test mutating func eachPacketHasItsAttempts() {
        _ = self.queue.add(.bytes(Array(1...20)), token: 7)
        var fates: [SendQueue.Fate?] = []
        for packet in UInt64(0)..<2 {
            for attempt in 0..<UInt64(NearbyLimits.packetAttemptsMax) {
                _ = self.queue.next(token: packet * 100 + attempt, mtu: 23, at: start)
                let isDone = attempt == UInt64(NearbyLimits.packetAttemptsMax) - 1
                fates.append(self.queue.confirmed(token: packet * 100 + attempt, isDone: isDone))
            }
        }
        #expect(fates.compactMap { $0 } == [SendQueue.Fate(token: 7, hasArrived: true)])
    }

    @Test mutating func aFullQueueIsTriedAgainWhenThereIsRoom() {
        _ = self.queue.add(.text("hi"), token: 7)
        let first = self.queue.next(token: 1, mtu: 23, at: start)
        self.queue.refused(token: 1, at: start)
        let none = self.queue.next(token: 2, mtu: 23, at: start)
        #expect(none == nil && self.queue.nextWake == start + NearbyLimits.roomWithin)
        self.queue.readyToIndicate()
        let again = self.queue.next(token: 3, mtu: 23, at: start)
        #expect(
            again == first && again?.characteristic == NearbyService.toCentral
                && again?.bytes == [104, 105])
    }

    @Test mutating func onlySoManyWait() {
        let taken = (0...UInt64(NearbyLimits.sendsWaitingMax)).map {
            self.queue.add(.text("a"), token: $0)
        }
        #expect(taken.firstIndex(of: false) == NearbyLimits.sendsWaitingMax)
        _ = self.queue.next(token: 1, mtu: 23, at: start)
        let full = self.queue.add(.text("a"), token: 100)
        #expect(!full)
        #expect(self.queue.drain() == Array(0..<UInt64(NearbyLimits.sendsWaitingMax)))
        #expect(self.queue.count == 0)
    }

    /// For any packet size: the text is cut between characters, and nothing is lost.
    @Test(arguments: [20, 23, 40, 185, 517]) mutating func aTextIsCutBetweenCharacters(mtu: Int) {
        let family = "\u{1F468}\u{200D}\u{1F469}\u{200D}\u{1F467}\u{200D}\u{1F466}"
        let text = "Grüße an alle hier, \(family) und 🇩🇪🇫🇷 " + String(repeating: "é", count: 300)
        _ = self.queue.add(.text(text), token: 1)
        let packets = self.drainPackets(mtu: mtu)
        let pieces = packets.compactMap { String(validating: $0.bytes, as: UTF8.self) }
        #expect(pieces.count == packets.count && pieces.joined() == text)
        #expect(
            packets.allSatisfy {
                $0.bytes.count <= min(mtu - 3, 512) && $0.characteristic == NearbyService.toCentral
            })
        // A character that fits into a packet is in one.
        if mtu > 28 { #expect(pieces.contains { $0.contains(family) }) }
    }

    @Test mutating func anEmptyValueIsOnePacket() {
        _ = self.queue.add(.bytes([]), token: 1)
        let packets = self.drainPackets(mtu: 20)
        #expect(packets.map(\.bytes) == [[1, 0, 0, 0, 0, 1, 0, 0, 0, 1]])
    }
}
