package import Contract
package import NIOCore
import NIOHTTP1
import NIOSSL
package import Telemetry

/// Objects in a bucket of any server that speaks S3. Clients talk to it themselves, with presigned URLs.
package struct S3Store: ObjectStore {
    private let address: S3Address
    /// Where clients reach it; may differ from where this service does.
    private let publicAddress: S3Address
    private let signer: SigV4
    private let client: S3Client
    private let clock: @Sendable () -> Timestamp
    private let metrics: AttachmentMetrics

    /// - Parameter caFile: certificates of authorities to believe beside the system's own, in PEM.
    /// - Throws: if `caFile` cannot be read.
    package init(
        _ address: S3Address, publicAddress: S3Address, signer: SigV4, caFile: String?, eventLoop: any EventLoop,
        clock: @escaping @Sendable () -> Timestamp = { .now }, metrics: AttachmentMetrics
    ) throws {
        var tls: NIOSSLContext?
        if address.isTLS {
            var configuration = TLSConfiguration.makeClientConfiguration()
            if let caFile { configuration.additionalTrustRoots = [.file(caFile)] }
            tls = try NIOSSLContext(configuration: configuration)
        }
        self.address = address
        self.publicAddress = publicAddress
        self.signer = signer
        self.client = S3Client(address, tls: tls, eventLoop: eventLoop)
        self.clock = clock
        self.metrics = metrics
    }

    package func close() { self.client.close() }

    // MARK: URLs

    package func uploadURL(of key: ObjectKey, sizeBytes: Int64, at now: Timestamp, life: Duration) -> String {
        self.signer.presignedURL(self.upload(key, sizeBytes, []), at: now, life: life)
    }

    package func partURL(
        of key: ObjectKey, upload: String, _ part: UploadPlan.Part, at now: Timestamp, life: Duration
    ) -> String {
        let query = [("partNumber", String(part.number)), ("uploadId", upload)]
        return self.signer.presignedURL(self.upload(key, part.sizeBytes, query), at: now, life: life)
    }

    package func downloadURL(of key: ObjectKey, for identity: WhisperID, at now: Timestamp, life: Duration) -> String {
        let address = self.publicAddress
        return self.signer.presignedURL(
            SigV4.Request(
                method: "GET", scheme: address.scheme, host: address.host, path: address.path(of: key.description)),
            at: now, life: life)
    }

    private func upload(_ key: ObjectKey, _ size: Int64, _ query: [(String, String)]) -> SigV4.Request {
        let address = self.publicAddress
        return SigV4.Request(
            method: "PUT", scheme: address.scheme, host: address.host, path: address.path(of: key.description),
            query: query,
            headers: [("Content-Length", String(size)), ("Content-Type", AttachmentsLimits.storedContentType)])
    }

    // MARK: Objects

    package func beginParts(of key: ObjectKey) async throws(ObjectStoreError) -> String {
        let answer = try await self.call(
            "POST", key.description, [("uploads", "")], headers: [("Content-Type", AttachmentsLimits.storedContentType)]
        )
        guard answer.status == 200, let id = XMLText.root(of: answer.body)?["UploadId"], !id.isEmpty else {
            throw Self.refusal(answer)
        }
        return id
    }

    package func parts(of key: ObjectKey, upload: String) async throws(ObjectStoreError) -> [StoredPart] {
        let answer = try await self.call("GET", key.description, [("max-parts", "1000"), ("uploadId", upload)])
        if answer.status == 404 { return [] }
        guard answer.status == 200, let root = XMLText.root(of: answer.body) else { throw Self.refusal(answer) }
        return root.all("Part").compactMap { part in
            guard let number = part["PartNumber"].flatMap({ Int($0) }), let size = part["Size"].flatMap({ Int64($0) }),
                let tag = part["ETag"]
            else { return nil }
            return StoredPart(number: number, sizeBytes: size, tag: tag)
        }
    }

    package func join(_ parts: [StoredPart], of key: ObjectKey, upload: String) async throws(ObjectStoreError) {
        let list = parts.map {
            "<Part><PartNumber>\($0.number)</PartNumber><ETag>\(Self.escaped($0.tag))</ETag></Part>"
        }
        let text = "<CompleteMultipartUpload>\(list.joined())</CompleteMultipartUpload>"
        let answer = try await self.call("POST", key.description, [("uploadId", upload)], body: Array(text.utf8))
        // An error may come behind a 200 that was sent before the work (Amazon S3 API Reference, "CompleteMultipartUpload").
        guard answer.status == 200, XMLText.root(of: answer.body)?.name != "Error" else { throw Self.refusal(answer) }
    }

    package func size(of key: ObjectKey) async throws(ObjectStoreError) -> Int64? {
        let answer = try await self.call("HEAD", key.description, [])
        if answer.status == 404 { return nil }
        guard answer.status == 200, let size = answer.headers.first(name: "content-length").flatMap({ Int64($0) })
        else {
            throw Self.refusal(answer)
        }
        return size
    }

    package func remove(_ key: ObjectKey, upload: String?) async throws(ObjectStoreError) {
        try await self.remove(stray: key.description)
        guard let upload else { return }
        let answer = try await self.call("DELETE", key.description, [("uploadId", upload)])
        guard [200, 204, 404].contains(answer.status) else { throw Self.refusal(answer) }
    }

    package func remove(stray key: String) async throws(ObjectStoreError) {
        let answer = try await self.call("DELETE", key, [])
        guard [200, 204, 404].contains(answer.status) else { throw Self.refusal(answer) }
    }

    /// S3 has no such call: what a bucket may hold is between its owner and the provider.
    package func space() async throws(ObjectStoreError) -> StoreSpace? { nil }

    package func lister() -> any ObjectLister { S3Lister(store: self) }

    /// Uploads in parts that nobody knows any more are the bucket's own to end, by a lifecycle rule.
    package func tidy(at now: Timestamp) async throws(ObjectStoreError) {}

    fileprivate func list(after token: String?) async throws(ObjectStoreError) -> (page: [StoredObject], next: String?)
    {
        let query = [("list-type", "2"), ("max-keys", String(AttachmentsLimits.pageRows)), ("prefix", "att/")]
        let answer = try await self.call("GET", "", query + (token.map { [("continuation-token", $0)] } ?? []))
        guard answer.status == 200, let root = XMLText.root(of: answer.body) else { throw Self.refusal(answer) }
        let page = root.all("Contents").compactMap { entry -> StoredObject? in
            guard let key = entry["Key"], let size = entry["Size"].flatMap({ Int64($0) }),
                let time = entry["LastModified"].flatMap({ S3Date.seconds(of: $0) })
            else { return nil }
            return StoredObject(key: key, sizeBytes: size, modifiedAt: Timestamp(milliseconds: time * 1_000))
        }
        return (page, root["IsTruncated"] == "true" ? root["NextContinuationToken"] : nil)
    }

    // MARK: Calling

    /// Asks again while the store is away or busy: no call does harm when it is repeated.
    private func call(
        _ method: String, _ key: String, _ query: [(String, String)], headers: [(String, String)] = [],
        body: [UInt8] = []
    ) async throws(ObjectStoreError) -> S3Answer {
        for attempt in 1... {
            let clock = ContinuousClock.now
            do throws(ObjectStoreError) {
                let answer = try await self.once(method, key, query, headers, body)
                self.metrics.storeSeconds.record(duration: ContinuousClock.now - clock)
                if answer.status < 500, answer.status != 429 { return answer }
                if attempt == AttachmentsLimits.s3Attempts {
                    self.metrics.storeErrors.increment()
                    throw Self.refusal(answer)
                }
            } catch .unavailable {
                guard attempt < AttachmentsLimits.s3Attempts, !Task.isCancelled else {
                    self.metrics.storeErrors.increment()
                    throw .unavailable
                }
            }
            try? await Task.sleep(for: .milliseconds(100 << attempt))
        }
        throw .unavailable
    }

    private func once(
        _ method: String, _ key: String, _ query: [(String, String)], _ headers: [(String, String)], _ body: [UInt8]
    ) async throws(ObjectStoreError) -> S3Answer {
        let request = SigV4.Request(
            method: method, scheme: self.address.scheme, host: self.address.host, path: self.address.path(of: key),
            query: query, headers: headers.map { ($0.0, $0.1) })
        var head = HTTPRequestHead(version: .http1_1, method: HTTPMethod(rawValue: method), uri: request.target)
        head.headers.add(name: "Host", value: self.address.host)
        for (name, value) in self.signer.signedHeaders(request, body: body, at: self.clock()) {
            head.headers.add(name: name, value: value)
        }
        if !body.isEmpty || method == "POST" { head.headers.add(name: "Content-Length", value: String(body.count)) }
        return try await self.client.send(head, body: body)
    }

    private static func refusal(_ answer: S3Answer) -> ObjectStoreError {
        .refused(status: answer.status, code: XMLText.root(of: answer.body)?["Code"] ?? "")
    }

    private static func escaped(_ text: String) -> String {
        text.split(separator: "&", omittingEmptySubsequences: false).joined(separator: "&amp;")
            .split(separator: "<", omittingEmptySubsequences: false).joined(separator: "&lt;")
    }
}

private final class S3Lister: ObjectLister {
    private let store: S3Store
    private var token: String?
    private var isAtEnd = false

    init(store: S3Store) { self.store = store }

    func next() async throws(ObjectStoreError) -> [StoredObject] {
        while !self.isAtEnd {
            let (page, next) = try await self.store.list(after: self.token)
            self.token = next
            self.isAtEnd = next == nil
            if !page.isEmpty { return page }
        }
        return []
    }
}
