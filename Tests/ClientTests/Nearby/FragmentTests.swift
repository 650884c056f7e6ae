import Contract
import TestKit
import Testing

@testable import WhisperClient

@Suite struct FragmentTests {
    @Test func thePacketIsBigEndian() {
        let fragment = Fragment(transfer: 0x0102_0304, index: 0x0506, count: 0x0708, bytes: [9, 10])
        #expect(fragment.packet == [1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
        #expect(Fragment(packet: fragment.packet) == fragment)
        let greeting = Fragment(isGreeting: true, transfer: 0, index: 0, count: 1, bytes: Array(1...7))
        #expect(greeting.packet == [1, 1, 0, 0, 0, 0, 0, 0, 0, 1] + Array(1...7))
        #expect(Fragment(packet: greeting.packet) == greeting)
    }

    @Test(
        arguments: [
            [], [1, 0, 0, 0, 0, 1, 0, 0, 0],  // too short
            [2, 0, 0, 0, 0, 1, 0, 0, 0, 1, 65], [0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 65],  // another version
            [1, 2, 0, 0, 0, 1, 0, 0, 0, 1, 65], [1, 0x80, 0, 0, 0, 1, 0, 0, 0, 1, 65],  // flags
            [1, 0, 0, 0, 0, 1, 0, 1, 0, 1, 65], [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 65],  // index and count
            [1, 0, 0, 0, 0, 1, 0, 0, 0, 2],  // an empty part of two
            [1, 1, 0, 0, 0, 0, 0, 0, 0, 1, 1, 2, 3],  // a greeting of three bytes
        ] as [[UInt8]])
    func whatIsNoneIsRefused(packet: [UInt8]) {
        #expect(Fragment(packet: packet) == nil)
    }

    /// The smallest packet has room for a head and a byte, and the largest value for no more parts than there are numbers.
    @Test func theLargestValueFitsIntoTheSmallestPackets() {
        let room = Fragment.room(mtu: 0)
        #expect(
            room == Fragment.room(mtu: 20) && room >= Fragment.greetingBytes
                && NearbyLimits.valueBytesMax / room < UInt16.max)
        #expect(Fragment.room(mtu: NearbyLimits.mtus.upperBound) == 502 && Fragment.room(mtu: 100_000) == 502)
    }

    private static func fragments(of value: [UInt8], transfer: UInt32, mtu: Int) -> [Fragment] {
        let room = Fragment.room(mtu: mtu)
        return (0..<Fragment.count(of: value, room: room)).map {
            Fragment.part($0, of: value, transfer: transfer, room: room)
        }
    }

    /// Drops, repetitions, disorder and noise: a value comes once as it was, or not at all. A value without drops
    /// comes.
    @Test(arguments: 1...400) func aValueComesAsItWasOrNotAtAll(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var reassembly = Reassembly()
        var packets: [[UInt8]] = []
        var values: [UInt32: [UInt8]] = [:]
        var whole: Set<UInt32> = []
        // No more than are held at once: which of them wins else depends on the order.
        for _ in 0..<Int.random(in: 1...NearbyLimits.transfersMax, using: &random) {
            let transfer = UInt32.random(in: 0...UInt32.max, using: &random)
            let mtu = Int.random(in: 20...512, using: &random)
            let size = [0, 1, 7, 8, 500, 3_000].randomElement(using: &random)!
            let value = (0..<size).map { _ in UInt8.random(in: 0...255, using: &random) }
            values[transfer] = value
            var isWhole = true
            for fragment in Self.fragments(of: value, transfer: transfer, mtu: mtu) {
                #expect(fragment.packet.count <= mtu - 3)
                let copies = [0, 1, 1, 1, 1, 1, 1, 1, 1, 2, 3].randomElement(using: &random)!
                let isKept = copies > 0 || seed % 2 == 0
                packets += Array(repeating: fragment.packet, count: isKept ? max(copies, 1) : 0)
                isWhole = isWhole && isKept
            }
            if isWhole { whole.insert(transfer) }
        }
        for _ in 0..<20 {
            packets.append(
                (0..<Int.random(in: 0...40, using: &random)).map { _ in .random(in: 0...255, using: &random) })
        }
        packets.shuffle(using: &random)
        var come: Set<UInt32> = []
        for packet in packets {
            guard let fragment = Fragment(packet: packet), let value = reassembly.take(fragment, at: start) else {
                continue
            }
            #expect(values[fragment.transfer] == value && come.insert(fragment.transfer).inserted)
            #expect(reassembly.count <= NearbyLimits.transfersMax)
        }
        #expect(come == whole)
    }

    @Test func whatContradictsItselfEndsInNothing() {
        var reassembly = Reassembly()
        func take(_ index: UInt16, of count: UInt16, _ bytes: [UInt8], transfer: UInt32) -> [UInt8]? {
            reassembly.take(
                Fragment(transfer: transfer, index: index, count: count, bytes: bytes), at: start)
        }
        let other = [
            take(0, of: 2, [1], transfer: 1), take(0, of: 2, [2], transfer: 1), take(1, of: 2, [3], transfer: 1),
        ]
        let more = [
            take(0, of: 2, [1], transfer: 2), take(1, of: 3, [2], transfer: 2), take(1, of: 2, [3], transfer: 2),
        ]
        #expect(other == [nil, nil, nil] && more == [nil, nil, nil] && reassembly.count == 0)
    }

    @Test func noValueIsTooLargeAndNoPeerHoldsMuch() {
        var reassembly = Reassembly()
        let part = Array(repeating: UInt8(1), count: 500)
        for transfer in UInt32(0)..<40 {
            for index in UInt16(0)..<200 {
                let value = reassembly.take(
                    Fragment(transfer: transfer, index: index, count: 200, bytes: part), at: start)
                #expect(value == nil)
                #expect(reassembly.bytes <= NearbyLimits.transfersMax * NearbyLimits.valueBytesMax)
            }
            let first = reassembly.take(Fragment(transfer: 100 + transfer, index: 0, count: 2, bytes: [1]), at: start)
            #expect(first == nil && reassembly.count <= NearbyLimits.transfersMax)
        }
        // One byte less than too much.
        let room = Fragment.room(mtu: 512)
        let largest = Array(repeating: UInt8(7), count: NearbyLimits.valueBytesMax)
        let values = Self.fragments(of: largest, transfer: 999, mtu: 512).compactMap { reassembly.take($0, at: start) }
        #expect(values == [largest] && Fragment.count(of: largest, room: room) < 200)
    }

    @Test func aTransferHasItsTime() {
        var reassembly = Reassembly()
        func take(_ index: UInt16, transfer: UInt32, at seconds: Int) -> [UInt8]? {
            reassembly.take(
                Fragment(transfer: transfer, index: index, count: 100, bytes: [UInt8(index)]),
                at: start + .seconds(seconds))
        }
        _ = take(0, transfer: 1, at: 0)
        #expect(reassembly.nextWake == start + NearbyLimits.fragmentWithin)
        reassembly.expire(at: start + NearbyLimits.fragmentWithin)
        #expect(reassembly.count == 0)
        // Somebody who sends a part now and then.
        let step = Int(NearbyLimits.fragmentWithin.components.seconds) - 1
        let last = Int(NearbyLimits.transferWithin.components.seconds) / step
        for index in 0...last { _ = take(UInt16(index), transfer: 2, at: 100 + index * step) }
        #expect(reassembly.count == 1)
        _ = take(UInt16(last + 1), transfer: 2, at: 100 + (last + 1) * step)
        #expect(reassembly.count == 0)
    }
}
