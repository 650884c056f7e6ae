package import Contract
import HTTPAccess
package import Hummingbird
package import Logging
import NIOCore
package import Store
package import Telemetry

/// A request with the connection that it came on.
package struct BlobContext: PeerContext {
    package var coreContext: CoreRequestContextStorage
    package let peer: NetworkAddress?
    let channel: (any Channel)?

    package init(source: ApplicationRequestContextSource) {
        self.coreContext = CoreRequestContextStorage(source: source)
        self.peer = NetworkAddress(of: source)
        self.channel = source.channel
    }
}

/// Serves the store on disk to clients, as an object store would: what a signed URL allows, and nothing else. A transfer holds one
/// chunk in memory, however large the file is.
package struct BlobRoutes: Sendable {
    /// The prefix of the paths, under `/attachments/`.
    static let prefix = "blobs/"

    private let store: DiskStore
    private let attachments: AttachmentTable
    private let transfers: Transfers
    private let clock: ServiceClock
    private let metrics: AttachmentMetrics
    private let logger: Logger

    package init(
        store: DiskStore, attachments: AttachmentTable, transfers: Transfers, clock: ServiceClock,
        metrics: AttachmentMetrics, logger: Logger
    ) {
        self.store = store
        self.attachments = attachments
        self.transfers = transfers
        self.clock = clock
        self.metrics = metrics
        self.logger = logger
    }

    /// - Parameter path: what follows the prefix, decoded.
    func serve(_ path: Substring, _ request: Request, _ context: BlobContext) async throws(HTTPRefusal) -> Response {
        guard let key = ObjectKey(path) else { throw .unknownObject }
        let ticket: BlobTicket
        do throws(BlobTicket.Refusal) {
            ticket = try BlobTicket(
                key: key, query: request.uri.query ?? "", signedWith: self.store.secret, at: self.clock())
        } catch {
            throw HTTPRefusal(
                .forbidden, error == .expired ? "this URL has expired" : "this URL does not allow the request")
        }
        switch (request.method, ticket.action) {
        case (.put, .upload(let size)):
            return try await self.upload(key, size, as: self.store.path(of: key), isWhole: true, request, context)
        case (.put, .uploadPart(let number, let size)):
            let place = self.store.path(ofPart: number, of: key)
            return try await self.upload(key, size, as: place, isWhole: false, request, context)
        case (.get, .download(let owner)): return try await self.download(key, by: owner, request, context)
        case (.head, .download(let owner)):
            return try await self.download(key, by: owner, request, context).createHeadResponse()
        default: throw HTTPRefusal(.forbidden, "this URL does not allow the request")
        }
    }

    // MARK: Uploads

    private func upload(
        _ key: ObjectKey, _ size: Int64, as place: String, isWhole: Bool, _ request: Request, _ context: BlobContext
    ) async throws(HTTPRefusal) -> Response {
        guard let length = request.headers[.contentLength] else {
            throw HTTPRefusal(.invalidPayload, status: .lengthRequired, "Content-Length is required")
        }
        guard Int64(length) == size else {
            throw HTTPRefusal(.invalidPayload, "Content-Length does not match the presigned size")
        }
        guard request.headers[.contentType]?.lowercased() == AttachmentsLimits.storedContentType else {
            throw HTTPRefusal(.invalidPayload, "Content-Type does not match the presigned headers")
        }
        // The collector may have been here since the presign.
        let found = try await self.stored { () async throws(StoreError) in try await self.attachments.find(key) }
        guard let uploader = found?.uploader else { throw .unknownObject }
        let owner = self.store.owner(uploader)
        guard let transfer = self.transfers.begin(.upload, of: place, by: owner, on: context.channel) else {
            throw .tooBusy
        }
        defer { transfer.end() }
        let received: Int64
        do {
            received = try await self.receive(request.body, size, as: place, transfer)
        } catch let error as FileError {
            self.metrics.storeErrors.increment()
            self.logger.error("upload not kept", [.error: "\(error)"])
            throw .internalError
        } catch {
            throw HTTPRefusal(.invalidPayload, "the body ended early")
        }
        guard received == size else { throw HTTPRefusal(.invalidPayload, "the body ended early") }
        if isWhole { try await self.keep(key) }
        return Response(status: .ok, headers: [.contentLength: "0"])
    }

    /// - Returns: bytes received. The file stands in its place only if they are all.
    private func receive(
        _ body: RequestBody, _ size: Int64, as place: String, _ transfer: Transfer
    ) async throws -> Int64 {
        let file = try await BlockingCalls.run { () throws(FileError) in try self.store.newFile() }
        var received: Int64 = 0
        var chunk = ByteBuffer()
        for try await buffer in body {
            received += Int64(buffer.readableBytes)
            transfer.moved(buffer.readableBytes)
            self.metrics.blobBytesReceived.increment(by: buffer.readableBytes)
            guard received <= size else { return received }
            chunk.writeImmutableBuffer(buffer)
            guard chunk.readableBytes >= AttachmentsLimits.chunkBytes else { continue }
            let full = chunk
            try await BlockingCalls.run { () throws(FileError) in try file.append(full) }
            chunk.clear()
        }
        guard received == size else { return received }
        let last = chunk
        try await BlockingCalls.run { () throws(FileError) in
            try file.append(last)
            try file.finish(as: place)
        }
        return received
    }

    /// Notes that the object is there. If the database is away just now, the collector finds it later.
    private func keep(_ key: ObjectKey) async throws(HTTPRefusal) {
        let isWanted: Bool
        do throws(StoreError) {
            isWanted = try await self.attachments.markUploaded(key, at: self.clock.store)
        } catch {
            self.logger.warning("upload not noted", [.error: "\(error)"])
            return
        }
        guard !isWanted else { return }
        do throws(ObjectStoreError) {
            try await self.store.remove(key, upload: nil)
        } catch {
            self.logger.warning("object not removed", [.error: "\(error)"])
        }
        throw .unknownObject
    }

    // MARK: Downloads

    private func download(
        _ key: ObjectKey, by owner: TransferOwner, _ request: Request, _ context: BlobContext
    ) async throws(HTTPRefusal) -> Response {
        let file: StoredFile
        do {
            let path = self.store.path(of: key)
            file = try await BlockingCalls.run { () throws(FileError) in try StoredFile(at: path) }
        } catch FileError.missing {
            throw .unknownObject
        } catch {
            self.metrics.storeErrors.increment()
            self.logger.error("object not read", [.error: "\(error)"])
            throw .internalError
        }
        var headers: HTTPFields = [
            .contentType: AttachmentsLimits.storedContentType, .acceptRanges: "bytes", .eTag: file.tag,
            .cacheControl: "private, no-transform", .contentDisposition: "attachment", .xContentTypeOptions: "nosniff",
        ]
        let range = ByteRange(
            request.headers[.range], ifRange: request.headers[.ifRange], tag: file.tag, size: file.size)
        switch range {
        case .whole:
            guard file.size > 0 else { return Response(status: .ok, headers: headers) }
            return try self.response(.ok, headers, file, 0...(file.size - 1), by: owner, request, context)
        case .part(let bytes):
            headers[.contentRange] = "bytes \(bytes.lowerBound)-\(bytes.upperBound)/\(file.size)"
            return try self.response(.partialContent, headers, file, bytes, by: owner, request, context)
        case .unsatisfiable:
            headers[.contentRange] = "bytes */\(file.size)"
            return Response(status: .rangeNotSatisfiable, headers: headers)
        }
    }

    private func response(
        _ status: HTTPResponse.Status, _ headers: HTTPFields, _ file: StoredFile, _ bytes: ClosedRange<Int64>,
        by owner: TransferOwner, _ request: Request, _ context: BlobContext
    ) throws(HTTPRefusal) -> Response {
        if request.method == .head {
            return Response(status: status, headers: headers, body: ResponseBody(contentLength: bytes.count) { _ in })
        }
        guard let transfer = self.transfers.begin(.download, of: file.path, by: owner, on: context.channel) else {
            throw .tooBusy
        }
        let metrics = self.metrics
        let body = ResponseBody(contentLength: bytes.count) { writer in
            defer { transfer.end() }
            var offset = bytes.lowerBound
            while offset <= bytes.upperBound {
                let count = Int(min(Int64(AttachmentsLimits.chunkBytes), bytes.upperBound - offset + 1))
                let start = offset
                let buffer = try await BlockingCalls.run { () throws(FileError) in try file.read(count, at: start) }
                // Shorter than it was when it was opened: the answer cannot be kept, so the connection ends.
                guard buffer.readableBytes == count else { throw FileError.missing }
                try await writer.write(buffer)
                try await transfer.sent(count)
                metrics.blobBytesSent.increment(by: count)
                offset += Int64(count)
            }
            try await writer.finish(nil)
        }
        return Response(status: status, headers: headers, body: body)
    }

    private func stored<T>(_ body: () async throws(StoreError) -> T) async throws(HTTPRefusal) -> T {
        do throws(StoreError) {
            return try await body()
        } catch {
            self.logger.warning("request not answered", [.error: "\(error)"])
            throw .internalError
        }
    }
}

extension HTTPRefusal {
    static let unknownObject = HTTPRefusal(.notFound, "there is no such object")
    static let tooBusy = HTTPRefusal(
        .internalError, status: .serviceUnavailable, "too many transfers; safe to retry", retryAfter: 5)
}
