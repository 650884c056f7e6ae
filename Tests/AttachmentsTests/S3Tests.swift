import AttachmentsCore
import Contract
import Foundation
import LocalStack
import NIOCore
import NIOPosix
import Telemetry
import TestKit
import Testing

/// The adapter for S3 against a real S3 server that checks every signature.
@Suite(.serialized, .timeLimit(.minutes(20))) struct S3Tests {
    private func store(
        _ server: S3Server, style: S3Address.Style = .path, secretKey: String = S3Server.secretKey
    ) throws -> S3Store {
        let address = try #require(S3Address(endpoint: server.endpoint, bucket: S3Server.bucket, style: style))
        return try S3Store(
            address, publicAddress: address,
            signer: SigV4(accessKey: S3Server.accessKey, secretKey: Secret(secretKey), region: "us-east-1"),
            caFile: nil,
            eventLoop: NIOSingletons.posixEventLoopGroup.any(), metrics: AttachmentMetrics())
    }

    private let octets = ["Content-Type": "application/octet-stream"]
    private func bytes(_ count: Int) -> [UInt8] { (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) } }

    @Test(arguments: [S3Address.Style.path, .virtual]) func filesGoUpAndDownByURL(style: S3Address.Style) async throws {
        try await S3Server.run(virtualStyle: style == .virtual) { server in
            let store = try self.store(server, style: style)
            let key = ObjectKey(.random(), at: .now)
            let body = self.bytes(100_000)
            #expect(try await store.size(of: key) == nil)
            let upload = store.uploadURL(of: key, sizeBytes: 100_000, at: .now, life: .seconds(900))
            #expect(upload.contains("X-Amz-SignedHeaders=content-length%3Bcontent-type%3Bhost"))
            #expect(try await HTTPCall("PUT", upload, headers: self.octets, body: body).answer().status == 200)
            #expect(try await store.size(of: key) == 100_000)
            let download = store.downloadURL(
                of: key, for: WhisperID("WSP-AAAA-AAAA-AAAA")!, at: .now, life: .seconds(300))
            #expect(try await HTTPCall("GET", download).answer().body == body)
            // A request without a signed URL gets nothing.
            let bare = String(download.prefix { $0 != "?" })
            #expect(try await HTTPCall("GET", bare).answer().status >= 400)
            try await store.remove(key, upload: nil)
            #expect(try await store.size(of: key) == nil)
            #expect(try await HTTPCall("GET", download).answer().status == 404)
            try await store.remove(key, upload: nil)
        }
    }

    @Test func aURLAllowsNothingButWhatItWasSignedFor() async throws {
        try await S3Server.run { server in
            let store = try self.store(server)
            let key = ObjectKey(.random(), at: .now)
            let upload = store.uploadURL(of: key, sizeBytes: 10, at: .now, life: .seconds(900))
            let right = HTTPCall("PUT", upload, headers: self.octets, body: self.bytes(10))
            for wrong in [
                HTTPCall("PUT", upload, headers: self.octets, body: self.bytes(11)),
                HTTPCall("PUT", upload, headers: self.octets, body: self.bytes(9)),
                HTTPCall("PUT", upload, headers: ["Content-Type": "text/html"], body: self.bytes(10)),
                HTTPCall("PUT", upload, body: self.bytes(10)), HTTPCall("GET", upload), HTTPCall("DELETE", upload),
                HTTPCall(
                    "PUT", upload.replacingOccurrences(of: ".bin", with: ".bim"), headers: self.octets,
                    body: self.bytes(10)),
                HTTPCall(
                    "PUT", store.uploadURL(of: key, sizeBytes: 10, at: .now - .seconds(3_600), life: .seconds(900)),
                    headers: self.octets, body: self.bytes(10)),
                HTTPCall(
                    "PUT",
                    try self.store(server, secretKey: "another").uploadURL(
                        of: key, sizeBytes: 10, at: .now, life: .seconds(9)),
                    headers: self.octets, body: self.bytes(10)),
            ] {
                let status = try await wrong.answer().status
                #expect(status == 403 || status == 400, "\(wrong.method) \(wrong.headers) \(status)")
                #expect(try await store.size(of: key) == nil)
            }
            #expect(try await right.answer().status == 200)
        }
    }

    @Test func anUploadInPartsGoesOnWhereItBroke() async throws {
        try await S3Server.run { server in
            let store = try self.store(server)
            let key = ObjectKey(.random(), at: .now)
            let plan = UploadPlan(sizeBytes: 2 * Limits.uploadPartBytes + 1_000)
            let body = self.bytes(Int(2 * Limits.uploadPartBytes) + 1_000)
            let upload = try await store.beginParts(of: key)
            func content(_ part: UploadPlan.Part) -> [UInt8] {
                let start = (part.number - 1) * Int(Limits.uploadPartBytes)
                return Array(body[start..<(start + Int(part.sizeBytes))])
            }
            func send(_ part: UploadPlan.Part, breakingAfter: Int? = nil) async throws -> Int {
                let url = store.partURL(of: key, upload: upload, part, at: .now, life: .seconds(900))
                var call = HTTPCall("PUT", url, headers: self.octets, body: content(part))
                call.breakingAfter = breakingAfter
                return try await call.answer().status
            }
            #expect(try await store.parts(of: key, upload: upload) == [])
            #expect(try await send(plan.parts[2]) == 200)
            #expect(try await send(plan.parts[0]) == 200)
            await #expect(throws: HTTPCall.Failed.self) { try await send(plan.parts[1], breakingAfter: 1_000_000) }
            let stored = try await store.parts(of: key, upload: upload)
            #expect(plan.missing(of: stored) == [plan.parts[1]])
            #expect(try await send(plan.parts[1]) == 200)
            let arrived = plan.arrived(of: try await store.parts(of: key, upload: upload))
            #expect(arrived.count == 3)
            try await store.join(arrived, of: key, upload: upload)
            #expect(try await store.size(of: key) == Int64(body.count))
            let url = store.downloadURL(of: key, for: WhisperID("WSP-AAAA-AAAA-AAAA")!, at: .now, life: .seconds(60))
            #expect(try await HTTPCall("GET", url).answer().body == body)
            // Gone by now; joining again tells so.
            #expect(try await store.parts(of: key, upload: upload) == [])
            await #expect(throws: ObjectStoreError.self) { try await store.join(arrived, of: key, upload: upload) }

            let abandoned = try await store.beginParts(of: key)
            try await store.remove(key, upload: abandoned)
            try await store.remove(key, upload: abandoned)
            #expect(try await store.size(of: key) == nil)
        }
    }

    @Test func everythingIsListedInOrder() async throws {
        try await S3Server.run { server in
            let store = try self.store(server)
            let folder = "\(server.folder)/\(S3Server.bucket)/att/2026/11"
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            var keys: [String] = []
            for _ in 0..<1_203 {
                let key = ObjectKey(.random(), at: Timestamp(milliseconds: 1_795_233_906_000))
                keys.append(key.description)
                try Data([1, 2]).write(to: URL(filePath: "\(server.folder)/\(S3Server.bucket)/\(key)"))
            }
            let lister = store.lister()
            var listed: [StoredObject] = []
            while true {
                let page = try await lister.next()
                if page.isEmpty { break }
                listed += page
            }
            #expect(listed.map(\.key) == keys.sorted())
            #expect(
                listed.allSatisfy {
                    $0.sizeBytes == 2 && abs($0.modifiedAt.milliseconds - Timestamp.now.milliseconds) < 120_000
                })
        }
    }

    @Test func aStoreThatIsAwayIsUnavailableAndComesBack() async throws {
        try await S3Server.run { server in
            let store = try self.store(server)
            let key = ObjectKey(.random(), at: .now)
            #expect(try await store.size(of: key) == nil)
            await server.process.kill()
            await #expect(throws: ObjectStoreError.unavailable) { try await store.size(of: key) }
        }
        try await S3Server.run { server in
            let store = try self.store(server, secretKey: "another")
            await #expect(throws: ObjectStoreError.self) {
                try await store.beginParts(of: ObjectKey(.random(), at: .now))
            }
        }
    }
}
