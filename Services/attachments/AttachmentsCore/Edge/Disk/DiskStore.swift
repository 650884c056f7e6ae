package import Contract
import NIOCore
import NIOPosix
package import Telemetry

/// Objects as files of one folder, which all instances of the service share. The embedded default: no other server is needed.
///
/// Clients reach it through the service itself (`BlobRoutes`), by URLs that a common secret has signed.
package struct DiskStore: ObjectStore {
    private let folder: String
    /// Where clients reach the service: scheme and host, without a slash at the end.
    private let publicURL: String
    let secret: Secret

    private static let chunk = 1_024 * 1_024

    /// - Parameter folder: absolute; made if it does not exist.
    package init(folder: String, publicURL: String, secret: Secret) {
        self.folder = folder
        self.publicURL = publicURL
        self.secret = secret
    }

    // MARK: Places

    func path(of key: ObjectKey) -> String { "\(self.folder)/\(key)" }
    func path(ofPart number: Int, of key: ObjectKey) -> String { "\(self.partsFolder(of: key))/\(number)" }
    private func partsFolder(of key: ObjectKey) -> String { "\(self.folder)/parts/\(key.id)" }
    private var unfinished: String { "\(self.folder)/unfinished" }

    func newFile() throws(FileError) -> UnfinishedFile {
        try UnfinishedFile(in: self.unfinished, name: UUIDText.random().description)
    }

    // MARK: URLs

    func owner(_ identity: WhisperID) -> TransferOwner { TransferOwner(identity, secret: self.secret) }

    package func uploadURL(of key: ObjectKey, sizeBytes: Int64, at now: Timestamp, life: Duration) -> String {
        self.url(BlobTicket(key: key, action: .upload(sizeBytes: sizeBytes), expiresAt: now + life))
    }

    package func downloadURL(of key: ObjectKey, for identity: WhisperID, at now: Timestamp, life: Duration) -> String {
        self.url(BlobTicket(key: key, action: .download(by: self.owner(identity)), expiresAt: now + life))
    }

    package func partURL(
        of key: ObjectKey, upload: String, _ part: UploadPlan.Part, at now: Timestamp, life: Duration
    ) -> String {
        self.url(
            BlobTicket(
                key: key, action: .uploadPart(number: part.number, sizeBytes: part.sizeBytes), expiresAt: now + life))
    }

    private func url(_ ticket: BlobTicket) -> String {
        "\(self.publicURL)/attachments/\(BlobRoutes.prefix)\(ticket.key)?\(ticket.query(signedWith: self.secret))"
    }

    // MARK: Objects

    /// Parts lie beside the objects, under their object's id.
    package func beginParts(of key: ObjectKey) async throws(ObjectStoreError) -> String { "" }

    package func parts(of key: ObjectKey, upload: String) async throws(ObjectStoreError) -> [StoredPart] {
        try await BlockingCalls.stored { () throws(FileError) in
            var parts: [StoredPart] = []
            for name in try names(in: self.partsFolder(of: key)) {
                guard let number = Int(name), let status = try fileStatus(self.path(ofPart: number, of: key)) else {
                    continue
                }
                parts.append(StoredPart(number: number, sizeBytes: status.size, tag: ""))
            }
            return parts
        }
    }

    package func join(_ parts: [StoredPart], of key: ObjectKey, upload: String) async throws(ObjectStoreError) {
        try await BlockingCalls.stored { () throws(FileError) in
            let whole = try self.newFile()
            for part in parts {
                let file = try StoredFile(at: self.path(ofPart: part.number, of: key))
                var offset: Int64 = 0
                while offset < file.size {
                    let buffer = try file.read(Self.chunk, at: offset)
                    guard buffer.readableBytes > 0 else { throw .failed(0, call: "pread") }
                    try whole.append(buffer)
                    offset += Int64(buffer.readableBytes)
                }
            }
            try whole.finish(as: self.path(of: key))
            try removeFolder(self.partsFolder(of: key))
        }
    }

    package func size(of key: ObjectKey) async throws(ObjectStoreError) -> Int64? {
        try await BlockingCalls.stored { () throws(FileError) in try fileStatus(self.path(of: key))?.size }
    }

    package func remove(_ key: ObjectKey, upload: String?) async throws(ObjectStoreError) {
        try await BlockingCalls.stored { () throws(FileError) in
            try removeFile(self.path(of: key))
            if upload != nil { try removeFolder(self.partsFolder(of: key)) }
        }
    }

    package func remove(stray key: String) async throws(ObjectStoreError) {
        // Nothing outside of the folder can be listed; and nothing outside of it is removed.
        guard key.hasPrefix("att/"), !key.split(separator: "/").contains("..") else { return }
        try await BlockingCalls.stored { () throws(FileError) in try removeFile("\(self.folder)/\(key)") }
    }

    package func lister() -> any ObjectLister { DiskLister(folder: self.folder) }

    package func space() async throws(ObjectStoreError) -> StoreSpace? {
        try await BlockingCalls.stored { () throws(FileError) in try fileSystemSpace(of: self.folder) }
    }

    package func tidy(at now: Timestamp) async throws(ObjectStoreError) {
        // Files carry the time of this machine. Only what is old by its clock and by the caller's is removed: either may be off.
        let oldest = min(now, .now) - AttachmentsLimits.unfinishedAge
        try await BlockingCalls.stored { () throws(FileError) in
            for name in try names(in: self.unfinished) {
                let path = "\(self.unfinished)/\(name)"
                if let status = try fileStatus(path), status.modifiedAt < oldest { try removeFile(path) }
            }
            let parts = "\(self.folder)/parts"
            for name in try names(in: parts) {
                // A folder changes whenever a part comes.
                if let status = try fileStatus("\(parts)/\(name)"), status.modifiedAt < oldest {
                    try removeFolder("\(parts)/\(name)")
                }
            }
        }
    }

    /// Makes what is needed, and fails if files cannot be kept here.
    package func open() async throws(ObjectStoreError) {
        try await BlockingCalls.stored { () throws(FileError) in
            for folder in ["att", "parts", "unfinished"] { try makeFolder("\(self.folder)/\(folder)") }
        }
    }
}

/// Calls that wait for the disk, on threads that may wait.
enum BlockingCalls {
    static func run<T: Sendable>(_ body: @escaping @Sendable () throws(FileError) -> T) async throws -> T {
        try await NIOThreadPool.singleton.runIfActive { try body() }
    }

    /// Runs `body`; its errors become the store's.
    static func stored<T: Sendable>(
        _ body: @escaping @Sendable () throws(FileError) -> T
    ) async throws(ObjectStoreError) -> T {
        do {
            return try await self.run(body)
        } catch FileError.failed(let number, let call) {
            throw .refused(status: Int(number), code: call)
        } catch {
            throw .unavailable
        }
    }
}

/// Reads `att/{year}/{month}/`, one month's names at a time.
private final class DiskLister: ObjectLister {
    private let folder: String
    private var months: ArraySlice<String>?
    private var month = ""
    private var files: ArraySlice<String> = []

    init(folder: String) { self.folder = folder }

    func next() async throws(ObjectStoreError) -> [StoredObject] {
        if self.months == nil {
            let folder = self.folder
            self.months = try await BlockingCalls.stored { () throws(FileError) in
                var months: [String] = []
                for year in try names(in: "\(folder)/att") {
                    for month in try names(in: "\(folder)/att/\(year)") { months.append("att/\(year)/\(month)") }
                }
                return months
            }[...]
        }
        while true {
            if self.files.isEmpty {
                guard let month = self.months?.popFirst() else { return [] }
                self.month = month
                let path = "\(self.folder)/\(month)"
                self.files = try await BlockingCalls.stored { () throws(FileError) in try names(in: path) }[...]
                continue
            }
            let page = Array(self.files.prefix(AttachmentsLimits.pageRows))
            self.files = self.files.dropFirst(page.count)
            let (folder, month) = (self.folder, self.month)
            let objects = try await BlockingCalls.stored { () throws(FileError) in
                var objects: [StoredObject] = []
                for name in page {
                    let key = "\(month)/\(name)"
                    guard let status = try fileStatus("\(folder)/\(key)") else { continue }
                    objects.append(StoredObject(key: key, sizeBytes: status.size, modifiedAt: status.modifiedAt))
                }
                return objects
            }
            if !objects.isEmpty { return objects }
        }
    }
}
