import AttachmentsCore
import Contract
import Foundation
import LocalStack
import Telemetry
import Testing

/// The signer, byte for byte against botocore's (`Vectors/sigv4.py` wrote the vectors).
@Suite struct SignerTests {
    struct Vectors: Decodable {
        struct Request: Decodable {
            var name, region, method, scheme, host, path: String
            var query, headers: [[String]]
            var life: Int?
            var url: String?
            var body: String?
            var signed: [String: String]?
        }
        var time: Int64
        var accessKey, secretKey: String
        var requests: [Request]
    }

    static let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Vectors")
    static let text = try! Data(contentsOf: folder.appending(path: "sigv4.json"))
    static let vectors = try! JSONDecoder().decode(Vectors.self, from: text)

    @Test(arguments: vectors.requests.map(\.name)) func signsAsBotocoreDoes(name: String) throws {
        let vectors = Self.vectors
        let vector = try #require(vectors.requests.first { $0.name == name })
        let signer = SigV4(
            accessKey: vectors.accessKey, secretKey: Secret(vectors.secretKey), region: vector.region)
        let request = SigV4.Request(
            method: vector.method, scheme: vector.scheme, host: vector.host, path: vector.path,
            query: vector.query.map { ($0[0], $0[1]) }, headers: vector.headers.map { ($0[0], $0[1]) })
        let now = Timestamp(milliseconds: vectors.time)
        if let url = vector.url {
            #expect(signer.presignedURL(request, at: now, life: .seconds(try #require(vector.life))) == url)
        } else {
            let headers = signer.signedHeaders(request, body: Array(try #require(vector.body).utf8), at: now)
            let signed = try #require(vector.signed)
            for (name, value) in signed { #expect(headers.first { $0.name == name }?.value == value, "\(name)") }
        }
    }

    /// The vectors are what botocore makes today, and not what somebody wrote.
    @Test func theVectorsAreBotocores() async throws {
        let python = S3Server.tools + "/bin/python"
        try #require(FileManager.default.isExecutableFile(atPath: python), "run deploy/install-python-tools.sh")
        let made = try await Command(python, [Self.folder.appending(path: "sigv4.py").path]).output(name: "sigv4.py")
        #expect(made == String(decoding: Self.text, as: UTF8.self))
    }

    @Test func nothingPrintsTheSecret() {
        let signer = SigV4(accessKey: "a", secretKey: Secret("hidden"), region: "r")
        var text = ""
        dump(signer, to: &text)
        #expect(!text.contains("hidden") && !"\(signer)".contains("hidden"))
    }
}
