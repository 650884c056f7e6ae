package import Contract

/// Where encrypted files are kept. Clients reach it by signed URLs alone; what is below is the service's own side.
///
/// Making a URL needs no question to the store. Every other call may be repeated without harm.
package protocol ObjectStore: Sendable {
    /// For an upload of exactly that many bytes as `AttachmentsLimits.storedContentType`.
    func uploadURL(of key: ObjectKey, sizeBytes: Int64, at now: Timestamp, life: Duration) -> String
    /// - Parameter identity: whose download it will be. Its name does not stand in the URL.
    func downloadURL(of key: ObjectKey, for identity: WhisperID, at now: Timestamp, life: Duration) -> String
    /// For one part of an upload in parts.
    func partURL(
        of key: ObjectKey, upload: String, _ part: UploadPlan.Part, at now: Timestamp, life: Duration
    ) -> String

    /// Begins an upload in parts.
    /// - Returns: the store's name for it.
    func beginParts(of key: ObjectKey) async throws(ObjectStoreError) -> String
    /// The parts that have arrived. Empty too if the store knows no such upload any more.
    func parts(of key: ObjectKey, upload: String) async throws(ObjectStoreError) -> [StoredPart]
    /// Makes one object of these parts, in this order.
    func join(_ parts: [StoredPart], of key: ObjectKey, upload: String) async throws(ObjectStoreError)

    /// - Returns: the object's size in bytes; nil if there is none.
    func size(of key: ObjectKey) async throws(ObjectStoreError) -> Int64?
    /// Removes the object and what there is of an upload in parts. Nothing to remove is no error.
    func remove(_ key: ObjectKey, upload: String?) async throws(ObjectStoreError)
    /// Removes an object that may have a name which none of ours has.
    func remove(stray key: String) async throws(ObjectStoreError)
    /// Reads all objects, in the order of the bytes of their names.
    func lister() -> any ObjectLister
    /// - Returns: nil if the store cannot tell.
    func space() async throws(ObjectStoreError) -> StoreSpace?
    /// Removes what interrupted uploads have left. Called now and then.
    /// - Parameter now: by the database's clock.
    func tidy(at now: Timestamp) async throws(ObjectStoreError)
}

/// One reading of the whole store, page by page.
package protocol ObjectLister: AnyObject {
    /// - Returns: the next objects; empty at the end.
    func next() async throws(ObjectStoreError) -> [StoredObject]
}

/// In bytes.
package struct StoreSpace: Equatable, Sendable {
    package var free: Int64
    package var total: Int64

    package init(free: Int64, total: Int64) {
        self.free = free
        self.total = total
    }
}

package struct StoredObject: Equatable, Sendable {
    package var key: String
    package var sizeBytes: Int64
    package var modifiedAt: Timestamp

    package init(key: String, sizeBytes: Int64, modifiedAt: Timestamp) {
        self.key = key
        self.sizeBytes = sizeBytes
        self.modifiedAt = modifiedAt
    }
}

package struct StoredPart: Equatable, Sendable {
    package var number: Int
    package var sizeBytes: Int64
    /// The store's name for this content: S3's ETag.
    package var tag: String

    package init(number: Int, sizeBytes: Int64, tag: String) {
        self.number = number
        self.sizeBytes = sizeBytes
        self.tag = tag
    }
}

package enum ObjectStoreError: Error, Equatable {
    /// It cannot be reached, is too busy, or took too long. The call may have had its effect: repeat it.
    case unavailable
    /// It refused: a wrong configuration, or a bug. The code is the store's own.
    case refused(status: Int, code: String)
}
