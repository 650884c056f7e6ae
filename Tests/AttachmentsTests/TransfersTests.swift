import AttachmentsCore
import Contract
import LocalStack
import NIOCore
import NIOPosix
import Testing

/// What one file may take of a process.
@Suite struct TransfersTests {
    private let transfers = Transfers()

    /// One that only can be closed.
    private func channel() async throws -> any Channel {
        try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton).bind(host: "127.0.0.1", port: 0).get()
    }

    private func begins(_ direction: Transfers.Direction, _ place: String) -> Bool {
        self.transfers.begin(direction, of: place, on: nil) != nil
    }

    @Test func aNewerUploadOfAFileEndsTheOlder() async throws {
        let (broken, again) = (try await self.channel(), try await self.channel())
        let older = self.transfers.begin(.upload, of: "a", on: broken)
        let newer = self.transfers.begin(.upload, of: "a", on: again)
        try await waitUntil("the older one's connection is closed", within: .seconds(5)) { !broken.isActive }
        #expect(again.isActive && self.transfers.count == 1)
        // Its own end comes late, and is not the newer one's.
        older?.end()
        #expect(self.transfers.count == 1)
        newer?.end()
        #expect(self.transfers.count == 0)
        try await again.close()
    }

    @Test func oneUploadURLHasOnePlace() {
        for _ in 1...(2 * AttachmentsLimits.transfersMax) { #expect(self.begins(.upload, "a")) }
        #expect(self.transfers.count == 1)
        // The parts of an object go up side by side, like other files.
        for number in 2...AttachmentsLimits.transfersMax {
            #expect(self.begins(.upload, "parts/b/\(number)"))
        }
        #expect(self.transfers.count == AttachmentsLimits.transfersMax)
        #expect(!self.begins(.upload, "c"))
        // Who tries again needs no other place than the one it has.
        #expect(self.begins(.upload, "a"))
    }

    @Test func anUploaderLeavesRoomForOthers() throws {
        let greedy = try #require(WhisperID("WSP-AAAA-AAAA-AAAA"))
        let other = try #require(WhisperID("WSP-7777-7777-7777"))
        func begins(_ place: String, by uploader: WhisperID) -> Bool {
            self.transfers.begin(.upload, of: place, by: uploader, on: nil) != nil
        }
        for number in 1...AttachmentsLimits.uploadsOfOneUploaderMax { #expect(begins("parts/a/\(number)", by: greedy)) }
        #expect(!begins("b", by: greedy))
        #expect(begins("c", by: other))
        // What it tries again needs no other place.
        #expect(begins("parts/a/1", by: greedy))
    }

    @Test func downloadsOfOneFileLeaveRoomForOthers() {
        let first = self.transfers.begin(.download, of: "a", on: nil)
        for _ in 2...AttachmentsLimits.downloadsOfOneMax { #expect(self.begins(.download, "a")) }
        #expect(!self.begins(.download, "a"))
        #expect(self.begins(.download, "b"))
        // An upload is not one of them, and ends none.
        #expect(self.begins(.upload, "a"))
        #expect(self.transfers.count == AttachmentsLimits.downloadsOfOneMax + 2)
        first?.end()
        #expect(self.begins(.download, "a"))
    }
}
