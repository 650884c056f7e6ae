import Foundation
import LocalStack
import TestKit
import Testing

/// The store on disk has a bounded number of places, and nobody can take them from the others: neither one identity, nor all who
/// download, nor who reads slowly. Real sockets, straight to the process.
@Suite(.serialized, .cluster(fewPlaces)) struct DiskShareTests {
    @Test func anIdentitysDownloadsLeaveRoomForOthers() async throws {
        let (greedy, other) = (try await Cluster.phone(), try await Cluster.phone())
        let (hers, his) = (try await greedy.uploadsLargeFile(), try await other.uploadsLargeFile())
        let held = try await Downloads.stalled(by: greedy, hers, count: Places.ofOneIdentity)
        #expect(await held.statuses() == [200, 200])
        // With another URL she is still the same.
        let more = try await Downloads.stalled(by: greedy, hers, count: 1)
        #expect(await more.statuses() == [503])
        #expect(try await other.download(his).count == largeFileBytes)
        // Uploads are counted apart.
        _ = try await greedy.upload(Keys.random(10))
        try await held.letGo()
    }

    @Test func downloadsLeaveAShareToUploads() async throws {
        var held: [Downloads] = []
        for _ in 0..<(Places.ofOneDirection / Places.ofOneIdentity) {
            let phone = try await Cluster.phone()
            held.append(try await Downloads.stalled(by: phone, phone.uploadsLargeFile(), count: Places.ofOneIdentity))
        }
        for downloads in held { #expect(await downloads.statuses() == [200, 200]) }
        let late = try await Cluster.phone()
        let key = try await late.upload(Keys.random(1_000))
        #expect(await (try await Downloads.stalled(by: late, key, count: 1)).statuses() == [503])
        for downloads in held { try await downloads.letGo() }
        #expect(try await late.download(key).count == 1_000)
    }
}

@Suite(.serialized, .cluster { $0.environment[.attachments] = ["DISK_STALL_SECONDS": "2"] })
struct StalledTransferTests {
    @Test func anUploadThatStandsStillIsEnded() async throws {
        let alice = try await Cluster.phone()
        let presign = try await alice.presign(100_000)
        let call = HTTPCall(
            "PUT", presign.json["uploadUrl"]!.string!, headers: ["Content-Type": "application/octet-stream"],
            body: Keys.random(100_000))
        var direct = call
        direct.port = Cluster.stack.ports[.attachments, 1]!.http!
        direct.timeout = 45
        let clock = ContinuousClock.now
        #expect(await (try direct.stalled(after: 50_000)).isClosedByPeer())
        #expect(ContinuousClock.now - clock >= .milliseconds(1_500))
        #expect(try await call.answer().status == 200)
    }

    /// The process has written only what the buffers of two sockets hold; the file is larger.
    @Test func whoReadsNothingIsClosed() async throws {
        let alice = try await Cluster.phone()
        let held = try await Downloads.stalled(by: alice, alice.uploadsLargeFile(), count: 3)
        #expect(await held.statuses() == [200, 200, 200])
        try await waitUntil("they have no place any more", within: .seconds(30)) { await Downloads.underWay() == 0 }
        for bytes in await held.rests() { #expect(bytes < largeFileBytes) }
    }
}

/// Larger than what two sockets keep in their buffers.
private let largeFileBytes = 16_000_000

private enum Places {
    static let all = 8
    static let ofOneDirection = 6
    static let ofOneIdentity = 2
}

private let fewPlaces: @Sendable (inout StackConfiguration) -> Void = {
    $0.environment[.attachments] = [
        "DISK_TRANSFERS_MAX": "\(Places.all)", "DISK_UPLOADS_PER_IDENTITY": "\(Places.all)",
        "DISK_DOWNLOADS_PER_IDENTITY": "\(Places.ofOneIdentity)",
        "DISK_STALL_SECONDS": "600", "DISK_CROWDED_BYTES_PER_SECOND_MIN": "0",
    ]
}

/// Downloads of which nothing is read.
private struct Downloads {
    let connections: [OpenConnection]

    /// - Returns: when each has been answered.
    static func stalled(by phone: Phone, _ key: String, count: Int) async throws -> Downloads {
        var connections: [OpenConnection] = []
        for _ in 0..<count {
            let url = try #require(try await phone.asksFor(key).json["downloadUrl"]?.string)
            var call = HTTPCall("GET", url)
            call.port = Cluster.stack.ports[.attachments, 1]!.http!
            let connection = try call.stalled(after: 0)
            #expect(await connection.status() != nil)
            connections.append(connection)
        }
        return Downloads(connections: connections)
    }

    func statuses() async -> [Int?] {
        var statuses: [Int?] = []
        for connection in self.connections { statuses.append(await connection.status()) }
        return statuses
    }

    func rests() async -> [Int] {
        var rests: [Int] = []
        for connection in self.connections { rests.append(await connection.rest()) }
        return rests
    }

    /// Reads them to their end.
    func letGo() async throws {
        for bytes in await self.rests() { #expect(bytes > largeFileBytes) }
    }

    /// As the process counts them, uploads too.
    static func underWay() async -> Double? {
        let port = Cluster.stack.ports[.attachments, 1]!.ops
        let lines = (await LoopbackRequest.get("/metrics", port: port))?.body.split(separator: "\n") ?? []
        return lines.first { $0.hasPrefix("whisper_blob_transfers{") }?.split(separator: " ").last.flatMap {
            Double($0)
        }
    }
}

extension Phone {
    /// - Returns: the object's key.
    fileprivate func uploadsLargeFile() async throws -> String {
        let presign = try await self.presign(largeFileBytes, contentType: "video/mp4")
        let url = try #require(presign.json["uploadUrl"]?.string)
        #expect(try await Phone.put(Keys.random(largeFileBytes), to: url).status == 200)
        return try #require(presign.json["objectKey"]?.string)
    }
}
