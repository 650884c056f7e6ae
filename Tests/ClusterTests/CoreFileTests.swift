import Foundation
import LocalStack
import TestKit
import Testing

/// Cores in Python exchange files through a cluster, with either store of the attachments service (contract §9).
@Suite(.serialized, .ownClusters()) struct CoreFileTests {
    /// Bytes that each identity may store; `sharing.py` counts on it.
    private static let quota = 6_000_000

    @Test(.long) func filesAreSharedThroughTheStoreOnDisk() async throws {
        try await self.withCluster([:]) { stack in
            try await self.share(through: stack, into: stack.attachmentsFolder)
        }
    }

    @Test func filesAreSharedThroughAnS3Server() async throws {
        try await S3Server.run { server in
            try await self.withCluster(Self.store(server)) { stack in
                try await self.share(through: stack, into: "\(server.folder)/\(S3Server.bucket)")
                #expect(!FileManager.default.fileExists(atPath: stack.attachmentsFolder + "/att"))
                // Both sides are killed while the file is on the way: the rest is asked for as a range.
                #expect(try await CoreScript.run("files", on: stack)["bytes"]?.integer == 5_000_000)
            }
        }
    }

    /// An authority that only the configurations of service and cores name.
    @Test func filesGoToAnS3ServerWithTLS() async throws {
        try await S3Server.run(hasTLS: true) { server in
            let authorityFile = try #require(server.authorityFile)
            var store = Self.store(server)
            store["S3_CA_FILE"] = authorityFile
            try await self.withCluster(store) { stack in
                try await self.share(
                    through: stack, into: "\(server.folder)/\(S3Server.bucket)", ["CA_FILE": authorityFile])
            }
        }
    }

    private static func store(_ server: S3Server) -> [String: String] {
        [
            "STORE": "s3", "S3_ENDPOINT": server.endpoint, "S3_BUCKET": S3Server.bucket,
            "S3_ACCESS_KEY": S3Server.accessKey, "S3_SECRET_KEY": S3Server.secretKey,
        ]
    }

    /// - Parameter folder: where the store keeps its objects.
    private func share(
        through stack: LocalStack, into folder: String, _ environment: [String: String] = [:]
    ) async throws {
        let result = try await CoreScript.run("sharing", on: stack, environment: environment)
        #expect(result["whole"]?.integer == 5)
        // Each file once, the one of the group too, and nothing of the refused one.
        let objects = Self.files(in: folder)
        #expect(objects.count == 4)
        #expect(objects.values.reduce(0, +) == result["bytes"]?.integer)
    }

    private func withCluster(
        _ environment: [String: String], _ body: (LocalStack) async throws -> Void
    ) async throws {
        var configuration = StackConfiguration()
        configuration.rateLimitScale = 1_000
        configuration.instances = [.gateway: 1, .router: 1, .auth: 1, .push: 1, .attachments: 1, .calls: 1]
        let limits = ["QUOTA_BYTES": "\(Self.quota)", "GC_EVERY_SECONDS": "86400"]
        configuration.environment[.attachments] = environment.merging(limits) { $1 }
        let stack = try await LocalStack.start(configuration)
        do {
            try await body(stack)
        } catch {
            await stack.stop()
            throw error
        }
        for process in stack.processes {
            for line in StackLog.errors(in: stack.log(of: process)).prefix(3) { Issue.record("\(line)") }
        }
        await stack.stop()
    }

    /// Sizes of the regular files below a folder.
    private static func files(in folder: String) -> [String: Int64] {
        var sizes: [String: Int64] = [:]
        for name in FileManager.default.enumerator(atPath: folder)?.compactMap({ $0 as? String }) ?? [] {
            let attributes = try? FileManager.default.attributesOfItem(atPath: "\(folder)/\(name)")
            guard attributes?[.type] as? FileAttributeType == .typeRegular else { continue }
            sizes[name] = attributes?[.size] as? Int64 ?? (attributes?[.size] as? NSNumber)?.int64Value ?? 0
        }
        return sizes
    }
}
