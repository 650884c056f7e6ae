import Foundation

/// A real S3 server: rclone's, over a folder, which lets in one access key.
package struct S3Server: Sendable {
    package static let accessKey = "ACCESSKEYFORTESTS"
    package static let secretKey = "secret-key-for-tests"
    package static let bucket = "whisper-tests"

    /// Where `deploy/install-python-tools.sh` puts it.
    package static let tools: String = {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        return root.appending(path: ".build/s3-tools").path
    }()

    package let port: Int
    /// Holds the bucket, one file for each object.
    package let folder: String
    package let process: ChildProcess
    /// PEM file of the authority that vouches for it; `nil` if it has no TLS.
    package let authorityFile: String?

    package var endpoint: String { "\(self.authorityFile == nil ? "http" : "https")://localhost:\(self.port)" }

    /// Runs `body` against a server of its own.
    package static func run(
        virtualStyle: Bool = false, hasTLS: Bool = false, _ body: (S3Server) async throws -> Void
    ) async throws {
        let folder = try TemporaryFolder(named: "s3")
        defer { folder.remove() }
        let data = folder.path + "/data"
        try FileManager.default.createDirectory(atPath: "\(data)/\(Self.bucket)", withIntermediateDirectories: true)
        let port = LoopbackPort.free()
        var arguments = [
            "serve", "s3", "--addr", "127.0.0.1:\(port)", "--auth-key", "\(Self.accessKey),\(Self.secretKey)",
        ]
        if virtualStyle { arguments.append("--force-path-style=false") }
        var authorityFile: String?
        if hasTLS {
            let authority = try await CertificateAuthority(named: "s3", in: folder.path)
            let (certificate, key) = try await authority.certificate(for: "DNS:localhost")
            arguments += ["--cert", certificate, "--key", key]
            authorityFile = authority.file
        }
        // Objects are seen soon after they are there. (With 0 the server spins.)
        arguments += ["--dir-cache-time", "20ms", "--config", folder.path + "/none.conf", data]
        let process = try await ChildProcess.start(
            Command(Self.tools + "/bin/rclone", arguments, log: folder.path + "/rclone.log"), name: "rclone")
        let server = S3Server(port: port, folder: data, process: process, authorityFile: authorityFile)
        do {
            try await waitUntil("the S3 server answers", within: .seconds(20)) {
                await LoopbackRequest.get("/", port: port) != nil
            }
            try await body(server)
        } catch {
            await process.kill()
            throw error
        }
        await process.kill()
    }
}
