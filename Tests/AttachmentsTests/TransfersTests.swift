import AttachmentsCore
import Contract
import Glibc
import LocalStack
import NIOCore
import NIOPosix
import Synchronization
import Testing

/// Bounds of one file, one identity and one direction in a process.
@Suite struct TransfersTests {
    private let transfers = Transfers()

    private static func owner(_ number: Int) -> TransferOwner {
        TransferOwner(String(repeating: "0", count: 13) + String(number + 100))!
    }

    /// One that only can be closed.
    private func channel() async throws -> any Channel {
        try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton).bind(host: "127.0.0.1", port: 0).get()
    }

    private func begins(_ direction: Transfers.Direction, _ place: String, by owner: Int = 0) -> Bool {
        self.transfers.begin(direction, of: place, by: Self.owner(owner), on: nil) != nil
    }

    @Test func aNewerUploadOfAFileEndsTheOlder() async throws {
        let (broken, again) = (try await self.channel(), try await self.channel())
        let older = self.transfers.begin(.upload, of: "a", by: Self.owner(0), on: broken)
        let newer = self.transfers.begin(.upload, of: "a", by: Self.owner(0), on: again)
        try await waitUntil("the older one's connection is closed", within: .seconds(5)) { !broken.isActive }
        #expect(again.isActive && self.transfers.count == 1)
        // Its own end comes late, and is not the newer one's.
        older?.end()
        #expect(self.transfers.count == 1)
        newer?.end()
        #expect(self.transfers.count == 0)
        try await again.close()
    }

    /// As a writer of the connection hands its chunks over: the event loop takes them when it gets to it.
    @Test func aChunkIsSentWhenABusyEventLoopHasTakenIt() async throws {
        let channel = try await self.channel()
        let transfer = try #require(self.transfers.begin(.download, of: "a", by: Self.owner(0), on: channel))
        let taken = Mutex(0)
        for number in 1...5 {
            channel.eventLoop.execute {
                usleep(20_000)
                taken.withLock { $0 += 1 }
            }
            try await transfer.sent(1)
            #expect(taken.withLock { $0 } == number)
        }
        try await channel.close()
    }

    @Test func oneUploadURLHasOnePlace() {
        for _ in 1...(2 * AttachmentsLimits.transfersMax) { #expect(self.begins(.upload, "a")) }
        #expect(self.transfers.count == 1)
        // The parts of an object go up side by side, like other files.
        for number in 2...AttachmentsLimits.uploadsOfOneIdentityMax {
            #expect(self.begins(.upload, "parts/b/\(number)"))
        }
        #expect(self.transfers.count == AttachmentsLimits.uploadsOfOneIdentityMax)
        #expect(!self.begins(.upload, "c"))
        // A repeated upload needs no other place than the one it has.
        #expect(self.begins(.upload, "a"))
        #expect(self.begins(.upload, "c", by: 1))
    }

    @Test(arguments: [Transfers.Direction.upload, .download]) func anIdentityLeavesRoomForOthers(
        direction: Transfers.Direction
    ) {
        let most =
            direction == .upload
            ? AttachmentsLimits.uploadsOfOneIdentityMax : AttachmentsLimits.downloadsOfOneIdentityMax
        for number in 1...most { #expect(self.begins(direction, "a/\(number)")) }
        #expect(!self.begins(direction, "b"))
        #expect(self.begins(direction, "b", by: 1))
        // The other direction is counted apart.
        #expect(self.begins(direction == .upload ? .download : .upload, "b"))
    }

    /// One direction is filled, by as many identities as it takes.
    @Test(arguments: [Transfers.Direction.upload, .download]) func aDirectionLeavesAShareToTheOther(
        direction: Transfers.Direction
    ) {
        let limits = TransferLimits()
        let other = direction == .upload ? Transfers.Direction.download : .upload
        for number in 0..<limits.oneDirectionMax { #expect(self.begins(direction, "a/\(number)", by: number / 16)) }
        #expect(!self.begins(direction, "b", by: 500))
        for number in limits.oneDirectionMax..<limits.transfersMax {
            #expect(self.begins(other, "c/\(number)", by: number / 16))
        }
        #expect(!self.begins(other, "d", by: 501))
        #expect(self.transfers.count == limits.transfersMax)
    }

    @Test func downloadsOfOneFileLeaveRoomForOthers() {
        let most = TransferLimits().downloadsOfOneFileMax
        let first = self.transfers.begin(.download, of: "a", by: Self.owner(0), on: nil)
        for number in 1..<most { #expect(self.begins(.download, "a", by: number)) }
        #expect(!self.begins(.download, "a", by: 500))
        #expect(self.begins(.download, "b", by: 500))
        // An upload is not one of them, and ends none.
        #expect(self.begins(.upload, "a"))
        #expect(self.transfers.count == most + 2)
        first?.end()
        #expect(self.begins(.download, "a", by: 500))
    }

    /// Where no place is left, and only there, who is slow gives way.
    @Test func theSlowestGivesWayToANewTransfer() async throws {
        var limits = TransferLimits()
        limits.transfersMax = 4
        limits.paceGraceSeconds = -1
        limits.crowdedBytesPerSecondMin = 1_000_000
        let transfers = Transfers(limits)
        let (slow, fast) = (try await self.channel(), try await self.channel())
        func begins(_ number: Int, on channel: (any Channel)? = nil) -> Transfer? {
            transfers.begin(.download, of: "\(number)", by: Self.owner(number), on: channel)
        }
        let first = begins(0, on: slow)
        begins(1, on: fast)?.moved(1_000_000_000)
        begins(2)?.moved(1_000_000_000)
        #expect(first != nil && slow.isActive)
        begins(3)?.moved(1_000_000_000)
        try await waitUntil("its connection is closed", within: .seconds(5)) { !slow.isActive }
        #expect(transfers.count == limits.oneDirectionMax)
        // Nobody is slow now, and nobody gives way.
        #expect(begins(4) == nil)
        #expect(fast.isActive)
        try await fast.close()
    }
}
