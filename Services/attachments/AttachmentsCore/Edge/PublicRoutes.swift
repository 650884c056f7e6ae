import Contract
package import HTTPAccess
package import Hummingbird
package import Logging
import ServerCrypto
package import Store
package import Telemetry

/// The clients' requests to attachments (contract §9). A client gets a URL only for an attachment that it may have.
package struct PublicRoutes: Sendable {
    let sessions: HTTPSessions
    let attachments: AttachmentTable
    let links: LinkTable
    let store: any ObjectStore
    let configuration: AttachmentsConfiguration
    let room: StoreRoom
    let clock: ServiceClock
    let metrics: AttachmentMetrics
    private let blobs: BlobRoutes?
    private let logger: Logger
    private let errors = ErrorMetrics()

    /// - Parameter blobs: of the store on disk, if that is the store.
    package init(
        sessions: HTTPSessions, attachments: AttachmentTable, links: LinkTable, store: any ObjectStore,
        blobs: BlobRoutes?,
        configuration: AttachmentsConfiguration, clock: ServiceClock, metrics: AttachmentMetrics,
        logger: Logger
    ) {
        self.sessions = sessions
        self.attachments = attachments
        self.links = links
        self.store = store
        self.blobs = blobs
        self.configuration = configuration
        self.room = StoreRoom(store, attachments: attachments, configuration: configuration, clock: clock)
        self.clock = clock
        self.metrics = metrics
        self.logger = logger
    }

    /// An object's key has slashes in it, raw or as %2F: what a path asks for is read here instead of by the router.
    package func add(to router: Router<BlobContext>) {
        let path: RouterPath = "attachments/**"
        for method in [HTTPRequest.Method.get, .head, .put, .post] {
            router.on(path, method: method) { request, context in
                try await self.errors.counting { () async throws(HTTPRefusal) in
                    try await self.serve(request, context)
                }
            }
        }
    }

    private static let root = "/attachments/"
    private static let notFound = HTTPRefusal(.notFound, "no such resource")

    private func serve(_ request: Request, _ context: BlobContext) async throws(HTTPRefusal) -> Response {
        guard request.uri.path.hasPrefix(Self.root),
            let path = PercentCoding.decode(request.uri.path.dropFirst(Self.root.count).utf8)
        else { throw Self.notFound }
        if path.hasPrefix(BlobRoutes.prefix) {
            guard let blobs else { throw Self.notFound }
            return try await blobs.serve(path.dropFirst(BlobRoutes.prefix.count), request, context)
        }
        guard path != "presign" else {
            guard request.method == .post else { throw Self.notFound }
            return try await self.presignUpload(request, context.peer)
        }
        let mark = path.lastIndex(of: "/") ?? path.startIndex
        let (key, word) = (path[..<mark], path[mark...])
        switch (request.method, word) {
        case (.get, "/download"): return try await self.presignDownload(key, request, context.peer)
        case (.post, "/parts"): return try await self.listParts(key, request, context.peer)
        case (.post, "/complete"): return try await self.complete(key, request, context.peer)
        default: throw Self.notFound
        }
    }

    // MARK: Uploads

    private func presignUpload(_ request: Request, _ peer: NetworkAddress?) async throws(HTTPRefusal) -> Response {
        let session = try await self.sessions.session(of: request, from: peer, within: Rates.presign)
        let body = try await JSONBody.read(
            AttachmentOperations.Presign.self, of: request, bytesMax: AttachmentsLimits.bodyBytesMax)
        let (contentType, size) = (body.contentType, body.sizeBytes)
        guard size <= AttachmentClass(contentType: contentType).sizeMax else {
            throw HTTPRefusal(
                .invalidPayload, status: .contentTooLarge, "the attachment is too large for its content type")
        }
        let takenAt = try await self.takeRoom(for: size)
        let now = self.clock()
        let key = ObjectKey(.random(), at: now)
        let upload =
            body.isMultipart
            ? try await self.kept { () async throws(ObjectStoreError) in try await self.store.beginParts(of: key) }
            : nil
        let until = now + self.configuration.uploadURLLife
        let new = AttachmentTable.New(
            key: key, uploader: session.caller.identity, session: session.tokenHash, sizeBytes: size,
            contentType: contentType, urlLife: self.configuration.uploadURLLife, upload: upload)
        let adding = try await self.stored { () async throws(StoreError) in
            try await self.attachments.add(
                new, quota: self.configuration.quotaBytes, strangersBytesMax: self.configuration.strangersBytesMax,
                at: self.clock.store)
        }
        if adding != .added, let upload {
            try await self.kept { () async throws(ObjectStoreError) in
                try await self.store.remove(key, upload: upload)
            }
        }
        if adding != .added { await self.room.giveBack(size, takenAt: takenAt) }
        switch adding {
        case .added: break
        case .overQuota: throw self.overQuota()
        case .noRoom:
            self.metrics.quotaRefusals.increment()
            throw .noRoomForStrangers
        case .sessionEnded: throw .notRegistered
        }
        self.metrics.presigns[.upload].increment()
        self.metrics.bytesPresigned.increment(by: size)
        let parts = upload.map { self.urls(of: UploadPlan(sizeBytes: size).parts, key, upload: $0, at: now) }
        let url = self.store.uploadURL(of: key, sizeBytes: size, at: now, life: self.configuration.uploadURLLife)
        return .answer(AttachmentAnswers.upload(key, url: url, until: until, parts: parts))
    }

    /// Below a floor of free space no upload begins; downloads go on (contract §13b).
    /// - Returns: when it was taken, for whoever gives it back.
    @discardableResult package func takeRoom(for bytes: Int64) async throws(HTTPRefusal) -> ContinuousClock.Instant {
        let hasRoom = try await self.stored { () async throws(StoreError) in try await self.room.take(bytes) }
        guard hasRoom else {
            self.metrics.quotaRefusals.increment()
            throw .storeIsFull
        }
        return .now
    }

    func overQuota() -> HTTPRefusal {
        self.metrics.quotaRefusals.increment()
        return HTTPRefusal(.forbidden, "the upload quota is used up")
    }

    // MARK: Downloads

    private func presignDownload(
        _ text: Substring, _ request: Request, _ peer: NetworkAddress?
    ) async throws(HTTPRefusal) -> Response {
        let session = try await self.sessions.session(of: request, from: peer, within: nil)
        guard let key = ObjectKey(text) else { throw .unknownObject }
        let now = self.clock()
        let fetching = try await self.stored { () async throws(StoreError) in
            try await self.links.fetch(key, by: session.caller.identity, at: self.clock.store)
        }
        switch fetching {
        case .unknown: throw .unknownObject
        case .forbidden: throw .notYours
        case .granted: break
        }
        self.metrics.presigns[.download].increment()
        let life = self.configuration.downloadURLLife
        let url = self.store.downloadURL(of: key, for: session.caller.identity, at: now, life: life)
        return .answer(AttachmentAnswers.download(url: url, until: now + life))
    }

    // MARK: Boundaries

    func stored<T>(_ body: () async throws(StoreError) -> T) async throws(HTTPRefusal) -> T {
        do throws(StoreError) {
            return try await body()
        } catch {
            switch error {
            case .unavailable, .outcomeUnknown, .conflict, .unique:
                self.logger.warning("request not answered", [.error: "\(error)"])
            case .refused, .undecodable:
                self.logger.error("request not answered", [.error: "\(error)"])
            }
            throw .internalError
        }
    }

    func kept<T>(_ body: () async throws(ObjectStoreError) -> T) async throws(HTTPRefusal) -> T {
        do throws(ObjectStoreError) {
            return try await body()
        } catch {
            switch error {
            case .unavailable: self.logger.warning("object store did not answer", [:])
            case .refused: self.logger.error("object store refused", [.error: "\(error)"])
            }
            throw .internalError
        }
    }
}

extension HTTPRefusal {
    static let storeIsFull = HTTPRefusal(
        .internalError, status: .serviceUnavailable, "the store has no room for uploads now",
        retryAfter: AttachmentsLimits.fullRetryAfter.components.seconds)
    static let noRoomForStrangers = HTTPRefusal(
        .rateLimited, "too much is stored for identities without peers; try again later",
        retryAfter: StrangerLimits.retryAfter.components.seconds)
    static let notYours = HTTPRefusal(.forbidden, "the caller is neither uploader nor linked recipient")
}
